/* A decorated plain function: a C callable that runs it inside the phase, and is otherwise taken for it: a method when
 * found on a class, the same name, documentation, signature and attributes, pickled by name. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <stddef.h>
#include <structmember.h>

struct lpx_function {
    PyObject_HEAD vectorcallfunc call;
    struct lpx_state *state;
    PyObject *wrapped; /* owned */
    PyObject *phase;   /* owned: its name and options */
    PyObject *dict;    /* owned: __wrapped__, __name__, … and what users set */
    PyObject *weakrefs;
    struct lp_recording *bound; /* as the phase's */
    PyObject *bound_object;     /* owned or NULL */
    PyObject *name;             /* owned */
    struct lpx_how how;
};

static PyObject *function_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    struct lpx_function *self = (struct lpx_function *)callable;
    struct lp_recording *recording = self->bound ? self->bound : lpx_installed(self->state);
    struct lpx_entry entry = {0};
    PyObject *result;
    if (recording == NULL) self->state->idle_uses++;
    if (recording && !lpx_begin(self->state, recording, self->name, &self->how, NULL, &entry)) return NULL;
    result = PyObject_Vectorcall(self->wrapped, args, nargsf, names);
    if (entry.scope) lpx_end(&entry);
    return result;
}

static PyObject *function_get(PyObject *self, PyObject *instance, PyObject *type)
{
    (void)type;
    if (instance == NULL || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

static bool copy_attributes(PyObject *from, PyObject *dict)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__", "__type_params__"};
    PyObject *own = PyObject_GenericGetDict(from, NULL);
    bool good = own && PyDict_Update(dict, own) == 0;
    Py_XDECREF(own);
    for (size_t i = 0; good && i < sizeof names / sizeof *names; i++) {
        PyObject *value = PyObject_GetAttrString(from, names[i]);
        if (value)
            good = PyDict_SetItemString(dict, names[i], value) == 0;
        else
            PyErr_Clear();
        Py_XDECREF(value);
    }
    return good && PyDict_SetItemString(dict, "__wrapped__", from) == 0;
}

PyObject *lpx_function_wrap(struct lpx_state *state, PyObject *phase, PyObject *function)
{
    struct lpx_function *self = PyObject_GC_New(struct lpx_function, state->function_type);
    if (self == NULL) return NULL;
    self->call = function_call;
    self->state = state;
    self->wrapped = Py_NewRef(function);
    self->phase = Py_NewRef(phase);
    self->weakrefs = NULL;
    lpx_phase_facts(phase, &self->name, &self->how, &self->bound, &self->bound_object);
    Py_INCREF(self->name);
    Py_XINCREF(self->bound_object);
    self->dict = PyDict_New();
    PyObject_GC_Track(self);
    if (self->dict == NULL || !copy_attributes(function, self->dict)) Py_CLEAR(self);
    return (PyObject *)self;
}

/* What a function has and its wrapper's dictionary has not: annotations, code, defaults, closure … */
static PyObject *function_getattro(PyObject *object, PyObject *name)
{
    struct lpx_function *self = (struct lpx_function *)object;
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    PyErr_Clear();
    return PyObject_GetAttr(self->wrapped, name);
}

static PyObject *function_repr(PyObject *object)
{
    return PyObject_Repr(((struct lpx_function *)object)->wrapped);
}

static PyObject *function_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(object, "__qualname__");
}

static PyObject *function_copy(PyObject *object, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(object);
}

static int function_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct lpx_function *self = (struct lpx_function *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->wrapped);
    Py_VISIT(self->dict);
    Py_VISIT(self->bound_object);
    return 0;
}

static int function_clear(PyObject *object)
{
    struct lpx_function *self = (struct lpx_function *)object;
    Py_CLEAR(self->dict);
    return 0;
}

static void function_dealloc(PyObject *object)
{
    struct lpx_function *self = (struct lpx_function *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    Py_XDECREF(self->wrapped);
    Py_XDECREF(self->phase);
    Py_XDECREF(self->dict);
    Py_XDECREF(self->name);
    Py_XDECREF(self->bound_object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct lpx_function, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct lpx_function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct lpx_function, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef function_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
                                        {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef function_methods[] = {{"__reduce__", function_reduce, METH_NOARGS, NULL},
                                         {"__copy__", function_copy, METH_NOARGS, NULL},
                                         {"__deepcopy__", function_copy, METH_O, NULL},
                                         {NULL, NULL, 0, NULL}};

static PyType_Slot function_slots[] = {{Py_tp_call, PyVectorcall_Call},
                                       {Py_tp_descr_get, function_get},
                                       {Py_tp_getattro, function_getattro},
                                       {Py_tp_dealloc, function_dealloc},
                                       {Py_tp_traverse, function_traverse},
                                       {Py_tp_clear, function_clear},
                                       {Py_tp_repr, function_repr},
                                       {Py_tp_members, function_members},
                                       {Py_tp_getset, function_getset},
                                       {Py_tp_methods, function_methods},
                                       {0, NULL}};
static PyType_Spec function_spec = {"lineprofiler._core.phase_function", sizeof(struct lpx_function), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    function_slots};

int lpx_function_init(PyObject *module, struct lpx_state *state)
{
    state->function_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &function_spec, NULL);
    return state->function_type ? 0 : -1;
}
