/* A line report while it is built: what lines*.c share. */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_LINES_PARTS_H
#define LP_ANALYSE_LINES_PARTS_H

#include "analyse/lines.h"
#include "merge/run.h"

/* One function before it has its place in the order. */
struct lp_line_function_work {
    uint32_t first_code; /* its code objects hang together by work->next_code */
    uint32_t line_count; /* lines that have code, one at least */
    uint32_t *lines;     /* ascending */
    uint32_t entry;      /* index in `lines`: where the time before the first line goes */
    bool *by_events;     /* by line: in the whole run its executions could not be proved */
    uint32_t final;      /* index in report->functions */
    uint64_t events;
    struct lp_line_function done; /* becomes the one of the report */
};

struct lp_lines_work {
    struct lp_line_report *report;
    const struct lp_lines *lines;
    struct lp_arena scratch;
    struct lp_line_function_work *functions;
    size_t function_count;
    uint32_t *function_of;  /* by code: index in `functions` */
    uint32_t *next_code;    /* by code; UINT32_MAX ends */
    uint32_t **row_of_slot; /* by code: slot -> index in its function's lines; the entry slot is UINT32_MAX */
    uint32_t **row_of_sum;  /* by code: row of its sums -> the same */
    uint32_t *table_start;  /* tables of code c: by_code[table_start[c]] … */
    uint32_t *by_code;
};

/* What is added up for one line. */
struct lp_line_sum {
    uint64_t events;
    uint64_t code_events; /* of the code object at hand */
    uint64_t hits;
    bool exact, by_events, part; /* how its hits are known, by different code objects */
    double self_ns, inclusive_ns, suspended_ns;
};

/* Finds functions and their lines.  LP_ERR_NO_MEMORY, as all below. */
LP_WARN_UNUSED int lp__lines_functions(struct lp_lines_work *work);
/* Adds up some tables of one function into `sums`, one for each of its lines.  `tables` is ordered by code object.  The
 * whole run comes first: it decides where the entry's time goes, and what could not be proved. */
LP_WARN_UNUSED int lp__lines_sum(struct lp_lines_work *work, struct lp_line_function_work *function,
                                 const uint32_t *tables, size_t count, bool whole, struct lp_line_sum *sums);
/* The finished figures of a line. */
uint64_t lp__line_sum_hits(const struct lp_line_sum *sum);
enum lp_row_mark lp__line_sum_mark(const struct lp_line_sum *sum);
/* Every function's rows. */
LP_WARN_UNUSED int lp__lines_rows(struct lp_lines_work *work);
/* Puts functions into their order; from here on report->functions stands. */
LP_WARN_UNUSED int lp__lines_order(struct lp_lines_work *work);
LP_WARN_UNUSED int lp__lines_files(struct lp_lines_work *work);
LP_WARN_UNUSED int lp__lines_calls(struct lp_lines_work *work);
LP_WARN_UNUSED int lp__lines_regions(struct lp_lines_work *work);
LP_WARN_UNUSED int lp__lines_hot(struct lp_lines_work *work);
LP_WARN_UNUSED int lp__lines_notes(struct lp_lines_work *work);
LP_WARN_UNUSED int lp__lines_correct(struct lp_line_report *report);

/* -- lines_flow.c: who called whom, without circles -------------------------------------------------------------- */

struct lp_line_flow {
    double *share;   /* by call, numbered through report->functions[...].callees in turn; 0: closes a circle */
    uint32_t *first; /* by function: number of its first call */
    double *root;    /* by function: share of it that nobody on record called */
    uint32_t *order; /* callees before their callers */
};
/* All in the arena. */
LP_WARN_UNUSED int lp__line_flow(const struct lp_line_report *report, struct lp_arena *arena,
                                 struct lp_line_flow *flow);

#endif
