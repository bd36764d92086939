/* The finished line report: every figure about lines that a renderer may show, as plain structs.
 *
 * lp__lines_build is a pure function of a run that was loaded with its line tables (merge/lines.h).  Text, JSON and
 * pages read this and nothing else.  Times are nanoseconds, NaN where not measured; names and source are raw bytes,
 * renderers escape.  Everything lives in the report's arena or in the run, which must outlive it.
 *
 *   inclusive = self + the functions called from there; a recursive call is counted once
 *   hits      = executions of the statement that owns the row; where that could not be proved, line events (`mark`)
 */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_LINES_H
#define LP_ANALYSE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "merge/lines.h"

/* One row of a file, within one function.  Rows of nested functions that share a line stand in each of them. */
struct lp_line_row {
    uint32_t line;
    enum lp_row_mark mark;
    uint64_t hits;       /* executions, or line events where `mark` says so */
    uint64_t events;     /* line events as they came */
    double self_ns;      /* in the line itself and in callees that are not watched */
    double inclusive_ns; /* >= self_ns */
    double suspended_ns; /* its frame stood still here: await, yield; 0 when it never did */
    /* Less what the line events cost: of the line itself, and of what was called in proportion.  Never negative, equal
     * to the above where the cost was not measured. */
    double corrected_self_ns, corrected_inclusive_ns;
};

struct lp_line_call {
    uint32_t function; /* the other end, index in report->functions */
    uint32_t line;     /* of the call, in the caller */
    uint64_t calls;
    double inclusive_ns;
};

struct lp_line_function {
    uint32_t file; /* index in report->files */
    struct lp_text name;
    uint32_t first_line, last_line; /* last_line: of its code */
    uint32_t flags;                 /* co_flags */
    uint64_t calls;
    uint64_t active; /* of them still running, or suspended, when it was read */
    double self_ns;  /* sum over its rows */
    double total_ns; /* outermost inclusive time */
    double suspended_ns;
    double corrected_self_ns, corrected_total_ns;
    struct lp_line_row *rows; /* by line; those with an event, a hit or time */
    size_t row_count;
    uint32_t *code_lines; /* all lines that have code, ascending: what was not executed of them has no row */
    size_t code_line_count;
    struct lp_line_call *callers, *callees; /* most time first */
    size_t caller_count, callee_count;
};

struct lp_line_file {
    const char *path;
    enum lp_source_state source; /* merge/lines.h */
    const char *text;            /* NULL unless the state is LP_SOURCE_OK */
    size_t text_len;
    const uint32_t *line_starts; /* offsets in text, line_count + 1 of them; a byte order mark is left out */
    uint32_t line_count;
    uint32_t *functions; /* indexes, by first line */
    size_t function_count;
    double self_ns;
    uint64_t hits; /* of exact rows */
};

/* A row of a region; rows without an event there and without self time are left out. */
struct lp_line_region_row {
    uint32_t function, line;
    uint64_t events;
    uint64_t hits;
    enum lp_row_mark mark;
    double self_ns, inclusive_ns;
    double corrected_self_ns, corrected_inclusive_ns;
};

struct lp_line_region {
    struct lp_text name;
    uint32_t parent;                 /* index in report->regions; UINT32_MAX: none */
    uint64_t entries;                /* finished and open */
    double wall_ns;                  /* of all entries, open ones so far */
    double self_ns;                  /* sum of the self times of all lines inside it and the regions inside it */
    double corrected_self_ns;        /* the same of the corrected ones */
    double share;                    /* of report->profiled_ns; NaN when that is 0 */
    struct lp_line_region_row *rows; /* inclusive of inner regions; most self time first */
    size_t row_count;
};

/* One line in a ranking over all functions. */
struct lp_line_hot {
    uint32_t function;
    uint32_t row; /* index in its rows */
};

struct lp_line_report {
    struct lp_arena arena;
    const struct lp_run *run;   /* borrowed */
    struct lp_line_file *files; /* most self time first */
    size_t file_count;
    struct lp_line_function *functions; /* most total time first; those that were never entered, only met, last */
    size_t function_count;
    struct lp_line_region *regions; /* outer before inner */
    size_t region_count;
    struct lp_line_hot *hot; /* all rows, most self time first */
    size_t hot_count;
    double profiled_ns;   /* sum of all self times: the base of every share of the run */
    double corrected_ns;  /* the same of the corrected ones */
    uint64_t events;      /* line events of all */
    double event_cost_ns; /* measured cost of one; NaN not measured */
    uint32_t threads, processes;
    uint64_t unobserved_threads; /* that the mechanism could not reach */
    uint64_t dropped[2];         /* LP_DROP_LINES_NO_SPACE, LP_DROP_LINES_LOST */
    uint64_t damaged;            /* records left out */
    uint32_t python;             /* PY_VERSION_HEX of code whose executions nobody has worked out; 0: none */
    const char *mechanism;       /* "monitoring", "settrace", "mixed"; "" none */
    const char *const *notes;    /* sentences that the reader of the numbers must know */
    size_t note_count;
    const struct lp_lines_outside *outside; /* files that the scope leaves out, most calls first */
    size_t outside_count;
};

/* Builds the report.  LP_ERR_NO_MEMORY.  A run without line tables gives an empty report.  On success the caller
 * releases with lp__lines_free, before the run. */
LP_WARN_UNUSED int lp__lines_build(const struct lp_run *run, struct lp_line_report **out, struct lp_error *err);
void lp__lines_free(struct lp_line_report *report); /* NULL is fine */

/* The text of a line without its end, false where there is none. */
bool lp__line_text(const struct lp_line_file *file, uint32_t line, struct lp_text *out);

/* -- who called whom, as a tree ---------------------------------------------------------------------------------- */

/* Time by call path, for flame graphs.  Only who called whom from where is recorded, not through which path, so a
 * function with several callers is divided among them in proportion to the time it took for each (`shared`); a call
 * back to a function that waits for it is left out.  The self times add up to report->profiled_ns rounded.  What is
 * less than a hundred-thousandth of that is part of its caller. */
struct lp_line_stack {
    uint32_t parent; /* index, before this one; UINT32_MAX: none */
    uint32_t function;
    bool shared;
    uint64_t self_ns;
};
struct lp_line_stacks {
    struct lp_arena arena;
    struct lp_line_stack *at;
    size_t count;
    uint64_t total_ns;
};
/* LP_ERR_NO_MEMORY.  On success the caller releases with lp__line_stacks_free. */
LP_WARN_UNUSED int lp__line_stacks(const struct lp_line_report *report, struct lp_line_stacks **out,
                                   struct lp_error *err);
void lp__line_stacks_free(struct lp_line_stacks *stacks); /* NULL is fine */

#endif
