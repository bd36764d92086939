/* One image in, figures out: sums, open scopes, damaged nodes, counters, histograms. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/run.h"
#include "support/image_builder.h"
#include "support/run_lookup.h"

#define END (IMAGE_CREATED_TICKS + IMAGE_LIFE_TICKS)

static int set_up(void **state)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) return -1;
    image_init(image);
    *state = image;
    return 0;
}

static int tear_down(void **state)
{
    struct image *image = *state;
    image_release(image);
    free(image);
    return 0;
}

static struct lp_run *load(struct image *image)
{
    struct lp_run *run = NULL;
    image_seal(image);
    assert_int_equal(lp__run_load_image(image->bytes, image->len, &run, NULL), LP_OK);
    assert_int_equal(run->process_count, 1);
    assert_int_equal(run->role_count, 1);
    return run;
}

static const struct lp_run_phase *phase(const struct lp_run *run, const char *path)
{
    const struct lp_run_phase *found = run_phase(run, &run->roles[0].tree, path);
    assert_non_null(found);
    return found;
}

static struct lp_node_record *node_at(struct image *image, lp_ref ref)
{
    return image_at(image, ref);
}

#define assert_near(value, wanted) assert_true(is_near(value, wanted))

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-6 * fabs(wanted) + 1e-3;
}

static void figures_are_nanoseconds(void **state)
{
    struct image *image = *state;
    image_usual(image, "a1", "actor", 3);
    struct lp_run *run = load(image);
    const struct lp_run_process *process = &run->processes[0];
    const struct lp_run_phase *step = phase(run, "main/step");
    assert_int_equal(step->calls, 10);
    assert_near(step->wall_ns, 1e9);
    assert_near(step->inner_ns, 0.85e9);
    assert_near(step->cpu_ns, 0.5e9);
    assert_near(step->min_ns, 1e8);
    assert_near(step->max_ns, 1e8);
    assert_int_equal(step->depth, 2);
    assert_int_equal(step->open, 0);
    assert_int_equal(step->processes, 1);
    assert_int_equal(step->hist->count, 10);
    assert_true(fabs(lp__hist_quantile(step->hist, 0.5) / 1e8 - 1) < 0.07);
    assert_string_equal(process->role, "actor");
    assert_string_equal(process->attempt, "a1");
    assert_string_equal(process->host, "node1");
    assert_int_equal(process->rank, 3);
    assert_int_equal(process->verdict, LP_VERDICT_FINISHED);
    assert_int_equal(process->entries, 41);
    assert_int_equal(process->threads, 1);
    assert_near(process->elapsed_ns, 1e10);
    assert_near(process->top_wall_ns, 5e9);
    assert_near(process->outside_ns, 5e9);
    assert_false(process->damaged);
    assert_near(run->roles[0].tree.phases[0].wall_ns, 1e10);
    assert_near(run->roles[0].tree.phases[0].inner_ns, 5e9);
    assert_int_equal(run->attempt_count, 1);
    assert_true(run->attempts[0].chosen);
    lp__run_free(run);
}

static void threads_of_one_path_are_joined(void **state)
{
    struct image *image = *state;
    lp_ref first = image_root(image, 0), second = image_root(image, 1);
    (void)image_thread(image, 0);
    (void)image_thread(image, 1);
    (void)image_node(image, first, "work", 2, 1000);
    (void)image_node(image, second, "work", 3, 4000);
    struct lp_run *run = load(image);
    const struct lp_run_phase *work = phase(run, "work");
    assert_int_equal(work->calls, 5);
    assert_near(work->wall_ns, 7000);
    assert_near(work->min_ns, 500);
    assert_near(work->max_ns, 2000);
    assert_int_equal(work->processes, 1);
    assert_int_equal(work->hist->count, 5);
    assert_near(run->processes[0].elapsed_ns, 2e10);
    assert_int_equal(run->processes[0].threads, 2);
    lp__run_free(run);
}

static void open_scopes_run_to_the_end(void **state)
{
    struct image *image = *state;
    (void)image_thread(image, 0);
    lp_ref root = image_root(image, 0), outer = image_node(image, root, "outer", 0, 0);
    lp_ref inner = image_node(image, outer, "inner", 4, 1000000);
    image_open(image, outer, END - 8000000000);
    image_open(image, inner, END - 2000000000);
    image_open(image, inner, END - 1000000000); /* two at once */
    struct lp_run *run = load(image);
    assert_int_equal(phase(run, "outer")->open, 1);
    assert_near(phase(run, "outer")->open_wall_ns, 4e9);
    assert_int_equal(phase(run, "outer/inner")->open, 2);
    assert_near(phase(run, "outer/inner")->open_wall_ns, 1.5e9);
    assert_near(run->processes[0].top_wall_ns, 4e9);
    assert_near(run->processes[0].outside_ns, 6e9);
    assert_int_equal(run->processes[0].open, 3);
    assert_string_equal(run->processes[0].killed_in, "outer/inner");
    lp__run_free(run);
}

static void an_open_path_keeps_a_slash_in_a_name_apart(void **state)
{
    struct image *image = *state;
    lp_ref outer = image_node(image, image_root(image, 0), "out/er", 0, 0);
    image_open(image, outer, END - 9000);
    image_open(image, image_node(image, outer, "inner", 0, 0), END - 1000);
    struct lp_run *run = load(image);
    assert_string_equal(run->processes[0].killed_in, "\"out/er\"/inner");
    lp__run_free(run);
}

static void of_two_open_paths_the_younger_is_named(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0);
    image_open(image, image_node(image, root, "old", 0, 0), END - 9000);
    image_open(image, image_node(image, root, "young", 0, 0), END - 1000);
    image_open(image, image_node(image, root, "older", 0, 0), END - 10000);
    struct lp_run *run = load(image);
    assert_string_equal(run->processes[0].killed_in, "young");
    lp__run_free(run);
}

/* Begun on one thread, ended on another: only the sum over both is a whole entry. */
static void scopes_may_change_threads(void **state)
{
    struct image *image = *state;
    lp_ref first = image_root(image, 0), second = image_root(image, 1);
    lp_ref began = image_node(image, first, "task", 0, 0), ended = image_node(image, second, "task", 1, 5000);
    image_open(image, began, END - 5000);
    node_at(image, ended)->begun = 0;
    node_at(image, ended)->start_sum -= END - 5000;
    struct lp_run *run = load(image);
    assert_int_equal(phase(run, "task")->open, 0);
    assert_int_equal(phase(run, "task")->calls, 1);
    assert_near(phase(run, "task")->wall_ns, 2500);
    assert_int_equal(run->processes[0].damaged_nodes, 0);
    assert_string_equal(run->processes[0].killed_in, "");
    lp__run_free(run);
}

static void an_open_time_that_cannot_be_is_left_out(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0), torn = image_node(image, root, "torn", 1, 1000);
    node_at(image, torn)->begun++; /* killed between two words: the start was not added */
    struct lp_run *run = load(image);
    assert_int_equal(phase(run, "torn")->open, 1);
    assert_near(phase(run, "torn")->open_wall_ns, 0);
    assert_near(phase(run, "torn")->wall_ns, 500);
    lp__run_free(run);
}

static void numbers_that_cannot_be_are_left_out(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0), bad = image_node(image, root, "bad", 1, 1000);
    (void)image_node(image, bad, "good", 1, 500);
    node_at(image, bad)->wall = (uint64_t)1 << 60;
    struct lp_run *run = load(image);
    assert_int_equal(phase(run, "bad")->calls, 0);
    assert_int_equal(phase(run, "bad/good")->calls, 1);
    assert_int_equal(run->processes[0].damaged_nodes, 1);
    assert_true(run->processes[0].damaged);
    lp__run_free(run);
}

static void nodes_without_a_place_hang_below_damaged(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0), a = image_node(image, root, "a", 1, 1000);
    lp_ref b = image_node(image, a, "b", 1, 1000), c = image_node(image, b, "c", 1, 1000);
    lp_ref lost = image_node(image, root, "lost", 1, 1000);
    node_at(image, a)->parent = c; /* a ring */
    node_at(image, lost)->parent = root + 1;
    struct lp_run *run = load(image);
    const struct lp_run_tree *tree = &run->roles[0].tree;
    const struct lp_run_phase *damaged = run_child_with(tree, 0, LP_RUN_DAMAGED);
    assert_non_null(damaged);
    uint64_t calls = 0;
    for (size_t i = 1; i < tree->count; i++) {
        calls += tree->phases[i].calls;
        uint32_t top = (uint32_t)i;
        while (tree->phases[top].parent)
            top = tree->phases[top].parent;
        assert_ptr_equal(&tree->phases[top], damaged);
    }
    assert_int_equal(calls, 4);
    assert_int_equal(run->processes[0].damaged_nodes, 2);
    lp__run_free(run);
}

static void nodes_without_a_name_stay_where_they_are(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0), a = image_node(image, root, "a", 1, 1000);
    (void)image_node(image, a, "b", 1, 1000);
    node_at(image, a)->name = 3;
    struct lp_run *run = load(image);
    const struct lp_run_phase *damaged = run_child_with(&run->roles[0].tree, 0, LP_RUN_DAMAGED);
    assert_int_equal(damaged->calls, 1);
    uint32_t name, at = (uint32_t)(damaged - run->roles[0].tree.phases);
    assert_true(lp__intern_find(&run->names, "b", 1, &name));
    assert_int_not_equal(lp__run_tree_child(&run->roles[0].tree, at, name), UINT32_MAX);
    lp__run_free(run);
}

static void no_name_passes_for_another_kind(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0);
    lp_ref folded = image_node(image, root, "(folded)", 1, 1000);
    (void)image_node(image, root, "(folded)", 2, 1000);
    (void)image_node(image, root, "(damaged)", 3, 1000);
    lp_ref thread = image_node(image, root, "loader", 0, 0);
    lp_ref phase_of_that_name = image_node(image, root, "loader", 4, 1000);
    (void)image_node(image, thread, "read", 5, 1000);
    (void)image_node(image, phase_of_that_name, "read", 6, 1000);
    node_at(image, folded)->flags = LP_NODE_FOLDED;
    node_at(image, thread)->flags = LP_NODE_THREAD;
    struct lp_run *run = load(image);
    const struct lp_run_tree *tree = &run->roles[0].tree;
    assert_int_equal(run_child_with(tree, 0, LP_NODE_FOLDED)->calls, 1);
    assert_int_equal(phase(run, "(folded)")->calls, 2);
    assert_int_equal(phase(run, "(damaged)")->calls, 3);
    assert_int_equal(phase(run, "loader")->calls, 4);
    assert_int_equal(phase(run, "loader/read")->calls, 6);
    const struct lp_run_phase *name = run_child_with(tree, 0, LP_NODE_THREAD);
    assert_int_equal(name->calls, 0);
    assert_near(name->wall_ns, 2500); /* of what is below it */
    assert_near(name->inner_ns, 2500);
    assert_near(run->processes[0].top_wall_ns, (1 + 2 + 3 + 4 + 5) * 500.0);
    lp__run_free(run);
}

static void paths_deeper_than_the_ceiling_are_folded(void **state)
{
    struct image *image = *state;
    lp_ref at = image_root(image, 0);
    image->capacity = (uint64_t)1 << 20;
    for (unsigned i = 0; i < LP_MAX_DEPTH + 50; i++)
        at = image_node(image, at, "deep", 1, 1000);
    struct lp_run *run = load(image);
    const struct lp_run_tree *tree = &run->roles[0].tree;
    const struct lp_run_phase *last = &tree->phases[tree->count - 1];
    assert_true(last->flags & LP_NODE_FOLDED);
    assert_true(last->depth <= LP_MAX_DEPTH);
    uint64_t calls = 0;
    for (size_t i = 0; i < tree->count; i++)
        calls += tree->phases[i].calls;
    assert_int_equal(calls, LP_MAX_DEPTH + 50);
    lp__run_free(run);
}

/* -- counters and histograms ------------------------------------------------------------------------------------- */

static void counters_add_up(void **state)
{
    struct image *image = *state;
    lp_ref first = image_root(image, 0), second = image_root(image, 1);
    (void)image_counter(image, first, "same", 10, 3);
    (void)image_counter(image, second, "same", 5, 3);
    (void)image_counter(image, first, "mixed", 1, -7);
    (void)image_counter(image, second, "mixed", 2, 100);
    struct lp_run *run = load(image);
    const struct lp_run_phase *root = &run->roles[0].tree.phases[0];
    const struct lp_run_counter *same = run_counter(run, root, "same"), *mixed = run_counter(run, root, "mixed");
    assert_int_equal(same->adds, 15);
    assert_int_equal(same->total_low, 45);
    assert_null(same->hist);
    assert_int_equal(mixed->adds, 3);
    assert_int_equal(mixed->total_low, 193);
    assert_int_equal(mixed->total_high, 0);
    assert_int_equal(mixed->min, -7);
    assert_int_equal(mixed->max, 100);
    assert_int_equal(mixed->hist->count, 2);
    assert_int_equal(mixed->hist_negative->count, 1);
    assert_ptr_equal(root->counters, mixed); /* by name */
    lp__run_free(run);
}

static void totals_are_128_bits_wide(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0), other = image_root(image, 1);
    lp_ref a = image_counter(image, root, "big", 1, INT64_MAX), b = image_counter(image, other, "big", 1, INT64_MAX);
    ((struct lp_counter_record *)image_at(image, a))->total_low = UINT64_MAX;
    ((struct lp_counter_record *)image_at(image, b))->total_low = 2;
    struct lp_run *run = load(image);
    const struct lp_run_counter *big = run_counter(run, &run->roles[0].tree.phases[0], "big");
    assert_int_equal(big->total_low, 1);
    assert_int_equal(big->total_high, 1);
    lp__run_free(run);
}

static void a_counter_list_that_bites_its_tail_ends(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0);
    lp_ref a = image_counter(image, root, "a", 1, 1), b = image_counter(image, root, "b", 1, 1);
    ((struct lp_counter_record *)image_at(image, a))->next = b;
    struct lp_run *run = load(image);
    assert_int_equal(run_counter(run, &run->roles[0].tree.phases[0], "a")->adds, 1);
    assert_int_equal(run_counter(run, &run->roles[0].tree.phases[0], "b")->adds, 1);
    assert_int_equal(run->processes[0].damaged_nodes, 1);
    lp__run_free(run);
}

static void full_buckets_carry_over(void **state)
{
    struct image *image = *state;
    lp_ref root = image_root(image, 0), node = image_node(image, root, "often", 7, 1000);
    struct lp_hist_record record = {.carry = 0};
    lp_ref carry = image_append(image, LP_SEGMENT_HIST, &record, sizeof record);
    image_hist(image, carry, 1000, 1);
    node_at(image, node)->hist.carry = carry;
    struct lp_run *run = load(image);
    assert_int_equal(phase(run, "often")->hist->count, ((uint64_t)1 << 32) + 7);
    lp__run_free(run);
}

static void a_process_sees_its_drops_and_facts(void **state)
{
    struct image *image = *state;
    lp_ref thread = image_thread(image, 0);
    struct lp_thread_record *record = image_at(image, thread);
    record->drops[LP_DROP_FOLDED] = 5;
    record->sequence = 1;
    image_fact(image, "world_size", "4");
    image_fact(image, "rank", "not a number");
    image_fact(image, "cost.wall_ns", "12.5");
    image_fact(image, "quota_cores", "1e9");
    image_fact(image, "cpu_model", "a cpu");
    image_fact(image, "somebody else's", "thing");
    struct lp_fact argv = {.key_bytes = 4, .value_bytes = 15};
    char bytes[sizeof argv + 19];
    memcpy(bytes, &argv, sizeof argv);
    memcpy(bytes + sizeof argv, "argvtrain.py\0a b\0\0", 19);
    (void)image_append(image, LP_SEGMENT_FACTS, bytes, sizeof bytes);
    struct lp_run *run = load(image);
    const struct lp_run_process *process = &run->processes[0];
    assert_int_equal(process->drops[LP_DROP_FOLDED], 5);
    assert_int_equal(process->torn_threads, 1);
    assert_int_equal(process->world_size, 4);
    assert_int_equal(process->rank, -1);
    assert_near(process->wall_cost_ns, 12.5);
    assert_true(isnan(process->quota_cores));
    assert_true(isnan(process->cpu_cost_ns));
    assert_string_equal(process->cpu_model, "a cpu");
    assert_string_equal(process->argv, "train.py 'a b'");
    assert_string_equal(process->job, "");
    lp__run_free(run);
}

static void an_empty_store_is_a_process_that_recorded_nothing(void **state)
{
    static const uint64_t zeros[128];
    struct lp_run *run = NULL;
    (void)state;
    assert_int_equal(lp__run_load_image(zeros, sizeof zeros, &run, NULL), LP_OK);
    assert_int_equal(run->process_count, 1);
    assert_int_equal(run->processes[0].verdict, LP_VERDICT_NOTHING);
    assert_string_equal(run->processes[0].role, "");
    lp__run_free(run);
    struct lp_error err = {.code = LP_OK};
    assert_int_equal(lp__run_load_image("not ours", 8, &run, &err), LP_ERR_FORMAT);
    assert_null(run);
}

/* Whatever is flipped or cut away, what comes out is a run, and a sanitizer is content. */
static void damage_never_breaks_a_load(void **state)
{
    struct image *image = *state;
    image_usual(image, "a1", "actor", 0);
    for (size_t at = 0; at < image->len; at += 3) {
        struct lp_run *run = NULL;
        image->bytes[at] ^= (uint8_t)(1u << at % 8);
        assert_int_equal(lp__run_load_image(image->bytes, image->len, &run, NULL), LP_OK);
        lp__run_free(run);
        image->bytes[at] ^= (uint8_t)(1u << at % 8);
    }
    for (size_t cut = LP_FILE_CHECKED_END; cut < image->len; cut += 97) {
        struct lp_run *run = NULL;
        assert_int_equal(lp__run_load_image(image->bytes, cut, &run, NULL), LP_OK);
        lp__run_free(run);
    }
}

static void without_memory_nothing_is_left_behind(void **state)
{
    struct image *image = *state;
    image_usual(image, "a1", "actor", 0);
    int rc = LP_ERR_NO_MEMORY;
    for (long allowed = 0; rc == LP_ERR_NO_MEMORY; allowed++) {
        struct lp_run *run = NULL;
        lp__mem_fail_after(allowed);
        rc = lp__run_load_image(image->bytes, image->len, &run, NULL);
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
        TEST(figures_are_nanoseconds),
        TEST(threads_of_one_path_are_joined),
        TEST(open_scopes_run_to_the_end),
        TEST(an_open_path_keeps_a_slash_in_a_name_apart),
        TEST(of_two_open_paths_the_younger_is_named),
        TEST(scopes_may_change_threads),
        TEST(an_open_time_that_cannot_be_is_left_out),
        TEST(numbers_that_cannot_be_are_left_out),
        TEST(nodes_without_a_place_hang_below_damaged),
        TEST(nodes_without_a_name_stay_where_they_are),
        TEST(no_name_passes_for_another_kind),
        TEST(paths_deeper_than_the_ceiling_are_folded),
        TEST(counters_add_up),
        TEST(totals_are_128_bits_wide),
        TEST(a_counter_list_that_bites_its_tail_ends),
        TEST(full_buckets_carry_over),
        TEST(a_process_sees_its_drops_and_facts),
        TEST(an_empty_store_is_a_process_that_recorded_nothing),
        TEST(damage_never_breaks_a_load),
        TEST(without_memory_nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
