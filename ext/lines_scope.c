/* Which code is watched: each session's verdict on a code object, asked of Python once and kept in the code object's
 * note. */
// SPDX-License-Identifier: MIT
#include "lines.h"

#include <string.h>

#include "base/buf.h"
#include "os/file.h"

#define SOURCE_CEILING ((size_t)16 << 20)

bool lpx_extras_fit;

/* -- notes ------------------------------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030C0000
#define request_index PyUnstable_Eval_RequestCodeExtraIndex
#define get_extra     PyUnstable_Code_GetExtra
#define set_extra     PyUnstable_Code_SetExtra
#else
#define request_index _PyEval_RequestCodeExtraIndex
#define get_extra     _PyCode_GetExtra
#define set_extra     _PyCode_SetExtra
#endif

struct lpx_note *lpx_note_public(const struct lpx_line_engine *engine, PyCodeObject *code)
{
    void *value = NULL;
    if (get_extra((PyObject *)code, engine->extra_index, &value)) PyErr_Clear();
    return value;
}

static void unlink_note(struct lpx_note *note)
{
    note->previous->next = note->next;
    note->next->previous = note->previous;
    note->previous = note->next = note;
}

/* Its code object dies. */
static void free_note(void *value)
{
    struct lpx_note *note = value;
    if (note == NULL) return;
    unlink_note(note);
    PyMem_Free(note->more);
    PyMem_Free(note);
}

int lpx_notes_init(struct lpx_line_engine *engine)
{
    if (engine->extra_index >= 0) return 0;
    engine->extra_index = request_index(free_note);
    if (engine->extra_index < 0) PyErr_SetString(PyExc_RuntimeError, "no room left beside code objects for a profiler");
    return engine->extra_index < 0 ? -1 : 0;
}

void lpx_notes_leave(struct lpx_line_engine *engine)
{
    struct lpx_note *note;
    if (engine->notes.next == NULL) return;
    while ((note = engine->notes.next) != &engine->notes) {
        note->engine = NULL;
        unlink_note(note);
    }
}

static struct lpx_note *make_note(struct lpx_line_engine *engine, PyCodeObject *code)
{
    struct lpx_note *note = PyMem_Calloc(1, sizeof *note);
    if (note == NULL) return NULL;
    note->code = code;
    note->engine = engine;
    note->previous = &engine->notes;
    note->next = engine->notes.next;
    note->next->previous = note;
    engine->notes.next = note;
    if (set_extra((PyObject *)code, engine->extra_index, note)) {
        PyErr_Clear();
        free_note(note);
        return NULL;
    }
    lpx_extras_fit = true; /* looked at through the mirror once, here, before anything relies on it */
    if (lpx_note_of(engine, code) != note) lpx_extras_fit = false;
    return note;
}

static const struct lpx_verdict *find_verdict(const struct lpx_note *note, uint64_t serial)
{
    uint32_t i;
    if (note->first.session == serial) return &note->first;
    for (i = 0; i < note->more_count; i++)
        if (note->more[i].session == serial) return &note->more[i];
    return NULL;
}

struct lp_line_code *lpx_verdict_more(const struct lpx_note *note, uint64_t session)
{
    const struct lpx_verdict *verdict = find_verdict(note, session);
    return verdict ? verdict->code : NULL;
}

static bool is_active(const struct lpx_line_engine *engine, uint64_t serial)
{
    const struct lpx_line_session *session;
    for (session = engine->active; session; session = session->next_active)
        if (session->serial == serial) return true;
    return false;
}

/* A place for one more verdict: that of a session that is not active is given up, it can be asked again. */
static struct lpx_verdict *verdict_room(struct lpx_line_engine *engine, struct lpx_note *note)
{
    struct lpx_verdict *more;
    uint32_t i;
    if (!is_active(engine, note->first.session)) return &note->first;
    for (i = 0; i < note->more_count; i++)
        if (!is_active(engine, note->more[i].session)) return &note->more[i];
    more = PyMem_Realloc(note->more, (note->more_count + 1) * sizeof *more);
    if (more == NULL) return NULL;
    note->more = more;
    return &more[note->more_count++];
}

/* -- asking ------------------------------------------------------------------------------------------------------ */

static PyObject *qualified_name(PyCodeObject *code) /* borrowed */
{
#if PY_VERSION_HEX >= 0x030B0000
    return code->co_qualname;
#else
    return code->co_name;
#endif
}

/* A fault of our own Python side costs the file, never the program. */
static long asked(PyObject *answer)
{
    long verdict = answer ? PyLong_AsLong(answer) : 0;
    Py_XDECREF(answer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return verdict;
}

static long file_verdict(struct lpx_line_session *session, PyObject *filename)
{
    PyObject *known = PyDict_GetItemWithError(session->files, filename), *kept;
    long verdict;
    if (known) return PyLong_AsLong(known);
    verdict = asked(PyObject_CallFunctionObjArgs(session->admit_file, filename, NULL));
    kept = PyLong_FromLong(verdict);
    if (kept == NULL || PyDict_SetItem(session->files, filename, kept)) PyErr_Clear();
    Py_XDECREF(kept);
    return verdict;
}

static bool is_added(const struct lpx_line_session *session, PyCodeObject *code)
{
    PyObject *key;
    bool found;
    if (PyDict_GET_SIZE(session->added) == 0) return false;
    key = PyLong_FromVoidPtr(code);
    found = key && PyDict_GetItemWithError(session->added, key) != NULL;
    Py_XDECREF(key);
    return found;
}

static bool in_scope(struct lpx_line_session *session, PyCodeObject *code)
{
    long verdict;
    if (is_added(session, code)) return true;
    verdict = file_verdict(session, code->co_filename);
    if (verdict != 2) return verdict != 0;
    return asked(PyObject_CallFunction(session->admit_function, "OOi", code->co_filename, qualified_name(code),
                                       code->co_firstlineno)) != 0;
}

static void count_outside(struct lpx_line_session *session, PyObject *filename)
{
    PyObject *known = PyDict_GetItemWithError(session->outside, filename);
    PyObject *more = PyLong_FromLong((known ? PyLong_AsLong(known) : 0) + 1);
    if (more == NULL || PyDict_SetItem(session->outside, filename, more)) PyErr_Clear();
    Py_XDECREF(more);
}

/* -- making the session's code object ---------------------------------------------------------------------------- */

/* Text of code that is in no file: an owned bytes object, NULL: none. */
static PyObject *text_from_host(struct lpx_line_session *session, PyObject *filename)
{
    PyObject *text = PyObject_CallFunctionObjArgs(session->source, filename, NULL), *bytes = NULL;
    if (text && PyUnicode_Check(text)) bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    Py_XDECREF(text);
    PyErr_Clear();
    return bytes;
}

static uint64_t add_file(struct lpx_line_session *session, PyObject *filename, struct lp_text path)
{
    struct lp_text text = {NULL, 0};
    struct lp_buf buf;
    struct lp_error err;
    PyObject *bytes = text_from_host(session, filename);
    uint64_t number;
    lp__buf_init(&buf, SOURCE_CEILING);
    if (bytes) {
        text.bytes = PyBytes_AS_STRING(bytes);
        text.len = (size_t)PyBytes_GET_SIZE(bytes);
    } else if (lp__slurp(path.bytes, &buf, &err) == 0 && buf.len) {
        text.bytes = buf.data;
        text.len = buf.len;
    }
    number = lp__line_file(session->core, path, text.bytes ? &text : NULL, bytes != NULL);
    lp__buf_release(&buf);
    Py_XDECREF(bytes);
    return number;
}

/* Names of files are made absolute by the session's Python side when it admits them. */
static uint64_t file_of(struct lpx_line_session *session, PyObject *filename)
{
    PyObject *bytes = PyUnicode_EncodeFSDefault(filename);
    struct lp_text path;
    uint64_t number = 0;
    if (bytes) {
        path.bytes = PyBytes_AS_STRING(bytes);
        path.len = (size_t)PyBytes_GET_SIZE(bytes);
        number = lp__line_file_find(session->core, path);
        if (number == 0) number = add_file(session, filename, path);
        Py_DECREF(bytes);
    }
    PyErr_Clear();
    return number;
}

/* Borrowed from the code object, but for `*bytes`, an owned reference that `raw->code` lies in. */
static bool raw_of(PyCodeObject *code, struct lp_code_raw *raw, PyObject **bytes)
{
    PyObject *lines = code->co_linetable;
#if PY_VERSION_HEX >= 0x030B0000
    PyObject *handlers = code->co_exceptiontable;
    *bytes = PyCode_GetCode(code); /* without anybody's events */
    if (*bytes == NULL) return false;
    raw->handlers = (const uint8_t *)PyBytes_AS_STRING(handlers);
    raw->handlers_bytes = (uint32_t)PyBytes_GET_SIZE(handlers);
#else
    *bytes = Py_NewRef(code->co_code);
#endif
    raw->code = (const uint8_t *)PyBytes_AS_STRING(*bytes);
    raw->code_bytes = (uint32_t)PyBytes_GET_SIZE(*bytes);
    raw->lines = (const uint8_t *)PyBytes_AS_STRING(lines);
    raw->lines_bytes = (uint32_t)PyBytes_GET_SIZE(lines);
    raw->first_line = (uint32_t)code->co_firstlineno;
    raw->flags = (uint32_t)code->co_flags;
    raw->python = PY_VERSION_HEX;
    return true;
}

static struct lp_line_code *make_code(struct lpx_line_engine *engine, struct lpx_line_session *session,
                                      PyCodeObject *code)
{
    uint64_t file = file_of(session, code->co_filename);
    PyObject *name = PyUnicode_AsEncodedString(qualified_name(code), "utf-8", "surrogatepass");
    struct lp_code_raw raw = {0};
    struct lp_line_code *made = NULL;
    PyObject *bytes = NULL;
    if (file && name && raw_of(code, &raw, &bytes)) {
        struct lp_text text = {PyBytes_AS_STRING(name), (size_t)PyBytes_GET_SIZE(name)};
        made = lp__line_code(session->core, file, text, &raw, &engine->opcodes);
    }
    if (made && (Py_ssize_t)made->index == PyList_GET_SIZE(session->codes) &&
        PyList_Append(session->codes, (PyObject *)code))
        PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    PyErr_Clear();
    return made;
}

static void decide(struct lpx_line_engine *engine, struct lpx_line_session *session, PyCodeObject *code)
{
    struct lpx_note *note = lpx_note_of(engine, code);
    struct lp_line_code *made = NULL;
    struct lpx_verdict *verdict;
    if (note && find_verdict(note, session->serial)) return;
    if (in_scope(session, code)) {
        made = make_code(engine, session, code);
    } else {
        count_outside(session, code->co_filename);
        if (LPX_HAVE_MONITORING && lpx_note_of(engine, code) == NULL) return; /* it sends nothing more */
    }
    note = lpx_note_of(engine, code); /* another thread may have made it meanwhile, or have decided the same */
    if (note == NULL) note = make_note(engine, code);
    if (note == NULL || find_verdict(note, session->serial)) return;
    verdict = verdict_room(engine, note);
    if (verdict) *verdict = (struct lpx_verdict){session->serial, made};
}

bool lpx_lines_undecided(const struct lpx_line_engine *engine, const struct lpx_note *note)
{
    const struct lpx_line_session *session;
    for (session = engine->active; session; session = session->next_active)
        if (note == NULL || find_verdict(note, session->serial) == NULL) return true;
    return false;
}

bool lpx_lines_wanted(const struct lpx_line_engine *engine, const struct lpx_note *note)
{
    const struct lpx_line_session *session;
    for (session = engine->active; note && session; session = session->next_active)
        if (lpx_verdict(note, session)) return true;
    return false;
}

/* The active sessions as they are now: a list that owns them. */
static PyObject *sessions_now(const struct lpx_line_engine *engine)
{
    PyObject *list = PyList_New(0);
    struct lpx_line_session *session;
    for (session = engine->active; list && session; session = session->next_active)
        if (PyList_Append(list, (PyObject *)session)) Py_CLEAR(list);
    return list;
}

void lpx_lines_decide(struct lpx_line_engine *engine, PyCodeObject *code)
{
    struct lpx_error error = lpx_error_hide();
    PyObject *sessions = sessions_now(engine);
    Py_ssize_t i;
    for (i = 0; sessions && i < PyList_GET_SIZE(sessions); i++)
        decide(engine, (struct lpx_line_session *)PyList_GET_ITEM(sessions, i), code);
    Py_XDECREF(sessions);
    lpx_error_restore(error);
}

struct lp_line_code *lpx_line_code(struct lpx_line_engine *engine, struct lpx_line_session *session, PyCodeObject *code)
{
    struct lpx_error error = lpx_error_hide();
    struct lp_line_code *found;
    decide(engine, session, code);
    found = lpx_verdict(lpx_note_of(engine, code), session);
    lpx_error_restore(error);
    return found;
}
