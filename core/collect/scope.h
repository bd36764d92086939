/* Who is whose parent: the stack of open scopes of a thread, and what suspension does to it.
 *
 * The parent of an entry is the innermost open scope that is physically running on this thread at that moment.
 * Plain scopes live on their thread's stack.  A scope that was begun in a frame which can be suspended (a generator,
 * a coroutine, a greenlet) belongs to an *owner*; when the host says that the owner suspends, its scopes leave the
 * stack together, and when it resumes they come back on top of whatever runs then.
 *
 *      running stack of a thread                 an owner that is suspended
 *      top ─► c (owner G) ─► b (owner G) ─► a ─► root          chain ─► e ─► d ─► NULL
 *
 * Arithmetic.  wall = end - start.  suspended = what the owner's total of suspended time grew by meanwhile, so
 * suspending and resuming cost O(1) per owner in sums; only links are walked.  active = wall - suspended.  Each stint
 * of active time is charged to the scope physically below (its node's `inner`): `charged` is what has been, so a
 * scope that resumes under another one charges each for its own stint.
 *
 * Pure: no clock is read here and no host is known; times come in as arguments, so a model test can drive it.
 * Threads: a scope and a stack are touched by the thread that runs them.  The owner table of a recording is touched
 * by one thread at a time, which the host ensures (CPython: the interpreter lock).
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_SCOPE_H
#define LP_COLLECT_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "os/clock.h"

struct lp_thread;
struct lp_tree_node;
struct lp_recording;
struct lp_owner;

enum lp_scope_state {
    LP_SCOPE_IDLE = 0,      /* on a free list, or ended */
    LP_SCOPE_RUNNING = 1,   /* on a thread's stack */
    LP_SCOPE_SUSPENDED = 2, /* in its owner's chain */
    LP_SCOPE_ENDING = 3     /* ended by another thread; its own thread will take it off its stack */
};

enum lp_scope_flags {
    LP_SCOPE_LOOSE = 1u << 0,      /* begun by a call, not by a `with` statement: may outlive its frame */
    LP_SCOPE_SKIPPED = 1u << 1,    /* left out by sample=, or below one that is: nothing is recorded */
    LP_SCOPE_UNMEASURED = 1u << 2, /* its CPU and suspended time are not known */
    LP_SCOPE_ASYNC = 1u << 3,      /* submission time */
    LP_SCOPE_ROOT = 1u << 4,       /* the thread's sentinel at the bottom of the stack */
    LP_SCOPE_DROPPED = 1u << 5     /* its node had no space: not recorded, its time stays in the parent's self */
};

struct lp_scope {
    struct lp_tree_node *node;
    struct lp_scope *below;
    struct lp_owner *owner;   /* NULL: plain */
    struct lp_thread *thread; /* whose stack it is on, or was on before it was suspended */
    uint64_t start;           /* ticks */
    struct lp_cpu_time start_cpu;
    uint64_t start_suspended; /* owner's totals at the start */
    struct lp_cpu_time start_gap;
    uint64_t charged; /* own active ticks already charged to the scope below */
    uint64_t serial;  /* of this entry: counts up each time the scope is used, so a handle {scope, serial} tells a stale
                         one */
    uint32_t generation;        /* of the process: differs in the child of a fork */
    uint16_t flags;             /* enum lp_scope_flags */
    uint8_t state;              /* enum lp_scope_state; written by other threads only RUNNING -> ENDING */
    void *opener;               /* the host's: frame that opened it (kept objects) */
    uint8_t marked;             /* it is in a list of marks, perhaps one of an entry long over */
    struct lp_scope *next_mark; /* list of scopes ended by other threads */
    uint64_t mark_time;
};

/* A frame that can be suspended and has open scopes.  Made with the first, freed with the last. */
struct lp_owner {
    uintptr_t key; /* the frame's address; unique while the frame lives */
    void *kind;    /* the host's: the frame's code object; tells a reused address */
    struct lp_recording *recording;
    struct lp_thread *thread; /* that runs it or last did */
    uint32_t scopes;          /* open scopes that belong to it; never 0 */
    bool suspended;
    bool measured;         /* false once a suspension was only inferred */
    bool detached;         /* its frame vanished or is a parent's: the key may be another one's */
    uint64_t suspended_at; /* ticks */
    struct lp_cpu_time suspended_cpu;
    uint64_t suspended_total;     /* ticks, finished suspensions */
    struct lp_cpu_time gap_total; /* thread CPU that passed while suspended, finished suspensions */
    struct lp_scope *chain;       /* while suspended: topmost scope first, linked by `below` */
    uintptr_t by_throw;           /* the host's: inner frame that a throw entered directly; 0 none */
    struct lp_owner *outer;       /* the host's: owner it delegated from at its last suspension, verified */
    uint64_t outer_serial;
    uint64_t serial;                  /* of this owner, never reused */
    void *host;                       /* the host's; NULL at first */
    bool inferred;                    /* the host's: nobody reports when this frame stops and goes on */
    struct lp_owner *previous, *next; /* all of the recording */
};

/* -- scopes on a stack ------------------------------------------------------------------------------------------- */

/* Puts a new entry of `node` on top of the thread's stack.  `owner` may be NULL.  NULL when no scope can be had (out of
 * memory): the entry is then not recorded, and counted. */
struct lp_scope *lp__scope_begin(struct lp_thread *thread, struct lp_tree_node *node, struct lp_owner *owner,
                                 uint32_t flags, uint64_t now, struct lp_cpu_time cpu);

/* Ends a scope wherever it is, called on `thread` (the calling thread).  On top of this thread's stack: popped.  Below
 * others: unlinked alone and counted.  Suspended: ended with the suspended time up to now.  On another thread's stack:
 * marked, and taken off by that thread at its next record.  Books the entry on the scope's node. */
void lp__scope_end(struct lp_thread *thread, struct lp_scope *scope, uint64_t now, struct lp_cpu_time cpu);

/* Takes off the stack what other threads have ended.  Called when thread->marks is not NULL. */
void lp__scope_reap(struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu);

/* -- owners ------------------------------------------------------------------------------------------------------ */

struct lp_owner *lp__owner_find(struct lp_recording *recording, uintptr_t key); /* NULL: none */
/* Finds or makes.  A record of the same key but another kind is stale (its frame died): it is detached first.  NULL
 * without memory.  The caller begins a scope with it at once (an owner without scopes must not stay). */
struct lp_owner *lp__owner_make(struct lp_recording *recording, struct lp_thread *thread, uintptr_t key, void *kind,
                                uint64_t now, struct lp_cpu_time cpu);
/* The same where it is known that there is no record of that key. */
struct lp_owner *lp__owner_add(struct lp_recording *recording, struct lp_thread *thread, uintptr_t key, void *kind);
/* Frees an owner that lp__owner_make just made and lp__scope_begin then refused. */
void lp__owner_discard_if_empty(struct lp_owner *owner);

/* Twice is once; suspend and resume with no time between is nothing. */
void lp__owner_suspend(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu);
void lp__owner_resume(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu);

/* Moves all scopes of `from` to `to` (made with the same recording), times translated; `from` is freed. */
void lp__owner_hand_over(struct lp_owner *from, struct lp_owner *to, uint64_t now, struct lp_cpu_time cpu);

/* The frame finished and nobody takes its loose scopes: they end here and are counted as left open. */
void lp__owner_finished(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu);

/* The frame vanished (its address was reused): its scopes lose their owner and their place, and still can be ended. */
void lp__owner_detach(struct lp_owner *owner, struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu);

/* Called with each owner just before it is freed, so that a host can count its own; NULL: nobody.  May not make or
 * free owners.  Set while no recording is open. */
extern void (*lp__owner_freed)(struct lp_owner *owner);

/* Calls `visit` for every owner of the recording; `visit` may not make or free owners. */
void lp__owner_each(struct lp_recording *recording, void (*visit)(struct lp_owner *owner, void *arg), void *arg);

#endif
