/* Trees of paths: finding and making nodes, and the slow half of histograms.  Runs when a path is seen for the first
 * time by a thread, or again after another one; takes locks, keeps errno. */
// SPDX-License-Identifier: MIT
#include "collect/tree.h"

#include <errno.h>
#include <string.h>

#include "base/hist.h"
#include "base/map.h"
#include "collect/internal.h"
#include "collect/name.h"
#include "collect/record.h"

#define FOLDED_TEXT "(folded)"

/* -- children by name -------------------------------------------------------------------------------------------- */

static uint32_t child_slot(const struct lp_child_table *table, const struct lp_tree_node *parent, lp_name_id name)
{
    uint64_t hash = lp__hash_u64((uint64_t)(uintptr_t)parent ^ (uint64_t)name << 40);
    uint32_t mask = table->capacity - 1, at = (uint32_t)hash & mask;
    while (table->slots[at] && (table->slots[at]->parent != parent || table->slots[at]->name != name))
        at = (at + 1) & mask;
    return at;
}

/* The table left behind stays in the recording's memory: all of them together are no larger than the last one. */
static bool grow_children(struct lp_recording *recording, struct lp_child_table *table)
{
    struct lp_child_table bigger = {.capacity = table->capacity ? table->capacity * 2 : 64};
    uint32_t i;
    bigger.slots = lp__recording_block(recording, bigger.capacity * sizeof *bigger.slots);
    if (bigger.slots == NULL) return false;
    for (i = 0; i < table->capacity; i++) {
        struct lp_tree_node *node = table->slots[i];
        if (node) bigger.slots[child_slot(&bigger, node->parent, node->name)] = node;
    }
    bigger.count = table->count;
    *table = bigger;
    return true;
}

static struct lp_tree_node *find_child(const struct lp_child_table *table, const struct lp_tree_node *parent,
                                       lp_name_id name)
{
    return table->capacity ? table->slots[child_slot(table, parent, name)] : NULL;
}

/* Room for one more; false without memory.  A table that cannot grow is filled but for the one free slot that ends a
 * search. */
static bool room_for_child(struct lp_recording *recording, struct lp_child_table *table)
{
    if (table->count + 1 <= table->capacity / 4 * 3 || grow_children(recording, table)) return true;
    return table->count + 1 < table->capacity;
}

static void remember_child(struct lp_child_table *table, struct lp_tree_node *node)
{
    table->slots[child_slot(table, node->parent, node->name)] = node;
    table->count++;
}

/* -- making nodes ------------------------------------------------------------------------------------------------ */

static uint64_t path_hash(const struct lp_tree_node *parent, lp_name_id name)
{
    return lp__hash_u64((parent ? parent->path : 0) * 31 + name);
}

lp_name_id lp__tree_text(const struct lp_tree_node *node)
{
    if (node->name == LP_NAME_FOLDED) return lp__name_register(FOLDED_TEXT, sizeof FOLDED_TEXT - 1);
    return node->name & ~LP_NAME_THREAD;
}

/* The node's record in the store; false without space.  A child of a node without a record gets none either: it would
 * be found in the wrong place. */
static bool give_record(struct lp_thread *thread, struct lp_tree_node *node)
{
    struct lp_recording *recording = thread->home;
    struct lp_node_record *record;
    lp_ref name = 0;
    if (node->parent) {
        if (node->parent->dropped) return false;
        name = lp__recording_name_ref(recording, lp__tree_text(node));
        if (name == 0) return false;
    }
    record = lp__record_next(thread, &thread->nodes, LP_SEGMENT_NODES, sizeof *record);
    if (record == NULL) return false;
    record->parent = node->parent ? lp__store_ref(&recording->store, node->parent->record) : 0;
    record->name = name;
    record->flags = node->flags;
    record->thread = thread->record->index;
    record->wall_min = UINT64_MAX;
    node->next_mark = LP_TREND_STRIDE;
    lp__record_commit(&thread->nodes, sizeof *record);
    node->record = record;
    return true;
}

/* A node without space of its own: its entries are counted as dropped, their time stays in the nearest ancestor. */
static void make_dropped(struct lp_tree_node *node)
{
    node->dropped = true;
    node->record = node->parent->record;
}

bool lp__tree_revive(struct lp_thread *thread, struct lp_tree_node *node)
{
    int saved = errno;
    bool revived = node != thread->no_memory && give_record(thread, node);
    if (revived)
        node->dropped = false;
    else
        node->record = node->parent->record;
    errno = saved;
    return revived;
}

static void place(struct lp_tree_node *node, struct lp_tree_node *parent, lp_name_id name, uint32_t flags)
{
    node->parent = parent;
    node->name = name;
    node->depth = parent ? parent->depth + 1 : 0;
    node->flags = flags;
    node->path = parent ? path_hash(parent, name) : 1;
}

/* The thread's one node for all that cannot even be remembered as dropped. */
static struct lp_tree_node *stand_in(struct lp_thread *thread, struct lp_tree_node *parent)
{
    if (parent == thread->no_memory) return parent;
    place(thread->no_memory, parent, 0, 0);
    make_dropped(thread->no_memory);
    return thread->no_memory;
}

static struct lp_tree_node *make_child(struct lp_thread *thread, struct lp_tree_node *parent, lp_name_id name,
                                       uint32_t flags)
{
    struct lp_tree_node *node = NULL;
    if (parent != thread->no_memory && room_for_child(thread->home, &thread->children))
        node = lp__recording_block(thread->home, sizeof *node);
    if (node == NULL) return stand_in(thread, parent);
    place(node, parent, name, flags);
    if (!give_record(thread, node)) make_dropped(node);
    remember_child(&thread->children, node);
    return node;
}

static struct lp_tree_node *find_or_make(struct lp_thread *thread, struct lp_tree_node *parent, lp_name_id name,
                                         uint32_t flags)
{
    struct lp_tree_node *node = find_child(&thread->children, parent, name);
    return node ? node : make_child(thread, parent, name, flags);
}

static struct lp_tree_node *folded_child(struct lp_thread *thread, struct lp_tree_node *parent)
{
    return parent->flags & LP_NODE_FOLDED ? parent : find_or_make(thread, parent, LP_NAME_FOLDED, LP_NODE_FOLDED);
}

static struct lp_tree_node *new_child(struct lp_thread *thread, struct lp_tree_node *parent, lp_name_id name)
{
    struct lp_tree_node *node;
    if (parent->depth + 1 >= LP_MAX_DEPTH || !lp__recording_admit_path(thread->home, path_hash(parent, name))) {
        lp__drop(thread, LP_DROP_FOLDED);
        return folded_child(thread, parent);
    }
    node = make_child(thread, parent, name, 0);
    if (node != thread->no_memory) parent->last_child = node;
    return node;
}

struct lp_tree_node *lp__tree_child_slow(struct lp_thread *thread, struct lp_tree_node *parent, lp_name_id name)
{
    int saved = errno;
    struct lp_tree_node *node = find_child(&thread->children, parent, name);
    if (node)
        parent->last_child = node;
    else
        node = new_child(thread, parent, name);
    errno = saved;
    return node;
}

struct lp_tree_node *lp__tree_root(struct lp_thread *thread)
{
    struct lp_tree_node *root = lp__recording_block(thread->home, sizeof *root);
    if (thread->no_memory == NULL) thread->no_memory = lp__recording_block(thread->home, sizeof *thread->no_memory);
    if (root == NULL || thread->no_memory == NULL) return NULL;
    place(root, NULL, 0, LP_NODE_ROOT);
    return give_record(thread, root) ? root : NULL;
}

struct lp_tree_node *lp__tree_thread_node(struct lp_thread *thread, lp_name_id name)
{
    return find_or_make(thread, thread->root, name | LP_NAME_THREAD, LP_NODE_THREAD);
}

static struct lp_tree_node *same_child(struct lp_thread *thread, struct lp_tree_node *parent,
                                       const struct lp_tree_node *node)
{
    if (node->flags & LP_NODE_FOLDED) return folded_child(thread, parent);
    if (node->flags & LP_NODE_THREAD) return lp__tree_thread_node(thread, node->name & ~LP_NAME_THREAD);
    return node->name ? lp__tree_child(thread, parent, node->name) : stand_in(thread, parent);
}

/* No recursion: a path may be thousands of names deep, a thread's stack small. */
struct lp_tree_node *lp__tree_translate(struct lp_thread *thread, const struct lp_tree_node *node)
{
    struct lp_tree_node *at = thread->root;
    uint32_t depth;
    for (depth = 1; depth <= node->depth; depth++) {
        const struct lp_tree_node *step = node;
        while (step->depth > depth)
            step = step->parent;
        at = same_child(thread, at, step);
    }
    return at;
}

/* -- histograms in the store ------------------------------------------------------------------------------------- */

/* The block of a slot, allocated when first needed; NULL without space. */
static struct lp_hist_block *hist_block(struct lp_thread *thread, struct lp_hist_record *hist, unsigned slot)
{
    struct lp_store *store = &thread->home->store;
    struct lp_hist_block *block;
    if (hist->slot[slot]) return lp__store_at(store, hist->slot[slot]);
    block = lp__record_next(thread, &thread->hists, LP_SEGMENT_HIST, sizeof *block);
    if (block == NULL) return NULL;
    lp__record_commit(&thread->hists, sizeof *block);
    hist->slot[slot] = lp__store_ref(store, block);
    return block;
}

struct lp_hist_record *lp__store_hist_new(struct lp_thread *thread)
{
    struct lp_hist_record *hist = lp__record_next(thread, &thread->hists, LP_SEGMENT_HIST, sizeof *hist);
    if (hist) lp__record_commit(&thread->hists, sizeof *hist);
    return hist;
}

static struct lp_hist_record *carry_of(struct lp_thread *thread, struct lp_hist_record *hist)
{
    struct lp_store *store = &thread->home->store;
    struct lp_hist_record *carry;
    if (hist->carry) return lp__store_at(store, hist->carry);
    carry = lp__store_hist_new(thread);
    if (carry) hist->carry = lp__store_ref(store, carry);
    return carry;
}

/* Adds to one counter; what does not fit into its 32 bits goes into the block of the same place that weighs 2^32. */
static bool hist_bump(struct lp_thread *thread, struct lp_hist_record *hist, unsigned slot, unsigned sub,
                      uint64_t times)
{
    struct lp_hist_block *block = hist_block(thread, hist, slot);
    struct lp_hist_record *carry;
    uint64_t sum;
    if (block == NULL) return false;
    sum = block->count[sub] + times;
    if (sum > UINT32_MAX) {
        carry = carry_of(thread, hist);
        if (carry == NULL || !hist_bump(thread, carry, slot, sub, sum >> 32)) return false;
    }
    block->count[sub] = (uint32_t)sum;
    return true;
}

void lp__store_hist_add(struct lp_thread *thread, struct lp_hist_record *hist, uint64_t value, uint64_t times)
{
    int saved = errno;
    unsigned slot = lp__hist_slot(value);
    if (!hist_bump(thread, hist, slot, lp__hist_sub(value, slot), times))
        thread->record->drops[LP_DROP_HIST_NO_SPACE] += times;
    errno = saved;
}
