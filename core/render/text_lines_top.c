/* Rankings over all functions: the lines of the whole run, and those of each region. */
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "render/escape.h"
#include "render/text.h"
#include "render/text_lines.h"

enum { WIDTH = 130, PLACE = 46, NUMBER = 6, HITS = 10, TIME = 14, EACH = 12, SHARE = 8, SOURCE = 28 };
/* Beside a column of self times. */
enum { NARROW_PLACE = 34, NARROW_SOURCE = 25 };

/* -- rows -------------------------------------------------------------------------------------------------------- */

static void titles(struct lp_lines_page *page, const char *share, bool self)
{
    lp__lines_cell(page, "File::Function", self ? NARROW_PLACE : PLACE);
    lp__lines_cell(page, "Line", NUMBER);
    lp__lines_cell(page, "Hits", HITS);
    lp__lines_unit_cell(page, "Time", TIME);
    if (self) lp__lines_unit_cell(page, "Self", TIME);
    lp__lines_unit_cell(page, "Per Hit", EACH);
    lp__lines_cell(page, share, SHARE);
    lp__buf_adds(page->out, "Line Content\n");
    lp__lines_rule(page, '-');
}

static void row(struct lp_lines_page *page, const struct lp_line_shown *shown, double part, double whole, bool self)
{
    char number[LP_FMT_CAP];
    lp__lines_place_cell(page, shown->function, self ? NARROW_PLACE : PLACE);
    (void)snprintf(number, sizeof number, "%" PRIu32, shown->line);
    lp__lines_cell(page, number, NUMBER);
    lp__lines_hits_cell(page, shown, HITS);
    lp__lines_time_cell(page, shown->time_ns, TIME);
    if (self) lp__lines_time_cell(page, shown->self_ns, TIME);
    lp__lines_per_hit_cell(page, shown, EACH);
    lp__lines_share_cell(page, part, whole, SHARE);
    lp__lines_source(page, shown, self ? NARROW_SOURCE : SOURCE);
}

static size_t at_most(size_t count, uint32_t top)
{
    return top && count > top ? top : count;
}

/* -- the run ----------------------------------------------------------------------------------------------------- */

static size_t list_rows(struct lp_lines_page *page, struct lp_line_shown *rows)
{
    const struct lp_line_report *report = page->report;
    size_t count = 0;
    for (size_t f = 0; f < report->function_count; f++)
        for (size_t i = 0; i < report->functions[f].row_count; i++) {
            rows[count] = lp__lines_shown(page, &report->functions[f], &report->functions[f].rows[i]);
            count += lp__lines_is_shown(page, &rows[count]);
        }
    lp__lines_sort(page, rows, count);
    return count;
}

static void top_head(struct lp_lines_page *page, size_t shown, size_t count)
{
    static const char *const orders[] = {"by time", "by place", "by self time", "by hits"};
    char all[LP_FMT_CAP];
    lp__lines_rule(page, '=');
    lp__buf_addf(page->out, "Top %zu of %s lines of all functions, %s\n", shown, lp__fmt_count(all, sizeof all, count),
                 orders[page->options->sort]);
    lp__buf_adds(page->out, "% Time is the share of all profiled time, ");
    lp__lines_add_time(page, page->options->raw ? page->report->profiled_ns : page->report->corrected_ns);
    lp__buf_addc(page->out, '\n');
    lp__lines_rule(page, '=');
}

static void top_table(struct lp_lines_page *page)
{
    const struct lp_line_report *report = page->report;
    double whole = page->options->raw ? report->profiled_ns : report->corrected_ns;
    struct lp_line_shown *rows = lp__calloc(report->hot_count + 1, sizeof *rows);
    if (!rows) {
        page->out->failed = LP_ERR_NO_MEMORY;
        return;
    }
    size_t count = list_rows(page, rows), shown = at_most(count, page->options->top);
    if (shown) {
        top_head(page, shown, count);
        titles(page, "% Time", page->options->self);
    }
    for (size_t i = 0; i < shown; i++)
        row(page, &rows[i], rows[i].time_ns, whole, page->options->self);
    if (shown) lp__buf_addc(page->out, '\n');
    lp__free(rows);
}

void lp__render_lines_top(const struct lp_line_report *report, const struct lp_lines_options *options,
                          struct lp_buf *out)
{
    struct lp_lines_page page = {.report = report, .options = options, .out = out, .width = WIDTH};
    if (report->hot_count) top_table(&page);
    lp__lines_closing(&page);
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static void add_path(struct lp_lines_page *page, uint32_t region)
{
    const struct lp_line_region *regions = page->report->regions;
    uint32_t path[LP_LINES_REGION_DEPTH];
    size_t depth = 0;
    for (; region != UINT32_MAX && depth < LP_LINES_REGION_DEPTH; region = regions[region].parent)
        path[depth++] = region;
    while (depth) {
        struct lp_text name = lp__shown_name(regions[path[--depth]].name);
        (void)lp__escape_label(page->out, name.bytes, name.len, 60, page->options->utf8);
        if (depth) lp__buf_adds(page->out, " / ");
    }
}

static void region_head(struct lp_lines_page *page, uint32_t index)
{
    const struct lp_line_region *region = &page->report->regions[index];
    double ns = page->options->raw ? region->self_ns : region->corrected_self_ns;
    double whole = page->options->raw ? page->report->profiled_ns : page->report->corrected_ns;
    char share[LP_FMT_CAP], entries[LP_FMT_CAP];
    lp__lines_rule(page, '=');
    lp__buf_adds(page->out, "Region: ");
    add_path(page, index);
    lp__buf_adds(page->out, "\nTotal time: ");
    lp__lines_add_time(page, ns);
    lp__buf_addf(page->out, " (%s of all profiled time) in %s %s",
                 lp__fmt_pct(share, sizeof share, whole > 0 ? ns / whole : LP_NAN),
                 lp__fmt_count(entries, sizeof entries, region->entries), region->entries == 1 ? "entry" : "entries");
    if (region->entries) {
        lp__buf_adds(page->out, ", ");
        lp__lines_add_time(page, ns / (double)region->entries);
        lp__buf_adds(page->out, " each");
    }
    lp__buf_adds(page->out, "; between its ends: ");
    lp__lines_add_time(page, region->wall_ns);
    lp__buf_addc(page->out, '\n');
    lp__lines_rule(page, '=');
}

static struct lp_line_shown region_row(const struct lp_lines_page *page, const struct lp_line_region_row *row)
{
    bool raw = page->options->raw;
    return (struct lp_line_shown){
        .function = &page->report->functions[row->function],
        .line = row->line,
        .mark = row->mark,
        .hits = row->hits,
        .time_ns = raw ? row->inclusive_ns : row->corrected_inclusive_ns,
        .self_ns = raw ? row->self_ns : row->corrected_self_ns,
    };
}

static void region_table(struct lp_lines_page *page, uint32_t index)
{
    const struct lp_line_region *region = &page->report->regions[index];
    struct lp_line_shown *rows = lp__calloc(region->row_count + 1, sizeof *rows);
    size_t count = 0;
    if (!rows) {
        page->out->failed = LP_ERR_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < region->row_count; i++) {
        rows[count] = region_row(page, &region->rows[i]);
        count += lp__lines_is_shown(page, &rows[count]);
    }
    lp__lines_sort(page, rows, count);
    region_head(page, index);
    titles(page, "% Region", true);
    count = at_most(count, page->options->top);
    for (size_t i = 0; i < count; i++)
        row(page, &rows[i], rows[i].self_ns, page->options->raw ? region->self_ns : region->corrected_self_ns, true);
    lp__buf_addc(page->out, '\n');
    lp__free(rows);
}

/* What the figures add up to. */
static void remark(struct lp_lines_page *page)
{
    const struct lp_line_report *report = page->report;
    double inside = 0, whole = page->options->raw ? report->profiled_ns : report->corrected_ns;
    for (size_t i = 0; i < report->region_count; i++)
        if (report->regions[i].parent == UINT32_MAX)
            inside += page->options->raw ? report->regions[i].self_ns : report->regions[i].corrected_self_ns;
    lp__buf_adds(page->out,
                 "% Region is a line's self time as a share of the region's total. A region holds those inside "
                 "it; outside all regions: ");
    lp__lines_add_time(page, fmax(0, whole - inside));
    lp__buf_adds(page->out, ".\n");
}

void lp__render_lines_regions(const struct lp_line_report *report, const struct lp_lines_options *options,
                              struct lp_buf *out)
{
    struct lp_lines_page page = {.report = report, .options = options, .out = out, .width = WIDTH};
    for (uint32_t i = 0; i < report->region_count && !out->failed; i++)
        region_table(&page, i);
    if (report->region_count)
        remark(&page);
    else if (report->hot_count)
        lp__buf_adds(out, "No region was opened while lines were recorded.\n");
    lp__lines_closing(&page);
}
