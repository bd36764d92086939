/* Frames that stop and go on, by sys.monitoring (CPython 3.12 and later): local events on the few code objects whose
 * frames own scopes, and PY_THROW everywhere. */
// SPDX-License-Identifier: MIT
#ifndef LPX_EVENTS_H
#define LPX_EVENTS_H

#include "owners.h"

int lpx_events_init(struct lpx_hosts *hosts, PyObject *module); /* makes the callback type; -1 with an exception */

/* Has the code's frames report: level 1 yield and resume, level 2 return too.  Takes a tool id at the first call.
 * False when nobody will report. */
bool lpx_events_arm(struct lpx_hosts *hosts, struct lpx_armed *armed, uint8_t level);

/* They report nothing any more; a failure leaves armed->level as it was. */
void lpx_events_disarm(struct lpx_hosts *hosts, struct lpx_armed *armed);

/* Takes everything back. */
void lpx_events_stop(struct lpx_hosts *hosts);

#endif
