/* What happened to a frame, told by whoever hears it: its scopes follow.  Needs the interpreter lock; raises nothing
 * and calls nothing of the program.  `up` is the frame's caller, NULL for none. */
// SPDX-License-Identifier: MIT
#ifndef LPX_STINTS_H
#define LPX_STINTS_H

#include "owners.h"

/* It yields or awaits.  `value` is what it yields.  False when the frame had no record. */
bool lpx_frame_stops(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code, struct lpx_frame *up,
                     PyObject *value);
void lpx_frame_goes_on(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code);
void lpx_frame_is_thrown_into(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code,
                              struct lpx_frame *up);
/* It returned; or raised, where that is known. */
void lpx_frame_ends(struct lpx_hosts *hosts, struct lpx_frame *frame, PyCodeObject *code, struct lpx_frame *up);

#endif
