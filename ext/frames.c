/* The slow half of frames.h: the proof of the mirror, the public calls that stand in for it, and what needs the code's
 * own bytes. */
// SPDX-License-Identifier: MIT
#include "frames.h"

#if LPX_FRAMES_ARE_OBJECTS
bool lpx_frames_fit = true;

void lpx_frames_init(void)
{
}

unsigned lpx_frame_op_public(struct lpx_frame *frame, int back)
{
    const unsigned char *code = (const unsigned char *)PyBytes_AS_STRING(frame->f_code->co_code);
    int at = frame->f_lasti - back;
    return at < 0 ? 0 : code[at * 2];
}

#else
bool lpx_frames_fit;

/* The public calls give new references; the frame itself keeps its frame object alive, so borrowing is safe. */
static struct lpx_frame *borrow(PyFrameObject *object)
{
    Py_XDECREF(object);
    return (struct lpx_frame *)object;
}

struct lpx_frame *lpx_frame_now_public(PyThreadState *tstate)
{
    struct lpx_error error = lpx_error_hide();
    struct lpx_frame *frame = borrow(PyThreadState_GetFrame(tstate));
    lpx_error_restore(error);
    return frame;
}

struct lpx_frame *lpx_frame_up_public(struct lpx_frame *frame)
{
    struct lpx_error error = lpx_error_hide();
    struct lpx_frame *up = borrow(PyFrame_GetBack((PyFrameObject *)frame));
    lpx_error_restore(error);
    return up;
}

PyCodeObject *lpx_frame_code_public(struct lpx_frame *frame)
{
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    Py_DECREF(code); /* the frame holds it */
    return code;
}

/* Byte offset of the current instruction; negative before the first. */
static Py_ssize_t offset_of(struct lpx_frame *frame)
{
    if (!lpx_frames_fit) return PyFrame_GetLasti((PyFrameObject *)frame);
    return frame->at - (const unsigned char *)lpx_frame_code(frame)->co_code_adaptive;
}

unsigned lpx_frame_op_public(struct lpx_frame *frame, int back)
{
    struct lpx_error error = lpx_error_hide();
    PyObject *bytes = PyCode_GetCode(lpx_frame_code(frame)); /* made once per code object, then kept there */
    Py_ssize_t at = offset_of(frame);
    unsigned op = 0;
    if (bytes) {
        const unsigned char *code = (const unsigned char *)PyBytes_AS_STRING(bytes);
        if (at >= PyBytes_GET_SIZE(bytes)) at = -1;
        /* cache entries are zero in this copy: step back to their instruction */
        while (LPX_POINTER_ON_CACHE && at >= 2 && code[at] == 0)
            at -= 2;
        at -= 2 * back;
        if (at >= 0) op = code[at];
        Py_DECREF(bytes);
    }
    lpx_error_restore(error);
    return op;
}

/* -- proof ------------------------------------------------------------------------------------------------------- */

static struct lpx_frame *mirror_now(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030D0000
    return lpx_frame_real((struct lpx_frame *)tstate->current_frame);
#else
    return lpx_frame_real(tstate->cframe ? (struct lpx_frame *)tstate->cframe->current_frame : NULL);
#endif
}

/* One frame, seen both ways. */
static bool agrees(struct lpx_frame *frame, PyFrameObject *object)
{
    PyCodeObject *code = PyFrame_GetCode(object);
    bool same = frame && lpx_frame_code(frame) == code &&
                frame->at - (const unsigned char *)code->co_code_adaptive == PyFrame_GetLasti(object);
    Py_DECREF(code);
    return same;
}

void lpx_frames_init(void)
{
    struct lpx_error error = lpx_error_hide();
    PyThreadState *tstate = lpx_tstate();
    PyFrameObject *object = PyThreadState_GetFrame(tstate), *back;
    struct lpx_frame *frame;
    bool fit = object != NULL;
    lpx_frames_fit = true; /* lpx_frame_code reads the mirror from here on */
    frame = mirror_now(tstate);
    for (; object && fit; object = back) {
        fit = agrees(frame, object);
        back = PyFrame_GetBack(object);
        if (fit) frame = lpx_frame_real(frame->previous);
        Py_DECREF(object);
    }
    Py_XDECREF(object);
    lpx_frames_fit = fit;
    lpx_error_restore(error);
}
#endif

bool lpx_frame_delegates(struct lpx_frame *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    return lpx_op_is_delegation(lpx_frame_op_public(frame, 0));
#else
    unsigned op;
    if (LPX_POINTER_ON_CACHE || !lpx_frames_fit) return lpx_op_is_delegation(lpx_frame_op_public(frame, 0));
    op = frame->at[0];
    if (lpx_op_is_hidden(op)) op = lpx_frame_op_public(frame, 0);
    return lpx_op_is_delegation(op);
#endif
}

bool lpx_frame_on_chain(struct lpx_frame *frame, uintptr_t address)
{
    while (frame && (uintptr_t)frame != address)
        frame = lpx_frame_up(frame);
    return frame != NULL;
}
