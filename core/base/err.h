/* The table of errors, and the struct that carries one.
 *
 * Every fallible function of the core returns 0 or a negative `enum lp_err` and fills a nullable
 * `struct lp_error`.  The table below is the single source: enum, names, messages, Python classes, exit
 * statuses and docs/errors.md all come from it.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_ERR_H
#define LP_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

/* X(ENUMERATOR, number, "slug", "message", "Python class", exit status) */
#define LP_ERR_TABLE(X)                                                                                                \
    X(USAGE, -1, "usage", "wrong use", "ProfileUsageError", 2)                                                         \
    X(NO_MEMORY, -2, "no-memory", "out of memory", "ProfileError", 2)                                                  \
    X(IO, -3, "io", "the system refused a file operation", "ProfileStorageError", 2)                                   \
    X(NO_SPACE, -4, "no-space", "no space left", "ProfileStorageError", 2)                                             \
    X(FORMAT, -5, "format", "not a file of this format", "ProfileFormatError", 2)                                      \
    X(TRUNCATED, -6, "truncated", "the file ends early", "ProfileFormatError", 2)                                      \
    X(VERSION, -7, "version", "written by a newer version", "ProfileVersionError", 2)                                  \
    X(NOT_FOUND, -8, "not-found", "no such file or directory", "ProfileStorageError", 2)                               \
    X(NO_RUN, -9, "no-run", "the directory holds no run", "ProfileStorageError", 2)                                    \
    X(FOREIGN_RUN, -10, "foreign-run", "the run was written by another tool", "ProfileFormatError", 2)                 \
    X(DENIED, -11, "denied", "not trusted or not permitted", "ProfileStorageError", 2)                                 \
    X(LIMIT, -12, "limit", "a ceiling was reached", "ProfileError", 2)                                                 \
    X(UNSUPPORTED, -13, "unsupported", "not part of this version yet", "NotImplementedError", 2)                       \
    X(INTERRUPTED, -14, "interrupted", "interrupted", "KeyboardInterrupt", 130)

enum lp_err {
    LP_OK = 0,
#define LP_ERR_ENUM(name, number, slug, message, python, exit_status) LP_ERR_##name = (number),
    LP_ERR_TABLE(LP_ERR_ENUM)
#undef LP_ERR_ENUM
};

/* What went wrong, where, and what to try.  `detail` is one line without a newline; it may hold bytes of a
 * file name and is escaped by whoever prints it. */
struct lp_error {
    enum lp_err code;
    int sys_errno;    /* errno at the time, 0 if none */
    uint64_t offset;  /* byte offset in a file, or line number; 0 if none */
    char detail[256]; /* which file, which section, what to try; "" if none */
};

/* Fills `err` (nullable) and returns `code`, so that `return lp__fail(err, LP_ERR_IO, errno, "...")` reads well. */
int lp__fail(struct lp_error *err, enum lp_err code, int sys_errno, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

const char *lp__err_slug(enum lp_err code); /* "ok" for 0, "unknown" for a number not in the table */
const char *lp__err_message(enum lp_err code);
const char *lp__err_python_class(enum lp_err code);
int lp__err_exit_status(enum lp_err code);

#endif
