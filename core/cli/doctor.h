/* What `doctor` prints, line by line: a fact or a check, and below it what it means for the numbers. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_DOCTOR_H
#define LP_CLI_DOCTOR_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/selftest.h"

struct lp_doctor {
    const struct lp_cli *cli;
    struct lp_buf out;
    bool color;
    unsigned checks, broken;
    char broken_names[256]; /* "counters, fork" */
};

void lp__doctor_section(struct lp_doctor *doctor, const char *title);
void lp__doctor_fact(struct lp_doctor *doctor, const char *name, const char *value, const char *meaning);
void lp__doctor_check(struct lp_doctor *doctor, const char *name, bool passed, const char *value, const char *meaning);

/* The whole command over these parts of the core: the exit status, LP_EXIT_FAILED after naming what is broken. */
int lp__doctor_run(struct lp_cli *cli, const struct lp_selftest_parts *parts);

/* doctor_facts.c: clocks, run directory, machine, variables. */
void lp__doctor_clocks(struct lp_doctor *doctor);
void lp__doctor_store(struct lp_doctor *doctor, const char *run_dir);
void lp__doctor_machine(struct lp_doctor *doctor);
void lp__doctor_environment(struct lp_doctor *doctor);

#endif
