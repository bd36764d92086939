/* Counters: totals of 128 bits, extremes, when a histogram begins, many names in turn, where they go. */
// SPDX-License-Identifier: MIT
#include "stage.h"

static struct path_query read_counter(struct stage *stage, const char *path, const char *name)
{
    struct readback rb;
    struct path_query query;
    stage_read(stage, &rb);
    query = counter_at(&rb, path, name);
    readback_release(&rb);
    return query;
}

static void test_totals_have_128_bits(void **state)
{
    struct stage stage;
    struct path_query big, small;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 8; i++) {
        count_in(stage.recording, "big", INT64_C(1) << 62);
        count_in(stage.recording, "small", -(INT64_C(1) << 62));
    }
    big = read_counter(&stage, "", "big");
    assert_true(big.counters.total_low == 0 && big.counters.total_high == 2); /* 2^65 */
    assert_int_equal(big.counters.adds, 8);
    small = read_counter(&stage, "", "small");
    assert_true(small.counters.total_low == 0 && small.counters.total_high == -2);
    stage_close(&stage);
}

static void test_totals_cross_zero_and_come_back(void **state)
{
    struct stage stage;
    struct path_query query;
    (void)state;
    stage_open(&stage);
    count_in(stage.recording, "n", 5);
    count_in(stage.recording, "n", -7);
    query = read_counter(&stage, "", "n");
    assert_true(query.counters.total_low == UINT64_MAX - 1 && query.counters.total_high == -1); /* -2 */
    count_in(stage.recording, "n", 2);
    query = read_counter(&stage, "", "n");
    assert_true(query.counters.total_low == 0 && query.counters.total_high == 0);
    assert_true(query.counters.min == -7 && query.counters.max == 5);
    stage_close(&stage);
}

static void test_extremes_of_64_bits(void **state)
{
    struct stage stage;
    struct path_query query;
    (void)state;
    stage_open(&stage);
    count_in(stage.recording, "n", INT64_MIN);
    count_in(stage.recording, "n", INT64_MAX);
    count_in(stage.recording, "n", 0);
    query = read_counter(&stage, "", "n");
    assert_true(query.counters.total_low == UINT64_MAX && query.counters.total_high == -1); /* -1 */
    assert_true(query.counters.min == INT64_MIN && query.counters.max == INT64_MAX);
    assert_int_equal(query.hist, 2);
    assert_int_equal(query.hist_negative, 1);
    stage_close(&stage);
}

static void test_the_second_distinct_amount_starts_a_histogram_of_all(void **state)
{
    struct stage stage;
    struct path_query query;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 1000; i++)
        count_in(stage.recording, "n", 3);
    query = read_counter(&stage, "", "n");
    assert_int_equal(query.hist, 0);
    assert_int_equal(query.counters.adds, 1000);
    count_in(stage.recording, "n", -4);
    query = read_counter(&stage, "", "n");
    assert_int_equal(query.hist, 1000);
    assert_int_equal(query.hist_negative, 1);
    count_in(stage.recording, "n", 3);
    query = read_counter(&stage, "", "n");
    assert_int_equal(query.hist, 1001);
    stage_close(&stage);
}

static void test_counters_in_turn_keep_apart(void **state)
{
    struct stage stage;
    struct path_query query;
    char name[16];
    int i, j;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 100; i++)
        for (j = 0; j < 7; j++) {
            snprintf(name, sizeof name, "counter %d", j);
            count_in(stage.recording, name, i * j);
        }
    for (j = 0; j < 7; j++) {
        snprintf(name, sizeof name, "counter %d", j);
        query = read_counter(&stage, "", name);
        assert_int_equal(query.counters_found, 1);
        assert_int_equal(query.counters.adds, 100);
        assert_int_equal(query.counters.total_low, 4950 * j);
        assert_int_equal(query.counters.max, 99 * j);
        assert_int_equal(query.counters.min, 0);
        assert_int_equal(query.hist, j ? 100 : 0);
    }
    stage_close(&stage);
}

static void test_the_innermost_phase_gets_it(void **state)
{
    struct stage stage;
    struct entry outer, inner;
    (void)state;
    stage_open(&stage);
    outer = begin_in(stage.recording, "outer");
    count_in(stage.recording, "n", 1);
    inner = begin_in(stage.recording, "inner");
    count_in(stage.recording, "n", 10);
    end_of(inner);
    count_in(stage.recording, "n", 100);
    end_of(outer);
    count_in(stage.recording, "n", 1000);
    assert_int_equal(read_counter(&stage, "outer", "n").counters.total_low, 101);
    assert_int_equal(read_counter(&stage, "outer/inner", "n").counters.total_low, 10);
    assert_int_equal(read_counter(&stage, "", "n").counters.total_low, 1000);
    stage_close(&stage);
}

static void test_a_full_counter_of_a_histogram_carries_over(void **state)
{
    struct stage stage;
    struct path_query query;
    struct lp_thread *thread;
    struct lp_counter_record *counter;
    struct lp_hist_record *hist;
    int i;
    (void)state;
    stage_open(&stage);
    count_in(stage.recording, "n", 9);
    thread = lp__thread_of(stage.recording);
    counter = thread->root->counters->record;
    counter->adds = UINT64_C(5000000000); /* as if it had been added so often */
    count_in(stage.recording, "n", 10);
    hist = lp__store_at(&stage.recording->store, counter->hist);
    assert_true(hist->carry != 0);
    query = read_counter(&stage, "", "n");
    assert_true(query.hist == UINT64_C(5000000001));
    for (i = 0; i < 3; i++)
        count_in(stage.recording, "n", 9);
    query = read_counter(&stage, "", "n");
    assert_true(query.hist == UINT64_C(5000000004));
    stage_close(&stage);
}

static void test_a_bucket_at_its_limit_carries_one(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry entry;
    struct lp_thread *thread;
    struct lp_hist_record *hist;
    uint64_t wall;
    unsigned slot;
    (void)state;
    stage_open(&stage);
    entry = begin_in(stage.recording, "p");
    thread = lp__thread_of(stage.recording);
    hist = &entry.scope->node->record->hist;
    wall = 5;
    slot = lp__hist_slot(wall);
    lp__store_hist_add(thread, hist, wall, UINT32_MAX);
    assert_int_equal(hist->carry, 0);
    assert_false(lp__hist_add_in_place(thread->map.base, hist, wall)); /* full: the slow way */
    lp__store_hist_add(thread, hist, wall, 1);
    assert_true(hist->carry != 0);
    assert_true(lp__hist_add_in_place(thread->map.base, hist, wall));
    assert_true(hist->slot[slot] != 0);
    stage_read(&stage, &rb);
    assert_true(hist_total(&rb, hist) == (UINT64_C(1) << 32) + 1);
    readback_release(&rb);
    end_of(entry);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_have_128_bits),
        cmocka_unit_test(test_totals_cross_zero_and_come_back),
        cmocka_unit_test(test_extremes_of_64_bits),
        cmocka_unit_test(test_the_second_distinct_amount_starts_a_histogram_of_all),
        cmocka_unit_test(test_counters_in_turn_keep_apart),
        cmocka_unit_test(test_the_innermost_phase_gets_it),
        cmocka_unit_test(test_a_full_counter_of_a_histogram_carries_over),
        cmocka_unit_test(test_a_bucket_at_its_limit_carries_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
