/* Line events by sys.monitoring, CPython 3.12 and later.
 *
 * Global: PY_START and PY_RESUME, which a code object out of scope sends once and then no more (DISABLE), so that
 * libraries run at full speed; PY_THROW and PY_UNWIND, which cannot be had for single code objects.  Local, on watched
 * code: lines, entries, exits, and jumps where a loop stands in one line.
 *
 * A line is told by the offset of its instruction, read from the frame, not by its number: statements are worked out
 * from offsets later, and a number above 256 is boxed by the interpreter anyway. */
// SPDX-License-Identifier: MIT
#include "lines.h"

#include "collect/line_hot.h"

#if LPX_HAVE_MONITORING

enum kind {
    ON_START,
    ON_RESUME,
    ON_RETURN,
    ON_YIELD,
    ON_THROW,
    ON_UNWIND,
    ON_LINE,
    ON_BRANCH, /* 3.14 and later: BRANCH_LEFT, and BRANCH_RIGHT behind it */
    ON_BRANCH_TOO
};

/* -- what the interpreter calls ---------------------------------------------------------------------------------- */

/* In a callback the current frame is the one that the event is about. */
static inline struct lpx_frame *frame_of_event(PyThreadState *tstate)
{
    if (__builtin_expect(!lpx_frames_fit, 0)) return lpx_frame_now_public(tstate);
#if PY_VERSION_HEX >= 0x030D0000
    return (struct lpx_frame *)tstate->current_frame;
#else
    return (struct lpx_frame *)tstate->cframe->current_frame;
#endif
}

static inline uint32_t unit_of(struct lpx_frame *frame, const PyCodeObject *code)
{
    if (__builtin_expect(!lpx_frames_fit, 0)) return (uint32_t)PyFrame_GetLasti((PyFrameObject *)frame) / 2;
    return (uint32_t)(frame->at - (const unsigned char *)code->co_code_adaptive) / 2;
}

static inline struct lpx_line_engine *engine_of(PyObject *self)
{
    return ((struct lpx_callback *)self)->owner;
}

/* Several sessions, or a frame that is not on top of the shadow stack: one that was running when the session started,
 * or one whose callees ended unnoticed. */
static __attribute__((noinline)) void line_of_any(struct lpx_line_engine *engine, struct lpx_frame *frame,
                                                  PyCodeObject *code, uint64_t now)
{
    uint32_t unit = unit_of(frame, code);
    struct lp_line_thread *thread;
    struct lpx_note *note = lpx_note_of(engine, code);
    if (lpx_lines_undecided(engine, note)) lpx_lines_decide(engine, code);
    note = lpx_note_of(engine, code);
    for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant) {
        if (thread->top->frame != frame || thread->top->code_object != code) {
            struct lp_line_code *line_code = lpx_verdict(note, lpx_line_session_of(thread));
            if (line_code == NULL) continue;
            lp__line_find(thread, frame, code, line_code, now);
            if (thread->top->frame != frame) continue;
        }
        lp__line_event(thread, thread->top, unit, now);
    }
}

static PyObject *on_line(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lp_line_thread *thread = lp__lines_here();
    PyCodeObject *code = (PyCodeObject *)args[0];
    struct lpx_frame *frame = frame_of_event(lpx_tstate());
    struct lp_line_frame *top;
    (void)count;
    (void)names;
    if (__builtin_expect(thread != NULL && thread->next_of_tenant == NULL && thread->top->frame == frame &&
                             thread->top->code_object == code,
                         1)) {
        top = thread->top;
        if (thread->fresh == top)
            lp__line_first(thread, top, unit_of(frame, code));
        else
            lp__line_event(thread, top, unit_of(frame, code), lp__ticks());
    } else if (engine_of(self)) {
        line_of_any(engine_of(self), frame, code, lp__ticks());
    }
    Py_RETURN_NONE;
}

/* Only one session, and it has said long ago that it watches this. */
static inline bool is_plain(const struct lpx_line_engine *engine, const struct lpx_note *note)
{
    const struct lpx_line_session *only = engine->active;
    return note && only && only->next_active == NULL && note->first.session == only->serial && note->first.code;
}

static inline void enter_in(struct lpx_line_engine *engine, struct lp_line_thread *thread, struct lpx_frame *frame,
                            struct lpx_note *note, struct lp_line_code *line_code, uint64_t now, enum lp_line_entry how)
{
    if (__builtin_expect(!note->armed, 0)) lpx_lines_watch(engine, note, line_code);
    if (how != LP_LINE_STARTS || !lp__line_call(thread, frame, note->code, line_code, now))
        lp__line_enter(thread, frame, note->code, line_code, now, how);
}

/* Several sessions, or code that was not met before. */
static __attribute__((noinline)) bool enter_any(struct lpx_line_engine *engine, PyCodeObject *code,
                                                struct lpx_frame *frame, uint64_t now, enum lp_line_entry how)
{
    struct lpx_note *note = lpx_note_of(engine, code);
    struct lp_line_thread *thread;
    if (lpx_lines_undecided(engine, note)) lpx_lines_decide(engine, code);
    note = lpx_note_of(engine, code);
    if (!lpx_lines_wanted(engine, note)) return false;
    for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant) {
        struct lp_line_code *line_code = lpx_verdict(note, lpx_line_session_of(thread));
        if (line_code) enter_in(engine, thread, frame, note, line_code, now, how);
    }
    return true;
}

/* Enters in every session that watches the code; false when none does.  A thread that never runs watched code gets no
 * state, and a process without one no file. */
static inline bool enter(struct lpx_line_engine *engine, PyCodeObject *code, enum lp_line_entry how)
{
    uint64_t now = lp__ticks();
    struct lpx_frame *frame = frame_of_event(lpx_tstate());
    struct lpx_note *note = lpx_note_of(engine, code);
    struct lp_line_thread *thread;
    if (__builtin_expect(!is_plain(engine, note), 0)) return enter_any(engine, code, frame, now, how);
    thread = lp__lines_here(); /* of the only session */
    if (__builtin_expect(thread != NULL, 1)) enter_in(engine, thread, frame, note, note->first.code, now, how);
    return true;
}

static inline PyObject *unless_watched(struct lpx_line_engine *engine, bool watched)
{
    PyObject *answer = watched ? Py_None : engine->disable;
    return Py_NewRef(answer);
}

static PyObject *on_start(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_line_engine *engine = engine_of(self);
    (void)count;
    (void)names;
    if (engine == NULL) Py_RETURN_NONE;
    return unless_watched(engine, enter(engine, (PyCodeObject *)args[0], LP_LINE_STARTS));
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_line_engine *engine = engine_of(self);
    (void)count;
    (void)names;
    if (engine == NULL) Py_RETURN_NONE;
    return unless_watched(engine, enter(engine, (PyCodeObject *)args[0], LP_LINE_GOES_ON));
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_line_engine *engine = engine_of(self);
    (void)count;
    (void)names;
    if (engine && lpx_note_of(engine, (PyCodeObject *)args[0]))
        (void)enter(engine, (PyCodeObject *)args[0], LP_LINE_GOES_ON);
    Py_RETURN_NONE;
}

static inline void leave(bool suspends)
{
    uint64_t now = lp__ticks();
    struct lp_line_thread *thread = lp__lines_here();
    struct lpx_frame *frame = frame_of_event(lpx_tstate());
    for (; thread; thread = thread->next_of_tenant)
        if (suspends || !lp__line_return(thread, frame, now)) lp__line_leave(thread, frame, now, suspends);
}

static PyObject *on_return(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)args;
    (void)count;
    (void)names;
    leave(false);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)args;
    (void)count;
    (void)names;
    leave(true);
    Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_line_engine *engine = engine_of(self);
    (void)count;
    (void)names;
    if (engine && lpx_note_of(engine, (PyCodeObject *)args[0])) leave(false);
    Py_RETURN_NONE;
}

/* Offsets as the interpreter numbers them, in bytes. */
static PyObject *on_branch(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lp_line_thread *thread = lp__lines_here();
    struct lpx_frame *frame = frame_of_event(lpx_tstate());
    uint32_t from, to;
    (void)self;
    (void)names;
    if (PyVectorcall_NARGS(count) < 3) Py_RETURN_NONE;
    from = (uint32_t)PyLong_AsLong(args[1]) / 2;
    to = (uint32_t)PyLong_AsLong(args[2]) / 2;
    for (; thread; thread = thread->next_of_tenant)
        lp__line_branch(thread, frame, from, to);
    Py_RETURN_NONE;
}

static const struct lpx_tool_event events[] = {
    [ON_START] = {"PY_START", on_start},
    [ON_RESUME] = {"PY_RESUME", on_resume},
    [ON_RETURN] = {"PY_RETURN", on_return},
    [ON_YIELD] = {"PY_YIELD", on_yield},
    [ON_THROW] = {"PY_THROW", on_throw},
    [ON_UNWIND] = {"PY_UNWIND", on_unwind},
    [ON_LINE] = {"LINE", on_line},
#if PY_VERSION_HEX >= 0x030E0000
    [ON_BRANCH] = {"BRANCH_LEFT", on_branch},
    [ON_BRANCH_TOO] = {"BRANCH_RIGHT", on_branch},
#else
    [ON_BRANCH] = {"BRANCH", on_branch},
#endif
};

/* -- taking and giving back a tool ------------------------------------------------------------------------------- */

int lpx_lines_mechanism_init(PyObject *module, struct lpx_line_engine *engine)
{
    return lpx_tool_init(&engine->tool, module, events, sizeof events / sizeof *events, engine);
}

/* 2 is a profiler's by convention; 3 and 4 are nobody's; the others only when these are taken. */
static bool start_tool(struct lpx_line_engine *engine, PyObject *module)
{
    static const int ids[] = {2, 3, 4, 5, 1, 0}, global[] = {ON_START, ON_RESUME, ON_THROW, ON_UNWIND, -1};
    Py_XSETREF(engine->disable, PyObject_GetAttrString(module, "DISABLE"));
    return engine->disable && lpx_tool_start(&engine->tool, ids, sizeof ids / sizeof *ids, global);
}

int lpx_lines_arm(struct lpx_line_engine *engine)
{
    PyObject *module = lpx_monitoring();
    if (module == NULL) return -1;
    if (start_tool(engine, module)) return 0;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "no free sys.monitoring tool id: six other tools are active in this process; stop one of them");
    lpx_tool_stop(&engine->tool);
    return -1;
}

/* -- local events ------------------------------------------------------------------------------------------------ */

void lpx_lines_watch(struct lpx_line_engine *engine, struct lpx_note *note, const struct lp_line_code *code)
{
    const int *bits = engine->tool.bits;
    int wanted = bits[ON_START] | bits[ON_RESUME] | bits[ON_RETURN] | bits[ON_YIELD] | bits[ON_LINE];
    if (note->armed) return;
    if (code->slots.branch_count) wanted |= bits[ON_BRANCH] | bits[ON_BRANCH_TOO]; /* 0 where there is only one */
    note->armed = lpx_tool_set_local(&engine->tool, note->code, wanted);
}

void lpx_lines_disarm(struct lpx_line_engine *engine)
{
    struct lpx_note *note;
    for (note = engine->notes.next; note != &engine->notes; note = note->next) {
        if (note->armed) (void)lpx_tool_set_local(&engine->tool, note->code, 0);
        note->armed = false;
    }
    lpx_tool_stop(&engine->tool);
}

/* Every thread's running code objects: a list that owns them.  Nothing here runs Python code, which would let those
 * frames end under our eyes. */
static PyObject *running_codes(void)
{
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    PyObject *codes = PyList_New(0);
    struct lpx_frame *frame;
    for (; codes && tstate; tstate = PyThreadState_Next(tstate))
        for (frame = lpx_frame_now(tstate); codes && frame; frame = lpx_frame_up(frame))
            if (PyList_Append(codes, (PyObject *)lpx_frame_code(frame))) Py_CLEAR(codes);
    return codes;
}

static void watch_code(struct lpx_line_engine *engine, PyCodeObject *code)
{
    struct lpx_line_session *session;
    struct lpx_note *note = lpx_note_of(engine, code);
    if (lpx_lines_undecided(engine, note)) lpx_lines_decide(engine, code);
    note = lpx_note_of(engine, code);
    for (session = engine->active; note && session; session = session->next_active) {
        struct lp_line_code *line_code = lpx_verdict(note, session);
        if (line_code) lpx_lines_watch(engine, note, line_code);
    }
}

/* Watches what is running already, on every thread. */
static void watch_running(struct lpx_line_engine *engine)
{
    PyObject *codes = lpx_frames_fit ? running_codes() : NULL; /* else they are watched from their next call on */
    Py_ssize_t i;
    for (i = 0; codes && i < PyList_GET_SIZE(codes); i++)
        watch_code(engine, (PyCodeObject *)PyList_GET_ITEM(codes, i));
    Py_XDECREF(codes);
}

/* Code that answered DISABLE to an earlier session answers again. */
void lpx_lines_again(struct lpx_line_engine *engine)
{
    PyObject *module = lpx_monitoring();
    struct lpx_error error = lpx_error_hide();
    if (module) (void)lpx_call_ok(PyObject_CallMethod(module, "restart_events", NULL));
    PyErr_Clear();
    watch_running(engine);
    lpx_error_restore(error);
}

uint64_t lpx_lines_unobserved(const struct lpx_line_engine *engine)
{
    (void)engine;
    return 0; /* monitoring is the interpreter's: every thread that runs Python */
}

#endif
