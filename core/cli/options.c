/* The table of options and the parser.  Pure: no environment, no output; every complaint is a sentence in the error. */
// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"

static const struct lp_option table[] = {
    {.id = LP_OPT_FORMAT,
     .name = "format",
     .kind = LP_OPTION_CHOICE,
     .choices = "text|json",
     .later = "html",
     .part = "pages",
     .help = "what to print; default: text"},
    {.id = LP_OPT_JSON, .name = "json", .hidden = true, .help = "the same as --format json"},
    {.id = LP_OPT_OUTPUT,
     .name = "output",
     .letter = 'o',
     .kind = LP_OPTION_TEXT,
     .value = "PATH",
     .help = "write there instead of to stdout: whole or not at all, folders are made, - is stdout"},
    {.id = LP_OPT_ATTEMPT,
     .name = "attempt",
     .kind = LP_OPTION_TEXT,
     .value = "ID|all|list",
     .help = "which launch of several in one directory; default: the newest"},
    {.id = LP_OPT_RANKS,
     .name = "ranks",
     .kind = LP_OPTION_TEXT,
     .value = "0-3,5",
     .help = "only workers of these ranks"},
    {.id = LP_OPT_ROLES,
     .name = "roles",
     .kind = LP_OPTION_TEXT,
     .value = "A,B",
     .help = "only workers of these roles"},
    {.id = LP_OPT_HOSTS,
     .name = "hosts",
     .kind = LP_OPTION_TEXT,
     .value = "A,B",
     .help = "only workers on these hosts"},
    {.id = LP_OPT_ROLE,
     .name = "role",
     .kind = LP_OPTION_TEXT,
     .value = "ROLE",
     .help = "show only the block of this role; whole-run figures stay"},
    {.id = LP_OPT_TOP,
     .name = "top",
     .kind = LP_OPTION_COUNT,
     .value = "N|all",
     .choices = "all",
     .min = 1,
     .max = 1000000,
     .help = "how many dominant phases of each role"},
    {.id = LP_OPT_SORT,
     .name = "sort",
     .kind = LP_OPTION_CHOICE,
     .choices = "self|wall|wait|entries|p99",
     .help = "order of the dominant phases; default: self"},
    {.id = LP_OPT_WIDE, .name = "wide", .help = "more columns: p95, max, suspended, full paths"},
    {.id = LP_OPT_WORKERS, .name = "workers", .help = "list every worker; in JSON with its phases"},
    {.id = LP_OPT_FILES, .name = "files", .help = "list every file, not only the first 20"},
    {.id = LP_OPT_COLOR,
     .name = "color",
     .kind = LP_OPTION_CHOICE,
     .choices = "auto|always|never",
     .help = "default: auto, which means on a terminal (NO_COLOR and FORCE_COLOR are heeded)"},
    {.id = LP_OPT_WIDTH,
     .name = "width",
     .kind = LP_OPTION_COUNT,
     .value = "N",
     .min = 60,
     .max = 1000,
     .help = "columns; default: the terminal's, else 80"},
    {.id = LP_OPT_ANY_OWNER, .name = "any-owner", .help = "read files of other users too"},
    {.id = LP_OPT_READ_ONLY, .name = "read-only", .help = "change nothing in the run directory, not even to tidy it"},
    {.id = LP_OPT_NO_SAMPLES, .name = "no-samples", .hidden = true, .help = "leave out resources"},
    {.id = LP_OPT_ONCE, .name = "once", .help = "print one frame and leave"},
    {.id = LP_OPT_INTERVAL,
     .name = "interval",
     .kind = LP_OPTION_SECONDS,
     .value = "S",
     .max = 3600,
     .help = "seconds between frames, from 0.1; default: 2"},
    {.id = LP_OPT_KEEP,
     .name = "keep",
     .kind = LP_OPTION_COUNT,
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "how many attempts stay, the newest first"},
    {.id = LP_OPT_STALE,
     .name = "stale",
     .help = "also remove files of workers that may still run elsewhere but were not heard of"},
    {.id = LP_OPT_DRY_RUN, .name = "dry-run", .letter = 'n', .help = "say what would be removed and remove nothing"},
    {.id = LP_OPT_LINES_TOP,
     .name = "top",
     .kind = LP_OPTION_COUNT,
     .value = "[N|all]",
     .choices = "all",
     .min = 1,
     .max = 1000000,
     .help = "the lines that took most, 10 or N of them; what is shown when nothing else is asked for"},
    {.id = LP_OPT_LINES_FUNCTIONS, .name = "functions", .help = "a table for each function"},
    {.id = LP_OPT_LINES_REGIONS, .name = "regions", .help = "a table for each region"},
    {.id = LP_OPT_LINES_SELF, .name = "self", .help = "order by the time of the lines themselves, without callees"},
    {.id = LP_OPT_LINES_HTML,
     .name = "html",
     .kind = LP_OPTION_TEXT,
     .value = "PATH",
     .help = "also write a page with the annotated source"},
    {.id = LP_OPT_LINES_JSON,
     .name = "json",
     .kind = LP_OPTION_TEXT,
     .value = "PATH",
     .help = "also write everything as JSON"},
    {.id = LP_OPT_OUTPUT_UNIT,
     .name = "output-unit",
     .kind = LP_OPTION_CHOICE,
     .choices = "ns|us|ms|s",
     .help = "unit of the times in the tables; default: us"},
    {.id = LP_OPT_CHILDREN,
     .name = "children",
     .help = "record the Python processes that the program starts too; this is the default"},
    {.id = LP_OPT_NO_CHILDREN, .name = "no-children", .help = "record only the program itself, in memory"},
    {.id = LP_OPT_EXPLAIN_SCOPE,
     .name = "explain-scope",
     .help = "also list which files are recorded, which are not, and why"},
    {.id = LP_OPT_PROJECT,
     .name = "project",
     .kind = LP_OPTION_TEXT,
     .value = "FOLDER",
     .help = "whose code to record; default: the nearest folder with .git, else with pyproject.toml, else that of the "
             "script"},
    {.id = LP_OPT_INCLUDE,
     .name = "include",
     .kind = LP_OPTION_TEXT,
     .value = "PATTERN",
     .help = "only files like this, also where they would be left out; may be given again"},
    {.id = LP_OPT_EXCLUDE,
     .name = "exclude",
     .kind = LP_OPTION_TEXT,
     .value = "PATTERN",
     .help = "no files like this; may be given again"},
    {.id = LP_OPT_RUN_DIR,
     .name = "run-dir",
     .kind = LP_OPTION_TEXT,
     .value = "DIR",
     .help = "keep what is recorded there, for report; default: a temporary folder"},
    {.id = LP_OPT_MARKDOWN, .name = "markdown", .hidden = true, .help = "print docs/cli.md"},
    {.id = LP_OPT_HELP, .name = "help", .letter = 'h', .help = "print this help"},
};
#define TABLE_COUNT (sizeof table / sizeof *table)

const struct lp_option *lp__option(enum lp_option_id id)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (table[i].id == id) return &table[i];
    return NULL;
}

bool lp__choice_has(const char *choices, const char *word)
{
    size_t len = strcspn(word, "|");
    if (word[len]) return false;
    for (const char *at = choices; at && len; at = strchr(at, '|'), at = at ? at + 1 : NULL) {
        if (strncmp(at, word, len) == 0 && (at[len] == '|' || at[len] == '\0')) return true;
    }
    return false;
}

/* -- one option -------------------------------------------------------------------------------------------------- */

static bool is_accepted(const enum lp_option_id *accepted, enum lp_option_id id)
{
    if (id == LP_OPT_HELP) return true;
    for (; *accepted != LP_OPT_NONE; accepted++)
        if (*accepted == id) return true;
    return false;
}

static const struct lp_option *find_name(const enum lp_option_id *accepted, const char *name, size_t len)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        const struct lp_option *option = &table[i];
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0 && is_accepted(accepted, option->id))
            return option;
    }
    return NULL;
}

static const struct lp_option *find_letter(const enum lp_option_id *accepted, char letter)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (table[i].letter == letter && is_accepted(accepted, table[i].id)) return &table[i];
    return NULL;
}

static int unknown_option(const enum lp_option_id *accepted, const char *word, struct lp_error *err)
{
    struct lp_nearest nearest = {0};
    char name[LP_NEAREST_MAX + 1] = "";
    size_t len = strcspn(word + (word[1] == '-' ? 2 : 1), "=");
    if (len < sizeof name) memcpy(name, word + (word[1] == '-' ? 2 : 1), len);
    for (size_t i = 0; i < TABLE_COUNT && word[1] == '-'; i++)
        if (is_accepted(accepted, table[i].id) && !table[i].hidden) lp__nearest_offer(&nearest, name, table[i].name);
    int shown = (int)strcspn(word, "=");
    if (shown > 60) shown = 60;
    if (nearest.best)
        return lp__fail(err, LP_ERR_USAGE, 0, "no option '%.*s'; did you mean --%s?", shown, word, nearest.best);
    return lp__fail(err, LP_ERR_USAGE, 0, "no option '%.*s' (--help lists them)", shown, word);
}

static int check_count(const struct lp_option *option, const char *value, struct lp_error *err)
{
    if (option->choices && lp__choice_has(option->choices, value)) return LP_OK;
    char *end = NULL;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    bool digits = value[0] >= '0' && value[0] <= '9' && *end == '\0';
    if (digits && errno == 0 && number >= option->min && number <= option->max) return LP_OK;
    return lp__fail(err, LP_ERR_USAGE, 0, "--%s takes a whole number from %u to %u%s%s, not '%.60s'", option->name,
                    option->min, option->max, option->choices ? " or " : "", option->choices ? option->choices : "",
                    value);
}

/* Digits with at most one point, whatever the locale thinks of points; false for anything else. */
static bool read_seconds(const char *value, double *seconds)
{
    double scale = 0, sum = 0;
    size_t digits = 0;
    for (const char *at = value; *at; at++) {
        if (*at == '.' && scale == 0) {
            scale = 1;
            continue;
        }
        if (*at < '0' || *at > '9' || ++digits > 12) return false;
        sum = sum * 10 + (*at - '0');
        scale *= 10;
    }
    *seconds = scale == 0 ? sum : sum / scale;
    return digits > 0;
}

static int check_seconds(const struct lp_option *option, const char *value, struct lp_error *err)
{
    double seconds;
    if (read_seconds(value, &seconds) && seconds >= 0.1 && seconds <= option->max) return LP_OK;
    return lp__fail(err, LP_ERR_USAGE, 0, "--%s takes seconds from 0.1 to %u, not '%.60s'", option->name, option->max,
                    value);
}

static int check_choice(const struct lp_option *option, const char *value, struct lp_error *err)
{
    if (lp__choice_has(option->choices, value)) return LP_OK;
    if (option->later && lp__choice_has(option->later, value))
        return lp__fail(err, LP_ERR_UNSUPPORTED, 0,
                        "--%s %s is not part of this version: it comes with the part on %s (use %s)", option->name,
                        value, option->part, option->choices);
    return lp__fail(err, LP_ERR_USAGE, 0, "--%s takes %s, not '%.60s'", option->name, option->choices, value);
}

static int check(const struct lp_option *option, const char *value, struct lp_error *err)
{
    switch (option->kind) {
    case LP_OPTION_CHOICE:
        return check_choice(option, value, err);
    case LP_OPTION_COUNT:
        return check_count(option, value, err);
    case LP_OPTION_SECONDS:
        return check_seconds(option, value, err);
    case LP_OPTION_TEXT:
        if (*value) return LP_OK;
        return lp__fail(err, LP_ERR_USAGE, 0, "--%s needs a value that is not empty", option->name);
    case LP_OPTION_FLAG:
        break;
    }
    return LP_OK;
}

static int needs_value(const struct lp_option *option, struct lp_error *err)
{
    return lp__fail(err, LP_ERR_USAGE, 0, "--%s needs a value: %s", option->name,
                    option->value ? option->value : option->choices);
}

/* -- the command line -------------------------------------------------------------------------------------------- */

struct reader {
    struct lp_args *args;
    const enum lp_option_id *accepted;
    int argc;
    const char *const *argv;
    int at; /* the next word */
    struct lp_error *err;
};

/* `attached` is what followed in the same word: the value, or for flags NULL. */
static int take(struct reader *reader, const struct lp_option *option, const char *attached)
{
    const char *value = attached;
    if (option->kind == LP_OPTION_FLAG) {
        if (attached) return lp__fail(reader->err, LP_ERR_USAGE, 0, "--%s takes no value", option->name);
        value = "";
    } else if (!value) {
        if (reader->at >= reader->argc) return needs_value(option, reader->err);
        value = reader->argv[reader->at++];
    }
    int rc = check(option, value, reader->err);
    if (rc == LP_OK) reader->args->value[option->id] = value;
    return rc;
}

static int take_long(struct reader *reader, const char *word)
{
    size_t len = strcspn(word + 2, "=");
    const struct lp_option *option = find_name(reader->accepted, word + 2, len);
    if (!option) return unknown_option(reader->accepted, word, reader->err);
    return take(reader, option, word[2 + len] == '=' ? word + 2 + len + 1 : NULL);
}

/* "-o PATH", "-oPATH", "-nq": letters of flags may share a word. */
static int take_letters(struct reader *reader, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const struct lp_option *option = find_letter(reader->accepted, *at);
        if (!option) return unknown_option(reader->accepted, word, reader->err);
        if (option->kind != LP_OPTION_FLAG) return take(reader, option, at[1] ? at + 1 : NULL);
        int rc = take(reader, option, NULL);
        if (rc != LP_OK) return rc;
    }
    return LP_OK;
}

int lp__args_parse(struct lp_args *args, const enum lp_option_id *accepted, size_t operand_max, int argc,
                   const char *const *argv, struct lp_error *err)
{
    struct reader reader = {args, accepted, argc, argv, 0, err};
    bool only_operands = false;
    memset(args, 0, sizeof *args);
    if (operand_max > LP_OPERANDS_MAX) operand_max = LP_OPERANDS_MAX;
    while (reader.at < argc) {
        const char *word = argv[reader.at++];
        int rc = LP_OK;
        if (!only_operands && strcmp(word, "--") == 0)
            only_operands = true;
        else if (!only_operands && word[0] == '-' && word[1] == '-')
            rc = take_long(&reader, word);
        else if (!only_operands && word[0] == '-' && word[1])
            rc = take_letters(&reader, word);
        else if (args->operand_count == operand_max)
            rc = lp__fail(err, LP_ERR_USAGE, 0, "one word too many: '%.60s' (--help shows what it takes)", word);
        else
            args->operand[args->operand_count++] = word;
        if (rc != LP_OK) return rc;
    }
    return LP_OK;
}

uint32_t lp__args_count(const struct lp_args *args, enum lp_option_id id, uint32_t otherwise)
{
    const char *value = args->value[id];
    if (!value) return otherwise;
    const struct lp_option *option = lp__option(id);
    if (option->choices && lp__choice_has(option->choices, value)) return UINT32_MAX;
    return (uint32_t)strtoul(value, NULL, 10);
}

double lp__args_seconds(const struct lp_args *args, enum lp_option_id id, double otherwise)
{
    double seconds;
    return args->value[id] && read_seconds(args->value[id], &seconds) ? seconds : otherwise;
}
