/* Which places of a code object are counted: the instructions that may send a line event, and, where line events alone
 * cannot tell how often a statement ran, the conditional jumps.
 *
 * Worked out once per code object, when it is first watched, from its raw bytes; the host reads the offset of an event
 * and looks its slot up in `slot_of`.  The set of slots is a superset of what the interpreter sends: an event at an
 * offset without a slot does not happen, and if it does it has no place (LP_DROP_LINES_LOST).
 *
 * Bytes may be hostile: every index is checked, a table that ends early is an error.  No state; any thread.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_CODE_SLOTS_H
#define LP_COLLECT_CODE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/code_shape.h"
#include "store/layout.h"

#define LP_NO_SLOT UINT16_MAX /* more slots than this are refused: LP_ERR_LIMIT */

/* A counted conditional jump, in code units.  `place` is the instruction with its prefixes, `target` where it jumps. */
struct lp_code_branch {
    uint32_t place, next, target;
};

struct lp_code_slots {
    uint32_t unit_count;             /* code units: co_code bytes / 2 */
    uint32_t slot_count;             /* of `slots` */
    uint32_t branch_count;           /* of `branches` and `branch_places` */
    uint16_t *slot_of;               /* [unit_count]; LP_NO_SLOT: none.  Prefixes answer like their instruction */
    uint16_t *branch_of;             /* [unit_count], likewise; NULL when branch_count is 0 */
    struct lp_place *slots;          /* ascending offsets: what struct lp_code_record keeps */
    struct lp_place *branch_places;  /* the same of the branches */
    struct lp_code_branch *branches; /* [branch_count] */
    void *memory;                    /* all of the above */
};

/* `opcodes` must be those of raw->python (lp__code_shape).  LP_ERR_FORMAT, LP_ERR_VERSION, LP_ERR_LIMIT,
 * LP_ERR_NO_MEMORY; `out` is then empty.
 *
 * branch_count > 0: the code object has a loop within one line.  On 3.12+ the host then subscribes branch events for
 * it; below it traces its frames per opcode, and the jump's side is told by the opcode event that follows it in the
 * same frame. */
LP_WARN_UNUSED int lp__code_slots(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes,
                                  struct lp_code_slots *out, struct lp_error *err);
void lp__code_slots_release(struct lp_code_slots *slots);

/* The counter of a branch: 0 not taken (it went on), 1 taken.  `destination` in code units, as the event has it or as
 * the next instruction's offset; the end of a loop may lie some units behind the target. */
static inline unsigned lp__branch_side(const struct lp_code_branch *branch, uint32_t destination)
{
    uint32_t near = destination > branch->next ? destination - branch->next : branch->next - destination;
    uint32_t far = destination > branch->target ? destination - branch->target : branch->target - destination;
    return far < near;
}

#endif
