/* The data of a line report's page, as columns.
 *
 *   files      path, source state, self, hits, and the lines of text (null: not to be had)
 *   functions  file, name, first and last line, calls, times; "rows" and "missed": how many of each follow
 *   rows       of all functions in a row: line as the step from the row before (the first: from the function's first
 *              line), hits, events less hits, self, inclusive less self, suspended; "cost" is self less corrected self,
 *              "cost_below" what the correction takes off inclusive less self
 *   missed     lines that have code and were not executed, as steps like the rows
 *   calls      caller, line, callee, calls, time
 *   regions    parent (-1: none), entries, times; "rows": how many of region_rows are its own
 *
 * Steps and differences are mostly 0 or 1, which is what makes a page of 20,000 lines small. */
// SPDX-License-Identifier: MIT
#include "render/html.h"

#include <math.h>
#include <string.h>

#include "render/html_lines.h"
#include "render/json.h"
#include "render/page.h"

#define COLUMN(type, member, kind, name)                                                                               \
    {                                                                                                                  \
        name, offsetof(struct type, member), kind                                                                      \
    }
enum { MOST_OUTSIDE = 20 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct lp_page_column file_columns[] = {
    COLUMN(lp_line_file, source, LP_PAGE_ENUM, "source"),
    COLUMN(lp_line_file, line_count, LP_PAGE_U32, "lines"),
    COLUMN(lp_line_file, self_ns, LP_PAGE_NS, "self"),
    COLUMN(lp_line_file, hits, LP_PAGE_U64, "hits"),
};
static const struct lp_page_column function_columns[] = {
    COLUMN(lp_line_function, file, LP_PAGE_U32, "file"),
    COLUMN(lp_line_function, first_line, LP_PAGE_U32, "first"),
    COLUMN(lp_line_function, last_line, LP_PAGE_U32, "last"),
    COLUMN(lp_line_function, flags, LP_PAGE_U32, "flags"),
    COLUMN(lp_line_function, calls, LP_PAGE_U64, "calls"),
    COLUMN(lp_line_function, active, LP_PAGE_U64, "active"),
    COLUMN(lp_line_function, self_ns, LP_PAGE_NS, "self"),
    COLUMN(lp_line_function, total_ns, LP_PAGE_NS, "total"),
    COLUMN(lp_line_function, corrected_self_ns, LP_PAGE_NS, "corrected_self"),
    COLUMN(lp_line_function, corrected_total_ns, LP_PAGE_NS, "corrected_total"),
    COLUMN(lp_line_function, suspended_ns, LP_PAGE_NS, "suspended"),
};
static const struct lp_page_column row_columns[] = {
    COLUMN(lp_line_row, mark, LP_PAGE_ENUM, "mark"),
    COLUMN(lp_line_row, hits, LP_PAGE_U64, "hits"),
    COLUMN(lp_line_row, self_ns, LP_PAGE_NS, "self"),
    COLUMN(lp_line_row, suspended_ns, LP_PAGE_NS, "suspended"),
};
static const struct lp_page_column call_columns[] = {
    COLUMN(lp_line_call, line, LP_PAGE_U32, "line"),
    COLUMN(lp_line_call, function, LP_PAGE_U32, "callee"),
    COLUMN(lp_line_call, calls, LP_PAGE_U64, "calls"),
    COLUMN(lp_line_call, inclusive_ns, LP_PAGE_NS, "inclusive"),
};
static const struct lp_page_column region_columns[] = {
    COLUMN(lp_line_region, entries, LP_PAGE_U64, "entries"),
    COLUMN(lp_line_region, wall_ns, LP_PAGE_NS, "wall"),
    COLUMN(lp_line_region, self_ns, LP_PAGE_NS, "self"),
    COLUMN(lp_line_region, corrected_self_ns, LP_PAGE_NS, "corrected_self"),
};
static const struct lp_page_column region_row_columns[] = {
    COLUMN(lp_line_region_row, function, LP_PAGE_U32, "function"),
    COLUMN(lp_line_region_row, line, LP_PAGE_U32, "line"),
    COLUMN(lp_line_region_row, events, LP_PAGE_U64, "events"),
    COLUMN(lp_line_region_row, hits, LP_PAGE_U64, "hits"),
    COLUMN(lp_line_region_row, mark, LP_PAGE_ENUM, "mark"),
    COLUMN(lp_line_region_row, self_ns, LP_PAGE_NS, "self"),
    COLUMN(lp_line_region_row, inclusive_ns, LP_PAGE_NS, "inclusive"),
    COLUMN(lp_line_region_row, corrected_self_ns, LP_PAGE_NS, "corrected_self"),
    COLUMN(lp_line_region_row, corrected_inclusive_ns, LP_PAGE_NS, "corrected_inclusive"),
};

/* -- files ------------------------------------------------------------------------------------------------------- */

static void put_text(struct lp_json *json, const struct lp_line_file *file)
{
    if (!file->text || !file->line_starts) {
        lp__json_null(json);
        return;
    }
    lp__json_open(json, '[');
    for (uint32_t line = 1; line <= file->line_count; line++) {
        struct lp_text text = {"", 0};
        (void)lp__line_text(file, line, &text);
        lp__json_str(json, text.bytes, text.len);
    }
    lp__json_close(json, ']');
}

static void put_files(struct lp_page_data *data, const struct lp_line_report *report)
{
    struct lp_json *json = &data->json;
    lp__put_open(json, "files", '{');
    lp__page_columns(json, file_columns, COUNT(file_columns), report->files, sizeof *report->files, report->file_count);
    lp__put_open(json, "path", '[');
    for (size_t i = 0; i < report->file_count; i++)
        lp__page_string(data, report->files[i].path, strlen(report->files[i].path));
    lp__json_close(json, ']');
    lp__put_open(json, "text", '[');
    for (size_t i = 0; i < report->file_count; i++)
        put_text(json, &report->files[i]);
    lp__json_close(json, ']');
    lp__json_close(json, '}');
}

/* -- functions and their rows ------------------------------------------------------------------------------------ */

/* Lines with code that no row stands for: both lists ascend. */
static size_t missed_lines(const struct lp_line_function *function, struct lp_json *json)
{
    size_t count = 0, row = 0;
    uint32_t last = function->first_line;
    for (size_t i = 0; i < function->code_line_count; i++) {
        uint32_t line = function->code_lines[i];
        while (row < function->row_count && function->rows[row].line < line)
            row++;
        if (row < function->row_count && function->rows[row].line == line) continue;
        count++;
        if (json) lp__json_i64(json, (int64_t)line - last);
        last = line;
    }
    return count;
}

static void put_functions(struct lp_page_data *data, const struct lp_line_report *report)
{
    struct lp_json *json = &data->json;
    lp__put_open(json, "functions", '{');
    lp__page_columns(json, function_columns, COUNT(function_columns), report->functions, sizeof *report->functions,
                     report->function_count);
    lp__put_open(json, "name", '[');
    for (size_t i = 0; i < report->function_count; i++)
        lp__page_string(data, report->functions[i].name.bytes, report->functions[i].name.len);
    lp__json_close(json, ']');
    lp__put_open(json, "rows", '[');
    for (size_t i = 0; i < report->function_count; i++)
        lp__json_u64(json, report->functions[i].row_count);
    lp__json_close(json, ']');
    lp__put_open(json, "missed", '[');
    for (size_t i = 0; i < report->function_count; i++)
        lp__json_u64(json, missed_lines(&report->functions[i], NULL));
    lp__json_close(json, ']');
    lp__json_close(json, '}');
}

typedef void put_row(struct lp_json *json, const struct lp_line_function *function, size_t row);

static void put_step(struct lp_json *json, const struct lp_line_function *function, size_t row)
{
    uint32_t before = row ? function->rows[row - 1].line : function->first_line;
    lp__json_i64(json, (int64_t)function->rows[row].line - before);
}

static void put_more_events(struct lp_json *json, const struct lp_line_function *function, size_t row)
{
    lp__json_i64(json, (int64_t)(function->rows[row].events - function->rows[row].hits));
}

/* Differences are of what is shown: each is rounded first. */
static double below(double self_ns, double inclusive_ns)
{
    return rint(inclusive_ns) - rint(self_ns);
}

static void put_below(struct lp_json *json, const struct lp_line_function *function, size_t row)
{
    lp__json_double(json, below(function->rows[row].self_ns, function->rows[row].inclusive_ns), 0);
}

static void put_cost(struct lp_json *json, const struct lp_line_function *function, size_t row)
{
    lp__json_double(json, below(function->rows[row].corrected_self_ns, function->rows[row].self_ns), 0);
}

static void put_cost_below(struct lp_json *json, const struct lp_line_function *function, size_t row)
{
    const struct lp_line_row *each = &function->rows[row];
    lp__json_double(
        json, below(each->self_ns, each->inclusive_ns) - below(each->corrected_self_ns, each->corrected_inclusive_ns),
        0);
}

static void put_each_row(struct lp_json *json, const struct lp_line_report *report, const char *key, put_row *put)
{
    lp__put_open(json, key, '[');
    for (size_t i = 0; i < report->function_count; i++)
        for (size_t row = 0; row < report->functions[i].row_count; row++)
            put(json, &report->functions[i], row);
    lp__json_close(json, ']');
}

static void put_rows(struct lp_json *json, const struct lp_line_report *report)
{
    lp__put_open(json, "rows", '{');
    put_each_row(json, report, "step", put_step);
    put_each_row(json, report, "more_events", put_more_events);
    put_each_row(json, report, "below", put_below);
    put_each_row(json, report, "cost", put_cost);
    put_each_row(json, report, "cost_below", put_cost_below);
    for (size_t column = 0; column < COUNT(row_columns); column++) {
        lp__put_open(json, row_columns[column].key, '[');
        for (size_t i = 0; i < report->function_count; i++)
            lp__page_values(json, &row_columns[column], report->functions[i].rows, sizeof(struct lp_line_row),
                            report->functions[i].row_count);
        lp__json_close(json, ']');
    }
    lp__json_close(json, '}');
    lp__put_open(json, "missed", '[');
    for (size_t i = 0; i < report->function_count; i++)
        missed_lines(&report->functions[i], json);
    lp__json_close(json, ']');
}

static void put_calls(struct lp_json *json, const struct lp_line_report *report)
{
    lp__put_open(json, "calls", '{');
    lp__put_open(json, "caller", '[');
    for (size_t i = 0; i < report->function_count; i++)
        for (size_t call = 0; call < report->functions[i].callee_count; call++)
            lp__json_u64(json, i);
    lp__json_close(json, ']');
    for (size_t column = 0; column < COUNT(call_columns); column++) {
        lp__put_open(json, call_columns[column].key, '[');
        for (size_t i = 0; i < report->function_count; i++)
            lp__page_values(json, &call_columns[column], report->functions[i].callees, sizeof(struct lp_line_call),
                            report->functions[i].callee_count);
        lp__json_close(json, ']');
    }
    lp__json_close(json, '}');
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static void put_regions(struct lp_page_data *data, const struct lp_line_report *report)
{
    struct lp_json *json = &data->json;
    lp__put_open(json, "regions", '{');
    lp__page_columns(json, region_columns, COUNT(region_columns), report->regions, sizeof *report->regions,
                     report->region_count);
    lp__put_open(json, "name", '[');
    for (size_t i = 0; i < report->region_count; i++)
        lp__page_string(data, report->regions[i].name.bytes, report->regions[i].name.len);
    lp__json_close(json, ']');
    lp__put_open(json, "parent", '[');
    for (size_t i = 0; i < report->region_count; i++)
        lp__json_i64(json, report->regions[i].parent == UINT32_MAX ? -1 : (int64_t)report->regions[i].parent);
    lp__json_close(json, ']');
    lp__put_open(json, "rows", '[');
    for (size_t i = 0; i < report->region_count; i++)
        lp__json_u64(json, report->regions[i].row_count);
    lp__json_close(json, ']');
    lp__json_close(json, '}');
    lp__put_open(json, "region_rows", '{');
    for (size_t column = 0; column < COUNT(region_row_columns); column++) {
        lp__put_open(json, region_row_columns[column].key, '[');
        for (size_t i = 0; i < report->region_count; i++)
            lp__page_values(json, &region_row_columns[column], report->regions[i].rows,
                            sizeof(struct lp_line_region_row), report->regions[i].row_count);
        lp__json_close(json, ']');
    }
    lp__json_close(json, '}');
}

/* -- the whole --------------------------------------------------------------------------------------------------- */

static void put_totals(struct lp_json *json, const struct lp_line_report *report, const char *why)
{
    lp__put_open(json, "totals", '{');
    lp__put_ns(json, "profiled_ns", report->profiled_ns);
    lp__put_ns(json, "corrected_ns", report->corrected_ns);
    lp__put_u64(json, "events", report->events);
    lp__put_double(json, "event_cost_ns", report->event_cost_ns, 2);
    lp__put_u64(json, "threads", report->threads);
    lp__put_u64(json, "processes", report->processes);
    lp__put_u64(json, "unobserved_threads", report->unobserved_threads);
    lp__put_u64(json, "no_space", report->dropped[0]);
    lp__put_u64(json, "lost", report->dropped[1]);
    lp__put_u64(json, "damaged", report->damaged);
    lp__put_text_or_null(json, "mechanism", report->mechanism);
    lp__json_close(json, '}');
    lp__put_open(json, "notes", '[');
    for (size_t i = 0; i < report->note_count; i++)
        lp__json_text(json, report->notes[i]);
    if (why) lp__json_text(json, why);
    lp__json_close(json, ']');
    lp__put_open(json, "outside", '[');
    for (size_t i = 0; i < report->outside_count && i < MOST_OUTSIDE; i++) {
        lp__json_open(json, '[');
        lp__json_text(json, report->outside[i].path);
        lp__json_u64(json, report->outside[i].calls);
        lp__json_close(json, ']');
    }
    lp__json_close(json, ']');
}

struct subject {
    const struct lp_line_report *report;
    const char *title, *why; /* why: NULL where there is something */
};

static void put_data(struct lp_page_data *data, const void *opaque)
{
    const struct subject *subject = opaque;
    lp__put_u64(&data->json, "schema", 1);
    lp__put_text(&data->json, "kind", "lines");
    lp__page_run(data, subject->report->run, subject->title);
    put_totals(&data->json, subject->report, subject->why);
    put_files(data, subject->report);
    put_functions(data, subject->report);
    put_rows(&data->json, subject->report);
    put_calls(&data->json, subject->report);
    put_regions(data, subject->report);
}

static void put_plain(struct lp_buf *out, const void *opaque)
{
    const struct subject *subject = opaque;
    lp__html_lines_plain(out, subject->report, subject->title, subject->why);
}

static const char *title_of(const struct lp_line_report *report, const struct lp_html_options *options)
{
    const struct lp_run *run = report->run;
    if (options && options->title && options->title[0]) return options->title;
    for (size_t i = 0; i < run->line_process_count; i++)
        if (run->line_processes[i].argv && run->line_processes[i].argv[0]) return run->line_processes[i].argv;
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i].argv && run->processes[i].argv[0]) return run->processes[i].argv;
    return "lines";
}

void lp__render_lines_html(const struct lp_line_report *report, const struct lp_html_options *options,
                           struct lp_buf *out)
{
    const char *why = options && !report->hot_count ? options->why : NULL;
    const struct subject subject = {report, title_of(report, options), why && why[0] ? why : NULL};
    const struct lp_page page = {subject.title, &subject, put_data, put_plain};
    lp__page_write(&page, out);
}
