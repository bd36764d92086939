/* The allocator: checked sizes, and a countdown that makes exactly the chosen allocation fail. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"

static void test_countdown_fails_from_the_chosen_one_on(void **state)
{
    (void)state;
    lp__mem_fail_after(2);
    void *first = lp__alloc(8);
    void *second = lp__calloc(2, 4);
    assert_non_null(first);
    assert_non_null(second);
    assert_null(lp__alloc(8));
    assert_null(lp__calloc(1, 1));
    assert_null(lp__realloc(first, 100));
    assert_null(lp__strndup("text", 4));
    lp__mem_fail_after(-1);
    first = lp__realloc(first, 100);
    assert_non_null(first);
    lp__free(first);
    lp__free(second);
}

static void test_zero_sizes_give_memory(void **state)
{
    (void)state;
    void *a = lp__alloc(0), *b = lp__calloc(0, 8), *c = lp__realloc(NULL, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    lp__free(a);
    lp__free(b);
    lp__free(c);
    lp__free(NULL);
}

static void test_calloc_is_zeroed_and_checks_the_product(void **state)
{
    (void)state;
    static const char zeros[64];
    char *memory = lp__calloc(8, 8);
    assert_memory_equal(memory, zeros, sizeof zeros);
    lp__free(memory);
    assert_null(lp__calloc(SIZE_MAX / 2, 4));
}

static void test_strndup_stops_at_nul_and_at_the_limit(void **state)
{
    (void)state;
    char *whole = lp__strndup("name\0rest", 9), *part = lp__strndup("name", 2), *none = lp__strndup("name", 0);
    assert_string_equal(whole, "name");
    assert_string_equal(part, "na");
    assert_string_equal(none, "");
    lp__free(whole);
    lp__free(part);
    lp__free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_countdown_fails_from_the_chosen_one_on),
        cmocka_unit_test(test_zero_sizes_give_memory),
        cmocka_unit_test(test_calloc_is_zeroed_and_checks_the_product),
        cmocka_unit_test(test_strndup_stops_at_nul_and_at_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
