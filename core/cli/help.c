/* Help, version and docs/cli.md, all from the tables of commands and options. */
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/output.h"
#include "cli/wrap.h"
#include "store/layout.h"

#define OPTION_COLUMN 26u

static const char environment[] = "LINEPROFILER_RUN_DIR   the run directory when none is given\n"
                                  "LINEPROFILER_LOG=FILE  diagnostics of this program, appended to FILE\n"
                                  "NO_COLOR, FORCE_COLOR  plain text, or colours even without a terminal\n";

static const char statuses[] = "0    done\n"
                               "1    a self-test of doctor failed\n"
                               "2    wrong use, or no run in that directory\n"
                               "130  interrupted\n"
                               "141  whoever read the output has gone\n";

/* A block of lines, each with two spaces or other `lead` before it. */
static void add_lines(struct lp_buf *out, const char *lines, const char *lead)
{
    for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        lp__buf_adds(out, lead);
        lp__buf_add(out, lines, (size_t)(end + 1 - lines));
    }
}

/* "-o, --output PATH" */
static void option_head(char *out, size_t cap, const struct lp_option *option)
{
    const char *value = option->value ? option->value : option->choices;
    char letter[8] = "";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(out, cap, "%s--%s%s%s", letter, option->name, value ? " " : "", value ? value : "");
}

static void list_option(struct lp_buf *out, enum lp_option_id id)
{
    const struct lp_option *option = lp__option(id);
    char head[80];
    if (!option || option->hidden) return;
    option_head(head, sizeof head, option);
    lp__buf_adds(out, "  ");
    lp__buf_adds(out, head);
    size_t at = 2 + strlen(head);
    if (at + 2 > OPTION_COLUMN) {
        lp__buf_addc(out, '\n');
        at = 0;
    }
    lp__buf_pad(out, ' ', OPTION_COLUMN - at);
    lp__wrap(out, option->help, OPTION_COLUMN, OPTION_COLUMN);
}

static void usage(struct lp_buf *out, const struct lp_command *command)
{
    bool has_options = command->options && command->options[0] != LP_OPT_NONE && !command->words_are_theirs;
    lp__buf_addf(out, "%s %s%s%s%s", LP_PROGRAM, command->name, command->operands[0] ? " " : "", command->operands,
                 has_options ? " [options]" : "");
}

void lp__help_command(const struct lp_command *command, struct lp_buf *out)
{
    lp__buf_adds(out, "usage: ");
    usage(out, command);
    lp__buf_adds(out, "\n\n");
    lp__wrap(out, command->about, 0, 0);
    lp__buf_adds(out, "\noptions:\n");
    for (const enum lp_option_id *id = command->options; *id != LP_OPT_NONE; id++)
        list_option(out, *id);
    list_option(out, LP_OPT_HELP);
}

void lp__help_overview(struct lp_buf *out)
{
    lp__buf_addf(out, "usage: %s COMMAND [RUN_DIR] [options]\n\n", LP_PROGRAM);
    lp__buf_adds(
        out, "Reads what programs recorded into a run directory. Nothing needs to have ended for that.\n\ncommands:\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if ((*command)->run) lp__buf_addf(out, "  %-12s %s\n", (*command)->name, (*command)->summary);
    lp__buf_adds(out, "\nnot in this version yet:\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if (!(*command)->run) lp__buf_addf(out, "  %-12s %s\n", (*command)->name, (*command)->summary);
    lp__buf_adds(out, "\nenvironment:\n");
    add_lines(out, environment, "  ");
    lp__buf_adds(out, "\nexit status:\n");
    add_lines(out, statuses, "  ");
    lp__buf_addf(out, "\n%s COMMAND --help tells more; --version prints the version.\n", LP_PROGRAM);
}

void lp__help_version(struct lp_buf *out)
{
    lp__buf_addf(out, "%s %s (file format %u)\n", LP_PROGRAM, LP_VERSION, LP_FILE_VERSION);
}

/* -- docs/cli.md ------------------------------------------------------------------------------------------------- */

static void markdown_command(const struct lp_command *command, struct lp_buf *out)
{
    lp__buf_addf(out, "\n## %s\n\n", command->name);
    lp__buf_adds(out, command->about);
    lp__buf_adds(out, "\n\n```\n");
    usage(out, command);
    lp__buf_adds(out, "\n\n");
    for (const enum lp_option_id *id = command->options; *id != LP_OPT_NONE; id++)
        list_option(out, *id);
    list_option(out, LP_OPT_HELP);
    lp__buf_adds(out, "```\n");
}

static void markdown(struct lp_buf *out)
{
    lp__buf_adds(
        out, "<!-- Printed by tools/cli-doc from the program itself; a test compares. -->\n\n# The command line\n\n");
    lp__buf_adds(
        out,
        "`lineprofiler COMMAND …` is the same program three times: the native one that `make install` installs, the "
        "entry point that pip installs, and `python -m lineprofiler`. Results go to stdout, messages to "
        "stderr: one line that says what to do.\n\n```\n");
    add_lines(out, statuses, "");
    lp__buf_adds(out, "```\n\nThe environment it reads:\n\n```\n");
    add_lines(out, environment, "");
    lp__buf_adds(out, "```\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if ((*command)->run) markdown_command(*command, out);
    lp__buf_adds(out, "\n## Not in this version yet\n\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if (!(*command)->run)
            lp__buf_addf(out, "- `%s` (%s) comes with the part on %s.\n", (*command)->name, (*command)->summary,
                         (*command)->part);
}

/* -- the command ------------------------------------------------------------------------------------------------- */

static int run_help(struct lp_cli *cli)
{
    const char *name = cli->args.operand_count ? cli->args.operand[0] : NULL;
    const struct lp_command *command = name ? lp__command_find(name) : NULL;
    struct lp_buf out;
    if (name && !command) {
        struct lp_nearest nearest = {0};
        for (const struct lp_command *const *known = lp__commands; *known; known++)
            lp__nearest_offer(&nearest, name, (*known)->name);
        lp__say(cli, "help: no command '%.60s'%s%s%s (%s --help lists them)", name,
                nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "", nearest.best ? "'?" : "",
                LP_PROGRAM);
        return LP_EXIT_USAGE;
    }
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    if (lp__args_has(&cli->args, LP_OPT_MARKDOWN))
        markdown(&out);
    else if (command && command->run)
        lp__help_command(command, &out);
    else if (command)
        lp__buf_addf(&out, "%s: %s. Not in this version: it comes with the part on %s.\n", command->name,
                     command->summary, command->part);
    else
        lp__help_overview(&out);
    int status = lp__emit(cli, NULL, &out);
    lp__buf_release(&out);
    return status;
}

static const enum lp_option_id options[] = {LP_OPT_MARKDOWN, LP_OPT_NONE};

const struct lp_command lp__command_help = {
    .name = "help",
    .summary = "this text, or with the name of a command its own",
    .operands = "[COMMAND]",
    .operand_max = 1,
    .about = "Prints the list of commands, or what one of them does.",
    .options = options,
    .run = run_help,
};
