/* Which attempt a recording belongs to: given, inherited, the launcher's, the family's, or a fresh one. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_ATTEMPT_H
#define LP_COLLECT_ATTEMPT_H

#include <stdbool.h>
#include <sys/types.h>

struct lp_attempt {
    char id[160];
    const char *source; /* "given", "own" (inherited through the environment), "launcher", "family", "fresh" */
};

/* `given` may be NULL.  `family`: a process whose children belong together (the parent of multiprocessing workers), 0
 * none.  A launcher's id that a later launch may have too is made distinct by looking into the run directory: it joins
 * the newest attempt of that id only while that one runs and has no such rank.  Reads at most 4,096 files. */
void lp__attempt_choose(struct lp_attempt *out, const char *run_dir, const char *given, pid_t family);

#endif
