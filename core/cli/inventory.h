/* A run directory with all its attempts: the files as they lie there beside what was read from them. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_INVENTORY_H
#define LP_CLI_INVENTORY_H

#include "analyse/report.h"
#include "base/arena.h"
#include "base/map.h"
#include "cli/command.h"
#include "merge/run.h"
#include "store/rundir.h"

struct lp_inventory {
    const char *dir;
    int dir_fd;
    struct lp_arena arena;
    struct lp_rundir_list list;
    struct lp_run *run;     /* all attempts */
    struct lp_intern paths; /* of run->processes, in their order */
    uint64_t bytes;         /* of all files */
};

/* Reads without changing anything there.  LP_EXIT_OK, or the exit status after a line on stderr. */
int lp__inventory_open(const struct lp_cli *cli, const struct lp_run_options *selection, struct lp_inventory *out);
void lp__inventory_close(struct lp_inventory *inventory);

/* The worker that wrote the file; NULL when it could not be read. */
const struct lp_run_process *lp__inventory_process(const struct lp_inventory *inventory,
                                                   const struct lp_rundir_file *file);

/* How the workers of an attempt ended, counted by enum lp_verdict. */
void lp__inventory_verdicts(const struct lp_inventory *inventory, const char *attempt,
                            uint32_t counts[LP_REPORT_VERDICTS]);

#endif
