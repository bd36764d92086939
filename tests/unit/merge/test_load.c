/* Directories of worker files: joining, attempts, selections, missing ranks, bad files beside good ones. */
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge/run.h"
#include "support/image_builder.h"
#include "support/run_lookup.h"
#include "support/temp_dir.h"

struct fixture {
    struct temp_dir dir;
    struct lp_error err;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    return f ? temp_dir_make(&f->dir) : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = temp_dir_remove(&f->dir);
    free(f);
    return rc;
}

/* Puts an image into the run under its name; frees it. */
static void put(struct fixture *f, struct image *image, const char *host, const char *name)
{
    char path[200];
    image_seal(image);
    (void)snprintf(path, sizeof path, "workers/%s/%s.lpw", host, name);
    assert_int_equal(temp_dir_put(&f->dir, path, image->bytes, image->len), 0);
    image_release(image);
}

static void put_usual(struct fixture *f, const char *attempt, const char *role, int rank, const char *name)
{
    struct image image;
    image_init(&image);
    image_usual(&image, attempt, role, rank);
    put(f, &image, "node1", name);
}

static struct lp_run *load_with(struct fixture *f, const struct lp_run_options *options)
{
    struct lp_run *run = NULL;
    int rc = lp__run_load(f->dir.path, options, &run, &f->err);
    if (rc) print_message("%s\n", f->err.detail);
    assert_int_equal(rc, LP_OK);
    return run;
}

static struct lp_run *load(struct fixture *f)
{
    return load_with(f, NULL);
}

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-6 * fabs(wanted) + 1e-3;
}

static const struct lp_run_phase *step_of(const struct lp_run *run, const char *role)
{
    const struct lp_run_role *found = run_role(run, role);
    assert_non_null(found);
    const struct lp_run_phase *step = run_phase(run, &found->tree, "main/step");
    assert_non_null(step);
    return step;
}

/* -- joining ----------------------------------------------------------------------------------------------------- */

static void processes_of_a_role_are_joined(void **state)
{
    struct fixture *f = *state;
    put_usual(f, "a1", "actor", 1, "a1.1.00000001");
    put_usual(f, "a1", "actor", 0, "a1.2.00000002");
    put_usual(f, "a1", "learner", 2, "a1.3.00000003");
    struct lp_run *run = load(f);
    assert_int_equal(run->process_count, 3);
    assert_int_equal(run->role_count, 2);
    assert_string_equal(run->roles[0].name, "actor"); /* the most time first */
    assert_int_equal(run->roles[0].processes, 2);
    assert_int_equal(step_of(run, "actor")->calls, 20);
    assert_int_equal(step_of(run, "actor")->processes, 2);
    assert_true(is_near(step_of(run, "actor")->wall_ns, 2e9));
    assert_int_equal(step_of(run, "actor")->hist->count, 20);
    assert_int_equal(step_of(run, "learner")->calls, 10);
    assert_int_equal(run_counter(run, step_of(run, "actor"), "games")->total_low, 60);
    assert_int_equal(run->processes[0].rank, 0);
    assert_int_equal(run->processes[1].rank, 1);
    assert_string_equal(run->processes[2].role, "learner");
    assert_int_equal(run->processes[2].role_index, 1);
    assert_true(is_near(run->roles[0].max_top_wall_ns, 5e9));
    assert_null(run->processes[0].tree);
    assert_int_equal(run->bad_count, 0);
    lp__run_free(run);
}

static void a_process_has_its_own_tree_where_asked_for(void **state)
{
    struct fixture *f = *state;
    struct image image;
    put_usual(f, "a1", "actor", 0, "a1.1.00000001");
    image_init(&image);
    image_fact(&image, "attempt", "a1");
    image_fact(&image, "role", "actor");
    image_fact(&image, "rank", "1");
    lp_ref root = image_root(&image, 0);
    lp_ref body = image_node(&image, root, "main", 1, 1000);
    (void)image_node(&image, body, "other", 3, 100);
    (void)image_counter(&image, body, "games", 2, 8);
    put(f, &image, "node1", "a1.2.00000002");
    struct lp_run *run = load_with(f, &(struct lp_run_options){.keep_process_trees = true});
    const struct lp_run_tree *first = run->processes[0].tree, *second = run->processes[1].tree;
    assert_int_equal(first->count, 5);
    assert_int_equal(second->count, 3);
    assert_int_equal(run_phase(run, first, "main/step")->calls, 10);
    assert_int_equal(run_phase(run, second, "main/other")->calls, 3);
    assert_int_equal(run_phase(run, second, "main/other")->hist->count, 3);
    assert_int_equal(run_counter(run, run_phase(run, second, "main"), "games")->total_low, 16);
    assert_null(run_phase(run, second, "main/step"));
    assert_int_equal(run_phase(run, &run->roles[0].tree, "main")->calls, 2);
    lp__run_free(run);
}

/* Different tick rates: the figures are nanoseconds all the same. */
static void boots_with_other_clocks_are_joined(void **state)
{
    struct fixture *f = *state;
    struct image image;
    put_usual(f, "a1", "actor", 0, "a1.1.00000001");
    image_init(&image);
    image_fact(&image, "attempt", "a1");
    image_fact(&image, "role", "actor");
    struct lp_file_header *header = image_header(&image);
    header->boot_id[0] = 'X';
    header->heartbeat_mono_ns = IMAGE_CREATED_MONO + IMAGE_LIFE_TICKS; /* 1 ns per tick */
    image_segment_header(&image, image.current[LP_SEGMENT_CLOCK])->used = 0;
    image_clock(&image, header->closed_ticks, header->heartbeat_mono_ns, 0);
    lp_ref body = image_node(&image, image_root(&image, 0), "main", 1, 1000);
    (void)image_node(&image, body, "step", 30, 100000000);
    put(f, &image, "node2", "a1.2.00000002");
    struct lp_run *run = load(f);
    const struct lp_run_phase *step = step_of(run, "actor");
    assert_int_equal(step->calls, 40);
    assert_true(is_near(step->wall_ns, 4e9));
    assert_true(is_near(step->min_ns, 1e8));
    assert_true(is_near(step->max_ns, 1e8));
    assert_int_equal(step->hist->count, 40);
    assert_true(fabs(lp__hist_quantile(step->hist, 0.5) / 1e8 - 1) < 0.07);
    lp__run_free(run);
}

/* Killed before a second clock pair: its boot's other processes know the rate. */
static void a_process_without_a_rate_borrows_one(void **state)
{
    struct fixture *f = *state;
    struct image image;
    image_init(&image);
    image_usual(&image, "a1", "actor", 0);
    image_segment_header(&image, image.current[LP_SEGMENT_CLOCK])->used = 0;
    image_header(&image)->heartbeat_ticks = 0;
    put(f, &image, "node1", "a1.1.00000001"); /* comes first in the list */
    put_usual(f, "a1", "actor", 1, "a1.2.00000002");
    struct lp_run *run = load(f);
    assert_int_equal(run->process_count, 2);
    assert_true(is_near(run->processes[0].ns_per_tick, IMAGE_NS_PER_TICK));
    assert_false(run->processes[0].clock_guessed);
    assert_true(is_near(step_of(run, "actor")->wall_ns, 2e9));
    assert_int_equal(run->attempts[0].files, 2);
    lp__run_free(run);
}

/* The same files under other names, and so in another order, give the same run. */
static void the_order_of_files_does_not_matter(void **state)
{
    struct fixture *f = *state;
    double walls[2];
    uint64_t calls[2], hist[2];
    for (int order = 0; order < 2; order++) {
        for (int i = 0; i < 7; i++) {
            char name[40];
            struct image image;
            image_init(&image);
            image_usual(&image, "a1", "actor", i);
            lp_ref extra =
                image_node(&image, image_root(&image, 1), "extra", (uint64_t)i + 1, 1000 + 777 * (uint64_t)i);
            (void)image_counter(&image, extra, "n", 2, i);
            (void)snprintf(name, sizeof name, "a1.%d.%08x", i + 1, order ? 7 - i : i);
            put(f, &image, order ? "m" : "n", name);
        }
        struct lp_run *run = load_with(f, &(struct lp_run_options){.hosts = "node1"});
        const struct lp_run_phase *extra = run_phase(run, &run->roles[0].tree, "extra");
        const struct lp_run_counter *counter = run_counter(run, extra, "n");
        assert_int_equal(run->process_count, 7);
        for (int i = 0; i < 7; i++)
            assert_int_equal(run->processes[i].rank, i);
        assert_true(is_near(extra->min_ns, 500));
        assert_true(is_near(extra->max_ns, (1000 + 6 * 777) / 2.0));
        assert_int_equal(counter->total_low, 42);
        assert_int_equal(counter->hist->count, 14);
        assert_int_equal(counter->min, 0);
        assert_int_equal(counter->max, 6);
        walls[order] = extra->wall_ns;
        calls[order] = extra->calls;
        hist[order] = extra->hist->count;
        lp__run_free(run);
        assert_int_equal(temp_dir_remove(&f->dir), 0);
        assert_int_equal(mkdir(f->dir.path, 0700), 0);
    }
    assert_true(is_near(walls[0], walls[1]));
    assert_int_equal(calls[0], calls[1]);
    assert_int_equal(hist[0], hist[1]);
}

/* -- bad files --------------------------------------------------------------------------------------------------- */

static void a_bad_file_costs_itself_and_is_named(void **state)
{
    struct fixture *f = *state;
    char path[200];
    put_usual(f, "a1", "actor", 0, "a1.1.00000001");
    struct lp_run *alone = load(f);
    assert_int_equal(temp_dir_put(&f->dir, "workers/node1/a1.2.00000002.lpw", "{\"pid\": Infinity}", 17), 0);
    (void)snprintf(path, sizeof path, "%s/workers/node1/a1.3.00000003.lpw", f->dir.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct lp_run *run = load(f);
    assert_int_equal(run->process_count, 1);
    assert_int_equal(run->bad_count, 2);
    assert_string_equal(run->bad[0].path, "workers/node1/a1.2.00000002.lpw");
    assert_int_equal(run->bad[0].code, LP_ERR_FORMAT);
    assert_int_equal(run->bad[1].code, LP_ERR_DENIED);
    assert_true(strlen(run->bad[1].detail) > 0);
    assert_int_equal(step_of(run, "actor")->calls, step_of(alone, "actor")->calls);
    assert_true(is_near(step_of(run, "actor")->wall_ns, step_of(alone, "actor")->wall_ns));
    lp__run_free(run);
    lp__run_free(alone);
}

static void only_bad_files_are_still_a_run(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(temp_dir_put(&f->dir, "workers/node1/a1.2.00000002.lpw", "no", 2), 0);
    struct lp_run *run = load(f);
    assert_int_equal(run->process_count, 0);
    assert_int_equal(run->role_count, 0);
    assert_int_equal(run->bad_count, 1);
    lp__run_free(run);
}

static void a_started_file_is_a_process_of_its_attempt(void **state)
{
    struct fixture *f = *state;
    static const char zeros[65536];
    put_usual(f, "a 1", "actor", 0, "a_1.1.00000001");
    assert_int_equal(temp_dir_put(&f->dir, "workers/node1/a_1.77.00000002.lpw", zeros, sizeof zeros), 0);
    struct lp_run *run = load(f);
    assert_int_equal(run->attempt_count, 1);
    assert_int_equal(run->attempts[0].files, 2);
    assert_int_equal(run->process_count, 2);
    const struct lp_run_process *process = &run->processes[run->processes[0].pid == 77 ? 0 : 1];
    assert_int_equal(process->pid, 77);
    assert_int_equal(process->verdict, LP_VERDICT_NOTHING);
    assert_string_equal(process->attempt, "a 1");
    assert_string_equal(process->host, "node1");
    lp__run_free(run);
}

/* Files larger than the first read: the rest is read, also when the word that says how much is damaged. */
static void large_files_are_read_to_the_end(void **state)
{
    struct fixture *f = *state;
    for (int damaged = 0; damaged < 2; damaged++) {
        struct image image;
        image_init(&image);
        image_usual(&image, "a1", "actor", damaged);
        lp_ref root = image_root(&image, 1);
        for (int i = 0; i < 300; i++) {
            char name[20];
            (void)snprintf(name, sizeof name, "phase %d", i);
            (void)image_node(&image, root, name, 1, 1000);
        }
        assert_true(image.len > 100000);
        image_seal(&image);
        if (damaged) image_header(&image)->tiled_bytes = sizeof(struct lp_file_header) + 64 * 1024;
        char path[64];
        (void)snprintf(path, sizeof path, "workers/node1/a1.%d.00000001.lpw", damaged + 1);
        assert_int_equal(temp_dir_put(&f->dir, path, image.bytes, image.len), 0);
        image_release(&image);
    }
    struct lp_run *run = load(f);
    assert_int_equal(run_phase(run, &run->roles[0].tree, "phase 299")->calls, 2);
    lp__run_free(run);
}

/* -- attempts ---------------------------------------------------------------------------------------------------- */

static void put_attempt(struct fixture *f, const char *attempt, const char *name, uint64_t later_s, uint64_t calls)
{
    struct image image;
    image_init(&image);
    image_fact(&image, "attempt", attempt);
    image_fact(&image, "role", "main");
    image_header(&image)->created_real_ns += later_s * 1000000000;
    (void)image_node(&image, image_root(&image, 0), "work", calls, 1000);
    put(f, &image, "node1", name);
}

static uint64_t work_calls(struct fixture *f, const char *attempt)
{
    struct lp_run *run = load_with(f, &(struct lp_run_options){.attempt = attempt});
    uint64_t calls = run_phase(run, &run->roles[0].tree, "work")->calls;
    assert_int_equal(run->attempt_count, 3);
    assert_string_equal(run->attempts[0].id, "z first");
    assert_string_equal(run->attempts[2].id, "a last");
    lp__run_free(run);
    return calls;
}

static void attempts_are_never_added_up_unasked(void **state)
{
    struct fixture *f = *state;
    put_attempt(f, "z first", "z_first.1.00000001", 0, 1);
    put_attempt(f, "z first", "z_first.2.00000002", 500, 10);
    put_attempt(f, "m second", "m_second.1.00000001", 100, 100);
    put_attempt(f, "a last", "a_last.1.00000001", 200, 1000);
    assert_int_equal(work_calls(f, NULL), 1000);
    assert_int_equal(work_calls(f, "latest"), 1000);
    assert_int_equal(work_calls(f, "z first"), 11);
    assert_int_equal(work_calls(f, "all"), 1111);
    struct lp_run *run;
    int rc = lp__run_load(f->dir.path, &(struct lp_run_options){.attempt = "none"}, &run, &f->err);
    assert_int_equal(rc, LP_ERR_USAGE);
    assert_true(strstr(f->err.detail, "m second") != NULL);
}

static void attempts_of_one_file_name_are_told_by_the_fact(void **state)
{
    struct fixture *f = *state;
    put_attempt(f, "a.1", "a_1.1.00000001", 0, 1);
    put_attempt(f, "a 1", "a_1.2.00000002", 100, 10);
    struct lp_run *run = load(f);
    assert_int_equal(run->attempt_count, 2);
    assert_string_equal(run->processes[0].attempt, "a 1");
    assert_int_equal(run_phase(run, &run->roles[0].tree, "work")->calls, 10);
    assert_int_equal(run->process_count, 1);
    lp__run_free(run);
}

/* -- selections and ranks ---------------------------------------------------------------------------------------- */

static void put_world(struct fixture *f)
{
    static const int ranks[] = {0, 1, 3, 5};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        char name[40];
        struct image image;
        image_init(&image);
        image_usual(&image, "a1", ranks[i] % 2 ? "odd" : "even", ranks[i]);
        image_fact(&image, "world_size", "8");
        image_fact(&image, "host", ranks[i] < 2 ? "node1" : "node2");
        (void)snprintf(name, sizeof name, "a1.%d.00000001", ranks[i] + 1);
        put(f, &image, "folder", name);
    }
}

static void missing_ranks_are_named(void **state)
{
    struct fixture *f = *state;
    static const int64_t wanted[] = {2, 4, 6, 7};
    put_world(f);
    struct lp_run *run = load(f);
    assert_int_equal(run->world_size, 8);
    assert_int_equal(run->missing_count, 4);
    assert_int_equal(run->missing_total, 4);
    assert_memory_equal(run->missing_ranks, wanted, sizeof wanted);
    lp__run_free(run);
    run = load_with(f, &(struct lp_run_options){.ranks = "0-4,7"});
    assert_int_equal(run->missing_count, 3);
    lp__run_free(run);
}

static void a_huge_world_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct image image;
    image_init(&image);
    image_usual(&image, "a1", "actor", -1);
    image_fact(&image, "rank", "4000000000000000000");
    image_fact(&image, "world_size", "9000000000000000000");
    put(f, &image, "node1", "a1.1.00000001");
    struct lp_run *run = load(f);
    assert_int_equal(run->missing_count, 1000);
    assert_int_equal(run->missing_total, INT64_C(9000000000000000000) - 1);
    lp__run_free(run);
}

static size_t count_with(struct fixture *f, const struct lp_run_options *options)
{
    struct lp_run *run = load_with(f, options);
    size_t count = run->process_count;
    lp__run_free(run);
    return count;
}

static void selections_leave_out_the_rest(void **state)
{
    struct fixture *f = *state;
    put_world(f);
    assert_int_equal(count_with(f, &(struct lp_run_options){.ranks = "1-3"}), 2);
    assert_int_equal(count_with(f, &(struct lp_run_options){.ranks = "0,5"}), 2);
    assert_int_equal(count_with(f, &(struct lp_run_options){.roles = "odd"}), 3);
    assert_int_equal(count_with(f, &(struct lp_run_options){.roles = "odd,even"}), 4);
    assert_int_equal(count_with(f, &(struct lp_run_options){.hosts = "node2", .roles = "odd"}), 2);
}

static void wrong_selections_say_what_there_is(void **state)
{
    struct fixture *f = *state;
    struct lp_run *run;
    put_world(f);
    static const struct lp_run_options wrong[] = {{.ranks = "3-1"},
                                                  {.ranks = ""},
                                                  {.ranks = "a"},
                                                  {.ranks = "1,"},
                                                  {.ranks = "1x2"},
                                                  {.roles = "od"},
                                                  {.roles = "odd,"},
                                                  {.hosts = "node3"},
                                                  {.ranks = "6"},
                                                  {.ranks = "99999999999999999999"},
                                                  {.roles = "even", .hosts = "node2"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(lp__run_load(f->dir.path, &wrong[i], &run, &f->err), LP_ERR_USAGE);
        assert_null(run);
        assert_true(f->err.detail[0] != '\0');
    }
    assert_int_equal(lp__run_load(f->dir.path, &(struct lp_run_options){.roles = "od"}, &run, &f->err), LP_ERR_USAGE);
    assert_true(strstr(f->err.detail, "even, odd") != NULL);
}

/* -- the caller -------------------------------------------------------------------------------------------------- */

static int stop_at_two(void *arg, size_t done, size_t all)
{
    *(size_t *)arg = all;
    return done == 2;
}

static void the_caller_may_stop_it(void **state)
{
    struct fixture *f = *state;
    struct lp_run *run;
    size_t all = 0;
    put_world(f);
    struct lp_run_options options = {.progress = stop_at_two, .progress_arg = &all};
    assert_int_equal(lp__run_load(f->dir.path, &options, &run, &f->err), LP_ERR_INTERRUPTED);
    assert_int_equal(all, 4);
    assert_null(run);
}

static void no_directory_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct lp_run *run;
    assert_int_equal(lp__run_load("/nowhere/at/all", NULL, &run, &f->err), LP_ERR_NOT_FOUND);
    assert_int_equal(lp__run_load(f->dir.path, NULL, &run, &f->err), LP_ERR_NO_RUN);
    assert_int_equal(temp_dir_put(&f->dir, "metadata.json", "{}", 2), 0);
    assert_int_equal(lp__run_load(f->dir.path, NULL, &run, &f->err), LP_ERR_FOREIGN_RUN);
}

static void without_memory_nothing_is_left_behind(void **state)
{
    struct fixture *f = *state;
    put_world(f);
    put_attempt(f, "b2", "b2.1.00000001", 0, 1);
    struct lp_run_options options = {.attempt = "all", .keep_process_trees = true};
    int rc = LP_ERR_NO_MEMORY;
    for (long allowed = 0; rc == LP_ERR_NO_MEMORY || rc == LP_ERR_IO; allowed++) {
        struct lp_run *run = NULL;
        lp__mem_fail_after(allowed);
        rc = lp__run_load(f->dir.path, &options, &run, NULL);
        lp__mem_fail_after(-1);
        assert_true(rc == LP_OK ? run != NULL : run == NULL);
        lp__run_free(run);
        assert_true(allowed < 10000);
    }
    assert_int_equal(rc, LP_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(processes_of_a_role_are_joined),
        TEST(a_process_has_its_own_tree_where_asked_for),
        TEST(boots_with_other_clocks_are_joined),
        TEST(a_process_without_a_rate_borrows_one),
        TEST(the_order_of_files_does_not_matter),
        TEST(a_bad_file_costs_itself_and_is_named),
        TEST(only_bad_files_are_still_a_run),
        TEST(a_started_file_is_a_process_of_its_attempt),
        TEST(large_files_are_read_to_the_end),
        TEST(attempts_are_never_added_up_unasked),
        TEST(attempts_of_one_file_name_are_told_by_the_fact),
        TEST(missing_ranks_are_named),
        TEST(a_huge_world_is_bounded),
        TEST(selections_leave_out_the_rest),
        TEST(wrong_selections_say_what_there_is),
        TEST(the_caller_may_stop_it),
        TEST(no_directory_is_an_error),
        TEST(without_memory_nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
