/* The extension module: per-interpreter state, made and torn down. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <stdlib.h>
#include <strings.h>

#include "collect/table.h"
#include "sums.h"

struct lpx_state *lpx_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

void lpx_install(struct lpx_state *state, struct lp_recording *recording)
{
    if (state->ambient != &state->own) {
        lp__install(recording);
        if (recording) lp__table_announce(); /* C libraries that were loaded earlier */
    } else {
        atomic_store(&state->own, recording);
    }
}

/* An explicit "off": decorators then hand back the function itself. */
static bool environment_says_off(void)
{
    static const char *const words[] = {"0", "false", "off", "no"};
    const char *value = getenv("LINEPROFILER_PROFILE");
    for (size_t i = 0; value && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i]) == 0) return true;
    return false;
}

static int module_exec(PyObject *module)
{
    struct lpx_state *state = lpx_state_of(module);
    state->decorators_off = environment_says_off();
    state->ambient = PyInterpreterState_Get() == PyInterpreterState_Main() ? &lp__installed : &state->own;
    if (lp_table_1.version != LP_TABLE_VERSION) return -1; /* links the table that C libraries look for */
    if (lpx_errors_init(module, state) || lpx_sums_init(module) || lpx_phase_init(module, state) ||
        lpx_token_init(module, state) || lpx_iterate_init(module, state) || lpx_function_init(module, state) ||
        lpx_recording_init(module, state) || lpx_hosts_init(&state->hosts, module) || lpx_lines_init(module, state))
        return -1;
    return PyModule_AddStringConstant(module, "version", LP_VERSION);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct lpx_state *state = lpx_state_of(module);
    int stop;
    Py_VISIT(state->phase_type);
    Py_VISIT(state->token_type);
    Py_VISIT(state->recording_type);
    Py_VISIT(state->iterate_type);
    Py_VISIT(state->function_type);
    Py_VISIT(state->method_type);
    Py_VISIT(state->done_type);
    Py_VISIT(state->done);
    Py_VISIT(state->installed);
    Py_VISIT(state->profile_error);
    for (int i = 0; i < 16; i++)
        Py_VISIT(state->error_types[i]);
    if ((stop = lpx_lines_traverse(state, visit, arg)) != 0) return stop;
    return lpx_hosts_traverse(&state->hosts, visit, arg);
}

static int module_clear(PyObject *module)
{
    struct lpx_state *state = lpx_state_of(module);
    lpx_names_clear(state, NULL);
    lpx_phase_release(state);
    lpx_lines_release(state);
    lpx_hosts_release(&state->hosts);
    Py_CLEAR(state->installed);
    Py_CLEAR(state->done);
    Py_CLEAR(state->profile_error);
    for (int i = 0; i < 16; i++)
        Py_CLEAR(state->error_types[i]);
    Py_CLEAR(state->phase_type);
    Py_CLEAR(state->token_type);
    Py_CLEAR(state->recording_type);
    Py_CLEAR(state->iterate_type);
    Py_CLEAR(state->function_type);
    Py_CLEAR(state->method_type);
    Py_CLEAR(state->done_type);
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
    lpx_lines_free(lpx_state_of(module));
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
                                   {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
                                   {0, NULL}};

struct PyModuleDef lpx_module = {PyModuleDef_HEAD_INIT,
                                 .m_name = "lineprofiler._core",
                                 .m_doc = "The extension of lineprofiler; its public face is lineprofiler.accounting.",
                                 .m_size = sizeof(struct lpx_state),
                                 .m_slots = slots,
                                 .m_traverse = module_traverse,
                                 .m_clear = module_clear,
                                 .m_free = module_free};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&lpx_module);
}
