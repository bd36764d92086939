/* A Python extension whose C phases nest below the Python phases of the same thread.
 *
 * It is linked with liblineprofiler and knows nothing of the Python package. When that package records in this
 * process, the library finds its recording and everything here goes there; otherwise the calls do nothing. */
// SPDX-License-Identifier: MIT
#define PY_SSIZE_T_CLEAN
#include <lineprofiler.h>
#include <Python.h>

static double smooth(double *row, Py_ssize_t len, int passes)
{
    LP_PHASE("smooth");
    for (int pass = 0; pass < passes; pass++)
        for (Py_ssize_t i = 1; i + 1 < len; i++)
            row[i] = (row[i - 1] + row[i] + row[i + 1]) / 3;
    LP_COUNT("cells", (int64_t)len * passes);
    return row[len / 2];
}

static PyObject *run(PyObject *module, PyObject *args)
{
    Py_ssize_t len = 0;
    int passes;
    double *row, middle;
    PyThreadState *thread;
    (void)module;
    if (!PyArg_ParseTuple(args, "ni", &len, &passes)) return NULL;
    if (len < 3) return PyErr_Format(PyExc_ValueError, "%zd cells are too few", len);
    row = PyMem_Calloc((size_t)len, sizeof *row);
    if (row == NULL) return PyErr_NoMemory();
    row[len / 2] = 1;
    /* A phase needs no interpreter lock. */
    thread = PyEval_SaveThread();
    middle = smooth(row, len, passes);
    PyEval_RestoreThread(thread);
    PyMem_Free(row);
    return PyFloat_FromDouble(middle);
}

static PyObject *call(PyObject *module, PyObject *function)
{
    LP_PHASE("call back"); /* a Python phase that opens meanwhile is below this one */
    (void)module;
    return PyObject_CallNoArgs(function);
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS, "run(cells, passes): the middle of a peak after smoothing"},
    {"call", call, METH_O, "call(function): what it returns"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "stencil", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_stencil(void)
{
    return PyModuleDef_Init(&definition);
}
