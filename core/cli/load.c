/* Opens runs for the commands and words the refusals: what is there, and what to do about it. */
// SPDX-License-Identifier: MIT
#include "cli/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output.h"
#include "cli/term.h"
#include "os/dir.h"
#include "os/interrupt.h"

const char *lp__run_dir(const struct lp_cli *cli)
{
    if (cli->args.operand_count) return cli->args.operand[0];
    const char *dir = secure_getenv("LINEPROFILER_RUN_DIR");
    return dir && *dir ? dir : "profile";
}

void lp__run_options(const struct lp_cli *cli, struct lp_run_options *options)
{
    const struct lp_args *args = &cli->args;
    memset(options, 0, sizeof *options);
    options->attempt = args->value[LP_OPT_ATTEMPT];
    options->ranks = args->value[LP_OPT_RANKS];
    options->roles = args->value[LP_OPT_ROLES];
    options->hosts = args->value[LP_OPT_HOSTS];
    options->any_owner = lp__args_has(args, LP_OPT_ANY_OWNER);
    options->read_only = lp__args_has(args, LP_OPT_READ_ONLY);
}

int lp__cli_load(const struct lp_cli *cli, const char *dir, struct lp_run_options *options, struct lp_run **run)
{
    struct lp_progress progress;
    struct lp_error err = {0};
    lp__progress_begin(&progress, cli->quiet);
    options->progress = lp__progress;
    options->progress_arg = &progress;
    int rc = lp__run_load(dir, options, run, &err);
    lp__progress_end(&progress);
    if (rc != LP_OK) return lp__say_unreadable(cli, dir, &err);
    lp__log("read '%s': %zu processes, %zu files left out", dir, (*run)->process_count, (*run)->bad_count);
    if (!lp__interrupted()) return LP_EXIT_OK;
    lp__run_free(*run);
    *run = NULL;
    return LP_EXIT_INTERRUPTED;
}

int lp__say_unreadable(const struct lp_cli *cli, const char *dir, const struct lp_error *err)
{
    struct lp_file_facts facts;
    switch (err->code) {
    case LP_ERR_NOT_FOUND:
        if (lp__file_facts_at(LP_DIR_CWD, dir, &facts) && facts.kind != LP_FILE_DIRECTORY)
            lp__say(cli, "'%.300s' is a file, not a run directory (give the directory that a program recorded into)",
                    dir);
        else
            lp__say(
                cli,
                "no directory '%.300s' (give the run directory or set LINEPROFILER_RUN_DIR; a program makes it when "
                "it runs with LINEPROFILER_PROFILE=1)",
                dir);
        return LP_EXIT_USAGE;
    case LP_ERR_NO_RUN:
        lp__say(
            cli,
            "'%.300s' holds no run: nothing has been recorded there (run the program with LINEPROFILER_PROFILE=1 and "
            "LINEPROFILER_RUN_DIR set to it)",
            dir);
        return LP_EXIT_USAGE;
    case LP_ERR_FOREIGN_RUN:
        lp__say(
            cli,
            "'%.300s' holds a run of with-line-profiler, whose files this program does not read (use that tool's own "
            "report, or record again with lineprofiler)",
            dir);
        return LP_EXIT_USAGE;
    default:
        return lp__say_error(cli, err);
    }
}

char *lp__when(char out[32], double real_ns)
{
    struct tm parts;
    time_t seconds = real_ns > 0 && real_ns < 1e19 ? (time_t)(real_ns / 1e9) : 0;
    if (seconds == 0 || !localtime_r(&seconds, &parts) || strftime(out, 32, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf(out, 32, "?");
    return out;
}
