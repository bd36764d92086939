/* Time by call path: the shares of lines_flow.c followed from the roots down. */
// SPDX-License-Identifier: MIT
#include <math.h>

#include "analyse/lines_parts.h"

#define NONE UINT32_MAX

/* Ends what a graph of calls can grow to when it is written out as a tree. */
enum { MOST_STACKS = 1 << 20, MOST_DEEP = 500 };
static const double least_share = 1e-5;

struct grow {
    const struct lp_line_report *report;
    struct lp_line_flow flow;
    struct lp_line_stacks *stacks;
    size_t cap;
    double *below_ns; /* by function: its self time and that of all it called */
    bool *shared;     /* by function: it has several callers, so each gets a share */
    double least_ns;
    double given_ns; /* so far: rounding what is handed out in sum, not one by one, loses nothing */
};

/* Where a path goes on. */
struct level {
    uint32_t stack, call;
    double weight; /* share of the function's time that belongs to this path */
};

static uint64_t hand_out(struct grow *grow, double ns)
{
    double before = round(grow->given_ns);
    if (!(grow->given_ns + ns < 0x1p63)) return 0; /* centuries: damage */
    grow->given_ns += ns;
    return (uint64_t)(round(grow->given_ns) - before);
}

static void add_up(struct grow *grow)
{
    const struct lp_line_report *report = grow->report;
    for (size_t i = 0; i < report->function_count; i++) {
        uint32_t at = grow->flow.order[i];
        const struct lp_line_function *function = &report->functions[at];
        grow->below_ns[at] += function->self_ns;
        for (size_t c = 0; c < function->callee_count; c++)
            grow->below_ns[at] +=
                grow->below_ns[function->callees[c].function] * grow->flow.share[grow->flow.first[at] + c];
    }
}

static void find_shared(struct grow *grow)
{
    const struct lp_line_report *report = grow->report;
    for (size_t f = 0; f < report->function_count; f++) {
        const struct lp_line_function *function = &report->functions[f];
        uint32_t only = NONE;
        bool several = false;
        for (size_t c = 0; c < function->caller_count; c++) {
            several |= only != NONE && only != function->callers[c].function;
            only = function->callers[c].function;
        }
        double root = grow->flow.root[f];
        grow->shared[f] = several || (only != NONE && root > 0 && root < 1);
    }
}

static bool push(struct grow *grow, uint32_t parent, uint32_t function, uint32_t *index)
{
    struct lp_line_stacks *stacks = grow->stacks;
    if (stacks->count == grow->cap) {
        size_t cap = grow->cap ? grow->cap * 2 : 1024;
        struct lp_line_stack *larger = lp__realloc(stacks->at, cap * sizeof *larger);
        if (!larger) return false;
        stacks->at = larger;
        grow->cap = cap;
    }
    *index = (uint32_t)stacks->count++;
    stacks->at[*index] =
        (struct lp_line_stack){.parent = parent, .function = function, .shared = grow->shared[function]};
    return true;
}

/* The weight of a callee's time along this call. */
static double weight_below(const struct grow *grow, const struct level *level, uint32_t function, uint32_t call)
{
    return level->weight * grow->flow.share[grow->flow.first[function] + call];
}

/* Must not change between a function and its callees: what is not followed is the function's own. */
static bool is_followed(const struct grow *grow, double ns, size_t depth)
{
    return ns >= grow->least_ns && depth < MOST_DEEP;
}

/* The function's own time on this path, with what is too little to follow. */
static void settle(struct grow *grow, const struct level *level, size_t depth)
{
    struct lp_line_stack *stack = &grow->stacks->at[level->stack];
    const struct lp_line_function *function = &grow->report->functions[stack->function];
    double ns = function->self_ns * level->weight;
    for (uint32_t c = 0; c < function->callee_count; c++) {
        double below = weight_below(grow, level, stack->function, c) * grow->below_ns[function->callees[c].function];
        if (!is_followed(grow, below, depth)) ns += below;
    }
    stack->self_ns += hand_out(grow, ns);
}

/* Follows one root to the ends of its paths. */
static int follow(struct grow *grow, uint32_t root, double weight)
{
    struct level levels[MOST_DEEP + 1];
    size_t depth = 1;
    levels[0] = (struct level){.weight = weight};
    if (!push(grow, NONE, root, &levels[0].stack)) return LP_ERR_NO_MEMORY;
    settle(grow, &levels[0], depth);
    while (depth) {
        struct level *level = &levels[depth - 1];
        uint32_t at = grow->stacks->at[level->stack].function, call = level->call++;
        const struct lp_line_function *function = &grow->report->functions[at];
        if (call == function->callee_count) {
            depth--;
            continue;
        }
        uint32_t callee = function->callees[call].function;
        struct level next = {.weight = weight_below(grow, level, at, call)};
        if (!is_followed(grow, next.weight * grow->below_ns[callee], depth)) continue;
        if (grow->stacks->count >= MOST_STACKS) {
            grow->stacks->at[level->stack].self_ns += hand_out(grow, next.weight * grow->below_ns[callee]);
            continue;
        }
        if (!push(grow, level->stack, callee, &next.stack)) return LP_ERR_NO_MEMORY;
        levels[depth++] = next;
        settle(grow, &levels[depth - 1], depth);
    }
    return LP_OK;
}

static int grow_all(struct grow *grow)
{
    const struct lp_line_report *report = grow->report;
    struct lp_arena *arena = &grow->stacks->arena;
    grow->below_ns = lp__arena_alloc(arena, (report->function_count + 1) * sizeof *grow->below_ns);
    grow->shared = lp__arena_alloc(arena, report->function_count + 1);
    int rc = grow->below_ns && grow->shared ? lp__line_flow(report, arena, &grow->flow) : LP_ERR_NO_MEMORY;
    if (rc) return rc;
    add_up(grow);
    find_shared(grow);
    grow->least_ns = report->profiled_ns * least_share;
    for (uint32_t f = 0; f < report->function_count && !rc; f++)
        if (grow->flow.root[f] > 0 && grow->below_ns[f] > 0) rc = follow(grow, f, grow->flow.root[f]);
    return rc;
}

int lp__line_stacks(const struct lp_line_report *report, struct lp_line_stacks **out, struct lp_error *err)
{
    struct lp_line_stacks *stacks = lp__calloc(1, sizeof *stacks);
    *out = NULL;
    if (!stacks) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "for the paths of calls");
    lp__arena_init(&stacks->arena, (size_t)2 << 30);
    struct grow grow = {.report = report, .stacks = stacks};
    int rc = grow_all(&grow);
    if (rc) {
        lp__line_stacks_free(stacks);
        return lp__fail(err, LP_ERR_NO_MEMORY, 0, "for the paths of calls");
    }
    for (size_t i = 0; i < stacks->count; i++)
        stacks->total_ns += stacks->at[i].self_ns;
    *out = stacks;
    return LP_OK;
}

void lp__line_stacks_free(struct lp_line_stacks *stacks)
{
    if (!stacks) return;
    lp__free(stacks->at);
    lp__arena_release(&stacks->arena);
    lp__free(stacks);
}
