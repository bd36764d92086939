/* The error table: every row is complete, and an error's detail is one bounded line. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static const enum lp_err all[] = {
#define CODE(name, number, slug, message, python, exit_status) LP_ERR_##name,
    LP_ERR_TABLE(CODE)
#undef CODE
};
enum { ALL_COUNT = sizeof all / sizeof *all };

static void test_every_row_is_complete_and_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL_COUNT; i++) {
        assert_true(all[i] < 0);
        assert_true(strlen(lp__err_slug(all[i])) > 0);
        assert_true(strlen(lp__err_message(all[i])) > 0);
        assert_true(strlen(lp__err_python_class(all[i])) > 0);
        assert_true(lp__err_exit_status(all[i]) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(all[i], all[j]);
            assert_string_not_equal(lp__err_slug(all[i]), lp__err_slug(all[j]));
        }
    }
}

static void test_success_and_foreign_numbers_have_words(void **state)
{
    (void)state;
    assert_string_equal(lp__err_slug(LP_OK), "ok");
    assert_int_equal(lp__err_exit_status(LP_OK), 0);
    assert_string_equal(lp__err_slug((enum lp_err) - 999), "unknown");
    assert_int_equal(lp__err_exit_status((enum lp_err) - 999), 2);
}

static void test_fail_fills_and_returns(void **state)
{
    (void)state;
    struct lp_error err;
    memset(&err, 0xAA, sizeof err);
    assert_int_equal(lp__fail(&err, LP_ERR_IO, EACCES, "file %s, section %d", "a\nb\rc", 7), LP_ERR_IO);
    assert_int_equal(err.code, LP_ERR_IO);
    assert_int_equal(err.sys_errno, EACCES);
    assert_int_equal(err.offset, 0);
    assert_string_equal(err.detail, "file a b c, section 7");
    assert_int_equal(lp__fail(NULL, LP_ERR_LIMIT, 0, "nobody asks"), LP_ERR_LIMIT);
}

static void test_long_detail_is_cut(void **state)
{
    (void)state;
    char long_name[1000];
    struct lp_error err;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    (void)lp__fail(&err, LP_ERR_IO, 0, "%s", long_name);
    assert_int_equal(strlen(err.detail), sizeof err.detail - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_complete_and_unique),
        cmocka_unit_test(test_success_and_foreign_numbers_have_words),
        cmocka_unit_test(test_fail_fills_and_returns),
        cmocka_unit_test(test_long_detail_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
