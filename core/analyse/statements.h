/* The sums of counters that stand for executions of statements.
 *
 * Line events are accidents of the bytecode: one statement may send several or none.  This works out, from a code
 * object and the units of its source, which counters of its line table add up to how often each row was executed, the
 * same on every version of Python; and says where it cannot.  A pure function; decisions/statement-sums.md tells how.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_STATEMENTS_H
#define LP_ANALYSE_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/code_shape.h"
#include "store/layout.h"

#define LP_STATEMENTS_PASS 1u /* version of the way it is worked out: lp_sums_record.pass */

struct lp_statements_input {
    struct lp_code_raw code;
    const struct lp_code_opcodes *opcodes;   /* of code.python */
    const struct lp_place *slots, *branches; /* of its line table: what the counters are */
    uint32_t slot_count, branch_count;
    const void *units; /* packed, see statement_units.h */
    size_t units_bytes;
    const uint32_t *scopes; /* those that the code object may stand for, by its name and line */
    uint32_t scope_count;
};

/* Rows by ascending line, each line once; their terms in turn.  A row that is not there adds nothing. */
struct lp_statement_sums {
    struct lp_sums_row *rows;
    struct lp_sums_term *terms;
    uint32_t row_count, term_count;
    bool wants_branch; /* a row is not provable only because a conditional jump is not counted */
};

/* No scope: no rows.  LP_ERR_FORMAT, LP_ERR_VERSION, LP_ERR_LIMIT, LP_ERR_NO_MEMORY; `out` is empty then. */
LP_WARN_UNUSED int lp__statement_sums(const struct lp_statements_input *input, struct lp_statement_sums *out,
                                      struct lp_error *err);
void lp__statement_sums_release(struct lp_statement_sums *sums);

#endif
