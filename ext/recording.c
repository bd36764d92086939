/* Recording: one recording of the core as a Python object, and the functions on whatever is installed. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "base/buf.h"
#include "collect/name.h"
#include "collect/table.h"

struct lpx_recording {
    PyObject_HEAD struct lpx_state *state;
    struct lp_recording *recording; /* one reference; NULL when making it failed */
    PyObject *weakrefs;
};

struct lp_recording *lpx_recording_get(PyObject *object)
{
    return ((struct lpx_recording *)object)->recording;
}

/* -- making ------------------------------------------------------------------------------------------------------ */

struct made_options {
    struct lp_recording_options core;
    PyObject *run_dir, *role, *attempt; /* owned bytes */
    const char **facts;                 /* owned array of borrowed texts */
    bool has_phases;                    /* line tables alone need no hooks into generators and greenlets */
    char python[32];
};

static void release_options(struct made_options *made)
{
    Py_XDECREF(made->run_dir);
    Py_XDECREF(made->role);
    Py_XDECREF(made->attempt);
    PyMem_Free(made->facts);
}

static bool set_store(struct made_options *made, const char *store)
{
    static const char *const names[] = {"auto", "run_dir", "shm", "memory", "private"};
    for (int i = 0; i < 5; i++) {
        if (strcmp(store, names[i]) == 0) {
            made->core.store = (enum lp_store_choice)i;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "store must be 'auto', 'run_dir', 'shm' or 'memory', not '%.50s'", store);
    return false;
}

static PyObject *name_bytes(PyObject *text, const char *what)
{
    if (PyUnicode_Check(text)) return PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %.100s", what, Py_TYPE(text)->tp_name);
    return NULL;
}

static bool set_facts(struct made_options *made, PyObject *facts)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, n = 0;
    if (facts == NULL || facts == Py_None) return true;
    if (!PyDict_Check(facts)) {
        PyErr_SetString(PyExc_TypeError, "facts must be a dict of str to str");
        return false;
    }
    made->facts = PyMem_Calloc((size_t)PyDict_GET_SIZE(facts) * 2 + 1, sizeof *made->facts);
    if (made->facts == NULL) return PyErr_NoMemory() != NULL;
    while (PyDict_Next(facts, &at, &key, &value)) {
        made->facts[n] = PyUnicode_AsUTF8(key);
        made->facts[n + 1] = PyUnicode_AsUTF8(value);
        if (made->facts[n] == NULL || made->facts[n + 1] == NULL) return false;
        if (strcmp(made->facts[n], "collector") == 0) made->has_phases = strcmp(made->facts[n + 1], "lines") != 0;
        n += 2;
    }
    made->core.facts = made->facts;
    return true;
}

static bool parse_options(struct made_options *made, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"run_dir",      "role",  "attempt",   "store", "measure_cpu", "strict_names",
                               "thread_names", "share", "max_paths", "facts", "family",      NULL};
    PyObject *run_dir, *role, *attempt = Py_None, *facts = NULL;
    const char *store = "auto", *share = NULL;
    int measure_cpu = 1, strict = 0, thread_names = 0;
    unsigned int max_paths = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$spppzIOi:Recording", keywords, &run_dir, &role, &attempt,
                                     &store, &measure_cpu, &strict, &thread_names, &share, &max_paths, &facts,
                                     &made->core.family))
        return false;
    if (share && strcmp(share, "group") != 0) {
        PyErr_Format(PyExc_ValueError, "share must be None or 'group', not '%.50s'", share);
        return false;
    }
    made->core.no_cpu = !measure_cpu;
    made->core.strict_names = strict != 0;
    made->core.thread_names = thread_names != 0;
    made->core.thread_name = lpx_thread_name;
    made->core.share_group = share != NULL;
    made->core.max_paths = max_paths;
    if (!set_store(made, store) || !PyUnicode_FSConverter(run_dir, &made->run_dir)) return false;
    made->role = name_bytes(role, "role");
    if (made->role == NULL) return false;
    if (attempt != Py_None && (made->attempt = name_bytes(attempt, "attempt")) == NULL) return false;
    return set_facts(made, facts);
}

static void point_at_texts(struct made_options *made)
{
    made->core.run_dir = PyBytes_AS_STRING(made->run_dir);
    made->core.role = PyBytes_AS_STRING(made->role);
    made->core.role_len = (size_t)PyBytes_GET_SIZE(made->role);
    if (made->attempt) made->core.attempt = PyBytes_AS_STRING(made->attempt);
    snprintf(made->python, sizeof made->python, "%d.%d.%d", PY_MAJOR_VERSION, PY_MINOR_VERSION, PY_MICRO_VERSION);
    made->core.python = made->python;
}

static PyObject *recording_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct lpx_state *state = PyType_GetModuleState(type);
    struct made_options made = {.has_phases = true};
    struct lpx_recording *self = NULL;
    struct lp_error err = {0};
    if (parse_options(&made, args, kwargs)) {
        point_at_texts(&made);
        made.core.host_entry_ps = lpx_entry_cost_ps(state);
        self = (struct lpx_recording *)type->tp_alloc(type, 0);
    }
    if (self) {
        self->state = state;
        if (lp__recording_open(&made.core, &self->recording, &err)) {
            lpx_raise(state, &err);
            Py_CLEAR(self);
        } else {
            lpx_names_clear(state, self->recording); /* its address may have been another recording's */
            if (made.has_phases) lpx_hosts_add(&state->hosts, self->recording);
        }
    }
    release_options(&made);
    return (PyObject *)self;
}

/* -- ending ------------------------------------------------------------------------------------------------------ */

static void close_recording(struct lpx_recording *self)
{
    struct lp_recording *recording = self->recording;
    if (recording == NULL || !lp__recording_is_open(recording)) return;
    lpx_hosts_remove(&self->state->hosts, recording);
    (void)atomic_compare_exchange_strong(&self->state->own, &(struct lp_recording *){recording}, NULL);
    Py_BEGIN_ALLOW_THREADS lp__recording_close(recording);
    Py_END_ALLOW_THREADS if (self->state->installed == (PyObject *)self) Py_CLEAR(self->state->installed);
}

static PyObject *recording_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_INCREF(self); /* being uninstalled may drop the last reference */
    close_recording((struct lpx_recording *)self);
    Py_DECREF(self);
    Py_RETURN_NONE;
}

static void recording_dealloc(PyObject *object)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    if (self->recording) {
        struct lpx_error error = lpx_error_hide();
        close_recording(self);
        lpx_names_clear(self->state, self->recording);
        lp__recording_release(self->recording);
        lpx_error_restore(error);
    }
    type->tp_free(object);
    Py_DECREF(type);
}

/* -- recording ---------------------------------------------------------------------------------------------------- */

static PyObject *recording_phase(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return lpx_phase_bound(((struct lpx_recording *)self)->state, self, args, (size_t)count, names);
}

static PyObject *recording_begin(PyObject *object, PyObject *name)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    return lpx_token_begin(self->state, self->recording, name);
}

static PyObject *recording_end(PyObject *object, PyObject *token)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    return lpx_token_end(self->state, self->recording, token);
}

static bool amount_of(PyObject *object, int64_t *amount)
{
    PyObject *number;
    long long value;
    if (__builtin_expect(lpx_int_is_small(object, amount), 1)) return true;
    if (PyFloat_Check(object) || !PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "n must be an integer, not %.100s", Py_TYPE(object)->tp_name);
        return false;
    }
    number = PyNumber_Index(object);
    if (number == NULL) return false;
    value = PyLong_AsLongLong(number);
    Py_DECREF(number);
    *amount = value;
    return !(value == -1 && PyErr_Occurred());
}

PyObject *lpx_count(struct lpx_state *state, struct lp_recording *recording, PyObject *const *args, Py_ssize_t count)
{
    struct lp_thread *thread;
    int64_t amount = 1;
    lp_name_id id;
    if (__builtin_expect(count < 1 || count > 2, 0)) {
        PyErr_Format(PyExc_TypeError, "count() takes a name and an amount (%zd given)", count);
        return NULL;
    }
    if (count == 2 && !amount_of(args[1], &amount)) return NULL;
    if (__builtin_expect(!PyUnicode_Check(args[0]), 0)) {
        (void)lpx_name_check(args[0]);
        return NULL;
    }
    if (recording == NULL) {
        state->idle_uses++;
        Py_RETURN_NONE;
    }
    id = lpx_name_id(state, recording, args[0]);
    if (__builtin_expect(id == 0, 0)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    thread = lp__thread_of(recording);
    if (__builtin_expect(thread == NULL, 0)) Py_RETURN_NONE;
    if (!lpx_entry_is_plain(&state->hosts, thread, NULL)) lpx_settle(&state->hosts, thread, lpx_current_frame());
    lp__count(thread, id, amount);
    Py_RETURN_NONE;
}

/* A keyword for the amount: rare, so it goes through a tuple of two. */
static PyObject *count_with_names(struct lpx_state *state, struct lp_recording *recording, PyObject *const *args,
                                  Py_ssize_t count, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *both[2] = {NULL, NULL};
    if (__builtin_expect(named == 0, 1)) return lpx_count(state, recording, args, count);
    for (Py_ssize_t i = 0; i < count && i < 2; i++)
        both[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *key = PyTuple_GET_ITEM(names, i);
        int at = PyUnicode_CompareWithASCIIString(key, "n") == 0      ? 1
                 : PyUnicode_CompareWithASCIIString(key, "name") == 0 ? 0
                                                                      : -1;
        if (at < 0 || both[at] || count + named > 2) {
            PyErr_Format(PyExc_TypeError, "count() does not take %R that way", key);
            return NULL;
        }
        both[at] = args[count + i];
    }
    if (both[0] == NULL) {
        PyErr_SetString(PyExc_TypeError, "count() takes a name and an amount");
        return NULL;
    }
    return lpx_count(state, recording, both, both[1] ? 2 : 1);
}

static PyObject *recording_count(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    return count_with_names(self->state, self->recording, args, count, names);
}

static PyObject *recording_iterate(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    if (count == 2) return lpx_iterate_new(self->state, object, args[0], args[1]);
    PyErr_SetString(PyExc_TypeError, "iterate() takes a name and an iterable");
    return NULL;
}

static const struct lp_tree_node *innermost(struct lpx_state *state, struct lp_recording *recording)
{
    struct lp_thread *thread = recording ? lp__thread_find(recording) : NULL;
    if (thread == NULL) return NULL;
    if (!lpx_is_settled(&state->hosts, thread)) lpx_settle(&state->hosts, thread, lpx_current_frame());
    return thread->top->node;
}

PyObject *lpx_current_path(struct lpx_state *state, struct lp_recording *recording)
{
    const struct lp_tree_node *node = innermost(state, recording), *at;
    PyObject *path;
    Py_ssize_t i = 0;
    for (at = node; at && at->parent; at = at->parent)
        i++;
    path = PyTuple_New(i);
    for (at = node; path && at && at->parent; at = at->parent) {
        PyObject *name = lpx_name_str(lp__tree_text(at));
        if (name == NULL)
            Py_CLEAR(path);
        else
            PyTuple_SET_ITEM(path, --i, name);
    }
    return path;
}

static PyObject *recording_current(PyObject *object, PyObject *unused)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    (void)unused;
    return lpx_current_path(self->state, self->recording);
}

/* -- the rest ----------------------------------------------------------------------------------------------------- */

static PyObject *recording_install(PyObject *object, PyObject *unused)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    (void)unused;
    if (lp__recording_is_open(self->recording)) {
        lpx_install(self->state, self->recording);
        Py_XSETREF(self->state->installed, Py_NewRef(object));
    }
    Py_RETURN_NONE;
}

static PyObject *recording_uninstall(PyObject *object, PyObject *unused)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    (void)unused;
    if (self->state->installed == object) {
        lpx_install(self->state, NULL);
        Py_CLEAR(self->state->installed);
    }
    Py_RETURN_NONE;
}

static PyObject *recording_snapshot(PyObject *object, PyObject *unused)
{
    struct lp_recording *recording = lpx_recording_get(object);
    (void)unused;
    Py_BEGIN_ALLOW_THREADS lp__recording_snapshot(recording);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *recording_dump(PyObject *object, PyObject *unused)
{
    struct lpx_recording *self = (struct lpx_recording *)object;
    (void)unused;
    return lpx_dump(self->state, self->recording);
}

static PyObject *recording_fact(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const char *key = NULL, *value = NULL;
    Py_ssize_t len = 0;
    if (count == 2) {
        key = PyUnicode_AsUTF8(args[0]);
        value = key ? PyUnicode_AsUTF8AndSize(args[1], &len) : NULL;
    } else {
        PyErr_SetString(PyExc_TypeError, "fact() takes a key and a value");
    }
    if (value == NULL) return NULL;
    lp__recording_fact(lpx_recording_get(object), key, value, (size_t)len);
    Py_RETURN_NONE;
}

static PyObject *recording_swallowed_warning(PyObject *object, PyObject *unused)
{
    struct lp_thread *thread = lp__thread_of(lpx_recording_get(object));
    (void)unused;
    if (thread) lp__drop(thread, LP_DROP_WARNING);
    Py_RETURN_NONE;
}

static PyObject *recording_open_scopes(PyObject *object, PyObject *unused)
{
    struct lp_recording *recording = lpx_recording_get(object);
    (void)unused;
    return PyLong_FromUnsignedLong(lp__recording_open_scopes(recording, lp__thread_find(recording)));
}

static PyObject *get_run_dir(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(lp__recording_run_dir(lpx_recording_get(object)));
}

static PyObject *get_path(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(lp__recording_path(lpx_recording_get(object)));
}

static PyObject *get_role(PyObject *object, void *unused)
{
    size_t len;
    const char *role = lp__recording_role(lpx_recording_get(object), &len);
    (void)unused;
    return PyUnicode_DecodeUTF8(role, (Py_ssize_t)len, "surrogatepass");
}

static PyObject *get_attempt(PyObject *object, void *unused)
{
    const char *attempt = lp__recording_attempt(lpx_recording_get(object));
    (void)unused;
    return PyUnicode_DecodeUTF8(attempt, (Py_ssize_t)strlen(attempt), "replace");
}

static PyObject *get_is_open(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(lp__recording_is_open(lpx_recording_get(object)));
}

static PyObject *get_write_failures(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(lp__recording_write_failures(lpx_recording_get(object)));
}

static PyGetSetDef recording_getset[] = {{"run_dir", get_run_dir, NULL, "Absolute path of the run directory.", NULL},
                                         {"role", get_role, NULL, "The role given.", NULL},
                                         {"attempt", get_attempt, NULL, "Id of the attempt.", NULL},
                                         {"path", get_path, NULL, "The worker file; '' before the first record.", NULL},
                                         {"is_open", get_is_open, NULL, "False once closed.", NULL},
                                         {"write_failures", get_write_failures, NULL, "Refused by the system.", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef recording_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct lpx_recording, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

#define FAST(function) (PyCFunction)(void (*)(void))(function)
static PyMethodDef recording_methods[] = {
    {"phase", FAST(recording_phase), METH_FASTCALL | METH_KEYWORDS, "A phase that records here."},
    {"begin", recording_begin, METH_O, "Begin a phase; returns its token."},
    {"end", recording_end, METH_O, "End the phase of a token."},
    {"count", FAST(recording_count), METH_FASTCALL | METH_KEYWORDS, "Add to a counter of the innermost phase."},
    {"iterate", FAST(recording_iterate), METH_FASTCALL, "Items of an iterable, their making as a phase."},
    {"current", recording_current, METH_NOARGS, "Path of this thread's innermost running phase."},
    {"install", recording_install, METH_NOARGS, "Become the process's recording."},
    {"uninstall", recording_uninstall, METH_NOARGS, "Stop being it."},
    {"close", recording_close, METH_NOARGS, "Final: mark the file finished."},
    {"snapshot", recording_snapshot, METH_NOARGS, "Copy now where the store is not the run directory."},
    {"dump", recording_dump, METH_NOARGS, "This process's own tree so far, as JSON."},
    {"fact", FAST(recording_fact), METH_FASTCALL, "Note a fact about the process."},
    {"swallowed_warning", recording_swallowed_warning, METH_NOARGS,
     "Count a warning that the program's filters turned into an error."},
    {"open_scopes", recording_open_scopes, METH_NOARGS, "Open entries of this thread and suspended ones."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot recording_slots[] = {{Py_tp_new, recording_new},
                                        {Py_tp_dealloc, recording_dealloc},
                                        {Py_tp_methods, recording_methods},
                                        {Py_tp_getset, recording_getset},
                                        {Py_tp_members, recording_members},
                                        {Py_tp_doc, "One recording of this process; see lineprofiler.accounting."},
                                        {0, NULL}};
static PyType_Spec recording_spec = {"lineprofiler._core.Recording", sizeof(struct lpx_recording), 0,
                                     Py_TPFLAGS_DEFAULT, recording_slots};

/* -- functions of the module -------------------------------------------------------------------------------------- */

static PyObject *ambient_begin(PyObject *module, PyObject *name)
{
    struct lpx_state *state = lpx_state_of(module);
    return lpx_token_begin(state, lpx_installed(state), name);
}

static PyObject *ambient_end(PyObject *module, PyObject *token)
{
    struct lpx_state *state = lpx_state_of(module);
    return lpx_token_end(state, lpx_installed(state), token);
}

static PyObject *ambient_count(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    struct lpx_state *state = lpx_state_of(module);
    return count_with_names(state, lpx_installed(state), args, count, names);
}

static PyObject *ambient_iterate(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 2) return lpx_iterate_new(lpx_state_of(module), NULL, args[0], args[1]);
    PyErr_SetString(PyExc_TypeError, "iterate() takes a name and an iterable");
    return NULL;
}

static PyObject *ambient_current(PyObject *module, PyObject *unused)
{
    struct lpx_state *state = lpx_state_of(module);
    (void)unused;
    return lpx_current_path(state, lpx_installed(state));
}

static PyObject *ambient_installed(PyObject *module, PyObject *unused)
{
    struct lpx_state *state = lpx_state_of(module);
    (void)unused;
    return Py_NewRef(state->installed ? state->installed : Py_None);
}

static PyObject *unrecorded_uses(PyObject *module, PyObject *unused)
{
    struct lpx_state *state = lpx_state_of(module);
    (void)unused;
    return Py_BuildValue("(nn)", state->idle_uses, state->decorated_while_off);
}

static PyMethodDef functions[] = {
    {"begin", ambient_begin, METH_O, "begin(name, /)\n--\n\nBegin a phase; end(token) ends it.  Keep the token."},
    {"end", ambient_end, METH_O, "end(token, /)\n--\n\nEnd a phase that begin() opened; twice is counted, not raised."},
    {"count", FAST(ambient_count), METH_FASTCALL | METH_KEYWORDS,
     "count(name, n=1)\n--\n\nAdd n (an integer of 64 bits) to a counter of the innermost phase."},
    {"iterate", FAST(ambient_iterate), METH_FASTCALL,
     "iterate(name, iterable, /)\n--\n\nYield the items; time in the iterator itself is the phase."},
    {"current", ambient_current, METH_NOARGS, "Path of this thread's innermost running phase; ()."},
    {"installed", ambient_installed, METH_NOARGS, "The installed Recording or None."},
    {"unrecorded_uses", unrecorded_uses, METH_NOARGS,
     "Uses of phases and counters while none was installed; functions left undecorated because we were off."},
    {"load_run", FAST(lpx_load_run), METH_VARARGS | METH_KEYWORDS, "The merged run as JSON."},
    {"report", FAST(lpx_report), METH_VARARGS | METH_KEYWORDS, "The report as text or JSON."},
    {"lines_render", FAST(lpx_lines_render), METH_VARARGS | METH_KEYWORDS, "What was recorded of lines."},
    {"cli", lpx_cli, METH_O, "Run the command line; returns its exit status."},
    {"clock_facts", lpx_clock_facts, METH_NOARGS, "Clocks chosen, refused, and their cost."},
    {NULL, NULL, 0, NULL}};

int lpx_recording_init(PyObject *module, struct lpx_state *state)
{
    state->recording_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &recording_spec, NULL);
    if (state->recording_type == NULL || PyModule_AddType(module, state->recording_type)) return -1;
    return PyModule_AddFunctions(module, functions);
}
