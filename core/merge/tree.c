/* Growing a tree of paths and turning it into the run's form.  Phases are numbered in the order they come, so a parent
 * always stands before its children: sums go up the tree in one pass from the end. */
// SPDX-License-Identifier: MIT
#include "merge/tree.h"

#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "merge/counter.h"

/* Width of a rate class; the error of a rescaled bucket is half of it, far below a bucket's own width of 6 %. */
static const double class_width = 0.001;

int32_t lp__rate_class(double ns_per_tick)
{
    return (int32_t)lround(log(ns_per_tick) / class_width);
}

double lp__class_rate(int32_t rate)
{
    return rate ? exp(rate * class_width) : 1.0;
}

/* -- phases ------------------------------------------------------------------------------------------------------ */

static uint64_t child_key(uint32_t parent, enum lp_child_kind kind, uint32_t name)
{
    return (uint64_t)parent << 32 | (uint64_t)kind << 30 | name;
}

static int grow(struct lp_builder *builder)
{
    struct lp_run_tree *tree = &builder->tree;
    size_t cap = tree->cap ? tree->cap * 2 : 32;
    struct lp_run_phase *phases = lp__realloc(tree->phases, cap * sizeof *phases);
    if (!phases) return LP_ERR_NO_MEMORY;
    tree->phases = phases;
    tree->cap = cap;
    struct lp_phase_extra *extra = lp__realloc(builder->extra, cap * sizeof *extra);
    if (!extra) return LP_ERR_NO_MEMORY;
    builder->extra = extra;
    builder->extra_cap = cap;
    return LP_OK;
}

static uint32_t flags_of(enum lp_child_kind kind)
{
    static const uint32_t flags[] = {0, LP_NODE_THREAD, LP_NODE_FOLDED, LP_RUN_DAMAGED};
    return flags[kind];
}

static int append(struct lp_builder *builder, uint32_t parent, enum lp_child_kind kind, uint32_t name, uint32_t *index)
{
    struct lp_run_tree *tree = &builder->tree;
    if ((tree->count == tree->cap || tree->count == builder->extra_cap) && grow(builder)) return LP_ERR_NO_MEMORY;
    bool root = tree->count == 0;
    *index = (uint32_t)tree->count++;
    tree->phases[*index] = (struct lp_run_phase){
        .parent = parent,
        .name = name,
        .depth = root ? 0 : tree->phases[parent].depth + 1,
        .flags = root ? (uint32_t)LP_NODE_ROOT : flags_of(kind),
        .min_ns = LP_NAN,
        .max_ns = LP_NAN,
    };
    bool below_thread = !root && (parent == 0 || tree->phases[parent].flags & LP_NODE_THREAD);
    builder->extra[*index] = (struct lp_phase_extra){.outermost = below_thread && kind != LP_CHILD_THREAD};
    return LP_OK;
}

int lp__builder_init(struct lp_builder *builder, struct lp_arena *arena)
{
    uint32_t root;
    *builder = (struct lp_builder){.arena = arena, .ticks = arena};
    lp__map_init(&builder->tree.children);
    lp__map_init(&builder->counters);
    int rc = append(builder, 0, LP_CHILD_PHASE, 0, &root);
    if (rc) lp__builder_release(builder);
    return rc;
}

void lp__builder_release(struct lp_builder *builder)
{
    lp__map_release(&builder->tree.children);
    lp__map_release(&builder->counters);
    lp__free(builder->tree.phases);
    lp__free(builder->extra);
    *builder = (struct lp_builder){.arena = builder->arena, .ticks = builder->ticks};
}

int lp__builder_child(struct lp_builder *builder, uint32_t parent, enum lp_child_kind kind, uint32_t name,
                      uint32_t folded_name, uint32_t *child)
{
    struct lp_run_tree *tree = &builder->tree;
    const struct lp_run_phase *above = &tree->phases[parent];
    uint64_t found, key = child_key(parent, kind, name);
    if (above->flags & LP_NODE_FOLDED) { /* everything below it is in it */
        *child = parent;
        return LP_OK;
    }
    if (lp__map_get(&tree->children, key, &found)) {
        *child = (uint32_t)found;
        return LP_OK;
    }
    bool full = above->depth + 1 >= LP_MAX_DEPTH || tree->count >= LP_RUN_MAX_PATHS;
    if (full && kind != LP_CHILD_FOLDED)
        return lp__builder_child(builder, parent, LP_CHILD_FOLDED, folded_name, folded_name, child);
    if (tree->count >= 2 * (size_t)LP_RUN_MAX_PATHS) { /* not even room for each one's "(folded)" */
        *child = parent;
        return LP_OK;
    }
    int rc = append(builder, parent, kind, name, child);
    return rc ? rc : lp__map_put(&tree->children, key, *child);
}

void lp__builder_add(struct lp_builder *builder, uint32_t phase, const struct lp_run_phase *figures)
{
    struct lp_run_phase *into = &builder->tree.phases[phase];
    into->flags |= figures->flags;
    into->processes++;
    into->calls += figures->calls;
    into->open += figures->open;
    into->skipped += figures->skipped;
    into->unmeasured += figures->unmeasured;
    into->async_entries += figures->async_entries;
    into->wall_ns += figures->wall_ns;
    into->open_wall_ns += figures->open_wall_ns;
    into->suspended_ns += figures->suspended_ns;
    into->inner_ns += figures->inner_ns;
    into->cpu_ns += figures->cpu_ns;
    into->trend_calls += figures->trend_calls;
    into->first_tenth_ns += figures->first_tenth_ns;
    into->last_tenth_ns += figures->last_tenth_ns;
    into->min_ns = fmin(into->min_ns, figures->min_ns); /* of NaN and a number: the number */
    into->max_ns = fmax(into->max_ns, figures->max_ns);
}

/* -- histograms -------------------------------------------------------------------------------------------------- */

static struct lp_hist *hist_of_rate(struct lp_builder *builder, uint32_t phase, int32_t rate)
{
    struct lp_phase_extra *extra = &builder->extra[phase];
    for (struct lp_rated_hist *rated = extra->hists; rated; rated = rated->next)
        if (rated->rate == rate) return &rated->hist;
    struct lp_rated_hist *rated = lp__arena_alloc(builder->ticks, sizeof *rated);
    if (!rated) return NULL;
    rated->rate = rate;
    rated->next = extra->hists;
    extra->hists = rated;
    return &rated->hist;
}

int lp__builder_hist(struct lp_builder *builder, uint32_t phase, const struct lp_image *image,
                     const struct lp_hist_record *record, int32_t rate)
{
    struct lp_hist *hist = hist_of_rate(builder, phase, rate);
    return hist ? lp__hist_add_record(hist, builder->ticks, image, record) : LP_ERR_NO_MEMORY;
}

int lp__builder_counter(struct lp_builder *builder, uint32_t phase, const struct lp_image *image,
                        const struct lp_counter_record *record, uint32_t name)
{
    uint64_t found, key = (uint64_t)phase << 32 | name;
    struct lp_run_counter *counter = NULL;
    if (lp__map_get(&builder->counters, key, &found)) {
        memcpy(&counter, &found, sizeof counter);
    } else if (builder->counters.count >= LP_RUN_MAX_COUNTERS) {
        return LP_ERR_LIMIT;
    } else {
        counter = lp__arena_alloc(builder->arena, sizeof *counter);
        if (!counter) return LP_ERR_NO_MEMORY;
        counter->name = name;
        counter->next = builder->tree.phases[phase].counters;
        builder->tree.phases[phase].counters = counter;
        found = 0;
        memcpy(&found, &counter, sizeof counter);
        if (lp__map_put(&builder->counters, key, found)) return LP_ERR_NO_MEMORY;
    }
    return lp__counter_add(counter, builder->arena, image, record);
}

/* -- the end ----------------------------------------------------------------------------------------------------- */

static int finish_hist(struct lp_builder *builder, uint32_t phase)
{
    struct lp_rated_hist *rated = builder->extra[phase].hists;
    if (!rated) return LP_OK;
    struct lp_hist *hist = &rated->hist;
    if (rated->rate || rated->next || builder->ticks != builder->arena) {
        hist = lp__arena_alloc(builder->arena, sizeof *hist);
        if (!hist) return LP_ERR_NO_MEMORY;
        for (; rated; rated = rated->next) {
            int rc = lp__hist_merge_scaled(hist, builder->arena, &rated->hist, lp__class_rate(rated->rate));
            if (rc) return rc;
        }
    }
    builder->tree.phases[phase].hist = hist->count ? hist : NULL;
    return LP_OK;
}

/* A thread's name has no entries of its own: it shows what is below it. */
static void sum_up(struct lp_run_tree *tree, const struct lp_run_phase *child)
{
    struct lp_run_phase *parent = &tree->phases[child->parent];
    if (!(parent->flags & LP_NODE_THREAD)) return;
    parent->wall_ns += child->wall_ns;
    parent->open_wall_ns += child->open_wall_ns;
    parent->suspended_ns += child->suspended_ns;
    parent->cpu_ns += child->cpu_ns;
    parent->inner_ns += child->wall_ns - child->suspended_ns;
}

int lp__builder_finish(struct lp_builder *builder, const struct lp_intern *names, struct lp_run_tree *out)
{
    struct lp_run_tree *tree = &builder->tree;
    for (size_t i = tree->count; i-- > 0;) {
        int rc = finish_hist(builder, (uint32_t)i);
        if (rc) return rc;
        tree->phases[i].counters = lp__counters_sorted(tree->phases[i].counters, names);
        if (i) sum_up(tree, &tree->phases[i]);
    }
    *out = *tree;
    *tree = (struct lp_run_tree){0};
    lp__builder_release(builder);
    return LP_OK;
}

uint32_t lp__run_tree_child(const struct lp_run_tree *tree, uint32_t parent, uint32_t name)
{
    uint64_t found;
    bool there = lp__map_get(&tree->children, child_key(parent, LP_CHILD_PHASE, name), &found);
    return there ? (uint32_t)found : UINT32_MAX;
}
