/* The options of all commands, in one table, and the parser that reads a command line by it.
 *
 * An option means the same wherever it is taken, so its text, its values and its limits stand here once; help,
 * completion and docs/cli.md are printed from the same table.  The parser knows no command and prints nothing.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_OPTIONS_H
#define LP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum lp_option_id {
    LP_OPT_NONE = 0, /* ends a command's list */
    LP_OPT_FORMAT,
    LP_OPT_JSON,
    LP_OPT_OUTPUT,
    LP_OPT_ATTEMPT,
    LP_OPT_RANKS,
    LP_OPT_ROLES,
    LP_OPT_HOSTS,
    LP_OPT_ROLE,
    LP_OPT_TOP,
    LP_OPT_SORT,
    LP_OPT_WIDE,
    LP_OPT_WORKERS,
    LP_OPT_FILES,
    LP_OPT_COLOR,
    LP_OPT_WIDTH,
    LP_OPT_ANY_OWNER,
    LP_OPT_READ_ONLY,
    LP_OPT_NO_SAMPLES,
    LP_OPT_ONCE,
    LP_OPT_INTERVAL,
    LP_OPT_KEEP,
    LP_OPT_STALE,
    LP_OPT_DRY_RUN,
    LP_OPT_LINES_TOP,
    LP_OPT_LINES_FUNCTIONS,
    LP_OPT_LINES_REGIONS,
    LP_OPT_LINES_SELF,
    LP_OPT_LINES_HTML,
    LP_OPT_LINES_JSON,
    LP_OPT_OUTPUT_UNIT,
    LP_OPT_CHILDREN,
    LP_OPT_NO_CHILDREN,
    LP_OPT_EXPLAIN_SCOPE,
    LP_OPT_PROJECT,
    LP_OPT_INCLUDE,
    LP_OPT_EXCLUDE,
    LP_OPT_RUN_DIR,
    LP_OPT_MARKDOWN,
    LP_OPT_HELP,
    LP_OPT_COUNT
};

enum lp_option_kind {
    LP_OPTION_FLAG,
    LP_OPTION_TEXT,
    LP_OPTION_CHOICE,
    LP_OPTION_COUNT,  /* a whole number from min to max, or the word in `choices` when there is one */
    LP_OPTION_SECONDS /* a decimal number from min to max */
};

struct lp_option {
    enum lp_option_id id;
    enum lp_option_kind kind;
    const char *name;    /* without the dashes */
    const char *value;   /* how help names the value: "PATH"; NULL: the choices themselves */
    const char *choices; /* "text|json" */
    const char *later;   /* choices of a later part, "html" … */
    const char *part;    /* … and its name */
    const char *help;
    uint32_t min, max;
    char letter; /* one-letter form, 0 none */
    bool hidden;
};

const struct lp_option *lp__option(enum lp_option_id id);

#define LP_OPERANDS_MAX 4u

/* What was given.  Strings are borrowed from argv. */
struct lp_args {
    const char *value[LP_OPT_COUNT]; /* NULL: not given; a flag that was given is "" */
    const char *operand[LP_OPERANDS_MAX];
    size_t operand_count;
};

/* Reads the words after the command.  `accepted` ends with LP_OPT_NONE; LP_OPT_HELP is accepted everywhere.  After
 * `--` all words are operands.  Of an option given twice the last counts.  LP_ERR_USAGE, or LP_ERR_UNSUPPORTED for a
 * value of a later part; the detail is the whole sentence with its remedy. */
int lp__args_parse(struct lp_args *args, const enum lp_option_id *accepted, size_t operand_max, int argc,
                   const char *const *argv, struct lp_error *err);

static inline bool lp__args_has(const struct lp_args *args, enum lp_option_id id)
{
    return args->value[id] != NULL;
}
/* Values that the parser has checked; `otherwise` when not given.  The word of a count ("all") is UINT32_MAX. */
uint32_t lp__args_count(const struct lp_args *args, enum lp_option_id id, uint32_t otherwise);
double lp__args_seconds(const struct lp_args *args, enum lp_option_id id, double otherwise);

/* Is `word` one of "a|b|c"? */
bool lp__choice_has(const char *choices, const char *word);

#endif
