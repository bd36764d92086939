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
#include "tool.h"

#include "base/map.h"
#include "collect/phase.h"

/* A code object some of whose frames own scopes. */
struct lpx_armed {
    PyCodeObject *code; /* owned: so its address stays its identity */
    struct lpx_hosts *hosts;
    uint32_t owners; /* records of frames of this code */
    uint32_t waste;  /* yields without a record since the last begin in this code */
    uint8_t level;   /* what is reported: 0 nothing, 1 yield and resume, 2 return too */
    bool thrown;     /* a throw entered a frame of this code past suspended owners above it */
    struct lpx_armed *previous, *next;
};

#define LPX_FRAME_SLOTS 512

/* Records of frames whose addresses fall together. */
struct lpx_frame_slot {
    uint32_t records;
    struct lp_owner *latest; /* of these; NULL once that is gone */
};

enum lpx_mechanism {
    LPX_UNTRIED = 0,
    LPX_EXACT = 1,
    LPX_REFUSED = 2 /* no tool id is free, or a call failed: infer */
};

struct lpx_hosts {
    struct lp_recording **recordings; /* open ones */
    uint32_t recording_count, recording_room;
    uint32_t owners;           /* records that frames of this interpreter have, in all recordings */
    uint32_t inferred;         /* of these, whose suspensions nobody reports */
    uint32_t thrown;           /* armed code with `thrown` set */
    void *mark;                /* a thread state whose `host` is this has been looked at: this, plus 1 with greenlets */
    PyObject *modules;         /* owned: sys.modules; NULL once this was released */
    const Py_ssize_t *loaded;  /* its size; when that changes, contextlib or greenlet may be in it */
    Py_ssize_t loaded_seen;    /* at the last look */
    PyObject *contextlib_file; /* owned: contextlib's co_filename; NULL until it is loaded */
    struct lp_map armed;       /* code object -> struct lpx_armed */
    struct lpx_armed *armed_list, *last; /* all of them; the one found last */
    size_t armed_limit;                  /* so many, and those without owners are let go; 0 before the first */
    enum lpx_mechanism mechanism;
    struct lp_recording *told;                    /* not a reference: its report will say that stops are inferred */
    bool exact_wanted;                            /* 3.11: the frame hook although it costs a third on calls */
    struct lpx_frame_slot slots[LPX_FRAME_SLOTS]; /* of all these records */
    /* events.c */
    struct lpx_tool tool;
    /* evalhook.c */
#if LPX_HAVE_EVAL_HOOK
    _PyFrameEvalFunction next_eval; /* what runs frames for us */
    PyInterpreterState *hooked_in;
    struct lpx_hosts *next_hooked;
#endif
    struct lp_map unseen; /* generator frames that ran when the hook came: their first stop is not seen */
    /* greenlets.c */
    PyTypeObject *listener_type; /* owned */
    PyObject *greenlet_settrace; /* owned; NULL: greenlet is not loaded */
    struct listener *listeners;  /* alive ones */
    struct lp_map greenlets;     /* greenlet -> struct pile: stacks of those that do not run */
    struct pile *piles;          /* all of them */
    uintptr_t next_pile_key;
};

/* Zeroed memory in; -1 with an exception set.  `module` is only for making types. */
int lpx_hosts_init(struct lpx_hosts *hosts, PyObject *module);
void lpx_hosts_release(struct lpx_hosts *hosts);
int lpx_hosts_traverse(struct lpx_hosts *hosts, visitproc visit, void *arg);

/* A recording opens and closes.  The last one that goes undoes every hook.  Without memory its scopes are inferred. */
void lpx_hosts_add(struct lpx_hosts *hosts, struct lp_recording *recording);
void lpx_hosts_remove(struct lpx_hosts *hosts, struct lp_recording *recording);

/* "sys.monitoring", "frame hook" or "inferred from the stack": for doctor and the report. */
const char *lpx_hosts_mechanism(const struct lpx_hosts *hosts);

/* -- for begin and end ------------------------------------------------------------------------------------------- */

/* The owner of an entry that begins now in `frame`, the innermost one of this thread; NULL for a plain entry.  `frame`
 * NULL: the entry ends before the call that begins it returns (a decorated plain function, iterate), so it has none.
 * Sets bits of *flags for lp__begin.  Call it before lp__begin, which reads thread->top; begin the scope at once and
 * call lp__owner_discard_if_empty when that fails.  For `async with`, begin in __aenter__ itself. */
struct lp_owner *lpx_owner_of_entry(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame,
                                    uint32_t *flags);

/* Makes good what nobody reported: ends scopes of frames that vanished, infers where nobody reports. */
void lpx_settle(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame);

/* Nothing on this thread's stack needs making good, and the thread and the modules loaded are known. */
static inline bool lpx_is_settled(const struct lpx_hosts *hosts, const struct lp_thread *thread)
{
    return thread->host == hosts->mark && hosts->inferred == 0 && (thread->top->flags & LP_SCOPE_LOOSE) == 0 &&
           *hosts->loaded == hosts->loaded_seen;
}

/* Hot.  lpx_owner_of_entry would answer NULL and do nothing. */
static inline bool lpx_entry_is_plain(const struct lpx_hosts *hosts, const struct lp_thread *thread,
                                      struct lpx_frame *frame)
{
    return (frame == NULL || lpx_frame_is_plain_with(frame)) && lpx_is_settled(hosts, thread);
}

/* Before an end of a scope that is not on top: where stops are inferred, what lies on it may not run any more. */
void lpx_before_end(struct lp_thread *thread);

static inline unsigned lpx_frame_hash(uintptr_t address)
{
    return (unsigned)((uint64_t)address * UINT64_C(0x9E3779B97F4A7C15) >> 55);
}

/* Hot.  False: this frame has no record in any recording, and none that died unheard at its address.  Nearly all frames
 * of a program are told apart by this one load. */
static inline bool lpx_frame_may_own(const struct lpx_hosts *hosts, const struct lpx_frame *frame)
{
    return __builtin_expect(hosts->slots[lpx_frame_hash((uintptr_t)frame)].records != 0, 0);
}

/* Hot.  The record of a frame of this address; NULL: none. */
static inline struct lp_owner *lpx_record_find(const struct lpx_hosts *hosts, struct lp_recording *recording,
                                               const struct lpx_frame *frame)
{
    const struct lpx_frame_slot *slot = &hosts->slots[lpx_frame_hash((uintptr_t)frame)];
    struct lp_owner *owner = slot->latest;
    if (slot->records == 0) return NULL;
    if (owner && owner->key == (uintptr_t)frame && owner->recording == recording && !owner->detached) return owner;
    return lp__owner_find(recording, (uintptr_t)frame);
}

/* -- code objects with owners: for events.c and stints.c ---------------------------------------------------------- */

/* The entry of a code object, made when new; NULL without memory. */
struct lpx_armed *lpx_armed_of(struct lpx_hosts *hosts, PyCodeObject *code);
struct lpx_armed *lpx_armed_find(struct lpx_hosts *hosts, PyCodeObject *code); /* NULL: none */
/* Forgets an entry that has no owners. */
void lpx_armed_drop(struct lpx_hosts *hosts, struct lpx_armed *armed);

/* The owner that takes the loose scopes of a frame that ends, called from `up`: the frame that awaits it, or the one
 * that contextlib works for.  NULL: nobody. */
struct lp_owner *lpx_owner_for_handing(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *up);

#endif
