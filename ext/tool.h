/* A tool of sys.monitoring (CPython 3.12 and later): an id taken, callbacks hung, everything given back.
 *
 * The callbacks are objects of one small heap type with a vectorcall of its own, which is cheaper than a builtin
 * function.  Everything needs the interpreter lock. */
// SPDX-License-Identifier: MIT
#ifndef LPX_TOOL_H
#define LPX_TOOL_H

#include "compat.h"

#define LPX_TOOL_EVENTS 9 /* of one tool at the most */

/* What the interpreter calls. */
struct lpx_callback {
    PyObject_HEAD vectorcallfunc call;
    void *owner; /* NULL once the tool was given back: somebody may have kept the callback */
};

struct lpx_tool_event {
    const char *name; /* in sys.monitoring.events */
    vectorcallfunc handler;
};

struct lpx_tool {
    int id;                              /* -1: none */
    const struct lpx_tool_event *events; /* static */
    int event_count;
    int bits[LPX_TOOL_EVENTS]; /* numbers of the events, while the tool is in use */
    void *owner;
    PyTypeObject *callback_type; /* owned */
    PyObject *set_local_events;  /* owned, while the tool is in use */
};

int lpx_tool_init(struct lpx_tool *tool, PyObject *module, const struct lpx_tool_event *events, int count,
                  void *owner); /* makes the callback type; -1 with an exception */
int lpx_tool_traverse(struct lpx_tool *tool, visitproc visit, void *arg);
void lpx_tool_release(struct lpx_tool *tool);

PyObject *lpx_monitoring(void);     /* sys.monitoring, borrowed; NULL with an exception */
bool lpx_call_ok(PyObject *result); /* lets go of the result of a call; false: it raised */

/* Takes the first free one of these ids, hangs the callbacks and has `global` (indexes in the tool's events, -1 ends)
 * sent everywhere.  False with an exception, or without one when no id is free; lpx_tool_stop undoes what was done. */
bool lpx_tool_start(struct lpx_tool *tool, const int *ids, size_t id_count, const int *global);
void lpx_tool_stop(struct lpx_tool *tool); /* touches no pending exception */
/* What this code object sends besides; false when that cannot be set.  Touches no pending exception. */
bool lpx_tool_set_local(const struct lpx_tool *tool, PyCodeObject *code, int events);

#endif
