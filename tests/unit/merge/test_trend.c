/* Tenths of a node's entries from its marks: exact on a straight line, interpolated on others, nothing from a record
 * that cannot be right, and sums over threads. */
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

static int set_up(void **state)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) return -1;
    image_init(image);
    (void)image_thread(image, 0);
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

static struct lp_run_phase step_of(struct image *image)
{
    struct lp_run *run = NULL;
    image_seal(image);
    assert_int_equal(lp__run_load_image(image->bytes, image->len, &run, NULL), LP_OK);
    const struct lp_run_phase *found = run_phase(run, &run->roles[0].tree, "step");
    assert_non_null(found);
    struct lp_run_phase phase = *found;
    lp__run_free(run);
    return phase;
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted) + 1e-6)) fail_msg("%g instead of %g", value, wanted);
}

/* Two thousand entries of 1,000 ticks: a mark each 100, the last 20 marks in use. */
static lp_ref even(struct image *image, lp_ref *node)
{
    *node = image_node(image, image_root(image, 0), "step", 2000, 1000);
    return image_trend(image, *node, 100, 20, 1000);
}

static void even_entries_have_even_tenths(void **state)
{
    lp_ref node;
    (void)even(*state, &node);
    struct lp_run_phase step = step_of(*state);
    assert_int_equal(step.trend_calls, 2000);
    assert_near(step.first_tenth_ns, 200 * 1000 * IMAGE_NS_PER_TICK);
    assert_near(step.last_tenth_ns, 200 * 1000 * IMAGE_NS_PER_TICK);
}

/* Entry k of 100 takes k ticks; marks each 8, so that both tenths lie between marks. */
static void growing_entries_have_growing_tenths(void **state)
{
    struct image *image = *state;
    lp_ref node = image_node(image, image_root(image, 0), "step", 100, 50);
    lp_ref trend = image_trend(image, node, 8, 12, 0);
    struct lp_trend_record *record = image_at(image, trend);
    for (uint32_t i = 0; i < 12; i++)
        record->mark[i] = (8 * i + 8) * (8 * i + 9) / 2;
    ((struct lp_node_record *)image_at(image, node))->wall = 5050;
    struct lp_run_phase step = step_of(image);
    /* after 10 entries: 36 + 2/8 of 100; after 90: 3916 + 2/8 of 740 */
    assert_near(step.first_tenth_ns, 61 * IMAGE_NS_PER_TICK);
    assert_near(step.last_tenth_ns, (5050 - 4101) * IMAGE_NS_PER_TICK);
}

static void a_shift_is_undone(void **state)
{
    lp_ref node, trend = even(*state, &node);
    struct lp_trend_record *record = image_at(*state, trend);
    for (uint32_t i = 0; i < 20; i++)
        record->mark[i] >>= 3;
    record->shift = 3;
    struct lp_run_phase step = step_of(*state);
    assert_near(step.first_tenth_ns, 200 * 1000 * IMAGE_NS_PER_TICK);
}

static void tenths_of_threads_add_up(void **state)
{
    struct image *image = *state;
    lp_ref first;
    (void)even(image, &first);
    lp_ref second = image_node(image, image_root(image, 0), "step", 70, 4000);
    (void)image_trend(image, second, 10, 7, 4000);
    (void)image_node(image, image_root(image, 0), "step", 30, 9000); /* without a trend */
    struct lp_run_phase step = step_of(image);
    assert_int_equal(step.calls, 2100);
    assert_int_equal(step.trend_calls, 2070);
    assert_near(step.first_tenth_ns, (200 * 1000 + 7 * 4000) * IMAGE_NS_PER_TICK);
    assert_near(step.last_tenth_ns, (200 * 1000 + 7 * 4000) * IMAGE_NS_PER_TICK);
}

static void marks_beyond_the_sums_are_left_out(void **state)
{
    lp_ref node;
    (void)even(*state, &node);
    struct lp_node_record *record = image_at(*state, node); /* read before the writer went on */
    record->calls = record->begun = 1000;
    record->wall = 1000 * 1000;
    struct lp_run_phase step = step_of(*state);
    assert_int_equal(step.trend_calls, 1000);
    assert_near(step.last_tenth_ns, 100 * 1000 * IMAGE_NS_PER_TICK);
}

static void few_marks_are_no_trend(void **state)
{
    lp_ref node, trend = even(*state, &node);
    ((struct lp_trend_record *)image_at(*state, trend))->count = 6;
    assert_int_equal(step_of(*state).trend_calls, 0);
    ((struct lp_trend_record *)image_at(*state, trend))->count = 0; /* killed while it was thinned out */
    assert_int_equal(step_of(*state).trend_calls, 0);
}

struct damage {
    const char *what;
    size_t offset, bytes;
    uint64_t value;
};

static void a_record_that_cannot_be_right_is_no_trend(void **state)
{
    static const struct damage damages[] = {
        {"stride", offsetof(struct lp_trend_record, stride), 8, 0},
        {"stride", offsetof(struct lp_trend_record, stride), 8, UINT64_MAX},
        {"count", offsetof(struct lp_trend_record, count), 4, LP_TREND_MARKS + 1},
        {"count", offsetof(struct lp_trend_record, count), 4, UINT32_MAX},
        {"shift", offsetof(struct lp_trend_record, shift), 4, 33},
        {"shift", offsetof(struct lp_trend_record, shift), 4, 64},
        {"mark", offsetof(struct lp_trend_record, mark) + 12, 4, 0},
    };
    lp_ref node, trend = even(*state, &node);
    struct lp_trend_record good;
    memcpy(&good, image_at(*state, trend), sizeof good);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        uint8_t *record = image_at(*state, trend);
        memcpy(record, &good, sizeof good);
        memcpy(record + damages[i].offset, &damages[i].value, damages[i].bytes);
        struct lp_run_phase step = step_of(*state);
        if (step.trend_calls) fail_msg("%s %llu", damages[i].what, (unsigned long long)damages[i].value);
        assert_int_equal(step.calls, 2000);
    }
}

static void a_reference_to_elsewhere_is_no_trend(void **state)
{
    lp_ref node;
    (void)even(*state, &node);
    struct lp_node_record *record = image_at(*state, node);
    lp_ref elsewhere[] = {0, 1, node, UINT32_MAX, record->name};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        ((struct lp_node_record *)image_at(*state, node))->trend = elsewhere[i];
        assert_int_equal(step_of(*state).trend_calls, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(even_entries_have_even_tenths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(growing_entries_have_growing_tenths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shift_is_undone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tenths_of_threads_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_beyond_the_sums_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(few_marks_are_no_trend, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_record_that_cannot_be_right_is_no_trend, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reference_to_elsewhere_is_no_trend, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
