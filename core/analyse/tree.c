/* From a merged tree to phases with self, wait, percentiles and estimates.
 *
 * Two passes over phases that stand parents before children.  Forward: how much a phase was sampled, which every phase
 * below inherits by multiplication, and the times that follow.  Backward: what the children take of their parent.
 * Nothing here knows of roles or processes.
 */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>

#include "base/fmt.h"

/* What the children of a phase add up to, in time as measured (raw) and as estimated beyond the parent's scale. */
struct child_sums {
    double raw_ns, raw_open_ns, beyond_ns;
    double wall_ns, active_ns;
    bool sampled;
};

static double raw_active(const struct lp_run_phase *from)
{
    return fmax(0, from->wall_ns + from->open_wall_ns - from->suspended_ns);
}

static double own_scale(const struct lp_run_phase *from)
{
    double timed = (double)from->calls + (double)from->open;
    return from->skipped && timed > 0 ? (timed + (double)from->skipped) / timed : 1;
}

static uint64_t scaled_count(uint64_t count, double scale)
{
    double value = (double)count * scale;
    if (scale == 1) return count;
    return value < 0x1p63 ? (uint64_t)llround(value) : UINT64_MAX;
}

/* Entries are estimated only by what happened above; times also by what was skipped here. */
static void fill_counts(const struct lp_run_phase *from, double above, struct lp_report_phase *phase)
{
    phase->flags = from->flags;
    phase->processes = from->processes;
    phase->measured = from->calls;
    phase->open = from->open;
    phase->skipped = from->skipped;
    phase->unmeasured = from->unmeasured;
    phase->async_entries = from->async_entries;
    phase->entries = scaled_count(from->calls + from->skipped, above);
    phase->entries_estimated = above != 1;
    phase->scale = above * own_scale(from);
    phase->untimed = from->skipped > 0 && from->calls + from->open == 0;
}

static void fill_times(const struct lp_run_phase *from, bool cpu_measured, struct lp_report_phase *phase)
{
    double scale = phase->scale;
    double finished_ns = fmax(0, from->wall_ns - from->suspended_ns);
    phase->wall_ns = (from->wall_ns + from->open_wall_ns) * scale;
    phase->open_ns = from->open_wall_ns * scale;
    phase->suspended_ns = from->suspended_ns * scale;
    phase->active_ns = raw_active(from) * scale;
    phase->cpu_ns = phase->wait_ns = phase->wait_share = LP_NAN;
    if (!cpu_measured || from->unmeasured || !from->calls) return;
    phase->cpu_ns = fmax(0, from->cpu_ns) * scale;
    phase->wait_ns = fmax(0, finished_ns - fmax(0, from->cpu_ns)) * scale;
    phase->wait_share = finished_ns > 0 ? phase->wait_ns / (finished_ns * scale) : 0;
}

static double clamped_quantile(const struct lp_run_phase *from, double q)
{
    if (!from->hist) return LP_NAN;
    double value = lp__hist_quantile(from->hist, q);
    return isnan(value) ? value : fmin(fmax(value, from->min_ns), from->max_ns);
}

static void fill_spread(const struct lp_run_phase *from, struct lp_report_phase *phase)
{
    bool any = from->calls > 0;
    phase->min_ns = any ? from->min_ns : LP_NAN;
    phase->max_ns = any ? from->max_ns : LP_NAN;
    phase->mean_ns = any ? from->wall_ns / (double)from->calls : LP_NAN;
    phase->p50_ns = any ? clamped_quantile(from, 0.50) : LP_NAN;
    phase->p95_ns = any ? clamped_quantile(from, 0.95) : LP_NAN;
    phase->p99_ns = any ? clamped_quantile(from, 0.99) : LP_NAN;
    phase->stddev_ns = any && from->hist ? lp__hist_stddev(from->hist) : LP_NAN;
    phase->trend_calls = from->trend_calls;
    phase->first_tenth_ns = from->trend_calls ? from->first_tenth_ns * 10 / (double)from->trend_calls : LP_NAN;
    phase->last_tenth_ns = from->trend_calls ? from->last_tenth_ns * 10 / (double)from->trend_calls : LP_NAN;
}

/* What scopes on top of this phase were charged, in measured time.  `inner` holds what has ended or was suspended; an
 * entry that is still open has not charged its last stint yet, but its whole time so far is in its own phase.  So the
 * children's sum is right unless it exceeds what can be missing. */
static double raw_inner(const struct lp_run_phase *from, const struct child_sums *sums)
{
    if (!(sums->raw_open_ns > 0)) return from->inner_ns;
    return fmax(from->inner_ns, fmin(sums->raw_ns, from->inner_ns + sums->raw_open_ns));
}

static void fill_self(const struct lp_run_phase *from, const struct child_sums *sums, struct lp_report_phase *phase)
{
    phase->self_estimated = sums->sampled;
    if (phase->flags & LP_NODE_THREAD) { /* stands for a thread: is what its phases are */
        phase->wall_ns = sums->wall_ns;
        phase->active_ns = sums->active_ns;
        phase->self_ns = 0;
        return;
    }
    double inner = raw_inner(from, sums) * phase->scale + sums->beyond_ns;
    phase->self_ns = fmax(0, phase->active_ns - inner);
}

static void add_to_parent(const struct lp_run_phase *from, const struct lp_report_phase *phase, double parent_scale,
                          struct child_sums *sums)
{
    bool thread = (phase->flags & LP_NODE_THREAD) != 0;
    double raw = thread ? phase->active_ns : raw_active(from);
    sums->raw_ns += raw;
    sums->raw_open_ns += from->open_wall_ns;
    sums->wall_ns += phase->wall_ns;
    sums->active_ns += phase->active_ns;
    if (thread) return;
    sums->beyond_ns += (phase->scale - parent_scale) * raw;
    sums->sampled |= phase->scale != parent_scale;
}

static void forward(const struct lp_report *report, const struct lp_run_tree *from, bool cpu_measured,
                    struct lp_report_tree *out)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct lp_run_phase *source = &from->phases[i];
        struct lp_report_phase *phase = &out->phases[i];
        phase->parent = source->parent;
        phase->depth = source->depth;
        if (i && source->name < report->run->names.count) phase->name = report->run->names.texts[source->name];
        fill_counts(source, i ? out->phases[source->parent].scale : 1, phase);
        fill_times(source, cpu_measured, phase);
        fill_spread(source, phase);
    }
}

static void backward(const struct lp_run_tree *from, struct lp_report_tree *out, struct child_sums *sums)
{
    for (size_t i = from->count; i-- > 0;) {
        struct lp_report_phase *phase = &out->phases[i];
        fill_self(&from->phases[i], &sums[i], phase);
        if (i) add_to_parent(&from->phases[i], phase, out->phases[phase->parent].scale, &sums[phase->parent]);
    }
}

int lp__report_tree_build(struct lp_report *report, const struct lp_run_tree *from, bool cpu_measured,
                          struct lp_report_tree *out)
{
    struct child_sums *sums = lp__calloc(from->count + 1, sizeof *sums);
    int rc = LP_ERR_NO_MEMORY;
    out->count = from->count;
    out->phases = lp__arena_alloc(&report->arena, (from->count + 1) * sizeof *out->phases);
    if (!sums || !out->phases) goto done;
    forward(report, from, cpu_measured, out);
    backward(from, out, sums);
    for (size_t i = 0; i < from->count; i++) {
        rc = lp__report_counters(report, &from->phases[i], &out->phases[i]);
        if (rc) goto done;
    }
    rc = lp__report_order(report, out);
done:
    lp__free(sums);
    return rc;
}
