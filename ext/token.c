/* begin(name) -> Token, end(token): for places where `with` does not fit.  The scope lives with the token: one that
 * nobody keeps ends at once, and is counted as left open. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <stddef.h>
#include <structmember.h>

struct lpx_token {
    PyObject_HEAD PyObject *name; /* owned */
    struct lpx_entry entry;
};

PyObject *lpx_token_begin(struct lpx_state *state, struct lp_recording *recording, PyObject *name)
{
    static const struct lpx_how how = {65536, 0};
    PyObject *text = lpx_name_check(name);
    struct lpx_token *token;
    if (text == NULL) return NULL;
    token = PyObject_New(struct lpx_token, state->token_type);
    if (token == NULL) {
        Py_DECREF(text);
        return NULL;
    }
    token->name = text;
    token->entry.scope = NULL;
    if (recording == NULL) state->idle_uses++;
    if (recording && !lpx_begin(state, recording, text, &how, lpx_current_frame(), &token->entry)) Py_CLEAR(token);
    return (PyObject *)token;
}

PyObject *lpx_token_end(struct lpx_state *state, struct lp_recording *recording, PyObject *object)
{
    struct lpx_token *token = (struct lpx_token *)object;
    struct lp_thread *thread;
    if (!Py_IS_TYPE(object, state->token_type)) {
        PyErr_Format(PyExc_TypeError, "end() takes the token that begin() gave, not %.100s", Py_TYPE(object)->tp_name);
        return NULL;
    }
    if (token->entry.scope) {
        lpx_end(&token->entry);
        Py_RETURN_NONE;
    }
    thread = recording ? lp__thread_of(recording) : NULL;
    if (thread) lp__drop(thread, LP_DROP_END_WITHOUT_BEGIN);
    Py_RETURN_NONE;
}

static void token_dealloc(PyObject *object)
{
    struct lpx_token *token = (struct lpx_token *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (token->entry.scope) {
        struct lpx_error error = lpx_error_hide();
        lpx_end_left_open(&token->entry);
        lpx_error_restore(error);
    }
    Py_XDECREF(token->name);
    PyObject_Free(token);
    Py_DECREF(type);
}

static PyMemberDef token_members[] = {
    {"name", T_OBJECT_EX, offsetof(struct lpx_token, name), READONLY, "Name of the phase that it opened."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot token_slots[] = {
    {Py_tp_dealloc, token_dealloc},
    {Py_tp_members, token_members},
    {Py_tp_doc, "What begin() returns: hand it to end(), and keep it until then.  A token that dies ends its phase."},
    {0, NULL}};
static PyType_Spec token_spec = {"lineprofiler._core.Token", sizeof(struct lpx_token), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, token_slots};

int lpx_token_init(PyObject *module, struct lpx_state *state)
{
    state->token_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &token_spec, NULL);
    return state->token_type ? PyModule_AddType(module, state->token_type) : -1;
}
