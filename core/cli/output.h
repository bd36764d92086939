/* Where the command line's bytes go: results to stdout or a file, one-line messages to stderr. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_OUTPUT_H
#define LP_CLI_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"

#define LP_OUTPUT_CEILING ((size_t)1 << 31)

/* Writes all of `text` to `path`, or to stdout when it is NULL or "-".  Returns the exit status: a reader that has gone
 * is LP_EXIT_PIPE without a word, anything else that fails is said on stderr.  A buffer that failed is not written. */
int lp__emit(const struct lp_cli *cli, const char *path, const struct lp_buf *text);

/* One line on stderr, after the program's name; made safe for a terminal. */
void lp__say(const struct lp_cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says what an error means, in one line, and returns the exit status that goes with it. */
int lp__say_error(const struct lp_cli *cli, const struct lp_error *err);

/* LINEPROFILER_LOG=FILE: a line of diagnostics with time and process id, appended; nothing without the variable. */
void lp__log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
