/* See the header. */
// SPDX-License-Identifier: MIT
#include "line_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static void *zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) abort();
    return memory;
}

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

lp_ref line_file(struct image *image, const char *path, const char *text, int keep)
{
    size_t len = text ? strlen(text) : 0, kept = keep ? len : 0;
    struct lp_file_record record = {.bytes = (uint32_t)padded(sizeof record + kept),
                                    .kind = LP_CODE_FILE,
                                    .path = image_names(image, path),
                                    .flags = text ? 0 : LP_FILE_NO_SOURCE,
                                    .source_hash = text ? lp__hash_bytes(text, len) : 0,
                                    .source_bytes = len,
                                    .text_bytes = (uint32_t)kept};
    uint8_t *bytes = zeroed(record.bytes);
    memcpy(bytes, &record, sizeof record);
    if (kept) memcpy(bytes + sizeof record, text, kept);
    lp_ref ref = image_append(image, LP_SEGMENT_CODE, bytes, record.bytes);
    free(bytes);
    return ref;
}

lp_ref line_code(struct image *image, lp_ref file, const char *name, uint32_t first_line, const uint32_t *lines,
                 uint32_t branches)
{
    uint32_t slots = 0;
    while (lines[slots])
        slots++;
    size_t places = ((size_t)slots + branches) * sizeof(struct lp_place);
    struct lp_code_record record = {.kind = LP_CODE_FUNCTION,
                                    .file = file,
                                    .name = image_names(image, name),
                                    .first_line = first_line,
                                    .flags = 3,
                                    .python = 0x030C0100,
                                    .slot_count = slots,
                                    .branch_count = branches,
                                    .code_bytes = 16,
                                    .lines_bytes = 5,
                                    .handlers_bytes = 0};
    record.bytes = (uint32_t)padded(sizeof record + places + 16 + 5);
    uint8_t *bytes = zeroed(record.bytes);
    struct lp_place *place = (struct lp_place *)(void *)(bytes + sizeof record);
    for (uint32_t i = 0; i < slots + branches; i++)
        place[i] = (struct lp_place){.offset = 2 * i, .line = i < slots ? lines[i] : first_line};
    memset(bytes + sizeof record + places, 9, 16 + 5);
    record.hash = lp__hash_bytes(bytes + sizeof record, record.bytes - sizeof record) + first_line;
    memcpy(bytes, &record, sizeof record);
    lp_ref ref = image_append(image, LP_SEGMENT_CODE, bytes, record.bytes);
    free(bytes);
    return ref;
}

uint64_t line_code_hash(struct image *image, lp_ref code)
{
    return ((struct lp_code_record *)image_at(image, code))->hash;
}

lp_ref line_region(struct image *image, lp_ref parent, const char *name)
{
    struct lp_region_record record = {
        .bytes = sizeof record, .kind = LP_CODE_REGION, .parent = parent, .name = image_names(image, name)};
    return image_append(image, LP_SEGMENT_CODE, &record, sizeof record);
}

lp_ref line_region_time(struct image *image, lp_ref region, uint64_t entries, uint64_t each_ticks)
{
    struct lp_region_entry_record record = {.region = region, .entries = entries, .wall = entries * each_ticks};
    return image_append(image, LP_SEGMENT_REGIONS, &record, sizeof record);
}

/* -- tables ------------------------------------------------------------------------------------------------------ */

lp_ref line_table(struct image *image, lp_ref code, lp_ref region)
{
    const struct lp_code_record *of = image_at(image, code);
    struct lp_line_table_record record = {
        .slot_count = of->slot_count, .code = code, .region = region, .branch_count = of->branch_count};
    record.bytes = (uint32_t)(sizeof record + ((size_t)record.slot_count + 1) * sizeof(struct lp_line_slot) +
                              (size_t)record.branch_count * 16);
    uint8_t *bytes = zeroed(record.bytes);
    memcpy(bytes, &record, sizeof record);
    lp_ref ref = image_append(image, LP_SEGMENT_LINES, bytes, record.bytes);
    free(bytes);
    return ref;
}

struct lp_line_table_record *line_table_at(struct image *image, lp_ref table)
{
    return image_at(image, table);
}

struct lp_line_slot *line_slot(struct image *image, lp_ref table, uint32_t slot)
{
    return (struct lp_line_slot *)(void *)(line_table_at(image, table) + 1) + slot;
}

uint64_t *line_branch(struct image *image, lp_ref table, uint32_t branch)
{
    struct lp_line_slot *end = line_slot(image, table, line_table_at(image, table)->slot_count + 1);
    return (uint64_t *)(void *)end + (size_t)branch * 2;
}

void line_add(struct image *image, lp_ref table, uint32_t slot, uint64_t events, uint64_t own)
{
    struct lp_line_slot *at = line_slot(image, table, slot);
    at->events += events;
    at->own[0] += own;
}

lp_ref line_call(struct image *image, lp_ref table, uint32_t slot, lp_ref callee, uint64_t calls, uint64_t ticks)
{
    struct lp_edge_record edge = {
        .next = line_slot(image, table, slot)->edges, .code = callee, .calls = calls, .wall = ticks};
    lp_ref ref = image_append(image, LP_SEGMENT_EDGES, &edge, sizeof edge);
    line_slot(image, table, slot)->edges = ref;
    line_slot(image, table, slot)->below += ticks;
    return ref;
}

void line_calls(struct image *image, lp_ref table, uint64_t calls, uint64_t wall)
{
    line_table_at(image, table)->calls += calls;
    line_table_at(image, table)->wall += wall;
}

/* -- sums -------------------------------------------------------------------------------------------------------- */

lp_ref line_sums(struct image *image, lp_ref code, const char *text, uint32_t pass, const struct lp_sums_row *rows,
                 uint32_t row_count, const struct lp_sums_term *terms, uint32_t term_count)
{
    size_t rows_bytes = row_count * sizeof *rows, terms_bytes = term_count * sizeof *terms;
    struct lp_sums_record record = {.bytes = (uint32_t)(sizeof record + rows_bytes + terms_bytes),
                                    .kind = LP_CODE_SUMS,
                                    .code_hash = line_code_hash(image, code),
                                    .source_hash = lp__hash_bytes(text, strlen(text)),
                                    .row_count = row_count,
                                    .term_count = term_count,
                                    .pass = pass};
    uint8_t *bytes = zeroed(record.bytes);
    memcpy(bytes, &record, sizeof record);
    memcpy(bytes + sizeof record, rows, rows_bytes);
    memcpy(bytes + sizeof record + rows_bytes, terms, terms_bytes);
    lp_ref ref = image_append(image, LP_SEGMENT_CODE, bytes, record.bytes);
    free(bytes);
    return ref;
}

/* -- the usual program ------------------------------------------------------------------------------------------- */

const char line_program[] = "def inner(n):\n"
                            "    total = 0\n"
                            "    for i in range(n):\n"
                            "        total += i\n"
                            "    return total\n"
                            "\n"
                            "def outer():\n"
                            "    for k in range(300):\n"
                            "        inner(k)\n";

static void usual_inner(struct image *image, lp_ref code, lp_ref region)
{
    static const uint64_t events[] = {300, 45150, 44850, 300}, own[] = {100000, 2400000, 3000000, 300000};
    lp_ref table = line_table(image, code, region);
    for (uint32_t i = 0; i < 4; i++)
        line_add(image, table, i, events[i], own[i]);
    line_add(image, table, 4, 0, 200000); /* the entry */
    line_calls(image, table, 300, 6000000);
}

static void usual_sums(struct image *image, lp_ref inner, lp_ref outer)
{
    static const struct lp_sums_row inner_rows[] = {
        {2, LP_ROW_EXACT, 1}, {3, LP_ROW_EXACT, 2}, {4, LP_ROW_EXACT, 1}, {5, LP_ROW_EXACT, 1}};
    static const struct lp_sums_term inner_terms[] = {{1, 0}, {1, 4}, {1, 2}, {1, 2}, {1, 3}};
    static const struct lp_sums_row outer_rows[] = {{8, LP_ROW_EXACT, 1}, {9, LP_ROW_EXACT, 1}};
    static const struct lp_sums_term outer_terms[] = {{1, 0}, {1, 1}};
    (void)line_sums(image, inner, line_program, 1, inner_rows, 4, inner_terms, 5);
    (void)line_sums(image, outer, line_program, 1, outer_rows, 2, outer_terms, 2);
}

void line_usual(struct image *image)
{
    static const uint32_t inner_lines[] = {2, 3, 4, 5, 0}, outer_lines[] = {8, 9, 0};
    image_fact(image, "collector", "lines");
    image_fact(image, "lines.mechanism", "monitoring");
    image_fact(image, "lines.event_cost_ps", "15000");
    (void)image_thread(image, 0);
    lp_ref file = line_file(image, LINE_PROGRAM_PATH, line_program, 1);
    lp_ref inner = line_code(image, file, "inner", 1, inner_lines, 0);
    lp_ref outer = line_code(image, file, "outer", 7, outer_lines, 0);
    lp_ref region = line_region(image, 0, "hot");
    usual_sums(image, inner, outer);
    (void)image_segment(image, LP_SEGMENT_LINES, 1, 4096);
    lp_ref table = line_table(image, outer, 0);
    line_add(image, table, 0, 301, 1000000);
    line_add(image, table, 1, 300, 900000);
    line_add(image, table, 2, 0, 100000);
    (void)line_call(image, table, 1, inner, 300, 6000000);
    line_calls(image, table, 1, 8000000);
    usual_inner(image, inner, region);
    (void)line_region_time(image, region, 300, 20000);
    image_seal(image);
}
