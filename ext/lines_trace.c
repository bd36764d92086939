/* Line events by a trace function in every thread, CPython 3.10 and 3.11.
 *
 * The interpreter hands every line of every frame to the trace function, watched or not; what is not watched is let go
 * after one comparison.  A tracer that was there before us (a debugger, coverage) goes on being called, and stands in
 * its place again when we stop.  Threads that start later come through threading's hook; threads that were made
 * without it are not heard from and counted. */
// SPDX-License-Identifier: MIT
#include "lines.h"

#include "collect/line_hot.h"

#if !LPX_HAVE_MONITORING

#include <string.h>

/* What we know of a thread that we trace.  By address of its Python thread state, which is ours as long as its trace
 * object is. */
struct tracer {
    PyObject_HEAD struct lpx_line_engine *engine; /* NULL once we have stopped */
    Py_tracefunc before;                          /* whom we stand in front of; NULL: nobody */
    PyObject *before_object;                      /* owned */
    const void *ignored;       /* the frame that runs and is not watched: most events of most programs */
    PyFrameObject *jump_frame; /* whose conditional jump waits for its other end; only compared */
    uint32_t jump_unit;
};

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *arg);

/* -- the frame of an event --------------------------------------------------------------------------------------- */

static inline PyCodeObject *code_of(PyFrameObject *frame) /* borrowed */
{
#if LPX_FRAMES_ARE_OBJECTS
    return frame->f_code;
#else
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code); /* the frame holds it */
    return code;
#endif
}

static inline uint32_t unit_of(PyFrameObject *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    return (uint32_t)frame->f_lasti;
#else
    return (uint32_t)PyFrame_GetLasti(frame) / 2;
#endif
}

/* The core knows frames by the address that lpx_frame_up walks. */
static inline const void *identity(PyFrameObject *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    return frame;
#else
    (void)frame;
    return lpx_frame_now(lpx_tstate());
#endif
}

/* The code unit where the frame is: {opcode, argument}. */
static const unsigned char *instruction_of(const PyCodeObject *code, int unit)
{
#if LPX_FRAMES_ARE_OBJECTS
    return (const unsigned char *)PyBytes_AS_STRING(code->co_code) + (ptrdiff_t)unit * 2;
#else
    return (const unsigned char *)code->co_code_adaptive + (ptrdiff_t)unit * 2;
#endif
}

/* A call event of a frame that has run before: a generator or coroutine goes on, or is thrown into. */
static bool goes_on(PyFrameObject *frame, const PyCodeObject *code)
{
    int unit = (int)unit_of(frame);
    if (!lpx_code_is_generator(code) || unit < 0) return false;
#if LPX_FRAMES_ARE_OBJECTS
    return true;
#else
    {
        const unsigned char *at = instruction_of(code, unit);
        bool is_resume = at[0] == RESUME || at[0] == RESUME_QUICK;
        return !(is_resume && (at[1] & 3) == 0);
    }
#endif
}

/* It returns a value: only for a while? */
static bool suspends(PyFrameObject *frame, const PyCodeObject *code)
{
    const unsigned char *at;
    if (!lpx_code_is_generator(code)) return false;
    at = instruction_of(code, (int)unit_of(frame));
#if LPX_FRAMES_ARE_OBJECTS
    if (at[0] != RETURN_VALUE && at[2] == YIELD_FROM) return true; /* it stands one before, to come here again */
#endif
    return at[0] == YIELD_VALUE;
}

static void trace_opcodes(PyFrameObject *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    frame->f_trace_opcodes = 1;
#else
    if (PyObject_SetAttrString((PyObject *)frame, "f_trace_opcodes", Py_True)) PyErr_Clear();
#endif
}

/* -- the events -------------------------------------------------------------------------------------------------- */

/* Asks who was not asked yet; what was held of line threads must be had again afterwards. */
static struct lpx_note *decided(struct lpx_line_engine *engine, PyCodeObject *code)
{
    struct lpx_note *note = lpx_note_of(engine, code);
    if (__builtin_expect(note != NULL && engine->active && engine->active->next_active == NULL &&
                             note->first.session == engine->active->serial,
                         1))
        return note;
    if (lpx_lines_undecided(engine, note)) lpx_lines_decide(engine, code);
    return lpx_note_of(engine, code);
}

static void on_call(struct tracer *tracer, PyFrameObject *frame)
{
    uint64_t now = lp__ticks();
    struct lpx_line_engine *engine = tracer->engine; /* deciding may take it off the tracer */
    PyCodeObject *code = code_of(frame);
    struct lpx_note *note = decided(engine, code);
    const void *id = identity(frame);
    struct lp_line_thread *thread;
    bool opcodes = false;
    tracer->ignored = lpx_lines_wanted(engine, note) ? NULL : id;
    if (tracer->ignored)
        return; /* a thread that never runs watched code gets no state, a process without one no file */
    for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant) {
        struct lp_line_code *line_code = lpx_verdict(note, lpx_line_session_of(thread));
        if (line_code == NULL) continue;
        if (goes_on(frame, code))
            lp__line_enter(thread, id, code, line_code, now, LP_LINE_GOES_ON);
        else if (!lp__line_call(thread, id, code, line_code, now))
            lp__line_enter(thread, id, code, line_code, now, LP_LINE_STARTS);
        opcodes |= line_code->slots.branch_count > 0;
    }
    if (opcodes) trace_opcodes(frame);
}

/* Several sessions, or a frame that is not on top of the shadow stack. */
static __attribute__((noinline)) void line_of_any(struct tracer *tracer, const void *id, PyFrameObject *frame,
                                                  uint64_t now)
{
    struct lpx_line_engine *engine = tracer->engine;
    PyCodeObject *code = code_of(frame);
    struct lpx_note *note = decided(engine, code);
    struct lp_line_thread *thread;
    if (!lpx_lines_wanted(engine, note)) {
        tracer->ignored = id;
        return;
    }
    for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant) {
        struct lp_line_code *line_code = lpx_verdict(note, lpx_line_session_of(thread));
        if (line_code == NULL) continue;
        if (thread->top->frame != id) {
            lp__line_find(thread, id, code, line_code, now);
            if (line_code->slots.branch_count) trace_opcodes(frame);
        }
        if (thread->top->frame == id) lp__line_event(thread, thread->top, unit_of(frame), now);
    }
}

static void on_line(struct tracer *tracer, PyFrameObject *frame)
{
    const void *id = identity(frame);
    struct lp_line_thread *thread;
    if (id == tracer->ignored) return;
    thread = lp__lines_peek();
    if (__builtin_expect(thread == NULL || thread->next_of_tenant != NULL || thread->top->frame != id, 0))
        line_of_any(tracer, id, frame, lp__ticks());
    else if (thread->fresh == thread->top)
        lp__line_first(thread, thread->top, unit_of(frame));
    else
        lp__line_event(thread, thread->top, unit_of(frame), lp__ticks());
}

/* Left for good or only for a while: the opcode tells. */
static void on_return(struct tracer *tracer, PyFrameObject *frame, PyObject *value)
{
    uint64_t now = lp__ticks();
    PyCodeObject *code = code_of(frame);
    const void *id = identity(frame);
    bool is_ignored = tracer->ignored == id, stays;
    struct lp_line_thread *thread;
    tracer->ignored = NULL;
    if (is_ignored || !lpx_lines_wanted(tracer->engine, lpx_note_of(tracer->engine, code))) return;
    stays = value && suspends(frame, code);
    for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant)
        if (stays || !lp__line_return(thread, id, now)) lp__line_leave(thread, id, now, stays);
}

/* A conditional jump's side is told by where the frame is next.  False: we did not ask for this event. */
static bool on_opcode(struct tracer *tracer, PyFrameObject *frame)
{
    struct lpx_note *note = lpx_note_of(tracer->engine, code_of(frame));
    uint32_t unit = unit_of(frame);
    const void *id = identity(frame);
    struct lp_line_thread *thread;
    if (tracer->jump_frame == frame)
        for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant)
            lp__line_branch(thread, id, tracer->jump_unit, unit);
    tracer->jump_frame = frame;
    tracer->jump_unit = unit;
    return note && note->first.code && note->first.code->slots.branch_count;
}

static int ask_before(struct tracer *tracer, PyFrameObject *frame, int what, PyObject *arg)
{
    PyObject *object = tracer->before_object;
    int result;
    if (tracer->before == NULL) return 0;
    Py_XINCREF(object);
    result = tracer->before(object, frame, what, arg);
    Py_XDECREF(object);
    return result;
}

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    struct tracer *tracer = (struct tracer *)object;
    bool ours = false;
    int result;
    Py_INCREF(tracer); /* deciding lets other threads run, which may take it out of here */
    if (tracer->engine) {
        if (what == PyTrace_LINE)
            on_line(tracer, frame);
        else if (what == PyTrace_CALL)
            on_call(tracer, frame);
        else if (what == PyTrace_RETURN)
            on_return(tracer, frame, arg);
        else if (what == PyTrace_OPCODE)
            ours = on_opcode(tracer, frame);
    }
    result = ours ? 0 : ask_before(tracer, frame, what, arg);
    Py_DECREF(tracer);
    return result;
}

/* -- putting it into threads ------------------------------------------------------------------------------------- */

static bool is_ours(const PyThreadState *tstate)
{
    return tstate->c_tracefunc == on_event;
}

static bool trace_thread(struct lpx_line_engine *engine, PyThreadState *tstate)
{
    struct tracer *tracer;
    bool ok;
    if (is_ours(tstate) && ((struct tracer *)tstate->c_traceobj)->engine) {
        ((struct tracer *)tstate->c_traceobj)->ignored = NULL; /* a session that has just started may watch it */
        return true;
    }
    tracer = PyObject_New(struct tracer, engine->tracer_type);
    if (tracer == NULL) return false;
    tracer->engine = engine;
    tracer->before = tstate->c_tracefunc;
    tracer->before_object = tstate->c_traceobj;
    Py_XINCREF(tracer->before_object);
    tracer->ignored = NULL;
    tracer->jump_frame = NULL;
    tracer->jump_unit = 0;
    ok = _PyEval_SetTrace(tstate, on_event, (PyObject *)tracer) == 0;
    Py_DECREF(tracer);
    return ok;
}

/* Whoever stood there before does so again, unless somebody else has come meanwhile. */
static void leave_thread(PyThreadState *tstate)
{
    struct tracer *tracer;
    if (!is_ours(tstate)) return;
    tracer = (struct tracer *)tstate->c_traceobj;
    Py_INCREF(tracer);
    tracer->engine = NULL;
    (void)_PyEval_SetTrace(tstate, tracer->before, tracer->before_object);
    Py_DECREF(tracer);
}

static void each_thread(struct lpx_line_engine *engine, bool on)
{
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate; tstate = PyThreadState_Next(tstate)) {
        if (on)
            (void)trace_thread(engine, tstate);
        else
            leave_thread(tstate);
        PyErr_Clear();
    }
}

/* The interpreter's trampoline to our hook stands where the thread's tracer should: whoever was threading's hook before
 * us takes its place, and we stand in front of that. */
static bool stand_back(const struct tracer *hook)
{
    PyObject *before = hook->engine->thread_hook, *settrace = PySys_GetObject("settrace"), *result;
    if (before == NULL || before == Py_None || settrace == NULL) return _PyEval_SetTrace(lpx_tstate(), NULL, NULL) == 0;
    result = PyObject_CallFunctionObjArgs(settrace, before, NULL);
    Py_XDECREF(result);
    return result != NULL;
}

/* What threading.settrace is given: the first call of it in a new thread puts the real one there. */
static PyObject *thread_begins(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct tracer *hook = (struct tracer *)object;
    PyThreadState *tstate = lpx_tstate();
    (void)kwargs;
    if (hook->engine == NULL || hook->engine->active == NULL) Py_RETURN_NONE;
    if (!stand_back(hook) || !trace_thread(hook->engine, tstate)) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    if (PyTuple_GET_SIZE(args) && PyFrame_Check(PyTuple_GET_ITEM(args, 0)))
        (void)on_event(tstate->c_traceobj, (PyFrameObject *)PyTuple_GET_ITEM(args, 0), PyTrace_CALL, Py_None);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static void tracer_dealloc(PyObject *object)
{
    struct tracer *tracer = (struct tracer *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(tracer->before_object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyType_Slot tracer_slots[] = {
    {Py_tp_dealloc, tracer_dealloc},
    {Py_tp_call, thread_begins},
    {0, NULL},
};

static PyType_Spec tracer_spec = {
    .name = "lineprofiler._core.LineTracer",
    .basicsize = sizeof(struct tracer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = tracer_slots,
};

int lpx_lines_mechanism_init(PyObject *module, struct lpx_line_engine *engine)
{
    engine->tracer_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &tracer_spec, NULL);
    return engine->tracer_type ? 0 : -1;
}

/* -- threads to come --------------------------------------------------------------------------------------------- */

/* threading keeps the hook in a module variable; the module is not imported for it: a program without it makes its
 * threads without it too. */
static PyObject *threading_module(void) /* borrowed */
{
    PyObject *modules = PyImport_GetModuleDict();
    return modules ? PyDict_GetItemString(modules, "threading") : NULL;
}

static void hook_threads(struct lpx_line_engine *engine)
{
    PyObject *threading = threading_module();
    struct tracer *hook = threading ? PyObject_New(struct tracer, engine->tracer_type) : NULL;
    if (hook) {
        memset((char *)hook + sizeof(PyObject), 0, sizeof *hook - sizeof(PyObject));
        hook->engine = engine;
        Py_XSETREF(engine->thread_hook, PyObject_GetAttrString(threading, "_trace_hook"));
        if (PyObject_SetAttrString(threading, "_trace_hook", (PyObject *)hook) == 0)
            Py_XSETREF(engine->tracer, Py_NewRef((PyObject *)hook));
        Py_DECREF(hook);
    }
    PyErr_Clear();
}

static void unhook_threads(struct lpx_line_engine *engine)
{
    PyObject *threading = threading_module();
    PyObject *now = threading ? PyObject_GetAttrString(threading, "_trace_hook") : NULL;
    if (now && now == engine->tracer)
        (void)PyObject_SetAttrString(threading, "_trace_hook", engine->thread_hook ? engine->thread_hook : Py_None);
    if (engine->tracer) ((struct tracer *)engine->tracer)->engine = NULL;
    Py_XDECREF(now);
    Py_CLEAR(engine->tracer);
    Py_CLEAR(engine->thread_hook);
    PyErr_Clear();
}

/* -- what the rest of the engine asks for ------------------------------------------------------------------------- */

int lpx_lines_arm(struct lpx_line_engine *engine)
{
    hook_threads(engine);
    return 0;
}

void lpx_lines_disarm(struct lpx_line_engine *engine)
{
    struct lpx_error error = lpx_error_hide();
    each_thread(engine, false);
    unhook_threads(engine);
    lpx_error_restore(error);
}

void lpx_lines_again(struct lpx_line_engine *engine)
{
    struct lpx_error error = lpx_error_hide();
    each_thread(engine, true);
    lpx_error_restore(error);
}

void lpx_lines_watch(struct lpx_line_engine *engine, struct lpx_note *note, const struct lp_line_code *code)
{
    (void)engine;
    (void)code;
    note->armed = true; /* everything is traced already */
}

uint64_t lpx_lines_unobserved(const struct lpx_line_engine *engine)
{
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    uint64_t count = 0;
    (void)engine;
    for (; tstate; tstate = PyThreadState_Next(tstate))
        count += !is_ours(tstate);
    return count;
}

#endif
