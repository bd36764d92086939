/* The line engine's half that knows the interpreter: which code objects are watched, and which events say what runs.
 *
 * One engine per import of the extension, with any number of active sessions.  Each watched code object carries a
 * *note* (co_extra) with every session's verdict about it.  3.12 and later: sys.monitoring, with global events that a
 * code object out of scope sends once, and local events on what is watched.  Below: a trace function in every thread.
 * Everything needs the interpreter lock.
 */
// SPDX-License-Identifier: MIT
#ifndef LPX_LINES_H
#define LPX_LINES_H

#include "state.h"

#include "collect/lines.h"
#include "frames.h"
#include "tool.h"

struct lpx_line_engine;

/* What one session thinks of a code object. */
struct lpx_verdict {
    uint64_t session;          /* its serial; 0: none */
    struct lp_line_code *code; /* NULL: out of scope */
};

/* Of one code object, as long as it lives. */
struct lpx_note {
    struct lpx_verdict first;
    struct lpx_verdict *more; /* of further sessions, `more_count` of them */
    uint32_t more_count;
    bool armed;                     /* sends local events */
    PyCodeObject *code;             /* borrowed: the note dies with it */
    struct lpx_line_engine *engine; /* NULL once that has gone */
    struct lpx_note *previous, *next;
};

/* A region's name by address, and the number the core knows it by. */
#define LPX_REGION_NAMES 8
struct lpx_region_name {
    PyObject *text; /* owned: an address means something only while its object lives */
    lp_name_id id;
};

struct lpx_line_session {
    PyObject_HEAD struct lpx_state *state;
    struct lp_line_session *core;
    uint64_t serial;
    PyObject *recording;                            /* owned, as all objects here */
    PyObject *admit_file, *admit_function, *source; /* callables */
    PyObject *files;                                /* dict: co_filename -> verdict of admit_file */
    PyObject *outside;                              /* dict: co_filename -> functions entered out of scope */
    PyObject *added;                                /* dict: code objects that are in scope whatever the others say */
    PyObject *codes;                                /* list: one code object of each lp_line_code, by index */
    struct lpx_line_session *next_active;
    uint64_t unobserved; /* threads that could not be reached */
    struct lpx_region_name names[LPX_REGION_NAMES];
    PyObject *weakrefs;
};

struct lpx_line_engine {
    PyTypeObject *session_type, *region_type, *tracer_type; /* the last below 3.12 only */
    struct lpx_line_session *active;                        /* borrowed: an active session holds itself */
    struct lpx_region *spare_region;                        /* for the next use; without a type or references */
    Py_ssize_t extra_index;                                 /* of the notes; -1: none yet */
    struct lpx_note notes;                                  /* list head */
    struct lpx_tool tool;                                   /* sys.monitoring, 3.12 and later */
    PyObject *disable;                                      /* sys.monitoring.DISABLE */
    PyObject *tracer;      /* below 3.12: what PyEval_SetTrace hands to our trace function */
    PyObject *thread_hook; /* what threading.settrace had before */
    double event_cost_ns;  /* of a line event; 0: not measured yet */
    bool opcodes_known;
    struct lp_code_opcodes opcodes;
};

/* -- lines.c ----------------------------------------------------------------------------------------------------- */

/* -- lines_region.c ---------------------------------------------------------------------------------------------- */

PyObject *lpx_region_new(PyObject *session, PyObject *name); /* session.region(name) */
void lpx_region_forget(struct lpx_line_session *session);    /* the names */
int lpx_region_init(PyObject *module, struct lpx_state *state);
void lpx_region_release(struct lpx_line_engine *engine);

/* -- lines_scope.c ----------------------------------------------------------------------------------------------- */

/* The note of a code object; NULL: none.  Hot: two loads. */
struct lpx_code_extras {
    Py_ssize_t count;
    void *values[1];
};
struct lpx_note *lpx_note_public(const struct lpx_line_engine *engine, PyCodeObject *code);
extern bool lpx_extras_fit; /* the mirror of co_extra is right */
static inline struct lpx_note *lpx_note_of(const struct lpx_line_engine *engine, PyCodeObject *code)
{
    const struct lpx_code_extras *extras;
    if (__builtin_expect(!lpx_extras_fit, 0)) return lpx_note_public(engine, code);
    extras = (const struct lpx_code_extras *)code->co_extra;
    if (extras == NULL || extras->count <= engine->extra_index) return NULL;
    return extras->values[engine->extra_index];
}

/* Has every active session decided about the code object?  It asks Python code, so other threads may run meanwhile,
 * sessions may stop and go: whoever held a line thread must get it again afterwards.  Keeps a pending exception. */
void lpx_lines_decide(struct lpx_line_engine *engine, PyCodeObject *code);
/* Whether there is an active session that was not asked yet. */
bool lpx_lines_undecided(const struct lpx_line_engine *engine, const struct lpx_note *note);

/* Whether an active session watches it. */
bool lpx_lines_wanted(const struct lpx_line_engine *engine, const struct lpx_note *note);

struct lp_line_code *lpx_verdict_more(const struct lpx_note *note, uint64_t session);
/* The session's code object for the one that the note is of; NULL: out of scope, or not decided.  Hot. */
static inline struct lp_line_code *lpx_verdict(const struct lpx_note *note, const struct lpx_line_session *session)
{
    if (note == NULL) return NULL;
    if (__builtin_expect(note->first.session == session->serial, 1)) return note->first.code;
    return lpx_verdict_more(note, session->serial);
}
/* Decided now, for this one session. */
struct lp_line_code *lpx_line_code(struct lpx_line_engine *engine, struct lpx_line_session *session,
                                   PyCodeObject *code);
int lpx_notes_init(struct lpx_line_engine *engine);   /* -1 with an exception */
void lpx_notes_leave(struct lpx_line_engine *engine); /* the engine goes */
/* The host's session of a thread's state. */
static inline struct lpx_line_session *lpx_line_session_of(const struct lp_line_thread *thread)
{
    return thread->data;
}

/* -- lines_events.c, lines_trace.c: one of them has the mechanism ------------------------------------------------- */

#define LPX_LINE_MECHANISM (LPX_HAVE_MONITORING ? "monitoring" : "settrace")

/* 0, or -1 with an exception: no free tool id.  The first session to start, the last to stop. */
int lpx_lines_arm(struct lpx_line_engine *engine);
void lpx_lines_disarm(struct lpx_line_engine *engine);
/* A session has started: everything may be in scope now. */
void lpx_lines_again(struct lpx_line_engine *engine);
/* Watched from now on: local events. */
void lpx_lines_watch(struct lpx_line_engine *engine, struct lpx_note *note, const struct lp_line_code *code);
int lpx_lines_mechanism_init(PyObject *module, struct lpx_line_engine *engine);
/* Threads of this interpreter that we do not hear from. */
uint64_t lpx_lines_unobserved(const struct lpx_line_engine *engine);

#endif
