/* Files and maps, with the care that shared directories need.  No function changes the caller's errno on success. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_FILE_H
#define LP_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Reads a small file (of /proc, /sys, a configuration) whole, at most `ceiling` bytes; the rest is left.  Regular
 * files and /proc only: O_NOFOLLOW is not set, O_NONBLOCK and O_CLOEXEC are. */
LP_WARN_UNUSED int lp__slurp(const char *path, struct lp_buf *out, struct lp_error *err);

/* Opens for reading with O_NOFOLLOW|O_NONBLOCK|O_CLOEXEC relative to `dir_fd` and accepts regular files only.
 * Returns the descriptor or a negative lp_err; `size` and `owner` may be NULL. */
LP_WARN_UNUSED int lp__open_regular_at(int dir_fd, const char *name, uint64_t *size, uid_t *owner,
                                       struct lp_error *err);
/* Reads exactly up to `len` bytes at `offset` (short at end of file), retrying EINTR.  Bytes read or negative lp_err.
 */
LP_WARN_UNUSED int64_t lp__pread_full(int fd, void *into, size_t len, uint64_t offset);

/* Writes all bytes, retrying short writes and EINTR. */
LP_WARN_UNUSED int lp__write_full(int fd, const void *bytes, size_t len, struct lp_error *err);

/* Writes a whole file beside `path` and renames it over: either the old or the complete new content is there.  Parents
 * are created when `make_parents`.  A link is refused, devices, FIFOs and "-" (stdout) are written through. */
LP_WARN_UNUSED int lp__write_atomic(const char *path, const void *bytes, size_t len, bool make_parents,
                                    struct lp_error *err);

LP_WARN_UNUSED int lp__make_dirs(const char *path, mode_t mode, struct lp_error *err); /* like mkdir -p */

/* Can a shared writable mapping on this file system be trusted to have its blocks (posix_fallocate really reserves)? */
enum lp_fs_kind { LP_FS_MAPPABLE, LP_FS_NETWORK, LP_FS_COPY_ON_WRITE, LP_FS_UNKNOWN };
enum lp_fs_kind lp__fs_kind(int fd, const char **name); /* name: "ext4", "nfs", …; static text */

#endif
