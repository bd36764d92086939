/* Begin and end of the C API where they are more than a push or a pop: the first entry of a thread or a path, a scope
 * that is not on top, a clock that has to be read anew. */
// SPDX-License-Identifier: MIT
#include "collect/entry.h"

lp_token lp__entry_begin_slow(lp_name name)
{
    struct lp_recording *recording = atomic_load_explicit(&lp__installed, memory_order_acquire);
    struct lp_thread *thread = recording && name ? lp__thread_of(recording) : NULL;
    struct lp_scope *scope = thread ? lp__begin(thread, name, NULL, 0) : NULL;
    return scope ? lp__entry_token(scope) : (lp_token){NULL, 0, NULL};
}

lp_token lp__entry_begin_at(struct lp_thread *thread, struct lp_tree_node *node, uint64_t now)
{
    struct lp_scope *scope = lp__scope_push(thread, node, 0, now, lp__cpu_resync(&thread->cpu, now));
    return scope ? lp__entry_token(scope) : (lp_token){NULL, 0, NULL};
}

/* A token of another process's life (fork), or one that is stale, names a thread state that may be gone. */
void lp__entry_end_slow(struct lp_scope *scope, uint64_t serial)
{
    struct lp_thread *thread = lp__tls_thread;
    struct lp_recording *recording = atomic_load(&lp__installed);
    if (scope == NULL) return;
    if (thread && thread->top == scope && scope->serial == serial &&
        atomic_load_explicit(&thread->recording, memory_order_relaxed) == thread->home) {
        lp__end(thread, scope);
        return;
    }
    if (lp__scope_is_open(scope, serial)) recording = scope->thread->home;
    if (recording) (void)lp__end_handle(recording, scope, serial);
}

void lp__entry_end_at(struct lp_thread *thread, struct lp_scope *scope, uint64_t now)
{
    lp__scope_end(thread, scope, now, lp__cpu_resync(&thread->cpu, now));
}
