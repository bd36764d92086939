/* What stands below the tables of lines: marks, the cost of measuring, what was not seen, and why there is nothing. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "render/text.h"
#include "render/text_lines.h"

#define MOST_OUTSIDE 5u

static struct lp_page page_of(struct lp_buf *out, unsigned width, bool utf8)
{
    return (struct lp_page){.options = {.utf8 = utf8}, .out = out, .width = width};
}

static void sentence(struct lp_page *page, const char *text)
{
    lp__page_sentence(page, 0, "", LP_INK_PLAIN, "%s", text);
}

/* -- marks and cost ---------------------------------------------------------------------------------------------- */

static void legend(struct lp_page *page, const struct lp_line_report *report)
{
    uint32_t python = report->python;
    if (python)
        lp__page_sentence(page, 0, "", LP_INK_PLAIN,
                          "* line events: how often these lines were executed has not been worked out (the report "
                          "of Python %u.%u's lineprofiler does it).",
                          python >> 24, python >> 16 & 0xFF);
    else
        sentence(page, "* line events: how often these lines were executed cannot be proved from what was counted.");
}

static void cost(struct lp_page *page, const struct lp_lines_page *lines)
{
    const struct lp_line_report *report = lines->report;
    char events[LP_FMT_CAP], each[LP_FMT_CAP], all[LP_FMT_CAP];
    (void)lp__fmt_count(events, sizeof events, report->events);
    if (isnan(report->event_cost_ns)) {
        lp__page_sentence(page, 0, "", LP_INK_PLAIN, "%s line events; what one costs was not measured.", events);
        return;
    }
    lp__page_sentence(page, 0, "", LP_INK_PLAIN, "%s line events %s %s ns = %s of measuring, %s.", events,
                      lines->options->utf8 ? "\xC3\x97" : "x",
                      lp__fmt_fixed(each, sizeof each, report->event_cost_ns, 1),
                      lp__fmt_duration(all, sizeof all, (double)report->events * report->event_cost_ns),
                      lines->options->raw ? "in the times above" : "taken off the times above");
}

/* -- what was not seen ------------------------------------------------------------------------------------------- */

static uint64_t still_running(const struct lp_line_report *report)
{
    uint64_t active = 0;
    for (size_t i = 0; i < report->function_count; i++)
        active += report->functions[i].active;
    return active;
}

bool lp__lines_has_notes(const struct lp_line_report *report)
{
    return report->note_count || report->unobserved_threads || report->dropped[0] || report->dropped[1] ||
           report->damaged;
}

static void counted(struct lp_page *page, uint64_t count, const char *one, const char *many)
{
    char text[LP_FMT_CAP];
    if (count)
        lp__page_sentence(page, 0, "- ", LP_INK_PLAIN, "%s %s", lp__fmt_count(text, sizeof text, count),
                          count == 1 ? one : many);
}

void lp__lines_notes_text(const struct lp_line_report *report, unsigned width, bool utf8, struct lp_buf *out)
{
    struct lp_page page = page_of(out, width, utf8);
    for (size_t i = 0; i < report->note_count; i++)
        lp__page_sentence(&page, 0, "- ", LP_INK_PLAIN, "%s", report->notes[i]);
    counted(&page, report->unobserved_threads, "thread could not be observed", "threads could not be observed");
    counted(&page, report->dropped[0], "call is in no table: there was no space for one",
            "calls are in no table: there was no space for one");
    counted(&page, report->dropped[1], "line event had no place and is not counted",
            "line events had no place and are not counted");
    counted(&page, report->damaged, "damaged record was left out", "damaged records were left out");
}

/* -- nothing ----------------------------------------------------------------------------------------------------- */

static void outside(struct lp_page *page, const struct lp_line_report *report)
{
    size_t most = report->outside_count < MOST_OUTSIDE ? report->outside_count : MOST_OUTSIDE;
    char calls[LP_FMT_CAP], path[LP_LABEL_CAP];
    if (!most) return;
    lp__page_sentence(page, 0, "", LP_INK_PLAIN, "What was called is out of scope; the files with the most calls:");
    for (size_t i = 0; i < most; i++)
        lp__page_sentence(page, 2, "", LP_INK_PLAIN, "%12s  %s",
                          lp__fmt_count(calls, sizeof calls, report->outside[i].calls),
                          lp__page_label(page, path, sizeof path, report->outside[i].path, 40));
    if (report->outside_count > most) lp__page_add(page, "  and %zu more\n", report->outside_count - most);
}

/* Text of the host's, line by line, what stands in front kept. */
static void explain(struct lp_page *page, const char *why)
{
    char line[1024];
    while (*why) {
        size_t indent = strspn(why, " "), len = strcspn(why, "\n");
        if (indent > len) indent = len;
        (void)snprintf(line, sizeof line, "%.*s", (int)(len - indent < 1000 ? len - indent : 1000), why + indent);
        lp__page_sentence(page, indent < 20 ? (unsigned)indent : 20, "", LP_INK_PLAIN, "%s", line);
        why += len + (why[len] == '\n');
    }
}

/* What the recording side could tell, else what can be told from here. */
static void nothing(struct lp_page *page, const struct lp_line_report *report)
{
    sentence(page, "No lines were recorded.");
    outside(page, report);
    if (!report->outside_count && !report->note_count)
        sentence(page, report->mechanism[0] ? "No function of the scope was called while it was recorded."
                                            : "No process of this run recorded lines.");
}

void lp__lines_closing(struct lp_lines_page *lines)
{
    const struct lp_line_report *report = lines->report;
    struct lp_page page = page_of(lines->out, 100, lines->options->utf8);
    bool any = report->hot_count > 0;
    if (!any && lines->options->why)
        explain(&page, lines->options->why);
    else if (!any)
        nothing(&page, report);
    if (any && lines->marked) legend(&page, report);
    if (any) cost(&page, lines);
    lp__lines_notes_text(report, 100, lines->options->utf8, lines->out);
    uint64_t active = still_running(report);
    if (active) counted(&page, active, "call had not ended", "calls had not ended");
}
