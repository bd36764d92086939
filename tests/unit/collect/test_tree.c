/* Trees: paths found again, many siblings, folding beyond the ceilings, the same paths in several threads, names that
 * look like ours. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <pthread.h>

static void test_a_path_is_one_node(void **state)
{
    struct stage stage;
    struct readback rb;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 10; i++) {
        struct entry a = begin_in(stage.recording, "a");
        entry_in(stage.recording, "x");
        entry_in(stage.recording, i % 2 ? "y" : "z");
        end_of(a);
        entry_in(stage.recording, "x");
    }
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 10);
    assert_int_equal(phase_at(&rb, "a/x").calls, 10);
    assert_int_equal(phase_at(&rb, "a/y").calls, 5);
    assert_int_equal(phase_at(&rb, "a/z").calls, 5);
    assert_int_equal(phase_at(&rb, "x").calls, 10);
    assert_int_equal(node_count(&rb), 6);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_many_siblings_are_found_again(void **state)
{
    struct stage stage;
    struct readback rb;
    char name[16];
    int i, round;
    (void)state;
    stage_open(&stage);
    for (round = 0; round < 3; round++)
        for (i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "s%d", i * 7 % 1000);
            entry_in(stage.recording, name);
        }
    stage_read(&stage, &rb);
    assert_int_equal(node_count(&rb), 1001);
    assert_int_equal(phase_at(&rb, "s0").calls, 3);
    assert_int_equal(phase_at(&rb, "s999").calls, 3);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_recursion_deepens_the_path(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry entries[3];
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 3; i++)
        entries[i] = begin_in(stage.recording, "f");
    while (i--)
        end_of(entries[i]);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "f").calls, 1);
    assert_int_equal(phase_at(&rb, "f/f").calls, 1);
    assert_int_equal(phase_at(&rb, "f/f/f").calls, 1);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_beyond_the_ceiling_on_paths_entries_are_folded(void **state)
{
    struct lp_recording_options options = {.max_paths = 4};
    struct stage stage;
    struct readback rb;
    struct entry outer;
    struct node_sum folded;
    char name[16];
    int i;
    (void)state;
    stage_open_with(&stage, &options);
    outer = begin_in(stage.recording, "outer");
    assert_false(lp__recording_is_full(stage.recording));
    for (i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "n%d", i);
        entry_in(stage.recording, name);
    }
    assert_true(lp__recording_is_full(stage.recording));
    entry_in(stage.recording, "n1");
    end_of(outer);
    stage_read(&stage, &rb);
    folded = phase_at(&rb, "outer/(folded)");
    assert_int_equal(phase_at(&rb, "outer/n2").calls, 1);
    assert_int_equal(phase_at(&rb, "outer/n1").calls, 2);
    assert_int_equal(phase_at(&rb, "outer/n3").nodes, 0);
    assert_int_equal(folded.calls, 7);
    assert_int_equal(folded.hist, 7);
    assert_true(folded.wall > 0);
    assert_true(folded.flags & LP_NODE_FOLDED);
    assert_int_equal(drops_of(&rb, LP_DROP_FOLDED), 7);
    assert_int_equal(phase_at(&rb, "outer").inner, phase_at(&rb, "outer/n0").wall + phase_at(&rb, "outer/n1").wall +
                                                       phase_at(&rb, "outer/n2").wall + folded.wall);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_inside_a_folded_phase_everything_is_folded_there(void **state)
{
    struct lp_recording_options options = {.max_paths = 1};
    struct stage stage;
    struct readback rb;
    struct entry a, b, c;
    (void)state;
    stage_open_with(&stage, &options);
    a = begin_in(stage.recording, "a");
    b = begin_in(stage.recording, "b");
    c = begin_in(stage.recording, "c");
    count_in(stage.recording, "n", 5);
    end_of(c);
    end_of(b);
    end_of(a);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a/(folded)").calls, 2);
    assert_int_equal(phase_at(&rb, "a/(folded)").begun, 2);
    assert_int_equal(counter_at(&rb, "a/(folded)", "n").counters.total_low, 5);
    assert_int_equal(node_count(&rb), 3);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_our_own_words_are_names_like_others(void **state)
{
    struct lp_recording_options options = {.max_paths = 2};
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open_with(&stage, &options);
    entry_in(stage.recording, "(folded)");
    entry_in(stage.recording, "a");
    entry_in(stage.recording, "b");
    entry_in(stage.recording, "(folded)");
    stage_read(&stage, &rb);
    assert_int_equal(node_count(&rb), 4); /* root, the program's (folded), a, ours */
    assert_int_equal(phase_at(&rb, "(folded)").calls, 3);
    assert_int_equal(drops_of(&rb, LP_DROP_FOLDED), 1);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_beyond_the_ceiling_on_depth_entries_are_folded(void **state)
{
    static struct entry entries[LP_MAX_DEPTH + 100];
    struct stage stage;
    struct readback rb;
    struct lp_thread *thread;
    uint32_t i, deepest = 0;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < LP_MAX_DEPTH + 100; i++)
        entries[i] = begin_in(stage.recording, "d");
    thread = lp__thread_of(stage.recording);
    deepest = thread->top->node->depth;
    assert_true(thread->top->node->flags & LP_NODE_FOLDED);
    assert_true(deepest <= LP_MAX_DEPTH);
    assert_true(lp__tree_translate(thread, thread->top->node) == thread->top->node);
    while (i--)
        assert_true(end_of(entries[i]));
    stage_read(&stage, &rb);
    assert_int_equal(drops_of(&rb, LP_DROP_FOLDED), LP_MAX_DEPTH + 100 - (deepest - 1));
    assert_int_equal(node_count(&rb), deepest + 1);
    readback_release(&rb);
    stage_close(&stage);
}

struct visitor {
    struct lp_recording *recording;
    int rounds;
};

static void *visit_paths(void *arg)
{
    const struct visitor *visitor = arg;
    int i;
    for (i = 0; i < visitor->rounds; i++) {
        struct entry a = begin_in(visitor->recording, "a");
        entry_in(visitor->recording, "b");
        count_in(visitor->recording, "n", 1);
        end_of(a);
    }
    return NULL;
}

static void test_threads_have_the_same_paths_each_in_a_tree_of_its_own(void **state)
{
    struct lp_recording_options options = {.max_paths = 2};
    struct visitor visitor = {.rounds = 500};
    struct stage stage;
    struct readback rb;
    pthread_t threads[4];
    int i;
    (void)state;
    stage_open_with(&stage, &options);
    visitor.recording = stage.recording;
    visit_paths(&visitor);
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, visit_paths, &visitor), 0);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 2500);
    assert_int_equal(phase_at(&rb, "a/b").calls, 2500);
    assert_int_equal(phase_at(&rb, "a/b").hist, 2500);
    assert_int_equal(counter_at(&rb, "a", "n").counters.total_low, 2500);
    assert_int_equal(drops_of(&rb, LP_DROP_FOLDED), 0); /* a path counts once however many threads have it */
    readback_release(&rb);
    stage_close(&stage);
}

static lp_name_id give_name(void)
{
    return named("worker");
}

static void test_a_threads_name_is_no_phase_of_that_name(void **state)
{
    struct lp_recording_options options = {.thread_names = true, .thread_name = give_name};
    struct stage stage;
    struct readback rb;
    struct lp_thread *thread;
    (void)state;
    stage_open_with(&stage, &options);
    entry_in(stage.recording, "worker");
    thread = lp__thread_of(stage.recording);
    lp__thread_set_name(thread, 0);
    entry_in(stage.recording, "worker");
    lp__thread_set_name(thread, named("worker"));
    entry_in(stage.recording, "worker");
    assert_true(thread->base->flags & LP_NODE_THREAD);
    assert_int_equal(lp__tree_text(thread->base), named("worker"));
    assert_true(lp__tree_translate(thread, thread->base) == thread->base);
    stage_read(&stage, &rb);
    assert_int_equal(node_count(&rb), 4); /* root, the thread, worker/worker, worker */
    assert_int_equal(phase_at(&rb, "worker/worker").calls, 2);
    assert_int_equal(phase_at(&rb, "worker").calls, 1);
    readback_release(&rb);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_is_one_node),
        cmocka_unit_test(test_many_siblings_are_found_again),
        cmocka_unit_test(test_recursion_deepens_the_path),
        cmocka_unit_test(test_beyond_the_ceiling_on_paths_entries_are_folded),
        cmocka_unit_test(test_inside_a_folded_phase_everything_is_folded_there),
        cmocka_unit_test(test_our_own_words_are_names_like_others),
        cmocka_unit_test(test_beyond_the_ceiling_on_depth_entries_are_folded),
        cmocka_unit_test(test_threads_have_the_same_paths_each_in_a_tree_of_its_own),
        cmocka_unit_test(test_a_threads_name_is_no_phase_of_that_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
