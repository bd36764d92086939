/* sample=: how many are taken, that periodic work is not met in step, that what is left out is counted exactly. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <math.h>

#define WHOLE 65536u

/* As the host does: skip or begin. */
static struct entry sampled(struct lp_recording *recording, const char *name, uint64_t stride)
{
    struct lp_thread *thread = lp__thread_of(recording);
    struct entry entry = {.recording = recording};
    struct lp_tree_node *node = NULL;
    bool skip = false;
    if (!(thread->top->flags & LP_SCOPE_SKIPPED)) {
        node = lp__tree_child(thread, thread->top->node, named(name));
        skip = !lp__sample_take(thread, node, stride);
    }
    entry.scope = skip ? lp__begin_skipped(thread, node, NULL) : lp__begin(thread, named(name), NULL, 0);
    entry.serial = entry.scope->serial;
    return entry;
}

static void test_counts_are_exact(void **state)
{
    struct stage stage;
    struct readback rb;
    struct node_sum sum;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 10000; i++)
        end_of(sampled(stage.recording, "p", 10 * WHOLE));
    stage_read(&stage, &rb);
    sum = phase_at(&rb, "p");
    assert_int_equal(sum.calls + sum.skipped, 10000);
    assert_int_equal(sum.begun, sum.calls);
    assert_int_equal(sum.hist, sum.calls);
    assert_true(sum.calls > 800 && sum.calls < 1200);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_a_stride_of_one_takes_all(void **state)
{
    struct stage stage;
    struct readback rb;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 100; i++)
        end_of(sampled(stage.recording, "p", WHOLE));
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "p").calls, 100);
    assert_int_equal(phase_at(&rb, "p").skipped, 0);
    readback_release(&rb);
    stage_close(&stage);
}

/* The mean gap is the stride, for whole strides, halves, and very long ones. */
static void test_gaps_are_the_stride_on_average(void **state)
{
    static const double strides[] = {1.5, 2, 3, 7.25, 100};
    struct stage stage;
    struct lp_thread *thread;
    size_t i, taken, n;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "p");
    thread = lp__thread_of(stage.recording);
    thread->random = 12345; /* the same run each time */
    for (i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct lp_tree_node node = {.stride_left = 0};
        for (taken = n = 0; n < 400000; n++)
            taken += lp__sample_take(thread, &node, (uint64_t)(strides[i] * WHOLE));
        /* gaps are uniform on 1 … 2 * stride - 1 */
        assert_true(fabs((double)n / (double)taken / strides[i] - 1) < 0.05);
    }
    stage_close(&stage);
}

static void test_work_of_period_two_is_not_met_in_step(void **state)
{
    struct stage stage;
    struct lp_thread *thread;
    struct lp_tree_node node = {.stride_left = 0};
    size_t even = 0, odd = 0, n;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "p");
    thread = lp__thread_of(stage.recording);
    thread->random = 99;
    for (n = 0; n < 200000; n++) {
        if (!lp__sample_take(thread, &node, 10 * WHOLE)) continue;
        if (n % 2)
            odd++;
        else
            even++;
    }
    assert_true(even > 9000 && odd > 9000); /* of some 20,000; in step one of them would be 0 */
    stage_close(&stage);
}

static void test_nothing_below_a_skipped_entry_is_recorded(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry outer, skipped, inner;
    struct node_sum sum;
    (void)state;
    stage_open(&stage);
    outer = begin_in(stage.recording, "outer");
    do
        skipped = sampled(stage.recording, "p", 1000 * WHOLE);
    while (!(skipped.scope->flags & LP_SCOPE_SKIPPED) && end_of(skipped));
    inner = begin_in(stage.recording, "inner");
    assert_true(inner.scope->flags & LP_SCOPE_SKIPPED);
    count_in(stage.recording, "n", 5);
    end_of(inner);
    end_of(skipped);
    count_in(stage.recording, "n", 1);
    end_of(outer);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "outer/p/inner").nodes, 0);
    assert_int_equal(phase_at(&rb, "outer/p").skipped, 1);
    assert_int_equal(counter_at(&rb, "outer", "n").counters.total_low, 1);
    sum = phase_at(&rb, "outer");
    assert_int_equal(sum.inner, phase_at(&rb, "outer/p").wall); /* a skipped entry's time stays the parent's own */
    assert_int_equal(lp__recording_open_scopes(stage.recording, lp__thread_of(stage.recording)), 0);
    readback_release(&rb);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_exact),
        cmocka_unit_test(test_a_stride_of_one_takes_all),
        cmocka_unit_test(test_gaps_are_the_stride_on_average),
        cmocka_unit_test(test_work_of_period_two_is_not_met_in_step),
        cmocka_unit_test(test_nothing_below_a_skipped_entry_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
