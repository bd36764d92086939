/* Which processes of a run are wanted: --ranks, --roles, --hosts. */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_SELECT_H
#define LP_MERGE_SELECT_H

#include "merge/run.h"

#define LP_SELECT_RANGES 256
#define LP_SELECT_NAMES  256

struct lp_rank_range {
    int64_t first, last;
};
struct lp_name_choice {
    const char *text; /* in the options */
    size_t len;
    bool met; /* some process has it */
};
struct lp_name_choices {
    struct lp_name_choice at[LP_SELECT_NAMES];
    size_t count; /* 0: all */
};

struct lp_selection {
    struct lp_rank_range ranks[LP_SELECT_RANGES];
    size_t rank_count; /* 0: all */
    struct lp_name_choices roles, hosts;
};

/* LP_ERR_USAGE, with what is wrong, for "3-1", "a" and the like. */
LP_WARN_UNUSED int lp__selection_parse(struct lp_selection *selection, const struct lp_run_options *options,
                                       struct lp_error *err);
bool lp__selection_has_rank(const struct lp_selection *selection, int64_t rank); /* -1 counts as 0 */
/* Also notes which of the wanted names exist. */
bool lp__selection_has(struct lp_selection *selection, const struct lp_run_process *process);
/* LP_ERR_USAGE when a wanted name met nothing; `seen` and `count` are what there is. */
LP_WARN_UNUSED int lp__selection_check(const struct lp_selection *selection, const struct lp_run_process *seen,
                                       size_t count, struct lp_error *err);

#endif
