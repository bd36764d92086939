/* Half-written copies: a process that is killed while it copies its store into the run directory, or the report that is
 * stopped while it brings one home, leaves a file that nobody will complete. */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_SWEEP_H
#define LP_STORE_SWEEP_H

#include "store/rundir.h"

/* Removes the copies of a listing that are the caller's own and whose writer is gone: not running on this host, or not
 * heard of for an hour where that cannot be asked.  `dir_fd` is the run directory.  How many; `dry`: would be. */
size_t lp__sweep_copies(int dir_fd, const struct lp_rundir_list *list, bool dry);

#endif
