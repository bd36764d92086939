/* What the reader of our output can show: characters, colours, columns.  Pure over a look-up of the environment. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_TERM_H
#define LP_CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/launch.h"

/* The first of LC_ALL, LC_CTYPE, LANG that is set decides by its character set; with a Python host PYTHONIOENCODING
 * and PYTHONUTF8 come before them.  Nothing set: false, as in the C locale. */
bool lp__term_utf8(lp_env_lookup *lookup, void *arg, bool hosted);

/* `choice` is auto, always, never or NULL (auto).  Auto: FORCE_COLOR set and not 0 → yes; NO_COLOR set → no; else a
 * terminal that is not dumb. */
bool lp__term_color(const char *choice, bool is_terminal, lp_env_lookup *lookup, void *arg);

/* Size of the terminal behind `fd`; COLUMNS and LINES of the environment win; 0: not known. */
void lp__term_size(int fd, lp_env_lookup *lookup, void *arg, unsigned *columns, unsigned *rows);

const char *lp__term_env(const char *name, void *arg); /* a look-up over secure_getenv; `arg` is not used */

/* A line on a terminal's stderr once something has lasted a second, rewritten ten times a second at most.  To be used
 * as a run's progress call; returns non-zero once interrupted. */
struct lp_progress {
    bool is_terminal;
    uint64_t started_ns, drawn_ns;
    size_t columns; /* of the line that stands there */
};
void lp__progress_begin(struct lp_progress *progress, bool quiet); /* quiet: draws nothing */
int lp__progress(void *progress, size_t done, size_t all);
void lp__progress_end(struct lp_progress *progress); /* wipes the line */

#endif
