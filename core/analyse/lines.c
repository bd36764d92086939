/* The line report: what is worked out in which order, and the order in which it is shown. */
// SPDX-License-Identifier: MIT
#include "analyse/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/lines_parts.h"
#include "base/fmt.h"

#define REPORT_CEILING ((size_t)2 << 30)

/* -- functions in order ------------------------------------------------------------------------------------------ */

static int compare_numbers(double a, double b) /* the larger first */
{
    return (a < b) - (a > b);
}

static int compare_functions(const void *a, const void *b)
{
    const struct lp_line_function_work *left = *(struct lp_line_function_work *const *)a;
    const struct lp_line_function_work *right = *(struct lp_line_function_work *const *)b;
    /* What was running already holds all that was called: the frame of the `with` block stands behind those. */
    int order = (left->done.calls == 0) - (right->done.calls == 0);
    if (!order) order = compare_numbers(left->done.total_ns, right->done.total_ns);
    if (!order) order = compare_numbers(left->done.self_ns, right->done.self_ns);
    if (!order) order = (left->done.calls < right->done.calls) - (left->done.calls > right->done.calls);
    return order ? order : (left > right) - (left < right); /* grouped by file, line and name */
}

int lp__lines_order(struct lp_lines_work *work)
{
    struct lp_line_report *report = work->report;
    size_t count = work->function_count;
    struct lp_line_function_work **order = lp__arena_alloc(&work->scratch, (count + 1) * sizeof(void *));
    report->functions = lp__arena_alloc(&report->arena, (count + 1) * sizeof *report->functions);
    if (!order || !report->functions) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &work->functions[i];
    qsort(order, count, sizeof(void *), compare_functions);
    for (size_t i = 0; i < count; i++) {
        order[i]->final = (uint32_t)i;
        report->functions[i] = order[i]->done;
        report->profiled_ns += order[i]->done.self_ns;
        report->events += order[i]->events;
    }
    report->function_count = count;
    return LP_OK;
}

/* -- ranking ----------------------------------------------------------------------------------------------------- */

struct hot_key {
    double self_ns, inclusive_ns;
    struct lp_line_hot at;
};

static int compare_hot(const void *a, const void *b)
{
    const struct hot_key *left = a, *right = b;
    int order = compare_numbers(left->self_ns, right->self_ns);
    if (!order) order = compare_numbers(left->inclusive_ns, right->inclusive_ns);
    if (!order) order = (left->at.function > right->at.function) - (left->at.function < right->at.function);
    return order ? order : (left->at.row > right->at.row) - (left->at.row < right->at.row);
}

int lp__lines_hot(struct lp_lines_work *work)
{
    struct lp_line_report *report = work->report;
    size_t count = 0;
    for (size_t i = 0; i < report->function_count; i++)
        count += report->functions[i].row_count;
    struct hot_key *keys = lp__arena_alloc(&work->scratch, (count + 1) * sizeof *keys);
    report->hot = lp__arena_alloc(&report->arena, (count + 1) * sizeof *report->hot);
    if (!keys || !report->hot) return LP_ERR_NO_MEMORY;
    for (uint32_t f = 0; f < report->function_count; f++)
        for (uint32_t r = 0; r < report->functions[f].row_count; r++) {
            const struct lp_line_row *row = &report->functions[f].rows[r];
            keys[report->hot_count++] = (struct hot_key){row->self_ns, row->inclusive_ns, {f, r}};
        }
    qsort(keys, count, sizeof *keys, compare_hot);
    for (size_t i = 0; i < count; i++)
        report->hot[i] = keys[i].at;
    return LP_OK;
}

/* -- sentences --------------------------------------------------------------------------------------------------- */

/* Code that nobody has worked out yet; one of its versions, for the command that does. */
static uint32_t raw_python(const struct lp_lines *lines)
{
    for (size_t i = 0; i < lines->code_count; i++)
        if (!lines->codes[i].rows) return lines->codes[i].python;
    return 0;
}

int lp__lines_notes(struct lp_lines_work *work)
{
    struct lp_line_report *report = work->report;
    const struct lp_lines *lines = work->lines;
    report->notes = lines->notes;
    report->note_count = lines->note_count;
    report->outside = lines->outside;
    report->outside_count = lines->outside_count;
    report->threads = lines->threads;
    report->processes = lines->processes;
    report->unobserved_threads = lines->unobserved_threads;
    memcpy(report->dropped, lines->dropped, sizeof report->dropped);
    report->damaged = lines->damaged;
    report->event_cost_ns = lines->event_cost_ns;
    report->mechanism = lines->mechanism;
    report->python = raw_python(lines);
    return LP_OK;
}

/* -- all --------------------------------------------------------------------------------------------------------- */

static int build(struct lp_lines_work *work)
{
    int rc = lp__lines_notes(work);
    if (!rc) rc = lp__lines_functions(work);
    if (!rc) rc = lp__lines_rows(work);
    if (!rc) rc = lp__lines_order(work);
    if (!rc) rc = lp__lines_files(work);
    if (!rc) rc = lp__lines_calls(work);
    if (!rc) rc = lp__lines_regions(work);
    if (!rc) rc = lp__lines_hot(work);
    return rc ? rc : lp__lines_correct(work->report);
}

int lp__lines_build(const struct lp_run *run, struct lp_line_report **out, struct lp_error *err)
{
    struct lp_line_report *report = lp__calloc(1, sizeof *report);
    int rc = LP_OK;
    *out = NULL;
    if (!report) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "while building the report of lines");
    lp__arena_init(&report->arena, REPORT_CEILING);
    report->run = run;
    report->mechanism = "";
    report->event_cost_ns = LP_NAN;
    if (run->lines) {
        struct lp_lines_work work = {.report = report, .lines = run->lines};
        lp__arena_init(&work.scratch, REPORT_CEILING);
        rc = build(&work);
        lp__arena_release(&work.scratch);
    }
    if (rc) {
        lp__lines_free(report);
        return lp__fail(err, LP_ERR_NO_MEMORY, 0, "while building the report of lines");
    }
    *out = report;
    return LP_OK;
}

void lp__lines_free(struct lp_line_report *report)
{
    if (!report) return;
    lp__arena_release(&report->arena);
    lp__free(report);
}
