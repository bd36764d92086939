/* One worker file as a process: what it says about itself, and how it ended. */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_PROCESS_H
#define LP_MERGE_PROCESS_H

#include "merge/run.h"
#include "store/reader.h"
#include "store/rundir.h"

/* Here and now: what "running" is judged against, once per load. */
struct lp_moment {
    uint8_t boot_id[16];
    uint64_t pid_namespace;
    uint64_t mono_ns;
    uint64_t real_ns;
    bool sees_processes; /* /proc answers, for this process at least */
};
void lp__moment_now(struct lp_moment *now);

enum lp_life {
    LP_LIFE_NOTHING,  /* nothing was recorded, not even who */
    LP_LIFE_FINISHED, /* the mark */
    LP_LIFE_ALIVE,    /* it runs on this machine, seen */
    LP_LIFE_FRESH,    /* elsewhere, with a fresh heartbeat */
    LP_LIFE_REPLACED, /* the process lives, but exec put another program in its place */
    LP_LIFE_GONE,     /* it ran on this machine and does not any more */
    LP_LIFE_STALE     /* elsewhere, without a fresh heartbeat */
};

/* `file` may be NULL: an image in memory. */
enum lp_life lp__life_of(const struct lp_image *image, const struct lp_rundir_file *file, const struct lp_moment *now);
enum lp_verdict lp__verdict_of(enum lp_life life, bool any_open);

/* Whether two boot ids are known and equal. */
bool lp__same_boot(const uint8_t a[16], const uint8_t b[16]);

/* Where the time of what is still open ends, in ticks: close, death as far as it is known, or now. */
uint64_t lp__end_ticks(const struct lp_image *image, const struct lp_clock_line *line, enum lp_life life,
                       const struct lp_moment *now);

/* Fills what facts and header say.  Strings become ids in run->names and pointers to those texts; role and attempt
 * are "" when the file does not say. */
LP_WARN_UNUSED int lp__process_describe(struct lp_run_process *process, struct lp_run *run,
                                        const struct lp_image *image, const struct lp_rundir_file *file);

#endif
