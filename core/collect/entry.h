/* The C API's begin, end and count on this copy's installed recording.
 *
 * An entry of a path that is known, on a thread that is, needs no call at all, so the compiler saves no register for
 * one: that is a third of what an entry costs over its readings of the clock.  Everything else ends in a call that
 * starts over, or goes on from the clock that was read. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_ENTRY_H
#define LP_COLLECT_ENTRY_H

#include <string.h>

#include "collect/phase.h"
#include "collect/table.h"

/* What is not inline, see entry.c. */
lp_token lp__entry_begin_slow(lp_name name);
lp_token lp__entry_begin_at(struct lp_thread *thread, struct lp_tree_node *node, uint64_t now);
void lp__entry_end_slow(struct lp_scope *scope, uint64_t serial);
void lp__entry_end_at(struct lp_thread *thread, struct lp_scope *scope, uint64_t now);

/* Compilers copy a token by 16 bytes at once, which waits for the processor's store buffer when it was written by two
 * stores: 4 ns. */
static inline lp_token lp__entry_token(const struct lp_scope *scope)
{
    typedef uintptr_t two_words __attribute__((vector_size(2 * sizeof(uintptr_t))));
    lp_token token;
    if (sizeof(uintptr_t) == sizeof token.serial) {
        two_words words = {(uintptr_t)scope, (uintptr_t)scope->serial};
        memcpy(&token, &words, sizeof words);
    } else {
        token.scope = (void *)(uintptr_t)scope;
        token.serial = scope->serial;
    }
    token.recorder = &lp_table_1;
    return token;
}

/* The node of an entry that can begin without any call; NULL: it cannot. */
static inline struct lp_tree_node *lp__entry_node(const struct lp_thread *thread, const struct lp_recording *recording,
                                                  lp_name name)
{
    struct lp_tree_node *node;
    if (recording == NULL || thread == NULL ||
        atomic_load_explicit(&thread->recording, memory_order_relaxed) != recording ||
        atomic_load_explicit(&thread->marks, memory_order_relaxed) != NULL || thread->free_scopes == NULL ||
        (thread->top->flags & LP_SCOPE_SKIPPED) != 0)
        return NULL;
    node = thread->top->node->last_child;
    return node && node->name == name && !node->dropped && lp__ticks_are_counter() ? node : NULL;
}

static inline lp_token lp__entry_begin(lp_name name)
{
    struct lp_thread *thread = lp__tls_thread;
    struct lp_tree_node *node =
        lp__entry_node(thread, atomic_load_explicit(&lp__installed, memory_order_acquire), name);
    struct lp_scope *scope;
    uint64_t now;
    if (__builtin_expect(node == NULL, 0)) return lp__entry_begin_slow(name);
    now = lp__counter();
    if (__builtin_expect(!lp__cpu_is_fresh(&thread->cpu, now), 0)) return lp__entry_begin_at(thread, node, now);
    scope = thread->free_scopes;
    thread->free_scopes = scope->below;
    lp__scope_fill(scope, thread, node, 0, now, lp__cpu_since(&thread->cpu, now));
    lp__book_enter(thread, node, now);
    thread->top = scope;
    return lp__entry_token(scope);
}

/* On top of the calling thread's stack, and nothing about it out of the ordinary. */
static inline bool lp__entry_can_pop(const struct lp_thread *thread, const struct lp_scope *scope, uint64_t serial)
{
    return thread && thread->top == scope && scope->serial == serial &&
           atomic_load_explicit(&thread->recording, memory_order_relaxed) == thread->home &&
           atomic_load_explicit(&thread->marks, memory_order_relaxed) == NULL && scope->owner == NULL &&
           scope->flags == 0 && lp__scope_state(scope) == LP_SCOPE_RUNNING && lp__ticks_are_counter();
}

static inline void lp__entry_end(struct lp_scope *scope, uint64_t serial)
{
    struct lp_thread *thread = lp__tls_thread;
    struct lp_tree_node *node;
    uint32_t *counter;
    uint64_t now, wall;
    if (__builtin_expect(!lp__entry_can_pop(thread, scope, serial), 0)) {
        lp__entry_end_slow(scope, serial);
        return;
    }
    now = lp__counter();
    node = scope->node;
    wall = lp__elapsed(scope->start, now);
    counter = lp__hist_counter(thread->map.base, &node->record->hist, wall);
    if (__builtin_expect(counter == NULL || !lp__cpu_is_fresh(&thread->cpu, now), 0)) {
        lp__entry_end_at(thread, scope, now);
        return;
    }
    thread->top = scope->below;
    lp__charge(scope->below, wall - scope->charged);
    lp__book_leave(thread, scope, counter, true, wall, 0,
                   lp__cpu_minus(lp__cpu_since(&thread->cpu, now), scope->start_cpu));
    thread->record->last_ticks = now;
    lp__scope_give(thread, scope);
    if (lp__book_is_marked(node)) lp__trend_mark(thread, node);
}

static inline void lp__entry_count(lp_name name, int64_t n)
{
    struct lp_recording *recording = atomic_load_explicit(&lp__installed, memory_order_acquire);
    struct lp_thread *thread = recording && name ? lp__thread_of(recording) : NULL;
    if (thread) lp__count(thread, name, n);
}

#endif
