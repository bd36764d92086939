/* WORKERS: who was slow, who was fast, who died.  Shown when there is something to compare or to say. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "render/text.h"

#define TAG_COLUMNS   10u
#define MOST_TROUBLED 16u /* per role; --workers lists all */

static bool is_troubled(const struct lp_run_process *process)
{
    return process->verdict == LP_VERDICT_KILLED || process->verdict == LP_VERDICT_STALE;
}

static bool worth_showing(const struct lp_report *report)
{
    if (report->options.workers) return report->worker_count > 0;
    for (size_t i = 0; i < report->role_count; i++)
        if (report->roles[i].processes > 1) return true;
    for (size_t i = 0; i < report->worker_count; i++)
        if (is_troubled(report->workers[i].process)) return true;
    return false;
}

/* Verdicts in a narrow column. */
static const char *short_words(enum lp_verdict verdict)
{
    if (verdict == LP_VERDICT_ENDED) return "not closed";
    return verdict == LP_VERDICT_NOTHING ? "no records" : lp__verdict_words(verdict);
}

/* `told`: the row's tag says the verdict already. */
static void state(struct lp_page *page, const struct lp_run_process *process, bool told)
{
    const char *in = process->killed_in ? process->killed_in : "";
    const char *words = told ? "" : short_words(process->verdict);
    char label[LP_LABEL_CAP];
    unsigned used = TAG_COLUMNS + 2 + page->name + 12 + 8 + 2 + (unsigned)strlen(words) + 4;
    lp__page_add(page, "  ");
    lp__page_ink(page, is_troubled(process) ? LP_INK_BAD : LP_INK_PLAIN, words);
    if (!in[0] || process->verdict == LP_VERDICT_FINISHED || process->verdict == LP_VERDICT_NOTHING) return;
    lp__page_add(page, "%sin ", told ? "" : " ");
    lp__buf_adds(page->out, lp__page_label(page, label, sizeof label, in, page->width > used ? page->width - used : 4));
}

static void row(struct lp_page *page, const char *tag, const struct lp_report_worker *worker)
{
    char name[256], time[LP_FMT_CAP], ratio[LP_FMT_CAP];
    lp__worker_name(name, sizeof name, worker->process);
    lp__page_add(page, "  %-*s", (int)TAG_COLUMNS, tag);
    lp__page_cell(page, name, strlen(name), page->name);
    lp__page_add(page, " %11s", lp__fmt_duration(time, sizeof time, worker->process->top_wall_ns));
    if (isnan(worker->ratio))
        lp__page_add(page, " %7s", "n/a");
    else
        lp__page_add(page, " %6sx", lp__fmt_fixed(ratio, sizeof ratio, worker->ratio, 2));
    state(page, worker->process, strcmp(tag, lp__verdict_words(worker->process->verdict)) == 0);
    lp__page_add(page, "\n");
}

static void compared(struct lp_page *page, const struct lp_report_role *role)
{
    const struct lp_report_spread *spread = &role->spread;
    const struct lp_report_worker *workers = page->report->workers;
    if (spread->slowest == SIZE_MAX) return;
    if (spread->slowest == spread->fastest) {
        if (!is_troubled(workers[spread->slowest].process)) row(page, "only", &workers[spread->slowest]);
        return;
    }
    row(page, "slowest", &workers[spread->slowest]);
    if (spread->median != spread->fastest && spread->median != spread->slowest)
        row(page, "median", &workers[spread->median]);
    row(page, "fastest", &workers[spread->fastest]);
}

static void troubled(struct lp_page *page, uint32_t role)
{
    const struct lp_report *report = page->report;
    size_t count = 0;
    for (size_t i = 0; i < report->worker_count; i++) {
        const struct lp_report_worker *worker = &report->workers[i];
        if (worker->role != role || !is_troubled(worker->process)) continue;
        if (count++ < MOST_TROUBLED) row(page, lp__verdict_words(worker->process->verdict), worker);
    }
    if (count > MOST_TROUBLED)
        lp__page_add(page, "  and %zu more killed or stale: --workers lists all\n", count - MOST_TROUBLED);
}

static void all(struct lp_page *page, uint32_t role)
{
    const struct lp_report *report = page->report;
    const struct lp_report_spread *spread = &report->roles[role].spread;
    for (size_t i = 0; i < report->worker_count; i++) {
        if (report->workers[i].role != role) continue;
        bool compare = spread->slowest != spread->fastest;
        const char *tag = !compare               ? ""
                          : i == spread->slowest ? "slowest"
                          : i == spread->fastest ? "fastest"
                          : i == spread->median  ? "median"
                                                 : "";
        row(page, tag, &report->workers[i]);
    }
}

static void role_block(struct lp_page *page, uint32_t index)
{
    const struct lp_report_role *role = &page->report->roles[index];
    char label[LP_LABEL_CAP], count[LP_FMT_CAP];
    lp__page_sentence(page, 0, "", LP_INK_PLAIN, "%s (%s process%s)",
                      lp__page_label(page, label, sizeof label, role->name, 28),
                      lp__fmt_count(count, sizeof count, role->processes), role->processes == 1 ? "" : "es");
    if (page->report->options.workers)
        all(page, index);
    else {
        compared(page, role);
        troubled(page, index);
    }
}

void lp__page_workers(struct lp_page *page)
{
    if (!worth_showing(page->report)) return;
    lp__page_block(page);
    lp__page_ink(page, LP_INK_TITLE, "WORKERS");
    lp__buf_pad(page->out, ' ', TAG_COLUMNS + 2 + page->name - 7);
    lp__page_add(page, " %11s %7s  state\n", "phase time", "ratio");
    lp__page_rule(page);
    for (uint32_t role = 0; role < page->report->role_count; role++)
        role_block(page, role);
    lp__page_sentence(page, 2, "", LP_INK_FAINT, "ratio = phase time to that of the role's median worker");
}
