/* A role's block: its name and evenness, where its time divides, and its iteration. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "render/text.h"

#define LABEL_EXTRA 4u  /* the breakdown's labels are that much wider than the phases' */
#define MOST_ROWS   20u /* of a breakdown; the rest are summed, all are shown with --top all */
#define BAR_COLUMNS 16.0

static void upper(char *text)
{
    for (; *text; text++)
        if (*text >= 'a' && *text <= 'z') *text = (char)(*text - 'a' + 'A');
}

static void title(struct lp_page *page, const struct lp_report_role *role)
{
    char label[LP_LABEL_CAP], count[LP_FMT_CAP], imbalance[LP_FMT_CAP];
    upper(lp__page_label(page, label, sizeof label, role->name[0] ? role->name : "(role unknown)", 28));
    lp__page_ink(page, LP_INK_TITLE, label);
    lp__page_add(page, "  (%s process%s, imbalance %s)\n", lp__fmt_count(count, sizeof count, role->processes),
                 role->processes == 1 ? "" : "es", lp__fmt_fixed(imbalance, sizeof imbalance, role->imbalance, 2));
}

/* Only on a terminal: a bar as long as the share. */
static void heat(struct lp_page *page, double share)
{
    int cells = (int)lround(share * BAR_COLUMNS);
    if (!page->options.color || cells <= 0 || page->width < 78) return;
    struct lp_buf bar;
    lp__buf_init(&bar, 256);
    for (int i = 0; i < cells; i++)
        lp__buf_adds(&bar, page->options.utf8 ? "\xE2\x96\x88" : "#");
    lp__page_add(page, "  ");
    if (!bar.failed)
        lp__page_ink(page, share >= 0.5 ? LP_INK_BAD : share >= 0.2 ? LP_INK_WARN : LP_INK_FAINT, bar.data);
    lp__buf_release(&bar);
}

static void row_end(struct lp_page *page, const struct lp_report_role *role, double share, double ns)
{
    char pct[LP_FMT_CAP], time[LP_FMT_CAP], count[LP_FMT_CAP];
    lp__page_add(page, " %7s %13s", lp__fmt_pct(pct, sizeof pct, share), lp__fmt_duration(time, sizeof time, ns));
    if (role->processes > 1)
        lp__page_add(page, page->options.utf8 ? " (\xCE\xA3%s proc)" : " (sum of %s)",
                     lp__fmt_count(count, sizeof count, role->processes));
    heat(page, share);
    lp__page_add(page, "\n");
}

static void row(struct lp_page *page, const struct lp_report_role *role, const struct lp_report_share *share)
{
    const struct lp_report_phase *phase = &role->tree.phases[share->phase];
    unsigned columns = page->name + LABEL_EXTRA, marks = lp__page_marks(page, phase);
    lp__page_step(page, &role->tree, share->phase, columns - marks);
    row_end(page, role, share->share, share->ns);
}

static void rest(struct lp_page *page, const struct lp_report_role *role, size_t from)
{
    const struct lp_report_breakdown *parts = &role->breakdown;
    char label[48];
    double ns = 0, share = 0;
    for (size_t i = from; i < parts->count; i++) {
        ns += parts->rows[i].ns;
        share += parts->rows[i].share;
    }
    (void)snprintf(label, sizeof label, "%zu more phases", parts->count - from);
    lp__page_cell(page, label, strlen(label), page->name + LABEL_EXTRA);
    row_end(page, role, share, ns);
}

static void breakdown(struct lp_page *page, const struct lp_report_role *role)
{
    const struct lp_report_breakdown *parts = &role->breakdown;
    size_t shown =
        page->report->options.top == LP_REPORT_TOP_ALL || parts->count <= MOST_ROWS ? parts->count : MOST_ROWS - 1;
    for (size_t i = 0; i < shown; i++)
        row(page, role, &parts->rows[i]);
    if (shown < parts->count) rest(page, role, shown);
    if (!parts->has_other) return;
    lp__page_cell(page, "Other", 5, page->name + LABEL_EXTRA);
    row_end(page, role, parts->other_share, parts->other_ns);
}

void lp__page_role(struct lp_page *page, uint32_t index)
{
    const struct lp_report_role *role = &page->report->roles[index];
    char count[LP_FMT_CAP];
    lp__page_block(page);
    title(page, role);
    if (role->tree.count < 2) {
        lp__page_add(page, "  no phase was recorded\n");
        return;
    }
    if (role->processes > 1)
        lp__page_sentence(page, 2, "", LP_INK_PLAIN,
                          "%% of phase wall time at the first branching level, summed over %s processes",
                          lp__fmt_count(count, sizeof count, role->processes));
    else
        lp__page_add(page, "  %% of phase wall time at the first branching level\n");
    lp__page_rule(page);
    breakdown(page, role);
}

/* -- iterations -------------------------------------------------------------------------------------------------- */

static void quantile(struct lp_page *page, const char *name, double ns)
{
    char text[LP_FMT_CAP];
    lp__page_add(page, "%s %10s", name, lp__fmt_duration(text, sizeof text, ns));
}

/* How the first entries compare with the last. */
static void trend(struct lp_page *page, const struct lp_report_iterations *iterations)
{
    char first[LP_FMT_CAP], last[LP_FMT_CAP], change[LP_FMT_CAP];
    if (!iterations->trend_calls) return;
    lp__page_add(page, "  first tenth %10s   last tenth %10s",
                 lp__fmt_duration(first, sizeof first, iterations->first_tenth_ns),
                 lp__fmt_duration(last, sizeof last, iterations->last_tenth_ns));
    if (!isnan(iterations->change))
        lp__page_add(page, "   %s%s%%", iterations->change < 0 ? "" : "+",
                     lp__fmt_fixed(change, sizeof change, iterations->change * 100, 1));
    lp__page_add(page, "\n");
}

/* Threads with too few entries for tenths are not in the trend. */
static const char *trend_base(char *out, size_t cap, const struct lp_report_iterations *iterations,
                              const struct lp_report_phase *phase)
{
    char part[LP_FMT_CAP];
    *out = '\0';
    if (iterations->trend_calls && iterations->trend_calls < phase->measured)
        (void)snprintf(out, cap, "; the tenths are of %s of the entries",
                       lp__fmt_pct(part, sizeof part, (double)iterations->trend_calls / (double)phase->measured));
    return out;
}

void lp__page_iterations(struct lp_page *page, const struct lp_report_role *role)
{
    char label[LP_LABEL_CAP], share[LP_FMT_CAP], base[64];
    if (!role->iterations.phase) return;
    const struct lp_report_phase *phase = &role->tree.phases[role->iterations.phase];
    lp__page_phase_label(page, &role->tree, role->iterations.phase, label, sizeof label, page->name + LABEL_EXTRA);
    bool obvious = phase->name.len == 9 && memcmp(phase->name.bytes, "iteration", 9) == 0;
    lp__page_block(page);
    lp__page_ink(page, LP_INK_TITLE, "ITERATIONS");
    lp__page_add(page, "  (%s%llu entries%s", phase->entries_estimated ? "~" : "", (unsigned long long)phase->entries,
                 obvious ? ")\n" : " of ");
    if (!obvious) {
        lp__buf_adds(page->out, label);
        lp__page_add(page, ")\n");
    }
    quantile(page, "  mean", phase->mean_ns);
    quantile(page, "   p50", phase->p50_ns);
    quantile(page, "   p95", phase->p95_ns);
    quantile(page, "   p99", phase->p99_ns);
    lp__page_add(page, "\n");
    trend(page, &role->iterations);
    lp__page_sentence(page, 2, "", LP_INK_PLAIN, "%s is %s of this role's phase time%s%s", label,
                      lp__fmt_pct(share, sizeof share, role->iterations.share),
                      phase->scale != 1 ? "; sampled, so these are of the entries measured" : "",
                      trend_base(base, sizeof base, &role->iterations, phase));
}
