/* What differs between CPython 3.10 and 3.15, in one place: which mechanism says that a frame stops and goes on, how
 * the thread state is had, which opcodes mean `with` and delegation, and how a pending exception is put aside. */
// SPDX-License-Identifier: MIT
#ifndef LPX_COMPAT_H
#define LPX_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h> /* first: it sets what the others see */

#include <frameobject.h>
#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif
#include <opcode.h>
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>

/* sys.monitoring exists; below it a frame evaluation hook (PEP 523) can do the same. */
#define LPX_HAVE_MONITORING (PY_VERSION_HEX >= 0x030C0000)
#define LPX_HAVE_EVAL_HOOK  (!LPX_HAVE_MONITORING)
/* Frames are the public PyFrameObject itself, not a structure behind it. */
#define LPX_FRAMES_ARE_OBJECTS (PY_VERSION_HEX < 0x030B0000)
/* A frame's first word may carry tag bits. */
#define LPX_FRAME_TAG_BITS (PY_VERSION_HEX >= 0x030E0000 ? (uintptr_t)7 : (uintptr_t)0)
/* The instruction pointer may stand on a cache entry of the instruction that called. */
#define LPX_POINTER_ON_CACHE (PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000)

static inline PyThreadState *lpx_tstate(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* Hot.  An exact int of one digit, as nearly all are; false: ask the interpreter. */
static inline bool lpx_int_is_small(PyObject *object, int64_t *value)
{
    const PyLongObject *number = (const PyLongObject *)object;
    if (!PyLong_CheckExact(object)) return false;
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact(number)) return false;
    *value = PyUnstable_Long_CompactValue(number);
#else
    if (Py_SIZE(object) < -1 || Py_SIZE(object) > 1) return false;
    *value = Py_SIZE(object) ? Py_SIZE(object) * (int64_t)number->ob_digit[0] : 0;
#endif
    return true;
}

/* The calling thread holds an interpreter's lock: it may use Python.  PyGILState_Check says yes to every thread once
 * there is a second interpreter. */
static inline bool lpx_may_use_python(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return lpx_tstate() != NULL;
#else
    return lpx_tstate() != NULL && PyGILState_GetThisThreadState() == lpx_tstate();
#endif
}

/* The opcode (of the code unit before the current one on 3.14 and later) by which a `with` statement calls. */
static inline bool lpx_op_is_with(unsigned op)
{
#if PY_VERSION_HEX >= 0x030E0000
    return op == LOAD_SPECIAL;
#elif PY_VERSION_HEX >= 0x030B0000
    return op == BEFORE_WITH || op == BEFORE_ASYNC_WITH;
#else
    return op == SETUP_WITH || op == BEFORE_ASYNC_WITH;
#endif
}
#define LPX_WITH_UNITS_BACK (PY_VERSION_HEX >= 0x030E0000 ? 1 : 0)

/* The opcode by which `await` and `yield from` pass control to the inner frame. */
static inline bool lpx_op_is_delegation(unsigned op)
{
#if PY_VERSION_HEX < 0x030B0000
    return op == YIELD_FROM;
#else
    if (op == SEND) return true;
#ifdef SEND_GEN
    if (op == SEND_GEN) return true;
#endif
#ifdef SEND_VIRTUAL
    if (op == SEND_VIRTUAL) return true;
#endif
#ifdef SEND_ASYNC_GEN
    if (op == SEND_ASYNC_GEN) return true;
#endif
    return false;
#endif
}

/* Another tool's event stands in the place of the opcode. */
static inline bool lpx_op_is_hidden(unsigned op)
{
#ifdef MIN_INSTRUMENTED_OPCODE
    return op >= MIN_INSTRUMENTED_OPCODE;
#else
    (void)op;
    return false;
#endif
}

/* A pending exception, put aside while we call into the interpreter. */
struct lpx_error {
    PyObject *kind, *value, *trace; /* owned */
};

static inline struct lpx_error lpx_error_hide(void)
{
    struct lpx_error error = {NULL, NULL, NULL};
#if PY_VERSION_HEX >= 0x030C0000
    error.value = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&error.kind, &error.value, &error.trace);
#endif
    return error;
}

/* Whatever was raised meanwhile is dropped. */
static inline void lpx_error_restore(struct lpx_error error)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error.value);
#else
    PyErr_Restore(error.kind, error.value, error.trace);
#endif
}

#endif
