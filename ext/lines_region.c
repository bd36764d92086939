/* A region as a Python object: what `session.region(name)` gives to a `with` statement.
 *
 * It is made and thrown away with each entry, so what that takes is a good part of a boundary's price: names that a
 * session has met are known by the address of their str, one object is kept for the next use, and below Python 3.14
 * the object is its own __enter__ and __exit__, as a phase is (phase.c says why). */
// SPDX-License-Identifier: MIT
#include "lines.h"

#include <stddef.h>

#include "collect/name.h"

#define REGION_DEPTH 8 /* entries of one object that are open at once, inside each other */

struct lpx_region {
    PyObject_HEAD vectorcallfunc call;
    struct lpx_line_session *session; /* owned */
    PyObject *name;                   /* owned str */
    struct lp_line_region_entry entries[REGION_DEPTH];
    unsigned depth;
};

static PyObject *region_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names);

/* -- names ------------------------------------------------------------------------------------------------------- */

static lp_name_id register_name(PyObject *name)
{
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass");
    lp_name_id id = bytes ? lp__name_register(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)) : 0;
    Py_XDECREF(bytes);
    PyErr_Clear();
    return id;
}

static lp_name_id name_of(struct lpx_line_session *session, PyObject *name)
{
    struct lpx_region_name *known = &session->names[((uintptr_t)name >> 4) % LPX_REGION_NAMES];
    if (__builtin_expect(known->text == name, 1)) return known->id;
    Py_XSETREF(known->text, Py_NewRef(name));
    known->id = register_name(name);
    return known->id;
}

void lpx_region_forget(struct lpx_line_session *session)
{
    int i;
    for (i = 0; i < LPX_REGION_NAMES; i++)
        Py_CLEAR(session->names[i].text);
}

/* -- the object -------------------------------------------------------------------------------------------------- */

PyObject *lpx_region_new(PyObject *object, PyObject *name)
{
    struct lpx_line_session *session = (struct lpx_line_session *)object;
    struct lpx_line_engine *engine = session->state->lines;
    struct lpx_region *region = engine->spare_region;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "the name of a region must be a str, not %.100s", Py_TYPE(name)->tp_name);
        return NULL;
    }
    if (region) {
        engine->spare_region = NULL;
        (void)PyObject_Init((PyObject *)region, engine->region_type);
    } else if ((region = PyObject_New(struct lpx_region, engine->region_type)) == NULL) {
        return NULL;
    }
    region->call = region_call;
    region->session = (struct lpx_line_session *)Py_NewRef(object);
    region->name = Py_NewRef(name);
    region->depth = 0;
    return (PyObject *)region;
}

static PyObject *enter(struct lpx_region *self)
{
    struct lp_line_region_entry *entry;
    if (self->depth == REGION_DEPTH) {
        PyErr_SetString(PyExc_RuntimeError, "a region object is entered too many times inside itself");
        return NULL;
    }
    entry = &self->entries[self->depth++];
    entry->thread = NULL;
    if (lp__line_session_is_active(self->session->core))
        (void)lp__line_region_enter(self->session->core, name_of(self->session, self->name), entry);
    return Py_NewRef((PyObject *)self);
}

static PyObject *leave(struct lpx_region *self)
{
    if (self->depth) lp__line_region_end(&self->entries[--self->depth]);
    Py_RETURN_NONE;
}

static PyObject *region_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    (void)args;
    if (LPX_SELF_CALLABLE && (names == NULL || PyTuple_GET_SIZE(names) == 0)) {
        if (count == 0) return enter((struct lpx_region *)object);
        if (count == 3) return leave((struct lpx_region *)object);
    }
    PyErr_SetString(PyExc_TypeError, "a region is used in a with statement");
    return NULL;
}

static void region_dealloc(PyObject *object)
{
    struct lpx_region *self = (struct lpx_region *)object;
    struct lpx_line_engine *engine = self->session->state->lines;
    PyTypeObject *type = Py_TYPE(object);
    while (self->depth)
        lp__line_region_end(&self->entries[--self->depth]);
    Py_DECREF(self->name);
    if (engine && engine->spare_region == NULL && engine->region_type == type) {
        engine->spare_region = self;
        Py_DECREF(self->session);
    } else {
        Py_DECREF(self->session);
        type->tp_free(object);
    }
    Py_DECREF(type);
}

#if !LPX_SELF_CALLABLE
static PyObject *region_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    return enter((struct lpx_region *)object);
}

static PyObject *region_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    return leave((struct lpx_region *)object);
}
#endif

static PyMethodDef region_methods[] = {
#if !LPX_SELF_CALLABLE
    {"__enter__", region_enter, METH_NOARGS, "Lines of this thread belong to the region from here on."},
    {"__exit__", (PyCFunction)(void (*)(void))region_exit, METH_FASTCALL, "Until here."},
#endif
    {NULL, NULL, 0, NULL},
};

static PyMemberDef region_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct lpx_region, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot region_slots[] = {
    {Py_tp_dealloc, region_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, region_members},
    {Py_tp_methods, region_methods},
    {Py_tp_doc, "A named part of a line profile: use it in a with statement."},
    {0, NULL},
};

static PyType_Spec region_spec = {
    .name = "lineprofiler._core.Region",
    .basicsize = sizeof(struct lpx_region),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = region_slots,
};

int lpx_region_init(PyObject *module, struct lpx_state *state)
{
    state->lines->region_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &region_spec, NULL);
    if (state->lines->region_type == NULL) return -1;
#if LPX_SELF_CALLABLE
    return lpx_self_methods(state, state->lines->region_type);
#else
    return 0;
#endif
}

void lpx_region_release(struct lpx_line_engine *engine)
{
    struct lpx_region *spare = engine->spare_region;
    engine->spare_region = NULL;
    if (spare) PyObject_Free(spare);
    Py_CLEAR(engine->region_type);
}
