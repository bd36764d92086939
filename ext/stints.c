/* Stints: a frame stops, goes on, is thrown into or ends, and its scopes leave the stack, come back, move or end.
 * Told by events.c or evalhook.c, for every recording that is open.  The rules about throws and closes have their
 * reasons in docs/decisions/scopes.md.  Hot where a generator holds a phase open: look first, read clocks after. */
// SPDX-License-Identifier: MIT
#include "stints.h"

#include "events.h"

#include <string.h>

static void detach(struct lp_owner *owner, struct lp_thread *thread)
{
    uint64_t now;
    struct lp_cpu_time cpu;
    lp__read_clocks(thread, &now, &cpu);
    lp__owner_detach(owner, thread, now, cpu);
}

/* The record of this very frame and the thread, which it runs on; one of the same address but other code is of a frame
 * that died unheard.  Finding the thread lets go of the parent's records in the child of a fork. */
static struct lp_owner *record_of(struct lpx_hosts *hosts, struct lp_recording *recording, struct lpx_frame *frame,
                                  PyCodeObject *code, struct lp_thread **thread)
{
    struct lp_owner *owner = lpx_record_find(hosts, recording, frame);
    if (owner == NULL) return NULL;
    *thread = lp__thread_of(recording);
    if (*thread == NULL) return NULL;
    if (owner->thread != *thread) owner = lpx_record_find(hosts, recording, frame);
    if (owner == NULL || owner->kind == code) return owner;
    detach(owner, *thread);
    return NULL;
}

/* An owner whose frame reports itself is not inferred any more. */
static void reports(struct lpx_hosts *hosts, struct lp_owner *owner)
{
    if (!owner->inferred) return;
    owner->inferred = false;
    if (owner->host) hosts->inferred--;
}

static void stop(struct lp_owner *owner, struct lp_thread *thread)
{
    uint64_t now;
    struct lp_cpu_time cpu;
    owner->by_throw = 0;
    lp__read_clocks(thread, &now, &cpu);
    lp__owner_suspend(owner, thread, now, cpu);
}

static void go_on(struct lp_owner *owner, struct lp_thread *thread, uintptr_t by_throw)
{
    uint64_t now;
    struct lp_cpu_time cpu;
    owner->by_throw = by_throw;
    if (!owner->suspended) return;
    lp__read_clocks(thread, &now, &cpu);
    lp__owner_resume(owner, thread, now, cpu);
}

/* The owner below `owner` by the link its last stop left; NULL when that is gone.  `outer` holds the key. */
static struct lp_owner *linked(struct lp_owner *owner)
{
    struct lp_owner *outer;
    if (owner->outer == NULL) return NULL;
    outer = lp__owner_find(owner->recording, (uintptr_t)owner->outer);
    return outer && outer->serial == owner->outer_serial ? outer : NULL;
}

/* An async generator's `yield` hands out a private wrapper; its awaits do not. */
static bool is_item(const PyCodeObject *code, PyObject *value)
{
    if (!(code->co_flags & CO_ASYNC_GENERATOR)) return false;
    return strcmp(Py_TYPE(value)->tp_name, "async_generator_wrapped_value") == 0;
}

/* Remembers who awaits or yields from `owner`'s frame: a close enters it without the frames above being on the chain.
 * Frames between that own nothing are passed. */
static void link_outer(const struct lpx_hosts *hosts, struct lp_owner *owner, struct lpx_frame *up, PyObject *value)
{
    owner->outer = NULL;
    if (is_item(owner->kind, value)) return;
    for (; up && lpx_frame_is_generator(up) && lpx_frame_delegates(up); up = lpx_frame_up(up)) {
        struct lp_owner *outer = lpx_record_find(hosts, owner->recording, up);
        if (outer == NULL) continue;
        owner->outer = (struct lp_owner *)(uintptr_t)up;
        owner->outer_serial = outer->serial;
        return;
    }
}

/* -- a frame stops ----------------------------------------------------------------------------------------------- */

/* Frames above that a throw passed by stop together with the one it entered: those on the chain, and those that the
 * links know.  `owner` is the entered frame's record or NULL. */
static void stop_passed_by(const struct lpx_hosts *hosts, struct lp_thread *thread, struct lp_owner *owner,
                           struct lpx_frame *frame, struct lpx_frame *up)
{
    struct lp_owner *outer;
    for (; up && lpx_frame_is_generator(up); up = lpx_frame_up(up)) {
        outer = lpx_record_find(hosts, thread->home, up);
        if (outer && outer->by_throw == (uintptr_t)frame) stop(outer, thread);
    }
    for (outer = owner ? linked(owner) : NULL; outer; outer = linked(outer))
        if (outer->by_throw == (uintptr_t)frame) stop(outer, thread);
}

/* The record of a frame that stops; NULL when there is none, or none that says that it runs. */
static struct lp_owner *stopping(struct lpx_hosts *hosts, struct lp_recording *recording, struct lpx_frame *frame,
                                 PyCodeObject *code, struct lp_thread **thread)
{
    struct lp_owner *owner = record_of(hosts, recording, frame, code, thread);
    if (owner == NULL) return NULL;
    if (owner->suspended) { /* impossible for a living frame: that one died, this is another */
        detach(owner, *thread);
        return NULL;
    }
    reports(hosts, owner);
    return owner;
}

bool lpx_frame_stops(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code, struct lpx_frame *up,
                     PyObject *value)
{
    struct lpx_armed *armed = hosts->thrown ? lpx_armed_find(hosts, code) : NULL;
    bool thrown = armed && armed->thrown, known = false;
    uint32_t i;
    if (!thrown && !lpx_frame_may_own(hosts, frame)) return false;
    for (i = 0; i < hosts->recording_count; i++) {
        struct lp_thread *thread = thrown ? lp__thread_find(hosts->recordings[i]) : NULL;
        struct lp_owner *owner = stopping(hosts, hosts->recordings[i], frame, code, &thread);
        if (owner) stop(owner, thread);
        if (thrown && thread) stop_passed_by(hosts, thread, owner, frame, up);
        if (owner) link_outer(hosts, owner, up, value);
        known |= owner != NULL;
    }
    return known;
}

/* -- a frame goes on --------------------------------------------------------------------------------------------- */

void lpx_frame_goes_on(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code)
{
    uint32_t i;
    if (!lpx_frame_may_own(hosts, frame)) return;
    for (i = 0; i < hosts->recording_count; i++) {
        struct lp_thread *thread;
        struct lp_owner *owner = record_of(hosts, hosts->recordings[i], frame, code, &thread);
        if (owner == NULL) continue;
        if (owner->inferred && !owner->suspended) { /* its last stop was not seen */
            owner->measured = false;
            stop(owner, thread);
        }
        reports(hosts, owner);
        go_on(owner, thread, 0);
    }
}

/* -- a frame is thrown into -------------------------------------------------------------------------------------- */

/* A frame above `inner` runs although no event said so: it stops again with `inner`, unless it is heard of before.  One
 * that an earlier throw brought there, further in, changes its mark.  False when it runs by an event of its own. */
static bool run_above(struct lp_owner *owner, struct lp_thread *thread, struct lpx_frame *inner)
{
    if (!owner->suspended && owner->by_throw == 0) return false;
    go_on(owner, thread, (uintptr_t)inner);
    return true;
}

/* The frames above that delegate down to `inner`, outermost first. */
static bool resume_chain(const struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *up,
                         struct lpx_frame *inner)
{
    struct lp_owner *owner;
    bool any;
    if (up == NULL || !lpx_frame_is_generator(up)) return false;
    any = resume_chain(hosts, thread, lpx_frame_up(up), inner);
    owner = lpx_record_find(hosts, thread->home, up);
    if (owner == NULL || owner->kind != lpx_frame_code(up)) return any;
    return run_above(owner, thread, inner) || any;
}

/* The same along the links, for a close: it takes the frames above off the chain. */
static bool resume_links(struct lp_thread *thread, struct lp_owner *owner, struct lpx_frame *inner)
{
    struct lp_owner *outer = linked(owner);
    if (outer == NULL || (!outer->suspended && outer->by_throw == 0)) return false;
    (void)resume_links(thread, outer, inner);
    return run_above(outer, thread, inner);
}

/* The entered frame may own nothing: its next stop must be heard all the same. */
static void expect_stop(struct lpx_hosts *hosts, PyCodeObject *code)
{
    struct lpx_armed *armed = lpx_armed_of(hosts, code);
    if (armed == NULL) return;
    hosts->thrown += !armed->thrown;
    armed->thrown = true;
    armed->waste = 0;
#if LPX_HAVE_MONITORING
    if (armed->level == 0) (void)lpx_events_arm(hosts, armed, 1);
#endif
}

void lpx_frame_is_thrown_into(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code,
                              struct lpx_frame *up)
{
    bool any = false;
    uint32_t i;
    if (!lpx_frame_may_own(hosts, frame) && (up == NULL || !lpx_frame_is_generator(up))) return;
    for (i = 0; i < hosts->recording_count; i++) {
        struct lp_thread *thread = lp__thread_of(hosts->recordings[i]);
        struct lp_owner *owner;
        if (thread == NULL) continue;
        any |= resume_chain(hosts, thread, up, frame);
        owner = record_of(hosts, thread->home, frame, code, &thread);
        if (owner == NULL) continue;
        any |= resume_links(thread, owner, frame);
        reports(hosts, owner);
        go_on(owner, thread, 0);
    }
    if (any) expect_stop(hosts, code);
}

/* -- a frame ends ------------------------------------------------------------------------------------------------ */

void lpx_frame_ends(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code, struct lpx_frame *up)
{
    uint32_t i;
    if (!lpx_frame_may_own(hosts, frame)) return;
    for (i = 0; i < hosts->recording_count; i++) {
        struct lp_thread *thread;
        struct lp_owner *owner = record_of(hosts, hosts->recordings[i], frame, code, &thread), *to;
        uint64_t now;
        struct lp_cpu_time cpu;
        if (owner == NULL) continue;
        to = lpx_owner_for_handing(hosts, thread, up);
        lp__read_clocks(thread, &now, &cpu);
        if (to && to != owner)
            lp__owner_hand_over(owner, to, now, cpu);
        else
            lp__owner_finished(owner, thread, now, cpu);
    }
}
