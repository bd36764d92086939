/* A command of the command line, and what all commands share while one of them runs.
 *
 * Each command is one file that defines one `struct lp_command`; help, completion and docs/cli.md are printed from the
 * same struct.  A command returns its exit status and owns whatever it opened.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_COMMAND_H
#define LP_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "os/interrupt.h"

#define LP_PROGRAM "lineprofiler"

enum lp_exit {
    LP_EXIT_OK = 0,
    LP_EXIT_FAILED = 1, /* a gate or a self-test */
    LP_EXIT_USAGE = 2,
    LP_EXIT_INTERRUPTED = 130,
    LP_EXIT_PIPE = 141
};

/* One call of the command line. */
struct lp_cli {
    const struct lp_cli_host *host; /* NULL: the native program */
    const struct lp_command *command;
    struct lp_args args;
    bool utf8;  /* the reader of our output can show more than ASCII */
    bool quiet; /* no progress line */
    struct lp_interrupt *interrupt;
};

struct lp_command {
    const char *name;
    const char *summary;         /* half a line, for lists */
    const char *operands;        /* "[RUN_DIR]"; "" none */
    const char *operand_choices; /* "bash|zsh|fish"; NULL: a directory when there are operands */
    size_t operand_max;
    const char *about; /* for --help: sentences, wrapped by us */
    const enum lp_option_id *options;
    bool words_are_theirs;          /* the words after the command are not read here, but for a leading --help */
    int (*run)(struct lp_cli *cli); /* NULL: a command of a later part */
    const char *part;               /* that part's name */
};

/* All of them, in the order in which help lists them; NULL ends. */
extern const struct lp_command *const lp__commands[];

const struct lp_command *lp__command_find(const char *name);

extern const struct lp_command lp__command_report;
extern const struct lp_command lp__command_top;
extern const struct lp_command lp__command_info;
extern const struct lp_command lp__command_doctor;
extern const struct lp_command lp__command_clean;
extern const struct lp_command lp__command_completion;
extern const struct lp_command lp__command_run;
extern const struct lp_command lp__command_help;

/* help.c */
void lp__help_overview(struct lp_buf *out);
void lp__help_command(const struct lp_command *command, struct lp_buf *out);
void lp__help_version(struct lp_buf *out);

#endif
