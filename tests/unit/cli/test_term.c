/* What the output may hold, decided from made-up environments. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/term.h"

/* `arg` is a list of name, value, …, NULL. */
static const char *lookup(const char *name, void *arg)
{
    for (const char *const *pair = arg; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0) return pair[1];
    return NULL;
}

#define ENV(...) ((void *)(const char *const[]){__VA_ARGS__, NULL})

static void test_utf8_from_locale(void **state)
{
    (void)state;
    assert_false(lp__term_utf8(lookup, ENV("UNRELATED", "1"), false));
    assert_true(lp__term_utf8(lookup, ENV("LANG", "en_GB.UTF-8"), false));
    assert_true(lp__term_utf8(lookup, ENV("LC_CTYPE", "C.utf8"), false));
    assert_false(lp__term_utf8(lookup, ENV("LANG", "C"), false));
    assert_false(lp__term_utf8(lookup, ENV("LANG", "de_DE@euro"), false));
    /* The first that is set decides; empty is not set. */
    assert_false(lp__term_utf8(lookup, ENV("LC_ALL", "C", "LANG", "en_GB.UTF-8"), false));
    assert_true(lp__term_utf8(lookup, ENV("LC_ALL", "", "LANG", "en_GB.UTF-8"), false));
    assert_false(lp__term_utf8(lookup, ENV("LC_CTYPE", "POSIX", "LANG", "en_GB.UTF-8"), false));
}

static void test_utf8_under_python(void **state)
{
    (void)state;
    assert_false(lp__term_utf8(lookup, ENV("PYTHONIOENCODING", "ascii", "LANG", "en_GB.UTF-8"), true));
    assert_true(lp__term_utf8(lookup, ENV("PYTHONIOENCODING", "utf-8:strict"), true));
    assert_true(lp__term_utf8(lookup, ENV("PYTHONIOENCODING", ":replace", "LANG", "en_GB.UTF-8"), true));
    assert_true(lp__term_utf8(lookup, ENV("PYTHONUTF8", "1", "LC_ALL", "C"), true));
    assert_true(lp__term_utf8(lookup, ENV("PYTHONIOENCODING", "ascii", "LANG", "en_GB.UTF-8"), false));
}

static void test_color(void **state)
{
    (void)state;
    assert_true(lp__term_color(NULL, true, lookup, ENV("TERM", "xterm")));
    assert_false(lp__term_color(NULL, true, lookup, ENV("TERM", "dumb")));
    assert_false(lp__term_color(NULL, true, lookup, ENV("UNRELATED", "1")));
    assert_false(lp__term_color("auto", false, lookup, ENV("TERM", "xterm")));
    assert_false(lp__term_color(NULL, true, lookup, ENV("TERM", "xterm", "NO_COLOR", "1")));
    assert_true(lp__term_color(NULL, true, lookup, ENV("TERM", "xterm", "NO_COLOR", "")));
    assert_true(lp__term_color(NULL, false, lookup, ENV("FORCE_COLOR", "1")));
    assert_false(lp__term_color(NULL, true, lookup, ENV("TERM", "xterm", "FORCE_COLOR", "0")));
    assert_true(lp__term_color("always", false, lookup, ENV("NO_COLOR", "1")));
    assert_false(lp__term_color("never", true, lookup, ENV("FORCE_COLOR", "1")));
}

static void test_size(void **state)
{
    unsigned columns = 7, rows = 7;
    (void)state;
    lp__term_size(-1, lookup, ENV("UNRELATED", "1"), &columns, &rows);
    assert_int_equal(columns, 0);
    assert_int_equal(rows, 0);
    lp__term_size(-1, lookup, ENV("COLUMNS", "120", "LINES", "junk"), &columns, &rows);
    assert_int_equal(columns, 120);
    assert_int_equal(rows, 0);
    lp__term_size(-1, lookup, ENV("COLUMNS", "99999999"), &columns, &rows);
    assert_int_equal(columns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_from_locale),
        cmocka_unit_test(test_utf8_under_python),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
