/* The end of a load: what was collected becomes the run, in an order that does not depend on how files are called. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/load.h"

enum { MAX_MISSING = 1000 };

/* -- processes --------------------------------------------------------------------------------------------------- */

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static double start_of(const struct lp_run_process *process)
{
    return process->started_real_ns > 0 && process->started_real_ns < 0x1p62 ? process->started_real_ns : 0;
}

static int compare_processes(const void *a, const void *b)
{
    const struct lp_run_process *left = a, *right = b;
    int order = by_number(left->role_index, right->role_index);
    if (!order) order = by_number(left->rank, right->rank);
    if (!order) order = by_number((int64_t)start_of(left), (int64_t)start_of(right));
    return order ? order : strcmp(left->path, right->path);
}

/* The wanted ones move into the run's memory. */
static int keep_wanted(struct lp_load *load)
{
    struct lp_run *run = load->run;
    run->processes =
        lp__arena_alloc(&run->arena, (load->process_count ? load->process_count : 1) * sizeof *run->processes);
    if (!run->processes) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < load->process_count; i++)
        if (load->wanted[i] && !load->processes[i].lines_only)
            run->processes[run->process_count++] = load->processes[i];
    run->line_processes = run->processes + run->process_count;
    for (size_t i = 0; i < load->process_count; i++)
        if (load->wanted[i] && load->processes[i].lines_only)
            run->line_processes[run->line_process_count++] = load->processes[i];
    load->process_count = 0; /* the trees have a new owner */
    return LP_OK;
}

static int keep_bad(struct lp_load *load)
{
    struct lp_run *run = load->run;
    if (!load->bad_count) return LP_OK;
    run->bad = lp__arena_alloc(&run->arena, load->bad_count * sizeof *run->bad);
    if (!run->bad) return LP_ERR_NO_MEMORY;
    memcpy(run->bad, load->bad, load->bad_count * sizeof *run->bad);
    run->bad_count = load->bad_count;
    return LP_OK;
}

/* -- roles ------------------------------------------------------------------------------------------------------- */

static void sum_role(struct lp_run_role *role, const struct lp_run_process *process)
{
    role->processes++;
    role->top_wall_ns += process->top_wall_ns;
    role->elapsed_ns += process->elapsed_ns;
    role->outside_ns += process->outside_ns;
    if (process->top_wall_ns > role->max_top_wall_ns) role->max_top_wall_ns = process->top_wall_ns;
}

static int compare_roles(const void *a, const void *b)
{
    const struct lp_run_role *left = a, *right = b;
    int order = (left->top_wall_ns < right->top_wall_ns) - (left->top_wall_ns > right->top_wall_ns);
    return order ? order : strcmp(left->name, right->name);
}

/* Sorting moves the roles, so each one's number goes along in `processes` until it is counted anew. */
static int order_roles(struct lp_run *run)
{
    uint32_t *place = lp__calloc(run->role_count ? run->role_count : 1, sizeof *place);
    if (!place) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < run->role_count; i++)
        run->roles[i].processes = (uint32_t)i;
    if (run->role_count) qsort(run->roles, run->role_count, sizeof *run->roles, compare_roles);
    for (size_t i = 0; i < run->role_count; i++) {
        place[run->roles[i].processes] = (uint32_t)i;
        run->roles[i].processes = 0;
    }
    for (size_t i = 0; i < run->process_count; i++) {
        struct lp_run_process *process = &run->processes[i];
        process->role_index = place[process->role_index];
        run->roles[process->role_index].processes++;
    }
    lp__free(place);
    return LP_OK;
}

static int make_roles(struct lp_load *load)
{
    struct lp_run *run = load->run;
    run->roles = lp__arena_alloc(&run->arena, (load->role_count ? load->role_count : 1) * sizeof *run->roles);
    if (!run->roles) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < load->role_count; i++) {
        struct lp_run_role *role = &run->roles[run->role_count++];
        role->name = run->names.texts[load->roles[i].name].bytes;
        int rc = lp__builder_finish(&load->roles[i].builder, &run->names, &role->tree);
        if (rc) return rc;
    }
    for (size_t i = 0; i < run->process_count; i++)
        sum_role(&run->roles[run->processes[i].role_index], &run->processes[i]);
    return order_roles(run);
}

/* -- ranks ------------------------------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    return by_number(*(const int64_t *)a, *(const int64_t *)b);
}

/* The ranks that are there, sorted, each once. */
static int64_t *present_ranks(const struct lp_load *load, size_t *count)
{
    int64_t *ranks = lp__calloc(load->process_count ? load->process_count : 1, sizeof *ranks);
    size_t kept = 0;
    *count = 0;
    if (!ranks) return NULL;
    for (size_t i = 0; i < load->process_count; i++)
        if (load->processes[i].rank >= 0) ranks[(*count)++] = load->processes[i].rank;
    if (*count) qsort(ranks, *count, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < *count; i++)
        if (!i || ranks[i] != ranks[i - 1]) ranks[kept++] = ranks[i];
    *count = kept;
    return ranks;
}

/* Names what is missing of one range.  Each step names a rank or passes one that is there, so a world of any size is
 * done in no more steps than there are of both. */
static void name_missing(struct lp_run *run, struct lp_rank_range range, const int64_t *present, size_t count)
{
    size_t at = 0;
    if (range.first > range.last) return;
    run->missing_total += range.last - range.first + 1;
    for (int64_t rank = range.first; at < count || run->missing_count < MAX_MISSING; rank++) {
        while (at < count && present[at] < rank)
            at++;
        if (rank > range.last) return;
        if (at < count && present[at] == rank)
            run->missing_total--;
        else if (run->missing_count < MAX_MISSING)
            run->missing_ranks[run->missing_count++] = rank;
        else if (at < count) /* enough are named: on to the next one that is there */
            rank = present[at] - 1;
    }
}

static int find_missing(struct lp_load *load)
{
    struct lp_run *run = load->run;
    const struct lp_selection *selection = &load->selection;
    size_t count;
    if (run->world_size <= 0) return LP_OK;
    run->missing_ranks = lp__arena_alloc(&run->arena, MAX_MISSING * sizeof *run->missing_ranks);
    int64_t *present = run->missing_ranks ? present_ranks(load, &count) : NULL;
    if (!present) return LP_ERR_NO_MEMORY;
    int64_t last = run->world_size - 1;
    if (!selection->rank_count) name_missing(run, (struct lp_rank_range){0, last}, present, count);
    for (size_t i = 0; i < selection->rank_count; i++) {
        struct lp_rank_range range = selection->ranks[i];
        if (range.last > last) range.last = last;
        name_missing(run, range, present, count);
    }
    lp__free(present);
    return LP_OK;
}

/* -- all --------------------------------------------------------------------------------------------------------- */

static void note_own_folders(struct lp_run *run, const struct lp_rundir_list *list)
{
    for (size_t i = 0; i < list->count && !run->own_folders; i++)
        run->own_folders = !strncmp(list->files[i].path, "user-", 5);
    run->listing_truncated = list->truncated;
}

static int choose_attempts(struct lp_load *load)
{
    int rc = LP_OK;
    if (!load->peeked) rc = lp__attempts_choose(&load->attempts, load->options->attempt, load->err);
    return rc ? rc : lp__attempts_finish(&load->attempts, load->run);
}

static int check_selection(struct lp_load *load)
{
    size_t wanted = 0;
    int rc = lp__selection_check(&load->selection, load->processes, load->process_count, load->err);
    for (size_t i = 0; i < load->process_count; i++)
        wanted += load->wanted[i];
    if (rc || wanted || !load->process_count) return rc;
    return lp__fail(load->err, LP_ERR_USAGE, 0, "no process is of the wanted ranks, roles and hosts together");
}

int lp__load_finish(struct lp_load *load)
{
    struct lp_run *run = load->run;
    note_own_folders(run, &load->list);
    int rc = choose_attempts(load);
    if (!rc) rc = check_selection(load);
    if (!rc) rc = find_missing(load);
    if (!rc) rc = keep_bad(load);
    if (!rc) rc = keep_wanted(load);
    if (!rc) rc = make_roles(load);
    if (!rc && run->process_count) qsort(run->processes, run->process_count, sizeof *run->processes, compare_processes);
    return rc;
}
