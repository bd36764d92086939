/* Secrets in command lines: what must be hidden and what must stay readable. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <string.h>

#include "os/host.h"

static void check(const char *args, size_t len, const char *expected, size_t expected_len)
{
    struct lp_buf buf;
    lp__buf_init(&buf, 4096);
    lp__redact_argv(args, len, &buf);
    assert_int_equal(buf.len, expected_len);
    if (expected_len) assert_memory_equal(buf.data, expected, expected_len);
    lp__buf_release(&buf);
}
/* Literals hold one NUL after each argument, as /proc/PID/cmdline does. */
#define CHECK(args, expected) check(args "\0", sizeof args, expected, sizeof expected - 1)

static void test_values_after_secret_names_are_hidden(void **state)
{
    (void)state;
    CHECK("app\0--token\0abc\0x", "app\0--token\0***\0x");
    CHECK("app\0--token=abc\0x", "app\0--token=***\0x");
    CHECK("app\0--api-key\0abc", "app\0--api-key\0***");
    CHECK("app\0--apiKey\0abc", "app\0--apiKey\0***");
    CHECK("app\0--db_password=p=q", "app\0--db_password=***");
    CHECK("app\0-key\0-x", "app\0-key\0***");
    CHECK("app\0--SECRET\0abc", "app\0--SECRET\0***");
    CHECK("app\0AWS_SECRET_ACCESS_KEY=abc", "app\0AWS_SECRET_ACCESS_KEY=***");
    CHECK("app\0model.auth.token=abc", "app\0model.auth.token=***");
    CHECK("app\0HFToken=abc\0--token", "app\0HFToken=***\0--token");
}

static void test_ordinary_arguments_stay(void **state)
{
    (void)state;
    CHECK("app\0--tokenizer\0bert", "app\0--tokenizer\0bert");
    CHECK("app\0--max-tokens=512", "app\0--max-tokens=512");
    CHECK("app\0--monkey\0see", "app\0--monkey\0see");
    CHECK("app\0token\0see", "app\0token\0see"); /* a word, not a name */
    CHECK("app\0--epochs\03\0\0last", "app\0--epochs\03\0\0last");
    CHECK("app\0-averyveryverylongoptionnamewithkey\0x", "app\0-averyveryverylongoptionnamewithkey\0x");
}

static void test_passwords_in_urls(void **state)
{
    (void)state;
    CHECK("app\0postgres://me:pw@host/db?x=1", "app\0postgres://me:***@host/db?x=1");
    CHECK("app\0--url=http://u:p@h", "app\0--url=http://u:***@h");
    CHECK("app\0http://host:80/a@b", "app\0http://host:80/a@b");
}

static void test_empty(void **state)
{
    (void)state;
    check("", 0, "", 0);
    CHECK("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_after_secret_names_are_hidden),
        cmocka_unit_test(test_ordinary_arguments_stay),
        cmocka_unit_test(test_passwords_in_urls),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
