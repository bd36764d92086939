/* `completion`: scripts for three shells, printed from the tables of commands and options. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"

typedef void each_option(struct lp_buf *out, const struct lp_command *command, const struct lp_option *option);

static void for_options(struct lp_buf *out, const struct lp_command *command, each_option *visit)
{
    for (const enum lp_option_id *id = command->options; *id != LP_OPT_NONE; id++) {
        const struct lp_option *option = lp__option(*id);
        if (option && !option->hidden) visit(out, command, option);
    }
    visit(out, command, lp__option(LP_OPT_HELP));
}

/* "text|json" as "text json" */
static void add_words(struct lp_buf *out, const char *choices)
{
    for (const char *at = choices; *at; at++)
        lp__buf_addc(out, *at == '|' ? ' ' : *at);
}

/* Help texts have no apostrophes on purpose, but a shell must not depend on that. */
static void add_quoted(struct lp_buf *out, const char *text)
{
    lp__buf_addc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            lp__buf_adds(out, "'\\''");
        else
            lp__buf_addc(out, *text);
    }
    lp__buf_addc(out, '\'');
}

static void add_command_names(struct lp_buf *out)
{
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if ((*command)->run) lp__buf_addf(out, "%s%s", command == lp__commands ? "" : " ", (*command)->name);
}

/* -- bash -------------------------------------------------------------------------------------------------------- */

static void bash_option(struct lp_buf *out, const struct lp_command *command, const struct lp_option *option)
{
    (void)command;
    lp__buf_addf(out, " --%s", option->name);
}

static void bash_value(struct lp_buf *out, const struct lp_command *command, const struct lp_option *option)
{
    if (option->kind == LP_OPTION_FLAG) return;
    lp__buf_addf(out, "        %s:--%s", command->name, option->name);
    if (option->letter) lp__buf_addf(out, "|%s:-%c", command->name, option->letter);
    lp__buf_adds(out, ") ");
    if (option->id == LP_OPT_OUTPUT)
        lp__buf_adds(out, "COMPREPLY=($(compgen -f -- \"$word\"))");
    else {
        lp__buf_adds(out, "COMPREPLY=($(compgen -W '");
        add_words(out, option->choices ? option->choices : "");
        lp__buf_adds(out, "' -- \"$word\"))");
    }
    lp__buf_adds(out, "; return ;;\n");
}

static void bash_command(struct lp_buf *out, const struct lp_command *command)
{
    lp__buf_addf(out, "        %s) options='", command->name);
    for_options(out, command, bash_option);
    lp__buf_adds(out, "' words='");
    if (command == &lp__command_help)
        add_command_names(out);
    else if (command->operand_choices)
        add_words(out, command->operand_choices);
    lp__buf_addf(out, "' folders=%d ;;\n",
                 command->operand_max > 0 && !command->operand_choices && command != &lp__command_help);
}

static void bash(struct lp_buf *out)
{
    lp__buf_adds(
        out, "# bash completion of lineprofiler:  source <(lineprofiler completion bash)\n"
             "_lineprofiler() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
             "    local options='--help --version' words='' folders=0\n"
             "    COMPREPLY=()\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        COMPREPLY=($(compgen -W '");
    add_command_names(out);
    lp__buf_adds(out, " --help --version' -- \"$word\"))\n"
                      "        return\n"
                      "    fi\n"
                      "    case $command:$before in\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if ((*command)->run) for_options(out, *command, bash_value);
    lp__buf_adds(out, "    esac\n"
                      "    case $command in\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if ((*command)->run) bash_command(out, *command);
    lp__buf_adds(out, "    esac\n"
                      "    case $word in\n"
                      "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
                      "        *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                      "           [ \"$folders\" -eq 0 ] || COMPREPLY+=($(compgen -d -- \"$word\")) ;;\n"
                      "    esac\n"
                      "}\n"
                      "complete -o filenames -F _lineprofiler lineprofiler\n");
}

/* -- zsh --------------------------------------------------------------------------------------------------------- */

/* In a specification of _arguments, brackets and colons of the text must be masked. */
static void zsh_text(struct lp_buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text)) lp__buf_addc(out, '\\');
        if (*text == '\'')
            lp__buf_adds(out, "'\\''");
        else
            lp__buf_addc(out, *text);
    }
}

static void zsh_option(struct lp_buf *out, const struct lp_command *command, const struct lp_option *option)
{
    (void)command;
    bool takes = option->kind != LP_OPTION_FLAG;
    for (int form = 0; form < (option->letter ? 2 : 1); form++) {
        lp__buf_adds(out, " \\\n                '");
        if (form)
            lp__buf_addf(out, "-%c", option->letter);
        else
            lp__buf_addf(out, "--%s%s", option->name, takes ? "=" : "");
        lp__buf_addc(out, '[');
        zsh_text(out, option->help);
        lp__buf_addc(out, ']');
        if (takes) lp__buf_addf(out, ":%s:", option->name);
        if (option->id == LP_OPT_OUTPUT) lp__buf_adds(out, "_files");
        if (option->choices) {
            lp__buf_addc(out, '(');
            add_words(out, option->choices);
            lp__buf_addc(out, ')');
        }
        lp__buf_addc(out, '\'');
    }
}

static void zsh_command(struct lp_buf *out, const struct lp_command *command)
{
    lp__buf_addf(out, "            %s) _arguments", command->name);
    for_options(out, command, zsh_option);
    if (command == &lp__command_help || command->operand_choices) {
        lp__buf_adds(out, " \\\n                '1:word:(");
        if (command == &lp__command_help)
            add_command_names(out);
        else
            add_words(out, command->operand_choices);
        lp__buf_adds(out, ")'");
    } else if (command->operand_max)
        lp__buf_adds(out, " \\\n                '1:run directory:_files -/'");
    lp__buf_adds(out, " ;;\n");
}

static void zsh(struct lp_buf *out)
{
    lp__buf_adds(out, "#compdef lineprofiler\n"
                      "# zsh completion of lineprofiler:  lineprofiler completion zsh > \"${fpath[1]}/_lineprofiler\"\n"
                      "_lineprofiler() {\n"
                      "    local -a commands\n"
                      "    commands=(\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++) {
        if (!(*command)->run) continue;
        lp__buf_addf(out, "        '%s:", (*command)->name);
        zsh_text(out, (*command)->summary);
        lp__buf_adds(out, "'\n");
    }
    lp__buf_adds(out, "    )\n"
                      "    if (( CURRENT == 2 )); then\n"
                      "        _describe command commands\n"
                      "        return\n"
                      "    fi\n"
                      "    local command=$words[2]\n"
                      "    shift words\n"
                      "    (( CURRENT-- ))\n"
                      "    case $command in\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++)
        if ((*command)->run) zsh_command(out, *command);
    lp__buf_adds(out, "    esac\n"
                      "}\n"
                      "if [ \"$funcstack[1]\" = _lineprofiler ]; then _lineprofiler \"$@\"; else compdef _lineprofiler "
                      "lineprofiler; fi\n");
}

/* -- fish -------------------------------------------------------------------------------------------------------- */

static void fish_option(struct lp_buf *out, const struct lp_command *command, const struct lp_option *option)
{
    lp__buf_addf(out, "complete -c lineprofiler -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                 option->name);
    if (option->letter) lp__buf_addf(out, " -s %c", option->letter);
    if (option->kind != LP_OPTION_FLAG) lp__buf_adds(out, option->id == LP_OPT_OUTPUT ? " -r -F" : " -x");
    if (option->choices) {
        lp__buf_adds(out, " -a '");
        add_words(out, option->choices);
        lp__buf_addc(out, '\'');
    }
    lp__buf_adds(out, " -d ");
    add_quoted(out, option->help);
    lp__buf_addc(out, '\n');
}

static void fish_operands(struct lp_buf *out, const struct lp_command *command)
{
    if (!command->operand_max) return;
    lp__buf_addf(out, "complete -c lineprofiler -n '__fish_seen_subcommand_from %s' -a '", command->name);
    if (command == &lp__command_help)
        add_command_names(out);
    else if (command->operand_choices)
        add_words(out, command->operand_choices);
    else
        lp__buf_adds(out, "(__fish_complete_directories)");
    lp__buf_adds(out, "'\n");
}

static void fish(struct lp_buf *out)
{
    lp__buf_adds(out, "# fish completion of lineprofiler:  lineprofiler completion fish > "
                      "~/.config/fish/completions/lineprofiler.fish\n"
                      "complete -c lineprofiler -f\n"
                      "complete -c lineprofiler -n __fish_use_subcommand -l help -d 'print the help'\n"
                      "complete -c lineprofiler -n __fish_use_subcommand -l version -d 'print the version'\n");
    for (const struct lp_command *const *command = lp__commands; *command; command++) {
        if (!(*command)->run) continue;
        lp__buf_addf(out, "complete -c lineprofiler -n __fish_use_subcommand -a %s -d ", (*command)->name);
        add_quoted(out, (*command)->summary);
        lp__buf_addc(out, '\n');
        fish_operands(out, *command);
        for_options(out, *command, fish_option);
    }
}

/* -- the command ------------------------------------------------------------------------------------------------- */

static int run_completion(struct lp_cli *cli)
{
    const char *shell = cli->args.operand_count ? cli->args.operand[0] : "";
    struct lp_buf out;
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    int status = LP_EXIT_OK;
    if (strcmp(shell, "bash") == 0)
        bash(&out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(&out);
    else if (strcmp(shell, "fish") == 0)
        fish(&out);
    else {
        lp__say(cli, "completion: name a shell: bash, zsh or fish%s%.60s%s", *shell ? ", not '" : "", shell,
                *shell ? "'" : "");
        status = LP_EXIT_USAGE;
    }
    if (status == LP_EXIT_OK) status = lp__emit(cli, NULL, &out);
    lp__buf_release(&out);
    return status;
}

static const enum lp_option_id options[] = {LP_OPT_NONE};

const struct lp_command lp__command_completion = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .operands = "bash|zsh|fish",
    .operand_choices = "bash|zsh|fish",
    .operand_max = 1,
    .about = "Prints a script that completes commands, options and run directories. For bash: source <(lineprofiler "
             "completion bash). For zsh: lineprofiler completion zsh > \"${fpath[1]}/_lineprofiler\". For fish: "
             "lineprofiler "
             "completion fish > ~/.config/fish/completions/lineprofiler.fish.",
    .options = options,
    .run = run_completion,
};
