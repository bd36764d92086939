/* Rows inside a unit: how often control came to them.
 *
 * Evaluating an expression over several rows goes back to earlier ones (the call at its first row, the operator between
 * two operands), so a line event on a row is a visit only when the row had not been visited since the unit was entered.
 * A forward analysis over the unit: the rows visited on *every* way to an instruction.
 *
 *   into the unit from outside, or by a loop around it     no row
 *   from a nested statement                                all rows: what is left of the unit only cleans up
 *   by the loop of a `for`                                 all rows: its iterable is evaluated once
 *   by the loop of a `while`                               no row: its test is evaluated again
 *   else                                                   those of the source, and the source's own */
// SPDX-License-Identifier: MIT
#include "analyse/statement_pass.h"

#include <string.h>

#define VISIT_MAX_BYTES (16u << 20) /* of the sets of one unit; a bigger one is not worked out */

struct visit {
    struct lp_statement_pass *pass;
    uint32_t unit;
    const uint32_t *rows; /* ascending */
    uint32_t row_count, words;
    uint64_t *sets; /* [instructions][words]: rows visited on every way here */
    uint32_t *todo; /* instructions whose set shrank */
    uint8_t *queued;
    uint32_t todo_count;
};

enum arrival { ARRIVES_FRESH, ARRIVES_DONE, ARRIVES_ON };

static bool takes_part(const struct visit *visit, uint32_t instr)
{
    const struct lp_statement_pass *pass = visit->pass;
    uint32_t unit = pass->unit_of[instr];
    if (lp__pass_is_nobodys(pass, instr)) return true;
    if (unit == LP_NO_UNIT) return false;
    if (lp__pass_is_member(pass, instr, visit->unit)) return true;
    /* a part of a comprehension inside a part */
    if (!lp__unit_is_part(&pass->units.units[visit->unit])) return false;
    while (unit > visit->unit && unit != LP_NO_UNIT && lp__unit_is_part(&pass->units.units[unit]))
        unit = pass->units.units[unit].parent;
    return unit == visit->unit;
}

static enum arrival loop_arrival(const struct visit *visit, const struct lp_flow_edge *edge)
{
    const struct lp_code_instr *to = &visit->pass->shape.instrs[edge->to];
    if (visit->pass->shape.instrs[edge->from].classes & LP_OP_SEND) return ARRIVES_ON;
    return to->classes & LP_OP_FOR_ITER ? ARRIVES_DONE : ARRIVES_FRESH;
}

static enum arrival arrival(const struct visit *visit, const struct lp_flow_edge *edge)
{
    const struct lp_statement_pass *pass = visit->pass;
    if (edge->from == LP_FLOW_ENTRY) return ARRIVES_FRESH;
    uint32_t from = pass->unit_of[edge->from];
    enum lp_unit_kind kind = LP_UNIT_KIND(&pass->units.units[visit->unit]);
    if (edge->back) return loop_arrival(visit, edge);
    if (takes_part(visit, edge->from)) return ARRIVES_ON;
    if (from == LP_NO_UNIT || !lp__unit_within(&pass->units, from, visit->unit)) return ARRIVES_FRESH;
    return kind == LP_UNIT_WHILE || kind == LP_UNIT_ASYNC_FOR ? ARRIVES_FRESH : ARRIVES_DONE;
}

static uint32_t row_index(const struct visit *visit, uint32_t line)
{
    uint32_t low = 0, high = visit->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (visit->rows[middle] < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low < visit->row_count && visit->rows[low] == line ? low : UINT32_MAX;
}

static uint64_t *set_of(const struct visit *visit, uint32_t instr)
{
    return visit->sets + (size_t)instr * visit->words;
}

static void push(struct visit *visit, uint32_t instr)
{
    if (visit->queued[instr]) return;
    visit->queued[instr] = 1;
    visit->todo[visit->todo_count++] = instr;
}

/* Takes away from the target's set what was not visited on this edge. */
static void flow_over(struct visit *visit, const struct lp_flow_edge *edge)
{
    enum arrival how = arrival(visit, edge);
    if (how == ARRIVES_DONE) return;
    uint64_t *to = set_of(visit, edge->to), changed = 0;
    const uint64_t *from = how == ARRIVES_ON ? set_of(visit, edge->from) : NULL;
    uint32_t own = from ? row_index(visit, visit->pass->shape.instrs[edge->from].line) : UINT32_MAX;
    for (uint32_t i = 0; i < visit->words; i++) {
        uint64_t kept = from ? from[i] : 0;
        if (own != UINT32_MAX && own / 64 == i) kept |= (uint64_t)1 << own % 64;
        changed |= to[i] & ~kept;
        to[i] &= kept;
    }
    if (changed) push(visit, edge->to);
}

static void run(struct visit *visit)
{
    const struct lp_flow *flow = &visit->pass->flow;
    for (uint32_t i = 0; i < flow->edge_count; i++)
        if (takes_part(visit, flow->edges[i].to)) flow_over(visit, &flow->edges[i]);
    while (visit->todo_count) {
        uint32_t instr = visit->todo[--visit->todo_count];
        visit->queued[instr] = 0;
        for (uint32_t i = flow->out[instr]; i < flow->out[instr + 1]; i++) {
            const struct lp_flow_edge *edge = &flow->edges[flow->out_edges[i]];
            if (takes_part(visit, edge->to)) flow_over(visit, edge);
        }
    }
}

static void add_up(struct visit *visit, struct lp_count *sums)
{
    struct lp_statement_pass *pass = visit->pass;
    for (uint32_t i = 0; i < visit->row_count; i++)
        sums[i] = lp__count_none();
    for (uint32_t i = 0; i < pass->shape.count; i++) {
        const struct lp_code_instr *instr = &pass->shape.instrs[i];
        uint32_t row = row_index(visit, instr->line);
        if (!instr->line || row == UINT32_MAX || !pass->flow.reached[i]) continue;
        if (lp__pass_is_nobodys(pass, i) || !takes_part(visit, i)) continue;
        if (set_of(visit, i)[row / 64] >> row % 64 & 1) continue;
        bool loud = false;
        for (uint32_t j = pass->flow.in[i]; j < pass->flow.in[i + 1]; j++)
            loud |= pass->flow.edges[j].loud;
        if (loud) sums[row] = lp__count_add(&pass->counts, sums[row], lp__count_line(&pass->counts, i), 1);
    }
}

int lp__pass_visits(struct lp_statement_pass *pass, uint32_t unit, const uint32_t *rows, struct lp_count *sums,
                    uint32_t count, struct lp_error *err)
{
    size_t instrs = pass->shape.count, words = (count + 63) / 64, bytes = instrs * words * sizeof(uint64_t);
    struct visit visit = {.pass = pass, .unit = unit, .rows = rows, .row_count = count, .words = (uint32_t)words};
    if (bytes > VISIT_MAX_BYTES) {
        for (uint32_t i = 0; i < count; i++)
            sums[i] = lp__count_unknown();
        return 0;
    }
    void *memory = lp__alloc(bytes + instrs * (sizeof *visit.todo + sizeof *visit.queued));
    if (!memory) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu instructions", instrs);
    visit.sets = memory;
    visit.todo = (uint32_t *)(visit.sets + instrs * words);
    visit.queued = (uint8_t *)(visit.todo + instrs);
    memset(visit.sets, 0xFF, bytes);
    memset(visit.queued, 0, instrs);
    run(&visit);
    add_up(&visit, sums);
    lp__free(memory);
    return 0;
}
