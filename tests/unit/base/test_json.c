/* The JSON writer: layout, numbers, and strings that are safe inside a page whatever bytes they hold. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"

static struct lp_buf buf;
static struct lp_json json;

static int set_up(void **state)
{
    (void)state;
    lp__buf_init(&buf, 1 << 20);
    lp__json_init(&json, &buf, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lp__buf_release(&buf);
    return 0;
}

static void write_sample(void)
{
    lp__json_open(&json, '{');
    lp__json_key(&json, "empty");
    lp__json_open(&json, '[');
    lp__json_close(&json, ']');
    lp__json_key(&json, "list");
    lp__json_open(&json, '[');
    lp__json_u64(&json, 1);
    lp__json_bool(&json, true);
    lp__json_null(&json);
    lp__json_close(&json, ']');
    lp__json_key(&json, "name");
    lp__json_text(&json, NULL);
    lp__json_close(&json, '}');
}

static void test_one_line(void **state)
{
    (void)state;
    write_sample();
    assert_string_equal(buf.data, "{\"empty\": [], \"list\": [1, true, null], \"name\": null}");
}

static void test_indented(void **state)
{
    (void)state;
    lp__json_init(&json, &buf, 2);
    write_sample();
    assert_string_equal(buf.data,
                        "{\n  \"empty\": [],\n  \"list\": [\n    1,\n    true,\n    null\n  ],\n  \"name\": null\n}");
}

static void check_string(const char *bytes, size_t len, const char *expected)
{
    lp__buf_clear(&buf);
    lp__json_init(&json, &buf, 0);
    lp__json_str(&json, bytes, len);
    assert_string_equal(buf.data, expected);
}

static void test_strings(void **state)
{
    (void)state;
    check_string("", 0, "\"\"");
    check_string("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    check_string("\n\t\r\b\f", 5, "\"\\n\\t\\r\\b\\f\"");
    check_string("a\0b\x1b\x7f", 5, "\"a\\u0000b\\u001b\\u007f\"");
    check_string("</script>&", 10, "\"\\u003c/script\\u003e\\u0026\"");
    check_string("\xE2\x80\xA8\xE2\x80\xA9", 6, "\"\\u2028\\u2029\"");
    check_string("\xC3\xA9\xF0\x9F\x98\x80", 6, "\"\xC3\xA9\xF0\x9F\x98\x80\"");
    check_string("\xED\xA0\x80", 3, "\"\\ud800\"");
    check_string("x\xFFy\xC3", 4, "\"x\xEF\xBF\xBDy\xEF\xBF\xBD\"");
    check_string("\xC2\x9B", 2, "\"\\u009b\"");
}

static void check_double(double value, int digits, const char *expected)
{
    lp__buf_clear(&buf);
    lp__json_init(&json, &buf, 0);
    lp__json_double(&json, value, digits);
    assert_string_equal(buf.data, expected);
}

static void test_doubles(void **state)
{
    (void)state;
    check_double(0, 3, "0");
    check_double(1.5, 3, "1.5");
    check_double(100, 2, "100");
    check_double(100, 0, "100");
    check_double(0.5, 0, "0");
    check_double(1.5, 0, "2");
    check_double(2.5, 0, "2");
    check_double(-0.4, 0, "0");
    check_double(-1e15 - 0.5, 0, "-1000000000000000");
    check_double(0x1p60, 0, "1152921504606846976");
    check_double(1.23456, 3, "1.235");
    check_double(-0.0001, 2, "0");
    check_double(LP_NAN, 2, "null");
    check_double(-HUGE_VAL, 2, "null");
    lp__buf_clear(&buf);
    lp__json_init(&json, &buf, 0);
    lp__json_double(&json, 1.7e308, 40);
    assert_true(strlen(buf.data) >= 309 && strspn(buf.data, "0123456789") == strlen(buf.data));
}

static void test_whole_numbers(void **state)
{
    (void)state;
    lp__json_open(&json, '[');
    lp__json_u64(&json, UINT64_MAX);
    lp__json_i64(&json, INT64_MIN);
    lp__json_i128(&json, 1, 0);
    lp__json_i128(&json, -1, UINT64_MAX);
    lp__json_close(&json, ']');
    assert_string_equal(buf.data, "[18446744073709551615, -9223372036854775808, 18446744073709551616, -1]");
}

static void test_too_deep_is_a_failure_not_a_crash(void **state)
{
    (void)state;
    for (int i = 0; i < LP_JSON_DEPTH - 1; i++)
        lp__json_open(&json, '[');
    assert_int_equal(buf.failed, LP_OK);
    lp__json_open(&json, '[');
    assert_int_equal(buf.failed, LP_ERR_LIMIT);
    for (int i = 0; i < 2 * LP_JSON_DEPTH; i++)
        lp__json_close(&json, ']');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_indented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_doubles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_whole_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_deep_is_a_failure_not_a_crash, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
