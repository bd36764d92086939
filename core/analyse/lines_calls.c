/* Who called whom: the edges of code objects and slots become calls of functions and lines. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "analyse/lines_parts.h"

struct call {
    uint32_t caller, callee, line;
    uint64_t calls;
    double wall_ns;
};

static int compare_calls(const void *a, const void *b)
{
    const struct call *left = a, *right = b;
    if (left->caller != right->caller) return left->caller < right->caller ? -1 : 1;
    if (left->callee != right->callee) return left->callee < right->callee ? -1 : 1;
    return (left->line > right->line) - (left->line < right->line);
}

/* The line of a call; the first that ran for one from a function's entry. */
static uint32_t line_of(const struct lp_lines_work *work, const struct lp_lines_edge *edge)
{
    const struct lp_line_function_work *function = &work->functions[work->function_of[edge->caller]];
    uint32_t row = work->row_of_slot[edge->caller][edge->slot];
    return function->lines[row == UINT32_MAX ? function->entry : row];
}

/* Sorted, each caller, callee and line once. */
static struct call *gather(struct lp_lines_work *work, size_t *count)
{
    const struct lp_lines *lines = work->lines;
    struct call *calls = lp__arena_alloc(&work->scratch, (lines->edge_count + 1) * sizeof *calls);
    *count = 0;
    if (!calls) return NULL;
    for (size_t i = 0; i < lines->edge_count; i++) {
        const struct lp_lines_edge *edge = &lines->edges[i];
        calls[i] = (struct call){.caller = work->functions[work->function_of[edge->caller]].final,
                                 .callee = work->functions[work->function_of[edge->callee]].final,
                                 .line = line_of(work, edge),
                                 .calls = edge->calls,
                                 .wall_ns = edge->wall_ns};
    }
    qsort(calls, lines->edge_count, sizeof *calls, compare_calls);
    for (size_t i = 0; i < lines->edge_count; i++) {
        if (*count && !compare_calls(&calls[*count - 1], &calls[i])) {
            calls[*count - 1].calls += calls[i].calls;
            calls[*count - 1].wall_ns += calls[i].wall_ns;
        } else {
            calls[(*count)++] = calls[i];
        }
    }
    return calls;
}

static int compare_time(const void *a, const void *b)
{
    const struct lp_line_call *left = a, *right = b;
    int order = (left->inclusive_ns < right->inclusive_ns) - (left->inclusive_ns > right->inclusive_ns);
    if (!order) order = (left->calls < right->calls) - (left->calls > right->calls);
    if (!order) order = (left->function > right->function) - (left->function < right->function);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

/* Room for both ends of each function's calls. */
static int make_room(struct lp_line_report *report, const struct call *calls, size_t count)
{
    struct lp_line_call *room = lp__arena_alloc(&report->arena, (2 * count + 1) * sizeof *room);
    if (!room) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        report->functions[calls[i].caller].callee_count++;
        report->functions[calls[i].callee].caller_count++;
    }
    for (size_t i = 0; i < report->function_count; i++) {
        struct lp_line_function *function = &report->functions[i];
        function->callers = room;
        function->callees = room + function->caller_count;
        room += function->caller_count + function->callee_count;
        function->caller_count = function->callee_count = 0;
    }
    return LP_OK;
}

int lp__lines_calls(struct lp_lines_work *work)
{
    struct lp_line_report *report = work->report;
    size_t count;
    const struct call *calls = gather(work, &count);
    if (!calls || make_room(report, calls, count)) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct lp_line_function *caller = &report->functions[calls[i].caller];
        struct lp_line_function *callee = &report->functions[calls[i].callee];
        struct lp_line_call call = {.line = calls[i].line, .calls = calls[i].calls, .inclusive_ns = calls[i].wall_ns};
        call.function = calls[i].callee;
        caller->callees[caller->callee_count++] = call;
        call.function = calls[i].caller;
        callee->callers[callee->caller_count++] = call;
    }
    for (size_t i = 0; i < report->function_count; i++) {
        struct lp_line_function *function = &report->functions[i];
        qsort(function->callers, function->caller_count, sizeof *function->callers, compare_time);
        qsort(function->callees, function->callee_count, sizeof *function->callees, compare_time);
    }
    return LP_OK;
}
