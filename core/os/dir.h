/* Directories by descriptor: opening, making and listing them without following links.
 *
 * What a shared directory holds may be exchanged by others at any moment, so everything is asked of an open
 * descriptor or answered by one.  No function changes the caller's errno on success.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_DIR_H
#define LP_OS_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

enum lp_file_kind { LP_FILE_REGULAR, LP_FILE_DIRECTORY, LP_FILE_LINK, LP_FILE_OTHER };

struct lp_file_facts {
    enum lp_file_kind kind;
    mode_t mode; /* permission bits */
    uid_t owner;
    uint64_t bytes;
    int64_t mtime_ns;
    uint64_t device, inode;
};

#define LP_DIR_CWD (-100) /* dir_fd of the working directory (AT_FDCWD) */

/* Opens a directory for use as `dir_fd` (CLOEXEC).  Only with `follow` may the last part of the name be a link.
 * Descriptor, LP_ERR_NOT_FOUND (or it is no directory), LP_ERR_DENIED (a link, no permission), LP_ERR_IO. */
LP_WARN_UNUSED int lp__dir_open_at(int dir_fd, const char *name, bool follow, struct lp_error *err);
/* mkdir with exactly this mode, whatever the umask: 1 made, 0 something of that name was there, or a negative
 * lp_err. */
LP_WARN_UNUSED int lp__dir_make_at(int dir_fd, const char *name, mode_t mode, struct lp_error *err);
/* Calls `visit` for each entry but . and .., in the system's order, until it returns non-zero, which is then returned.
 * LP_ERR_IO when the directory cannot be read.  `dir_fd` stays open. */
LP_WARN_UNUSED int lp__dir_each(int dir_fd, int (*visit)(const char *name, void *arg), void *arg);
/* What an entry is, a link not followed; false when it is not there (any more). */
bool lp__file_facts_at(int dir_fd, const char *name, struct lp_file_facts *out);
bool lp__file_facts(int fd, struct lp_file_facts *out);
/* A new small file, O_EXCL and O_NOFOLLOW; one that is there is left alone.  0 or a negative lp_err. */
LP_WARN_UNUSED int lp__file_create_at(int dir_fd, const char *name, mode_t mode, const void *bytes, size_t len,
                                      struct lp_error *err);

/* When the file or directory was made, by the wall clock; 0 where the system does not say. */
int64_t lp__file_birth_ns(int fd);
void lp__file_remove_at(int dir_fd, const char *name); /* nothing when it is not there */
/* Waits at most so long for everybody else who locked the directory to close it; false: they still have it. */
bool lp__dir_lock(int dir_fd, unsigned wait_ms);

void lp__close_fd(int fd); /* negative: nothing */
uid_t lp__effective_user(void);

#endif
