/* Bringing home what processes that are gone have left in tmpfs.
 *
 * A store with its live file in tmpfs has a copy in the run directory that is up to an interval old.  When the process
 * is killed, the live file stays, with everything in it:
 *
 *   /dev/shm/lineprofiler-<uid>/<16 hex of the run directory>.<name>    becomes    <run>/workers/<host>/<name>
 *
 * Only files of the caller's own folder are looked at, only those of this boot whose process is gone, and only those
 * that were made for the directory which the caller names: where a file goes is never taken from a file's contents. */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_SALVAGE_H
#define LP_STORE_SALVAGE_H

#include <stdbool.h>

/* Replaces the copies in `run_dir` by what was left; how many.  What cannot be brought home stays where it is.
 * `reader`: for somebody who only reads, so that nothing is changed in a directory of another user; otherwise it comes
 * below user-<uid>, and files that nobody has asked for in a week are removed.  Costs one open where there is nothing.
 */
unsigned lp__salvage(const char *run_dir, bool reader);

#endif
