/* Joins the listing of a directory with the run read from it, by path. */
// SPDX-License-Identifier: MIT
#include "cli/inventory.h"

#include <string.h>

#include "cli/load.h"
#include "cli/output.h"
#include "os/dir.h"

#define ARENA_CEILING ((size_t)1 << 30)

static int read_all(const struct lp_cli *cli, const struct lp_run_options *selection, struct lp_inventory *out)
{
    struct lp_run_options options = *selection;
    struct lp_error err = {0};
    options.attempt = "all";
    options.read_only = true;
    int status = lp__cli_load(cli, out->dir, &options, &out->run);
    if (status != LP_EXIT_OK) return status;
    if (lp__rundir_list(out->dir, options.any_owner, &out->arena, &out->list, &out->dir_fd, &err) != LP_OK)
        return lp__say_unreadable(cli, out->dir, &err);
    for (size_t i = 0; i < out->list.count; i++)
        out->bytes += out->list.files[i].bytes;
    for (size_t i = 0; i < out->run->process_count; i++) {
        const char *path = out->run->processes[i].path;
        uint32_t id;
        if (lp__intern_add(&out->paths, path, strlen(path), &id) == LP_OK && id == i) continue;
        lp__fail(&err, LP_ERR_NO_MEMORY, 0, "%s", "");
        return lp__say_error(cli, &err);
    }
    return LP_EXIT_OK;
}

int lp__inventory_open(const struct lp_cli *cli, const struct lp_run_options *selection, struct lp_inventory *out)
{
    memset(out, 0, sizeof *out);
    out->dir = lp__run_dir(cli);
    out->dir_fd = -1;
    lp__arena_init(&out->arena, ARENA_CEILING);
    lp__intern_init(&out->paths, &out->arena);
    int status = read_all(cli, selection, out);
    if (status != LP_EXIT_OK) lp__inventory_close(out);
    return status;
}

void lp__inventory_close(struct lp_inventory *inventory)
{
    lp__close_fd(inventory->dir_fd);
    lp__run_free(inventory->run);
    lp__intern_release(&inventory->paths);
    lp__arena_release(&inventory->arena);
    memset(inventory, 0, sizeof *inventory);
    inventory->dir_fd = -1;
}

const struct lp_run_process *lp__inventory_process(const struct lp_inventory *inventory,
                                                   const struct lp_rundir_file *file)
{
    uint32_t id;
    if (!lp__intern_find(&inventory->paths, file->path, strlen(file->path), &id)) return NULL;
    return &inventory->run->processes[id];
}

void lp__inventory_verdicts(const struct lp_inventory *inventory, const char *attempt,
                            uint32_t counts[LP_REPORT_VERDICTS])
{
    memset(counts, 0, LP_REPORT_VERDICTS * sizeof *counts);
    for (size_t i = 0; i < inventory->run->process_count; i++) {
        const struct lp_run_process *process = &inventory->run->processes[i];
        if (strcmp(process->attempt, attempt) == 0 && (unsigned)process->verdict < LP_REPORT_VERDICTS)
            counts[process->verdict]++;
    }
}
