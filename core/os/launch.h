/* Who launched us: rank and job from the launchers' environment variables, and the identity by which ranks that were
 * started independently find the same attempt.  Pure over a look-up function, so tests need no environment. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_LAUNCH_H
#define LP_OS_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lp_launch {
    char launcher[24];    /* "own", "torchrun", "env" (RANK and WORLD_SIZE alone), "openmpi", "pmi", "slurm", "flux",
                             "lsf", "pbs", "ray", "kubernetes", "" none */
    char attempt[128];    /* deterministic attempt id from the launcher's job, step and restart; "" none */
    bool attempt_is_weak; /* a later launch may have the same id (a fixed port, a reused name): join an attempt of this
                             id only while it runs and holds no such rank yet */
    int64_t rank;         /* -1: none, which the report shows as 0 of 1 */
    int64_t world_size;   /* -1: unknown */
    int64_t local_rank;   /* -1: unknown */
    char job[96];         /* "slurm 1234.0" and the like; "" none */
    char conflicts[256];  /* variables that disagree or are no numbers, as "NAME=value NAME=value"; "" none */
};

typedef const char *lp_env_lookup(const char *name, void *arg);

/* Reads the variables named in spec 04 "Identity".  Slurm counts only inside a step (SLURM_STEP_ID numeric). */
void lp__launch_read(struct lp_launch *out, lp_env_lookup *lookup, void *arg);
void lp__launch_read_environment(struct lp_launch *out); /* the same over secure_getenv and our ancestors */

#endif
