/* LineSession: the line engine as a Python object. */
// SPDX-License-Identifier: MIT
#include "lines.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "opcodes.h"

static struct lpx_line_engine *engine_of(const struct lpx_line_session *session)
{
    return session->state->lines;
}

/* The activation that called this one, for the core. */
static const void *caller_of(const void *frame)
{
    return lpx_frame_up((struct lpx_frame *)(uintptr_t)frame);
}
static const struct lp_line_host host = {caller_of};

static bool have_opcodes(struct lpx_line_engine *engine)
{
    if (!engine->opcodes_known) engine->opcodes_known = lpx_opcode_table(&engine->opcodes) == 0;
    return engine->opcodes_known;
}

/* -- life -------------------------------------------------------------------------------------------------------- */

static bool all_callable(PyObject *const *objects, const char *const *names, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (PyCallable_Check(objects[i])) continue;
        PyErr_Format(PyExc_TypeError, "%s must be callable", names[i]);
        return false;
    }
    return true;
}

/* Of all interpreters: a note of one must not be taken for another's. */
static _Atomic(uint64_t) last_serial;

static bool fill_session(struct lpx_line_session *self, PyObject *recording, PyObject *const *callables)
{
    self->recording = Py_NewRef(recording);
    self->admit_file = Py_NewRef(callables[0]);
    self->admit_function = Py_NewRef(callables[1]);
    self->source = Py_NewRef(callables[2]);
    self->files = PyDict_New();
    self->outside = PyDict_New();
    self->added = PyDict_New();
    self->codes = PyList_New(0);
    if (!self->files || !self->outside || !self->added || !self->codes) return false;
    self->serial = atomic_fetch_add(&last_serial, 1) + 1;
    self->core = lp__line_session_new(lpx_recording_get(recording), &host, self);
    if (self->core == NULL) PyErr_NoMemory();
    return self->core != NULL;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"recording", "admit_file", "admit_function", "source", NULL};
    static const char *const names[] = {"admit_file", "admit_function", "source"};
    struct lpx_state *state = PyType_GetModuleState(type);
    PyObject *recording, *callables[3];
    struct lpx_line_session *self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!$OOO:LineSession", keywords, state->recording_type, &recording,
                                     &callables[0], &callables[1], &callables[2]) ||
        !all_callable(callables, names, 3))
        return NULL;
    if (lpx_notes_init(state->lines) || !have_opcodes(state->lines)) return NULL;
    self = (struct lpx_line_session *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->state = state;
    if (!fill_session(self, recording, callables)) Py_CLEAR(self);
    return (PyObject *)self;
}

static int session_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->recording);
    Py_VISIT(self->admit_file);
    Py_VISIT(self->admit_function);
    Py_VISIT(self->source);
    Py_VISIT(self->files);
    Py_VISIT(self->outside);
    Py_VISIT(self->added);
    Py_VISIT(self->codes);
    return 0;
}

static int session_clear(PyObject *object)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    Py_CLEAR(self->recording);
    Py_CLEAR(self->admit_file);
    Py_CLEAR(self->admit_function);
    Py_CLEAR(self->source);
    Py_CLEAR(self->files);
    Py_CLEAR(self->outside);
    Py_CLEAR(self->added);
    Py_CLEAR(self->codes);
    lpx_region_forget(self);
    return 0;
}

static void session_dealloc(PyObject *object)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    lp__line_session_free(self->core); /* an active one holds itself, so it is not */
    (void)session_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* -- start and stop ---------------------------------------------------------------------------------------------- */

static PyObject *session_start(PyObject *object, PyObject *unused)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    struct lpx_line_engine *engine = engine_of(self);
    (void)unused;
    if (lp__line_session_is_active(self->core)) {
        PyErr_SetString(PyExc_RuntimeError, "this profiler is active already; it cannot be entered twice");
        return NULL;
    }
    if (engine->active == NULL && lpx_lines_arm(engine)) return NULL;
    self->next_active = engine->active;
    engine->active = (struct lpx_line_session *)Py_NewRef(object);
    lp__line_session_start(self->core);
    lpx_lines_again(engine);
    Py_RETURN_NONE;
}

static void take_off(struct lpx_line_engine *engine, struct lpx_line_session *session)
{
    struct lpx_line_session **link;
    for (link = &engine->active; *link; link = &(*link)->next_active) {
        if (*link != session) continue;
        *link = session->next_active;
        Py_DECREF(session);
        return;
    }
}

static PyObject *session_stop(PyObject *object, PyObject *unused)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    struct lpx_line_engine *engine = engine_of(self);
    (void)unused;
    if (!lp__line_session_is_active(self->core)) Py_RETURN_NONE;
    self->unobserved += lpx_lines_unobserved(engine);
    Py_INCREF(object);
    lp__line_session_stop(self->core);
    take_off(engine, self);
    if (engine->active == NULL) lpx_lines_disarm(engine);
    Py_DECREF(object);
    Py_RETURN_NONE;
}

/* -- questions --------------------------------------------------------------------------------------------------- */

static PyObject *session_settle(PyObject *object, PyObject *unused)
{
    (void)unused;
    lp__line_session_settle(((struct lpx_line_session *)object)->core);
    Py_RETURN_NONE;
}

static PyObject *session_reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    lp__line_session_clear(((struct lpx_line_session *)object)->core);
    PyDict_Clear(((struct lpx_line_session *)object)->outside);
    Py_RETURN_NONE;
}

static PyObject *session_add(PyObject *object, PyObject *code)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    PyObject *key;
    if (!PyCode_Check(code)) {
        PyErr_Format(PyExc_TypeError, "add() takes a code object, not %.100s", Py_TYPE(code)->tp_name);
        return NULL;
    }
    key = PyLong_FromVoidPtr(code); /* code objects with equal contents are equal: it is this one that counts */
    if (key == NULL || PyDict_SetItem(self->added, key, code)) {
        Py_XDECREF(key);
        return NULL;
    }
    Py_DECREF(key);
    if (lp__line_session_is_active(self->core)) lpx_lines_again(engine_of(self));
    Py_RETURN_NONE;
}

static PyObject *session_outside(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyDict_Copy(((struct lpx_line_session *)object)->outside);
}

static PyObject *session_codes(PyObject *object, PyObject *unused)
{
    PyObject *codes = ((struct lpx_line_session *)object)->codes;
    (void)unused;
    return PyList_GetSlice(codes, 0, PyList_GET_SIZE(codes));
}

static PyObject *session_put_sums(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    struct lp_line_code *code;
    if (count != 2 || !PyCode_Check(args[0]) || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "put_sums() takes a code object and bytes");
        return NULL;
    }
    /* Decided again where the verdict was given up, and of code that only a child has run. */
    code = lpx_line_code(engine_of(self), self, (PyCodeObject *)args[0]);
    if (code) lp__line_sums(self->core, code, PyBytes_AS_STRING(args[1]), (size_t)PyBytes_GET_SIZE(args[1]));
    return PyBool_FromLong(code && code->has_sums);
}

static PyObject *get_active(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(lp__line_session_is_active(((struct lpx_line_session *)object)->core));
}

static PyObject *get_mechanism(PyObject *object, void *unused)
{
    (void)object;
    (void)unused;
    return PyUnicode_FromString(LPX_LINE_MECHANISM);
}

static PyObject *get_unobserved(PyObject *object, void *unused)
{
    struct lpx_line_session *self = (struct lpx_line_session *)object;
    uint64_t count = self->unobserved;
    (void)unused;
    if (lp__line_session_is_active(self->core)) count += lpx_lines_unobserved(engine_of(self));
    return PyLong_FromUnsignedLongLong(count);
}

/* Measured by Python code that runs a loop with and without a session of its own; not while one is active. */
static double measured_cost(void)
{
    PyObject *module = PyImport_ImportModule("lineprofiler._lines.cost");
    PyObject *cost = module ? PyObject_CallMethod(module, "measure", NULL) : NULL;
    double ns = cost ? PyFloat_AsDouble(cost) : 0;
    Py_XDECREF(module);
    Py_XDECREF(cost);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return ns;
}

static PyObject *get_cost(PyObject *object, void *unused)
{
    struct lpx_line_engine *engine = engine_of((struct lpx_line_session *)object);
    (void)unused;
    if (engine->event_cost_ns <= 0 && engine->active == NULL) engine->event_cost_ns = measured_cost();
    return PyFloat_FromDouble(engine->event_cost_ns);
}

/* -- the type ---------------------------------------------------------------------------------------------------- */

static PyMethodDef session_methods[] = {
    {"start", session_start, METH_NOARGS, "Record from now on, on every thread."},
    {"stop", session_stop, METH_NOARGS, "Record no more; what was counted stays."},
    {"settle", session_settle, METH_NOARGS, "Bring the time of what runs up to now into the store."},
    {"clear", session_reset, METH_NOARGS, "Forget what was counted."},
    {"add", session_add, METH_O, "Watch this code object, whatever the scope says."},
    {"region", lpx_region_new, METH_O, "A context manager: lines inside belong to the named region."},
    {"outside", session_outside, METH_NOARGS, "Functions entered outside the scope, by file."},
    {"codes", session_codes, METH_NOARGS, "The code objects that were met in scope."},
    {"put_sums", (PyCFunction)(void (*)(void))session_put_sums, METH_FASTCALL,
     "Keep how a code object's counters add up to its statements."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef session_getset[] = {
    {"active", get_active, NULL, "Whether it records.", NULL},
    {"mechanism", get_mechanism, NULL, "'monitoring' or 'settrace'.", NULL},
    {"unobserved_threads", get_unobserved, NULL, "Threads that could not be reached.", NULL},
    {"event_cost_ns", get_cost, NULL, "What one line event costs, measured once per process; 0 unknown.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef session_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct lpx_line_session, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_new, session_new},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_traverse, session_traverse},
    {Py_tp_clear, session_clear},
    {Py_tp_methods, session_methods},
    {Py_tp_getset, session_getset},
    {Py_tp_members, session_members},
    {Py_tp_doc, "LineSession(recording, *, admit_file, admit_function, source)\n--\n\n"
                "One line profiler: counts lines of what is in its scope into a recording."},
    {0, NULL},
};

static PyType_Spec session_spec = {
    .name = "lineprofiler._core.LineSession",
    .basicsize = sizeof(struct lpx_line_session),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = session_slots,
};

int lpx_lines_init(PyObject *module, struct lpx_state *state)
{
    struct lpx_line_engine *engine = PyMem_Calloc(1, sizeof *engine);
    if (engine == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    state->lines = engine;
    engine->extra_index = -1;
    engine->notes.next = engine->notes.previous = &engine->notes;
    engine->session_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &session_spec, NULL);
    if (engine->session_type == NULL || lpx_region_init(module, state) || lpx_lines_mechanism_init(module, engine))
        return -1;
    return PyModule_AddType(module, engine->session_type);
}

int lpx_lines_traverse(struct lpx_state *state, visitproc visit, void *arg)
{
    struct lpx_line_engine *engine = state->lines;
    if (engine == NULL) return 0;
    Py_VISIT(engine->session_type);
    Py_VISIT(engine->region_type);
    Py_VISIT(engine->tracer_type);
    Py_VISIT(engine->disable);
    Py_VISIT(engine->tracer);
    Py_VISIT(engine->thread_hook);
    return lpx_tool_traverse(&engine->tool, visit, arg);
}

void lpx_lines_release(struct lpx_state *state)
{
    struct lpx_line_engine *engine = state->lines;
    if (engine == NULL) return;
    lpx_notes_leave(engine);
    Py_CLEAR(engine->session_type);
    lpx_region_release(engine);
    Py_CLEAR(engine->tracer_type);
    lpx_tool_release(&engine->tool);
    Py_CLEAR(engine->disable);
    Py_CLEAR(engine->tracer);
    Py_CLEAR(engine->thread_hook);
}

void lpx_lines_free(struct lpx_state *state)
{
    lpx_lines_release(state);
    PyMem_Free(state->lines);
    state->lines = NULL;
}
