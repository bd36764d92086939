/* Counters and the histogram records of a file, joined. */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_COUNTER_H
#define LP_MERGE_COUNTER_H

#include "merge/run.h"
#include "store/reader.h"

/* Adds a record's blocks; a block that is not where the record says is passed over. */
LP_WARN_UNUSED int lp__hist_add_record(struct lp_hist *hist, struct lp_arena *arena, const struct lp_image *image,
                                       const struct lp_hist_record *record);
/* Adds one process's counter to the joined one (all zero but its name at first). */
LP_WARN_UNUSED int lp__counter_add(struct lp_run_counter *into, struct lp_arena *arena, const struct lp_image *image,
                                   const struct lp_counter_record *record);
/* The list in the order of names' bytes. */
struct lp_run_counter *lp__counters_sorted(struct lp_run_counter *list, const struct lp_intern *names);

#endif
