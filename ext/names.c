/* From a Python str to the core's number for it: by address while the object is kept alive here, else by text. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/name.h"

PyObject *lpx_name_check(PyObject *name)
{
    if (PyUnicode_CheckExact(name)) return Py_NewRef(name);
    if (PyUnicode_Check(name)) return PyUnicode_FromObject(name);
    PyErr_Format(PyExc_TypeError, "a name must be a str, not %.100s", Py_TYPE(name)->tp_name);
    return NULL;
}

PyObject *lpx_name_str(lp_name_id id)
{
    size_t len;
    const char *text = lp__name_text(id, &len);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)len, "surrogatepass");
}

/* Registered only if the recording still takes new paths: names without end must not fill the process's table. */
static lp_name_id register_text(struct lp_recording *recording, const char *text, size_t len)
{
    lp_name_id id = lp__name_find(text, len);
    if (id || len > LP_MAX_NAME_BYTES) return id;
    if (lp__recording_is_full(recording)) return lp__name_register("(folded)", 8);
    return lp__name_register(text, len);
}

static lp_name_id id_of_text(struct lp_recording *recording, PyObject *name)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    PyObject *bytes;
    lp_name_id id;
    if (text) return register_text(recording, text, (size_t)len);
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return 0;
    PyErr_Clear();
    bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass");
    if (bytes == NULL) return 0;
    id = register_text(recording, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return id;
}

/* A warning that the program's filters turn into an error is swallowed: the guest never harms the host. */
static void warn_about_shape(struct lp_recording *recording, PyObject *name)
{
    struct lp_thread *thread;
    int rc = PyErr_WarnFormat(PyExc_RuntimeWarning, 3,
                              "128 phase or counter names differ only in digits, the last one is %R: use one name and "
                              "count() what varies; strict_names=True finds the place",
                              name);
    if (rc == 0) return;
    PyErr_Clear();
    thread = lp__thread_of(recording);
    if (thread) lp__drop(thread, LP_DROP_WARNING);
}

static bool check_shape(struct lp_recording *recording, lp_name_id id, PyObject *name)
{
    uint32_t alike = lp__recording_note_shape(recording, id);
    if (alike >= 2 && lp__recording_is_strict(recording)) {
        PyErr_Format(PyExc_ValueError, "strict_names: %R differs from an earlier name only in digits", name);
        return false;
    }
    if (alike == 128) warn_about_shape(recording, name);
    return true;
}

static void remember(struct lpx_state *state, struct lp_recording *recording, PyObject *name, lp_name_id id)
{
    struct lpx_name_slot *slot = lpx_name_slot(state, recording, name);
    Py_XSETREF(slot->text, Py_NewRef(name));
    slot->recording = recording;
    slot->id = id;
}

/* A name past the ceiling is a wrong call, and said; without memory the entry is lost, and the program goes on. */
static void refuse_or_drop(struct lp_recording *recording, PyObject *name)
{
    struct lp_thread *thread;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
    if (PyErr_Occurred()) return;
    if (PyUnicode_GET_LENGTH(name) > (Py_ssize_t)LP_MAX_NAME_BYTES / 4)
        PyErr_Format(PyExc_ValueError, "a name may have at most %u bytes of UTF-8", LP_MAX_NAME_BYTES);
    else if ((thread = lp__thread_of(recording)) != NULL)
        lp__drop(thread, LP_DROP_NO_SPACE);
}

lp_name_id lpx_name_slow(struct lpx_state *state, struct lp_recording *recording, PyObject *name)
{
    lp_name_id id;
    if (!PyUnicode_Check(name)) {
        (void)lpx_name_check(name);
        return 0;
    }
    id = id_of_text(recording, name);
    if (id == 0) {
        refuse_or_drop(recording, name);
        return 0;
    }
    if (!check_shape(recording, id, name)) return 0;
    if (PyUnicode_CheckExact(name)) remember(state, recording, name, id);
    return id;
}

static lp_name_id id_of_any(PyObject *name)
{
    PyObject *bytes = PyUnicode_Check(name) ? PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass") : NULL;
    lp_name_id id = bytes ? lp__name_register(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)) : 0;
    Py_XDECREF(bytes);
    return id;
}

/* Looked up in what `threading` holds, without running any of its code or making an object for a foreign thread. */
static lp_name_id name_from_threading(PyObject *threading)
{
    PyObject *active = PyObject_GetAttrString(threading, "_active");
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = active && ident ? PyObject_GetItem(active, ident) : NULL;
    PyObject *name = thread ? PyObject_GetAttrString(thread, "_name") : NULL;
    lp_name_id id = name ? id_of_any(name) : 0;
    Py_XDECREF(name);
    Py_XDECREF(thread);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    return id;
}

lp_name_id lpx_thread_name(void)
{
    PyObject *name, *threading;
    struct lpx_error error;
    lp_name_id id = 0;
    if (!lpx_may_use_python()) return 0; /* C code on a thread of its own */
    error = lpx_error_hide();
    name = PyUnicode_FromString("threading");
    threading = name ? PyImport_GetModule(name) : NULL;
    if (threading) id = name_from_threading(threading);
    PyErr_Clear();
    Py_XDECREF(threading);
    Py_XDECREF(name);
    lpx_error_restore(error);
    if (id == 0 && getpid() == (pid_t)syscall(SYS_gettid)) return lp__name_register("MainThread", 10);
    return id;
}

void lpx_names_clear(struct lpx_state *state, const struct lp_recording *recording)
{
    for (int i = 0; i < LPX_NAME_SLOTS; i++)
        if (recording == NULL || state->names.slots[i].recording == recording) Py_CLEAR(state->names.slots[i].text);
}
