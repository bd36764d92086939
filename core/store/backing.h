/* What lies under a store: a file in the run directory, a file in tmpfs, or memory. */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_BACKING_H
#define LP_STORE_BACKING_H

#include "store/writer.h"

/* Creates the empty file for store->place and fills path, live_path, device and inode.  0, or a negative errno when
 * this place will not do (why_not_run_dir says why). */
int lp__backing_create(struct lp_store *store, const struct lp_store_options *options);
/* Only the name in the run directory that copies go to, for the places outside it. */
void lp__backing_name_copy(struct lp_store *store, const struct lp_store_options *options);
/* Allocates and maps [from, to) of it.  0 or a negative errno; nothing is mapped then. */
int lp__backing_extend(struct lp_store *store, uint64_t from, uint64_t to);
/* Removes the live file. */
void lp__backing_remove(struct lp_store *store);

#endif
