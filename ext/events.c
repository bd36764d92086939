/* sys.monitoring: a tool of our own with local events on armed code objects and PY_THROW everywhere.
 *
 * The callbacks are objects of one small heap type with a vectorcall of its own, which is cheaper than a builtin
 * function.  Code that holds scopes once and then yields a million items is disarmed: when the yields that found no
 * record since the last begin have cost about as much as arming again would. */
// SPDX-License-Identifier: MIT
#include "events.h"

#include "stints.h"

#if LPX_HAVE_MONITORING

#include <stddef.h>
#include <string.h>

#define TOOL_NAME "lineprofiler"

enum kind { ON_YIELD, ON_RESUME, ON_THROW, ON_RETURN, KIND_COUNT };

static const char *const event_names[KIND_COUNT] = {"PY_YIELD", "PY_RESUME", "PY_THROW", "PY_RETURN"};

struct callback {
    PyObject_HEAD vectorcallfunc call;
    struct lpx_hosts *hosts; /* NULL once the tool was given back */
};

/* -- what the interpreter calls ---------------------------------------------------------------------------------- */

/* Numbers of the events, the same in all interpreters of this process. */
static _Atomic int event_bits[KIND_COUNT];

static void set_local_events(struct lpx_hosts *hosts, struct lpx_armed *armed, uint8_t level);

/* Instructions that a new arming rewrites, at a sixteenth of a yield each. */
static uint32_t waste_limit(const PyCodeObject *code)
{
    return 32 + (uint32_t)(Py_SIZE(code) / 16);
}

static void count_waste(struct lpx_hosts *hosts, PyCodeObject *code)
{
    struct lpx_armed *armed = lpx_armed_find(hosts, code);
    if (armed == NULL || ++armed->waste < waste_limit(code)) return;
    armed->waste = 0;
    if (armed->owners) return;
    lpx_events_disarm(hosts, armed);
    if (armed->level == 0) lpx_armed_drop(hosts, armed);
}

static struct callback *callback_for(PyObject *self, size_t count, Py_ssize_t wanted)
{
    struct callback *callback = (struct callback *)self;
    if (PyVectorcall_NARGS(count) < wanted || callback->hosts == NULL || callback->hosts->owners == 0) return NULL;
    return callback;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct callback *callback = (struct callback *)self;
    struct lpx_frame *frame;
    PyCodeObject *code;
    (void)names;
    if (PyVectorcall_NARGS(count) < 3 || callback->hosts == NULL) Py_RETURN_NONE;
    code = (PyCodeObject *)args[0];
    frame = callback->hosts->owners ? lpx_frame_now(lpx_tstate()) : NULL;
    if (frame == NULL || !lpx_frame_stops(callback->hosts, frame, code, lpx_frame_up(frame), args[2]))
        count_waste(callback->hosts, code);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct callback *callback = callback_for(self, count, 1);
    struct lpx_frame *frame = callback ? lpx_frame_now(lpx_tstate()) : NULL;
    (void)names;
    if (frame) lpx_frame_goes_on(callback->hosts, frame, (PyCodeObject *)args[0]);
    Py_RETURN_NONE;
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct callback *callback = callback_for(self, count, 1);
    struct lpx_frame *frame = callback ? lpx_frame_now(lpx_tstate()) : NULL;
    (void)names;
    if (frame) lpx_frame_is_thrown_into(callback->hosts, frame, (PyCodeObject *)args[0], lpx_frame_up(frame));
    Py_RETURN_NONE;
}

static PyObject *on_return(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct callback *callback = callback_for(self, count, 1);
    struct lpx_frame *frame = callback ? lpx_frame_now(lpx_tstate()) : NULL;
    (void)names;
    if (frame) lpx_frame_ends(callback->hosts, frame, (PyCodeObject *)args[0], lpx_frame_up(frame));
    Py_RETURN_NONE;
}

static const vectorcallfunc handlers[KIND_COUNT] = {on_yield, on_resume, on_throw, on_return};

/* -- the callback type ------------------------------------------------------------------------------------------- */

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "lineprofiler._core.ScopeCallback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

int lpx_events_init(struct lpx_hosts *hosts, PyObject *module)
{
    hosts->callback_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &callback_spec, NULL);
    return hosts->callback_type ? 0 : -1;
}

/* -- taking and giving back a tool ------------------------------------------------------------------------------- */

static PyObject *monitoring(void) /* borrowed */
{
    PyObject *module = PySys_GetObject("monitoring");
    if (module == NULL) PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
    return module;
}

static bool call_ok(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* 4, 3, 5 in this order; 0, 1 and 2 are for debuggers, coverage and profilers by convention. */
static int take_tool(PyObject *module)
{
    static const int wanted[] = {4, 3, 5};
    size_t i;
    for (i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (call_ok(PyObject_CallMethod(module, "use_tool_id", "is", wanted[i], TOOL_NAME))) return wanted[i];
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
    }
    return -1;
}

static bool read_events(PyObject *module)
{
    PyObject *events = PyObject_GetAttrString(module, "events");
    int kind;
    for (kind = 0; events && kind < KIND_COUNT; kind++) {
        PyObject *bit = PyObject_GetAttrString(events, event_names[kind]);
        event_bits[kind] = bit ? (int)PyLong_AsLong(bit) : -1;
        Py_XDECREF(bit);
    }
    Py_XDECREF(events);
    return events && !PyErr_Occurred();
}

static bool hang_callback(struct lpx_hosts *hosts, PyObject *module, int kind)
{
    struct callback *callback = PyObject_New(struct callback, hosts->callback_type);
    bool ok;
    if (callback == NULL) return false;
    callback->call = handlers[kind];
    callback->hosts = hosts;
    ok = call_ok(PyObject_CallMethod(module, "register_callback", "iiO", hosts->tool, event_bits[kind], callback));
    Py_DECREF(callback);
    return ok;
}

static bool start_tool(struct lpx_hosts *hosts)
{
    PyObject *module = monitoring();
    int kind;
    if (module == NULL || !read_events(module)) return false;
    hosts->tool = take_tool(module);
    if (hosts->tool < 0) return false;
    for (kind = 0; kind < KIND_COUNT; kind++)
        if (!hang_callback(hosts, module, kind)) return false;
    hosts->set_local_events = PyObject_GetAttrString(module, "set_local_events");
    return hosts->set_local_events &&
           call_ok(PyObject_CallMethod(module, "set_events", "ii", hosts->tool, event_bits[ON_THROW]));
}

/* Unregisters one callback and makes sure that a copy somebody kept does nothing. */
static void take_callback(struct lpx_hosts *hosts, PyObject *module, int kind)
{
    PyObject *old = PyObject_CallMethod(module, "register_callback", "iiO", hosts->tool, event_bits[kind], Py_None);
    if (old && Py_IS_TYPE(old, hosts->callback_type)) ((struct callback *)old)->hosts = NULL;
    Py_XDECREF(old);
    PyErr_Clear();
}

static void stop_tool(struct lpx_hosts *hosts)
{
    PyObject *module = monitoring();
    int kind;
    if (module && hosts->tool >= 0) {
        (void)call_ok(PyObject_CallMethod(module, "set_events", "ii", hosts->tool, 0));
        PyErr_Clear();
        for (kind = 0; kind < KIND_COUNT; kind++)
            take_callback(hosts, module, kind);
        (void)call_ok(PyObject_CallMethod(module, "free_tool_id", "i", hosts->tool));
    }
    PyErr_Clear();
    hosts->tool = -1;
    Py_CLEAR(hosts->set_local_events);
}

void lpx_events_stop(struct lpx_hosts *hosts)
{
    struct lpx_error error;
    struct lpx_armed *armed;
    if (hosts->mechanism == LPX_UNTRIED) return;
    error = lpx_error_hide();
    for (armed = hosts->armed_list; armed; armed = armed->next)
        lpx_events_disarm(hosts, armed);
    stop_tool(hosts);
    lpx_error_restore(error);
}

/* -- arming ------------------------------------------------------------------------------------------------------ */

/* Leaves armed->level as it was when the call fails. */
static void set_local_events(struct lpx_hosts *hosts, struct lpx_armed *armed, uint8_t level)
{
    struct lpx_error error;
    int events = 0;
    if (hosts->set_local_events == NULL) return;
    if (level >= 1) events |= event_bits[ON_YIELD] | event_bits[ON_RESUME];
    if (level >= 2) events |= event_bits[ON_RETURN];
    error = lpx_error_hide();
    if (call_ok(PyObject_CallFunction(hosts->set_local_events, "iOi", hosts->tool, armed->code, events)))
        armed->level = level;
    lpx_error_restore(error);
}

void lpx_events_disarm(struct lpx_hosts *hosts, struct lpx_armed *armed)
{
    if (armed->level) set_local_events(hosts, armed, 0);
}

bool lpx_events_arm(struct lpx_hosts *hosts, struct lpx_armed *armed, uint8_t level)
{
    if (hosts->mechanism == LPX_UNTRIED) {
        struct lpx_error error = lpx_error_hide();
        hosts->mechanism = start_tool(hosts) ? LPX_EXACT : LPX_REFUSED;
        if (hosts->mechanism == LPX_REFUSED) stop_tool(hosts);
        lpx_error_restore(error);
    }
    if (hosts->mechanism == LPX_REFUSED) return false;
    set_local_events(hosts, armed, level);
    return armed->level >= level;
}

#else /* no sys.monitoring */

int lpx_events_init(struct lpx_hosts *hosts, PyObject *module)
{
    (void)hosts;
    (void)module;
    return 0;
}

bool lpx_events_arm(struct lpx_hosts *hosts, struct lpx_armed *armed, uint8_t level)
{
    (void)hosts;
    (void)armed;
    (void)level;
    return false;
}

void lpx_events_disarm(struct lpx_hosts *hosts, struct lpx_armed *armed)
{
    (void)hosts;
    (void)armed;
}

void lpx_events_stop(struct lpx_hosts *hosts)
{
    (void)hosts;
}

#endif
