/* See the header.  The image grows by whole segments; everything is addressed by offset, since growth moves it. */
// SPDX-License-Identifier: MIT
#include "image_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/hist.h"
#include "base/map.h"
#include "os/clock.h"

static void grow_to(struct image *image, size_t len)
{
    if (len > image->cap) {
        size_t cap = len * 2;
        image->bytes = realloc(image->bytes, cap);
        if (!image->bytes) abort();
        image->cap = cap;
    }
    memset(image->bytes + image->len, 0, len - image->len);
    image->len = len;
}

struct lp_file_header *image_header(struct image *image)
{
    return (struct lp_file_header *)(void *)image->bytes;
}

void image_init(struct image *image)
{
    *image = (struct image){.capacity = 4096, .pid = 4242};
    grow_to(image, sizeof(struct lp_file_header));
    struct lp_file_header *header = image_header(image);
    memcpy(header->magic, LP_FILE_MAGIC, sizeof header->magic);
    header->version = LP_FILE_VERSION;
    header->header_bytes = sizeof *header;
    header->pid = image->pid;
    header->pid_start = 99;
    memcpy(header->boot_id, "test boot id 16b", sizeof header->boot_id);
    header->pid_namespace = 7;
    header->created_ticks = IMAGE_CREATED_TICKS;
    header->created_mono_ns = IMAGE_CREATED_MONO;
    header->created_real_ns = IMAGE_CREATED_REAL;
    header->wall_clock = LP_WALL_TSC;
    header->cpu_clock = LP_CPU_RSEQ;
    header->state = LP_STATE_FINISHED;
    header->closed_ticks = IMAGE_CREATED_TICKS + IMAGE_LIFE_TICKS;
    header->heartbeat_ticks = header->closed_ticks;
    header->heartbeat_mono_ns = IMAGE_CREATED_MONO + IMAGE_LIFE_TICKS / 2;
    header->heartbeat_real_ns = IMAGE_CREATED_REAL + IMAGE_LIFE_TICKS / 2;
    image_clock(image, header->closed_ticks, header->heartbeat_mono_ns, header->heartbeat_real_ns);
    image_seal(image);
}

void image_release(struct image *image)
{
    free(image->bytes);
    *image = (struct image){0};
}

void image_seal(struct image *image)
{
    struct lp_file_header *header = image_header(image);
    header->file_bytes = header->tiled_bytes = image->len;
    uint32_t crc = lp__crc32c(0, image->bytes + 8, 8);
    header->check = lp__crc32c(crc, image->bytes + 20, LP_FILE_CHECKED_END - 20);
}

/* -- segments ---------------------------------------------------------------------------------------------------- */

static uint32_t record_bytes_of(uint16_t type)
{
    switch (type) {
    case LP_SEGMENT_CLOCK:
        return sizeof(struct lp_clock_record);
    case LP_SEGMENT_THREADS:
        return sizeof(struct lp_thread_record);
    case LP_SEGMENT_NODES:
        return sizeof(struct lp_node_record);
    case LP_SEGMENT_COUNTERS:
        return sizeof(struct lp_counter_record);
    default:
        return 0;
    }
}

struct lp_segment_header *image_segment_header(struct image *image, uint64_t offset)
{
    return (struct lp_segment_header *)(void *)(image->bytes + offset);
}

void image_segment_reseal(struct image *image, uint64_t offset)
{
    struct lp_segment_header *header = image_segment_header(image, offset);
    header->check = lp__crc32c(0, header, offsetof(struct lp_segment_header, check));
}

uint64_t image_segment(struct image *image, uint16_t type, uint32_t thread, uint64_t capacity)
{
    uint64_t offset = image->len;
    capacity = (capacity + LP_SEGMENT_ALIGN - 1) / LP_SEGMENT_ALIGN * LP_SEGMENT_ALIGN;
    grow_to(image, image->len + capacity);
    *image_segment_header(image, offset) = (struct lp_segment_header){
        .magic = LP_SEGMENT_MAGIC,
        .type = type,
        .version = 1,
        .thread = thread,
        .record_bytes = record_bytes_of(type),
        .offset = offset,
        .capacity = capacity,
    };
    image_segment_reseal(image, offset);
    if (type < sizeof image->current / sizeof image->current[0]) image->current[type] = offset;
    return offset;
}

lp_ref image_append(struct image *image, uint16_t type, const void *record, size_t bytes)
{
    size_t padded = (bytes + 7) & ~(size_t)7;
    uint64_t at = image->current[type];
    if (at) {
        const struct lp_segment_header *header = image_segment_header(image, at);
        if (header->used + padded > header->capacity - sizeof *header) at = 0;
    }
    if (!at) {
        uint64_t needed = padded + sizeof(struct lp_segment_header);
        at = image_segment(image, type, 0, needed > image->capacity ? needed : image->capacity);
    }
    struct lp_segment_header *header = image_segment_header(image, at);
    uint64_t offset = at + sizeof *header + header->used;
    memcpy(image->bytes + offset, record, bytes);
    header->used += padded;
    return (lp_ref)(offset / 8);
}

void *image_at(struct image *image, lp_ref ref)
{
    return image->bytes + (size_t)ref * 8;
}

/* -- records ----------------------------------------------------------------------------------------------------- */

lp_ref image_name(struct image *image, const char *text, size_t len)
{
    struct lp_name_record record = {(uint32_t)len, (uint32_t)lp__hash_bytes(text, len)};
    uint8_t *bytes = malloc(sizeof record + len);
    if (!bytes) abort();
    memcpy(bytes, &record, sizeof record);
    memcpy(bytes + sizeof record, text, len);
    lp_ref ref = image_append(image, LP_SEGMENT_NAMES, bytes, sizeof record + len);
    free(bytes);
    return ref;
}

lp_ref image_names(struct image *image, const char *text)
{
    return image_name(image, text, strlen(text));
}

void image_fact(struct image *image, const char *key, const char *value)
{
    struct lp_fact fact = {.key_bytes = (uint16_t)strlen(key), .value_bytes = (uint32_t)strlen(value)};
    size_t size = sizeof fact + fact.key_bytes + fact.value_bytes;
    char *bytes = malloc(size + 1);
    if (!bytes) abort();
    memcpy(bytes, &fact, sizeof fact);
    memcpy(bytes + sizeof fact, key, fact.key_bytes);
    memcpy(bytes + sizeof fact + fact.key_bytes, value, fact.value_bytes);
    (void)image_append(image, LP_SEGMENT_FACTS, bytes, size);
    free(bytes);
}

void image_clock(struct image *image, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns)
{
    struct lp_clock_record record = {ticks, mono_ns, real_ns, ticks ^ mono_ns ^ real_ns ^ LP_CLOCK_CHECK};
    (void)image_append(image, LP_SEGMENT_CLOCK, &record, sizeof record);
}

lp_ref image_thread(struct image *image, uint32_t index)
{
    struct lp_thread_record record = {
        .index = index,
        .tid = image->pid + index,
        .attached_ticks = IMAGE_CREATED_TICKS,
        .last_ticks = IMAGE_CREATED_TICKS + IMAGE_LIFE_TICKS,
        .tenants = 1,
    };
    return image_append(image, LP_SEGMENT_THREADS, &record, sizeof record);
}

lp_ref image_root(struct image *image, uint32_t thread)
{
    struct lp_node_record record = {.flags = LP_NODE_ROOT, .thread = thread};
    return image_append(image, LP_SEGMENT_NODES, &record, sizeof record);
}

lp_ref image_node(struct image *image, lp_ref parent, const char *name, uint64_t calls, uint64_t each_ticks)
{
    struct lp_node_record record = {
        .parent = parent,
        .name = image_names(image, name),
        .begun = calls,
        .calls = calls,
        .wall = calls * each_ticks,
        .cpu_ticks = (int64_t)(calls * each_ticks / 2),
        .wall_min = each_ticks,
        .wall_max = each_ticks,
    };
    if (parent) record.thread = ((struct lp_node_record *)image_at(image, parent))->thread;
    lp_ref ref = image_append(image, LP_SEGMENT_NODES, &record, sizeof record);
    lp_ref hist = ref + (lp_ref)offsetof(struct lp_node_record, hist) / 8;
    if (calls) image_hist(image, hist, each_ticks, (uint32_t)calls);
    if (parent) ((struct lp_node_record *)image_at(image, parent))->inner += record.wall;
    return ref;
}

void image_open(struct image *image, lp_ref node, uint64_t start)
{
    struct lp_node_record *record = image_at(image, node);
    record->begun++;
    record->start_sum += start;
}

void image_hist(struct image *image, lp_ref hist, uint64_t value, uint32_t times)
{
    unsigned slot = lp__hist_slot(value);
    lp_ref block = ((struct lp_hist_record *)image_at(image, hist))->slot[slot];
    if (!block) {
        struct lp_hist_block fresh = {{0}};
        block = image_append(image, LP_SEGMENT_HIST, &fresh, sizeof fresh);
        ((struct lp_hist_record *)image_at(image, hist))->slot[slot] = block;
    }
    ((struct lp_hist_block *)image_at(image, block))->count[lp__hist_sub(value, slot)] += times;
}

lp_ref image_trend(struct image *image, lp_ref node, uint64_t stride, uint32_t marks, uint32_t each_ticks)
{
    struct lp_trend_record record = {.stride = stride, .count = marks};
    for (uint32_t i = 0; i < marks; i++)
        record.mark[i] = (uint32_t)stride * (i + 1) * each_ticks;
    lp_ref ref = image_append(image, LP_SEGMENT_HIST, &record, sizeof record);
    ((struct lp_node_record *)image_at(image, node))->trend = ref;
    return ref;
}

lp_ref image_counter(struct image *image, lp_ref node, const char *name, uint64_t adds, int64_t amount)
{
    struct lp_counter_record record = {
        .next = ((struct lp_node_record *)image_at(image, node))->counters,
        .name = image_names(image, name),
        .adds = adds,
        .min = amount,
        .max = amount,
    };
    int64_t total = amount * (int64_t)adds;
    record.total_low = (uint64_t)total;
    record.total_high = total < 0 ? -1 : 0;
    lp_ref ref = image_append(image, LP_SEGMENT_COUNTERS, &record, sizeof record);
    ((struct lp_node_record *)image_at(image, node))->counters = ref;
    return ref;
}

void image_usual(struct image *image, const char *attempt, const char *role, int rank)
{
    char text[32];
    image_fact(image, "attempt", attempt);
    image_fact(image, "role", role);
    image_fact(image, "host", "node1");
    (void)snprintf(text, sizeof text, "%d", rank);
    if (rank >= 0) image_fact(image, "rank", text);
    (void)image_thread(image, 0);
    lp_ref root = image_root(image, 0);
    lp_ref body = image_node(image, root, "main", 1, IMAGE_LIFE_TICKS / 2);
    lp_ref step = image_node(image, body, "step", 10, 200000000);
    (void)image_node(image, step, "play", 20, 60000000);
    (void)image_node(image, step, "learn", 10, 50000000);
    (void)image_counter(image, step, "games", 10, 3);
    image_seal(image);
}
