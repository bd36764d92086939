/* A hundred kills at random instants (tests/fault has a thousand). */
// SPDX-License-Identifier: MIT
#include "../../fault/kills.h"

static void test_a_hundred_kills_lose_nothing(void **state)
{
    (void)state;
    kill_many(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_hundred_kills_lose_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
