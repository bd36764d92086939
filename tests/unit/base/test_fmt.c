/* Printed numbers: units at every boundary, grouping, and a point whatever the locale. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/fmt.h"

struct number_case {
    double value;
    const char *text;
};

static void check(char *(*format)(char *, size_t, double), const struct number_case *cases, size_t count)
{
    char out[LP_FMT_CAP];
    for (size_t i = 0; i < count; i++)
        assert_string_equal(format(out, sizeof out, cases[i].value), cases[i].text);
}
#define CHECK(format, cases) check(format, cases, sizeof cases / sizeof *cases)

static void test_durations(void **state)
{
    (void)state;
    static const struct number_case cases[] = {
        {0, "0ns"},          {853, "853ns"},       {999.4, "999ns"},     {999.6, "1.0us"},      {4500, "4.5us"},
        {999940, "999.9us"}, {999960, "1.0ms"},    {111.2e6, "111.2ms"}, {999.96e6, "1.00s"},   {3.51e9, "3.51s"},
        {59.99e9, "59.99s"}, {59.996e9, "1m 00s"}, {245e9, "4m 05s"},    {3599.4e9, "59m 59s"}, {3599.6e9, "1h 00m"},
        {3720e9, "1h 02m"},  {43200e9, "12h 00m"}, {1e15, "277h 47m"},   {-1, "n/a"},           {LP_NAN, "n/a"},
        {HUGE_VAL, "n/a"},
    };
    CHECK(lp__fmt_duration, cases);
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct number_case cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1023.6, "1.0 KB"},
        {1024, "1.0 KB"},
        {1048524, "1023.9 KB"},
        {1048575, "1.0 MB"},
        {16357786, "15.6 MB"},
        {1099511627776, "1.0 TB"},
        {1e18, "909494.7 TB"},
        {-2048, "-2.0 KB"},
        {LP_NAN, "n/a"},
    };
    CHECK(lp__fmt_bytes, cases);
}

static void test_rates_and_shares(void **state)
{
    (void)state;
    static const struct number_case rates[] = {
        {0, "0.0/s"},
        {999.94, "999.9/s"},
        {999.96, "1,000.0/s"},
        {1234.5, "1,234.5/s"},
        {1234567.89, "1,234,567.9/s"},
        {1.234e15, "1.23e+15/s"},
        {9.999e20, "1.00e+21/s"},
        {-1234.5, "-1,234.5/s"},
        {LP_NAN, "n/a"},
    };
    static const struct number_case shares[] = {{0.601, "60.1%"},   {1, "100.0%"},   {0, "0.0%"},
                                                {-0.00001, "0.0%"}, {LP_NAN, "n/a"}, {-HUGE_VAL, "n/a"}};
    CHECK(lp__fmt_rate, rates);
    CHECK(lp__fmt_pct, shares);
}

static void test_counts(void **state)
{
    (void)state;
    char out[64];
    assert_string_equal(lp__fmt_count(out, sizeof out, 0), "0");
    assert_string_equal(lp__fmt_count(out, sizeof out, 999), "999");
    assert_string_equal(lp__fmt_count(out, sizeof out, 1000), "1,000");
    assert_string_equal(lp__fmt_count(out, sizeof out, 1234567), "1,234,567");
    assert_string_equal(lp__fmt_count(out, sizeof out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_wide_counts(void **state)
{
    (void)state;
    char out[64];
    assert_string_equal(lp__fmt_count128(out, sizeof out, 0, 0), "0");
    assert_string_equal(lp__fmt_count128(out, sizeof out, -1, UINT64_MAX), "-1");
    assert_string_equal(lp__fmt_count128(out, sizeof out, -1, (uint64_t)-1234567), "-1,234,567");
    assert_string_equal(lp__fmt_count128(out, sizeof out, 1, 0), "18,446,744,073,709,551,616");
    assert_string_equal(lp__fmt_count128(out, 56, INT64_MIN, 0),
                        "-170,141,183,460,469,231,731,687,303,715,884,105,728");
    assert_string_equal(lp__fmt_i128(out, 41, INT64_MAX, UINT64_MAX), "170141183460469231731687303715884105727");
}

static void test_never_past_the_end(void **state)
{
    (void)state;
    for (size_t cap = 0; cap < 12; cap++) {
        char out[64];
        memset(out, '#', sizeof out);
        lp__fmt_count(out, cap, 1234567890);
        lp__fmt_count128(out, cap, -5, 17);
        lp__fmt_duration(out, cap, 245e9);
        lp__fmt_bytes(out, cap, 1e9);
        lp__fmt_rate(out, cap, 1e9);
        lp__fmt_fixed(out, cap, 1e9, 3);
        for (size_t i = cap; i < sizeof out; i++)
            assert_int_equal(out[i], '#');
        if (cap) assert_true(memchr(out, '\0', cap) != NULL);
    }
}

static void test_point_in_every_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    char out[LP_FMT_CAP];
    for (size_t i = 0; i < sizeof names / sizeof *names && !setlocale(LC_NUMERIC, names[i]); i++) {
    }
    assert_string_equal(lp__fmt_fixed(out, sizeof out, 1234.5, 2), "1234.50");
    assert_string_equal(lp__fmt_fixed(out, sizeof out, -0.25, 1), "-0.2");
    assert_string_equal(lp__fmt_fixed(out, sizeof out, -0.01, 1), "0.0");
    assert_string_equal(lp__fmt_duration(out, sizeof out, 3.51e9), "3.51s");
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_rates_and_shares),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_wide_counts),
        cmocka_unit_test(test_never_past_the_end),
        cmocka_unit_test(test_point_in_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
