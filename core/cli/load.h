/* From the words of a command line to a run in memory: the same rule in every command that reads one. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_LOAD_H
#define LP_CLI_LOAD_H

#include "cli/command.h"
#include "merge/run.h"

/* The operand, else LINEPROFILER_RUN_DIR, else "profile". */
const char *lp__run_dir(const struct lp_cli *cli);

/* What the selecting options say; the caller may change it before loading. */
void lp__run_options(const struct lp_cli *cli, struct lp_run_options *options);

/* Loads with a progress line.  LP_EXIT_OK and the run, or the exit status after one line on stderr. */
int lp__cli_load(const struct lp_cli *cli, const char *dir, struct lp_run_options *options, struct lp_run **run);

/* Says in one line why `dir` cannot be read as a run, with the remedy; returns the exit status. */
int lp__say_unreadable(const struct lp_cli *cli, const char *dir, const struct lp_error *err);

/* A moment as local time, "2025-03-01 12:00:05"; "?" when it is not known. */
char *lp__when(char out[32], double real_ns);

#endif
