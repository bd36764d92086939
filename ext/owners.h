/* The host of scopes for CPython: which suspended-able frame owns an entry, and what the interpreter's news about
 * frames means for the scopes of the core (collect/scope.h).
 *
 *      phase.__enter__, begin        events.c (3.12+)  evalhook.c (3.10, 3.11)  greenlets.c
 *               │                            │  yields, resumes, is thrown into, returns  │
 *               ▼                            ▼                                            ▼
 *      lpx_owner_for_*  ──────────►  owners.c  ──────────►  lp__owner_make, suspend, resume, hand_over, finished
 *
 * One `struct lpx_hosts` per module state (interpreter).  Everything here needs the interpreter lock.  Nothing raises:
 * a fault of ours ends in an owner whose suspensions are only inferred.
 */
// SPDX-License-Identifier: MIT
#ifndef LPX_OWNERS_H
#define LPX_OWNERS_H

#include "frames.h"

#include "base/map.h"
#include "collect/phase.h"

/* A code object some of whose frames own scopes. */
struct lpx_armed {
    PyCodeObject *code;   /* owned: so its address stays its identity */
    struct lpx_hosts *hosts;
    uint32_t owners;      /* records of frames of this code */
    uint32_t waste;       /* yields without a record since the last begin in this code */
    uint8_t level;        /* what is reported: 0 nothing, 1 yield and resume, 2 return too */
    bool thrown;          /* a throw entered a frame of this code past suspended owners above it */
};

enum lpx_mechanism {
    LPX_UNTRIED = 0,
    LPX_EXACT = 1,
    LPX_REFUSED = 2 /* no tool id is free, or a call failed: infer */
};

struct lpx_hosts {
    struct lp_recording **recordings; /* open ones */
    uint32_t recording_count, recording_room;
    uint32_t owners;                  /* records that frames of this interpreter have, in all recordings */
    uint32_t inferred;                /* of these, whose suspensions nobody reports */
    void *mark;                       /* a thread state whose `host` is this has been looked at */
    PyObject *contextlib_file;        /* owned: contextlib's co_filename; NULL until it is loaded */
    struct lp_map armed;              /* code object -> struct lpx_armed */
    struct lpx_armed *last;           /* found last */
    enum lpx_mechanism mechanism;
    bool exact_wanted;                /* 3.11: the frame hook although it costs a third on calls */
    /* events.c */
    PyTypeObject *callback_type;      /* owned */
    PyObject *set_local_events;       /* owned, while the tool is in use */
    int tool;
    /* evalhook.c */
    _PyFrameEvalFunction next_eval;   /* what ran frames before us */
    struct lpx_hosts *next_hooked;
    struct lp_map unseen;             /* generator frames that ran when the hook came: their first stop is not seen */
    /* greenlets.c */
    PyObject *greenlet_settrace;      /* owned; NULL: greenlet is not loaded */
    struct lp_map greenlets;          /* greenlet -> struct lpx_pile: stacks of those that do not run */
    uintptr_t next_pile_key;
};

/* Zeroed memory in; -1 with an exception set.  `module` is only for making types. */
int lpx_hosts_init(struct lpx_hosts *hosts, PyObject *module);
void lpx_hosts_release(struct lpx_hosts *hosts);
int lpx_hosts_traverse(struct lpx_hosts *hosts, visitproc visit, void *arg);

/* A recording opens and closes.  The last one that goes undoes every hook.  Without memory its scopes are inferred. */
void lpx_hosts_add(struct lpx_hosts *hosts, struct lp_recording *recording);
void lpx_hosts_remove(struct lpx_hosts *hosts, struct lp_recording *recording);

/* Cheap look for what the program has loaded since (greenlet): call it where a name is seen for the first time. */
void lpx_hosts_look(struct lpx_hosts *hosts);

/* "sys.monitoring", "frame hook" or "inferred from the stack": for doctor and the report. */
const char *lpx_hosts_mechanism(const struct lpx_hosts *hosts);

/* -- for begin and end ------------------------------------------------------------------------------------------- */

struct lp_owner *lpx_owner_slow(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame, bool call,
                                uint32_t *flags);
void lpx_settle_slow(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame);

/* The thread's stack may hold scopes of frames that do not run any more. */
static inline bool lpx_must_settle(const struct lpx_hosts *hosts, const struct lp_thread *thread)
{
    return __builtin_expect((thread->top->flags & LP_SCOPE_LOOSE) != 0, 0) ||
           __builtin_expect(hosts->inferred != 0, 0) || __builtin_expect(thread->host != hosts->mark, 0);
}

/* Hot.  The owner of an entry that begins now by `__enter__` or `__aenter__` (in that very call, not when its result
 * is awaited): NULL for a plain one.  Sets bits of *flags for lp__begin.  Call it before lp__begin, which reads
 * thread->top; begin the scope at once and call lp__owner_discard_if_empty when that fails. */
static inline struct lp_owner *lpx_owner_for_enter(struct lpx_hosts *hosts, struct lp_thread *thread, uint32_t *flags)
{
    struct lpx_frame *frame = lpx_frame_now(lpx_tstate());
    if (__builtin_expect(lpx_frame_is_plain_with(frame), 1) && !lpx_must_settle(hosts, thread)) return NULL;
    return lpx_owner_slow(hosts, thread, frame, false, flags);
}

/* The same for begin() and whatever else may outlive the calling frame. */
static inline struct lp_owner *lpx_owner_for_begin(struct lpx_hosts *hosts, struct lp_thread *thread, uint32_t *flags)
{
    return lpx_owner_slow(hosts, thread, lpx_frame_now(lpx_tstate()), true, flags);
}

/* Hot.  Before an entry that our own C code begins and ends around one call (a decorated plain function, iterate):
 * it has no owner. */
static inline void lpx_settle(struct lpx_hosts *hosts, struct lp_thread *thread)
{
    if (lpx_must_settle(hosts, thread)) lpx_settle_slow(hosts, thread, lpx_frame_now(lpx_tstate()));
}

/* Hot.  Before an end of a scope that is not on top: in inferred mode what lies on it may not run any more. */
static inline void lpx_before_end(struct lpx_hosts *hosts, struct lp_thread *thread, const struct lp_scope *scope)
{
    if (__builtin_expect(scope != thread->top && hosts->inferred != 0, 0))
        lpx_settle_slow(hosts, thread, lpx_frame_now(lpx_tstate()));
}

/* -- for events.c and evalhook.c: what happened to a frame ------------------------------------------------------- */

/* It yields or awaits; `up` is its caller.  `item`: an async generator hands out an item, which delegates nothing.
 * False when the frame had no record. */
bool lpx_frame_stops(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code, struct lpx_frame *up,
                     bool item);
void lpx_frame_goes_on(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code);
void lpx_frame_is_thrown_into(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code,
                              struct lpx_frame *up);
/* It returned; or raised, where that is known. */
void lpx_frame_ends(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code, struct lpx_frame *up);

/* The entry of a code object, made when new; NULL without memory. */
struct lpx_armed *lpx_armed_of(struct lpx_hosts *hosts, PyCodeObject *code);
struct lpx_armed *lpx_armed_find(struct lpx_hosts *hosts, PyCodeObject *code); /* NULL: none */
/* Forgets an entry that has no owners. */
void lpx_armed_drop(struct lpx_hosts *hosts, struct lpx_armed *armed);
void lpx_armed_each(struct lpx_hosts *hosts, void (*visit)(struct lpx_armed *armed, void *arg), void *arg);

#endif
