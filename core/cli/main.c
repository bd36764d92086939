/* Dispatch: from argv to a command and back to an exit status.  Signals are ours only between the two. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/output.h"
#include "cli/term.h"
#include "os/dir.h"
#include "os/interrupt.h"

const struct lp_command *const lp__commands[] = {
    &lp__command_run,
    &lp__command_report,
    &lp__command_top,
    &lp__command_info,
    &lp__command_doctor,
    &lp__command_clean,
    &lp__command_completion,
    &(const struct lp_command){.name = "compare", .summary = "compare two runs", .part = "comparison"},
    &(const struct lp_command){.name = "trace", .summary = "show a run's timeline", .part = "the timeline"},
    &(const struct lp_command){.name = "export", .summary = "write a run for other tools", .part = "the timeline"},
    &lp__command_help,
    NULL,
};

const struct lp_command *lp__command_find(const char *name)
{
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if (strcmp((*command)->name, name) == 0) return *command;
    return NULL;
}

static int unknown_command(const struct lp_cli *cli, const char *word)
{
    struct lp_nearest nearest = {0};
    struct lp_file_facts facts;
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        lp__nearest_offer(&nearest, word, (*command)->name);
    if (lp__file_facts_at(LP_DIR_CWD, word, &facts))
        lp__say(cli, "no command '%.200s'; to read what was recorded there: %s report %.200s", word, LP_PROGRAM, word);
    else if (nearest.best)
        lp__say(cli, "no command '%.60s'; did you mean '%s'? (%s --help lists them)", word, nearest.best, LP_PROGRAM);
    else
        lp__say(cli, "no command '%.60s' (%s --help lists them)", word, LP_PROGRAM);
    return LP_EXIT_USAGE;
}

static int print(const struct lp_cli *cli, void (*write)(struct lp_buf *out))
{
    struct lp_buf out;
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    write(&out);
    int status = lp__emit(cli, NULL, &out);
    lp__buf_release(&out);
    return status;
}

static int print_help(const struct lp_cli *cli)
{
    struct lp_buf out;
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    lp__help_command(cli->command, &out);
    int status = lp__emit(cli, NULL, &out);
    lp__buf_release(&out);
    return status;
}

static int run_command(struct lp_cli *cli, int argc, const char *const *argv)
{
    const struct lp_command *command = cli->command;
    struct lp_error err = {0};
    if (!command->run) {
        lp__say(cli, "'%s' is not part of this version: it comes with the part on %s (%s --help lists what is there)",
                command->name, command->part, LP_PROGRAM);
        return LP_EXIT_USAGE;
    }
    if (command->words_are_theirs) {
        bool helps = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
        return helps ? print_help(cli) : command->run(cli);
    }
    if (lp__args_parse(&cli->args, command->options, command->operand_max, argc, argv, &err) != LP_OK) {
        lp__say(cli, "%s: %s", command->name, err.detail);
        return lp__err_exit_status(err.code);
    }
    if (lp__args_has(&cli->args, LP_OPT_HELP)) return print_help(cli);
    return command->run(cli);
}

static int dispatch(struct lp_cli *cli, int argc, const char *const *argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return print(cli, lp__help_overview);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return print(cli, lp__help_version);
    if (word[0] == '-' || word[0] == '\0') {
        lp__say(cli, "a command comes first, not '%.60s' (%s --help lists them)", word, LP_PROGRAM);
        return LP_EXIT_USAGE;
    }
    cli->command = lp__command_find(word);
    return cli->command ? run_command(cli, argc - 2, argv + 2) : unknown_command(cli, word);
}

int lp_cli_main(int argc, const char *const *argv)
{
    return lp_cli_main_hosted(argc, argv, NULL);
}

int lp_cli_main_hosted(int argc, const char *const *argv, const struct lp_cli_host *host)
{
    struct lp_interrupt saved;
    struct lp_cli cli = {.host = host, .interrupt = &saved};
    int saved_errno = errno;
    cli.utf8 = lp__term_utf8(lp__term_env, NULL, host != NULL);
    lp__interrupt_begin(&saved);
    int status = dispatch(&cli, argc, argv);
    lp__log("'%s' ends with %d", argc > 1 ? argv[1] : "", status);
    lp__interrupt_end(&saved);
    errno = saved_errno;
    return status;
}
