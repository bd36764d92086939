/* The histogram against the exact multiset: buckets, quantiles within their bound, merging, scaling, and counts beyond
 * 32 bits. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fmt.h"
#include "base/hist.h"

enum { VALUES = 4000 };

static uint64_t seed = 7;

static uint64_t random_number(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed ^ seed >> 29;
}

/* Any magnitude with equal chance. */
static uint64_t random_value(void)
{
    return random_number() >> (random_number() >> 32) % 64;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t total(const struct lp_hist *hist)
{
    uint64_t sum = 0;
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++)
        for (unsigned sub = 0; hist->blocks[slot] && sub < LP_HIST_SUB_COUNT; sub++)
            sum += hist->blocks[slot][sub];
    return sum;
}

static void test_every_value_lies_in_its_bucket(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t value = i < 100000 ? (uint64_t)i : random_value();
        unsigned slot = lp__hist_slot(value), sub = lp__hist_sub(value, slot);
        assert_in_range(slot, 0, LP_HIST_SLOT_COUNT - 1);
        assert_true(value >= lp__hist_low(slot, sub));
        assert_true(value - lp__hist_low(slot, sub) < lp__hist_width(slot));
        assert_true(slot == 0 || lp__hist_width(slot) <= lp__hist_low(slot, sub) / 16);
    }
    assert_int_equal(lp__hist_slot(UINT64_MAX), LP_HIST_SLOT_COUNT - 1);
    assert_int_equal(lp__hist_sub(UINT64_MAX, LP_HIST_SLOT_COUNT - 1), LP_HIST_SUB_COUNT - 1);
}

/* Buckets follow each other without gap or overlap. */
static void test_buckets_are_contiguous(void **state)
{
    (void)state;
    uint64_t next = 0;
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++)
        for (unsigned sub = 0; sub < LP_HIST_SUB_COUNT; sub++) {
            assert_true(lp__hist_low(slot, sub) == next);
            next += lp__hist_width(slot);
        }
    assert_true(next == 0); /* 2^64 */
}

static void fill(struct lp_hist *hist, struct lp_arena *arena, uint64_t *values, uint64_t mask)
{
    for (int i = 0; i < VALUES; i++) {
        values[i] = random_value() & mask;
        assert_int_equal(lp__hist_add(hist, arena, values[i], 1), LP_OK);
    }
    qsort(values, VALUES, sizeof *values, compare_u64);
}

static void test_quantiles_stay_within_the_bucket(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist hist = {{0}, 0};
    uint64_t values[VALUES];
    lp__arena_init(&arena, SIZE_MAX);
    fill(&hist, &arena, values, UINT64_MAX >> 20);
    for (int i = 1; i <= VALUES; i++) {
        double exact = (double)values[i - 1];
        double got = lp__hist_quantile(&hist, (double)i / VALUES);
        assert_true(fabs(got - exact) <= exact / 16);
    }
    assert_true(lp__hist_quantile(&hist, 0) <= lp__hist_quantile(&hist, 1));
    assert_true(lp__hist_quantile(&hist, -3) == lp__hist_quantile(&hist, 0));
    assert_true(lp__hist_quantile(&hist, 7) == lp__hist_quantile(&hist, 1));
    lp__arena_release(&arena);
}

static void test_mean_and_deviation_come_close(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist hist = {{0}, 0};
    uint64_t values[VALUES];
    double sum = 0, squares = 0;
    lp__arena_init(&arena, SIZE_MAX);
    fill(&hist, &arena, values, 0xFFFF);
    for (int i = 0; i < VALUES; i++)
        sum += (double)values[i];
    for (int i = 0; i < VALUES; i++)
        squares += pow((double)values[i] - sum / VALUES, 2);
    assert_true(fabs(lp__hist_mean(&hist) - sum / VALUES) <= 0.032 * sum / VALUES);
    assert_true(fabs(lp__hist_stddev(&hist) - sqrt(squares / VALUES)) <= 0.05 * sqrt(squares / VALUES));
    lp__arena_release(&arena);
}

static void test_small_values_are_exact(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist hist = {{0}, 0};
    lp__arena_init(&arena, SIZE_MAX);
    for (uint64_t value = 1; value <= 5; value++)
        assert_int_equal(lp__hist_add(&hist, &arena, value, 2), LP_OK);
    assert_true(lp__hist_quantile(&hist, 0.5) == 3);
    assert_true(lp__hist_mean(&hist) == 3);
    assert_true(fabs(lp__hist_stddev(&hist) - sqrt(2)) < 1e-12);
    lp__arena_release(&arena);
}

static void test_empty_is_unmeasured(void **state)
{
    (void)state;
    struct lp_hist hist = {{0}, 0};
    assert_true(isnan(lp__hist_quantile(&hist, 0.5)));
    assert_true(isnan(lp__hist_mean(&hist)));
    assert_true(isnan(lp__hist_stddev(&hist)));
}

static void test_five_billion_entries_do_not_wrap(void **state)
{
    (void)state;
    const uint64_t many = UINT64_C(5000000000);
    struct lp_arena arena;
    struct lp_hist hist = {{0}, 0}, twice = {{0}, 0};
    lp__arena_init(&arena, SIZE_MAX);
    assert_int_equal(lp__hist_add(&hist, &arena, 1000, many), LP_OK);
    assert_int_equal(lp__hist_add(&hist, &arena, 3000, 1), LP_OK);
    assert_true(hist.count == many + 1 && total(&hist) == many + 1);
    assert_int_equal(lp__hist_merge(&twice, &arena, &hist), LP_OK);
    assert_int_equal(lp__hist_merge_scaled(&twice, &arena, &hist, 1.0), LP_OK);
    assert_true(twice.count == 2 * many + 2 && total(&twice) == 2 * many + 2);
    assert_true(fabs(lp__hist_quantile(&twice, 0.5) - 1000) < 63);
    lp__arena_release(&arena);
}

static void test_merge_equals_adding_everything(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist parts[3] = {{{0}, 0}}, whole = {{0}, 0}, merged = {{0}, 0};
    lp__arena_init(&arena, SIZE_MAX);
    for (int i = 0; i < VALUES; i++) {
        uint64_t value = random_value(), times = random_number() % 5;
        assert_int_equal(lp__hist_add(&parts[i % 3], &arena, value, times), LP_OK);
        assert_int_equal(lp__hist_add(&whole, &arena, value, times), LP_OK);
    }
    for (int i = 2; i >= 0; i--)
        assert_int_equal(lp__hist_merge(&merged, &arena, &parts[i]), LP_OK);
    assert_true(merged.count == whole.count);
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++) {
        assert_int_equal(!merged.blocks[slot], !whole.blocks[slot]);
        if (whole.blocks[slot])
            assert_memory_equal(merged.blocks[slot], whole.blocks[slot], LP_HIST_SUB_COUNT * sizeof(uint64_t));
    }
    lp__arena_release(&arena);
}

static void test_scaling_conserves_every_count(void **state)
{
    (void)state;
    static const double scales[] = {1e-300, 1e-9, 0.37, 0.408931, 1.0, 1.0000001, 2.445404, 40.0, 1e6, 1e12, 1e300};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct lp_arena arena;
        struct lp_hist from = {{0}, 0}, into = {{0}, 0};
        lp__arena_init(&arena, SIZE_MAX);
        for (int j = 0; j < 500; j++)
            assert_int_equal(lp__hist_add(&from, &arena, random_value(), random_number() % 1000), LP_OK);
        assert_int_equal(lp__hist_add(&from, &arena, UINT64_MAX, UINT64_C(1) << 60), LP_OK);
        assert_int_equal(lp__hist_add(&from, &arena, 0, 3), LP_OK);
        assert_int_equal(lp__hist_merge_scaled(&into, &arena, &from, scales[i]), LP_OK);
        assert_true(into.count == from.count);
        assert_true(total(&into) == from.count);
        lp__arena_release(&arena);
    }
}

static void test_scaling_moves_the_quantiles(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist ticks = {{0}, 0}, ns = {{0}, 0};
    uint64_t values[VALUES];
    lp__arena_init(&arena, SIZE_MAX);
    for (int i = 0; i < VALUES; i++) { /* even spread over one decade */
        values[i] = 10000 + (uint64_t)i * 25;
        assert_int_equal(lp__hist_add(&ticks, &arena, values[i], 1), LP_OK);
    }
    assert_int_equal(lp__hist_merge_scaled(&ns, &arena, &ticks, 0.4089), LP_OK);
    for (double q = 0.05; q < 1; q += 0.05) {
        double expected = (double)values[(int)(q * VALUES)] * 0.4089;
        assert_true(fabs(lp__hist_quantile(&ns, q) - expected) < 0.01 * expected);
    }
    lp__arena_release(&arena);
}

static void test_scale_one_changes_nothing(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist from = {{0}, 0}, into = {{0}, 0};
    lp__arena_init(&arena, SIZE_MAX);
    for (int i = 0; i < VALUES; i++)
        assert_int_equal(lp__hist_add(&from, &arena, random_value(), 3), LP_OK);
    assert_int_equal(lp__hist_merge_scaled(&into, &arena, &from, 1.0), LP_OK);
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++)
        if (from.blocks[slot])
            assert_memory_equal(into.blocks[slot], from.blocks[slot], LP_HIST_SUB_COUNT * sizeof(uint64_t));
    lp__arena_release(&arena);
}

static void test_wrong_use_is_refused(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_hist hist = {{0}, 0}, from = {{0}, 0};
    uint64_t counts[LP_HIST_SUB_COUNT] = {1};
    lp__arena_init(&arena, SIZE_MAX);
    assert_int_equal(lp__hist_add(&from, &arena, 5, 5), LP_OK);
    assert_int_equal(lp__hist_merge_scaled(&hist, &arena, &from, 0), LP_ERR_USAGE);
    assert_int_equal(lp__hist_merge_scaled(&hist, &arena, &from, -1), LP_ERR_USAGE);
    assert_int_equal(lp__hist_merge_scaled(&hist, &arena, &from, LP_NAN), LP_ERR_USAGE);
    assert_int_equal(lp__hist_add_block(&hist, &arena, LP_HIST_SLOT_COUNT, counts), LP_ERR_FORMAT);
    lp__mem_fail_after(0);
    assert_int_equal(lp__hist_add_block(&hist, &(struct lp_arena){.ceiling = SIZE_MAX}, 0, counts), LP_ERR_NO_MEMORY);
    lp__mem_fail_after(-1);
    assert_true(hist.count == 0);
    lp__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_lies_in_its_bucket),   cmocka_unit_test(test_buckets_are_contiguous),
        cmocka_unit_test(test_quantiles_stay_within_the_bucket), cmocka_unit_test(test_mean_and_deviation_come_close),
        cmocka_unit_test(test_small_values_are_exact),           cmocka_unit_test(test_empty_is_unmeasured),
        cmocka_unit_test(test_five_billion_entries_do_not_wrap), cmocka_unit_test(test_merge_equals_adding_everything),
        cmocka_unit_test(test_scaling_conserves_every_count),    cmocka_unit_test(test_scaling_moves_the_quantiles),
        cmocka_unit_test(test_scale_one_changes_nothing),        cmocka_unit_test(test_wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
