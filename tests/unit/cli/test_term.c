/* What the output may hold, decided from made-up environments. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/term.h"
#include "os/interrupt.h"

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

/* -- progress: stderr is a pipe here that plays the terminal ------------------------------------------------------ */

static int pipe_ends[2], real_stderr;

static void capture_stderr(void)
{
    assert_int_equal(pipe(pipe_ends), 0);
    real_stderr = dup(2);
    dup2(pipe_ends[1], 2);
}

/* What was written since, NUL-terminated. */
static void release_stderr(char *text, size_t cap)
{
    dup2(real_stderr, 2);
    close(real_stderr);
    close(pipe_ends[1]);
    ssize_t n = read(pipe_ends[0], text, cap - 1);
    text[n > 0 ? n : 0] = '\0';
    close(pipe_ends[0]);
}

static void test_progress_after_a_second(void **state)
{
    struct lp_progress progress;
    char text[1000];
    (void)state;
    capture_stderr();
    lp__progress_begin(&progress, false);
    assert_false(progress.is_terminal); /* a pipe gets none */
    progress.is_terminal = true;
    int rc = lp__progress(&progress, 1, 2000); /* too early */
    progress.started_ns -= 2000000000u;
    rc |= lp__progress(&progress, 1500, 2000);
    rc |= lp__progress(&progress, 1501, 2000); /* too soon after the last */
    lp__progress_end(&progress);
    release_stderr(text, sizeof text);
    assert_int_equal(rc, 0);
    const char *line = "reading worker files: 1,500 of 2,000";
    assert_non_null(strstr(text, line));
    assert_null(strstr(text, "1,501"));
    assert_null(strchr(text, '\n'));
    assert_int_equal(text[strlen(text) - 1], '\r'); /* wiped: the cursor is where it was */
}

static void test_progress_is_quiet_when_told(void **state)
{
    struct lp_progress progress;
    char text[1000];
    (void)state;
    capture_stderr();
    lp__progress_begin(&progress, true);
    progress.started_ns -= 2000000000u;
    int rc = lp__progress(&progress, 1, 2);
    lp__progress_end(&progress);
    release_stderr(text, sizeof text);
    assert_int_equal(rc, 0);
    assert_string_equal(text, "");
}

static void test_progress_carries_the_interrupt(void **state)
{
    struct lp_progress progress;
    struct lp_interrupt saved;
    (void)state;
    lp__progress_begin(&progress, true);
    lp__interrupt_begin(&saved);
    assert_int_equal(lp__progress(&progress, 1, 2), 0);
    raise(SIGINT);
    assert_int_not_equal(lp__progress(&progress, 2, 2), 0);
    lp__interrupt_end(&saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_from_locale),
        cmocka_unit_test(test_utf8_under_python),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_progress_after_a_second),
        cmocka_unit_test(test_progress_is_quiet_when_told),
        cmocka_unit_test(test_progress_carries_the_interrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
