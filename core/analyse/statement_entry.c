/* How often a unit was executed: the edges by which control enters it.
 *
 * An edge into a unit enters it when it comes from outside; not when it comes from something inside, because blocks
 * that clean up (a `with` that ends, a handler's end) come back to the header's row.  Three kinds of edge enter all the
 * same: into the test of a loop from its body; those that close a loop around a unit (the unit is all there is in it);
 * and those that close a loop of nothing but its test.
 *
 *   executions = loud entries (line events - loud edges that are none) + quiet entries
 *   for loops  = runs of FOR_ITER: items, and the end */
// SPDX-License-Identifier: MIT
#include "analyse/statement_pass.h"

enum origin { FROM_SELF = 1, FROM_WITHIN = 2, FROM_OUTSIDE = 4, FROM_TOO_MANY = 8 };

#define ORIGIN_LIMIT 8192u /* instructions without a line that one look-up goes through */

static unsigned origin_of_instr(const struct lp_statement_pass *pass, uint32_t instr, uint32_t unit)
{
    uint32_t from = pass->unit_of[instr];
    if (from == LP_NO_UNIT) return FROM_OUTSIDE;
    if (lp__pass_is_member(pass, instr, unit)) return FROM_SELF;
    return lp__unit_within(&pass->units, from, unit) ? FROM_WITHIN : FROM_OUTSIDE;
}

struct search {
    struct lp_statement_pass *pass;
    uint32_t unit, left, depth;
};

/* Nobody's: without a line, or a comprehension's own business between its parts. */
static bool is_nobodys(const struct lp_statement_pass *pass, uint32_t instr)
{
    bool own = pass->view.parts_only && pass->unit_of[instr] == LP_NO_UNIT && instr > pass->flow.start;
    return own || lp__pass_is_nobodys(pass, instr);
}

/* Where an edge comes from, looking through what is nobody's. */
static unsigned origins(struct search *search, const struct lp_flow_edge *edge)
{
    struct lp_statement_pass *pass = search->pass;
    const struct lp_flow *flow = &pass->flow;
    if (edge->from == LP_FLOW_ENTRY) return FROM_OUTSIDE;
    if (!is_nobodys(pass, edge->from)) return origin_of_instr(pass, edge->from, search->unit);
    if (pass->seen[edge->from] == pass->search) return 0;
    if (search->left == 0 || search->depth == 256) return FROM_TOO_MANY;
    pass->seen[edge->from] = pass->search;
    search->left--;
    search->depth++;
    unsigned found = 0;
    for (uint32_t i = flow->in [edge->from]; i < flow->in[edge->from + 1]; i++)
        found |= origins(search, &flow->edges[i]);
    search->depth--;
    return found;
}

static unsigned origins_of(struct lp_statement_pass *pass, const struct lp_flow_edge *edge, uint32_t unit)
{
    struct search search = {.pass = pass, .unit = unit, .left = ORIGIN_LIMIT};
    pass->search++;
    return origins(&search, edge);
}

enum verdict { NOT_ENTRY, ENTRY, MIXED };

/* A loop around the unit begins where the unit is entered from outside; one inside it does not. */
static bool is_entered_at(struct lp_statement_pass *pass, uint32_t instr, uint32_t unit)
{
    for (uint32_t i = pass->flow.in[instr]; i < pass->flow.in[instr + 1]; i++)
        if (origins_of(pass, &pass->flow.edges[i], unit) & FROM_OUTSIDE) return true;
    return false;
}

/* A loop inside an expression: that of an await, or one that the compiler wrote for `any(…)`, `tuple(…)` of a generator
 * expression. */
static bool closes_inner(const struct lp_statement_pass *pass, const struct lp_flow_edge *edge)
{
    return pass->shape.instrs[edge->from].classes & LP_OP_SEND || pass->shape.instrs[edge->to].classes & LP_OP_FOR_ITER;
}

/* Whether straight code from here leads to the loop's test or body again.  What a `break` jumps to may carry the
 * header's row too: the end of the function. */
static bool goes_round(const struct lp_statement_pass *pass, uint32_t instr, uint32_t unit)
{
    const struct lp_flow *flow = &pass->flow;
    for (uint32_t steps = 0; steps < pass->shape.count; steps++) {
        uint32_t next = LP_NO_INSTR;
        if (pass->unit_of[instr] != unit && !lp__pass_is_nobodys(pass, instr))
            return pass->unit_of[instr] != LP_NO_UNIT && lp__unit_within(&pass->units, pass->unit_of[instr], unit);
        if (pass->shape.instrs[instr].classes & (LP_OP_CONDITIONAL | LP_OP_SEND)) return true;
        for (uint32_t i = flow->out[instr]; i < flow->out[instr + 1]; i++)
            if (flow->edges[flow->out_edges[i]].kind != LP_FLOW_RAISE) next = flow->edges[flow->out_edges[i]].to;
        if (next == LP_NO_INSTR) return false;
        instr = next;
    }
    return true;
}

static enum verdict judge(struct lp_statement_pass *pass, const struct lp_flow_edge *edge, uint32_t unit)
{
    const struct lp_unit *record = &pass->units.units[unit];
    enum lp_unit_kind kind = LP_UNIT_KIND(record);
    unsigned from = origins_of(pass, edge, unit);
    bool exact = pass->unit_of[edge->to] == unit, repeats = kind == LP_UNIT_WHILE || kind == LP_UNIT_ASYNC_FOR;
    if (edge->cleans_up) return NOT_ENTRY;
    if (from & FROM_TOO_MANY) return MIXED;
    if (exact && edge->back && !lp__unit_is_part(record) && !closes_inner(pass, edge) &&
        (repeats || is_entered_at(pass, edge->to, unit)))
        return ENTRY;
    if (repeats && from & FROM_WITHIN && goes_round(pass, edge->to, unit))
        from = (from & ~(unsigned)FROM_WITHIN) | FROM_OUTSIDE;
    if (from == FROM_OUTSIDE) return ENTRY;
    return from & FROM_OUTSIDE ? MIXED : NOT_ENTRY;
}

/* Entries into one instruction of the unit. */
static struct lp_count entries_into(struct lp_statement_pass *pass, uint32_t instr, uint32_t unit)
{
    const struct lp_flow *flow = &pass->flow;
    struct lp_count entries = lp__count_none(), others = lp__count_none();
    bool loud = false;
    for (uint32_t i = flow->in[instr]; i < flow->in[instr + 1]; i++) {
        const struct lp_flow_edge *edge = &flow->edges[i];
        enum verdict verdict = judge(pass, edge, unit);
        if (verdict == MIXED) return lp__count_unknown();
        if (verdict == ENTRY && edge->loud)
            loud = true;
        else if (verdict == ENTRY)
            entries = lp__count_add(&pass->counts, entries, lp__count_edge(&pass->counts, edge), 1);
    }
    if (!loud) return entries;
    for (uint32_t i = flow->in[instr]; i < flow->in[instr + 1]; i++) {
        const struct lp_flow_edge *edge = &flow->edges[i];
        if (edge->loud && judge(pass, edge, unit) == NOT_ENTRY)
            others = lp__count_add(&pass->counts, others, lp__count_edge(&pass->counts, edge), 1);
    }
    entries = lp__count_add(&pass->counts, entries, lp__count_line(&pass->counts, instr), 1);
    return lp__count_add(&pass->counts, entries, others, -1);
}

/* Runs of the unit's own instructions of a class, one for each copy that the compiler made. */
static struct lp_count runs_of(struct lp_statement_pass *pass, uint32_t unit, uint32_t class, uint32_t *found)
{
    struct lp_members members = lp__pass_members(pass, unit);
    struct lp_count sum = lp__count_none();
    *found = 0;
    for (uint32_t i = 0; i < members.count; i++) {
        uint32_t instr = members.instrs[i];
        if (pass->unit_of[instr] != unit || !(pass->shape.instrs[instr].classes & class)) continue;
        if (!pass->flow.reached[instr]) continue;
        ++*found;
        sum = lp__count_add(&pass->counts, sum, lp__count_run(&pass->counts, instr), 1);
    }
    return sum;
}

/* Where the target of a loop begins: what is done first with an item. */
static uint64_t target_place(const struct lp_statement_pass *pass, uint32_t instr)
{
    const struct lp_code_instr *instrs = pass->shape.instrs;
    uint32_t next = instr + 1;
    while (next + 1 < pass->shape.count && instrs[next].classes & LP_OP_GLUE)
        next++;
    if (next >= pass->shape.count) return UINT64_MAX;
    return (uint64_t)instrs[next].line << 32 | (pass->has_columns ? instrs[next].column : 0);
}

/* Rounds of a `for`: its FOR_ITER, in all copies.  One that the compiler wrote into its iterable has no target, and
 * what it does with an item stands behind the target in the source. */
static struct lp_count rounds_of_for(struct lp_statement_pass *pass, uint32_t unit, uint32_t *found)
{
    struct lp_members members = lp__pass_members(pass, unit);
    struct lp_count sum = lp__count_none();
    uint64_t first = UINT64_MAX;
    *found = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < members.count; i++) {
            uint32_t instr = members.instrs[i];
            if (pass->unit_of[instr] != unit || !(pass->shape.instrs[instr].classes & LP_OP_FOR_ITER)) continue;
            if (!pass->flow.reached[instr]) continue;
            uint64_t place = target_place(pass, instr);
            if (round == 0 && place < first) first = place;
            if (round == 0 || place != first) continue;
            ++*found;
            sum = lp__count_add(&pass->counts, sum, lp__count_run(&pass->counts, instr), 1);
        }
    }
    return *found > 1 && !pass->has_columns ? lp__count_unknown() : sum;
}

/* Whether straight code leads to an instruction from where the unit is entered. */
static bool begins_test(struct lp_statement_pass *pass, uint32_t instr, uint32_t unit)
{
    const struct lp_flow *flow = &pass->flow;
    for (;; instr = flow->edges[flow->in[instr]].from) {
        if (pass->unit_of[instr] != unit) return false;
        for (uint32_t i = flow->in[instr]; i < flow->in[instr + 1]; i++)
            if (judge(pass, &flow->edges[i], unit) == ENTRY) return true;
        if (flow->in[instr + 1] - flow->in[instr] != 1) return false;
        const struct lp_flow_edge *edge = &flow->edges[flow->in[instr]];
        if (pass->shape.instrs[edge->from].classes & LP_OP_CONDITIONAL) return false;
    }
}

/* Rounds of a loop whose test has several jumps: those that are the first of a copy of the test. */
static struct lp_count runs_of_first_jumps(struct lp_statement_pass *pass, uint32_t unit, uint32_t *found)
{
    struct lp_members members = lp__pass_members(pass, unit);
    struct lp_count sum = lp__count_none();
    *found = 0;
    for (uint32_t i = 0; i < members.count; i++) {
        uint32_t instr = members.instrs[i];
        if (pass->unit_of[instr] != unit || !(pass->shape.instrs[instr].classes & LP_OP_CONDITIONAL)) continue;
        if (!pass->flow.reached[instr] || !begins_test(pass, instr, unit)) continue;
        ++*found;
        sum = lp__count_add(&pass->counts, sum, lp__count_run(&pass->counts, instr), 1);
    }
    return sum;
}

static bool is_plain_jump(uint32_t classes)
{
    return classes & LP_OP_ENDS && classes & (LP_OP_JUMP_FORWARD | LP_OP_JUMP_BACK | LP_OP_JUMP_TO);
}

/* Whether the unit is more than jumps: then it does not begin with one (3.10 lets jumps of others carry its row). */
static bool does_more_than_jump(const struct lp_statement_pass *pass, struct lp_members members,
                                const struct lp_unit *unit)
{
    if (LP_UNIT_KIND(unit) != LP_UNIT_SIMPLE && LP_UNIT_KIND(unit) != LP_UNIT_CASE) return false;
    for (uint32_t i = 0; i < members.count; i++) {
        uint32_t classes = pass->shape.instrs[members.instrs[i]].classes;
        if (!is_plain_jump(classes) && pass->flow.reached[members.instrs[i]]) return true;
    }
    return false;
}

static bool starts_nothing(const struct lp_unit *unit, uint32_t classes, bool does_more)
{
    if (lp__unit_is_part(unit) && classes & LP_OP_GLUE) return true;
    return classes & LP_OP_RERAISE || (does_more && is_plain_jump(classes));
}

struct lp_count lp__pass_executions(struct lp_statement_pass *pass, uint32_t unit)
{
    const struct lp_unit *record = &pass->units.units[unit];
    enum lp_unit_kind kind = LP_UNIT_KIND(record);
    uint32_t found;
    if (kind == LP_UNIT_LAMBDA) return lp__count_calls(&pass->counts);
    if (kind == LP_UNIT_FOR || kind == LP_UNIT_COMP_FOR) {
        struct lp_count runs = rounds_of_for(pass, unit, &found);
        if (found || kind == LP_UNIT_COMP_FOR) return runs;
    }
    if (kind == LP_UNIT_WHILE && record->kind & LP_UNIT_ONE_LINE) {
        struct lp_count runs = record->kind & LP_UNIT_BRANCHING_TEST ? runs_of_first_jumps(pass, unit, &found)
                                                                     : runs_of(pass, unit, LP_OP_CONDITIONAL, &found);
        if (found) return runs;
    }
    struct lp_members members = lp__pass_members(pass, unit);
    struct lp_count sum = lp__count_none();
    bool does_more = does_more_than_jump(pass, members, record);
    for (uint32_t i = 0; i < members.count && sum.known; i++) {
        uint32_t instr = members.instrs[i];
        if (!pass->flow.reached[instr] || starts_nothing(record, pass->shape.instrs[instr].classes, does_more))
            continue;
        sum = lp__count_add(&pass->counts, sum, entries_into(pass, instr, unit), 1);
    }
    return sum;
}
