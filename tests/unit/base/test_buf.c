/* The growing buffer: what is appended comes out, the ceiling holds, and the first failure sticks. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"

static void test_appends_add_up(void **state)
{
    (void)state;
    struct lp_buf buf;
    lp__buf_init(&buf, 1000);
    assert_null(buf.data);
    lp__buf_adds(&buf, "one ");
    lp__buf_add(&buf, "two\0three", 9);
    lp__buf_addc(&buf, '!');
    lp__buf_addf(&buf, "<%d,%s>", 42, "x");
    lp__buf_pad(&buf, '.', 3);
    assert_int_equal(buf.failed, LP_OK);
    assert_int_equal(buf.len, 4 + 9 + 1 + 6 + 3);
    assert_memory_equal(buf.data, "one two\0three!<42,x>...", buf.len + 1);
    lp__buf_release(&buf);
    assert_null(buf.data);
}

static void test_empty_append_gives_a_string(void **state)
{
    (void)state;
    struct lp_buf buf;
    lp__buf_init(&buf, 10);
    lp__buf_adds(&buf, "");
    assert_string_equal(buf.data, "");
    lp__buf_release(&buf);
}

/* Byte by byte and formatted, for ceilings around every growth step. */
static void test_ceiling_is_exact(void **state)
{
    (void)state;
    for (size_t ceiling = 0; ceiling < 300; ceiling++) {
        struct lp_buf buf;
        lp__buf_init(&buf, ceiling);
        for (size_t i = 0; i < ceiling; i++)
            lp__buf_addc(&buf, 'x');
        assert_int_equal(buf.failed, LP_OK);
        assert_int_equal(buf.len, ceiling);
        assert_true(buf.cap <= ceiling + 1);
        lp__buf_addf(&buf, "%c", 'y');
        assert_int_equal(buf.failed, LP_ERR_LIMIT);
        assert_int_equal(buf.len, ceiling);
        lp__buf_release(&buf);
    }
}

static void test_failure_sticks_until_cleared(void **state)
{
    (void)state;
    struct lp_buf buf;
    lp__buf_init(&buf, 4);
    lp__buf_adds(&buf, "abc");
    lp__buf_adds(&buf, "de");
    lp__buf_addc(&buf, 'f'); /* would fit, but the text would have a hole */
    assert_int_equal(buf.failed, LP_ERR_LIMIT);
    assert_string_equal(buf.data, "abc");
    lp__buf_clear(&buf);
    assert_string_equal(buf.data, "");
    lp__buf_adds(&buf, "wxyz");
    assert_int_equal(buf.failed, LP_OK);
    assert_string_equal(buf.data, "wxyz");
    lp__buf_release(&buf);
}

static void test_no_memory_keeps_what_was_there(void **state)
{
    (void)state;
    struct lp_buf buf;
    lp__buf_init(&buf, SIZE_MAX);
    lp__buf_adds(&buf, "kept");
    lp__mem_fail_after(0);
    lp__buf_pad(&buf, 'x', 1000);
    lp__mem_fail_after(-1);
    lp__buf_adds(&buf, "later");
    assert_int_equal(buf.failed, LP_ERR_NO_MEMORY);
    assert_string_equal(buf.data, "kept");
    lp__buf_clear(&buf);
    lp__buf_pad(&buf, 'x', SIZE_MAX - 1); /* must not wrap around */
    assert_true(buf.failed == LP_ERR_LIMIT || buf.failed == LP_ERR_NO_MEMORY);
    lp__buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends_add_up),
        cmocka_unit_test(test_empty_append_gives_a_string),
        cmocka_unit_test(test_ceiling_is_exact),
        cmocka_unit_test(test_failure_sticks_until_cleared),
        cmocka_unit_test(test_no_memory_keeps_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
