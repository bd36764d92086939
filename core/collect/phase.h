/* The hot path: begin, end and count of plain scopes, inlined into the host's calls.
 *
 * No lock, no atomic read-modify-write, no allocation once a path has been seen, no errno.  The clock is read last at
 * a begin and first at an end, so that our own work falls outside the phase as far as can be.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_PHASE_H
#define LP_COLLECT_PHASE_H

#include "collect/recording.h"
#include "collect/scope.h"
#include "collect/stack.h"
#include "collect/thread.h"
#include "collect/tree.h"

/* sample=: a jittered stride.  `stride` is entries per recorded one in 1/65,536; true when this entry is to be
 * recorded, otherwise the caller begins a skipped scope. */
bool lp__sample_take(struct lp_thread *thread, struct lp_tree_node *node, uint64_t stride);
/* Hot.  The same turned round, for a stride above 1. */
static inline bool lp__sample_leaves_out(struct lp_thread *thread, struct lp_tree_node *node, uint64_t stride)
{
    if (__builtin_expect(node->stride_left <= 1, 0)) return !lp__sample_take(thread, node, stride);
    node->stride_left--;
    return true;
}
/* Puts a scope on the stack below which nothing is recorded; no clock is read.  `node` is counted as skipped (NULL: it
 * lies below one that was). */
struct lp_scope *lp__begin_skipped(struct lp_thread *thread, struct lp_tree_node *node, struct lp_owner *owner);

static inline void lp__read_clocks(struct lp_thread *thread, uint64_t *now, struct lp_cpu_time *cpu)
{
    *now = lp__ticks();
    *cpu = lp__cpu_read(&thread->cpu, *now);
}

/* Begins an entry of `name` on this thread, in a frame that cannot be suspended (owner NULL) or can.  NULL: nothing is
 * recorded.  `flags`: LP_SCOPE_LOOSE, LP_SCOPE_ASYNC. */
static inline struct lp_scope *lp__begin(struct lp_thread *thread, lp_name_id name, struct lp_owner *owner,
                                         uint32_t flags)
{
    uint64_t now;
    struct lp_cpu_time cpu;
    struct lp_tree_node *node;
    if (__builtin_expect(atomic_load_explicit(&thread->marks, memory_order_relaxed) != NULL, 0)) {
        lp__read_clocks(thread, &now, &cpu);
        lp__scope_reap(thread, now, cpu);
    }
    if (__builtin_expect((thread->top->flags & LP_SCOPE_SKIPPED) != 0, 0))
        return lp__begin_skipped(thread, NULL, owner);
    node = lp__tree_child(thread, thread->top->node, name);
    lp__read_clocks(thread, &now, &cpu);
    if (__builtin_expect(owner != NULL, 0)) return lp__scope_begin(thread, node, owner, flags, now, cpu);
    return lp__scope_push(thread, node, flags, now, cpu);
}

/* Ends it, on the calling thread's state of the same recording. */
static inline void lp__end(struct lp_thread *thread, struct lp_scope *scope)
{
    uint64_t now;
    struct lp_cpu_time cpu;
    if (__builtin_expect(lp__scope_is_skipped_top(thread, scope), 0)) {
        lp__scope_pop_skipped(thread, scope);
        return;
    }
    lp__read_clocks(thread, &now, &cpu);
    /* else this scope's time would be charged to one below that ended before it */
    if (__builtin_expect(atomic_load_explicit(&thread->marks, memory_order_relaxed) != NULL, 0))
        lp__scope_reap(thread, now, cpu);
    if (lp__scope_is_plain_top(thread, scope))
        lp__scope_pop(thread, scope, now, cpu);
    else
        lp__scope_end(thread, scope, now, cpu);
}

/* Does the handle name an entry of this process that has not ended?  It may be as old as the process. */
bool lp__scope_is_open(const struct lp_scope *scope, uint64_t serial);

/* The same for a handle that may be stale: ended before (counted), inherited over a fork (ignored and counted), of
 * another thread.  Returns false when it was not open. */
bool lp__end_handle(struct lp_recording *recording, struct lp_scope *scope, uint64_t serial);

static inline void lp__count(struct lp_thread *thread, lp_name_id name, int64_t n)
{
    if (__builtin_expect((thread->top->flags & LP_SCOPE_SKIPPED) != 0, 0)) return;
    lp__count_at(thread, thread->top->node, name, n);
}

#endif
