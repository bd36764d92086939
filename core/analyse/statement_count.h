/* How often an instruction ran or an edge was taken, as a sum of the counters that a line table keeps.
 *
 * Worked out backwards from what is counted: line events (the loud edges into an instruction), calls, and the sides of
 * counted branches.  What cannot be said is unknown and stays so in every sum; nothing is guessed.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_STATEMENT_COUNT_H
#define LP_ANALYSE_STATEMENT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/statement_flow.h"
#include "base/arena.h"
#include "store/layout.h"

#define LP_COUNT_MAX_TERMS 512u        /* of one sum; longer ones are unknown */
#define LP_COUNT_MAX_DEPTH 256u        /* of branches that one count depends on */
#define LP_COUNT_MEMORY    (64u << 20) /* of all sums of one code object */

/* Terms by counter, each once, none zero.  Immutable; lives in the arena of the counts. */
struct lp_count {
    const struct lp_sums_term *terms;
    uint32_t term_count;
    bool known;
};

struct lp_counts {
    const struct lp_flow *flow;
    uint32_t *slot_of, *branch_of; /* by instruction; UINT32_MAX none */
    uint32_t slot_count;
    struct lp_count *runs; /* by instruction, once worked out */
    uint8_t *state;
    uint32_t depth;
    bool wants_branch; /* an answer was unknown for want of a counted branch */
    bool failed;       /* out of memory or over the ceiling: no answer holds */
    struct lp_arena arena;
};

/* The places must be those of the code object.  LP_ERR_NO_MEMORY. */
LP_WARN_UNUSED int lp__counts_open(const struct lp_flow *flow, const struct lp_place *slots, uint32_t slot_count,
                                   const struct lp_place *branches, uint32_t branch_count, struct lp_counts *out,
                                   struct lp_error *err);
void lp__counts_release(struct lp_counts *counts);

struct lp_count lp__count_none(void); /* zero, and known */
struct lp_count lp__count_unknown(void);
/* a + factor * b */
struct lp_count lp__count_add(struct lp_counts *counts, struct lp_count a, struct lp_count b, int32_t factor);
struct lp_count lp__count_calls(struct lp_counts *counts);
struct lp_count lp__count_line(struct lp_counts *counts, uint32_t instr); /* line events there */
struct lp_count lp__count_run(struct lp_counts *counts, uint32_t instr);  /* executions */
struct lp_count lp__count_edge(struct lp_counts *counts, const struct lp_flow_edge *edge);

#endif
