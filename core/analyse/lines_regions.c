/* Regions: each table belongs to one region or none, so a region with those inside it is a sum of tables, made by the
 * same code as the whole run. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "analyse/lines_parts.h"
#include "base/fmt.h"

#define NONE UINT32_MAX

/* A table seen from one of the regions around it. */
struct member {
    uint32_t region, function, code, table;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    if (left->region != right->region) return left->region < right->region ? -1 : 1;
    if (left->function != right->function) return left->function < right->function ? -1 : 1;
    if (left->code != right->code) return left->code < right->code ? -1 : 1;
    return (left->table > right->table) - (left->table < right->table);
}

/* At most LP_LINES_REGION_DEPTH for each table. */
static size_t list_members(const struct lp_lines_work *work, struct member *members)
{
    const struct lp_lines *lines = work->lines;
    size_t count = 0;
    for (uint32_t i = 0; i < lines->table_count; i++) {
        const struct lp_lines_table *table = &lines->tables[i];
        for (uint32_t region = table->region; region != NONE; region = lines->regions[region].parent) {
            if (members) members[count] = (struct member){region, work->function_of[table->code], table->code, i};
            count++;
        }
    }
    return count;
}

/* Rows of one region, before their number is known. */
struct rows {
    struct lp_line_region_row *at;
    size_t count, cap;
};

static int add_rows(struct rows *rows, const struct lp_line_function_work *function, const struct lp_line_sum *sums)
{
    for (uint32_t i = 0; i < function->line_count; i++) {
        const struct lp_line_sum *sum = &sums[i];
        if (!sum->events && !(sum->self_ns > 0)) continue;
        if (rows->count == rows->cap) {
            size_t cap = rows->cap ? rows->cap * 2 : 64;
            struct lp_line_region_row *larger = lp__realloc(rows->at, cap * sizeof *larger);
            if (!larger) return LP_ERR_NO_MEMORY;
            rows->at = larger;
            rows->cap = cap;
        }
        rows->at[rows->count++] = (struct lp_line_region_row){
            .function = function->final,
            .line = function->lines[i],
            .events = sum->events,
            .hits = lp__line_sum_hits(sum),
            .mark = lp__line_sum_mark(sum),
            .self_ns = sum->self_ns,
            .inclusive_ns = sum->inclusive_ns,
        };
    }
    return LP_OK;
}

static int add_function(struct lp_lines_work *work, const struct member *members, size_t count, struct rows *rows)
{
    struct lp_line_function_work *function = &work->functions[members[0].function];
    uint32_t *tables = lp__calloc(count, sizeof *tables);
    struct lp_line_sum *sums = lp__calloc(function->line_count, sizeof *sums);
    for (size_t i = 0; tables && i < count; i++)
        tables[i] = members[i].table;
    int rc = tables && sums ? lp__lines_sum(work, function, tables, count, false, sums) : LP_ERR_NO_MEMORY;
    if (!rc) rc = add_rows(rows, function, sums);
    lp__free(tables);
    lp__free(sums);
    return rc;
}

static int compare_rows(const void *a, const void *b)
{
    const struct lp_line_region_row *left = a, *right = b;
    int order = (left->self_ns < right->self_ns) - (left->self_ns > right->self_ns);
    if (!order) order = (left->function > right->function) - (left->function < right->function);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

static int keep_rows(struct lp_line_report *report, struct lp_line_region *region, const struct rows *rows)
{
    region->rows = lp__arena_alloc(&report->arena, (rows->count + 1) * sizeof *region->rows);
    if (!region->rows) return LP_ERR_NO_MEMORY;
    region->row_count = rows->count;
    for (size_t i = 0; i < rows->count; i++) {
        region->rows[i] = rows->at[i];
        region->self_ns += rows->at[i].self_ns;
    }
    qsort(region->rows, region->row_count, sizeof *region->rows, compare_rows);
    return LP_OK;
}

static size_t run_of(const struct member *members, size_t count, size_t from, bool by_function)
{
    size_t to = from + 1;
    while (to < count && members[to].region == members[from].region &&
           (!by_function || members[to].function == members[from].function))
        to++;
    return to;
}

static int fill_region(struct lp_lines_work *work, const struct member *members, size_t count)
{
    struct rows rows = {0};
    int rc = LP_OK;
    for (size_t from = 0, to; from < count && !rc; from = to) {
        to = run_of(members, count, from, true);
        rc = add_function(work, members + from, to - from, &rows);
    }
    if (!rc) rc = keep_rows(work->report, &work->report->regions[members[0].region], &rows);
    lp__free(rows.at);
    return rc;
}

static int fill_regions(struct lp_lines_work *work)
{
    size_t count = list_members(work, NULL);
    struct member *members = lp__arena_alloc(&work->scratch, (count + 1) * sizeof *members);
    int rc = members ? LP_OK : LP_ERR_NO_MEMORY;
    if (rc) return rc;
    (void)list_members(work, members);
    qsort(members, count, sizeof *members, compare_members);
    for (size_t from = 0, to; from < count && !rc; from = to) {
        to = run_of(members, count, from, false);
        rc = fill_region(work, members + from, to - from);
    }
    return rc;
}

int lp__lines_regions(struct lp_lines_work *work)
{
    struct lp_line_report *report = work->report;
    size_t count = work->lines->region_count;
    report->regions = lp__arena_alloc(&report->arena, (count + 1) * sizeof *report->regions);
    if (!report->regions) return LP_ERR_NO_MEMORY;
    report->region_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct lp_lines_region *from = &work->lines->regions[i];
        report->regions[i] = (struct lp_line_region){
            .name = from->name, .parent = from->parent, .entries = from->entries, .wall_ns = from->wall_ns};
    }
    int rc = fill_regions(work);
    for (size_t i = 0; i < count; i++)
        report->regions[i].share = report->profiled_ns > 0 ? report->regions[i].self_ns / report->profiled_ns : LP_NAN;
    return rc;
}
