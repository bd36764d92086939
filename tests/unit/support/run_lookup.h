/* Finding things in a merged run, for tests. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_RUN_LOOKUP_H
#define LP_TEST_RUN_LOOKUP_H

#include "merge/run.h"

/* The phase at a path of names joined by '/'; NULL when it is not there. */
const struct lp_run_phase *run_phase(const struct lp_run *run, const struct lp_run_tree *tree, const char *path);
/* The child of a phase that has a flag; NULL. */
const struct lp_run_phase *run_child_with(const struct lp_run_tree *tree, uint32_t parent, uint32_t flag);
/* A counter by name; NULL. */
const struct lp_run_counter *run_counter(const struct lp_run *run, const struct lp_run_phase *phase, const char *name);
const struct lp_run_role *run_role(const struct lp_run *run, const char *name);

#endif
