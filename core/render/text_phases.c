/* DOMINANT PHASES: the table, the counters below each phase, and beneath it what its marks and gaps mean.
 *
 * Columns are separated by literal spaces, so a figure that is too long pushes its row and never touches the next. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "render/text.h"

static void heading(struct lp_page *page)
{
    static const char title[] = "DOMINANT PHASES";
    lp__page_block(page);
    lp__page_ink(page, LP_INK_TITLE, title);
    lp__buf_pad(page->out, ' ', page->name - (sizeof title - 1 < page->name ? sizeof title - 1 : page->name));
    lp__page_add(page, " %7s %11s %7s %9s", "entries", "self", "wait", "p50");
    if (page->options.wide) lp__page_add(page, " %9s", "p95");
    lp__page_add(page, " %9s", "p99");
    if (page->options.wide) lp__page_add(page, " %9s", "max");
    lp__page_add(page, "\n");
}

static void time_cell(struct lp_page *page, int columns, double ns)
{
    char text[LP_FMT_CAP];
    lp__page_add(page, " %*s", columns, lp__fmt_duration(text, sizeof text, ns));
}

/* A share without decimals: "31%". */
static void wait_cell(struct lp_page *page, double share)
{
    if (isnan(share))
        lp__page_add(page, " %7s", "n/a");
    else
        lp__page_add(page, " %6d%%", (int)lround(share * 100));
}

static void suspended_row(struct lp_page *page, const struct lp_report_phase *phase)
{
    char ns[LP_FMT_CAP], pct[LP_FMT_CAP];
    if (!(phase->suspended_ns > 0)) return;
    double share = phase->wall_ns > 0 ? fmin(1, phase->suspended_ns / phase->wall_ns) : 0;
    lp__page_add(page, "    %s ", page->options.utf8 ? "\xC2\xB7" : ".");
    lp__page_cell(page, "suspended", 9, page->name - 4);
    lp__page_add(page, " %10s %13s\n", lp__fmt_duration(ns, sizeof ns, phase->suspended_ns),
                 lp__fmt_pct(pct, sizeof pct, share));
}

static void phase_row(struct lp_page *page, const struct lp_report_tree *tree, uint32_t index)
{
    const struct lp_report_phase *phase = &tree->phases[index];
    char entries[LP_FMT_CAP];
    lp__page_phase(page, tree, index, page->name);
    lp__page_add(page, " %7s", lp__fmt_count(entries, sizeof entries, phase->entries));
    time_cell(page, 11, phase->untimed ? LP_NAN : phase->self_ns);
    wait_cell(page, phase->wait_share);
    time_cell(page, 9, phase->p50_ns);
    if (page->options.wide) time_cell(page, 9, phase->p95_ns);
    time_cell(page, 9, phase->p99_ns);
    if (page->options.wide) time_cell(page, 9, phase->max_ns);
    lp__page_add(page, "\n");
    suspended_row(page, phase);
    lp__page_counters(page, phase, true);
}

/* -- counters ---------------------------------------------------------------------------------------------------- */

static void spread_cell(struct lp_page *page, const struct lp_report_counter *counter)
{
    char low[LP_FMT_CAP], high[LP_FMT_CAP];
    (void)snprintf(low, sizeof low, "%lld", (long long)counter->min);
    (void)snprintf(high, sizeof high, "%lld", (long long)counter->max);
    if (counter->min == counter->max)
        lp__page_add(page, "  always %s", low);
    else
        lp__page_add(page, "  %s..%s", low, high);
    if (!page->options.wide || counter->min == counter->max) return;
    lp__page_add(page, "  p50 %s p95 %s", lp__fmt_fixed(low, sizeof low, counter->p50, 0),
                 lp__fmt_fixed(high, sizeof high, counter->p95, 0));
}

/* "567ns/ea"; below ten nanoseconds with decimals, since a unit of data may cost less than one. */
static void each_text(char *out, size_t cap, double ns)
{
    char number[LP_FMT_CAP];
    if (ns < 9.95)
        (void)snprintf(out, cap, "%sns/ea", lp__fmt_fixed(number, sizeof number, ns, 2));
    else
        (void)snprintf(out, cap, "%s/ea", lp__fmt_duration(number, sizeof number, ns));
}

static void counter_row(struct lp_page *page, const struct lp_report_counter *counter, bool rates)
{
    char total[64], rate[LP_FMT_CAP] = "", each[LP_FMT_CAP + 4] = "";
    struct lp_text name = lp__shown_name(counter->name);
    lp__page_add(page, "    + ");
    lp__page_cell(page, name.bytes, name.len, page->name - 4);
    lp__page_add(page, " %10s", lp__fmt_count128(total, sizeof total, counter->total_high, counter->total_low));
    if (rates && !isnan(counter->per_s)) lp__fmt_rate(rate, sizeof rate, counter->per_s);
    if (rates && !isnan(counter->each_ns)) each_text(each, sizeof each, counter->each_ns);
    lp__page_add(page, " %13s %11s", rate, each);
    spread_cell(page, counter);
    lp__page_add(page, "\n");
}

void lp__page_counters(struct lp_page *page, const struct lp_report_phase *phase, bool rates)
{
    for (size_t i = 0; i < phase->counter_count; i++)
        counter_row(page, &phase->counters[i], rates);
}

/* -- what the marks mean ------------------------------------------------------------------------------------------ */

enum { MARK_OPEN, MARK_SAMPLED, MARK_ASYNC, MARK_UNMEASURED, MARK_COUNT };

static bool has_mark(const struct lp_report_phase *phase, int mark)
{
    switch (mark) {
    case MARK_OPEN:
        return phase->open > 0;
    case MARK_SAMPLED:
        return phase->scale != 1 || phase->untimed;
    case MARK_ASYNC:
        return phase->async_entries > 0;
    default:
        return isnan(phase->wait_share) && phase->measured > 0;
    }
}

static bool has_note(const struct lp_report *report, enum lp_note_kind kind)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (report->notes[i].kind == kind) return true;
    return false;
}

static void legend(struct lp_page *page, int mark)
{
    static const char *const text[MARK_COUNT] = {
        "> open when last seen; self holds its time so far, the other columns only finished entries:",
        "~ sampled: times are scaled up from the entries that were timed, percentiles are of these:",
        "entries that only submitted device work: their time is not the work's unless the phase waits for it:",
        "wait n/a: CPU time is not known of these entries:",
    };
    if (mark == MARK_ASYNC)
        lp__page_sentence(page, 2, "", LP_INK_FAINT, "%s %s", page->options.utf8 ? "\xE2\x80\xA0" : "^", text[mark]);
    else if (mark == MARK_UNMEASURED && has_note(page->report, LP_NOTE_SUSPENSIONS))
        lp__page_sentence(page, 2, "", LP_INK_FAINT,
                          "wait n/a: CPU and suspended time are not known of these entries, CAVEATS says why:");
    else
        lp__page_sentence(page, 2, "", LP_INK_FAINT, "%s", text[mark]);
}

static void sampled_detail(const struct lp_report_phase *phase, char *out, size_t cap)
{
    char measured[LP_FMT_CAP], all[LP_FMT_CAP], scale[LP_FMT_CAP];
    lp__fmt_count(measured, sizeof measured, phase->measured);
    lp__fmt_count(all, sizeof all, phase->entries);
    if (phase->untimed)
        (void)snprintf(out, cap, "none of %s was timed", all);
    else
        (void)snprintf(out, cap, "1 entry in %s (%s of %s%s timed)",
                       lp__fmt_fixed(scale, sizeof scale, phase->scale, phase->scale == floor(phase->scale) ? 0 : 1),
                       measured, phase->entries_estimated ? "about " : "", all);
}

static void detail(const struct lp_report_phase *phase, int mark, char *out, size_t cap)
{
    char some[LP_FMT_CAP], all[LP_FMT_CAP];
    switch (mark) {
    case MARK_OPEN:
        (void)snprintf(out, cap, "%s open, %s so far", lp__fmt_count(some, sizeof some, phase->open),
                       lp__fmt_duration(all, sizeof all, phase->open_ns));
        break;
    case MARK_SAMPLED:
        sampled_detail(phase, out, cap);
        break;
    case MARK_ASYNC:
        (void)snprintf(out, cap, "%s of %s entries", lp__fmt_count(some, sizeof some, phase->async_entries),
                       lp__fmt_count(all, sizeof all, phase->measured));
        break;
    default:
        (void)snprintf(out, cap, "%s of %s entries",
                       lp__fmt_count(some, sizeof some, phase->unmeasured ? phase->unmeasured : phase->measured),
                       lp__fmt_count(all, sizeof all, phase->measured));
    }
}

static void explain(struct lp_page *page, const struct lp_report_role *role, int mark)
{
    bool told = false;
    for (size_t i = 0; i < role->shown; i++) {
        const struct lp_report_phase *phase = &role->tree.phases[role->tree.order[i]];
        char label[LP_LABEL_CAP], text[160];
        if (!has_mark(phase, mark)) continue;
        if (!told) legend(page, mark);
        told = true;
        detail(phase, mark, text, sizeof text);
        lp__page_phase_label(page, &role->tree, role->tree.order[i], label, sizeof label, page->name);
        lp__page_sentence(page, 6, "", LP_INK_FAINT, "%s  %s", label, text);
    }
}

/* Phases that are not shown still hold time: how many, and how much of it. */
static void hidden(struct lp_page *page, const struct lp_report_role *role)
{
    const struct lp_report_tree *tree = &role->tree;
    double all = 0, left = 0;
    char pct[LP_FMT_CAP];
    size_t count = tree->order_count - role->shown;
    for (size_t i = 0; i < tree->order_count; i++) {
        double self = tree->phases[tree->order[i]].self_ns;
        all += self;
        if (i >= role->shown) left += self;
    }
    if (!count) return;
    lp__page_sentence(page, 2, "", LP_INK_FAINT, "%zu more phase%s with %s of the self time: --top all", count,
                      count == 1 ? "" : "s", lp__fmt_pct(pct, sizeof pct, all > 0 ? left / all : 0));
}

static void ordered_by(struct lp_page *page)
{
    enum lp_report_sort sort = page->report->options.sort;
    if (sort != LP_SORT_SELF) lp__page_sentence(page, 2, "", LP_INK_FAINT, "ordered by %s", lp__report_sort_name(sort));
}

static void drops(struct lp_page *page, uint32_t role)
{
    const struct lp_report *report = page->report;
    for (size_t i = 0; i < report->note_count; i++)
        if (report->notes[i].kind == LP_NOTE_DROP && report->notes[i].role == role)
            lp__page_sentence(page, 2, "! ", LP_INK_WARN, "%s", report->notes[i].text);
}

void lp__page_phases(struct lp_page *page, uint32_t index)
{
    const struct lp_report_role *role = &page->report->roles[index];
    if (role->shown) {
        heading(page);
        for (size_t i = 0; i < role->shown; i++)
            phase_row(page, &role->tree, role->tree.order[i]);
        ordered_by(page);
        hidden(page, role);
        for (int mark = 0; mark < MARK_COUNT; mark++)
            explain(page, role, mark);
    }
    drops(page, index);
}
