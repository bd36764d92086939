/* The table of opcodes comes from Python, once: there instructions have names, and one list serves all versions. */
// SPDX-License-Identifier: MIT
#include "opcodes.h"

#include <string.h>

int lpx_opcode_table_from(PyObject *bytes, struct lp_code_opcodes *out)
{
    if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != (Py_ssize_t)sizeof *out) {
        PyErr_SetString(PyExc_ValueError, "not a table of opcodes");
        return -1;
    }
    memcpy(out, PyBytes_AS_STRING(bytes), sizeof *out);
    return 0;
}

int lpx_opcode_table(struct lp_code_opcodes *out)
{
    PyObject *module = PyImport_ImportModule("lineprofiler._lines.shape");
    PyObject *table = module ? PyObject_CallMethod(module, "opcode_table", NULL) : NULL;
    int rc = table ? lpx_opcode_table_from(table, out) : -1;
    Py_XDECREF(table);
    Py_XDECREF(module);
    return rc;
}
