/* Who called whom, without circles, and what follows from it: the overhead of what was called, and time by path.
 *
 * Recorded is how much time each call line took for each callee, not through which path.  So a function's time is
 * divided among its callers in proportion, as graphs of calls have always done it; calls that close a circle
 * (recursion) take no share.  The shares of a function add up to 1 with that of nobody on record, so every figure
 * that is passed on by them adds up to what it was.
 */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "analyse/lines_parts.h"

#define NONE UINT32_MAX

/* -- circles ----------------------------------------------------------------------------------------------------- */

enum colour { WHITE, GREY, BLACK };

struct walk {
    const struct lp_line_report *report;
    struct lp_line_flow *flow;
    uint8_t *colour;
    uint32_t *path;    /* of functions, grey all */
    size_t *next_call; /* beside `path` */
    size_t finished;
};

/* One step at the end of the path: into a callee, past a call, or back. */
static size_t step(struct walk *walk, size_t depth)
{
    uint32_t at = walk->path[depth - 1];
    const struct lp_line_function *function = &walk->report->functions[at];
    size_t call = walk->next_call[depth - 1]++;
    if (call == function->callee_count) {
        walk->colour[at] = BLACK;
        walk->flow->order[walk->finished++] = at;
        return depth - 1;
    }
    uint32_t callee = function->callees[call].function;
    if (walk->colour[callee] != GREY) walk->flow->share[walk->flow->first[at] + call] = 1;
    if (walk->colour[callee] != WHITE) return depth;
    walk->colour[callee] = GREY;
    walk->path[depth] = callee;
    walk->next_call[depth] = 0;
    return depth + 1;
}

/* Marks with 1 the calls that close no circle, and finds an order with callees before their callers.  The functions
 * that took the most time come first and so become the roots of what calls itself. */
static void open_circles(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->report->function_count; i++) {
        if (walk->colour[i] != WHITE) continue;
        size_t depth = 1;
        walk->colour[i] = GREY;
        walk->path[0] = i;
        walk->next_call[0] = 0;
        while (depth)
            depth = step(walk, depth);
    }
}

/* -- shares ------------------------------------------------------------------------------------------------------ */

/* What flows into each function: time, and calls where there was none. */
struct inflow {
    double wall_ns, calls;
};

static double weight_of(const struct lp_line_call *call, const struct inflow *into)
{
    return into->wall_ns > 0 ? call->inclusive_ns / into->wall_ns : (double)call->calls / into->calls;
}

static void add_inflows(const struct lp_line_report *report, const struct lp_line_flow *flow, struct inflow *into)
{
    for (size_t f = 0; f < report->function_count; f++)
        for (size_t c = 0; c < report->functions[f].callee_count; c++) {
            const struct lp_line_call *call = &report->functions[f].callees[c];
            if (!(flow->share[flow->first[f] + c] > 0)) continue;
            into[call->function].wall_ns += call->inclusive_ns;
            into[call->function].calls += (double)call->calls;
        }
}

/* What nobody on record called: entries from code that is not watched. */
static void add_roots(const struct lp_line_report *report, struct lp_line_flow *flow, struct inflow *into)
{
    for (size_t f = 0; f < report->function_count; f++) {
        const struct lp_line_function *function = &report->functions[f];
        double calls = 0, wall_ns;
        for (size_t c = 0; c < function->caller_count; c++)
            calls += (double)function->callers[c].calls;
        bool called = (double)function->calls > calls || !(into[f].calls > 0);
        wall_ns = called ? fmax(0, function->total_ns - into[f].wall_ns) : 0;
        into[f].wall_ns += wall_ns;
        if (into[f].wall_ns > 0)
            flow->root[f] = wall_ns / into[f].wall_ns;
        else
            flow->root[f] = into[f].calls > 0 ? 0 : 1;
    }
}

static void divide(const struct lp_line_report *report, struct lp_line_flow *flow, const struct inflow *into)
{
    for (size_t f = 0; f < report->function_count; f++)
        for (size_t c = 0; c < report->functions[f].callee_count; c++) {
            double *share = &flow->share[flow->first[f] + c];
            const struct lp_line_call *call = &report->functions[f].callees[c];
            if (*share > 0) *share = weight_of(call, &into[call->function]);
        }
}

int lp__line_flow(const struct lp_line_report *report, struct lp_arena *arena, struct lp_line_flow *flow)
{
    size_t count = report->function_count + 1, calls = 1;
    struct walk walk = {.report = report, .flow = flow};
    struct inflow *into = lp__arena_alloc(arena, count * sizeof *into);
    *flow = (struct lp_line_flow){.first = lp__arena_alloc(arena, count * sizeof *flow->first),
                                  .root = lp__arena_alloc(arena, count * sizeof *flow->root),
                                  .order = lp__arena_alloc(arena, count * sizeof *flow->order)};
    walk.colour = lp__arena_alloc(arena, count);
    walk.path = lp__arena_alloc(arena, count * sizeof *walk.path);
    walk.next_call = lp__arena_alloc(arena, count * sizeof *walk.next_call);
    bool all = into && flow->first && flow->root && flow->order && walk.colour && walk.path && walk.next_call;
    for (size_t f = 0; all && f < report->function_count; f++) {
        flow->first[f] = (uint32_t)calls - 1;
        calls += report->functions[f].callee_count;
    }
    flow->share = all ? lp__arena_alloc(arena, calls * sizeof *flow->share) : NULL;
    if (!flow->share) return LP_ERR_NO_MEMORY;
    open_circles(&walk);
    add_inflows(report, flow, into);
    add_roots(report, flow, into);
    divide(report, flow, into);
    return LP_OK;
}
