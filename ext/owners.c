/* Owners: the frame an entry belongs to, the table of code objects with owners, and what is made good at a begin
 * because nobody reported it.  Frames are only walked here when an entry is begun by a call or in a generator, or when
 * scopes of frames that may have vanished lie on top of the stack. */
// SPDX-License-Identifier: MIT
#include "owners.h"

#include <errno.h>
#include <pthread.h>

#include "evalhook.h"
#include "events.h"
#include "greenlets.h"

#define ARMED_ROOM 1024

/* -- life -------------------------------------------------------------------------------------------------------- */

static void owner_freed(struct lp_owner *owner)
{
    struct lpx_armed *armed = owner->host;
    struct lpx_frame_slot *slot;
    if (armed == NULL) return;
    slot = &armed->hosts->slots[lpx_frame_hash(owner->key)];
    slot->records--;
    if (slot->latest == owner) slot->latest = NULL;
    armed->owners--;
    armed->hosts->owners--;
    if (owner->inferred) armed->hosts->inferred--;
}

/* What all interpreters of the process share. */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void join_core(void)
{
    lpx_frames_init();
    lp__owner_freed = owner_freed;
}

int lpx_hosts_init(struct lpx_hosts *hosts, PyObject *module)
{
    (void)pthread_once(&once, join_core);
    hosts->mark = hosts;
    hosts->modules = Py_NewRef(PyImport_GetModuleDict());
    hosts->loaded = &((PyDictObject *)hosts->modules)->ma_used;
    hosts->loaded_seen = -1;
    if (lpx_greenlets_init(hosts, module)) return -1;
    return lpx_events_init(hosts, module);
}

static void stop(struct lpx_hosts *hosts)
{
    lpx_events_stop(hosts);
    lpx_eval_stop(hosts);
    lpx_greenlets_stop(hosts);
    hosts->mechanism = LPX_UNTRIED;
    hosts->mark = hosts;
    hosts->loaded_seen = -1;
}

/* The record outlives its recording's place here: an open scope may still be ended. */
static void disown(struct lp_owner *owner, void *arg)
{
    (void)arg;
    owner_freed(owner);
    owner->host = NULL;
    owner->inferred = false;
}

void lpx_hosts_remove(struct lpx_hosts *hosts, struct lp_recording *recording)
{
    uint32_t i = 0;
    while (i < hosts->recording_count && hosts->recordings[i] != recording)
        i++;
    if (i == hosts->recording_count) return;
    lp__owner_each(recording, disown, NULL);
    hosts->recordings[i] = hosts->recordings[--hosts->recording_count];
    if (hosts->told == recording) hosts->told = NULL;
    lp__recording_release(recording);
    if (hosts->recording_count) return;
    stop(hosts);
    while (hosts->armed_list) {
        hosts->armed_list->owners = 0; /* whatever was counted: nobody is left */
        lpx_armed_drop(hosts, hosts->armed_list);
    }
    hosts->armed_limit = 0;
    lp__map_release(&hosts->armed);
}

/* Recordings that C code closed without telling us. */
static void drop_closed(struct lpx_hosts *hosts)
{
    uint32_t i = hosts->recording_count;
    while (i-- > 0)
        if (i < hosts->recording_count && !lp__recording_is_open(hosts->recordings[i]))
            lpx_hosts_remove(hosts, hosts->recordings[i]);
}

void lpx_hosts_add(struct lpx_hosts *hosts, struct lp_recording *recording)
{
    drop_closed(hosts);
    if (hosts->recording_count == hosts->recording_room) {
        uint32_t room = hosts->recording_room ? hosts->recording_room * 2 : 4;
        struct lp_recording **bigger = lp__realloc(hosts->recordings, room * sizeof *bigger);
        if (bigger == NULL) return;
        hosts->recordings = bigger;
        hosts->recording_room = room;
    }
    lp__recording_retain(recording);
    hosts->recordings[hosts->recording_count++] = recording;
    hosts->loaded_seen = -1;
    lpx_eval_start(hosts);
}

void lpx_hosts_release(struct lpx_hosts *hosts)
{
    while (hosts->recording_count)
        lpx_hosts_remove(hosts, hosts->recordings[0]);
    lp__free(hosts->recordings);
    hosts->recordings = NULL;
    hosts->recording_room = 0;
    lpx_tool_release(&hosts->tool);
    Py_CLEAR(hosts->listener_type);
    hosts->loaded = &hosts->loaded_seen;
    Py_CLEAR(hosts->modules);
    Py_CLEAR(hosts->contextlib_file);
}

int lpx_hosts_traverse(struct lpx_hosts *hosts, visitproc visit, void *arg)
{
    Py_VISIT(hosts->listener_type);
    Py_VISIT(hosts->modules);
    Py_VISIT(hosts->greenlet_settrace);
    return lpx_tool_traverse(&hosts->tool, visit, arg);
}

const char *lpx_hosts_mechanism(const struct lpx_hosts *hosts)
{
    if (hosts->mechanism == LPX_REFUSED) return "inferred from the stack";
#if LPX_HAVE_MONITORING
    return "sys.monitoring";
#else
    return hosts->mechanism == LPX_EXACT ? "frame hook" : "inferred from the stack";
#endif
}

/* -- code objects with owners ------------------------------------------------------------------------------------ */

struct lpx_armed *lpx_armed_find(struct lpx_hosts *hosts, PyCodeObject *code)
{
    uint64_t value;
    if (hosts->last && hosts->last->code == code) return hosts->last;
    if (!lp__map_get(&hosts->armed, (uintptr_t)code, &value)) return NULL;
    return hosts->last = (struct lpx_armed *)(uintptr_t)value;
}

static void unlink_armed(struct lpx_hosts *hosts, struct lpx_armed *armed)
{
    if (hosts->last == armed) hosts->last = NULL;
    if (armed->thrown) hosts->thrown--;
    (void)lp__map_remove(&hosts->armed, (uintptr_t)armed->code);
    if (armed->next) armed->next->previous = armed->previous;
    if (armed->previous)
        armed->previous->next = armed->next;
    else
        hosts->armed_list = armed->next;
}

/* Programs that make code as they go would have all of it kept.  Unlinked first, freed after: the end of a code object
 * may run the program's code. */
static void let_idle_go(struct lpx_hosts *hosts)
{
    struct lpx_armed *armed, *next, *idle = NULL;
    for (armed = hosts->armed_list; armed; armed = next) {
        next = armed->next;
        if (armed->owners) continue;
        lpx_events_disarm(hosts, armed);
        if (armed->level) continue;
        unlink_armed(hosts, armed);
        armed->next = idle;
        idle = armed;
    }
    hosts->armed_limit = hosts->armed.count < ARMED_ROOM / 2 ? ARMED_ROOM : hosts->armed.count * 2;
    for (; idle; idle = next) {
        next = idle->next;
        Py_DECREF(idle->code);
        lp__free(idle);
    }
}

struct lpx_armed *lpx_armed_of(struct lpx_hosts *hosts, PyCodeObject *code)
{
    struct lpx_armed *armed = lpx_armed_find(hosts, code);
    if (armed) return armed;
    if (hosts->armed.count >= hosts->armed_limit) let_idle_go(hosts);
    armed = lp__calloc(1, sizeof *armed);
    if (armed == NULL) return NULL;
    if (lp__map_put(&hosts->armed, (uintptr_t)code, (uintptr_t)armed)) {
        lp__free(armed);
        return NULL;
    }
    Py_INCREF(code);
    armed->code = code;
    armed->hosts = hosts;
    armed->next = hosts->armed_list;
    if (armed->next) armed->next->previous = armed;
    hosts->armed_list = armed;
    return hosts->last = armed;
}

void lpx_armed_drop(struct lpx_hosts *hosts, struct lpx_armed *armed)
{
    if (armed->owners) return;
    unlink_armed(hosts, armed);
    Py_DECREF(armed->code);
    lp__free(armed);
}

/* -- contextlib is looked through -------------------------------------------------------------------------------- */

static void find_contextlib(struct lpx_hosts *hosts)
{
    struct lpx_error error = lpx_error_hide();
    PyObject *name = PyUnicode_InternFromString("contextlib"), *module = NULL, *function = NULL;
    if (name) module = PyImport_GetModule(name);
    if (module) function = PyObject_GetAttrString(module, "contextmanager");
    if (function && PyFunction_Check(function))
        hosts->contextlib_file = Py_NewRef(((PyCodeObject *)PyFunction_GET_CODE(function))->co_filename);
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(name);
    lpx_error_restore(error);
}

static bool is_contextlib(const struct lpx_hosts *hosts, struct lpx_frame *frame)
{
    return frame && lpx_frame_code(frame)->co_filename == hosts->contextlib_file;
}

/* When contextlib entered this generator frame, or one that yields from it: the contextlib frame.  Else NULL.
 * A coroutine that another one awaits stops together with it, so only generators look further up. */
static struct lpx_frame *contextlib_enterer(const struct lpx_hosts *hosts, struct lpx_frame *frame)
{
    for (;;) {
        struct lpx_frame *up = lpx_frame_up(frame);
        if (up == NULL) return NULL;
        if (is_contextlib(hosts, up)) return up;
        if (!(lpx_frame_code(frame)->co_flags & CO_GENERATOR)) return NULL;
        if (!lpx_frame_is_generator(up) || !lpx_frame_delegates(up)) return NULL;
        frame = up;
    }
}

/* The nearest frame from `frame` on upwards that can be suspended, contextlib and what it entered left out; NULL. */
static struct lpx_frame *owner_frame(struct lpx_hosts *hosts, struct lpx_frame *frame)
{
    while (frame) {
        if (!is_contextlib(hosts, frame) && lpx_frame_is_generator(frame)) {
            struct lpx_frame *enterer = contextlib_enterer(hosts, frame);
            if (enterer == NULL) return frame;
            frame = enterer;
        }
        frame = lpx_frame_up(frame);
    }
    return NULL;
}

/* -- owners ------------------------------------------------------------------------------------------------------ */

/* Whether somebody reports the stops of this frame. */
static bool arm(struct lpx_hosts *hosts, struct lpx_armed *armed, struct lpx_frame *frame, bool loose)
{
#if LPX_HAVE_MONITORING
    uint8_t level = loose ? 2 : 1;
    (void)frame;
    return armed->level >= level || lpx_events_arm(hosts, armed, level);
#else
    (void)armed;
    (void)loose;
    return lpx_eval_sees(hosts, frame);
#endif
}

/* The report says it once per recording. */
static void tell_inferred(struct lpx_hosts *hosts, struct lp_recording *recording)
{
    static const char value[] = "inferred";
    int saved = errno;
    if (hosts->told == recording) return;
    hosts->told = recording;
    lp__recording_fact(recording, "suspensions", value, sizeof value - 1);
    errno = saved;
}

static void introduce(struct lpx_hosts *hosts, struct lpx_armed *armed, struct lp_owner *owner, bool inferred)
{
    struct lpx_frame_slot *slot = &hosts->slots[lpx_frame_hash(owner->key)];
    slot->records++;
    slot->latest = owner;
    owner->host = armed;
    owner->inferred = inferred;
    armed->owners++;
    hosts->owners++;
    if (!inferred) return;
    hosts->inferred++;
    if (hosts->mechanism != LPX_EXACT) tell_inferred(hosts, owner->recording);
}

/* The record of a frame that begins something, so it runs; NULL when it has none.  A record that says otherwise is of a
 * frame that died unheard. */
static struct lp_owner *running_record(const struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame,
                                       PyCodeObject *code)
{
    struct lp_owner *owner = lpx_record_find(hosts, thread->home, frame);
    uint64_t now;
    struct lp_cpu_time cpu;
    if (owner == NULL || (owner->kind == code && !owner->suspended && owner->thread == thread)) return owner;
    lp__read_clocks(thread, &now, &cpu);
    lp__owner_detach(owner, thread, now, cpu);
    return NULL;
}

static struct lp_owner *owner_of(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame, bool loose)
{
    PyCodeObject *code = lpx_frame_code(frame);
    struct lpx_armed *armed = lpx_armed_of(hosts, code);
    struct lp_owner *owner;
    bool exact;
    if (armed == NULL) return NULL;
    exact = arm(hosts, armed, frame, loose);
    armed->waste = 0;
    owner = running_record(hosts, thread, frame, code);
    if (owner == NULL) {
        owner = lp__owner_add(thread->home, thread, (uintptr_t)frame, code);
        if (owner == NULL) return NULL;
        introduce(hosts, armed, owner, !exact);
    }
    owner->by_throw = 0;
    return owner;
}

struct lp_owner *lpx_owner_of_entry(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame,
                                    uint32_t *flags)
{
    struct lpx_frame *target;
    struct lp_owner *owner;
    bool loose;
    if (!lpx_is_settled(hosts, thread)) lpx_settle(hosts, thread, frame ? frame : lpx_frame_now(lpx_tstate()));
    if (frame == NULL || hosts->modules == NULL) return NULL;
    loose = !lpx_frame_in_with(frame);
    if (!loose && !lpx_frame_is_generator(frame)) return NULL;
    target = owner_frame(hosts, frame);
    if (target == NULL) return NULL;
    loose = loose || target != frame;
    owner = owner_of(hosts, thread, target, loose);
    if (owner == NULL) return NULL;
    if (loose) *flags |= LP_SCOPE_LOOSE;
    if (owner->inferred) *flags |= LP_SCOPE_UNMEASURED;
    return owner;
}

struct lp_owner *lpx_owner_for_handing(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *up)
{
    struct lpx_frame *target;
    bool takes = up && (is_contextlib(hosts, up) || (lpx_frame_is_generator(up) && lpx_frame_delegates(up)));
    if (!takes) return NULL;
    target = owner_frame(hosts, up);
    return target ? owner_of(hosts, thread, target, true) : NULL;
}

/* -- what nobody reported ---------------------------------------------------------------------------------------- */

/* Inferred owners on top of the stack whose frame is not on the chain have stopped. */
static void infer_stops(struct lp_thread *thread, struct lpx_frame *frame)
{
    struct lp_owner *owner;
    while ((owner = thread->top->owner) != NULL && owner->inferred && !lpx_frame_on_chain(frame, owner->key)) {
        uint64_t now;
        struct lp_cpu_time cpu;
        lp__read_clocks(thread, &now, &cpu);
        owner->measured = false;
        lp__owner_suspend(owner, thread, now, cpu);
    }
}

/* And those found on it, outermost first, have gone on.  As deep as generators are nested. */
static void infer_resumes(const struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame)
{
    struct lp_owner *owner = NULL;
    uint64_t now;
    struct lp_cpu_time cpu;
    while (frame && !(lpx_frame_is_generator(frame) && (owner = lpx_record_find(hosts, thread->home, frame)) != NULL &&
                      owner->suspended && owner->inferred && owner->kind == lpx_frame_code(frame)))
        frame = lpx_frame_up(frame);
    if (frame == NULL) return;
    infer_resumes(hosts, thread, lpx_frame_up(frame));
    lp__read_clocks(thread, &now, &cpu);
    lp__owner_resume(owner, thread, now, cpu);
}

static bool still_runs(const struct lp_owner *owner, struct lpx_frame *frame)
{
    if (lpx_frame_on_chain(frame, owner->key)) return true;
    return owner->by_throw && lpx_frame_on_chain(frame, owner->by_throw);
}

/* A loose scope on top whose frame was unwound by an exception ends here: nobody else will say so. */
static void end_vanished(struct lp_thread *thread, struct lpx_frame *frame)
{
    struct lp_scope *top;
    while (((top = thread->top)->flags & LP_SCOPE_LOOSE) && top->owner && !top->owner->inferred &&
           !still_runs(top->owner, frame)) {
        uint64_t now;
        struct lp_cpu_time cpu;
        lp__read_clocks(thread, &now, &cpu);
        lp__owner_finished(top->owner, thread, now, cpu);
        if (thread->top == top) return;
    }
}

/* What the program has loaded since. */
static void look(struct lpx_hosts *hosts)
{
    hosts->loaded_seen = *hosts->loaded;
    if (hosts->contextlib_file == NULL) find_contextlib(hosts);
    if (hosts->recording_count && lpx_greenlets_look(hosts)) hosts->mark = (char *)hosts + 1;
}

/* A recording that C code opened is met at its first entry from Python. */
static void meet(struct lpx_hosts *hosts, struct lp_recording *recording)
{
    uint32_t i;
    for (i = 0; i < hosts->recording_count; i++)
        if (hosts->recordings[i] == recording) return;
    lpx_hosts_add(hosts, recording);
}

void lpx_settle(struct lpx_hosts *hosts, struct lp_thread *thread, struct lpx_frame *frame)
{
    if (hosts->modules && *hosts->loaded != hosts->loaded_seen) look(hosts);
    if (thread->host != hosts->mark) {
        thread->host = hosts->mark;
        if (hosts->modules) meet(hosts, thread->home);
        lpx_greenlets_listen(hosts);
    }
    if (hosts->inferred) {
        infer_stops(thread, frame);
        infer_resumes(hosts, thread, frame);
    }
    end_vanished(thread, frame);
}

void lpx_before_end(struct lp_thread *thread)
{
    struct lpx_hosts *hosts = (struct lpx_hosts *)((uintptr_t)thread->host & ~(uintptr_t)1);
    if (hosts && hosts->inferred) lpx_settle(hosts, thread, lpx_frame_now(lpx_tstate()));
}
