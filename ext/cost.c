/* What Python's side adds to an entry: making, entering and dropping the object, measured once per process by the calls
 * below a `with` statement, without running any Python code that a tracer could see. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include "os/clock.h"

#define ROUNDS  5
#define ENTRIES 40

static uint64_t round_ns(struct lpx_state *state, PyObject *name)
{
    uint64_t start = lp__mono_ns();
    for (int i = 0; i < ENTRIES; i++) {
        PyObject *phase = PyObject_Vectorcall((PyObject *)state->phase_type, &name, 1, NULL);
        if (phase == NULL) return 0;
        Py_DECREF(phase);
    }
    return lp__mono_ns() - start;
}

uint64_t lpx_entry_cost_ps(struct lpx_state *state)
{
    PyObject *name;
    if (state->entry_cost_ps) return state->entry_cost_ps;
    name = PyUnicode_FromString("cost");
    for (int i = 0; name && i < ROUNDS; i++) {
        uint64_t ps = round_ns(state, name) * 1000 / ENTRIES;
        if (ps && (state->entry_cost_ps == 0 || ps < state->entry_cost_ps)) state->entry_cost_ps = ps;
    }
    Py_XDECREF(name);
    PyErr_Clear();
    return state->entry_cost_ps;
}
