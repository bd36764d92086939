/* Compiled with LP_DISABLED, the public header leaves no call: the library could be missing. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#define LP_DISABLED
#include "lineprofiler.h"

static int evaluated;

static int work(void)
{
    LP_PHASE("work");
    LP_COUNT("items", ++evaluated); /* the amount's own effects stay */
    return 7;
}

static void test_everything_vanishes(void **state)
{
    lp_name name = lp_name_register("n");
    lp_token token;
    (void)state;
    assert_int_equal(name, 0);
    assert_int_equal(lp_name_register_n("n", 1), 0);
    assert_int_equal(lp_start("", NULL), 0); /* the real one would refuse */
    token = lp_phase_begin(1);
    assert_null(token.scope);
    assert_null(token.recorder);
    lp_phase_end(token);
    lp_count(1, 1);
    lp_signal(1, "k");
    lp_wait_on(1, "k");
    lp_stop();
    assert_int_equal(work(), 7);
    assert_int_equal(evaluated, 1);
    assert_string_equal(lp_version(), "disabled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_everything_vanishes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
