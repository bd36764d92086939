/* The C API's hot calls on this copy's installed recording, inline: the library's functions are these (api.c), and
 * other copies of the core reach them through the table (table.c). */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_ENTRY_H
#define LP_COLLECT_ENTRY_H

#include "collect/phase.h"
#include "collect/table.h"

static inline lp_token lp__entry_begin(lp_name name)
{
    struct lp_recording *recording = atomic_load_explicit(&lp__installed, memory_order_acquire);
    struct lp_thread *thread;
    struct lp_scope *scope;
    if (recording == NULL || name == 0) return (lp_token){NULL, 0, NULL};
    thread = lp__thread_of(recording);
    scope = thread ? lp__begin(thread, name, NULL, 0) : NULL;
    if (scope == NULL) return (lp_token){NULL, 0, NULL};
    return (lp_token){scope, scope->serial, &lp_table_1};
}

/* A token of another process's life (fork), or one that is stale, names a thread state that may be gone. */
void lp__entry_end_slow(struct lp_scope *scope, uint64_t serial);
static inline void lp__entry_end(struct lp_scope *scope, uint64_t serial)
{
    struct lp_thread *thread = lp__tls_thread;
    if (__builtin_expect(thread != NULL, 1) && __builtin_expect(thread->top == scope, 1) &&
        __builtin_expect(scope->serial == serial, 1) &&
        __builtin_expect(atomic_load_explicit(&thread->recording, memory_order_relaxed) == thread->home, 1))
        lp__end(thread, scope);
    else
        lp__entry_end_slow(scope, serial);
}

static inline void lp__entry_count(lp_name name, int64_t n)
{
    struct lp_recording *recording = atomic_load_explicit(&lp__installed, memory_order_acquire);
    struct lp_thread *thread = recording && name ? lp__thread_of(recording) : NULL;
    if (thread) lp__count(thread, name, n);
}

#endif
