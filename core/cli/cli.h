/* The command line: everything that `lineprofiler …` does, as one call.
 *
 * The native program and the Python entry point both come through here.  Output goes to the descriptors 1 and 2 and
 * nowhere else; nothing is kept between calls, and no exit is taken, so a host process lives on.  Signals: SIGINT and
 * SIGPIPE are ours while the call lasts and are put back as they were before it returns.  One call at a time.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_CLI_H
#define LP_CLI_CLI_H

#include <stddef.h>

/* A line that the host contributes to `doctor`.  Texts need to live only during the call that hands them over. */
struct lp_cli_line {
    const char *name;    /* "interpreter" */
    const char *value;   /* "CPython 3.12.1" */
    const char *meaning; /* what it means for the numbers, one sentence; "" when there is nothing to say */
    int passed;          /* 1: a check that passed, 0: a check that failed (doctor exits 1), -1: a fact */
};
typedef void lp_cli_add_line(void *sink, const struct lp_cli_line *line);

/* Who runs the command line, when it is not the native program.  Everything but `name` may be NULL. */
struct lp_cli_host {
    const char *name; /* "Python": heading of its lines in `doctor` */
    /* Called once, by `doctor` only, on the calling thread; calls `add` for each line.  The Python entry point takes
     * its interpreter lock here. */
    void (*doctor_lines)(void *arg, lp_cli_add_line *add, void *sink);
    void *arg;
};

/* Runs one command; argv[0] is the program's name.  Returns the exit status: 0, 1 (a gate or a self-test failed),
 * 2 (wrong use, or no run there), 130 (interrupted), 141 (whoever read our output has gone). */
int lp_cli_main(int argc, const char *const *argv);
/* The same for a host; NULL is the native program.  With a host, PYTHONIOENCODING and PYTHONUTF8 are heeded too. */
int lp_cli_main_hosted(int argc, const char *const *argv, const struct lp_cli_host *host);

#endif
