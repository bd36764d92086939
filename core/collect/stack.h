/* Push and pop of plain scopes, inline: nearly all entries of nearly all programs are nothing else.  Everything that
 * can be set once, when a scope is made or given back, is not set here. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_STACK_H
#define LP_COLLECT_STACK_H

#include "collect/book.h"
#include "collect/scope.h"
#include "collect/thread.h"

struct lp_scope *lp__scope_more(struct lp_thread *thread); /* a new block of free ones, and one of them; NULL without */

/* Another thread may look at the state while it is written, to end the scope; relaxed, since it claims a running one by
 * compare and exchange and all else it touches comes after that. */
static inline void lp__scope_set_state(struct lp_scope *scope, enum lp_scope_state state)
{
    __atomic_store_n(&scope->state, (uint8_t)state, __ATOMIC_RELAXED);
}
static inline enum lp_scope_state lp__scope_state(const struct lp_scope *scope)
{
    return (enum lp_scope_state)__atomic_load_n(&scope->state, __ATOMIC_RELAXED);
}

static inline struct lp_scope *lp__scope_take(struct lp_thread *thread)
{
    struct lp_scope *scope = thread->free_scopes;
    if (__builtin_expect(scope == NULL, 0)) return lp__scope_more(thread);
    thread->free_scopes = scope->below;
    return scope;
}

static inline void lp__scope_give(struct lp_thread *thread, struct lp_scope *scope)
{
    lp__scope_set_state(scope, LP_SCOPE_IDLE);
    scope->owner = NULL;
    scope->below = thread->free_scopes;
    thread->free_scopes = scope;
}

/* All of a scope that an entry sets; not on the stack yet. */
static inline void lp__scope_fill(struct lp_scope *scope, struct lp_thread *thread, struct lp_tree_node *node,
                                  uint32_t flags, uint64_t now, struct lp_cpu_time cpu)
{
    scope->node = node;
    scope->below = thread->top;
    scope->thread = thread;
    scope->start = now;
    scope->start_cpu = cpu;
    scope->charged = 0;
    scope->serial++;
    scope->flags = (uint16_t)flags;
    lp__scope_set_state(scope, LP_SCOPE_RUNNING);
}

static inline struct lp_scope *lp__scope_push(struct lp_thread *thread, struct lp_tree_node *node, uint32_t flags,
                                              uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_scope *scope = lp__scope_take(thread);
    if (__builtin_expect(scope == NULL, 0)) {
        lp__drop(thread, LP_DROP_NO_SPACE);
        return NULL;
    }
    lp__scope_fill(scope, thread, node, flags, now, cpu);
    if (__builtin_expect(!lp__book_begin(thread, node, now), 0)) scope->flags |= LP_SCOPE_DROPPED;
    thread->top = scope;
    return scope;
}

static inline bool lp__scope_is_plain_top(const struct lp_thread *thread, const struct lp_scope *scope)
{
    return __builtin_expect(scope == thread->top && scope->owner == NULL &&
                                lp__scope_state(scope) == LP_SCOPE_RUNNING &&
                                !(scope->flags & (LP_SCOPE_SKIPPED | LP_SCOPE_DROPPED)),
                            1);
}

static inline void lp__scope_pop(struct lp_thread *thread, struct lp_scope *scope, uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_scope *below = scope->below;
    uint64_t wall = lp__elapsed(scope->start, now);
    thread->top = below;
    lp__charge(below, wall - scope->charged);
    lp__book_end(thread, scope, wall, 0, lp__cpu_minus(cpu, scope->start_cpu));
    thread->record->last_ticks = now;
    lp__scope_give(thread, scope);
}

/* An entry left out by sample=, or one below such: see lp__begin_skipped. */
static inline struct lp_scope *lp__scope_push_skipped(struct lp_thread *thread, struct lp_tree_node *node,
                                                      struct lp_owner *owner)
{
    struct lp_scope *scope = lp__scope_take(thread);
    if (__builtin_expect(scope == NULL, 0)) return NULL;
    if (node && !node->dropped) node->record->skipped++;
    scope->node = thread->top->node; /* charges of scopes that resume on top of it go to the parent */
    scope->below = thread->top;
    scope->owner = owner;
    scope->thread = thread;
    scope->start = scope->charged = 0;
    scope->serial++;
    scope->flags = LP_SCOPE_SKIPPED;
    lp__scope_set_state(scope, LP_SCOPE_RUNNING);
    if (owner) owner->scopes++;
    thread->top = scope;
    return scope;
}

/* A plain entry left out by sample=, on top: it goes as it came, without a look at a clock. */
static inline bool lp__scope_is_skipped_top(const struct lp_thread *thread, const struct lp_scope *scope)
{
    return (scope->flags & LP_SCOPE_SKIPPED) && scope == thread->top && scope->owner == NULL &&
           lp__scope_state(scope) == LP_SCOPE_RUNNING;
}

static inline void lp__scope_pop_skipped(struct lp_thread *thread, struct lp_scope *scope)
{
    thread->top = scope->below;
    lp__scope_give(thread, scope);
}

#endif
