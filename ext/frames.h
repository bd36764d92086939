/* Frames as the scope host sees them: who called, is it a generator, which instruction is it at.
 *
 * No public call gives a frame's caller without making frame objects, so the first words of the interpreter's frame
 * are mirrored here.  lpx_frames_init compares the mirror with the public calls; where it does not fit, the public
 * calls are used and a `struct lpx_frame *` is a PyFrameObject.  The address of a frame is its identity while it lives.
 * Nothing here owns a reference; everything needs the interpreter lock.
 */
// SPDX-License-Identifier: MIT
#ifndef LPX_FRAMES_H
#define LPX_FRAMES_H

#include "compat.h"

#include <stdint.h>

#define LPX_GENERATOR_FLAGS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

#if LPX_FRAMES_ARE_OBJECTS
#define lpx_frame _frame
#elif PY_VERSION_HEX < 0x030C0000
struct lpx_frame {
    void *function, *globals, *builtins, *locals;
    PyCodeObject *code;
    void *object;
    struct lpx_frame *previous;
    const unsigned char *at; /* instruction that runs, or a cache entry behind it */
    int stack_top;
    bool is_entry;
    char owner; /* 1: lies in a generator */
};
#else
struct lpx_frame {
    uintptr_t executable; /* code object; None or a made-up code object in frames that stand for a C caller */
    struct lpx_frame *previous;
    void *function, *globals, *builtins, *locals;
    void *object;
    const unsigned char *at; /* instruction that runs */
    int stack_top;
    uint16_t return_offset;
    char owner; /* 3.12: a frame with 3 here stands for a C caller */
};
#endif

extern bool lpx_frames_fit; /* the mirror is right */

/* Compares the mirror with the public calls over the whole present stack.  Called at import; touches no exception. */
void lpx_frames_init(void);

/* The same by public calls, where the mirror does not fit. */
struct lpx_frame *lpx_frame_now_public(PyThreadState *tstate);
struct lpx_frame *lpx_frame_up_public(struct lpx_frame *frame);
PyCodeObject *lpx_frame_code_public(struct lpx_frame *frame);

/* The opcode without any tool's events, `back` code units before the current one; 0 when that cannot be had. */
unsigned lpx_frame_op_public(struct lpx_frame *frame, int back);

static inline PyCodeObject *lpx_frame_code(struct lpx_frame *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    return frame->f_code;
#elif PY_VERSION_HEX < 0x030C0000
    return __builtin_expect(lpx_frames_fit, 1) ? frame->code : lpx_frame_code_public(frame);
#else
    if (__builtin_expect(!lpx_frames_fit, 0)) return lpx_frame_code_public(frame);
    return (PyCodeObject *)(frame->executable & ~LPX_FRAME_TAG_BITS);
#endif
}

#if !LPX_FRAMES_ARE_OBJECTS
/* The frame, or the nearest one above it that runs Python code.  Only for the mirror. */
static inline struct lpx_frame *lpx_frame_real(struct lpx_frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    while (frame) {
        PyObject *code = (PyObject *)lpx_frame_code(frame);
        if (code && PyCode_Check(code)) break;
        frame = frame->previous;
    }
#elif PY_VERSION_HEX >= 0x030C0000
    while (frame && frame->owner == 3)
        frame = frame->previous;
#endif
    return frame;
}
#endif

/* The innermost Python frame of a thread that runs; NULL: none. */
static inline struct lpx_frame *lpx_frame_now(PyThreadState *tstate)
{
#if LPX_FRAMES_ARE_OBJECTS
    return tstate->frame;
#else
    if (__builtin_expect(!lpx_frames_fit, 0)) return lpx_frame_now_public(tstate);
#if PY_VERSION_HEX >= 0x030D0000
    return lpx_frame_real(tstate->current_frame ? (struct lpx_frame *)tstate->current_frame : NULL);
#else
    return lpx_frame_real(tstate->cframe ? (struct lpx_frame *)tstate->cframe->current_frame : NULL);
#endif
#endif
}

/* The Python frame that called this one; NULL: none. */
static inline struct lpx_frame *lpx_frame_up(struct lpx_frame *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    return frame->f_back;
#else
    if (__builtin_expect(!lpx_frames_fit, 0)) return lpx_frame_up_public(frame);
    return lpx_frame_real(frame->previous);
#endif
}

static inline bool lpx_code_is_generator(const PyCodeObject *code)
{
    return (code->co_flags & LPX_GENERATOR_FLAGS) != 0;
}

/* A generator, a coroutine or an async generator: can be suspended. */
static inline bool lpx_frame_is_generator(struct lpx_frame *frame)
{
    return lpx_code_is_generator(lpx_frame_code(frame));
}

/* The frame is in the middle of a `with` or `async with` statement's call to the enter method.  False also when
 * another tool's event hides the instruction. */
static inline bool lpx_frame_in_with(struct lpx_frame *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    const unsigned char *code = (const unsigned char *)PyBytes_AS_STRING(frame->f_code->co_code);
    return frame->f_lasti >= 0 && lpx_op_is_with(code[frame->f_lasti * 2]);
#else
    if (__builtin_expect(!lpx_frames_fit, 0)) return lpx_op_is_with(lpx_frame_op_public(frame, LPX_WITH_UNITS_BACK));
    return lpx_op_is_with(frame->at[-2 * LPX_WITH_UNITS_BACK]);
#endif
}

/* Hot: a `with` statement of a plain function calls.  Such a scope cannot outlive its frame and the frame cannot be
 * suspended, so it needs no owner. */
static inline bool lpx_frame_is_plain_with(struct lpx_frame *frame)
{
    return frame && !lpx_frame_is_generator(frame) && lpx_frame_in_with(frame);
}

/* The frame, which is a generator and has called another one, awaits it or yields from it. */
bool lpx_frame_delegates(struct lpx_frame *frame);

/* `frame` or one that it was called by, directly or not, has this address. */
bool lpx_frame_on_chain(struct lpx_frame *frame, uintptr_t address);

/* The innermost Python frame of this thread, as the identity of who opened an entry; NULL: none. */
static inline void *lpx_current_frame(void)
{
    return lpx_frame_now(lpx_tstate());
}

#endif
