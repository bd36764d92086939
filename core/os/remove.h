/* Removing: exactly the file that was looked at, and folders that are empty.  Links are never followed. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_REMOVE_H
#define LP_OS_REMOVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/* Removes the regular file at `path` below `dir_fd` if it still is the one with this device and inode.  No part of the
 * path may be a link or "..".  LP_ERR_NOT_FOUND, LP_ERR_DENIED (a link, another file, not permitted), LP_ERR_IO. */
LP_WARN_UNUSED int lp__remove_file_at(int dir_fd, const char *path, uint64_t device, uint64_t inode,
                                      struct lp_error *err);
/* Removes the folders that hold `path` as far as they are empty, but not `dir_fd` itself. */
void lp__remove_empty_parents_at(int dir_fd, const char *path);

/* Makes a private folder under TMPDIR (else /tmp) and writes its name.  LP_OK or LP_ERR_IO. */
LP_WARN_UNUSED int lp__temp_dir_make(char *out, size_t cap, struct lp_error *err);
/* Removes a folder that lp__temp_dir_make made, with all that is in it, at most 16 levels deep. */
void lp__temp_dir_remove(const char *path);

#endif
