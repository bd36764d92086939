/* Frames that stop and go on, by a frame evaluation hook (PEP 523; CPython 3.10 and 3.11). */
// SPDX-License-Identifier: MIT
#ifndef LPX_EVALHOOK_H
#define LPX_EVALHOOK_H

#include "owners.h"

void lpx_eval_start(struct lpx_hosts *hosts);
void lpx_eval_stop(struct lpx_hosts *hosts);
/* This frame's next stop will be reported. */
bool lpx_eval_sees(struct lpx_hosts *hosts, struct lpx_frame *frame);

#endif
