/* The static pass of the core as two functions on bytes: which places of a code object are counted, and which of those
 * counters add up to executions of statements.  What is handed in is copied or only read; the interpreter's lock is
 * given up while the pass runs. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <string.h>

#include "analyse/statements.h"
#include "collect/code_slots.h"
#include "opcodes.h"
#include "sums.h"

static PyObject *raised(PyObject *module, const struct lp_error *err)
{
    if (err->code == LP_ERR_NO_MEMORY) return PyErr_NoMemory();
    return lpx_raise(lpx_state_of(module), err);
}

/* -- code_places ------------------------------------------------------------------------------------------------- */

/* Records as bytes; a new reference. */
static PyObject *as_bytes(const void *records, size_t count, size_t size)
{
    return PyBytes_FromStringAndSize(count ? records : "", (Py_ssize_t)(count * size));
}

static PyObject *places_as_bytes(const struct lp_code_slots *slots)
{
    return Py_BuildValue("(NNN)", as_bytes(slots->slots, slots->slot_count, sizeof *slots->slots),
                         as_bytes(slots->branch_places, slots->branch_count, sizeof *slots->branch_places),
                         as_bytes(slots->branches, slots->branch_count, sizeof *slots->branches));
}

static PyObject *code_places(PyObject *module, PyObject *args)
{
    struct lp_code_raw raw = {0};
    struct lp_code_opcodes opcodes;
    struct lp_code_slots slots;
    struct lp_error err = {0};
    Py_buffer code = {0}, lines = {0}, handlers = {0};
    PyObject *table, *result = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*IIIO:code_places", &code, &lines, &handlers, &raw.first_line, &raw.flags,
                          &raw.python, &table))
        return NULL;
    raw.code = code.buf, raw.code_bytes = (uint32_t)code.len;
    raw.lines = lines.buf, raw.lines_bytes = (uint32_t)lines.len;
    raw.handlers = handlers.buf, raw.handlers_bytes = (uint32_t)handlers.len;
    if (lpx_opcode_table_from(table, &opcodes)) goto done;
    if (lp__code_slots(&raw, &opcodes, &slots, &err)) {
        raised(module, &err);
        goto done;
    }
    result = places_as_bytes(&slots);
    lp__code_slots_release(&slots);
done:
    PyBuffer_Release(&code);
    PyBuffer_Release(&lines);
    PyBuffer_Release(&handlers);
    return result;
}

/* -- statement_sums ---------------------------------------------------------------------------------------------- */

enum { BUFFER_COUNT = 7 };

struct sums_call {
    struct lp_statements_input input;
    struct lp_code_opcodes opcodes;
    Py_buffer buffers[BUFFER_COUNT]; /* code, lines, handlers, units, scopes, slots, branches */
};

static bool parse_call(struct sums_call *call, PyObject *args)
{
    PyObject *table;
    Py_buffer *b = call->buffers;
    struct lp_code_raw *raw = &call->input.code;
    if (!PyArg_ParseTuple(args, "y*y*y*IIIOy*y*y*y*:statement_sums", &b[0], &b[1], &b[2], &raw->first_line, &raw->flags,
                          &raw->python, &table, &b[3], &b[4], &b[5], &b[6]))
        return false;
    for (int i = 0; i < BUFFER_COUNT; i++) {
        if (b[i].len <= INT32_MAX) continue;
        PyErr_SetString(PyExc_ValueError, "a table is too big");
        return false;
    }
    return lpx_opcode_table_from(table, &call->opcodes) == 0;
}

static void point_at_buffers(struct sums_call *call)
{
    struct lp_statements_input *input = &call->input;
    const Py_buffer *b = call->buffers;
    input->code.code = b[0].buf, input->code.code_bytes = (uint32_t)b[0].len;
    input->code.lines = b[1].buf, input->code.lines_bytes = (uint32_t)b[1].len;
    input->code.handlers = b[2].buf, input->code.handlers_bytes = (uint32_t)b[2].len;
    input->opcodes = &call->opcodes;
    input->units = b[3].buf, input->units_bytes = (size_t)b[3].len;
    input->scopes = b[4].buf, input->scope_count = (uint32_t)((size_t)b[4].len / sizeof *input->scopes);
    input->slots = b[5].buf, input->slot_count = (uint32_t)((size_t)b[5].len / sizeof *input->slots);
    input->branches = b[6].buf, input->branch_count = (uint32_t)((size_t)b[6].len / sizeof *input->branches);
}

static PyObject *sums_as_bytes(const struct lp_statement_sums *sums)
{
    return Py_BuildValue("(NNO)", as_bytes(sums->rows, sums->row_count, sizeof *sums->rows),
                         as_bytes(sums->terms, sums->term_count, sizeof *sums->terms),
                         sums->wants_branch ? Py_True : Py_False);
}

static PyObject *statement_sums(PyObject *module, PyObject *args)
{
    struct sums_call call = {0};
    struct lp_statement_sums sums;
    struct lp_error err = {0};
    PyObject *result = NULL;
    int rc;
    if (parse_call(&call, args)) {
        point_at_buffers(&call);
        Py_BEGIN_ALLOW_THREADS rc = lp__statement_sums(&call.input, &sums, &err);
        Py_END_ALLOW_THREADS result = rc ? raised(module, &err) : sums_as_bytes(&sums);
        if (!rc) lp__statement_sums_release(&sums);
    }
    for (int i = 0; i < BUFFER_COUNT; i++)
        PyBuffer_Release(&call.buffers[i]);
    return result;
}

static PyMethodDef functions[] = {
    {"code_places", code_places, METH_VARARGS,
     "code_places(code, lines, handlers, first_line, flags, python, opcodes, /)\n--\n\nSlots, places of counted "
     "branches, and the branches, packed."},
    {"statement_sums", statement_sums, METH_VARARGS,
     "statement_sums(code, lines, handlers, first_line, flags, python, opcodes, units, scopes, slots, branches, /)\n"
     "--\n\nRows, terms, and whether a branch is missing, packed."},
    {NULL, NULL, 0, NULL}};

int lpx_sums_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
