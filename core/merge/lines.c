/* Line tables of an image, added to those that are there: slots and branches, edges, region times. */
// SPDX-License-Identifier: MIT
#include "merge/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "merge/lines_build.h"
#include "merge/load.h"

#define GROW(array, cap, count) lp__load_grow((void **)&(array), &(cap), (count), sizeof *(array))

static const double slack_ns = 60e9;
static const double many = 65536; /* activations at a time, as far as that goes */

uint64_t lp__lines_hash(uint64_t a, uint64_t b, uint64_t c)
{
    return lp__hash_u64(lp__hash_u64(lp__hash_u64(a) + b) + c);
}

uint32_t lp__lines_look(const struct lp_lines_builder *builder, const struct lp_map *map, uint64_t hash,
                        const void *wanted, lp_lines_same *same, uint64_t *key)
{
    uint64_t found;
    for (*key = hash; lp__map_get(map, *key, &found); ++*key)
        if (same(builder, (uint32_t)found, wanted)) return (uint32_t)found;
    return LP_LINES_NONE;
}

int lp__lines_name(struct lp_lines_builder *builder, lp_ref ref, uint32_t *id)
{
    struct lp_text text;
    uint64_t known;
    *id = LP_LINES_NONE;
    if (lp__map_get(&builder->names, ref, &known)) {
        if (known) *id = (uint32_t)known - 1;
        return LP_OK;
    }
    bool good = lp__image_name(builder->image, ref, &text);
    int rc = good ? lp__intern_add(&builder->run->names, text.bytes, text.len, id) : LP_OK;
    return rc ? rc : lp__map_put(&builder->names, ref, good ? (uint64_t)*id + 1 : 0);
}

int lp__lines_each(struct lp_lines_builder *builder, uint16_t type, uint64_t least, lp_lines_visit *visit)
{
    const struct lp_image *image = builder->image;
    int rc = LP_OK;
    for (size_t i = 0; i < image->segment_count && !rc; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type != type) continue;
        for (uint64_t at = 0, bytes = 0; at < segment->payload_bytes && !rc; at += bytes) {
            uint64_t offset = segment->payload + at;
            uint32_t said;
            memcpy(&said, image->bytes + offset, sizeof said); /* payloads are whole words of 8 bytes */
            bytes = said;
            if (bytes < least || bytes % 8 || bytes > segment->payload_bytes - at) {
                builder->lines.damaged++; /* where the next one starts is not known */
                break;
            }
            rc = visit(builder, segment, (lp_ref)(offset / 8), image->bytes + offset, bytes);
        }
    }
    return rc;
}

/* -- tables ------------------------------------------------------------------------------------------------------ */

static bool same_table(const struct lp_lines_builder *builder, uint32_t index, const void *wanted)
{
    const struct lp_lines_table *table = &builder->lines.tables[index], *other = wanted;
    return table->code == other->code && table->region == other->region;
}

/* The joined table of a code object in a region, empty at first. */
static int table_of(struct lp_lines_builder *builder, uint32_t code, uint32_t region, uint32_t *index)
{
    struct lp_lines *lines = &builder->lines;
    struct lp_lines_table table = {.code = code, .region = region};
    struct lp_arena *arena = &builder->run->arena;
    uint64_t key;
    *index = lp__lines_look(builder, &builder->tables, lp__lines_hash(code, region, 1), &table, same_table, &key);
    if (*index != LP_LINES_NONE) return LP_OK;
    size_t slots = (size_t)lines->codes[code].slot_count + 1, branches = lines->codes[code].branch_count;
    table.slots = lp__arena_alloc(arena, slots * sizeof *table.slots);
    table.branches = lp__arena_alloc(arena, (branches ? branches : 1) * 2 * sizeof *table.branches);
    if (!table.slots || !table.branches) return LP_ERR_NO_MEMORY;
    if (GROW(lines->tables, builder->table_cap, lines->table_count)) return LP_ERR_NO_MEMORY;
    *index = (uint32_t)lines->table_count;
    lines->tables[lines->table_count++] = table;
    return lp__map_put(&builder->tables, key, *index);
}

/* A number of ticks that `activations` can have spent; what cannot be is nothing. */
static double possible(struct lp_lines_builder *builder, uint64_t ticks, double activations)
{
    if ((double)ticks <= builder->most_ticks * activations) return (double)ticks;
    builder->lines.damaged++;
    return 0;
}

/* Many activations may stand still in one place at a time; only one runs. */
static void add_slot(struct lp_lines_builder *builder, struct lp_lines_slot *into, const struct lp_line_slot *from)
{
    double again = possible(builder, from->own[1], 1), below = possible(builder, from->below, 1);
    into->events += from->events;
    into->self_ns += (possible(builder, from->own[0], 1) + again) * builder->ns_per_tick;
    if (below > again) into->below_ns += (below - again) * builder->ns_per_tick;
    into->suspended_ns += possible(builder, from->suspended, many) * builder->ns_per_tick;
}

/* -- edges ------------------------------------------------------------------------------------------------------- */

static bool same_edge(const struct lp_lines_builder *builder, uint32_t index, const void *wanted)
{
    const struct lp_lines_edge *edge = &builder->lines.edges[index], *other = wanted;
    return edge->caller == other->caller && edge->slot == other->slot && edge->callee == other->callee;
}

static int add_edge(struct lp_lines_builder *builder, const struct lp_lines_edge *edge)
{
    struct lp_lines *lines = &builder->lines;
    uint64_t key, hash = lp__lines_hash(edge->caller, edge->slot, edge->callee);
    uint32_t index = lp__lines_look(builder, &builder->edges, hash, edge, same_edge, &key);
    if (index != LP_LINES_NONE) {
        lines->edges[index].calls += edge->calls;
        lines->edges[index].wall_ns += edge->wall_ns;
        return LP_OK;
    }
    if (GROW(lines->edges, builder->edge_cap, lines->edge_count)) return LP_ERR_NO_MEMORY;
    lines->edges[lines->edge_count] = *edge;
    return lp__map_put(&builder->edges, key, lines->edge_count++);
}

static int add_edges(struct lp_lines_builder *builder, lp_ref first, uint32_t caller, uint32_t slot)
{
    struct lp_edge_record record;
    int rc = LP_OK;
    for (lp_ref ref = first; ref && !rc; ref = record.next) {
        uint64_t callee;
        const void *at = lp__image_record(builder->image, ref, LP_SEGMENT_EDGES, sizeof record);
        if (!at || !builder->edges_left) {
            builder->lines.damaged++;
            break;
        }
        builder->edges_left--;
        memcpy(&record, at, sizeof record);
        if (!record.code || !lp__map_get(&builder->code_of, record.code, &callee)) {
            builder->lines.damaged++;
            continue;
        }
        struct lp_lines_edge edge = {.caller = caller,
                                     .slot = slot,
                                     .callee = (uint32_t)callee,
                                     .calls = record.calls,
                                     .wall_ns = possible(builder, record.wall, 1) * builder->ns_per_tick};
        rc = add_edge(builder, &edge);
    }
    return rc;
}

/* -- one record -------------------------------------------------------------------------------------------------- */

static bool fits(const struct lp_lines_builder *builder, const struct lp_line_table_record *record, uint64_t code,
                 uint64_t bytes)
{
    const struct lp_lines_code *known = &builder->lines.codes[code];
    uint64_t slots = (uint64_t)record->slot_count + 1, branches = record->branch_count;
    return known->slot_count == record->slot_count && known->branch_count == record->branch_count &&
           sizeof *record + slots * sizeof(struct lp_line_slot) + branches * 16 <= bytes;
}

static int add_slots(struct lp_lines_builder *builder, uint32_t index, const uint8_t *at, uint32_t count)
{
    struct lp_lines_slot *slots = builder->lines.tables[index].slots;
    uint32_t code = builder->lines.tables[index].code;
    int rc = LP_OK;
    for (uint32_t i = 0; i < count && !rc; i++) {
        struct lp_line_slot slot;
        memcpy(&slot, at + (size_t)i * sizeof slot, sizeof slot);
        add_slot(builder, &slots[i], &slot);
        if (slot.edges) rc = add_edges(builder, slot.edges, code, i);
    }
    return rc;
}

static void add_branches(uint64_t *into, const uint8_t *at, uint32_t count)
{
    for (size_t i = 0; i < (size_t)count * 2; i++) {
        uint64_t taken;
        memcpy(&taken, at + i * sizeof taken, sizeof taken);
        into[i] += taken;
    }
}

/* A region that cannot be told costs the name, not the time. */
static uint32_t region_of(struct lp_lines_builder *builder, lp_ref ref)
{
    uint64_t region;
    if (!ref) return LP_LINES_NONE;
    if (lp__map_get(&builder->region_of, ref, &region)) return (uint32_t)region;
    builder->lines.damaged++;
    return LP_LINES_NONE;
}

static int add_table(struct lp_lines_builder *builder, const struct lp_image_segment *segment, lp_ref ref,
                     const uint8_t *at, uint64_t bytes)
{
    struct lp_line_table_record record;
    uint64_t code;
    uint32_t index;
    (void)ref;
    memcpy(&record, at, sizeof record);
    if (!record.code || !lp__map_get(&builder->code_of, record.code, &code) || !fits(builder, &record, code, bytes)) {
        builder->lines.damaged++;
        return LP_OK;
    }
    int rc = table_of(builder, (uint32_t)code, region_of(builder, record.region), &index);
    if (rc) return rc;
    struct lp_lines_table *table = &builder->lines.tables[index];
    const uint8_t *slots = at + sizeof record;
    table->calls += record.calls;
    table->active += record.active;
    table->wall_ns += possible(builder, record.wall, 1) * builder->ns_per_tick;
    add_branches(table->branches, slots + ((size_t)record.slot_count + 1) * sizeof(struct lp_line_slot),
                 record.branch_count);
    rc = lp__map_put(&builder->thread_seen, segment->thread, 1);
    return rc ? rc : add_slots(builder, index, slots, record.slot_count + 1);
}

/* -- regions' own time ------------------------------------------------------------------------------------------- */

/* What the open entries have so far; nothing where their starts cannot be right. */
static double open_ticks(struct lp_lines_builder *builder, const struct lp_region_entry_record *record)
{
    int64_t ticks = (int64_t)(record->open * builder->end_ticks - record->start_sum);
    return record->open && ticks > 0 ? possible(builder, (uint64_t)ticks, many) : 0;
}

static void add_region_times(struct lp_lines_builder *builder)
{
    const struct lp_image *image = builder->image;
    struct lp_region_entry_record record;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type != LP_SEGMENT_REGIONS) continue;
        for (uint64_t at = 0; at < segment->payload_bytes; at += sizeof record) {
            memcpy(&record, image->bytes + segment->payload + at, sizeof record);
            uint32_t index = record.region ? region_of(builder, record.region) : LP_LINES_NONE;
            if (index == LP_LINES_NONE) continue;
            struct lp_lines_region *region = &builder->lines.regions[index];
            region->entries += record.entries + record.open;
            double ticks = possible(builder, record.wall, many) + open_ticks(builder, &record);
            region->wall_ns += ticks * builder->ns_per_tick;
        }
    }
}

/* -- an image ---------------------------------------------------------------------------------------------------- */

static uint64_t count_edges(const struct lp_image *image)
{
    uint64_t count = 0;
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].type == LP_SEGMENT_EDGES)
            count += image->segments[i].payload_bytes / sizeof(struct lp_edge_record);
    return count;
}

static void forget_image(struct lp_lines_builder *builder)
{
    lp__map_release(&builder->names);
    lp__map_release(&builder->file_of);
    lp__map_release(&builder->code_of);
    lp__map_release(&builder->region_of);
    lp__map_release(&builder->thread_seen);
    builder->image = NULL;
}

/* Generously: the end of a process that was killed is known to a heartbeat. */
static double most_ticks(const struct lp_clock_line *line, uint64_t end_ticks)
{
    double life = (double)(int64_t)(end_ticks - line->base_ticks);
    return line->base_ticks && life >= 0 ? 2 * life + slack_ns / line->ns_per_tick : 0x1p60 / line->ns_per_tick;
}

int lp__lines_add(struct lp_lines_builder *builder, const struct lp_image *image, const struct lp_clock_line *line,
                  uint64_t end_ticks)
{
    builder->image = image;
    builder->ns_per_tick = line->ns_per_tick;
    builder->most_ticks = most_ticks(line, end_ticks);
    builder->end_ticks = end_ticks;
    builder->edges_left = count_edges(image);
    size_t tables = builder->lines.table_count;
    int rc = lp__lines_codes(builder);
    if (!rc)
        rc = lp__lines_each(builder, LP_SEGMENT_LINES,
                            sizeof(struct lp_line_table_record) + sizeof(struct lp_line_slot), add_table);
    if (!rc) add_region_times(builder);
    if (!rc) rc = lp__lines_facts(builder);
    if (!rc) lp__lines_threads(builder);
    if (builder->thread_seen.count || builder->lines.table_count > tables) builder->lines.processes++;
    forget_image(builder);
    return rc;
}

/* -- the whole --------------------------------------------------------------------------------------------------- */

struct lp_lines_builder *lp__lines_builder_new(struct lp_run *run)
{
    struct lp_lines_builder *builder = lp__calloc(1, sizeof *builder);
    if (!builder) return NULL;
    builder->run = run;
    builder->lines.event_cost_ns = LP_NAN;
    builder->lines.mechanism = "";
    return builder;
}

void lp__lines_builder_free(struct lp_lines_builder *builder)
{
    if (!builder) return;
    struct lp_map *maps[] = {&builder->files,   &builder->codes,   &builder->tables,     &builder->edges,
                             &builder->regions, &builder->sums_of, &builder->outside_of, &builder->notes_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lp__map_release(maps[i]);
    forget_image(builder);
    lp__free(builder->lines.files);
    lp__free(builder->lines.codes);
    lp__free(builder->lines.tables);
    lp__free(builder->lines.edges);
    lp__free(builder->lines.regions);
    lp__free(builder->lines.notes);
    lp__free(builder->lines.outside);
    lp__free(builder->source_bytes);
    lp__free(builder->region_depth);
    lp__free(builder->sums);
    lp__free(builder);
}

/* A copy in the run's memory; `failed` is set when there is none. */
static void *keep(struct lp_run *run, const void *array, size_t count, size_t size, bool *failed)
{
    void *kept = count ? lp__arena_alloc(&run->arena, count * size) : NULL;
    if (kept) memcpy(kept, array, count * size);
    *failed |= count && !kept;
    return kept;
}

#define KEEP(array, count) (array) = keep(builder->run, (array), (count), sizeof *(array), &failed)

static int by_calls(const void *a, const void *b)
{
    const struct lp_lines_outside *left = a, *right = b;
    int order = (left->calls < right->calls) - (left->calls > right->calls);
    return order ? order : strcmp(left->path, right->path);
}

int lp__lines_finish(struct lp_lines_builder *builder)
{
    struct lp_lines *lines = lp__arena_alloc(&builder->run->arena, sizeof *lines);
    bool failed = false;
    int rc = lines ? lp__lines_attach_sums(builder) : LP_ERR_NO_MEMORY;
    if (!rc) rc = lp__lines_sources(builder);
    if (rc) return rc;
    *lines = builder->lines;
    KEEP(lines->files, lines->file_count);
    KEEP(lines->codes, lines->code_count);
    KEEP(lines->tables, lines->table_count);
    KEEP(lines->edges, lines->edge_count);
    KEEP(lines->regions, lines->region_count);
    KEEP(lines->notes, lines->note_count);
    KEEP(lines->outside, lines->outside_count);
    if (failed) return LP_ERR_NO_MEMORY;
    if (lines->outside) qsort(lines->outside, lines->outside_count, sizeof *lines->outside, by_calls);
    builder->run->lines = lines;
    return LP_OK;
}
