/* What a recording has written, read back with the store's own reader and added up over threads by path. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_READBACK_H
#define LP_TEST_READBACK_H

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/recording.h"
#include "os/file.h"
#include "store/reader.h"
#include "support/temp_dir.h"

struct readback {
    void *bytes;
    uint64_t len;
    struct lp_arena arena;
    struct lp_image image;
};

struct node_sum {
    unsigned nodes; /* how many threads have it; 0: there is no such path */
    uint32_t flags;
    uint64_t begun, calls, start_sum, wall, suspended, inner, unmeasured, skipped, async_entries;
    int64_t cpu_ns, cpu_ticks;
    uint64_t wall_min, wall_max;
    uint64_t hist; /* entries in the histogram */
};

static inline int readback_index(struct readback *rb)
{
    lp__arena_init(&rb->arena, (size_t)256 << 20);
    return lp__image_index(&rb->image, rb->bytes, rb->len, &rb->arena, NULL);
}

/* Of a live or closed recording; 0, or -1 when there is nothing. */
static inline int readback_recording(struct readback *rb, struct lp_recording *recording)
{
    if (lp__recording_copy(recording, &rb->bytes, &rb->len, NULL) || rb->len == 0) return -1;
    return readback_index(rb);
}

static inline int readback_file(struct readback *rb, const char *path)
{
    struct lp_buf buf;
    lp__buf_init(&buf, (size_t)1 << 30);
    rb->bytes = NULL;
    if (lp__slurp(path, &buf, NULL) || buf.len == 0) return -1;
    rb->len = buf.len;
    rb->bytes = buf.data;
    return readback_index(rb);
}

static inline void readback_release(struct readback *rb)
{
    lp__free(rb->bytes);
    lp__arena_release(&rb->arena);
}

static inline const struct lp_node_record *node_at(const struct readback *rb, lp_ref ref)
{
    return lp__image_record(&rb->image, ref, LP_SEGMENT_NODES, sizeof(struct lp_node_record));
}

/* The sum of a histogram's counters, carried ones included. */
static inline uint64_t hist_total(const struct readback *rb, const struct lp_hist_record *hist)
{
    uint64_t total = 0;
    unsigned slot, i;
    for (slot = 0; slot < LP_HIST_RECORD_SLOTS; slot++) {
        const struct lp_hist_block *block =
            lp__image_record(&rb->image, hist->slot[slot], LP_SEGMENT_HIST, sizeof *block);
        for (i = 0; block && i < 16; i++)
            total += block->count[i];
    }
    if (hist->carry)
        total += hist_total(rb, lp__image_record(&rb->image, hist->carry, LP_SEGMENT_HIST, sizeof *hist)) << 32;
    return total;
}

/* Is this node's path, without the root, exactly these names?  Folded and thread nodes go by their text too. */
static inline bool is_path(const struct readback *rb, const struct lp_node_record *node, const struct lp_text *names,
                           size_t count)
{
    while (count) {
        struct lp_text text;
        if (node == NULL || node->parent == 0 || !lp__image_name(&rb->image, node->name, &text)) return false;
        count--;
        if (text.len != names[count].len || memcmp(text.bytes, names[count].bytes, text.len) != 0) return false;
        node = node_at(rb, node->parent);
    }
    return node && node->parent == 0;
}

static inline void add_node(struct node_sum *sum, const struct readback *rb, const struct lp_node_record *node)
{
    sum->nodes++;
    sum->flags |= node->flags;
    sum->begun += node->begun;
    sum->calls += node->calls;
    sum->start_sum += node->start_sum;
    sum->wall += node->wall;
    sum->suspended += node->suspended;
    sum->inner += node->inner;
    sum->unmeasured += node->unmeasured;
    sum->skipped += node->skipped;
    sum->async_entries += node->async_entries;
    sum->cpu_ns += node->cpu_ns;
    sum->cpu_ticks += node->cpu_ticks;
    if (sum->nodes == 1 || node->wall_min < sum->wall_min) sum->wall_min = node->wall_min;
    if (node->wall_max > sum->wall_max) sum->wall_max = node->wall_max;
    sum->hist += hist_total(rb, &node->hist);
}

typedef void node_visitor(const struct readback *rb, const struct lp_node_record *node, void *arg);

static inline void each_node(const struct readback *rb, node_visitor *visit, void *arg)
{
    size_t i;
    uint64_t at;
    for (i = 0; i < rb->image.segment_count; i++) {
        const struct lp_image_segment *segment = &rb->image.segments[i];
        if (segment->type != LP_SEGMENT_NODES) continue;
        for (at = 0; at < segment->payload_bytes; at += sizeof(struct lp_node_record))
            visit(rb, (const void *)((const uint8_t *)rb->bytes + segment->payload + at), arg);
    }
}

struct path_query {
    struct lp_text names[64];
    size_t count;
    const char *counter;
    struct node_sum sum;
    struct lp_counter_record counters; /* total_low, adds, min, max added up */
    unsigned counters_found;
    uint64_t hist, hist_negative;
};

/* "a/b" as two names; "" is the root. */
static inline void split_path(struct path_query *query, const char *path)
{
    while (*path) {
        size_t len = strcspn(path, "/");
        assert(query->count < 64);
        query->names[query->count++] = (struct lp_text){path, len};
        path += len + (path[len] == '/');
    }
}

static inline uint64_t hist_total_at(const struct readback *rb, lp_ref ref)
{
    const struct lp_hist_record *hist = lp__image_record(&rb->image, ref, LP_SEGMENT_HIST, sizeof *hist);
    return hist ? hist_total(rb, hist) : 0;
}

static inline void add_counter(struct path_query *query, const struct readback *rb, lp_ref ref)
{
    const struct lp_counter_record *record;
    struct lp_text text;
    for (; ref; ref = record->next) {
        record = lp__image_record(&rb->image, ref, LP_SEGMENT_COUNTERS, sizeof *record);
        assert(record);
        if (!lp__image_name(&rb->image, record->name, &text) || text.len != strlen(query->counter) ||
            memcmp(text.bytes, query->counter, text.len) != 0)
            continue;
        bool carry = __builtin_add_overflow(query->counters.total_low, record->total_low, &query->counters.total_low);
        query->counters.total_high += record->total_high + carry;
        query->counters.adds += record->adds;
        if (!query->counters_found++ || record->min < query->counters.min) query->counters.min = record->min;
        if (query->counters_found == 1 || record->max > query->counters.max) query->counters.max = record->max;
        query->hist += hist_total_at(rb, record->hist);
        query->hist_negative += hist_total_at(rb, record->hist_negative);
    }
}

static inline void visit_query(const struct readback *rb, const struct lp_node_record *node, void *arg)
{
    struct path_query *query = arg;
    if (!is_path(rb, node, query->names, query->count)) return;
    add_node(&query->sum, rb, node);
    if (query->counter) add_counter(query, rb, node->counters);
}

static inline struct node_sum phase_at(const struct readback *rb, const char *path)
{
    struct path_query query = {.count = 0};
    split_path(&query, path);
    each_node(rb, visit_query, &query);
    return query.sum;
}

/* One name below the root, whatever bytes it is made of. */
static inline struct node_sum phase_named(const struct readback *rb, const char *bytes, size_t len)
{
    struct path_query query = {.names = {{bytes, len}}, .count = 1};
    each_node(rb, visit_query, &query);
    return query.sum;
}

static inline struct path_query counter_at(const struct readback *rb, const char *path, const char *counter)
{
    struct path_query query = {.counter = counter};
    split_path(&query, path);
    each_node(rb, visit_query, &query);
    return query;
}

static inline void count_node(const struct readback *rb, const struct lp_node_record *node, void *arg)
{
    (void)rb;
    (void)node;
    ++*(unsigned *)arg;
}

static inline unsigned node_count(const struct readback *rb)
{
    unsigned count = 0;
    each_node(rb, count_node, &count);
    return count;
}

struct thread_sum {
    unsigned records; /* with a tenant, now or before */
    uint64_t tenants, attached, elapsed;
    uint64_t drops[LP_DROP_COUNT];
};

static inline struct thread_sum threads_of(const struct readback *rb)
{
    struct thread_sum sum = {0};
    size_t i, drop;
    uint64_t at;
    for (i = 0; i < rb->image.segment_count; i++) {
        const struct lp_image_segment *segment = &rb->image.segments[i];
        if (segment->type != LP_SEGMENT_THREADS) continue;
        for (at = 0; at < segment->payload_bytes; at += sizeof(struct lp_thread_record)) {
            const struct lp_thread_record *record = (const void *)((const uint8_t *)rb->bytes + segment->payload + at);
            sum.records += record->tenants > 0;
            sum.tenants += record->tenants;
            sum.attached += record->attached_ticks != 0;
            sum.elapsed += record->elapsed;
            for (drop = 0; drop < LP_DROP_COUNT; drop++)
                sum.drops[drop] += record->drops[drop];
        }
    }
    return sum;
}

static inline uint64_t drops_of(const struct readback *rb, enum lp_drop reason)
{
    return threads_of(rb).drops[reason];
}

#endif
