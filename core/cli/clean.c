/* `clean`: removes the worker files of older attempts, and half-written copies.
 *
 * What goes must be a file of ours that could be read, belong to an attempt that is to go, and still be the file that
 * was read.  An attempt with a worker that runs, or may run, stays whole. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/inventory.h"
#include "cli/load.h"
#include "cli/output.h"
#include "os/interrupt.h"
#include "os/remove.h"
#include "render/escape.h"
#include "store/sweep.h"

struct cleaning {
    struct lp_cli *cli;
    struct lp_inventory inventory;
    struct lp_buf out;
    bool dry;
    bool *goes;      /* per attempt */
    size_t attempts; /* that go */
    size_t removed;
    size_t refused;
    size_t copies; /* half written, of processes that are gone */
    uint64_t bytes;
};

static void name_attempt(struct cleaning *cleaning, const char *id, const char *why)
{
    lp__buf_adds(&cleaning->out, "attempt ");
    lp__escape_label(&cleaning->out, id, strlen(id), 100, cleaning->cli->utf8);
    lp__buf_addf(&cleaning->out, " stays: %s\n", why);
}

static bool may_go(struct cleaning *cleaning, const char *id)
{
    uint32_t counts[LP_REPORT_VERDICTS];
    lp__inventory_verdicts(&cleaning->inventory, id, counts);
    if (counts[LP_VERDICT_RUNNING]) {
        name_attempt(cleaning, id, "a worker of it is running");
        return false;
    }
    if (counts[LP_VERDICT_STALE] && !lp__args_has(&cleaning->cli->args, LP_OPT_STALE)) {
        name_attempt(cleaning, id, "a worker of it may be running elsewhere (--stale removes it all the same)");
        return false;
    }
    return true;
}

/* Attempts are listed oldest first. */
static bool choose(struct cleaning *cleaning, uint32_t keep)
{
    const struct lp_run *run = cleaning->inventory.run;
    cleaning->goes = lp__calloc(run->attempt_count + 1, sizeof *cleaning->goes);
    if (!cleaning->goes) return false;
    for (size_t i = 0; i < run->attempt_count && run->attempt_count - i > keep; i++) {
        cleaning->goes[i] = may_go(cleaning, run->attempts[i].id);
        cleaning->attempts += cleaning->goes[i];
    }
    return true;
}

static bool file_goes(const struct cleaning *cleaning, const struct lp_rundir_file *file)
{
    const struct lp_run *run = cleaning->inventory.run;
    const struct lp_run_process *process = lp__inventory_process(&cleaning->inventory, file);
    for (size_t i = 0; process && i < run->attempt_count; i++)
        if (strcmp(run->attempts[i].id, process->attempt) == 0) return cleaning->goes[i];
    return false;
}

static void remove_file(struct cleaning *cleaning, const struct lp_rundir_file *file)
{
    struct lp_error err = {0};
    int dir = cleaning->inventory.dir_fd;
    if (!cleaning->dry && lp__remove_file_at(dir, file->path, file->device, file->inode, &err) != LP_OK) {
        cleaning->refused++;
        lp__say(cleaning->cli, "clean: %s", err.detail);
        return;
    }
    cleaning->removed++;
    cleaning->bytes += file->bytes;
    if (!cleaning->dry) lp__remove_empty_parents_at(dir, file->path);
}

static void conclude(struct cleaning *cleaning)
{
    const struct lp_run *run = cleaning->inventory.run;
    char files[LP_FMT_CAP], bytes[LP_FMT_CAP];
    lp__buf_addf(&cleaning->out, "%s %s file%s of %zu attempt%s, %s; %zu attempt%s stay%s\n",
                 cleaning->dry ? "would remove" : "removed", lp__fmt_count(files, sizeof files, cleaning->removed),
                 cleaning->removed == 1 ? "" : "s", cleaning->attempts, cleaning->attempts == 1 ? "" : "s",
                 lp__fmt_bytes(bytes, sizeof bytes, (double)cleaning->bytes), run->attempt_count - cleaning->attempts,
                 run->attempt_count - cleaning->attempts == 1 ? "" : "s",
                 run->attempt_count - cleaning->attempts == 1 ? "s" : "");
    if (cleaning->copies)
        lp__buf_addf(&cleaning->out, "%s %zu half-written cop%s of workers that are gone\n",
                     cleaning->dry ? "would remove" : "removed", cleaning->copies, cleaning->copies == 1 ? "y" : "ies");
    if (run->bad_count)
        lp__buf_addf(&cleaning->out, "%zu file%s could not be read and stay%s (info names them)\n", run->bad_count,
                     run->bad_count == 1 ? "" : "s", run->bad_count == 1 ? "s" : "");
}

static int clean(struct cleaning *cleaning, uint32_t keep)
{
    const struct lp_rundir_list *list = &cleaning->inventory.list;
    struct lp_error err = {0};
    if (!choose(cleaning, keep)) {
        lp__fail(&err, LP_ERR_NO_MEMORY, 0, "%s", "");
        return lp__say_error(cleaning->cli, &err);
    }
    for (size_t i = 0; i < list->count && !lp__interrupted(); i++)
        if (file_goes(cleaning, &list->files[i])) remove_file(cleaning, &list->files[i]);
    cleaning->copies = lp__sweep_copies(cleaning->inventory.dir_fd, list, cleaning->dry);
    conclude(cleaning);
    int status = lp__emit(cleaning->cli, NULL, &cleaning->out);
    return status == LP_EXIT_OK && cleaning->refused ? LP_EXIT_USAGE : status;
}

static int run_clean(struct lp_cli *cli)
{
    struct cleaning cleaning = {.cli = cli, .dry = lp__args_has(&cli->args, LP_OPT_DRY_RUN)};
    struct lp_run_options everything;
    if (!lp__args_has(&cli->args, LP_OPT_KEEP)) {
        lp__say(cli, "clean: say how many attempts stay: --keep N (--dry-run shows what would go)");
        return LP_EXIT_USAGE;
    }
    lp__run_options(cli, &everything);
    int status = lp__inventory_open(cli, &everything, &cleaning.inventory);
    if (status != LP_EXIT_OK) return status;
    lp__buf_init(&cleaning.out, LP_OUTPUT_CEILING);
    status = clean(&cleaning, lp__args_count(&cli->args, LP_OPT_KEEP, 1));
    lp__buf_release(&cleaning.out);
    lp__free(cleaning.goes);
    lp__inventory_close(&cleaning.inventory);
    return status;
}

static const enum lp_option_id options[] = {LP_OPT_KEEP, LP_OPT_STALE, LP_OPT_DRY_RUN, LP_OPT_NONE};

const struct lp_command lp__command_clean = {
    .name = "clean",
    .summary = "remove the worker files of older attempts",
    .operands = "[RUN_DIR] --keep N",
    .operand_max = 1,
    .about =
        "Removes the worker files of all attempts but the newest N, and copies that killed workers left half written. "
        "Nothing else in the directory is touched, no link is followed, and an attempt of which a worker is running "
        "stays whole.",
    .options = options,
    .run = run_clean,
};
