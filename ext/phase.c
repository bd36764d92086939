/* The phase object: `with phase("x")`, `async with`, decorator, kept and entered again.
 *
 * Below Python 3.14 a `with` statement binds __enter__ and __exit__ to the object before it calls them, two objects
 * made and dropped for each entry.  Here both are a descriptor that answers the instance itself, and the instance is
 * callable: no argument enters, three exit, one decorates.  From 3.14 on the statement does not bind, and plain
 * methods are faster. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <stddef.h>
#include <string.h>

#include <structmember.h>

#include "frames.h"

#define EVERY_ENTRY 65536u

struct lpx_phase {
    PyObject_HEAD vectorcallfunc call;
    struct lpx_state *state;
    PyObject *name;             /* owned; NULL on the free list */
    struct lp_recording *bound; /* the recording it belongs to, or NULL: whatever is installed */
    PyObject *bound_object;     /* owned; keeps `bound` alive */
    struct lpx_entry entry;     /* the open one, or the outermost of several */
    struct lpx_entry *more;     /* further ones; NULL mostly */
    Py_ssize_t more_count, more_cap;
    struct lpx_how how;
    double sample;
    bool io, sync, async_work;
    struct lpx_phase *next_free;
};

/* -- entries ----------------------------------------------------------------------------------------------------- */

/* sample=: true when this entry is one to leave out; `*node` is then its path. */
static bool leaves_out(struct lp_thread *thread, lp_name_id id, uint64_t stride, struct lp_tree_node **node)
{
    if (thread->top->flags & LP_SCOPE_SKIPPED) return false; /* lp__begin sees to it */
    *node = lp__tree_child(thread, thread->top->node, id);
    return lp__sample_leaves_out(thread, *node, stride);
}

bool lpx_begin(struct lpx_state *state, struct lp_recording *recording, PyObject *name, const struct lpx_how *how,
               struct lpx_frame *frame, struct lpx_entry *entry)
{
    lp_name_id id = lpx_name_id(state, recording, name);
    struct lp_tree_node *node = NULL;
    struct lp_thread *thread;
    struct lp_owner *owner = NULL;
    uint32_t flags = how->flags;
    entry->scope = NULL;
    if (__builtin_expect(id == 0, 0)) return PyErr_Occurred() == NULL;
    thread = lp__thread_of(recording);
    if (__builtin_expect(thread == NULL, 0)) return true;
    entry->recording = recording;
    entry->opener = frame;
    if (__builtin_expect(!lpx_entry_is_plain(&state->hosts, thread, frame), 0))
        owner = lpx_owner_of_entry(&state->hosts, thread, frame, &flags);
    if (__builtin_expect(how->stride != EVERY_ENTRY, 0) && leaves_out(thread, id, how->stride, &node))
        entry->scope = lp__scope_push_skipped(thread, node, owner);
    else
        entry->scope = lp__begin(thread, id, owner, flags);
    if (__builtin_expect(owner != NULL, 0)) lp__owner_discard_if_empty(owner);
    if (__builtin_expect(entry->scope != NULL, 1)) entry->serial = entry->scope->serial;
    return true;
}

void lpx_end_slow(struct lpx_entry *entry)
{
    struct lp_thread *thread = lp__tls_thread;
    if (thread && atomic_load_explicit(&thread->recording, memory_order_relaxed) == entry->recording)
        lpx_before_end(thread);
    (void)lp__end_handle(entry->recording, entry->scope, entry->serial);
}

void lpx_end_left_open(struct lpx_entry *entry)
{
    struct lp_thread *thread;
    if (entry->scope == NULL) return;
    if (!lp__scope_is_open(entry->scope, entry->serial)) { /* its frame ended it: nobody asks for a second end */
        entry->scope = NULL;
        return;
    }
    thread = lp__thread_find(entry->recording);
    if (lp__end_handle(entry->recording, entry->scope, entry->serial) && thread) lp__drop(thread, LP_DROP_LEFT_OPEN);
    entry->scope = NULL;
}

static bool push_entry(struct lpx_phase *self, const struct lpx_entry *entry)
{
    if (self->more_count == self->more_cap) {
        Py_ssize_t cap = self->more_cap ? self->more_cap * 2 : 4;
        struct lpx_entry *more = PyMem_Realloc(self->more, (size_t)cap * sizeof *more);
        if (more == NULL) return false;
        self->more = more;
        self->more_cap = cap;
    }
    self->more[self->more_count++] = *entry;
    return true;
}

static PyObject *enter_again(struct lpx_phase *self, struct lp_recording *recording)
{
    struct lpx_entry entry;
    if (!lpx_begin(self->state, recording, self->name, &self->how, lpx_current_frame(), &entry)) return NULL;
    if (entry.scope && !push_entry(self, &entry)) lpx_end_left_open(&entry);
    return Py_NewRef((PyObject *)self);
}

static inline PyObject *phase_enter(struct lpx_phase *self)
{
    struct lp_recording *recording = self->bound ? self->bound : lpx_installed(self->state);
    if (recording == NULL) {
        self->state->idle_uses++;
        return Py_NewRef((PyObject *)self);
    }
    if (__builtin_expect(self->entry.scope != NULL, 0)) return enter_again(self, recording);
    if (!lpx_begin(self->state, recording, self->name, &self->how, lpx_current_frame(), &self->entry)) return NULL;
    return Py_NewRef((PyObject *)self);
}

/* Which of several open entries an exit closes: the innermost one that this frame opened, else the innermost that runs
 * on this thread.  -1: the first entry; -2: none can be told. */
static Py_ssize_t entry_to_close(struct lpx_phase *self)
{
    void *frame = lpx_current_frame();
    struct lp_thread *thread = lp__tls_thread;
    Py_ssize_t i;
    for (i = self->more_count - 1; i >= 0; i--)
        if (self->more[i].opener == frame && self->more[i].scope->thread == thread) return i;
    if (self->entry.opener == frame && self->entry.scope->thread == thread) return -1;
    for (i = self->more_count - 1; i >= 0; i--)
        if (self->more[i].scope->thread == thread && self->more[i].scope->state == LP_SCOPE_RUNNING) return i;
    if (self->entry.scope->thread == thread && self->entry.scope->state == LP_SCOPE_RUNNING) return -1;
    return -2;
}

static void drop_unmatched(struct lpx_phase *self)
{
    struct lp_recording *recording = self->bound ? self->bound : lpx_installed(self->state);
    struct lp_thread *thread = recording ? lp__thread_of(recording) : NULL;
    if (thread) lp__drop(thread, LP_DROP_END_WITHOUT_BEGIN);
}

static void exit_one_of_many(struct lpx_phase *self)
{
    Py_ssize_t i = entry_to_close(self);
    struct lpx_entry entry;
    if (i == -2) {
        drop_unmatched(self);
        return;
    }
    entry = i == -1 ? self->entry : self->more[i];
    if (i == -1) {
        self->entry = self->more[0];
        i = 0;
    }
    self->more_count--;
    memmove(&self->more[i], &self->more[i + 1], (size_t)(self->more_count - i) * sizeof *self->more);
    lpx_end(&entry);
}

static inline void phase_exit(struct lpx_phase *self)
{
    if (__builtin_expect(self->more_count != 0, 0))
        exit_one_of_many(self);
    else if (self->entry.scope)
        lpx_end(&self->entry);
}

/* -- decorating -------------------------------------------------------------------------------------------------- */

static PyObject *phase_arguments(struct lpx_phase *self)
{
    return Py_BuildValue("(OOOdO)", self->name, self->io ? Py_True : Py_False, self->sync ? Py_True : Py_False,
                         self->sample, self->async_work ? Py_True : Py_False);
}

static bool is_plain_function(PyObject *function)
{
    PyCodeObject *code;
    if (!PyFunction_Check(function)) return false;
    code = (PyCodeObject *)PyFunction_GET_CODE(function);
    return (code->co_flags & (LPX_GENERATOR_FLAGS | CO_ITERABLE_COROUTINE)) == 0;
}

static PyObject *decorate_in_python(struct lpx_phase *self, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("lineprofiler.accounting._decorate"), *arguments, *result = NULL;
    if (module == NULL) return NULL;
    arguments = phase_arguments(self);
    if (arguments)
        result = PyObject_CallMethod(module, "wrap", "OOO", arguments,
                                     self->bound_object ? self->bound_object : Py_None, function);
    Py_XDECREF(arguments);
    Py_DECREF(module);
    return result;
}

static PyObject *phase_decorate(struct lpx_phase *self, PyObject *function)
{
    if (self->state->decorators_off && self->bound == NULL) {
        self->state->decorated_while_off++;
        return Py_NewRef(function);
    }
    if (is_plain_function(function)) return lpx_function_wrap(self->state, (PyObject *)self, function);
    return decorate_in_python(self, function);
}

/* -- calling ----------------------------------------------------------------------------------------------------- */

static PyObject *phase_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    struct lpx_phase *self = (struct lpx_phase *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (names == NULL || PyTuple_GET_SIZE(names) == 0) {
#if LPX_SELF_CALLABLE
        if (count == 0) return phase_enter(self);
        if (count == 3) {
            phase_exit(self);
            Py_RETURN_NONE;
        }
#endif
        if (count == 1) return phase_decorate(self, args[0]);
    }
    PyErr_SetString(PyExc_TypeError, "a phase is used in a with statement, or decorates one function");
    return NULL;
}

#if LPX_SELF_CALLABLE
/* What __enter__ and __exit__ are in the type's dictionary: asked of an instance, it answers the instance; asked of the
 * class, itself, to be called with the object first. */
struct lpx_method {
    PyObject_HEAD vectorcallfunc call;
    const PyTypeObject *type; /* whose it is; only compared */
};

static PyObject *method_get(PyObject *self, PyObject *instance, PyObject *type)
{
    (void)type;
    return Py_NewRef(instance ? instance : self);
}

static PyObject *method_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (count < 1 || !PyObject_TypeCheck(args[0], (PyTypeObject *)((struct lpx_method *)self)->type)) {
        PyErr_SetString(PyExc_TypeError, "the first argument must be what the method is of");
        return NULL;
    }
    return PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1), names);
}

static void method_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct lpx_method, call), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};

static PyType_Slot method_slots[] = {{Py_tp_descr_get, method_get},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {Py_tp_members, method_members},
                                     {Py_tp_dealloc, method_dealloc},
                                     {0, NULL}};
static PyType_Spec method_spec = {"lineprofiler._core.phase_method", sizeof(struct lpx_method), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  method_slots};
#else
static PyObject *phase_enter_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    return phase_enter((struct lpx_phase *)self);
}

static PyObject *phase_exit_method(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    phase_exit((struct lpx_phase *)self);
    Py_RETURN_NONE;
}
#endif

/* -- async with -------------------------------------------------------------------------------------------------- */

/* The entry happens when __aenter__ is called; what it returns is done at once and gives None: an awaitable that gave
 * the phase would have to raise it in an exception on most versions, which costs more than the entry. */
static PyObject *phase_aenter(PyObject *self, PyObject *unused)
{
    struct lpx_phase *phase = (struct lpx_phase *)self;
    PyObject *entered = phase_enter(phase);
    (void)unused;
    if (entered == NULL) return NULL;
    Py_DECREF(entered);
    return Py_NewRef(phase->state->done);
}

static PyObject *phase_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct lpx_phase *phase = (struct lpx_phase *)self;
    (void)args;
    (void)count;
    phase_exit(phase);
    return Py_NewRef(phase->state->done);
}

static PySendResult done_send(PyObject *self, PyObject *value, PyObject **result)
{
    (void)self;
    (void)value;
    *result = Py_NewRef(Py_None);
    return PYGEN_RETURN;
}

static PyObject *done_next(PyObject *self)
{
    (void)self;
    return NULL; /* StopIteration(None) */
}

static void done_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot done_slots[] = {{Py_am_await, PyObject_SelfIter}, {Py_am_send, done_send},
                                   {Py_tp_iter, PyObject_SelfIter},  {Py_tp_iternext, done_next},
                                   {Py_tp_dealloc, done_dealloc},    {0, NULL}};
static PyType_Spec done_spec = {"lineprofiler._core.done", sizeof(PyObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, done_slots};

/* -- making and dropping ----------------------------------------------------------------------------------------- */

static struct lpx_phase *phase_alloc(struct lpx_state *state)
{
    struct lpx_phase *self = state->free_phases;
    if (__builtin_expect(self != NULL, 1)) {
        state->free_phases = self->next_free;
        state->free_phase_count--;
        _Py_NewReference((PyObject *)self); /* it kept its reference to the type */
        return self;
    }
    self = PyObject_New(struct lpx_phase, state->phase_type);
    if (self == NULL) return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->state = state;
    self->call = phase_call;
    return self;
}

static PyObject *phase_simple(struct lpx_state *state, PyObject *name)
{
    struct lpx_phase *self = phase_alloc(state);
    if (self == NULL) return NULL;
    self->name = Py_NewRef(name);
    self->how.stride = EVERY_ENTRY;
    self->how.flags = 0;
    self->sample = 1.0;
    return (PyObject *)self;
}

static bool set_sample(struct lpx_phase *self, double sample)
{
    if (!(sample > 0.0 && sample <= 1.0)) {
        PyErr_SetString(PyExc_ValueError, "sample must lie in (0, 1]");
        return false;
    }
    self->sample = sample;
    self->how.stride = sample < 1.0 / 4294967296.0 ? (uint64_t)65536 << 32 : (uint64_t)(65536.0 / sample + 0.5);
    return true;
}

static bool later_part(bool asked, const char *option)
{
    if (asked) PyErr_Format(PyExc_NotImplementedError, "phase(%s=True) is not part of this version yet", option);
    return asked;
}

/* The arguments of a phase, by position; NULL where not given. */
enum { NAME, IO, SYNC, SAMPLE, ASYNC_WORK, ARGUMENTS = LPX_PHASE_ARGUMENTS };
static const char *const argument_names[ARGUMENTS] = {"name", "io", "sync", "sample", "async_work"};

/* Which argument a keyword names: by address mostly, for a compiler interns what stands in a call; -1 none. */
static int argument_of(const struct lpx_state *state, PyObject *key)
{
    for (int i = 0; i < ARGUMENTS; i++)
        if (state->argument_names[i] == key) return i;
    for (int i = 0; i < ARGUMENTS; i++)
        if (PyUnicode_CompareWithASCIIString(key, argument_names[i]) == 0) return i;
    return -1;
}

static bool place_keyword(const struct lpx_state *state, PyObject *key, PyObject *value, PyObject **placed)
{
    int i = argument_of(state, key);
    if (i >= 0 && placed[i] == NULL) {
        placed[i] = value;
        return true;
    }
    PyErr_Format(PyExc_TypeError, "phase() got an unexpected or repeated argument %R", key);
    return false;
}

static bool truth_of(PyObject *value, bool *truth)
{
    int rc = value ? PyObject_IsTrue(value) : 0;
    *truth = rc > 0;
    return rc >= 0;
}

static bool set_options(struct lpx_phase *phase, PyObject *const *placed)
{
    bool io, sync;
    double sample = placed[SAMPLE] ? PyFloat_AsDouble(placed[SAMPLE]) : 1.0;
    if (sample == -1.0 && PyErr_Occurred()) return false;
    if (!truth_of(placed[IO], &io) || !truth_of(placed[SYNC], &sync) ||
        !truth_of(placed[ASYNC_WORK], &phase->async_work))
        return false;
    if (phase->async_work) phase->how.flags |= LP_SCOPE_ASYNC;
    return !later_part(io, "io") && !later_part(sync, "sync") && set_sample(phase, sample);
}

static PyObject *phase_placed(struct lpx_state *state, PyObject *const *placed)
{
    PyObject *text, *self;
    if (placed[NAME] == NULL) {
        PyErr_SetString(PyExc_TypeError, "phase() needs a name");
        return NULL;
    }
    text = lpx_name_check(placed[NAME]);
    if (text == NULL) return NULL;
    self = phase_simple(state, text);
    Py_DECREF(text);
    if (self && !set_options((struct lpx_phase *)self, placed)) Py_CLEAR(self);
    return self;
}

static void bind(PyObject *phase, PyObject *recording)
{
    ((struct lpx_phase *)phase)->bound = lpx_recording_get(recording);
    ((struct lpx_phase *)phase)->bound_object = Py_NewRef(recording);
}

/* Whether a bare @phase may stand on this object: a function, or a descriptor that holds one. */
static bool is_decorated(PyObject *object)
{
    return !PyUnicode_Check(object) && (PyCallable_Check(object) || Py_TYPE(object)->tp_descr_get);
}

/* The qualified name of a function; the Python side knows where a property or a partial has its one. */
static PyObject *name_of_function(PyObject *function)
{
    PyObject *module, *name;
    if (PyFunction_Check(function)) return PyObject_GetAttrString(function, "__qualname__");
    module = PyImport_ImportModule("lineprofiler.accounting._decorate");
    name = module ? PyObject_CallMethod(module, "name_of", "O", function) : NULL;
    Py_XDECREF(module);
    return name;
}

/* A bare @phase: the function's qualified name is the phase's. */
static PyObject *decorate_bare(struct lpx_state *state, PyObject *recording, PyObject *function)
{
    PyObject *name = name_of_function(function), *phase = name ? phase_simple(state, name) : NULL, *result = NULL;
    if (phase) {
        if (recording) bind(phase, recording);
        result = phase_decorate((struct lpx_phase *)phase, function);
        Py_DECREF(phase);
    }
    Py_XDECREF(name);
    return result;
}

static PyObject *phase_from_vector(struct lpx_state *state, PyObject *recording, PyObject *const *args,
                                   Py_ssize_t count, PyObject *names)
{
    PyObject *placed[ARGUMENTS] = {NULL};
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0, i;
    if (count == 1 && named == 0 && PyUnicode_CheckExact(args[0])) return phase_simple(state, args[0]);
    if (count == 1 && named == 0 && is_decorated(args[0])) return decorate_bare(state, recording, args[0]);
    if (count > ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "phase() takes at most %d arguments (%zd given)", ARGUMENTS, count);
        return NULL;
    }
    for (i = 0; i < count; i++)
        placed[i] = args[i];
    for (i = 0; i < named; i++)
        if (!place_keyword(state, PyTuple_GET_ITEM(names, i), args[count + i], placed)) return NULL;
    return phase_placed(state, placed);
}

static PyObject *phase_make(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
    struct lpx_state *state = PyType_GetModuleState((PyTypeObject *)type);
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (__builtin_expect(count == 1 && names == NULL && PyUnicode_CheckExact(args[0]), 1))
        return phase_simple(state, args[0]);
    return phase_from_vector(state, NULL, args, count, names);
}

/* type.__new__(phase, …), which nothing but copying machinery calls. */
static PyObject *phase_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *placed[ARGUMENTS] = {NULL}, *key, *value;
    Py_ssize_t at = 0, count = PyTuple_GET_SIZE(args);
    for (Py_ssize_t i = 0; i < count && i < ARGUMENTS; i++)
        placed[i] = PyTuple_GET_ITEM(args, i);
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        if (!place_keyword(PyType_GetModuleState(type), key, value, placed)) return NULL;
    return phase_placed(PyType_GetModuleState(type), placed);
}

PyObject *lpx_phase_bound(struct lpx_state *state, PyObject *recording, PyObject *const *args, size_t nargsf,
                          PyObject *names)
{
    PyObject *self = phase_from_vector(state, recording, args, PyVectorcall_NARGS(nargsf), names);
    if (self && Py_IS_TYPE(self, state->phase_type)) bind(self, recording);
    return self;
}

void lpx_phase_facts(PyObject *object, PyObject **name, struct lpx_how *how, struct lp_recording **bound,
                     PyObject **bound_object)
{
    struct lpx_phase *phase = (struct lpx_phase *)object;
    *name = phase->name;
    *how = phase->how;
    *bound = phase->bound;
    *bound_object = phase->bound_object;
}

static void end_everything(struct lpx_phase *self)
{
    struct lpx_error error = lpx_error_hide();
    while (self->more_count)
        lpx_end_left_open(&self->more[--self->more_count]);
    lpx_end_left_open(&self->entry);
    lpx_error_restore(error);
}

static void phase_free(struct lpx_phase *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static void phase_dealloc(PyObject *object)
{
    struct lpx_phase *self = (struct lpx_phase *)object;
    struct lpx_state *state = self->state;
    if (__builtin_expect(self->entry.scope != NULL || self->more_count, 0)) end_everything(self);
    Py_CLEAR(self->name);
    if (__builtin_expect(self->bound != NULL, 0)) {
        self->bound = NULL;
        Py_CLEAR(self->bound_object);
    }
    if (__builtin_expect(self->more != NULL, 0)) {
        PyMem_Free(self->more);
        self->more = NULL;
        self->more_cap = 0;
    }
    if (state->free_phase_count < LPX_FREE_PHASES) {
        self->next_free = state->free_phases;
        state->free_phases = self;
        state->free_phase_count++;
        self->async_work = false;
    } else {
        phase_free(self);
    }
}

static PyObject *phase_repr(PyObject *object)
{
    return PyUnicode_FromFormat("phase(%R)", ((struct lpx_phase *)object)->name);
}

static PyMemberDef phase_members[] = {
    {"name", T_OBJECT_EX, offsetof(struct lpx_phase, name), READONLY, "Its name."},
    {"sample", T_DOUBLE, offsetof(struct lpx_phase, sample), READONLY, "Share of the entries that is recorded."},
    {"async_work", T_BOOL, offsetof(struct lpx_phase, async_work), READONLY, "Entries are submission time."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct lpx_phase, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef phase_methods[] = {
#if !LPX_SELF_CALLABLE
    {"__enter__", phase_enter_method, METH_NOARGS, "Begin an entry."},
    {"__exit__", (PyCFunction)(void (*)(void))phase_exit_method, METH_FASTCALL, "End it."},
#endif
    {"__aenter__", phase_aenter, METH_NOARGS, "Begin an entry; the awaitable is done at once."},
    {"__aexit__", (PyCFunction)(void (*)(void))phase_aexit, METH_FASTCALL, "End it; the awaitable is done at once."},
    {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(phase_doc, "phase(name, io=False, sync=False, sample=1.0, async_work=False)\n--\n\n"
                        "A named region: context manager, async context manager and decorator.\n\n"
                        "Nothing is recorded unless a profiler is installed.  The object may be kept and entered\n"
                        "again and again, nested in itself and from several threads.\n\n"
                        "Parameters\n----------\n"
                        "name : str\n    Any text; one path of names is one row of the report.\n"
                        "sample : float\n    Share of the entries to record, in (0, 1]; the others are only counted.\n"
                        "async_work : bool\n    Mark the entries as time to submit work, not to do it.\n\n"
                        "Raises\n------\n"
                        "TypeError\n    For a name that is not a str.\n"
                        "ValueError\n    For a sample outside (0, 1]; under strict_names for a second name that\n"
                        "    differs only in digits.");

static PyType_Slot phase_slots[] = {{Py_tp_new, phase_new},         {Py_tp_call, PyVectorcall_Call},
                                    {Py_tp_dealloc, phase_dealloc}, {Py_tp_repr, phase_repr},
                                    {Py_tp_members, phase_members}, {Py_tp_methods, phase_methods},
                                    {Py_tp_doc, (void *)phase_doc}, {0, NULL}};
static PyType_Spec phase_spec = {"lineprofiler._core.phase", sizeof(struct lpx_phase), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                                 phase_slots};

#if LPX_SELF_CALLABLE
int lpx_self_methods(struct lpx_state *state, PyTypeObject *type)
{
    PyObject *method = (PyObject *)PyObject_New(struct lpx_method, state->method_type);
    int rc;
    if (method == NULL) return -1;
    ((struct lpx_method *)method)->call = method_call;
    ((struct lpx_method *)method)->type = type;
    rc = PyDict_SetItemString(type->tp_dict, "__enter__", method);
    if (rc == 0) rc = PyDict_SetItemString(type->tp_dict, "__exit__", method);
    PyType_Modified(type);
    Py_DECREF(method);
    return rc;
}
#endif

static bool intern_arguments(struct lpx_state *state)
{
    for (int i = 0; i < ARGUMENTS; i++)
        if ((state->argument_names[i] = PyUnicode_InternFromString(argument_names[i])) == NULL) return false;
    return true;
}

int lpx_phase_init(PyObject *module, struct lpx_state *state)
{
    if (!intern_arguments(state)) return -1;
    state->phase_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &phase_spec, NULL);
    if (state->phase_type == NULL) return -1;
    state->phase_type->tp_vectorcall = phase_make;
#if LPX_SELF_CALLABLE
    state->method_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &method_spec, NULL);
    if (state->method_type == NULL || lpx_self_methods(state, state->phase_type)) return -1;
#endif
    state->done_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &done_spec, NULL);
    if (state->done_type == NULL) return -1;
    state->done = (PyObject *)PyObject_New(PyObject, state->done_type);
    if (state->done == NULL) return -1;
    return PyModule_AddType(module, state->phase_type);
}

void lpx_phase_release(struct lpx_state *state)
{
    for (int i = 0; i < ARGUMENTS; i++)
        Py_CLEAR(state->argument_names[i]);
    while (state->free_phases) {
        struct lpx_phase *phase = state->free_phases;
        state->free_phases = phase->next_free;
        phase_free(phase);
    }
    state->free_phase_count = 0;
}
