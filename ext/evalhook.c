/* A frame evaluation hook (PEP 523) for CPython 3.10, and on request for 3.11, where it costs a third on calls.
 *
 * Frames of plain functions pass with one test of their code's flags.  A generator frame that is about to run goes on
 * or is thrown into; after it, it has stopped or ended.  A hook found there is chained to; when somebody puts another
 * one over ours, owners made from then on are inferred unless they are seen to report. */
// SPDX-License-Identifier: MIT
#include "evalhook.h"

#include <stddef.h>
#include <stdlib.h>

#include "stints.h"

#if LPX_HAVE_EVAL_HOOK

#if LPX_FRAMES_ARE_OBJECTS
#define RAW_FRAME PyFrameObject
#else
#define RAW_FRAME struct _PyInterpreterFrame
#endif

/* Interpreters with the hook; nearly always one.  The interpreter lock, which they all share, guards it. */
static struct lpx_hosts *hooked;

static struct lpx_hosts *hosts_in(const PyInterpreterState *interpreter)
{
    struct lpx_hosts *hosts = hooked;
    while (hosts && hosts->hooked_in != interpreter)
        hosts = hosts->next_hooked;
    return hosts;
}

/* Whether it is a generator's own frame: calling a generator function runs a frame too, which only makes one. */
static bool in_generator(const struct lpx_frame *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    (void)frame;
    return true;
#else
    return frame->owner == 1;
#endif
}

static bool has_ended(const struct lpx_frame *frame)
{
#if LPX_FRAMES_ARE_OBJECTS
    return frame->f_state > 0;
#else
    const PyGenObject *generator =
        (const PyGenObject *)(const void *)((const char *)frame - offsetof(PyGenObject, gi_iframe));
    return generator->gi_frame_state >= 0;
#endif
}

static void has_run(struct lpx_hosts *hosts, PyThreadState *tstate, struct lpx_frame *frame, PyObject *result)
{
    PyCodeObject *code = lpx_frame_code(frame);
    struct lpx_frame *up = lpx_frame_now(tstate);
    if (has_ended(frame))
        lpx_frame_ends(hosts, frame, code, up);
    else
        (void)lpx_frame_stops(hosts, frame, code, up, result);
}

/* Hot: other generators of the program while one holds a phase open.  They own nothing, before and after. */
static PyObject *run_generator(struct lpx_hosts *hosts, PyThreadState *tstate, RAW_FRAME *raw, int throwing)
{
    struct lpx_frame *frame = (struct lpx_frame *)raw;
    PyObject *result;
    if (__builtin_expect(hosts->unseen.count != 0, 0)) (void)lp__map_remove(&hosts->unseen, (uintptr_t)frame);
    if (__builtin_expect(throwing, 0)) {
        if (hosts->owners) lpx_frame_is_thrown_into(hosts, frame, lpx_frame_code(frame), lpx_frame_now(tstate));
    } else if (lpx_frame_may_own(hosts, frame)) {
        lpx_frame_goes_on(hosts, frame, lpx_frame_code(frame));
    }
    result = hosts->next_eval(tstate, raw, throwing);
    if (lpx_frame_may_own(hosts, frame) || __builtin_expect(hosts->thrown != 0, 0))
        has_run(hosts, tstate, frame, result);
    return result;
}

static PyObject *run_frame(PyThreadState *tstate, RAW_FRAME *raw, int throwing)
{
    struct lpx_hosts *hosts = hosts_in(tstate->interp);
    struct lpx_frame *frame = (struct lpx_frame *)raw;
    if (hosts == NULL) return _PyEval_EvalFrameDefault(tstate, raw, throwing);
    if (!lpx_code_is_generator(lpx_frame_code(frame)) || !in_generator(frame))
        return hosts->next_eval(tstate, raw, throwing);
    return run_generator(hosts, tstate, raw, throwing);
}

/* Generator frames that run now were entered without us. */
static void note_unseen(struct lpx_hosts *hosts)
{
    PyThreadState *tstate;
    for (tstate = PyInterpreterState_ThreadHead(hosts->hooked_in); tstate; tstate = PyThreadState_Next(tstate)) {
        struct lpx_frame *frame;
        for (frame = lpx_frame_now(tstate); frame; frame = lpx_frame_up(frame))
            if (lpx_frame_is_generator(frame) && lp__map_put(&hosts->unseen, (uintptr_t)frame, 1)) return;
    }
}

static bool wanted(const struct lpx_hosts *hosts)
{
#if PY_VERSION_HEX < 0x030B0000
    (void)hosts;
    return true;
#else
    const char *word = getenv("LINEPROFILER_EXACT_ASYNC");
    return hosts->exact_wanted || (word && word[0] == '1' && word[1] == '\0');
#endif
}

void lpx_eval_start(struct lpx_hosts *hosts)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (hosts->mechanism != LPX_UNTRIED || !lpx_frames_fit || !wanted(hosts)) return;
    hosts->next_eval = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (hosts->next_eval == run_frame) return; /* a second module of ours in this interpreter */
    hosts->hooked_in = interpreter;
    hosts->next_hooked = hooked;
    hooked = hosts;
    hosts->mechanism = LPX_EXACT;
    note_unseen(hosts);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, run_frame);
}

/* When another hook lies over ours it may still call us: then we only pass frames on. */
void lpx_eval_stop(struct lpx_hosts *hosts)
{
    struct lpx_hosts **link = &hooked;
    if (hosts->mechanism != LPX_EXACT) return;
    if (_PyInterpreterState_GetEvalFrameFunc(hosts->hooked_in) == run_frame)
        _PyInterpreterState_SetEvalFrameFunc(hosts->hooked_in, hosts->next_eval);
    while (*link != hosts)
        link = &(*link)->next_hooked;
    *link = hosts->next_hooked;
    lp__map_release(&hosts->unseen);
}

bool lpx_eval_sees(struct lpx_hosts *hosts, struct lpx_frame *frame)
{
    uint64_t value;
    if (hosts->mechanism != LPX_EXACT) return false;
    if (_PyInterpreterState_GetEvalFrameFunc(hosts->hooked_in) != run_frame) return false;
    return hosts->unseen.count == 0 || !lp__map_get(&hosts->unseen, (uintptr_t)frame, &value);
}

#else /* sys.monitoring does it */

void lpx_eval_start(struct lpx_hosts *hosts)
{
    (void)hosts;
}

void lpx_eval_stop(struct lpx_hosts *hosts)
{
    (void)hosts;
}

bool lpx_eval_sees(struct lpx_hosts *hosts, struct lpx_frame *frame)
{
    (void)hosts;
    (void)frame;
    return false;
}

#endif
