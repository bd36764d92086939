/* A child process of our own: for the self-test that records in one and kills it.  Never used in a recorded program. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_CHILD_H
#define LP_OS_CHILD_H

#include "base/err.h"
#include "base/mem.h"

enum lp_child_end { LP_CHILD_KILL, LP_CHILD_LEAVE };

/* Forks, runs `work` in the child, and then ends the child: by SIGKILL from the parent while it waits, or by leaving
 * without any clean-up of the host (_exit), with close notice or not being `work`'s business.  Returns when the child
 * is gone: LP_OK when `work` came to its end with 0, else LP_ERR_IO.  A child that hangs is killed after ten seconds.
 */
LP_WARN_UNUSED int lp__child_run(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *err);

#endif
