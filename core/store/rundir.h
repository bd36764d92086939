/* A run directory: making it safely, naming files in it, listing what is there.
 *
 *   <run>/.gitignore                       "*"
 *   <run>/workers/<host>/<attempt>.<pid>.<8 hex>.lpw
 *   <run>/user-<uid>/…                     the same, for a user who does not own <run>
 *
 * Everything is done relative to directory descriptors with O_NOFOLLOW; nothing here trusts a name in the directory.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_RUNDIR_H
#define LP_STORE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

/* Creates (0700, or 0770 with `share_group`) and opens <run>/workers/<host>; if another user owns <run>, the same below
 * <run>/user-<uid>, and `*own_folder` becomes true.  Returns the directory's descriptor (CLOEXEC) or a negative lp_err.
 */
LP_WARN_UNUSED int lp__rundir_open_workers(const char *run_dir, const char *host, bool share_group, bool *own_folder,
                                           struct lp_error *err);

/* An attempt id made now: YYYYMMDDTHHMMSS-<6 hex>. */
void lp__rundir_fresh_attempt(char out[32]);
/* `attempt` with every byte that is not [A-Za-z0-9_-] replaced; at most 100 bytes. */
void lp__rundir_safe_name(char out[104], const char *attempt);

/* <attempt>.<pid>.<8 hex>.lpw */
bool lp__rundir_is_worker_name(const char *name);
uint32_t lp__rundir_pid_of(const char *name); /* the pid in a worker file's name */

struct lp_rundir_file {
    const char *path; /* relative to the run directory */
    const char *host; /* the folder it was found in */
    uint64_t bytes;
    int64_t mtime_ns;
    uint64_t device, inode;
    uid_t owner;
    enum lp_err refused; /* LP_OK, or why it is left out unread: LP_ERR_DENIED (another owner), LP_ERR_LIMIT, … */
};

struct lp_rundir_list {
    struct lp_rundir_file *files; /* sorted by path */
    size_t count;
    struct lp_rundir_file *copies; /* half written: ".<worker name>", renamed when complete; at most 1,000 of them */
    size_t copy_count;
    uid_t owner;    /* of the directory */
    bool foreign;   /* holds a run of with-line-profiler and none of ours */
    bool truncated; /* more files than the ceiling (100,000) */
};

/* Lists the worker files.  LP_ERR_NOT_FOUND: no such directory (or not one); LP_ERR_NO_RUN: nothing of our name pattern
 * there; LP_ERR_FOREIGN_RUN: only another tool's files.  Memory from `arena`.  `dir_fd` (may be NULL) receives an open
 * descriptor of the directory for lp__open_regular_at. */
LP_WARN_UNUSED int lp__rundir_list(const char *run_dir, bool any_owner, struct lp_arena *arena,
                                   struct lp_rundir_list *out, int *dir_fd, struct lp_error *err);

#endif
