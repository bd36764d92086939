/* The printed tables of lines: their cells, and the table of each function. */
// SPDX-License-Identifier: MIT
#include "render/text_lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/utf8.h"
#include "render/escape.h"
#include "render/text.h"

enum { WIDTH = 100, NUMBER = 8, HITS = 10, TIME = 15, SHARE = 10, SOURCE = 50, PATH_MOST = 1000, NAME_MOST = 200 };

/* -- options ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *word, *utf8, *ascii;
    double ns;
    int digits;
} units[] = {
    [LP_LINES_US] = {"us", "\xC2\xB5s", "us", 1e3, 1},
    [LP_LINES_NS] = {"ns", "ns", "ns", 1, 0},
    [LP_LINES_MS] = {"ms", "ms", "ms", 1e6, 3},
    [LP_LINES_S] = {"s", "s", "s", 1e9, 6},
};

bool lp__lines_sort_parse(const char *word, enum lp_lines_sort *out)
{
    static const char *const words[] = {"time", "line", "self", "hits"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        *out = (enum lp_lines_sort)i;
        return true;
    }
    return false;
}

bool lp__lines_unit_parse(const char *word, enum lp_lines_unit *out)
{
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(word, units[i].word) != 0 && strcmp(word, units[i].utf8) != 0) continue;
        *out = (enum lp_lines_unit)i;
        return true;
    }
    if (strcmp(word, "\xCE\xBCs") != 0) return false; /* the Greek letter instead of the sign */
    *out = LP_LINES_US;
    return true;
}

static const char *unit_name(const struct lp_lines_page *page)
{
    return page->options->utf8 ? units[page->options->unit].utf8 : units[page->options->unit].ascii;
}

/* -- cells ------------------------------------------------------------------------------------------------------- */

void lp__lines_rule(struct lp_lines_page *page, char c)
{
    lp__buf_pad(page->out, c, page->width);
    lp__buf_addc(page->out, '\n');
}

/* What is too long for its column pushes the others: no digit is ever cut. */
static void pad(struct lp_lines_page *page, size_t used, unsigned columns)
{
    lp__buf_pad(page->out, ' ', used < columns ? columns - used + 1 : 1);
}

static size_t columns_of(const char *text)
{
    size_t len = strlen(text), columns = 0;
    for (size_t at = 0; at < len;)
        columns += (size_t)lp__utf8_width(lp__utf8_next(text, len, &at));
    return columns;
}

void lp__lines_cell(struct lp_lines_page *page, const char *text, unsigned columns)
{
    lp__buf_adds(page->out, text);
    pad(page, columns_of(text), columns);
}

void lp__lines_unit_cell(struct lp_lines_page *page, const char *title, unsigned columns)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%s (%s)", title, unit_name(page));
    lp__lines_cell(page, text, columns);
}

static char *time_text(const struct lp_lines_page *page, char out[LP_FMT_I128_CAP], double ns)
{
    return lp__fmt_fixed(out, LP_FMT_I128_CAP, ns / units[page->options->unit].ns, units[page->options->unit].digits);
}

void lp__lines_time_cell(struct lp_lines_page *page, double ns, unsigned columns)
{
    char text[LP_FMT_I128_CAP];
    lp__lines_cell(page, time_text(page, text, ns), columns);
}

void lp__lines_add_time(struct lp_lines_page *page, double ns)
{
    char text[LP_FMT_I128_CAP];
    lp__buf_adds(page->out, time_text(page, text, ns));
    lp__buf_addc(page->out, ' ');
    lp__buf_adds(page->out, unit_name(page));
}

/* A row that executes nothing of its own, such as a closing bracket. */
static bool has_no_hits(const struct lp_line_shown *shown)
{
    return !shown->hits && shown->mark == LP_ROW_PART;
}

void lp__lines_hits_cell(struct lp_lines_page *page, const struct lp_line_shown *shown, unsigned columns)
{
    char text[LP_FMT_CAP];
    (void)snprintf(text, sizeof text, "%" PRIu64 "%s", shown->hits, shown->mark == LP_ROW_EVENTS ? "*" : "");
    page->marked |= shown->mark == LP_ROW_EVENTS;
    lp__lines_cell(page, has_no_hits(shown) ? "-" : text, columns);
}

void lp__lines_per_hit_cell(struct lp_lines_page *page, const struct lp_line_shown *shown, unsigned columns)
{
    if (shown->hits)
        lp__lines_time_cell(page, shown->time_ns / (double)shown->hits, columns);
    else
        lp__lines_cell(page, "-", columns);
}

/* Never more than all of it, which rounding or a call that still runs might make of it. */
void lp__lines_share_cell(struct lp_lines_page *page, double part, double whole, unsigned columns)
{
    char text[LP_FMT_CAP];
    double share = whole > 0 ? fmin(100, 100 * part / whole) : LP_NAN;
    lp__lines_cell(page, lp__fmt_fixed(text, sizeof text, share, 1), columns);
}

void lp__lines_source(struct lp_lines_page *page, const struct lp_line_shown *shown, unsigned columns)
{
    const struct lp_line_file *file = &page->report->files[shown->function->file];
    struct lp_text text;
    char copy[1024];
    size_t len = 0;
    if (lp__line_text(file, shown->line, &text)) {
        while (text.len && strchr(" \t\f", *text.bytes))
            text.bytes++, text.len--;
        len = text.len < sizeof copy ? text.len : sizeof copy;
        for (size_t i = 0; i < len; i++)
            copy[i] = text.bytes[i] == '\t' || text.bytes[i] == '\f' ? ' ' : text.bytes[i];
    }
    if (len)
        (void)lp__escape_head(page->out, copy, len, columns, page->options->utf8);
    else /* nothing behind the last figure but its end */
        while (page->out->len && page->out->data[page->out->len - 1] == ' ')
            page->out->data[--page->out->len] = '\0';
    lp__buf_addc(page->out, '\n');
}

/* Below the project's folder from there on, else the last part. */
static const char *short_path(const char *path, const char *project)
{
    size_t len = project ? strlen(project) : 0;
    while (len && project[len - 1] == '/')
        len--;
    if (len && strncmp(path, project, len) == 0 && path[len] == '/' && path[len + 1]) return path + len + 1;
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash[1] ? slash + 1 : path;
}

void lp__lines_place_cell(struct lp_lines_page *page, const struct lp_line_function *function, unsigned columns)
{
    const char *path = page->report->files[function->file].path;
    struct lp_buf whole;
    struct lp_text name = lp__shown_name(function->name);
    size_t len = name.len < 900 ? name.len : 900;
    lp__buf_init(&whole, (size_t)2 << 20);
    lp__buf_adds(&whole, short_path(path, page->options->project));
    lp__buf_adds(&whole, "::");
    lp__buf_add(&whole, name.bytes + name.len - len, len);
    size_t used = lp__escape_label(page->out, whole.len ? whole.data : "?", whole.len ? whole.len : 1, columns,
                                   page->options->utf8);
    lp__buf_release(&whole);
    pad(page, used, columns);
}

/* -- rows -------------------------------------------------------------------------------------------------------- */

struct lp_line_shown lp__lines_shown(const struct lp_lines_page *page, const struct lp_line_function *function,
                                     const struct lp_line_row *row)
{
    bool raw = page->options->raw;
    return (struct lp_line_shown){
        .function = function,
        .line = row->line,
        .mark = row->mark,
        .hits = row->hits,
        .time_ns = raw ? row->inclusive_ns : row->corrected_inclusive_ns,
        .self_ns = raw ? row->self_ns : row->corrected_self_ns,
        .suspended_ns = row->suspended_ns,
    };
}

bool lp__lines_is_shown(const struct lp_lines_page *page, const struct lp_line_shown *shown)
{
    return !(shown->time_ns < page->options->min_time_us * 1e3);
}

static int by_place(const struct lp_line_shown *a, const struct lp_line_shown *b)
{
    if (a->function->file != b->function->file) return a->function->file < b->function->file ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static int by_line(const void *a, const void *b)
{
    return by_place(a, b);
}

static int by_time(const void *a, const void *b)
{
    const struct lp_line_shown *left = a, *right = b;
    int order = (left->time_ns < right->time_ns) - (left->time_ns > right->time_ns);
    return order ? order : by_place(left, right);
}

static int by_self(const void *a, const void *b)
{
    const struct lp_line_shown *left = a, *right = b;
    int order = (left->self_ns < right->self_ns) - (left->self_ns > right->self_ns);
    return order ? order : by_place(left, right);
}

static int by_hits(const void *a, const void *b)
{
    const struct lp_line_shown *left = a, *right = b;
    int order = (left->hits < right->hits) - (left->hits > right->hits);
    return order ? order : by_place(left, right);
}

void lp__lines_sort(const struct lp_lines_page *page, struct lp_line_shown *rows, size_t count)
{
    static int (*const orders[])(const void *, const void *) = {by_time, by_line, by_self, by_hits};
    if (count) qsort(rows, count, sizeof *rows, orders[page->options->sort]);
}

/* -- the table of a function ------------------------------------------------------------------------------------- */

static void source_state(struct lp_lines_page *page, enum lp_source_state state)
{
    if (state == LP_SOURCE_MISSING) lp__buf_adds(page->out, "Source: cannot be read here\n");
    if (state == LP_SOURCE_CHANGED) lp__buf_adds(page->out, "Source: changed since it ran, not shown\n");
    if (state == LP_SOURCE_NONE) lp__buf_adds(page->out, "Source: there is none\n");
}

static void function_head(struct lp_lines_page *page, const struct lp_line_function *function)
{
    const struct lp_line_file *file = &page->report->files[function->file];
    bool utf8 = page->options->utf8;
    lp__lines_rule(page, '=');
    lp__buf_adds(page->out, "File: ");
    (void)lp__escape_label(page->out, file->path, strlen(file->path), PATH_MOST, utf8);
    lp__buf_adds(page->out, "\nFunction: ");
    struct lp_text name = lp__shown_name(function->name);
    (void)lp__escape_label(page->out, name.bytes, name.len, NAME_MOST, utf8);
    lp__buf_addf(page->out, " at line %" PRIu32 "\nTotal time: ", function->first_line);
    lp__lines_add_time(page, page->options->raw ? function->total_ns : function->corrected_total_ns);
    lp__buf_addc(page->out, '\n');
    source_state(page, file->source);
    lp__lines_rule(page, '=');
}

static void function_titles(struct lp_lines_page *page, bool suspended)
{
    lp__lines_cell(page, "Line #", NUMBER);
    lp__lines_cell(page, "Hits", HITS);
    lp__lines_unit_cell(page, "Time", TIME);
    if (page->options->self) lp__lines_unit_cell(page, "Self", TIME);
    lp__lines_unit_cell(page, "Per Hit", TIME);
    if (suspended) lp__lines_unit_cell(page, "Suspended", TIME);
    lp__lines_cell(page, "% Time", SHARE);
    lp__buf_adds(page->out, "Line Content\n");
    lp__lines_rule(page, '-');
}

static void function_row(struct lp_lines_page *page, const struct lp_line_shown *shown, bool suspended)
{
    const struct lp_line_function *function = shown->function;
    char number[LP_FMT_CAP];
    (void)snprintf(number, sizeof number, "%" PRIu32, shown->line);
    lp__lines_cell(page, number, NUMBER);
    lp__lines_hits_cell(page, shown, HITS);
    lp__lines_time_cell(page, shown->time_ns, TIME);
    if (page->options->self) lp__lines_time_cell(page, shown->self_ns, TIME);
    lp__lines_per_hit_cell(page, shown, TIME);
    if (suspended) lp__lines_time_cell(page, shown->suspended_ns, TIME);
    lp__lines_share_cell(page, shown->time_ns, page->options->raw ? function->total_ns : function->corrected_total_ns,
                         SHARE);
    lp__lines_source(page, shown, SOURCE);
}

/* Returns whether there was anything to show. */
static bool function_table(struct lp_lines_page *page, const struct lp_line_function *function, bool first)
{
    struct lp_line_shown *rows = lp__calloc(function->row_count + 1, sizeof *rows);
    size_t count = 0;
    if (!rows) {
        page->out->failed = LP_ERR_NO_MEMORY;
        return false;
    }
    for (size_t i = 0; i < function->row_count; i++) {
        rows[count] = lp__lines_shown(page, function, &function->rows[i]);
        count += lp__lines_is_shown(page, &rows[count]);
    }
    lp__lines_sort(page, rows, count);
    if (count) {
        if (!first) lp__buf_addc(page->out, '\n');
        function_head(page, function);
        function_titles(page, function->suspended_ns > 0);
    }
    if (page->options->top && count > page->options->top) count = page->options->top;
    for (size_t i = 0; i < count; i++)
        function_row(page, &rows[i], function->suspended_ns > 0);
    lp__free(rows);
    return count > 0;
}

void lp__render_lines_functions(const struct lp_line_report *report, const struct lp_lines_options *options,
                                struct lp_buf *out)
{
    struct lp_lines_page page = {.report = report, .options = options, .out = out, .width = WIDTH};
    bool any = false;
    for (size_t i = 0; i < report->function_count && !out->failed; i++)
        any |= function_table(&page, &report->functions[i], !any);
    if (any) lp__buf_addc(out, '\n');
    lp__lines_closing(&page);
}
