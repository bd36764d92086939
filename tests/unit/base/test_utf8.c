/* UTF-8: every code point goes round, every malformed byte is one bad character, unsafe characters by example. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <string.h>

#include "base/utf8.h"

static void test_every_code_point_goes_round(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char bytes[4];
        size_t at = 0, size = lp__utf8_put(bytes, c);
        assert_int_equal(lp__utf8_next(bytes, size, &at), c);
        assert_int_equal(at, size);
    }
}

static void test_cut_characters_are_bad_bytes(void **state)
{
    (void)state;
    for (uint32_t c = 0x80; c <= 0x10FFFF; c += 97) {
        char bytes[4];
        size_t size = lp__utf8_put(bytes, c);
        for (size_t cut = 1; cut < size; cut++) {
            size_t at = 0;
            for (size_t i = 1; i <= cut; i++) {
                assert_int_equal(lp__utf8_next(bytes, cut, &at), LP_UTF8_BAD);
                assert_int_equal(at, i);
            }
        }
    }
}

static void assert_bad(const char *bytes, size_t len)
{
    size_t at = 0;
    assert_int_equal(lp__utf8_next(bytes, len, &at), LP_UTF8_BAD);
    assert_int_equal(at, 1);
}

static void test_malformed_bytes_are_refused(void **state)
{
    (void)state;
    assert_bad("\x80", 1);             /* continuation alone */
    assert_bad("\xC0\x80", 2);         /* overlong NUL */
    assert_bad("\xC1\xBF", 2);         /* overlong */
    assert_bad("\xE0\x80\x80", 3);     /* overlong */
    assert_bad("\xE0\x9F\xBF", 3);     /* overlong */
    assert_bad("\xF0\x80\x80\x80", 4); /* overlong */
    assert_bad("\xF4\x90\x80\x80", 4); /* above U+10FFFF */
    assert_bad("\xF5\x80\x80\x80", 4);
    assert_bad("\xFE", 1);
    assert_bad("\xFF", 1);
    assert_bad("\xE2\x82\x41", 3); /* broken off by a letter */
    assert_bad("\xC3\xC3", 2);
}

static void test_lone_surrogate_is_itself(void **state)
{
    (void)state;
    size_t at = 0;
    assert_int_equal(lp__utf8_next("\xED\xA0\xBD", 3, &at), 0xD83D);
    assert_int_equal(at, 3);
}

static void test_put_refuses_what_is_no_code_point(void **state)
{
    (void)state;
    char bytes[4];
    assert_int_equal(lp__utf8_put(bytes, 0x110000), 3);
    assert_memory_equal(bytes, "\xEF\xBF\xBD", 3);
    assert_int_equal(lp__utf8_put(bytes, LP_UTF8_BAD), 3);
}

static void test_unsafe_characters(void **state)
{
    (void)state;
    static const uint32_t unsafe[] = {0,      '\n',    0x1B,     0x7F,    0x85,     0x9B,       0xAD,
                                      0x061C, 0x200B,  0x200D,   0x200E,  0x2028,   0x2029,     0x202E,
                                      0x2066, 0x2069,  0xD800,   0xDFFF,  0xFDD0,   0xFEFF,     0xFFFE,
                                      0xFFFF, 0x1FFFE, 0x10FFFF, 0xE0041, 0x110000, LP_UTF8_BAD};
    static const uint32_t safe[] = {' ',    '~',    0xA0,   0xE9,   0x3B1,  0x5D0,
                                    0x2026, 0x20AC, 0x4E2D, 0xFE0F, 0xFFFD, 0x1F600};
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        assert_true(lp__utf8_is_unsafe(unsafe[i]));
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++)
        assert_false(lp__utf8_is_unsafe(safe[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point_goes_round),       cmocka_unit_test(test_cut_characters_are_bad_bytes),
        cmocka_unit_test(test_malformed_bytes_are_refused),       cmocka_unit_test(test_lone_surrogate_is_itself),
        cmocka_unit_test(test_put_refuses_what_is_no_code_point), cmocka_unit_test(test_unsafe_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
