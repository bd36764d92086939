/* What lies under a store: a file in the run directory, a file in tmpfs, or memory. */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_BACKING_H
#define LP_STORE_BACKING_H

#include "store/writer.h"

void lp__backing_choose_name(struct lp_store *store, const struct lp_store_options *options);
/* Creates the empty file for store->place and fills path, live_path, device and inode.  0, or a negative errno when
 * this place will not do (why_not_run_dir says why). */
int lp__backing_create(struct lp_store *store, const struct lp_store_options *options);
/* Only the name in the run directory that copies go to, for the places outside it. */
void lp__backing_name_copy(struct lp_store *store);
/* Allocates and maps [from, to) of it.  0 or a negative errno; nothing is mapped then. */
int lp__backing_extend(struct lp_store *store, uint64_t from, uint64_t to);
/* Writes the first `bytes` of the store as store->name into the run directory, replacing the last copy, not followed by
 * a flush to the disk.  0 or a negative errno. */
int lp__backing_copy(struct lp_store *store, uint64_t bytes);
/* Removes the live file. */
void lp__backing_remove(struct lp_store *store);

/* A whole file, written beside and renamed to `name` in an open directory.  0 or a negative errno. */
int lp__backing_replace(int directory, const char *name, const void *bytes, uint64_t len, bool share_group);
/* /dev/shm/lineprofiler-UID, 0700, ours and no link, made when missing if `make`.  A descriptor, or a negative errno.
 */
int lp__backing_shm_directory(char path[64], bool make);
/* What names of live files of this run directory begin with in there: 16 hex digits and a dot.  false: no directory. */
bool lp__backing_shm_prefix(const char *run_dir, char prefix[18]);

#endif
