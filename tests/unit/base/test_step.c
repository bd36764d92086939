/* Steps of a path: which are quoted, and how they are put together from the end. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/step.h"

#define CAP 16

static const char *put(char *out, const char *name, size_t at)
{
    out[at] = '\0';
    return out + lp__step_put_before(out, at, name, strlen(name));
}

static void test_what_could_be_mistaken_is_quoted(void **state)
{
    char out[CAP + 1];
    (void)state;
    assert_string_equal(put(out, "a", CAP), "a");
    assert_string_equal(put(out, "a b\\c", CAP), "a b\\c");
    assert_string_equal(put(out, "say \"x\"", CAP), "say \"x\"");
    assert_string_equal(put(out, "a/b", CAP), "\"a/b\"");
    assert_string_equal(put(out, "/", CAP), "\"/\"");
    assert_string_equal(put(out, "", CAP), "\"\"");
    assert_string_equal(put(out, "\"\"", CAP), "\"\"\"\"");
    assert_string_equal(put(out, "\"a", CAP), "\"\"a\"");
    assert_true(lp__step_is_quoted("a\0/", 3));
}

static void test_what_does_not_fit_loses_its_beginning(void **state)
{
    char out[CAP + 1];
    (void)state;
    assert_string_equal(put(out, "abcdef", 6), "abcdef");
    assert_string_equal(put(out, "abcdef", 3), "def");
    assert_string_equal(put(out, "a/cdef", 7), "a/cdef\"");
    assert_string_equal(put(out, "a/cdef", 3), "ef\"");
    assert_string_equal(put(out, "a/cdef", 1), "\"");
    assert_int_equal(lp__step_put_before(out, 0, "a/b", 3), 0);
    assert_int_equal(lp__step_put_before(out, 0, "", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_could_be_mistaken_is_quoted),
        cmocka_unit_test(test_what_does_not_fit_loses_its_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
