/* Which phase is the program's iteration.
 *
 *   1. A candidate holds at least a quarter of the role's phase time: a logging call that repeats is no iteration.
 *   2. It has at least 30 entries, so that its percentiles mean something; if no candidate has, more than two per
 *      process do.
 *   3. The shallowest candidate wins, so that what an iteration consists of does not replace it; on one level the one
 *      with the most time.
 */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>

#include "base/fmt.h"

#define LEAST_SHARE             0.25
#define ENTRIES_FOR_PERCENTILES 30

static bool repeats(const struct lp_report_phase *phase, bool often)
{
    uint64_t processes = phase->processes ? phase->processes : 1;
    return phase->entries > 2 * processes && (!often || phase->measured >= ENTRIES_FOR_PERCENTILES);
}

static bool better(const struct lp_report_phase *phase, const struct lp_report_phase *best)
{
    if (phase->depth != best->depth) return phase->depth < best->depth;
    return phase->active_ns > best->active_ns;
}

static uint32_t pick(const struct lp_report_role *role, bool often)
{
    const struct lp_report_tree *tree = &role->tree;
    uint32_t best = 0;
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct lp_report_phase *phase = &tree->phases[i];
        if (!phase->measured || phase->active_ns < LEAST_SHARE * role->phase_ns || !repeats(phase, often)) continue;
        if (!best || better(phase, &tree->phases[best])) best = i;
    }
    return best;
}

void lp__report_iterations(const struct lp_report_role *role, struct lp_report_iterations *out)
{
    *out = (struct lp_report_iterations){
        .phase = pick(role, true), .first_tenth_ns = LP_NAN, .last_tenth_ns = LP_NAN, .change = LP_NAN};
    if (!out->phase) out->phase = pick(role, false);
    if (!out->phase) return;
    const struct lp_report_phase *phase = &role->tree.phases[out->phase];
    if (role->phase_ns > 0) out->share = fmin(1, phase->active_ns / role->phase_ns);
    out->trend_calls = phase->trend_calls;
    out->first_tenth_ns = phase->first_tenth_ns;
    out->last_tenth_ns = phase->last_tenth_ns;
    if (phase->first_tenth_ns > 0) out->change = phase->last_tenth_ns / phase->first_tenth_ns - 1;
}
