/* The end of the text report: time and counters outside any phase, and what the reader must know about the files. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "render/text.h"

#define MOST_OF_A_KIND 8u

static bool has_outside(const struct lp_report_role *role)
{
    return !isnan(role->outside_ns) || (role->tree.count && role->tree.phases[0].counter_count);
}

static void outside_row(struct lp_page *page, const struct lp_report_role *role)
{
    char pct[LP_FMT_CAP], time[LP_FMT_CAP], mark = role->outside_estimated ? '~' : ' ';
    if (role->outside_estimated) lp__buf_addc(page->out, mark);
    lp__page_cell(page, role->name, strlen(role->name), page->name + 4 - role->outside_estimated);
    if (isnan(role->outside_ns))
        lp__page_add(page, " %7s %13s\n", "n/a", "n/a");
    else
        lp__page_add(page, " %7s %13s\n", lp__fmt_pct(pct, sizeof pct, role->outside_share),
                     lp__fmt_duration(time, sizeof time, role->outside_ns));
    if (role->tree.count) lp__page_counters(page, &role->tree.phases[0], false);
}

void lp__page_outside(struct lp_page *page)
{
    const struct lp_report *report = page->report;
    size_t count = 0;
    for (size_t i = 0; i < report->role_count; i++)
        count += has_outside(&report->roles[i]);
    if (!count) return;
    lp__page_block(page);
    lp__page_ink(page, LP_INK_TITLE, "OUTSIDE ANY PHASE");
    lp__page_add(page, "\n  %% of the time of the threads that recorded; counters outside phases\n");
    lp__page_rule(page);
    for (size_t i = 0; i < report->role_count; i++)
        if (has_outside(&report->roles[i])) outside_row(page, &report->roles[i]);
}

/* Told elsewhere, beside the number: drops under the phases, ranks in the header, the killed among the workers. */
static bool told_elsewhere(enum lp_note_kind kind)
{
    return kind == LP_NOTE_DROP || kind == LP_NOTE_MISSING_RANK || kind == LP_NOTE_KILLED;
}

static bool any_caveat(const struct lp_report *report)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (!told_elsewhere(report->notes[i].kind)) return true;
    return false;
}

static void kind_block(struct lp_page *page, enum lp_note_kind kind)
{
    const struct lp_report *report = page->report;
    size_t count = 0;
    for (size_t i = 0; i < report->note_count; i++) {
        if (report->notes[i].kind != kind) continue;
        if (count++ < MOST_OF_A_KIND) lp__page_sentence(page, 0, "- ", LP_INK_PLAIN, "%s", report->notes[i].text);
    }
    if (count > MOST_OF_A_KIND)
        lp__page_add(page, "  and %zu more like these; --format json lists all\n", count - MOST_OF_A_KIND);
}

void lp__page_caveats(struct lp_page *page)
{
    if (!any_caveat(page->report)) return;
    lp__page_block(page);
    lp__page_ink(page, LP_INK_TITLE, "CAVEATS");
    lp__page_add(page, "\n");
    lp__page_rule(page);
    for (int kind = 0; kind < LP_NOTE_KINDS; kind++)
        if (!told_elsewhere((enum lp_note_kind)kind)) kind_block(page, (enum lp_note_kind)kind);
}
