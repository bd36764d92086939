/* Counters of a phase: totals, spread of the amounts added, rate and price.  A counter counts only in entries that were
 * recorded, so that its total is scaled like its phase; the amounts themselves are as they were added. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>

#include "base/fmt.h"

/* By magnitude: the halves of a small negative number are both huge and would cancel to nothing as doubles. */
static double wide_to_double(int64_t high, uint64_t low)
{
    uint64_t top = (uint64_t)high;
    if (high >= 0) return (double)top * 0x1p64 + (double)low;
    low = ~low + 1;
    top = ~top + (low == 0);
    return -((double)top * 0x1p64 + (double)low);
}

static void fill_total(const struct lp_run_counter *from, double scale, struct lp_report_counter *out)
{
    out->total = wide_to_double(from->total_high, from->total_low) * scale;
    out->total_high = from->total_high;
    out->total_low = from->total_low;
    out->adds = from->adds;
    if (scale == 1) return;
    double rounded = round(out->total);
    double high = floor(rounded / 0x1p64);
    if (!(fabs(high) < 0x1p62)) return;
    out->total_high = (int64_t)high;
    out->total_low = (uint64_t)(rounded - high * 0x1p64);
    out->adds = (uint64_t)llround(fmin((double)from->adds * scale, 0x1p62));
}

/* Quantile of the amounts: negative ones stand mirrored in a histogram of their own. */
static double amount_quantile(const struct lp_run_counter *from, double q)
{
    double below = from->hist_negative ? (double)from->hist_negative->count : 0;
    double above = from->hist ? (double)from->hist->count : 0;
    double rank = q * (below + above);
    double value = (double)from->min;
    if (!from->adds) return LP_NAN;
    if (below > 0 && rank <= below)
        value = -lp__hist_quantile(from->hist_negative, 1 - rank / below);
    else if (above > 0)
        value = lp__hist_quantile(from->hist, (rank - below) / above);
    return fmin(fmax(value, (double)from->min), (double)from->max);
}

static void fill(const struct lp_report *report, const struct lp_run_counter *from, const struct lp_report_phase *phase,
                 struct lp_report_counter *out)
{
    if (from->name < report->run->names.count) out->name = report->run->names.texts[from->name];
    fill_total(from, phase->scale, out);
    out->min = from->min;
    out->max = from->max;
    out->mean = from->adds ? wide_to_double(from->total_high, from->total_low) / (double)from->adds : LP_NAN;
    out->p50 = amount_quantile(from, 0.50);
    out->p95 = amount_quantile(from, 0.95);
    out->per_s = phase->active_ns > 0 ? out->total / (phase->active_ns / 1e9) : LP_NAN;
    out->each_ns = out->total > 0 && phase->active_ns > 0 ? phase->active_ns / out->total : LP_NAN;
}

int lp__report_counters(struct lp_report *report, const struct lp_run_phase *from, struct lp_report_phase *phase)
{
    size_t count = 0;
    for (const struct lp_run_counter *c = from->counters; c; c = c->next)
        count++;
    if (!count) return LP_OK;
    phase->counters = lp__arena_alloc(&report->arena, count * sizeof *phase->counters);
    if (!phase->counters) return LP_ERR_NO_MEMORY;
    for (const struct lp_run_counter *c = from->counters; c; c = c->next)
        fill(report, c, phase, &phase->counters[phase->counter_count++]);
    return LP_OK;
}
