/* A thousand kills: nothing that was finished is lost, and no file is unreadable. */
// SPDX-License-Identifier: MIT
#include "kills.h"

static void test_a_thousand_kills_lose_nothing(void **state)
{
    (void)state;
    kill_many(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_thousand_kills_lose_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
