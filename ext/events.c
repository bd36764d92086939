/* sys.monitoring: a tool of our own with local events on armed code objects and PY_THROW everywhere.
 *
 * Code that holds scopes once and then yields a million items is disarmed: when the yields that found no record since
 * the last begin have cost about as much as arming again would. */
// SPDX-License-Identifier: MIT
#include "events.h"

#include "stints.h"

#if LPX_HAVE_MONITORING

enum kind { ON_YIELD, ON_RESUME, ON_THROW, ON_RETURN };

/* -- what the interpreter calls ---------------------------------------------------------------------------------- */

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

/* NULL: nothing is to be done. */
static struct lpx_hosts *hosts_of(PyObject *self, size_t count, Py_ssize_t wanted)
{
    struct lpx_hosts *hosts = ((struct lpx_callback *)self)->owner;
    return PyVectorcall_NARGS(count) < wanted || hosts == NULL || hosts->owners == 0 ? NULL : hosts;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_hosts *hosts = ((struct lpx_callback *)self)->owner;
    struct lpx_frame *frame;
    PyCodeObject *code;
    (void)names;
    if (PyVectorcall_NARGS(count) < 3 || hosts == NULL) Py_RETURN_NONE;
    code = (PyCodeObject *)args[0];
    frame = hosts->owners ? lpx_frame_now(lpx_tstate()) : NULL;
    if (frame == NULL || !lpx_frame_stops(hosts, frame, code, lpx_frame_up(frame), args[2])) count_waste(hosts, code);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_hosts *hosts = hosts_of(self, count, 1);
    struct lpx_frame *frame = hosts ? lpx_frame_now(lpx_tstate()) : NULL;
    (void)names;
    if (frame) lpx_frame_goes_on(hosts, frame, (PyCodeObject *)args[0]);
    Py_RETURN_NONE;
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_hosts *hosts = hosts_of(self, count, 1);
    struct lpx_frame *frame = hosts ? lpx_frame_now(lpx_tstate()) : NULL;
    (void)names;
    if (frame) lpx_frame_is_thrown_into(hosts, frame, (PyCodeObject *)args[0], lpx_frame_up(frame));
    Py_RETURN_NONE;
}

static PyObject *on_return(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct lpx_hosts *hosts = hosts_of(self, count, 1);
    struct lpx_frame *frame = hosts ? lpx_frame_now(lpx_tstate()) : NULL;
    (void)names;
    if (frame) lpx_frame_ends(hosts, frame, (PyCodeObject *)args[0], lpx_frame_up(frame));
    Py_RETURN_NONE;
}

static const struct lpx_tool_event events[] = {
    [ON_YIELD] = {"PY_YIELD", on_yield},
    [ON_RESUME] = {"PY_RESUME", on_resume},
    [ON_THROW] = {"PY_THROW", on_throw},
    [ON_RETURN] = {"PY_RETURN", on_return},
};

/* -- taking and giving back a tool ------------------------------------------------------------------------------- */

int lpx_events_init(struct lpx_hosts *hosts, PyObject *module)
{
    return lpx_tool_init(&hosts->tool, module, events, sizeof events / sizeof *events, hosts);
}

/* 4, 3, 5 in this order; 0, 1 and 2 are for debuggers, coverage and profilers by convention. */
static bool start_tool(struct lpx_hosts *hosts)
{
    static const int ids[] = {4, 3, 5}, global[] = {ON_THROW, -1};
    return lpx_tool_start(&hosts->tool, ids, sizeof ids / sizeof *ids, global);
}

void lpx_events_stop(struct lpx_hosts *hosts)
{
    struct lpx_armed *armed;
    if (hosts->mechanism == LPX_UNTRIED) return;
    for (armed = hosts->armed_list; armed; armed = armed->next)
        lpx_events_disarm(hosts, armed);
    lpx_tool_stop(&hosts->tool);
}

/* -- arming ------------------------------------------------------------------------------------------------------ */

/* Leaves armed->level as it was when the call fails. */
static void set_local_events(struct lpx_hosts *hosts, struct lpx_armed *armed, uint8_t level)
{
    const int *bits = hosts->tool.bits;
    int wanted = 0;
    if (level >= 1) wanted |= bits[ON_YIELD] | bits[ON_RESUME];
    if (level >= 2) wanted |= bits[ON_RETURN];
    if (lpx_tool_set_local(&hosts->tool, armed->code, wanted)) armed->level = level;
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
        if (hosts->mechanism == LPX_REFUSED) lpx_tool_stop(&hosts->tool);
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
