/* Taking a tool id of sys.monitoring, hanging callbacks on it, giving it back. */
// SPDX-License-Identifier: MIT
#include "tool.h"

int lpx_tool_traverse(struct lpx_tool *tool, visitproc visit, void *arg)
{
    Py_VISIT(tool->callback_type);
    Py_VISIT(tool->set_local_events);
    return 0;
}

void lpx_tool_release(struct lpx_tool *tool)
{
    Py_CLEAR(tool->callback_type);
    Py_CLEAR(tool->set_local_events);
}

#if LPX_HAVE_MONITORING

#include <stddef.h>

#define TOOL_NAME "lineprofiler"

/* -- the callback type ------------------------------------------------------------------------------------------- */

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct lpx_callback, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "lineprofiler._core.Callback",
    .basicsize = sizeof(struct lpx_callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

/* -- life -------------------------------------------------------------------------------------------------------- */

int lpx_tool_init(struct lpx_tool *tool, PyObject *module, const struct lpx_tool_event *events, int count, void *owner)
{
    tool->id = -1;
    tool->events = events;
    tool->event_count = count;
    tool->owner = owner;
    tool->callback_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &callback_spec, NULL);
    return tool->callback_type ? 0 : -1;
}

/* -- taking it and giving it back -------------------------------------------------------------------------------- */

PyObject *lpx_monitoring(void)
{
    PyObject *module = PySys_GetObject("monitoring");
    if (module == NULL) PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
    return module;
}

bool lpx_call_ok(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

static int take_id(PyObject *module, const int *ids, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (lpx_call_ok(PyObject_CallMethod(module, "use_tool_id", "is", ids[i], TOOL_NAME))) return ids[i];
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
    }
    return -1;
}

static bool read_bits(struct lpx_tool *tool, PyObject *module)
{
    PyObject *events = PyObject_GetAttrString(module, "events");
    int i;
    for (i = 0; events && i < tool->event_count; i++) {
        PyObject *bit = PyObject_GetAttrString(events, tool->events[i].name);
        tool->bits[i] = bit ? (int)PyLong_AsLong(bit) : -1;
        Py_XDECREF(bit);
    }
    Py_XDECREF(events);
    return events && !PyErr_Occurred();
}

static bool hang_callback(const struct lpx_tool *tool, PyObject *module, int event)
{
    struct lpx_callback *callback = PyObject_New(struct lpx_callback, tool->callback_type);
    bool ok;
    if (callback == NULL) return false;
    callback->call = tool->events[event].handler;
    callback->owner = tool->owner;
    ok = lpx_call_ok(PyObject_CallMethod(module, "register_callback", "iiO", tool->id, tool->bits[event], callback));
    Py_DECREF(callback);
    return ok;
}

bool lpx_tool_start(struct lpx_tool *tool, const int *ids, size_t id_count, const int *global)
{
    PyObject *module = lpx_monitoring();
    int event, everywhere = 0;
    if (module == NULL || !read_bits(tool, module)) return false;
    tool->id = take_id(module, ids, id_count);
    if (tool->id < 0) return false;
    for (event = 0; event < tool->event_count; event++)
        if (!hang_callback(tool, module, event)) return false;
    tool->set_local_events = PyObject_GetAttrString(module, "set_local_events");
    for (; *global >= 0; global++)
        everywhere |= tool->bits[*global];
    return tool->set_local_events && lpx_call_ok(PyObject_CallMethod(module, "set_events", "ii", tool->id, everywhere));
}

/* Unregisters one callback and makes sure that a copy somebody kept does nothing. */
static void take_callback(const struct lpx_tool *tool, PyObject *module, int event)
{
    PyObject *old = PyObject_CallMethod(module, "register_callback", "iiO", tool->id, tool->bits[event], Py_None);
    if (old && Py_IS_TYPE(old, tool->callback_type)) ((struct lpx_callback *)old)->owner = NULL;
    Py_XDECREF(old);
    PyErr_Clear();
}

void lpx_tool_stop(struct lpx_tool *tool)
{
    struct lpx_error error = lpx_error_hide();
    PyObject *module = lpx_monitoring();
    int event;
    if (module && tool->id >= 0) {
        (void)lpx_call_ok(PyObject_CallMethod(module, "set_events", "ii", tool->id, 0));
        PyErr_Clear();
        for (event = 0; event < tool->event_count; event++)
            take_callback(tool, module, event);
        (void)lpx_call_ok(PyObject_CallMethod(module, "free_tool_id", "i", tool->id));
    }
    tool->id = -1;
    Py_CLEAR(tool->set_local_events);
    lpx_error_restore(error);
}

bool lpx_tool_set_local(const struct lpx_tool *tool, PyCodeObject *code, int events)
{
    struct lpx_error error;
    bool ok;
    if (tool->set_local_events == NULL) return false;
    error = lpx_error_hide();
    ok = lpx_call_ok(PyObject_CallFunction(tool->set_local_events, "iOi", tool->id, code, events));
    lpx_error_restore(error);
    return ok;
}

#endif
