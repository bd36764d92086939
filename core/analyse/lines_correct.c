/* What the line events cost, taken off: from a line's own time its own events, from the time of what it called the same
 * share that the callee lost.  So a call line is never less than what it called, and nothing is below zero. */
// SPDX-License-Identifier: MIT
#include <math.h>

#include "analyse/lines_parts.h"

static void correct_self(struct lp_line_function *function, double cost_ns)
{
    for (size_t i = 0; i < function->row_count; i++) {
        struct lp_line_row *row = &function->rows[i];
        row->corrected_self_ns = fmax(0, row->self_ns - (double)row->events * cost_ns);
        function->corrected_self_ns += row->corrected_self_ns;
    }
}

/* What calls of a function lost: a share of 0 … 1 of the time they took. */
static double loss_of(const struct lp_line_function *function)
{
    if (!(function->total_ns > 0)) return 0;
    return fmin(1, fmax(0, 1 - function->corrected_total_ns / function->total_ns));
}

/* Callees come before their callers; calls that close a circle lose what is lost at its other lines. */
static void correct_total(struct lp_line_report *report, const struct lp_line_flow *flow, uint32_t index)
{
    struct lp_line_function *function = &report->functions[index];
    double lost_ns = function->self_ns - function->corrected_self_ns;
    for (size_t i = 0; i < function->callee_count; i++) {
        const struct lp_line_call *call = &function->callees[i];
        if (flow->share[flow->first[index] + i] > 0)
            lost_ns += call->inclusive_ns * loss_of(&report->functions[call->function]);
    }
    function->corrected_total_ns = fmax(function->corrected_self_ns, function->total_ns - lost_ns);
}

/* The rows are in the order of lines. */
static struct lp_line_row *row_of(const struct lp_line_function *function, uint32_t line)
{
    size_t low = 0, high = function->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function->rows[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low < function->row_count && function->rows[low].line == line ? &function->rows[low] : NULL;
}

/* What a row's calls lost. */
static void add_loss(const struct lp_line_report *report, struct lp_line_function *function,
                     const struct lp_line_call *call)
{
    struct lp_line_row *row = row_of(function, call->line);
    if (row) row->corrected_inclusive_ns += call->inclusive_ns * loss_of(&report->functions[call->function]);
}

static void correct_inclusive(const struct lp_line_report *report, struct lp_line_function *function)
{
    for (size_t i = 0; i < function->callee_count; i++)
        add_loss(report, function, &function->callees[i]);
    for (size_t i = 0; i < function->row_count; i++) {
        struct lp_line_row *row = &function->rows[i];
        double below_ns = row->inclusive_ns - row->self_ns, lost_ns = row->corrected_inclusive_ns;
        row->corrected_inclusive_ns = row->corrected_self_ns + fmax(0, below_ns - lost_ns);
    }
}

/* What was called from a line inside the region lost what it lost in the whole run. */
static void correct_region(const struct lp_line_report *report, struct lp_line_region *region, double cost_ns)
{
    for (size_t i = 0; i < region->row_count; i++) {
        struct lp_line_region_row *row = &region->rows[i];
        const struct lp_line_row *whole = row_of(&report->functions[row->function], row->line);
        double below_ns = whole ? whole->inclusive_ns - whole->self_ns : 0, kept = 1;
        if (whole && below_ns > 0) kept = (whole->corrected_inclusive_ns - whole->corrected_self_ns) / below_ns;
        row->corrected_self_ns = fmax(0, row->self_ns - (double)row->events * cost_ns);
        row->corrected_inclusive_ns = row->corrected_self_ns + (row->inclusive_ns - row->self_ns) * kept;
        region->corrected_self_ns += row->corrected_self_ns;
    }
}

int lp__lines_correct(struct lp_line_report *report)
{
    double cost_ns = report->event_cost_ns > 0 ? report->event_cost_ns : 0;
    struct lp_arena arena;
    struct lp_line_flow flow;
    lp__arena_init(&arena, (size_t)1 << 30);
    int rc = lp__line_flow(report, &arena, &flow);
    for (size_t i = 0; i < report->function_count && !rc; i++)
        correct_self(&report->functions[i], cost_ns);
    for (size_t i = 0; i < report->function_count && !rc; i++)
        correct_total(report, &flow, flow.order[i]);
    for (size_t i = 0; i < report->function_count && !rc; i++) {
        correct_inclusive(report, &report->functions[i]);
        report->corrected_ns += report->functions[i].corrected_self_ns;
    }
    for (size_t i = 0; i < report->region_count && !rc; i++)
        correct_region(report, &report->regions[i], cost_ns);
    lp__arena_release(&arena);
    return rc;
}
