/* Stacks of open scopes.  Pure arithmetic and links: no clock, no host, no allocation but of scopes in blocks.
 *
 * Invariants (tests/unit/collect/test_scope_model.c): every open scope is in exactly one list, one thread's stack or
 * one suspended owner's chain; active = wall - suspended; the stints charged to scopes below add up to what ended. */
// SPDX-License-Identifier: MIT
#include "collect/scope.h"

#include <stddef.h>

#include "collect/book.h"
#include "collect/internal.h"
#include "collect/phase.h"
#include "collect/recording.h"
#include "collect/stack.h"
#include "collect/thread.h"
#include "collect/tree.h"

/* -- free list --------------------------------------------------------------------------------------------------- */

struct lp_scope *lp__scope_more(struct lp_thread *thread)
{
    struct lp_scope_block *block = lp__process_take_scopes(thread->home);
    int i;
    if (block == NULL) return NULL;
    for (i = 0; i < LP_SCOPES_PER_BLOCK; i++) {
        block->scopes[i].generation = thread->generation;
        block->scopes[i].below = thread->free_scopes;
        thread->free_scopes = &block->scopes[i];
    }
    thread->free_scopes = block->scopes[LP_SCOPES_PER_BLOCK - 1].below;
    return &block->scopes[LP_SCOPES_PER_BLOCK - 1];
}

/* -- times ------------------------------------------------------------------------------------------------------- */

/* Suspended time of the scope's owner that passed since the scope began. */
static uint64_t suspended_since_start(const struct lp_scope *scope, uint64_t now)
{
    const struct lp_owner *owner = scope->owner;
    uint64_t total;
    if (owner == NULL) return 0;
    total = owner->suspended_total;
    if (owner->suspended) total += lp__elapsed(owner->suspended_at, now);
    return total - scope->start_suspended;
}

static uint64_t active_so_far(const struct lp_scope *scope, uint64_t now)
{
    uint64_t wall = lp__elapsed(scope->start, now), suspended = suspended_since_start(scope, now);
    return wall > suspended ? wall - suspended : 0;
}

/* Charges what `scope` has run since it was last charged to the scope `below` it. */
static void settle(struct lp_scope *scope, struct lp_scope *below, uint64_t now)
{
    uint64_t active = active_so_far(scope, now);
    if (scope->flags & (LP_SCOPE_SKIPPED | LP_SCOPE_DROPPED)) return;
    lp__charge(below, active - scope->charged);
    scope->charged = active;
}

/* -- begin ------------------------------------------------------------------------------------------------------- */

struct lp_scope *lp__scope_begin(struct lp_thread *thread, struct lp_tree_node *node, struct lp_owner *owner,
                                 uint32_t flags, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_scope *scope = lp__scope_push(thread, node, flags, now, cpu);
    if (scope == NULL || owner == NULL) return scope;
    scope->owner = owner;
    scope->start_suspended = owner->suspended_total;
    scope->start_gap = owner->gap_total;
    owner->scopes++;
    if (!owner->measured) scope->flags |= LP_SCOPE_UNMEASURED;
    return scope;
}

struct lp_scope *lp__begin_skipped(struct lp_thread *thread, struct lp_tree_node *node, struct lp_owner *owner)
{
    return lp__scope_push_skipped(thread, node, owner);
}

/* -- end --------------------------------------------------------------------------------------------------------- */

/* Thread CPU used while active: a scope of a suspended owner stopped at the suspension. */
static struct lp_cpu_time cpu_used(const struct lp_scope *scope, struct lp_cpu_time cpu)
{
    const struct lp_owner *owner = scope->owner;
    struct lp_cpu_time gap;
    if (owner == NULL) return lp__cpu_minus(cpu, scope->start_cpu);
    if (owner->suspended) cpu = owner->suspended_cpu;
    gap = lp__cpu_minus(owner->gap_total, scope->start_gap);
    return lp__cpu_minus(lp__cpu_minus(cpu, scope->start_cpu), gap);
}

static void owner_lost_scope(struct lp_owner *owner)
{
    if (owner && --owner->scopes == 0) lp__owner_free(owner);
}

/* Books an entry that has just left its list; `below` is what it lay on, NULL when nothing (suspended). */
static void finish(struct lp_thread *thread, struct lp_scope *scope, struct lp_scope *below, uint64_t now,
                   struct lp_cpu_time cpu)
{
    struct lp_owner *owner = scope->owner;
    if (scope->flags & LP_SCOPE_DROPPED || scope->node->dropped) {
        lp__drop(thread, LP_DROP_NO_SPACE);
    } else if (!(scope->flags & LP_SCOPE_SKIPPED)) {
        if (owner && !owner->measured) scope->flags |= LP_SCOPE_UNMEASURED;
        if (below) settle(scope, below, now);
        lp__book_end(thread, scope, lp__elapsed(scope->start, now), suspended_since_start(scope, now),
                     cpu_used(scope, cpu));
    }
    thread->record->last_ticks = now;
    lp__scope_give(thread, scope);
    owner_lost_scope(owner);
}

/* Takes a scope out of the middle of this thread's stack; what lies on it is settled onto it first. */
static void unlink_running(struct lp_thread *thread, struct lp_scope *scope, uint64_t now)
{
    struct lp_scope *above = NULL, *at = thread->top;
    while (at != scope && at != &thread->root_scope) {
        above = at;
        at = at->below;
    }
    if (at != scope) return; /* not there: its lists were detached before */
    if (above == NULL) {
        thread->top = scope->below;
        return;
    }
    settle(above, scope, now);
    above->below = scope->below;
}

static void end_below_others(struct lp_thread *thread, struct lp_scope *scope, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_scope *below = scope->below;
    unlink_running(thread, scope, now);
    lp__drop(thread, LP_DROP_END_OUT_OF_ORDER);
    finish(thread, scope, below, now, cpu);
}

/* Scopes of a chain that another thread ran are billed to the same paths in this thread's tree. */
static void adopt_chain(struct lp_owner *owner, struct lp_thread *thread)
{
    struct lp_scope *scope;
    if (owner->thread == thread) return;
    for (scope = owner->chain; scope; scope = scope->below) {
        scope->node = lp__tree_translate(thread, scope->node);
        scope->thread = thread;
    }
    owner->thread = thread;
}

static void end_suspended(struct lp_thread *thread, struct lp_scope *scope, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_owner *owner = scope->owner;
    struct lp_scope **link = &owner->chain, *above = NULL, *below;
    adopt_chain(owner, thread);
    while (*link && *link != scope) {
        above = *link;
        link = &above->below;
    }
    if (*link) *link = scope->below;
    below = scope->below;
    if (above) settle(above, scope, now);
    finish(thread, scope, below, now, cpu);
}

/* Ends a scope that runs on another thread: only that thread may touch its stack, so it gets a mark. */
static void mark_foreign(struct lp_thread *thread, struct lp_scope *scope, uint64_t now)
{
    struct lp_thread *other = scope->thread;
    uint8_t running = LP_SCOPE_RUNNING;
    lp__drop(thread, LP_DROP_END_FOREIGN);
    scope->mark_time = now;
    if (!__atomic_compare_exchange_n(&scope->state, &running, LP_SCOPE_ENDING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    /* Its own thread may have ended it just before we claimed it, and used it again: never twice in one list. */
    if (__atomic_exchange_n(&scope->marked, 1, __ATOMIC_ACQ_REL)) return;
    scope->next_mark = atomic_load_explicit(&other->marks, memory_order_relaxed);
    /* Release: the owner sees mark_time and next_mark once it sees the mark (acquire in lp__scope_reap). */
    while (!atomic_compare_exchange_weak_explicit(&other->marks, &scope->next_mark, scope, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

void lp__scope_end(struct lp_thread *thread, struct lp_scope *scope, uint64_t now, struct lp_cpu_time cpu)
{
    if (lp__scope_is_plain_top(thread, scope)) {
        lp__scope_pop(thread, scope, now, cpu);
        return;
    }
    if (lp__scope_state(scope) == LP_SCOPE_SUSPENDED) {
        end_suspended(thread, scope, now, cpu);
    } else if (scope->thread != thread) {
        mark_foreign(thread, scope, now);
    } else if (lp__scope_state(scope) != LP_SCOPE_RUNNING) {
        lp__drop(thread, LP_DROP_END_WITHOUT_BEGIN);
    } else if (scope == thread->top) {
        thread->top = scope->below;
        finish(thread, scope, scope->below, now, cpu);
    } else {
        end_below_others(thread, scope, now, cpu);
    }
}

/* Oldest first: what lies on a scope that ended is charged to the one below it from then on. */
static struct lp_scope *in_order(struct lp_scope *marks)
{
    struct lp_scope *oldest = NULL;
    while (marks) {
        struct lp_scope *next = marks->next_mark;
        marks->next_mark = oldest;
        oldest = marks;
        marks = next;
    }
    return oldest;
}

void lp__scope_reap(struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_scope *mark = in_order(atomic_exchange_explicit(&thread->marks, NULL, memory_order_acquire));
    (void)now;
    while (mark) {
        struct lp_scope *next = mark->next_mark;
        __atomic_store_n(&mark->marked, 0, __ATOMIC_SEQ_CST); /* before the look at the state */
        if (lp__scope_state(mark) == LP_SCOPE_ENDING && mark->thread == thread) {
            struct lp_scope *below = mark->below;
            mark->flags |= LP_SCOPE_UNMEASURED;
            unlink_running(thread, mark, mark->mark_time);
            finish(thread, mark, below, mark->mark_time, cpu);
        }
        mark = next;
    }
}

/* -- owners ------------------------------------------------------------------------------------------------------ */

/* Collects the owner's scopes from the stack into its chain, in their order. */
static void gather(struct lp_owner *owner, struct lp_thread *thread, uint64_t now)
{
    struct lp_scope **link = &thread->top, **tail = &owner->chain, *above = NULL;
    uint32_t left = owner->scopes;
    while (left && *link != &thread->root_scope) {
        struct lp_scope *scope = *link;
        if (scope->owner != owner || lp__scope_state(scope) != LP_SCOPE_RUNNING) {
            above = scope;
            link = &scope->below;
            continue;
        }
        if (above) settle(above, scope, now);
        if (scope->below->owner != owner) settle(scope, scope->below, now);
        *link = scope->below;
        lp__scope_set_state(scope, LP_SCOPE_SUSPENDED);
        *tail = scope;
        tail = &scope->below;
        left--;
    }
    *tail = NULL;
}

/* Takes off this thread's stack what others have ended.  False when that was all the owner had, and it is gone. */
static bool survives_reaping(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    if (atomic_load_explicit(&thread->marks, memory_order_relaxed) == NULL) return true;
    owner->scopes++; /* keeps it while we look */
    lp__scope_reap(thread, now, cpu);
    if (--owner->scopes) return true;
    lp__owner_free(owner);
    return false;
}

void lp__owner_suspend(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    if (owner->suspended || !survives_reaping(owner, thread, now, cpu)) return;
    gather(owner, thread, now);
    owner->thread = thread;
    owner->suspended = true;
    owner->suspended_at = now;
    owner->suspended_cpu = cpu;
    thread->record->last_ticks = now;
}

void lp__owner_resume(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_scope *scope, *bottom = NULL;
    if (!owner->suspended) return;
    /* before anything lies on top of a scope that ended earlier */
    if (atomic_load_explicit(&thread->marks, memory_order_relaxed)) lp__scope_reap(thread, now, cpu);
    adopt_chain(owner, thread);
    scope = owner->chain;
    owner->suspended_total += lp__elapsed(owner->suspended_at, now);
    owner->gap_total = lp__cpu_plus(owner->gap_total, lp__cpu_minus(cpu, owner->suspended_cpu));
    owner->suspended = false;
    for (; scope; scope = scope->below) {
        lp__scope_set_state(scope, LP_SCOPE_RUNNING);
        bottom = scope;
    }
    if (bottom) {
        bottom->below = thread->top;
        thread->top = owner->chain;
    }
    owner->chain = NULL;
    thread->record->last_ticks = now;
}

/* Start values in the new owner's account: what had passed before stays passed. */
static void rebase(struct lp_scope *scope, const struct lp_owner *from, struct lp_owner *to)
{
    scope->owner = to;
    scope->start_suspended = to->suspended_total - (from->suspended_total - scope->start_suspended);
    scope->start_gap = lp__cpu_minus(to->gap_total, lp__cpu_minus(from->gap_total, scope->start_gap));
    to->scopes++;
    if (!from->measured) scope->flags |= LP_SCOPE_UNMEASURED;
}

void lp__owner_hand_over(struct lp_owner *from, struct lp_owner *to, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_thread *thread = from->thread;
    struct lp_scope *scope;
    bool was_suspended = from->suspended;
    if (from == to) return;
    to->scopes++; /* a reaping must not free it */
    if (was_suspended) lp__owner_resume(from, thread, now, cpu);
    to->scopes--;
    for (scope = thread->top; scope != &thread->root_scope; scope = scope->below)
        if (scope->owner == from) rebase(scope, from, to);
    from->scopes = 0;
    lp__owner_free(from);
}

/* Visits the scopes of an owner that runs, topmost first; ends each. */
static void end_all(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    uint32_t left;
    if (owner->suspended) lp__owner_resume(owner, thread, now, cpu);
    if (!survives_reaping(owner, thread, now, cpu)) return;
    left = owner->scopes;
    while (left--) {
        struct lp_scope *scope = thread->top, *below;
        while (scope != &thread->root_scope && (scope->owner != owner || lp__scope_state(scope) != LP_SCOPE_RUNNING))
            scope = scope->below;
        if (scope == &thread->root_scope) return;
        below = scope->below;
        lp__drop(thread, LP_DROP_LEFT_OPEN);
        unlink_running(thread, scope, now);
        finish(thread, scope, below, now, cpu);
    }
}

void lp__owner_finished(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    end_all(owner, thread, now, cpu);
}

/* A detached scope keeps its times: the owner stays as a nameless, suspended account until its last scope ends. */
void lp__owner_detach(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    lp__drop(thread, LP_DROP_STALE_OWNER);
    lp__owner_forget_key(owner);
    if (!owner->suspended && owner->thread == thread) lp__owner_suspend(owner, thread, now, cpu);
}

uint32_t lp__stack_end_all(struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu)
{
    uint32_t ended = 0;
    if (atomic_load_explicit(&thread->marks, memory_order_relaxed)) lp__scope_reap(thread, now, cpu);
    while (thread->top != &thread->root_scope) {
        struct lp_scope *scope = thread->top;
        thread->top = scope->below;
        lp__drop(thread, LP_DROP_LEFT_OPEN);
        finish(thread, scope, scope->below, now, cpu);
        ended++;
    }
    return ended;
}
