/* iterate(name, iterable): time in the iterator's own __next__ is the phase, the loop's body is not. */
// SPDX-License-Identifier: MIT
#include "state.h"

struct lpx_iterate {
    PyObject_HEAD struct lpx_state *state;
    PyObject *name;     /* owned */
    PyObject *iterator; /* owned */
    PyObject *owner;    /* owned: a Recording, or NULL for whatever is installed */
};

PyObject *lpx_iterate_new(struct lpx_state *state, PyObject *owner, PyObject *name, PyObject *iterable)
{
    PyObject *text = lpx_name_check(name), *iterator = text ? PyObject_GetIter(iterable) : NULL;
    struct lpx_iterate *self = iterator ? PyObject_GC_New(struct lpx_iterate, state->iterate_type) : NULL;
    if (self == NULL) {
        Py_XDECREF(text);
        Py_XDECREF(iterator);
        return NULL;
    }
    self->state = state;
    self->name = text;
    self->iterator = iterator;
    self->owner = Py_XNewRef(owner);
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static PyObject *iterate_next(PyObject *object)
{
    static const struct lpx_how how = {65536, 0};
    struct lpx_iterate *self = (struct lpx_iterate *)object;
    struct lp_recording *recording = self->owner ? lpx_recording_get(self->owner) : lpx_installed(self->state);
    struct lpx_entry entry = {0};
    PyObject *item;
    if (recording == NULL) self->state->idle_uses++;
    if (recording && !lpx_begin(self->state, recording, self->name, &how, NULL, &entry)) return NULL;
    item = Py_TYPE(self->iterator)->tp_iternext(self->iterator);
    if (entry.scope) lpx_end(&entry);
    return item;
}

static int iterate_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct lpx_iterate *self = (struct lpx_iterate *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->iterator);
    Py_VISIT(self->owner);
    return 0;
}

static int iterate_clear(PyObject *object)
{
    struct lpx_iterate *self = (struct lpx_iterate *)object;
    Py_CLEAR(self->owner);
    return 0;
}

static void iterate_dealloc(PyObject *object)
{
    struct lpx_iterate *self = (struct lpx_iterate *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_XDECREF(self->name);
    Py_XDECREF(self->iterator);
    Py_XDECREF(self->owner);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyType_Slot iterate_slots[] = {{Py_tp_dealloc, iterate_dealloc}, {Py_tp_traverse, iterate_traverse},
                                      {Py_tp_clear, iterate_clear},     {Py_tp_iter, PyObject_SelfIter},
                                      {Py_tp_iternext, iterate_next},   {0, NULL}};
static PyType_Spec iterate_spec = {"lineprofiler._core.iterate", sizeof(struct lpx_iterate), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   iterate_slots};

int lpx_iterate_init(PyObject *module, struct lpx_state *state)
{
    state->iterate_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &iterate_spec, NULL);
    return state->iterate_type ? 0 : -1;
}
