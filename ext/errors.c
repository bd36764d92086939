/* The Python exceptions that the core's errors become, made from its table.  The only place that raises from a
 * lp_error. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <string.h>

static PyObject *new_class(PyObject *module, const char *name, PyObject *base, PyObject *second, const char *doc)
{
    char full[96];
    PyObject *bases = second ? PyTuple_Pack(2, base, second) : PyTuple_Pack(1, base), *type = NULL;
    snprintf(full, sizeof full, "lineprofiler.errors.%s", name);
    if (bases) type = PyErr_NewExceptionWithDoc(full, doc, bases, NULL);
    Py_XDECREF(bases);
    if (type && PyModule_AddObjectRef(module, name, type)) Py_CLEAR(type);
    return type;
}

int lpx_errors_init(PyObject *module, struct lpx_state *state)
{
    PyObject *base = new_class(module, "ProfileError", PyExc_Exception, NULL,
                               "A run could not be read, merged or written.  Has .code, .slug and .offset.");
    PyObject *classes[4] = {NULL, NULL, NULL, NULL};
    int i, rc = -1;
    state->profile_error = base;
    if (base == NULL) return -1;
    classes[0] = new_class(module, "ProfileFormatError", base, NULL, "A file is not one of this format, or damaged.");
    classes[1] = new_class(module, "ProfileStorageError", base, PyExc_OSError,
                           "The system refused a file operation; also an OSError.");
    classes[2] =
        new_class(module, "ProfileUsageError", base, PyExc_ValueError, "Wrong use: a bad option or selection.");
    classes[3] = new_class(module, "ProfileVersionError", classes[0] ? classes[0] : base, NULL,
                           "A file was written by a newer version.");
    if (classes[0] && classes[1] && classes[2] && classes[3]) rc = 0;
    for (i = 1; rc == 0 && i < 16; i++) {
        const char *name = lp__err_python_class((enum lp_err) - i);
        PyObject *type = base;
        if (strcmp(name, "ProfileFormatError") == 0) type = classes[0];
        if (strcmp(name, "ProfileStorageError") == 0) type = classes[1];
        if (strcmp(name, "ProfileUsageError") == 0) type = classes[2];
        if (strcmp(name, "ProfileVersionError") == 0) type = classes[3];
        if (strcmp(name, "NotImplementedError") == 0) type = PyExc_NotImplementedError;
        if (strcmp(name, "KeyboardInterrupt") == 0) type = PyExc_KeyboardInterrupt;
        state->error_types[i] = Py_NewRef(type);
    }
    for (i = 0; i < 4; i++)
        Py_XDECREF(classes[i]);
    return rc;
}

static void set_attribute(PyObject *object, const char *name, PyObject *value)
{
    if (value == NULL || PyObject_SetAttrString(object, name, value)) PyErr_Clear();
    Py_XDECREF(value);
}

PyObject *lpx_raise(struct lpx_state *state, const struct lp_error *err)
{
    int index = -(int)err->code;
    PyObject *type = index > 0 && index < 16 ? state->error_types[index] : state->profile_error, *text, *value;
    if (err->code == LP_ERR_NO_MEMORY) return PyErr_NoMemory();
    text = PyUnicode_DecodeUTF8(err->detail, (Py_ssize_t)strlen(err->detail), "replace");
    if (text == NULL) return NULL;
    if (PyUnicode_GET_LENGTH(text) == 0) Py_SETREF(text, PyUnicode_FromString(lp__err_message(err->code)));
    value = text ? PyObject_CallOneArg(type, text) : NULL;
    Py_XDECREF(text);
    if (value == NULL) return NULL;
    set_attribute(value, "code", PyLong_FromLong(err->code));
    set_attribute(value, "slug", PyUnicode_FromString(lp__err_slug(err->code)));
    set_attribute(value, "offset", PyLong_FromUnsignedLongLong(err->offset));
    if (err->sys_errno) set_attribute(value, "errno", PyLong_FromLong(err->sys_errno));
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
    Py_DECREF(value);
    return NULL;
}
