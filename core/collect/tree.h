/* The tree of paths of one thread: private nodes on the heap, each pointing at its record in the map. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_TREE_H
#define LP_COLLECT_TREE_H

#include <stdint.h>

#include "base/hist.h"
#include "collect/thread.h"
#include "store/layout.h"

typedef uint32_t lp_name_id; /* of a registered name, from 1; process-wide; 0 is none */

/* A counter of a node, found by name without a lock. */
struct lp_counter_link {
    lp_name_id name;
    bool spread; /* amounts differ: they go into a histogram */
    struct lp_counter_record *record;
    struct lp_counter_link *next;
};

struct lp_tree_node {
    struct lp_node_record *record; /* where it is booked; while `dropped` the nearest ancestor's, for charges only */
    struct lp_tree_node *last_child;
    struct lp_tree_node *parent; /* NULL for the root */
    uint64_t next_mark;          /* finished entries at which the trend gets its next mark */
    lp_name_id name;             /* or one that no program can register, see below */
    uint32_t depth;
    uint64_t path;  /* hash of the names from the root: equal in every thread */
    uint32_t flags; /* enum lp_node_flags */
    bool dropped;   /* no space: entries are counted as dropped, their time stays in the parent's self */
    struct lp_counter_link *counters; /* the one used last first */
    struct lp_tree_node *next;        /* recording's list of all nodes, to free them */
    uint64_t stride_left;             /* sample=: entries until the next one that is recorded */
};

/* Names that no program can register: what stands for something else than a phase is found under one of these. */
#define LP_NAME_FOLDED UINT32_MAX
#define LP_NAME_THREAD (UINT32_C(1) << 31) /* and the thread's name */

/* Child of `parent` named `name`, found by hash or made.  Past the ceiling on paths: the parent's "(folded)" child;
 * without space: a node that drops.  Never NULL.  Sets parent->last_child. */
struct lp_tree_node *lp__tree_child_slow(struct lp_thread *thread, struct lp_tree_node *parent, lp_name_id name);

static inline struct lp_tree_node *lp__tree_child(struct lp_thread *thread, struct lp_tree_node *parent,
                                                  lp_name_id name)
{
    struct lp_tree_node *child = parent->last_child;
    if (__builtin_expect(child != NULL && child->name == name, 1)) return child;
    return lp__tree_child_slow(thread, parent, name);
}

/* The node of the same path in `thread`'s tree. */
struct lp_tree_node *lp__tree_translate(struct lp_thread *thread, const struct lp_tree_node *node);

/* The registered name that a node shows; 0 for the root. */
lp_name_id lp__tree_text(const struct lp_tree_node *node);

/* Looks again for space for a node that drops: true when it records from now on. */
bool lp__tree_revive(struct lp_thread *thread, struct lp_tree_node *node);

/* The counter of a value in a histogram of the store whose block is there already; NULL: the slow way makes it or
 * carries over. */
static inline uint32_t *lp__hist_counter(uint8_t *base, struct lp_hist_record *hist, uint64_t value)
{
    unsigned slot = lp__hist_slot(value);
    lp_ref ref = hist->slot[slot];
    uint32_t *count;
    if (__builtin_expect(ref == 0, 0)) return NULL;
    count = &((struct lp_hist_block *)(void *)(base + (uint64_t)ref * 8))->count[lp__hist_sub(value, slot)];
    return __builtin_expect(*count == UINT32_MAX, 0) ? NULL : count;
}

/* False: nothing was added. */
static inline bool lp__hist_add_in_place(uint8_t *base, struct lp_hist_record *hist, uint64_t value)
{
    uint32_t *count = lp__hist_counter(base, hist, value);
    if (__builtin_expect(count == NULL, 0)) return false;
    ++*count;
    return true;
}

/* Adds a value to a histogram record of the store, allocating its block when first needed; counts what it cannot. */
void lp__store_hist_add(struct lp_thread *thread, struct lp_hist_record *hist, uint64_t value, uint64_t times);

/* Remembers how far the node's wall has come, for the trend, and when to do so next.  Called when node->next_mark
 * entries have finished: at most each fourth time, and ever more seldom. */
void lp__trend_mark(struct lp_thread *thread, struct lp_tree_node *node);

/* Adds `n` to a counter of the innermost running scope, else of the root. */
void lp__count_at(struct lp_thread *thread, struct lp_tree_node *node, lp_name_id name, int64_t n);

#endif
