/* The control-flow graph of one code object, and which of its edges line events tell of.
 *
 * A line event is sent at an instruction when control reaches it from one of another line.  So every edge is *loud* or
 * *quiet*, known from the code alone, and the line events at an instruction are the sum of the loud edges into it.
 *
 * Edges are sorted by target; each instruction knows those into it and those out of it.  Made once, then only read.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_STATEMENT_FLOW_H
#define LP_ANALYSE_STATEMENT_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/code_shape.h"

#define LP_FLOW_ENTRY UINT32_MAX /* `from` of the edge into the function */

enum lp_flow_kind { LP_FLOW_FALL, LP_FLOW_JUMP, LP_FLOW_RAISE, LP_FLOW_START };

struct lp_flow_edge {
    uint32_t from, to; /* instruction indexes */
    uint8_t kind;      /* enum lp_flow_kind */
    bool loud;
    bool back;      /* closes a loop */
    bool cleans_up; /* an exception goes where no handler of the program's is */
};

struct lp_flow {
    const struct lp_code_shape *shape;
    struct lp_flow_edge *edges; /* by target */
    uint32_t edge_count;
    uint32_t *in;  /* [count + 1] first edge into an instruction */
    uint32_t *out; /* [count + 1] first place in out_edges */
    uint32_t *out_edges;
    bool *reached;  /* [count] control can come here */
    uint32_t start; /* the first RESUME, or 0: runs once per call */
    void *memory;
};

/* `opcodes` as for the shape; the shape must outlive the flow.  LP_ERR_NO_MEMORY. */
LP_WARN_UNUSED int lp__flow_build(const struct lp_code_shape *shape, const struct lp_code_opcodes *opcodes,
                                  struct lp_flow *out, struct lp_error *err);
void lp__flow_release(struct lp_flow *flow);

#endif
