/* LINES of a run's text report: the hottest lines and the functions with the most time, as they were measured. */
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "render/escape.h"
#include "render/text.h"
#include "render/text_lines.h"

enum { FIGURES = 42, PLACE = 18, WIDE_PLACE = 30 };

static unsigned place_columns(const struct lp_page *page)
{
    return page->width < LP_TEXT_WIDTH_WIDE ? PLACE : WIDE_PLACE;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void place_cell(struct lp_page *page, const struct lp_line_report *report,
                       const struct lp_line_function *function, uint32_t line, unsigned columns)
{
    char place[512];
    int len = snprintf(place, sizeof place, "%.400s:%" PRIu32, base_name(report->files[function->file].path), line);
    lp__page_cell(page, place, len > 0 ? (size_t)len : 0, columns);
    lp__buf_addc(page->out, ' ');
}

/* Source without what it is indented by; tabs inside are blanks. */
static void source_cell(struct lp_page *page, const struct lp_line_report *report,
                        const struct lp_line_function *function, uint32_t line, unsigned columns)
{
    struct lp_text text = {"", 0};
    char copy[512];
    if (!lp__line_text(&report->files[function->file], line, &text)) text = lp__shown_name(function->name);
    while (text.len && strchr(" \t\f", *text.bytes))
        text.bytes++, text.len--;
    size_t len = text.len < sizeof copy ? text.len : sizeof copy;
    for (size_t i = 0; i < len; i++)
        copy[i] = text.bytes[i] == '\t' ? ' ' : text.bytes[i];
    size_t used = lp__escape_head(page->out, copy, len, columns, page->options.utf8);
    lp__buf_pad(page->out, ' ', columns - used);
}

static void figures(struct lp_page *page, const char *count, double self_ns, double all_ns, double share)
{
    char self[LP_FMT_CAP], all[LP_FMT_CAP], pct[LP_FMT_CAP];
    lp__page_add(page, " %12s %10s %10s %6s\n", count, lp__fmt_duration(self, sizeof self, self_ns),
                 lp__fmt_duration(all, sizeof all, all_ns), lp__fmt_pct(pct, sizeof pct, share));
}

static double share_of(const struct lp_line_report *report, double ns)
{
    return report->profiled_ns > 0 ? fmin(1, ns / report->profiled_ns) : LP_NAN;
}

static void hits_text(char *out, size_t cap, const struct lp_line_row *row)
{
    char count[LP_FMT_CAP];
    bool none = row->mark == LP_ROW_PART && !row->hits; /* it executes nothing of its own */
    (void)snprintf(out, cap, "%s%s", none ? "-" : lp__fmt_count(count, sizeof count, row->hits),
                   row->mark == LP_ROW_EVENTS ? "*" : "");
}

/* Returns whether a row shows line events. */
static bool hot_rows(struct lp_page *page, const struct lp_line_report *report, size_t most)
{
    unsigned place = place_columns(page), source = page->width - FIGURES - place - 1;
    bool marked = false;
    for (size_t i = 0; i < report->hot_count && i < most; i++) {
        const struct lp_line_function *function = &report->functions[report->hot[i].function];
        const struct lp_line_row *row = &function->rows[report->hot[i].row];
        char hits[LP_FMT_CAP + 2];
        hits_text(hits, sizeof hits, row);
        marked |= row->mark == LP_ROW_EVENTS;
        place_cell(page, report, function, row->line, place);
        source_cell(page, report, function, row->line, source);
        figures(page, hits, row->self_ns, row->inclusive_ns, share_of(report, row->self_ns));
    }
    return marked;
}

static void functions(struct lp_page *page, const struct lp_line_report *report, size_t most)
{
    unsigned place = place_columns(page), name = page->width - FIGURES - place - 1;
    for (size_t i = 0; i < report->function_count && i < most; i++) {
        const struct lp_line_function *function = &report->functions[i];
        char calls[LP_FMT_CAP];
        place_cell(page, report, function, function->first_line, place);
        struct lp_text shown = lp__shown_name(function->name);
        lp__page_cell(page, shown.bytes, shown.len, name);
        figures(page, lp__fmt_count(calls, sizeof calls, function->calls), function->self_ns, function->total_ns,
                share_of(report, function->total_ns));
    }
}

static void titles(struct lp_page *page, const char *title, const char *count, const char *all, const char *share)
{
    lp__page_ink(page, LP_INK_TITLE, title);
    lp__buf_pad(page->out, ' ', page->width - FIGURES - (unsigned)strlen(title));
    lp__page_add(page, " %12s %10s %10s %6s\n", count, "self", all, share);
    lp__page_rule(page);
}

static void more(struct lp_page *page, size_t count, size_t most, const char *what)
{
    char text[LP_FMT_CAP];
    if (count > most)
        lp__page_add(page, "  and %s more %s%s: --top all\n", lp__fmt_count(text, sizeof text, count - most), what,
                     count - most == 1 ? "" : "s");
}

static void cost(struct lp_page *page, const struct lp_line_report *report, bool marked)
{
    char events[LP_FMT_CAP], all[LP_FMT_CAP];
    (void)lp__fmt_count(events, sizeof events, report->events);
    if (marked)
        lp__page_sentence(page, 2, "", LP_INK_FAINT, "* line events: how often the line was executed is not known");
    lp__page_sentence(page, 2, "", LP_INK_FAINT, "%% of all profiled time%s%s",
                      report->mechanism[0] ? ", seen by " : "", report->mechanism);
    if (!isnan(report->event_cost_ns))
        lp__page_sentence(page, 2, "", LP_INK_FAINT, "%s line events took about %s, which is in the times", events,
                          lp__fmt_duration(all, sizeof all, (double)report->events * report->event_cost_ns));
}

static bool has_phases(const struct lp_run *run)
{
    for (size_t i = 0; i < run->role_count; i++)
        if (run->roles[i].tree.count > 1) return true;
    return false;
}

void lp__render_text_with(const struct lp_report *report, const struct lp_line_report *lines,
                          const struct lp_text_options *text, struct lp_buf *out)
{
    bool has_lines = lines && lines->function_count;
    bool phases = !has_lines || has_phases(report->run);
    if (phases) lp__render_text(report, text, out);
    if (lines) lp__render_lines_section(lines, text, report->options.top, phases, out);
}

void lp__render_lines_section(const struct lp_line_report *report, const struct lp_text_options *text, uint32_t top,
                              bool started, struct lp_buf *out)
{
    struct lp_page page = {.options = *text, .out = out, .width = text->width, .started = started};
    size_t most = top ? top : LP_LINES_TOP_DEFAULT;
    if (!page.width) page.width = LP_TEXT_WIDTH_DEFAULT;
    if (page.width < LP_TEXT_WIDTH_MIN) page.width = LP_TEXT_WIDTH_MIN;
    if (!report->function_count && !lp__lines_has_notes(report)) return;
    lp__page_block(&page);
    if (report->hot_count) {
        titles(&page, "FUNCTIONS", "calls", "total", "% tot.");
        functions(&page, report, most);
        more(&page, report->function_count, most, "function");
        lp__page_block(&page);
        titles(&page, "LINES", "hits", "inclusive", "% self");
        bool marked = hot_rows(&page, report, most);
        more(&page, report->hot_count, most, "line");
        cost(&page, report, marked);
    } else {
        lp__page_sentence(&page, 0, "", LP_INK_PLAIN, "LINES: none were recorded.");
    }
    lp__lines_notes_text(report, page.width, text->utf8, out);
}
