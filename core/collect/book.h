/* Booking: how a finished or begun entry gets onto its node's record.  Inline, because begin and end are nothing else;
 * the one code path for the hot and the slow way out.
 *
 * Order matters to a reader that finds the file after a kill: the thread's sequence is odd while an entry is being
 * booked, and `calls` is the last word of it, so at most this one entry is in doubt, and the reader knows. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_BOOK_H
#define LP_COLLECT_BOOK_H

#include <stdatomic.h>

#include "base/hist.h"
#include "collect/recording.h"
#include "collect/scope.h"
#include "collect/thread.h"
#include "collect/tree.h"

/* Keeps the compiler from moving stores across; the reader is another process, on the same coherent memory. */
static inline void lp__store_order(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static inline struct lp_cpu_time lp__cpu_minus(struct lp_cpu_time a, struct lp_cpu_time b)
{
    return (struct lp_cpu_time){a.ns - b.ns, a.ticks - b.ticks};
}
static inline struct lp_cpu_time lp__cpu_plus(struct lp_cpu_time a, struct lp_cpu_time b)
{
    return (struct lp_cpu_time){a.ns + b.ns, a.ticks + b.ticks};
}

/* Elapsed ticks; a clock that steps back a little between cores gives zero, not 2^64. */
static inline uint64_t lp__elapsed(uint64_t start, uint64_t now)
{
    return (int64_t)(now - start) < 0 ? 0 : now - start;
}

/* The node has space. */
static inline void lp__book_enter(struct lp_thread *thread, struct lp_tree_node *node, uint64_t now)
{
    struct lp_node_record *record = node->record;
    record->start_sum += now;
    lp__store_order();
    record->begun++;
    thread->record->last_ticks = now;
}

/* False: there is no space for the node, so that the entry is not recorded. */
static inline bool lp__book_begin(struct lp_thread *thread, struct lp_tree_node *node, uint64_t now)
{
    if (__builtin_expect(node->dropped, 0) && !lp__tree_revive(thread, node)) return false;
    lp__book_enter(thread, node, now);
    return true;
}

/* `counter`: of the histogram, NULL when it has to be made.  `plain`: none of the flags that change what is booked. */
static inline void lp__book_leave(struct lp_thread *thread, const struct lp_scope *scope, uint32_t *counter, bool plain,
                                  uint64_t wall, uint64_t suspended, struct lp_cpu_time cpu)
{
    struct lp_node_record *record = scope->node->record;
    thread->record->sequence++;
    lp__store_order();
    if (__builtin_expect(counter != NULL, 1))
        ++*counter;
    else
        lp__store_hist_add(thread, &record->hist, wall, 1);
    record->wall += wall;
    if (wall < record->wall_min) record->wall_min = wall;
    if (wall > record->wall_max) record->wall_max = wall;
    if (!plain && __builtin_expect((scope->flags & (LP_SCOPE_UNMEASURED | LP_SCOPE_ASYNC)) != 0, 0)) {
        if (scope->flags & LP_SCOPE_UNMEASURED) record->unmeasured++;
        if (scope->flags & LP_SCOPE_ASYNC) record->async_entries++;
    }
    if (plain || __builtin_expect(!(scope->flags & LP_SCOPE_UNMEASURED), 1)) {
        record->suspended += suspended;
        record->cpu_ns += cpu.ns;
        record->cpu_ticks += cpu.ticks;
    }
    record->start_sum -= scope->start;
    lp__store_order();
    record->calls++;
    lp__store_order();
    thread->record->sequence++;
}

static inline bool lp__book_is_marked(const struct lp_tree_node *node)
{
    return __builtin_expect(node->record->calls == node->next_mark, 0);
}

static inline void lp__book_end(struct lp_thread *thread, struct lp_scope *scope, uint64_t wall, uint64_t suspended,
                                struct lp_cpu_time cpu)
{
    uint32_t *counter = lp__hist_counter(thread->map.base, &scope->node->record->hist, wall);
    lp__book_leave(thread, scope, counter, false, wall, suspended, cpu);
    if (lp__book_is_marked(scope->node)) lp__trend_mark(thread, scope->node);
}

/* Charges a stint to the scope below. */
static inline void lp__charge(struct lp_scope *below, uint64_t stint)
{
    below->node->record->inner += stint;
}

#endif
