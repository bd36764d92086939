/* The state of one thread in one recording: everything a begin, an end and a count touch.
 *
 * It lives in memory that the kernel zeroes in the child of a fork (MADV_WIPEONFORK), so the one test that the hot
 * path makes anyway — is this state the recording's? — also tells a child that never ran our handlers.
 * Everything in it is read and written by its own thread, except `marks`.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_THREAD_H
#define LP_COLLECT_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/scope.h"
#include "store/layout.h"

struct lp_tree_node;
struct lp_recording;

struct lp_counter_link;

/* Children of a node by name: open addressing over (parent, name). */
struct lp_child_table {
    struct lp_tree_node **slots;
    uint32_t capacity; /* power of two, 0 before the first */
    uint32_t count;
};

/* Bump allocation of records of one segment type, owned by this thread. */
struct lp_segment_cursor {
    struct lp_segment_header *segment; /* NULL before the first */
    uint64_t next_bytes;               /* size of the next segment to ask for */
};

/* Where the store's bytes begin: references are offsets from here. */
struct lp_recording_map {
    uint8_t *base;
};

struct lp_thread {
    _Atomic(struct lp_recording *) recording; /* NULL: free, wiped by a fork, or sent the slow way once */
    struct lp_recording *home;                /* the recording it belongs to, whatever `recording` says */
    struct lp_recording_map map;
    struct lp_scope *top; /* never NULL while attached: the sentinel `root_scope` at the bottom */
    struct lp_scope *free_scopes;
    struct lp_thread_record *record;
    struct lp_cpu_state cpu;
    _Atomic(struct lp_scope *) marks; /* scopes of this stack that other threads have ended */
    struct lp_scope root_scope;
    struct lp_tree_node *root;      /* path () */
    struct lp_tree_node *base;      /* root, or the node that stands for this thread's name */
    struct lp_tree_node *no_memory; /* stands in for nodes that could not be made; drops; NULL before it is needed */
    struct lp_counter_link *spare;  /* a counter's link whose record could not be made */
    struct lp_child_table children;
    struct lp_segment_cursor nodes, hists, counters;
    uint64_t random;                  /* xorshift state for sample= */
    uint32_t generation;              /* of the process when it was attached */
    struct lp_thread *next_of_thread; /* this OS thread's states in other recordings */
    struct lp_thread *next_free;      /* recording's list of states without a tenant */
    struct lp_thread *next;           /* recording's list of all states */
    void *host;                       /* the host's own per-thread data; NULL at first */
};

/* The calling thread's most recently used state; NULL before the first. */
extern __thread struct lp_thread *lp__tls_thread __attribute__((tls_model("initial-exec")));

/* The calling thread's state in `recording`, made on first use; NULL when that is impossible (no memory, no space,
 * closed): then nothing is recorded.  Hot. */
struct lp_thread *lp__thread_slow(struct lp_recording *recording);
static inline struct lp_thread *lp__thread_of(struct lp_recording *recording)
{
    struct lp_thread *thread = lp__tls_thread;
    if (__builtin_expect(thread != NULL, 1) &&
        __builtin_expect(atomic_load_explicit(&thread->recording, memory_order_relaxed) == recording, 1))
        return thread;
    return lp__thread_slow(recording);
}

/* The same without making one: NULL when this thread has no state yet. */
struct lp_thread *lp__thread_find(struct lp_recording *recording);

static inline void lp__drop(struct lp_thread *thread, enum lp_drop reason)
{
    thread->record->drops[reason]++;
}

#endif
