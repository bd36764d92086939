/* Labels made of hostile bytes: safe, bounded, cut at the head with a mark. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/escape.h"

static void check(const char *bytes, size_t len, size_t columns, bool utf8, const char *want, size_t want_columns)
{
    struct lp_buf out;
    lp__buf_init(&out, 1 << 20);
    lp__buf_adds(&out, "");
    size_t used = lp__escape_label(&out, bytes, len, columns, utf8);
    assert_string_equal(out.data ? out.data : "", want);
    assert_int_equal(used, want_columns);
    lp__buf_release(&out);
}

static void test_short_labels_stay(void **state)
{
    (void)state;
    check("iteration/select", 16, 24, true, "iteration/select", 16);
    check("", 0, 24, true, "", 0);
    check("exactly8", 8, 8, true, "exactly8", 8);
    check("\xC3\xA9t\xC3\xA9", 5, 24, true, "\xC3\xA9t\xC3\xA9", 3);
}

static void test_long_labels_keep_their_tail(void **state)
{
    (void)state;
    check("train_step/forward_backward", 27, 24, true, "\xE2\x80\xA6n_step/forward_backward", 24);
    check("train_step/forward_backward", 27, 24, false, ".._step/forward_backward", 24);
}

static void test_unsafe_characters_are_replaced(void **state)
{
    (void)state;
    check("a\nb", 3, 9, true,
          "a\xEF\xBF\xBD"
          "b",
          3);
    check("a\0b", 3, 9, false, "a?b", 3);
    check("\x1b[31m", 5, 9, true, "\xEF\xBF\xBD[31m", 5);
    check("\xC2\x85", 2, 9, true, "\xEF\xBF\xBD", 1);     /* C1 */
    check("\xE2\x80\xA8", 3, 9, true, "\xEF\xBF\xBD", 1); /* U+2028 */
    check("\xE2\x80\xAE", 3, 9, true, "\xEF\xBF\xBD", 1); /* right-to-left override */
    check("\xED\xA0\x80", 3, 9, true, "\xEF\xBF\xBD", 1); /* lone surrogate */
    check("\xFF\xC3", 2, 9, true, "\xEF\xBF\xBD\xEF\xBF\xBD", 2);
    check("\xE4\xBD\xA0", 3, 9, false, "?", 1);
}

static void test_wide_characters_take_two_columns(void **state)
{
    (void)state;
    check("\xE4\xBD\xA0\xE5\xA5\xBD", 6, 4, true, "\xE4\xBD\xA0\xE5\xA5\xBD", 4);
    check("\xE4\xBD\xA0\xE5\xA5\xBD", 6, 3, true, "\xE2\x80\xA6\xE5\xA5\xBD", 3);
    check("a\xE4\xBD\xA0\xE5\xA5\xBD", 7, 4, true, "\xE2\x80\xA6\xE5\xA5\xBD", 3); /* half a character does not fit */
}

static void test_no_room_for_a_mark(void **state)
{
    (void)state;
    check("abc", 3, 0, true, "", 0);
    check("abc", 3, 1, true, "\xE2\x80\xA6", 1);
    check("abc", 3, 1, false, "", 0);
}

static void test_output_is_bounded_whatever_comes_in(void **state)
{
    static char bytes[1 << 20];
    static const char *const units[] = {"x", "\xCC\x81", "\xFF", "\xE2\x80\xAE", "\xE4\xBD\xA0", "\x80"};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit = strlen(units[i]), len = sizeof bytes / unit * unit;
        for (size_t at = 0; at < len; at += unit)
            memcpy(bytes + at, units[i], unit);
        for (int utf8 = 0; utf8 < 2; utf8++) {
            struct lp_buf out;
            lp__buf_init(&out, 1 << 20);
            assert_true(lp__escape_label(&out, bytes, len, 24, utf8) <= 24);
            assert_true(out.len <= 12 * 24);
            lp__buf_clear(&out);
            assert_true(lp__escape_head(&out, bytes, len, 24, utf8) <= 24);
            assert_true(out.len <= 12 * 24);
            lp__buf_release(&out);
        }
    }
}

static void test_heads_keep_their_beginning(void **state)
{
    struct lp_buf out;
    (void)state;
    lp__buf_init(&out, 1 << 20);
    assert_int_equal(lp__escape_head(&out, "not read: x\ny", 13, 8, true), 8);
    assert_string_equal(out.data, "not rea\xE2\x80\xA6");
    lp__buf_clear(&out);
    assert_int_equal(lp__escape_head(&out, "not read: x\ny", 13, 80, false), 13);
    assert_string_equal(out.data, "not read: x?y");
    lp__buf_release(&out);
}

static void check_csv(const char *bytes, const char *want)
{
    struct lp_buf out;
    lp__buf_init(&out, 1 << 20);
    lp__escape_csv(&out, bytes, strlen(bytes));
    assert_string_equal(out.data, want);
    lp__buf_release(&out);
}

static void test_csv_cells_are_no_formulas(void **state)
{
    (void)state;
    check_csv("plain", "\"plain\"");
    check_csv("say \"hi\", twice", "\"say \"\"hi\"\", twice\"");
    check_csv("=1+1", "\"'=1+1\"");
    check_csv("-2", "\"'-2\"");
    check_csv("@x\n", "\"'@x\xEF\xBF\xBD\"");
    check_csv("", "\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_labels_stay),
        cmocka_unit_test(test_long_labels_keep_their_tail),
        cmocka_unit_test(test_unsafe_characters_are_replaced),
        cmocka_unit_test(test_wide_characters_take_two_columns),
        cmocka_unit_test(test_no_room_for_a_mark),
        cmocka_unit_test(test_output_is_bounded_whatever_comes_in),
        cmocka_unit_test(test_heads_keep_their_beginning),
        cmocka_unit_test(test_csv_cells_are_no_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
