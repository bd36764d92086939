/* The trend of a node: where its marks stand, how a full record thins itself out, and what does not fit 32 bits. */
// SPDX-License-Identifier: MIT
#include "stage.h"

struct growth {
    struct stage stage;
    struct readback rb;
    struct lp_thread *thread;
    struct lp_tree_node *node;
    uint64_t now;
    uint64_t walls[20001]; /* the node's wall after so many entries */
    uint32_t entries;
};

static void grow_open(struct growth *growth)
{
    memset(growth, 0, sizeof *growth);
    stage_open(&growth->stage);
    growth->thread = lp__thread_of(growth->stage.recording);
    assert_non_null(growth->thread);
    growth->node = lp__tree_child(growth->thread, growth->thread->root, named("step"));
    growth->now = lp__ticks();
}

/* Entries of a length that grows. */
static void grow(struct growth *growth, uint32_t entries, uint64_t unit)
{
    struct lp_cpu_time cpu = {0};
    while (entries--) {
        uint64_t wall = unit * (1 + growth->entries % 7 + growth->entries / 10);
        struct lp_scope *scope = lp__scope_begin(growth->thread, growth->node, NULL, 0, growth->now, cpu);
        growth->now += wall;
        lp__scope_end(growth->thread, scope, growth->now, cpu);
        growth->walls[growth->entries + 1] = growth->walls[growth->entries] + wall;
        growth->entries++;
    }
}

static void find_trend(const struct readback *rb, const struct lp_node_record *node, void *arg)
{
    const struct lp_trend_record **found = arg;
    if (node->calls)
        *found = lp__image_record(&rb->image, node->trend, LP_SEGMENT_HIST, sizeof(struct lp_trend_record));
}

static const struct lp_trend_record *trend_read(struct growth *growth)
{
    const struct lp_trend_record *trend = NULL;
    stage_read(&growth->stage, &growth->rb);
    each_node(&growth->rb, find_trend, &trend);
    return trend;
}

static void grow_close(struct growth *growth)
{
    readback_release(&growth->rb);
    stage_close(&growth->stage);
}

static void marks_are_right(const struct growth *growth, const struct lp_trend_record *trend)
{
    uint64_t blur = (UINT64_C(1) << trend->shift) - 1;
    for (uint32_t i = 0; i < trend->count; i++) {
        uint64_t wall = growth->walls[(i + 1) * trend->stride], mark = (uint64_t)trend->mark[i] << trend->shift;
        assert_true(mark <= wall && wall - mark <= blur);
    }
}

static void test_a_path_that_is_rarely_entered_has_no_trend(void **state)
{
    struct growth growth;
    (void)state;
    grow_open(&growth);
    grow(&growth, LP_TREND_STRIDE - 1, 1000);
    assert_null(trend_read(&growth));
    grow_close(&growth);
}

static void test_a_mark_is_the_wall_after_so_many_entries(void **state)
{
    struct growth growth;
    const struct lp_trend_record *trend;
    (void)state;
    grow_open(&growth);
    grow(&growth, 5 * LP_TREND_STRIDE + 1, 1000);
    trend = trend_read(&growth);
    assert_non_null(trend);
    assert_int_equal(trend->stride, LP_TREND_STRIDE);
    assert_int_equal(trend->count, 5);
    assert_int_equal(trend->shift, 0);
    marks_are_right(&growth, trend);
    grow_close(&growth);
}

static void test_a_full_record_thins_itself_out(void **state)
{
    static const uint32_t at[] = {LP_TREND_MARKS * LP_TREND_STRIDE - 1, 1, 7, 1, 5000, 14879, 1};
    struct growth growth;
    const struct lp_trend_record *trend;
    (void)state;
    grow_open(&growth);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        grow(&growth, at[i], 100);
        trend = trend_read(&growth);
        assert_non_null(trend);
        assert_in_range(trend->count, LP_TREND_MARKS / 2, LP_TREND_MARKS - 1);
        assert_int_equal(trend->count, growth.entries / trend->stride);
        marks_are_right(&growth, trend);
        readback_release(&growth.rb);
    }
    (void)trend_read(&growth);
    grow_close(&growth);
}

static void test_long_walls_lose_resolution_not_marks(void **state)
{
    struct growth growth;
    const struct lp_trend_record *trend;
    (void)state;
    grow_open(&growth);
    grow(&growth, 8, 1);
    grow(&growth, 100, UINT64_C(1) << 33);
    trend = trend_read(&growth);
    assert_non_null(trend);
    assert_int_equal(trend->count, 27);
    assert_true(trend->shift > 3);
    assert_true(trend->mark[26] > UINT32_MAX / 4);
    marks_are_right(&growth, trend);
    grow_close(&growth);
}

/* Takes all that is left for histograms and trends. */
static void fill_up(struct lp_thread *thread)
{
    thread->home->store.reserved = thread->home->store.mapped;
    while (lp__record_next(thread, &thread->hists, LP_SEGMENT_HIST, sizeof(struct lp_hist_block)))
        lp__record_commit(&thread->hists, sizeof(struct lp_hist_block));
}

static void test_a_first_mark_without_space_is_the_last(void **state)
{
    struct growth growth;
    uint64_t reserved;
    (void)state;
    grow_open(&growth);
    grow(&growth, 1, 1000);
    reserved = growth.stage.recording->store.reserved;
    fill_up(growth.thread);
    grow(&growth, LP_TREND_STRIDE, 1000);
    growth.stage.recording->store.reserved = reserved;
    growth.stage.recording->store.grow_refused_at = 0;
    grow(&growth, 100, 1000);
    assert_null(trend_read(&growth));
    assert_int_equal(phase_at(&growth.rb, "step").calls, LP_TREND_STRIDE + 101);
    grow_close(&growth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_that_is_rarely_entered_has_no_trend),
        cmocka_unit_test(test_a_mark_is_the_wall_after_so_many_entries),
        cmocka_unit_test(test_a_full_record_thins_itself_out),
        cmocka_unit_test(test_long_walls_lose_resolution_not_marks),
        cmocka_unit_test(test_a_first_mark_without_space_is_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
