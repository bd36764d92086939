/* What one import of the extension has: types, caches, the scope host.  No static Python objects anywhere. */
// SPDX-License-Identifier: MIT
#ifndef LPX_STATE_H
#define LPX_STATE_H

#include "compat.h"

#include "base/err.h"
#include "collect/phase.h"
#include "collect/recording.h"
#include "owners.h"

#define LPX_NAME_SLOTS      256
#define LPX_PHASE_ARGUMENTS 5
#define LPX_FREE_PHASES     64

/* A str by address, and the number the core knows it by, checked against the rules of one recording. */
struct lpx_name_slot {
    PyObject *text;                 /* owned: an address means something only while its object lives */
    struct lp_recording *recording; /* not a reference */
    lp_name_id id;
};

struct lpx_names {
    struct lpx_name_slot slots[LPX_NAME_SLOTS];
};

struct lpx_state {
    PyTypeObject *phase_type, *token_type, *recording_type, *iterate_type, *function_type, *method_type, *done_type;
    PyObject *done;                     /* awaitable that is done at once: what __aexit__ returns */
    PyObject *installed;                /* the Recording that is installed, or NULL */
    _Atomic(struct lp_recording *) own; /* what `installed` records into, for interpreters other than the main one */
    _Atomic(struct lp_recording *) *ambient; /* where ambient functions find theirs: `own`, or lp__installed */
    PyObject *error_types[16];               /* by -code of enum lp_err; owned */
    PyObject *profile_error;
    struct lpx_names names;
    struct lpx_hosts hosts;
    PyObject *argument_names[LPX_PHASE_ARGUMENTS]; /* of phase(), interned; owned */
    struct lpx_phase *free_phases;
    int free_phase_count;
    struct lpx_line_engine *lines;
    uint64_t entry_cost_ps; /* what Python's side adds to an entry; 0 not measured yet */
    bool decorators_off;    /* the environment said "off" when we were imported */
    Py_ssize_t decorated_while_off;
    Py_ssize_t idle_uses; /* phases and counters used while no recording was there for them */
};

struct lpx_state *lpx_state_of(PyObject *module);
extern struct PyModuleDef lpx_module;

/* -- names.c ----------------------------------------------------------------------------------------------------- */

/* The core's number for a name in this recording.  0 with an exception set: not a str (TypeError), longer than the
 * store takes, a second name of a shape under strict_names (ValueError).  0 without one: no memory, nothing is
 * recorded. */
lp_name_id lpx_name_slow(struct lpx_state *state, struct lp_recording *recording, PyObject *name);
static inline struct lpx_name_slot *lpx_name_slot(struct lpx_state *state, const struct lp_recording *recording,
                                                  const PyObject *name)
{
    return &state->names.slots[(((uintptr_t)name >> 4) ^ ((uintptr_t)recording >> 6)) % LPX_NAME_SLOTS];
}
static inline lp_name_id lpx_name_id(struct lpx_state *state, struct lp_recording *recording, PyObject *name)
{
    struct lpx_name_slot *slot = lpx_name_slot(state, recording, name);
    if (__builtin_expect(slot->text == name && slot->recording == recording, 1)) return slot->id;
    return lpx_name_slow(state, recording, name);
}
/* Forgets the names of one recording, of all with NULL. */
void lpx_names_clear(struct lpx_state *state, const struct lp_recording *recording);
/* The Python name of the calling thread, 0 when it has none: what thread_names nests phases under. */
lp_name_id lpx_thread_name(void);
/* The str of a registered name; a new reference. */
PyObject *lpx_name_str(lp_name_id id);
/* `name` itself if it is a str (a subclass gives its characters), else NULL and TypeError.  A new reference. */
PyObject *lpx_name_check(PyObject *name);

/* -- phase.c ----------------------------------------------------------------------------------------------------- */

struct lpx_entry {
    struct lp_scope *scope; /* NULL: none */
    uint64_t serial;
    struct lp_recording *recording;
    void *opener; /* frame */
};

/* Options of a phase, decided when it is made. */
struct lpx_how {
    uint64_t stride; /* sample=: entries per recorded one, in 1/65,536 */
    uint32_t flags;  /* enum lp_scope_flags */
};

/* Begins an entry in `recording`; false with an exception only for a wrong name.  entry->scope is NULL when nothing is
 * recorded.  `frame`: the innermost one, or NULL for C code of ours around one call, which no frame is suspended in. */
bool lpx_begin(struct lpx_state *state, struct lp_recording *recording, PyObject *name, const struct lpx_how *how,
               struct lpx_frame *frame, struct lpx_entry *entry);
/* The same when it is not on top of this thread's stack. */
void lpx_end_slow(struct lpx_entry *entry);
/* Ends an entry, whatever has become of it; takes no notice of pending exceptions. */
static inline void lpx_end(struct lpx_entry *entry)
{
    struct lp_scope *scope = entry->scope;
    struct lp_thread *thread = lp__tls_thread;
    if (__builtin_expect(thread != NULL, 1) &&
        __builtin_expect(atomic_load_explicit(&thread->recording, memory_order_relaxed) == entry->recording, 1) &&
        __builtin_expect(thread->top == scope && scope->serial == entry->serial, 1))
        lp__end(thread, scope);
    else
        lpx_end_slow(entry);
    entry->scope = NULL;
}
/* The object that held it died: it ends here and is counted as left open. */
void lpx_end_left_open(struct lpx_entry *entry);

int lpx_phase_init(PyObject *module, struct lpx_state *state);
/* Below 3.14: gives a type whose objects can be called __enter__ and __exit__ that are the object itself, called with
 * no argument to enter it, with three to leave. */
#define LPX_SELF_CALLABLE (PY_VERSION_HEX < 0x030E0000)
int lpx_self_methods(struct lpx_state *state, PyTypeObject *type);
void lpx_phase_release(struct lpx_state *state);
/* A phase bound to a recording, for Recording.phase(); arguments as the type's. */
PyObject *lpx_phase_bound(struct lpx_state *state, PyObject *recording, PyObject *const *args, size_t nargsf,
                          PyObject *names);

/* A phase's name, options and recording; borrowed. */
void lpx_phase_facts(PyObject *phase, PyObject **name, struct lpx_how *how, struct lp_recording **bound,
                     PyObject **bound_object);

/* cost.c: picoseconds that Python's side adds to an entry. */
uint64_t lpx_entry_cost_ps(struct lpx_state *state);

/* -- function.c -------------------------------------------------------------------------------------------------- */

int lpx_function_init(PyObject *module, struct lpx_state *state);
/* A callable that runs `function` inside the phase; keeps its identity and signature. `phase` is a phase object. */
PyObject *lpx_function_wrap(struct lpx_state *state, PyObject *phase, PyObject *function);

/* -- token.c, iterate.c, recording.c, read.c, errors.c ----------------------------------------------------------- */

int lpx_token_init(PyObject *module, struct lpx_state *state);
PyObject *lpx_token_begin(struct lpx_state *state, struct lp_recording *recording, PyObject *name);
PyObject *lpx_token_end(struct lpx_state *state, struct lp_recording *recording, PyObject *token);

int lpx_iterate_init(PyObject *module, struct lpx_state *state);
PyObject *lpx_iterate_new(struct lpx_state *state, PyObject *owner, PyObject *name, PyObject *iterable);

int lpx_recording_init(PyObject *module, struct lpx_state *state);
struct lp_recording *lpx_recording_get(PyObject *recording); /* of a Recording object */

/* Shared by the module's functions and Recording's methods; `recording` may be NULL (nothing installed). */
PyObject *lpx_count(struct lpx_state *state, struct lp_recording *recording, PyObject *const *args, Py_ssize_t count);
PyObject *lpx_current_path(struct lpx_state *state, struct lp_recording *recording);

PyObject *lpx_load_run(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *lpx_report(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *lpx_cli(PyObject *module, PyObject *arguments);
PyObject *lpx_clock_facts(PyObject *module, PyObject *unused);
PyObject *lpx_dump(struct lpx_state *state, struct lp_recording *recording);
PyObject *lpx_lines_render(PyObject *module, PyObject *args, PyObject *kwargs);

/* lines.c: the line engine. */
int lpx_lines_init(PyObject *module, struct lpx_state *state);
int lpx_lines_traverse(struct lpx_state *state, visitproc visit, void *arg);
void lpx_lines_release(struct lpx_state *state); /* references; any number of times */
void lpx_lines_free(struct lpx_state *state);

int lpx_errors_init(PyObject *module, struct lpx_state *state);
/* Sets the exception that fits; always returns NULL. */
PyObject *lpx_raise(struct lpx_state *state, const struct lp_error *err);

/* What is installed for this interpreter; NULL: nothing.  The main one shares it with C code.  Any other interpreter
 * has its own, since the tables of a recording are touched under one interpreter's lock. */
static inline struct lp_recording *lpx_installed(const struct lpx_state *state)
{
    return atomic_load_explicit(state->ambient, memory_order_acquire);
}
/* Makes it that one, or with NULL none; the caller keeps state->installed in step. */
void lpx_install(struct lpx_state *state, struct lp_recording *recording);

#endif
