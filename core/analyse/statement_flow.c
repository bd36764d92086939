/* Building the graph: list the edges, drop those from where control never comes, sort, find the loops, mark the loud.
 *
 * Loops are found by a depth-first walk: an edge to an instruction whose walk is under way closes one.  The order of
 * instructions does not tell: cold blocks lie behind what they lead back to. */
// SPDX-License-Identifier: MIT
#include "analyse/statement_flow.h"

#include <string.h>

/* At most: fall through, jump, raise, per instruction; and the start. */
#define EDGES_PER_INSTR 3

struct builder {
    const struct lp_code_shape *shape;
    const struct lp_code_opcodes *opcodes;
    struct lp_flow *flow;
    struct lp_flow_edge *found; /* [3 * count + 1], unsorted */
    uint32_t found_count;
};

/* -- edges ------------------------------------------------------------------------------------------------------- */

static void add_edge(struct builder *builder, uint32_t from, uint32_t to, enum lp_flow_kind kind)
{
    if (to >= builder->shape->count) return;
    builder->found[builder->found_count++] = (struct lp_flow_edge){.from = from, .to = to, .kind = (uint8_t)kind};
}

static void add_edges_from(struct builder *builder, uint32_t from)
{
    const struct lp_code_instr *instr = &builder->shape->instrs[from];
    bool jumps = instr->target != LP_NO_INSTR && !(instr->classes & LP_OP_HANDLER);
    uint32_t skip = instr->classes & LP_OP_FOR_ITER ? builder->opcodes->loop_exit_skip : 0;
    if (!(instr->classes & LP_OP_ENDS)) add_edge(builder, from, from + 1, LP_FLOW_FALL);
    if (jumps) add_edge(builder, from, instr->target + skip, LP_FLOW_JUMP);
    if (instr->handler != LP_NO_INSTR && !(instr->classes & LP_OP_STEADY))
        add_edge(builder, from, instr->handler, LP_FLOW_RAISE);
}

/* Everything reachable from the first instruction, edges included.  `todo` has room for all instructions. */
static void reach_all(struct builder *builder, uint32_t *todo)
{
    bool *reached = builder->flow->reached;
    uint32_t todo_count = 1;
    todo[0] = 0;
    reached[0] = true;
    add_edge(builder, LP_FLOW_ENTRY, 0, LP_FLOW_START);
    while (todo_count) {
        uint32_t from = todo[--todo_count], first = builder->found_count;
        add_edges_from(builder, from);
        for (uint32_t i = first; i < builder->found_count; i++) {
            uint32_t to = builder->found[i].to;
            if (reached[to]) continue;
            reached[to] = true;
            todo[todo_count++] = to;
        }
    }
}

/* Counts how many keys there are of each, then turns counts into first places. */
static void sum_up(uint32_t *first, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t here = first[i];
        first[i] = total;
        total += here;
    }
}

static void sort_by_target(struct builder *builder)
{
    struct lp_flow *flow = builder->flow;
    uint32_t count = builder->shape->count;
    flow->edge_count = builder->found_count;
    for (uint32_t i = 0; i < builder->found_count; i++)
        flow->in[builder->found[i].to]++;
    sum_up(flow->in, count);
    for (uint32_t i = 0; i < builder->found_count; i++)
        flow->edges[flow->in[builder->found[i].to]++] = builder->found[i];
    memmove(flow->in + 1, flow->in, count * sizeof *flow->in);
    flow->in[0] = 0;
}

static void list_by_source(struct lp_flow *flow)
{
    uint32_t count = flow->shape->count;
    for (uint32_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].from != LP_FLOW_ENTRY) flow->out[flow->edges[i].from]++;
    sum_up(flow->out, count);
    for (uint32_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].from != LP_FLOW_ENTRY) flow->out_edges[flow->out[flow->edges[i].from]++] = i;
    memmove(flow->out + 1, flow->out, count * sizeof *flow->out);
    flow->out[0] = 0;
}

/* -- loops ------------------------------------------------------------------------------------------------------- */

enum { UNSEEN, UNDER_WAY, SEEN };

/* `stack` and `next` have room for all instructions. */
static void find_loops(struct lp_flow *flow, uint32_t *stack, uint32_t *next, uint8_t *state)
{
    uint32_t depth = 1;
    stack[0] = 0;
    next[0] = flow->out[0];
    state[0] = UNDER_WAY;
    while (depth) {
        uint32_t from = stack[depth - 1];
        if (next[from] == flow->out[from + 1]) {
            state[from] = SEEN;
            depth--;
            continue;
        }
        struct lp_flow_edge *edge = &flow->edges[flow->out_edges[next[from]++]];
        edge->back = state[edge->to] == UNDER_WAY;
        if (state[edge->to] != UNSEEN) continue;
        state[edge->to] = UNDER_WAY;
        next[edge->to] = flow->out[edge->to];
        stack[depth++] = edge->to;
    }
}

/* -- loud or quiet ----------------------------------------------------------------------------------------------- */

static bool is_loud(const struct builder *builder, const struct lp_flow_edge *edge)
{
    const struct lp_code_instr *to = &builder->shape->instrs[edge->to], *from;
    bool old = builder->opcodes->backward_loud != 0;
    if (!to->line || to->classes & LP_OP_SILENT || edge->to < builder->flow->start) return false;
    if (edge->from == LP_FLOW_ENTRY) return true;
    from = &builder->shape->instrs[edge->from];
    if (from->line != to->line) return true;
    if (from->classes & LP_OP_RESUME) return !old || edge->from == builder->flow->start;
    return old && edge->kind == LP_FLOW_JUMP && edge->to <= edge->from && !(from->classes & LP_OP_SEND);
}

static bool has_catches(const struct lp_code_opcodes *opcodes)
{
    for (int i = 0; i < 256; i++)
        if (!(opcodes->classes[i] & LP_OP_INVALID) && opcodes->classes[i] & LP_OP_CATCH) return true;
    return false;
}

static void judge_edges(struct builder *builder)
{
    bool catches = has_catches(builder->opcodes);
    for (uint32_t i = 0; i < builder->flow->edge_count; i++) {
        struct lp_flow_edge *edge = &builder->flow->edges[i];
        edge->loud = is_loud(builder, edge);
        edge->cleans_up =
            catches && edge->kind == LP_FLOW_RAISE && !(builder->shape->instrs[edge->to].classes & LP_OP_CATCH);
    }
}

static uint32_t find_start(const struct lp_code_shape *shape)
{
    for (uint32_t i = 0; i < shape->count; i++)
        if (shape->instrs[i].classes & LP_OP_RESUME) return i;
    return 0;
}

/* -- all of it --------------------------------------------------------------------------------------------------- */

static int reserve(struct lp_flow *flow, size_t count, struct lp_error *err)
{
    size_t edges = count * EDGES_PER_INSTR + 1;
    size_t bytes = edges * sizeof *flow->edges + (2 * (count + 1) + edges) * sizeof *flow->in + count;
    flow->memory = lp__calloc(1, bytes);
    if (!flow->memory) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu instructions", count);
    flow->edges = flow->memory;
    flow->in = (uint32_t *)(flow->edges + edges);
    flow->out = flow->in + count + 1;
    flow->out_edges = flow->out + count + 1;
    flow->reached = (bool *)(flow->out_edges + edges);
    return 0;
}

int lp__flow_build(const struct lp_code_shape *shape, const struct lp_code_opcodes *opcodes, struct lp_flow *out,
                   struct lp_error *err)
{
    size_t count = shape->count, edges = count * EDGES_PER_INSTR + 1;
    *out = (struct lp_flow){.shape = shape, .start = find_start(shape)};
    int rc = reserve(out, count, err);
    if (rc) return rc;
    uint8_t *scratch = lp__calloc(1, edges * sizeof(struct lp_flow_edge) + 2 * count * sizeof(uint32_t) + count);
    if (!scratch) {
        lp__flow_release(out);
        return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu instructions", count);
    }
    struct builder builder = {.shape = shape, .opcodes = opcodes, .flow = out, .found = (void *)scratch};
    uint32_t *stack = (uint32_t *)(builder.found + edges);
    reach_all(&builder, stack);
    sort_by_target(&builder);
    list_by_source(out);
    find_loops(out, stack, stack + count, (uint8_t *)(stack + 2 * count));
    judge_edges(&builder);
    lp__free(scratch);
    return 0;
}

void lp__flow_release(struct lp_flow *flow)
{
    lp__free(flow->memory);
    memset(flow, 0, sizeof *flow);
}
