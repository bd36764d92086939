/* From a run directory to a run: list, choose the attempt, read each file, join it, finish.
 *
 * A file costs itself at most: whatever is wrong with one is noted in run->bad and the load goes on.  What ends a load
 * is no memory, a wrong selection, or the caller.
 */
// SPDX-License-Identifier: MIT
#include "merge/load.h"

#include <math.h>
#include <string.h>

#include "os/clock.h"
#include "os/dir.h"
#include "store/salvage.h"
#include "store/sweep.h"

/* Enough for header and facts, which stand in front. */
enum { PEEK_BYTES = 16384, MAX_BOOTS = 1024 };
/* Two pairs closer than this give a worse rate than any other process of the same boot. */
static const double weak_span_ns = 1e6;
/* What an image may take in the run's memory for each of its bytes: blocks of counters double in width, twice. */
enum { GROWTH = 6 };

int lp__load_grow(void **memory, size_t *cap, size_t count, size_t size)
{
    if (count < *cap) return LP_OK;
    size_t fresh = *cap ? *cap * 2 : 64;
    void *larger = lp__realloc(*memory, fresh * size);
    if (!larger) return LP_ERR_NO_MEMORY;
    *memory = larger;
    *cap = fresh;
    return LP_OK;
}

#define GROW(array, cap, count) lp__load_grow((void **)&(array), &(cap), (count), sizeof *(array))

static int no_memory(struct lp_load *load)
{
    return lp__fail(load->err, LP_ERR_NO_MEMORY, 0, "no memory to join the files of %s", load->run->directory);
}

int lp__load_bad(struct lp_load *load, const char *path, const struct lp_error *why)
{
    struct lp_run *run = load->run;
    const char *detail = why->detail[0] ? why->detail : lp__err_message(why->code);
    char *copy = lp__arena_copy(&run->arena, detail, strlen(detail));
    if (!copy || GROW(load->bad, load->bad_cap, load->bad_count)) return LP_ERR_NO_MEMORY;
    load->bad[load->bad_count++] = (struct lp_run_bad_file){.path = path, .code = why->code, .detail = copy};
    return LP_OK;
}

/* -- clocks ------------------------------------------------------------------------------------------------------ */

static struct lp_boot_rate *rate_of(struct lp_load *load, const struct lp_file_header *header)
{
    for (size_t i = 0; i < load->rate_count; i++) {
        struct lp_boot_rate *rate = &load->rates[i];
        if (rate->wall_clock == header->wall_clock && lp__same_boot(rate->boot_id, header->boot_id)) return rate;
    }
    return NULL;
}

/* Remembers the rate if it is the best of its boot.  Without memory the others do without it. */
static void note_rate(struct lp_load *load, const struct lp_image *image, const struct lp_clock_line *line)
{
    double span_ns = (double)line->span_ticks * line->ns_per_tick;
    if (image->header_damaged || line->guessed || line->stepped || !(span_ns > 0)) return;
    struct lp_boot_rate *rate = rate_of(load, &image->header);
    if (!rate) {
        if (load->rate_count == MAX_BOOTS || GROW(load->rates, load->rate_cap, load->rate_count)) return;
        rate = &load->rates[load->rate_count++];
        *rate = (struct lp_boot_rate){.wall_clock = image->header.wall_clock};
        memcpy(rate->boot_id, image->header.boot_id, sizeof rate->boot_id);
    }
    if (span_ns <= rate->span_ns) return;
    rate->span_ns = span_ns;
    rate->ns_per_tick = line->ns_per_tick;
}

static bool is_weak(const struct lp_image *image, const struct lp_clock_line *line)
{
    if (!image->header_damaged && image->header.wall_clock == LP_WALL_MONOTONIC) return false;
    return line->guessed || (double)line->span_ticks * line->ns_per_tick < weak_span_ns;
}

/* A better rate for a process whose own pairs are too close: another process's, or this machine's. */
static void strengthen(struct lp_load *load, const struct lp_image *image, struct lp_clock_line *line)
{
    double own_span = line->guessed ? 0 : (double)line->span_ticks * line->ns_per_tick, better = 0;
    const struct lp_boot_rate *rate = image->header_damaged ? NULL : rate_of(load, &image->header);
    if (rate && rate->span_ns > own_span) better = rate->ns_per_tick;
    bool here = !image->header_damaged && lp__same_boot(image->header.boot_id, load->now.boot_id);
    if (here && (!rate || rate->span_ns < weak_span_ns)) {
        lp__clock_init(false);
        if ((uint32_t)lp__clock.wall == image->header.wall_clock && lp__clock.ticks_per_ns > 0)
            better = 1 / lp__clock.ticks_per_ns;
    }
    if (!(better > 0)) return;
    line->ns_per_tick = better;
    line->guessed = false;
}

/* -- roles ------------------------------------------------------------------------------------------------------- */

static int role_index(struct lp_load *load, const char *name, uint32_t *index)
{
    uint64_t found;
    uint32_t id;
    if (lp__intern_add(&load->run->names, name, strlen(name), &id)) return LP_ERR_NO_MEMORY;
    if (lp__map_get(&load->role_of_name, id, &found)) {
        *index = (uint32_t)found;
        return LP_OK;
    }
    if (GROW(load->roles, load->role_cap, load->role_count)) return LP_ERR_NO_MEMORY;
    struct lp_role_builder *role = &load->roles[load->role_count];
    role->name = id;
    if (lp__builder_init(&role->builder, &load->run->arena)) return LP_ERR_NO_MEMORY;
    *index = (uint32_t)load->role_count++;
    return lp__map_put(&load->role_of_name, id, *index);
}

/* -- one item ---------------------------------------------------------------------------------------------------- */

static int join_with_own_tree(struct lp_load *load, struct lp_join *join)
{
    struct lp_builder own;
    struct lp_arena ticks; /* histograms before they are rescaled: most of what the tree takes while it grows */
    if (!load->options->keep_process_trees) return lp__join_image(join);
    struct lp_run_tree *tree = lp__arena_alloc(&load->run->arena, sizeof *tree);
    if (!tree || lp__builder_init(&own, &load->run->arena)) return LP_ERR_NO_MEMORY;
    lp__arena_init(&ticks, LP_RUN_MAX_BYTES);
    own.ticks = &ticks;
    join->own = &own;
    int rc = lp__join_image(join);
    if (!rc) rc = lp__builder_finish(&own, &load->run->names, tree);
    if (!rc) join->process->tree = tree;
    lp__builder_release(&own);
    lp__arena_release(&ticks);
    return rc;
}

/* The item's line tables, and of what is no worker nothing else. */
static int join_lines(struct lp_load *load, const struct lp_load_item *item, const struct lp_clock_line *line,
                      uint64_t end_ticks)
{
    return load->lines ? lp__lines_add(load->lines, &item->image, line, end_ticks) : LP_OK;
}

static int join_item(struct lp_load *load, const struct lp_load_item *item, const struct lp_clock_line *line,
                     struct lp_run_process *process)
{
    struct lp_join join = {
        .scratch = &load->scratch,
        .run = load->run,
        .image = &item->image,
        .line = line,
        .process = process,
        .life = lp__life_of(&item->image, item->file, &load->now),
    };
    join.end_ticks = lp__end_ticks(&item->image, line, join.life, &load->now);
    int rc = join_lines(load, item, line, join.end_ticks);
    if (process->lines_only) lp__join_times(&join);
    if (rc || process->lines_only) return rc;
    rc = role_index(load, process->role, &process->role_index);
    if (rc) return rc;
    join.role = &load->roles[process->role_index].builder;
    return join_with_own_tree(load, &join);
}

static int add_process(struct lp_load *load, const struct lp_run_process *process, bool wanted)
{
    if (GROW(load->processes, load->process_cap, load->process_count)) return LP_ERR_NO_MEMORY;
    if (GROW(load->wanted, load->wanted_cap, load->process_count)) return LP_ERR_NO_MEMORY;
    load->wanted[load->process_count] = wanted;
    load->processes[load->process_count++] = *process;
    if (process->world_size > load->run->world_size) load->run->world_size = process->world_size;
    return LP_OK;
}

/* Finds the attempt the item belongs to, and counts it there when it is met for the first time. */
static int note_attempt(struct lp_load *load, const struct lp_load_item *item, const struct lp_run_process *process)
{
    static const struct lp_rundir_file nameless = {.path = "", .host = ""};
    struct lp_text id = {process->attempt, strlen(process->attempt)};
    size_t attempt;
    if (load->file_attempt[item->number] != UINT32_MAX) return LP_OK;
    int rc = lp__attempt_note(&load->attempts, &id, item->file ? item->file : &nameless, &item->image.header, &attempt);
    if (rc) return rc;
    load->file_attempt[item->number] = (uint32_t)attempt;
    bool all = load->options->attempt && !strcmp(load->options->attempt, "all");
    return !all && load->attempts.count > 1 ? LP_LOAD_RESTART : LP_OK;
}

/* The item's clock; false when it had better wait until the other files are known. */
static bool clock_of(struct lp_load *load, const struct lp_load_item *item, struct lp_clock_line *line)
{
    lp__image_clock_line(&item->image, 0, line);
    note_rate(load, &item->image, line);
    if (!is_weak(&item->image, line)) return true;
    if (item->last_try) strengthen(load, &item->image, line);
    return item->last_try;
}

static int put_off(struct lp_load *load, const struct lp_load_item *item)
{
    if (GROW(load->later, load->later_cap, load->later_count)) return LP_ERR_NO_MEMORY;
    load->later[load->later_count++] = item->number;
    return LP_OK;
}

static void settle_attempt(struct lp_load *load, const struct lp_load_item *item, struct lp_run_process *process)
{
    struct lp_run_attempt *attempt = &load->attempts.at[load->file_attempt[item->number]];
    if (!process->attempt[0]) process->attempt = attempt->id;
    attempt->last_real_ns = fmax(attempt->last_real_ns, process->last_real_ns);
}

int lp__load_item(struct lp_load *load, struct lp_load_item *item)
{
    struct lp_run_process process;
    struct lp_clock_line line;
    int rc = lp__process_describe(&process, load->run, &item->image, item->file);
    if (!rc) rc = note_attempt(load, item, &process);
    if (rc) return rc;
    if (!clock_of(load, item, &line)) return put_off(load, item);
    process.lines_only = lp__lines_only(&item->image);
    bool wanted = lp__selection_has(&load->selection, &process);
    if (wanted) rc = join_item(load, item, &line, &process);
    settle_attempt(load, item, &process);
    if (!rc) rc = add_process(load, &process, wanted);
    if (rc && process.tree) lp__run_tree_release(process.tree);
    return rc;
}

/* -- files ------------------------------------------------------------------------------------------------------- */

/* Reads and indexes a file.  1: it is bad and has been noted. */
static int open_item(struct lp_load *load, struct lp_load_item *item, size_t limit)
{
    struct lp_error why = {.code = LP_OK};
    const struct lp_rundir_file *file = item->file;
    if (load->image_arena.bytes > 1 << 20) lp__arena_release(&load->image_arena);
    int64_t got = lp__load_read(load, file, limit, &why);
    size_t needed = got > 0 ? (size_t)got * GROWTH : 0;
    if (got >= 0 && needed > load->run->arena.ceiling - load->run->arena.bytes)
        got = lp__fail(&why, LP_ERR_LIMIT, 0, "the run takes too much memory already");
    int rc = got < 0 ? (int)got : lp__image_index(&item->image, load->bytes, (uint64_t)got, &load->image_arena, &why);
    if (!rc) return LP_OK;
    why.code = (enum lp_err)rc;
    if (rc == LP_ERR_NO_MEMORY) return rc;
    rc = lp__load_bad(load, file->path, &why);
    return rc ? rc : 1;
}

static int load_file(struct lp_load *load, uint32_t number, bool last_try)
{
    struct lp_load_item item = {.file = &load->list.files[number], .number = number, .last_try = last_try};
    int rc = open_item(load, &item, 0);
    if (rc) return rc == 1 ? LP_OK : rc;
    return lp__load_item(load, &item);
}

static int report_progress(struct lp_load *load, size_t done, size_t all)
{
    const struct lp_run_options *options = load->options;
    if (!options->progress || !options->progress(options->progress_arg, done, all)) return LP_OK;
    return lp__fail(load->err, LP_ERR_INTERRUPTED, 0, "after %zu of %zu files", done, all);
}

static int note_refused(struct lp_load *load, const struct lp_rundir_file *file)
{
    struct lp_error why = {.code = file->refused};
    const char *text = file->refused == LP_ERR_LIMIT ? "larger than a worker file can be"
                                                     : "not a regular file, or of a user who is neither you nor the "
                                                       "directory's owner (--any-owner reads it)";
    memcpy(why.detail, text, strlen(text) + 1);
    return lp__load_bad(load, file->path, &why);
}

static bool is_of_chosen_attempt(const struct lp_load *load, size_t number)
{
    uint32_t attempt = load->file_attempt[number];
    return !load->peeked || (attempt != UINT32_MAX && load->attempts.at[attempt].chosen);
}

static int load_files(struct lp_load *load)
{
    const struct lp_rundir_list *list = &load->list;
    int rc = LP_OK;
    for (size_t i = 0; i < list->count && !rc; i++) {
        if (list->files[i].refused)
            rc = note_refused(load, &list->files[i]);
        else if (is_of_chosen_attempt(load, i))
            rc = load_file(load, (uint32_t)i, false);
        if (!rc) rc = report_progress(load, i + 1, list->count);
    }
    for (size_t i = 0; i < load->later_count && !rc; i++)
        rc = load_file(load, load->later[i], true);
    return rc;
}

/* -- attempts ---------------------------------------------------------------------------------------------------- */

static int peek_file(struct lp_load *load, uint32_t number)
{
    struct lp_load_item item = {.file = &load->list.files[number], .number = number};
    struct lp_text id = {"", 0}, fact;
    size_t attempt;
    int rc = open_item(load, &item, PEEK_BYTES);
    bool stated = !rc && lp__image_fact(&item.image, "attempt", &fact);
    if (!rc && !stated && item.file->bytes > PEEK_BYTES) {
        rc = open_item(load, &item, 0);
        stated = !rc && lp__image_fact(&item.image, "attempt", &fact);
    }
    if (rc) return rc == 1 ? LP_OK : rc;
    if (stated) id = (struct lp_text){fact.bytes, strnlen(fact.bytes, fact.len)};
    rc = lp__attempt_note(&load->attempts, &id, item.file, &item.image.header, &attempt);
    if (!rc) load->file_attempt[number] = (uint32_t)attempt;
    return rc;
}

/* Finds each file's attempt before any is joined, so that only those of the chosen one are. */
static int peek_files(struct lp_load *load)
{
    int rc = LP_OK;
    load->peeked = true;
    for (size_t i = 0; i < load->list.count && !rc; i++)
        if (!load->list.files[i].refused) rc = peek_file(load, (uint32_t)i);
    return rc ? rc : lp__attempts_choose(&load->attempts, load->options->attempt, load->err);
}

/* -- the whole --------------------------------------------------------------------------------------------------- */

static void load_release(struct lp_load *load)
{
    lp__close_fd(load->dir_fd);
    lp__attempts_release(&load->attempts);
    lp__join_scratch_release(&load->scratch);
    lp__arena_release(&load->image_arena);
    for (size_t i = 0; i < load->role_count; i++)
        lp__builder_release(&load->roles[i].builder);
    lp__free(load->roles);
    lp__map_release(&load->role_of_name);
    for (size_t i = 0; i < load->process_count; i++)
        if (load->processes[i].tree) lp__run_tree_release(load->processes[i].tree);
    lp__free(load->processes);
    lp__free(load->bad);
    lp__free(load->file_attempt);
    lp__free(load->bytes);
    lp__free(load->wanted);
    lp__free(load->later);
    lp__free(load->rates);
    lp__lines_builder_free(load->lines);
}

static int load_init(struct lp_load *load, const char *directory)
{
    struct lp_run *run = lp__calloc(1, sizeof *run);
    load->run = run;
    load->dir_fd = -1;
    if (!run) return lp__fail(load->err, LP_ERR_NO_MEMORY, 0, "no memory for a run");
    lp__arena_init(&run->arena, LP_RUN_MAX_BYTES);
    lp__intern_init(&run->names, &run->arena);
    run->world_size = -1;
    run->directory = "";
    lp__arena_init(&load->image_arena, (size_t)256 << 20);
    load->attempts.arena = &run->arena;
    lp__map_init(&load->role_of_name);
    char *name = lp__arena_copy(&run->arena, directory, strlen(directory));
    if (!name || lp__join_scratch_init(&load->scratch, run)) return no_memory(load);
    run->directory = name;
    if (load->options->lines) load->lines = lp__lines_builder_new(run);
    if (load->options->lines && !load->lines) return no_memory(load);
    lp__moment_now(&load->now);
    return lp__selection_parse(&load->selection, load->options, load->err);
}

static int prepare_files(struct lp_load *load, size_t count)
{
    load->file_attempt = lp__alloc((count ? count : 1) * sizeof *load->file_attempt);
    if (!load->file_attempt) return LP_ERR_NO_MEMORY;
    memset(load->file_attempt, 0xFF, (count ? count : 1) * sizeof *load->file_attempt);
    return LP_OK;
}

/* Ends a load: hands the run over, or frees it. */
static int load_end(struct lp_load *load, int rc, struct lp_run **out)
{
    if (!rc) rc = lp__load_finish(load);
    if (!rc && load->lines) rc = lp__lines_finish(load->lines);
    if (rc == LP_ERR_NO_MEMORY) rc = no_memory(load);
    load_release(load);
    if (rc)
        lp__run_free(load->run);
    else
        *out = load->run;
    return rc;
}

static int load_directory(const char *run_dir, const struct lp_run_options *options, bool peek, struct lp_run **out,
                          struct lp_error *err)
{
    struct lp_load load = {.options = options, .err = err};
    int rc = load_init(&load, run_dir);
    if (!load.run) return rc;
    if (!rc && !options->read_only) (void)lp__salvage(run_dir, true);
    if (!rc) rc = lp__rundir_list(run_dir, options->any_owner, &load.run->arena, &load.list, &load.dir_fd, err);
    if (!rc && !options->read_only && load.list.owner == lp__effective_user())
        (void)lp__sweep_copies(load.dir_fd, &load.list, false);
    if (!rc) rc = prepare_files(&load, load.list.count);
    bool all = options->attempt && !strcmp(options->attempt, "all");
    bool named = options->attempt && strcmp(options->attempt, "latest") != 0;
    if (!rc && !all && (peek || named || !lp__attempts_look_single(&load.list))) rc = peek_files(&load);
    if (!rc) rc = load_files(&load);
    return load_end(&load, rc, out);
}

static const struct lp_run_options default_options;

int lp__run_load(const char *run_dir, const struct lp_run_options *options, struct lp_run **out, struct lp_error *err)
{
    *out = NULL;
    if (!options) options = &default_options;
    int rc = load_directory(run_dir, options, false, out, err);
    return rc == LP_LOAD_RESTART ? load_directory(run_dir, options, true, out, err) : rc;
}

int lp__run_load_image(const void *bytes, uint64_t len, struct lp_run **out, struct lp_error *err)
{
    return lp__run_load_image_with(bytes, len, NULL, out, err);
}

int lp__run_load_image_with(const void *bytes, uint64_t len, const struct lp_run_options *options, struct lp_run **out,
                            struct lp_error *err)
{
    struct lp_load load = {.options = options ? options : &default_options, .err = err};
    struct lp_load_item item = {.last_try = false};
    *out = NULL;
    int rc = load_init(&load, "");
    if (!load.run) return rc;
    if (!rc) rc = prepare_files(&load, 1);
    if (!rc) rc = lp__image_index(&item.image, bytes, len, &load.image_arena, err);
    if (!rc) rc = lp__load_item(&load, &item);
    if (!rc && load.later_count) {
        item.last_try = true;
        rc = lp__load_item(&load, &item);
    }
    return load_end(&load, rc, out);
}
