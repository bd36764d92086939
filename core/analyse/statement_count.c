/* Counting backwards through the graph.
 *
 *   runs(o)  = both sides of o, where it is a counted branch
 *            = calls, where it is the first RESUME
 *            = line events at o + all quiet edges into o
 *   edge(e)  = its side, where it leaves a counted branch
 *            = line events at its target, where it is the only loud edge there
 *            = runs(source), where the source has no other way to go on
 *            = runs(source) - the other way, where that one is known
 *
 * A count that depends on itself is unknown. */
// SPDX-License-Identifier: MIT
#include "analyse/statement_count.h"

#include <string.h>

enum { OPEN, UNDER_WAY, DONE };

/* -- opening ----------------------------------------------------------------------------------------------------- */

static void place_all(const struct lp_code_shape *shape, const struct lp_place *places, uint32_t count, uint32_t *of)
{
    memset(of, 0xFF, shape->count * sizeof *of);
    for (uint32_t i = 0; i < count; i++)
        if (places[i].offset < shape->unit_count) of[shape->at[places[i].offset]] = i;
}

int lp__counts_open(const struct lp_flow *flow, const struct lp_place *slots, uint32_t slot_count,
                    const struct lp_place *branches, uint32_t branch_count, struct lp_counts *out, struct lp_error *err)
{
    size_t count = flow->shape->count;
    *out = (struct lp_counts){.flow = flow, .slot_count = slot_count};
    lp__arena_init(&out->arena, LP_COUNT_MEMORY);
    out->slot_of = lp__arena_alloc(&out->arena, count * sizeof *out->slot_of);
    out->branch_of = lp__arena_alloc(&out->arena, count * sizeof *out->branch_of);
    out->runs = lp__arena_alloc(&out->arena, count * sizeof *out->runs);
    out->state = lp__arena_alloc(&out->arena, count);
    if (!out->slot_of || !out->branch_of || !out->runs || !out->state) {
        lp__counts_release(out);
        return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu instructions", count);
    }
    place_all(flow->shape, slots, slot_count, out->slot_of);
    place_all(flow->shape, branches, branch_count, out->branch_of);
    return 0;
}

void lp__counts_release(struct lp_counts *counts)
{
    lp__arena_release(&counts->arena);
}

/* -- sums -------------------------------------------------------------------------------------------------------- */

struct lp_count lp__count_none(void)
{
    return (struct lp_count){.known = true};
}

struct lp_count lp__count_unknown(void)
{
    return (struct lp_count){.known = false};
}

static struct lp_count counter(struct lp_counts *counts, uint32_t number)
{
    struct lp_sums_term *term = lp__arena_alloc(&counts->arena, sizeof *term);
    if (!term) {
        counts->failed = true;
        return lp__count_unknown();
    }
    *term = (struct lp_sums_term){.factor = 1, .counter = number};
    return (struct lp_count){.terms = term, .term_count = 1, .known = true};
}

static uint32_t merge(struct lp_sums_term *to, const struct lp_count *a, const struct lp_count *b, int64_t factor)
{
    uint32_t i = 0, j = 0, count = 0;
    while (i < a->term_count || j < b->term_count) {
        bool from_a = i < a->term_count && (j == b->term_count || a->terms[i].counter <= b->terms[j].counter);
        bool from_b = j < b->term_count && (i == a->term_count || b->terms[j].counter <= a->terms[i].counter);
        uint32_t number = from_a ? a->terms[i].counter : b->terms[j].counter;
        int64_t sum = 0;
        if (from_a) sum += a->terms[i++].factor;
        if (from_b) sum += factor * b->terms[j++].factor;
        if (sum) to[count++] = (struct lp_sums_term){.factor = (int32_t)sum, .counter = number};
    }
    return count;
}

/* Factors stay small: each is at most the number of paths that a count of LP_COUNT_MAX_TERMS terms was added up from,
 * and a sum that would leave the range is unknown. */
static bool fits(const struct lp_count *count, int64_t factor)
{
    for (uint32_t i = 0; i < count->term_count; i++) {
        int64_t product = factor * count->terms[i].factor;
        if (product > INT32_MAX / 4 || product < -INT32_MAX / 4) return false;
    }
    return true;
}

struct lp_count lp__count_add(struct lp_counts *counts, struct lp_count a, struct lp_count b, int32_t factor)
{
    uint32_t room = a.term_count + b.term_count;
    if (!a.known || !b.known || room > LP_COUNT_MAX_TERMS || !fits(&a, 1) || !fits(&b, factor))
        return lp__count_unknown();
    if (b.term_count == 0) return a;
    if (a.term_count == 0 && factor == 1) return b;
    struct lp_sums_term *terms = lp__arena_alloc(&counts->arena, room * sizeof *terms);
    if (!terms) {
        counts->failed = true;
        return lp__count_unknown();
    }
    return (struct lp_count){.terms = terms, .term_count = merge(terms, &a, &b, factor), .known = true};
}

/* -- counting ---------------------------------------------------------------------------------------------------- */

struct lp_count lp__count_calls(struct lp_counts *counts)
{
    return counter(counts, counts->slot_count);
}

struct lp_count lp__count_line(struct lp_counts *counts, uint32_t instr)
{
    uint32_t slot = counts->slot_of[instr];
    return slot == UINT32_MAX ? lp__count_unknown() : counter(counts, slot);
}

static struct lp_count branch_side(struct lp_counts *counts, uint32_t branch, bool taken)
{
    return counter(counts, counts->slot_count + 1 + 2 * branch + taken);
}

/* Ways to go on other than by an exception; `other` is one that is not `edge`. */
static uint32_t ways_on(const struct lp_flow *flow, uint32_t from, const struct lp_flow_edge *edge,
                        const struct lp_flow_edge **other)
{
    uint32_t ways = 0;
    for (uint32_t i = flow->out[from]; i < flow->out[from + 1]; i++) {
        const struct lp_flow_edge *way = &flow->edges[flow->out_edges[i]];
        if (way->kind == LP_FLOW_RAISE) continue;
        ways++;
        if (way != edge && other) *other = way;
    }
    return ways;
}

static uint32_t loud_edges(const struct lp_flow *flow, uint32_t instr)
{
    uint32_t loud = 0;
    for (uint32_t i = flow->in[instr]; i < flow->in[instr + 1]; i++)
        loud += flow->edges[i].loud;
    return loud;
}

/* Counted directly, or unknown. */
static struct lp_count counted_edge(struct lp_counts *counts, const struct lp_flow_edge *edge)
{
    if (edge->from != LP_FLOW_ENTRY && edge->kind != LP_FLOW_RAISE && counts->branch_of[edge->from] != UINT32_MAX)
        return branch_side(counts, counts->branch_of[edge->from], edge->kind == LP_FLOW_JUMP);
    if (edge->loud && loud_edges(counts->flow, edge->to) == 1) return lp__count_line(counts, edge->to);
    return lp__count_unknown();
}

struct lp_count lp__count_edge(struct lp_counts *counts, const struct lp_flow_edge *edge)
{
    const struct lp_flow_edge *other = NULL;
    struct lp_count count = counted_edge(counts, edge);
    if (count.known) return count;
    if (edge->from == LP_FLOW_ENTRY) return lp__count_calls(counts);
    if (edge->kind == LP_FLOW_RAISE) return lp__count_unknown();
    uint32_t ways = ways_on(counts->flow, edge->from, edge, &other);
    if (ways == 1) return lp__count_run(counts, edge->from);
    if (ways == 2 && other) count = counted_edge(counts, other);
    if (!count.known) {
        counts->wants_branch |= (counts->flow->shape->instrs[edge->from].classes & LP_OP_CONDITIONAL) != 0;
        return count;
    }
    return lp__count_add(counts, lp__count_run(counts, edge->from), count, -1);
}

static struct lp_count run_from_edges(struct lp_counts *counts, uint32_t instr)
{
    const struct lp_flow *flow = counts->flow;
    struct lp_count sum = loud_edges(flow, instr) ? lp__count_line(counts, instr) : lp__count_none();
    for (uint32_t i = flow->in[instr]; i < flow->in[instr + 1] && sum.known; i++)
        if (!flow->edges[i].loud) sum = lp__count_add(counts, sum, lp__count_edge(counts, &flow->edges[i]), 1);
    return sum;
}

/* Back along instructions that can only come from one another; they all ran equally often. */
static uint32_t chain_start(const struct lp_counts *counts, uint32_t instr)
{
    const struct lp_flow *flow = counts->flow;
    while (flow->in[instr + 1] - flow->in[instr] == 1) {
        const struct lp_flow_edge *edge = &flow->edges[flow->in[instr]];
        bool counted = edge->loud || counts->branch_of[instr] != UINT32_MAX || instr == flow->start;
        if (counted || edge->from == LP_FLOW_ENTRY || edge->kind == LP_FLOW_RAISE) break;
        if (ways_on(flow, edge->from, edge, NULL) != 1) break;
        instr = edge->from;
    }
    return instr;
}

struct lp_count lp__count_run(struct lp_counts *counts, uint32_t instr)
{
    instr = chain_start(counts, instr);
    if (!counts->flow->reached[instr]) return lp__count_none();
    if (counts->state[instr] == DONE) return counts->runs[instr];
    if (counts->state[instr] == UNDER_WAY || counts->depth == LP_COUNT_MAX_DEPTH) return lp__count_unknown();
    counts->state[instr] = UNDER_WAY;
    counts->depth++;
    uint32_t branch = counts->branch_of[instr];
    struct lp_count sum;
    if (branch != UINT32_MAX)
        sum = lp__count_add(counts, branch_side(counts, branch, false), branch_side(counts, branch, true), 1);
    else if (instr == counts->flow->start && counts->flow->shape->instrs[instr].classes & LP_OP_RESUME)
        sum = lp__count_calls(counts);
    else
        sum = run_from_edges(counts, instr);
    counts->depth--;
    counts->state[instr] = DONE;
    counts->runs[instr] = sum;
    return sum;
}
