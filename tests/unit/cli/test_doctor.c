/* `doctor` as a whole: what it prints and the status with which it ends, sound and with each collector broken. */
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/doctor.h"
#include "os/clock.h"

static char out[1 << 16], err[1 << 16];

static int to_file(int fd, const char *path)
{
    int old = dup(fd);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(old >= 0 && file >= 0);
    dup2(file, fd);
    close(file);
    return old;
}

static void back(int fd, int old, const char *path, char *text, size_t cap)
{
    dup2(old, fd);
    close(old);
    int file = open(path, O_RDONLY);
    ssize_t n = read(file, text, cap - 1);
    text[n > 0 ? n : 0] = '\0';
    close(file);
    unlink(path);
}

static int doctor(const struct lp_selftest_parts *parts, const struct lp_cli_host *host)
{
    struct lp_interrupt saved;
    struct lp_cli cli = {.host = host, .interrupt = &saved, .command = &lp__command_doctor};
    char out_path[64], err_path[64];
    snprintf(out_path, sizeof out_path, "/tmp/lp-test-doctor-%d.out", (int)getpid());
    snprintf(err_path, sizeof err_path, "/tmp/lp-test-doctor-%d.err", (int)getpid());
    cli.args.operand[0] = "/tmp";
    cli.args.operand_count = 1;
    fflush(NULL);
    int old_out = to_file(1, out_path), old_err = to_file(2, err_path);
    int status = lp__doctor_run(&cli, parts);
    back(1, old_out, out_path, out, sizeof out);
    back(2, old_err, err_path, err, sizeof err);
    return status;
}

static void test_sound(void **state)
{
    (void)state;
    int status = doctor(&lp__selftest_parts, NULL);
    if (status != LP_EXIT_OK) fail_msg("%s%s", out, err);
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "checks passed."));
    assert_null(strstr(out, "BROKEN"));
    for (const char *at = out; *at; at += strcspn(at, "\n") + 1)
        assert_true(strcspn(at, "\n") <= 80);
}

/* -- one shim per collector -------------------------------------------------------------------------------------- */

static int open_nowhere(const struct lp_recording_options *options, struct lp_recording **recording,
                        struct lp_error *error)
{
    (void)options;
    (void)recording;
    return lp__fail(error, LP_ERR_NO_MEMORY, 0, "no room");
}
static struct lp_scope *begin_nothing(struct lp_thread *thread, lp_name_id name)
{
    (void)thread;
    (void)name;
    return NULL;
}
static void count_nothing(struct lp_thread *thread, lp_name_id name, int64_t n)
{
    (void)thread;
    (void)name;
    (void)n;
}
static uint64_t frozen_wall(void)
{
    return 1;
}
static int64_t frozen_cpu(void)
{
    return 1;
}
static int no_child(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *error)
{
    (void)work;
    (void)arg;
    (void)end;
    return lp__fail(error, LP_ERR_IO, 0, "no child process");
}

static void names(const struct lp_selftest_parts *parts, const char *collector)
{
    char line[64];
    assert_int_equal(doctor(parts, NULL), LP_EXIT_FAILED);
    snprintf(line, sizeof line, "\n  %-18s BROKEN", collector);
    if (!strstr(out, line) || !strstr(err, collector))
        fail_msg("%s is broken and not named:\n%s%s", collector, out, err);
    assert_int_equal(strcspn(err, "\n") + 1, strlen(err)); /* one line */
    assert_null(strstr(out, "checks passed."));
}

static void test_each_broken_collector_is_named(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.open = open_nowhere;
    names(&parts, "store");
    parts = lp__selftest_parts;
    parts.begin = begin_nothing;
    names(&parts, "phases");
    parts = lp__selftest_parts;
    parts.count = count_nothing;
    names(&parts, "counters");
    parts = lp__selftest_parts;
    parts.wall_ns = frozen_wall;
    names(&parts, "wall clock");
    if (lp__clock.cpu != LP_CPU_NONE) {
        parts = lp__selftest_parts;
        parts.cpu_ns = frozen_cpu;
        names(&parts, "CPU clock");
    }
    parts = lp__selftest_parts;
    parts.child = no_child;
    names(&parts, "kill");
    names(&parts, "fork");
}

/* -- the host's lines -------------------------------------------------------------------------------------------- */

static void host_lines(void *arg, lp_cli_add_line *add, void *sink)
{
    add(sink, &(struct lp_cli_line){"interpreter", "CPython 3.99\x1b[31m", NULL, -1});
    add(sink, &(struct lp_cli_line){"hooks", "seen", "a sentence", *(int *)arg});
}

static void test_lines_of_the_host(void **state)
{
    int passed = 1;
    const struct lp_cli_host host = {.name = "Snake", .doctor_lines = host_lines, .arg = &passed};
    (void)state;
    assert_int_equal(doctor(&lp__selftest_parts, &host), LP_EXIT_OK);
    assert_non_null(strstr(out, "\nSnake\n"));
    assert_non_null(strstr(out, "CPython 3.99"));
    assert_null(strchr(out, '\x1b'));
    passed = 0;
    assert_int_equal(doctor(&lp__selftest_parts, &host), LP_EXIT_FAILED);
    assert_non_null(strstr(err, "hooks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_each_broken_collector_is_named),
        cmocka_unit_test(test_lines_of_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
