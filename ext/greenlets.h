/* Greenlets: when one switches to another the whole stack of scopes is exchanged.  Told by greenlet's own trace
 * interface, chained to the program's; greenlet is never imported by us. */
// SPDX-License-Identifier: MIT
#ifndef LPX_GREENLETS_H
#define LPX_GREENLETS_H

#include "owners.h"

int lpx_greenlets_init(struct lpx_hosts *hosts, PyObject *module); /* makes the listener type; -1 with an exception */

/* True when the program has loaded greenlet since the last look. */
bool lpx_greenlets_look(struct lpx_hosts *hosts);
/* Listens in the calling thread; greenlet's trace function is per thread. */
void lpx_greenlets_listen(struct lpx_hosts *hosts);
void lpx_greenlets_stop(struct lpx_hosts *hosts);

#endif
