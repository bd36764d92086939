/* The line report without a script: what a mail reader, a printer or a locked-down frame shows.  Plain tables, most
 * time first; what is left out is said. */
// SPDX-License-Identifier: MIT
#include "render/html_lines.h"

#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "render/page.h"

enum { MOST_ROWS = 50, MOST_SOURCE_LINES = 1000, MOST_SOURCE_BYTES = 200 };

static void duration_cell(struct lp_buf *out, double ns)
{
    char text[LP_FMT_CAP];
    lp__html_cell(out, lp__fmt_duration(text, sizeof text, ns));
}

static void count_cell(struct lp_buf *out, uint64_t count)
{
    char text[LP_FMT_CAP];
    lp__html_cell(out, lp__fmt_count(text, sizeof text, count));
}

static void share_cell(struct lp_buf *out, double part, double whole)
{
    char text[LP_FMT_CAP];
    lp__html_cell(out, lp__fmt_pct(text, sizeof text, whole > 0 ? fmin(1, part / whole) : LP_NAN));
}

/* Titles of columns of text begin with a star. */
static void open_table(struct lp_buf *out, const char *title, const char *const *heads, size_t count)
{
    if (title) lp__buf_addf(out, "<h2>%s</h2>", title);
    lp__buf_adds(out, "<table><thead><tr>");
    for (size_t i = 0; i < count; i++)
        lp__buf_addf(out, "<th scope=\"col\"%s>%s</th>", heads[i][0] == '*' ? " class=\"words\"" : "",
                     heads[i] + (heads[i][0] == '*'));
    lp__buf_adds(out, "</tr></thead><tbody>\n");
}

static void close_table(struct lp_buf *out, size_t shown, size_t all, const char *what)
{
    lp__buf_adds(out, "</tbody></table>\n");
    if (shown < all) lp__buf_addf(out, "<p>%zu more %s with less time.</p>\n", all - shown, what);
}

static size_t fewer(size_t count)
{
    return count < MOST_ROWS ? count : MOST_ROWS;
}

static void place_cell(struct lp_buf *out, const struct lp_line_report *report, const struct lp_line_function *function,
                       uint32_t line)
{
    const char *path = report->files[function->file].path;
    lp__buf_adds(out, "<td class=\"words\">");
    lp__html_text(out, path, strlen(path));
    lp__buf_addf(out, ":%u</td><td class=\"words\">", line);
    lp__html_text(out, function->name.bytes, function->name.len);
    lp__buf_adds(out, "</td>");
}

static void source_cell(struct lp_buf *out, const struct lp_line_file *file, uint32_t line)
{
    lp__buf_adds(out, "<td class=\"code\">");
    struct lp_text text;
    if (lp__line_text(file, line, &text))
        lp__html_text(out, text.bytes, text.len < MOST_SOURCE_BYTES ? text.len : MOST_SOURCE_BYTES);
    lp__buf_adds(out, "</td>");
}

static void figures(struct lp_buf *out, const struct lp_line_report *report, const struct lp_line_row *row)
{
    uint64_t hits = row->mark == LP_ROW_EVENTS ? row->events : row->hits;
    share_cell(out, row->corrected_self_ns, report->corrected_ns);
    duration_cell(out, row->corrected_self_ns);
    duration_cell(out, row->corrected_inclusive_ns);
    count_cell(out, hits);
    duration_cell(out, hits ? row->corrected_inclusive_ns / (double)hits : LP_NAN);
}

static void hot_lines(struct lp_buf *out, const struct lp_line_report *report)
{
    static const char *const heads[] = {"self %",  "self",  "inclusive", "hits",
                                        "per hit", "*line", "*function", "*source"};
    size_t shown = fewer(report->hot_count);
    open_table(out, "Slowest lines", heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < shown; i++) {
        const struct lp_line_function *function = &report->functions[report->hot[i].function];
        const struct lp_line_row *row = &function->rows[report->hot[i].row];
        lp__buf_adds(out, "<tr>");
        figures(out, report, row);
        place_cell(out, report, function, row->line);
        source_cell(out, &report->files[function->file], row->line);
        lp__buf_adds(out, "</tr>\n");
    }
    close_table(out, shown, report->hot_count, "lines");
}

static void functions(struct lp_buf *out, const struct lp_line_report *report)
{
    static const char *const heads[] = {"total %", "total", "self", "calls", "per call", "*defined", "*function"};
    size_t shown = fewer(report->function_count);
    open_table(out, "Functions", heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < shown; i++) {
        const struct lp_line_function *function = &report->functions[i];
        lp__buf_adds(out, "<tr>");
        share_cell(out, function->corrected_total_ns, report->corrected_ns);
        duration_cell(out, function->corrected_total_ns);
        duration_cell(out, function->corrected_self_ns);
        count_cell(out, function->calls);
        duration_cell(out, function->calls ? function->corrected_total_ns / (double)function->calls : LP_NAN);
        place_cell(out, report, function, function->first_line);
        lp__buf_adds(out, "</tr>\n");
    }
    close_table(out, shown, report->function_count, "functions");
}

static void regions(struct lp_buf *out, const struct lp_line_report *report)
{
    static const char *const heads[] = {"self %", "self", "wall", "entries", "*region"};
    size_t shown = fewer(report->region_count);
    if (!report->region_count) return;
    open_table(out, "Regions", heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < shown; i++) {
        const struct lp_line_region *region = &report->regions[i];
        lp__buf_adds(out, "<tr>");
        share_cell(out, region->corrected_self_ns, report->corrected_ns);
        duration_cell(out, region->corrected_self_ns);
        duration_cell(out, region->wall_ns);
        count_cell(out, region->entries);
        lp__buf_adds(out, "<td class=\"words\">");
        lp__html_text(out, region->name.bytes, region->name.len);
        lp__buf_adds(out, "</td></tr>\n");
    }
    close_table(out, shown, report->region_count, "regions");
}

static void one_source(struct lp_buf *out, const struct lp_line_report *report, const struct lp_line_function *function)
{
    static const char *const heads[] = {"line", "self %", "self", "inclusive", "hits", "per hit", "*source"};
    const struct lp_line_file *file = &report->files[function->file];
    lp__buf_adds(out, "<h3>");
    lp__html_text(out, function->name.bytes, function->name.len);
    lp__buf_adds(out, "</h3>");
    open_table(out, NULL, heads, sizeof heads / sizeof *heads);
    size_t row = 0;
    for (uint32_t line = function->first_line; line <= function->last_line && line <= file->line_count; line++) {
        while (row < function->row_count && function->rows[row].line < line)
            row++;
        lp__buf_addf(out, "<tr><td>%u</td>", line);
        if (row < function->row_count && function->rows[row].line == line)
            figures(out, report, &function->rows[row]);
        else
            lp__buf_adds(out, "<td colspan=\"5\"></td>");
        source_cell(out, file, line);
        lp__buf_adds(out, "</tr>\n");
    }
    lp__buf_adds(out, "</tbody></table>\n");
}

static void sources(struct lp_buf *out, const struct lp_line_report *report)
{
    uint64_t lines = 0;
    size_t shown = 0;
    lp__buf_adds(out, "<h2>Source</h2>\n");
    for (; shown < report->function_count; shown++) {
        const struct lp_line_function *function = &report->functions[shown];
        if (!report->files[function->file].text || function->last_line < function->first_line) continue;
        lines += function->last_line - function->first_line + 1;
        if (lines > MOST_SOURCE_LINES) break;
        one_source(out, report, function);
    }
    if (shown < report->function_count)
        lp__buf_addf(out, "<p>The source of %zu more functions shows with scripts switched on.</p>\n",
                     report->function_count - shown);
}

static void sentence(struct lp_buf *out, const char *text)
{
    lp__buf_adds(out, "<p class=\"note\">");
    for (size_t len; *text; text += len) {
        len = strcspn(text, "\n");
        lp__html_text(out, text, len);
        if (text[len]) lp__buf_add(out, &text[len++], 1);
    }
    lp__buf_adds(out, "</p>\n");
}

void lp__html_lines_plain(struct lp_buf *out, const struct lp_line_report *report, const char *title, const char *why)
{
    char total[LP_FMT_CAP], events[LP_FMT_CAP];
    lp__buf_adds(out, "<main class=\"plain\"><h1>");
    lp__html_text(out, title, strlen(title));
    lp__buf_addf(out, "</h1>\n<p>Self time of all lines: %s, the base of every share. Line events: %s; %s.</p>\n",
                 lp__fmt_duration(total, sizeof total, report->corrected_ns),
                 lp__fmt_count(events, sizeof events, report->events),
                 isnan(report->event_cost_ns) ? "what one costs was not measured" : "what they cost is taken off");
    for (size_t i = 0; i < report->note_count; i++)
        sentence(out, report->notes[i]);
    if (why) sentence(out, why);
    hot_lines(out, report);
    functions(out, report);
    regions(out, report);
    sources(out, report);
    lp__buf_adds(out, "</main>\n");
}
