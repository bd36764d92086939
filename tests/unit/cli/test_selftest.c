/* Each collector broken in turn by a shim in its place: the self-test names that one. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/selftest.h"
#include "os/clock.h"

static struct lp_selftest_result results[LP_SELFTEST_COUNT];

static void run(const struct lp_selftest_parts *parts)
{
    struct lp_error err = {0};
    assert_int_equal(lp__selftest(parts, results, &err), LP_OK);
}

static enum lp_selftest_outcome outcome(const char *name)
{
    for (size_t i = 0; i < LP_SELFTEST_COUNT; i++)
        if (strcmp(results[i].name, name) == 0) return results[i].outcome;
    fail_msg("no self-test named %s", name);
    return LP_SELFTEST_BROKEN;
}

static void is_broken(const char *name)
{
    if (outcome(name) != LP_SELFTEST_BROKEN) fail_msg("%s is broken and was not named", name);
}

static void test_all_pass_here(void **state)
{
    (void)state;
    run(&lp__selftest_parts);
    for (size_t i = 0; i < LP_SELFTEST_COUNT; i++) {
        if (results[i].outcome == LP_SELFTEST_BROKEN) fail_msg("%s: %s", results[i].name, results[i].detail);
        assert_string_not_equal(results[i].detail, "");
        assert_string_not_equal(results[i].meaning, "");
    }
}

/* -- store ------------------------------------------------------------------------------------------------------- */

static int open_in_memory(const struct lp_recording_options *options, struct lp_recording **out, struct lp_error *err)
{
    struct lp_recording_options elsewhere = *options;
    elsewhere.run_dir = "/proc/nowhere";
    return lp__recording_open(&elsewhere, out, err);
}

static void test_broken_store(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.open = open_in_memory;
    run(&parts);
    is_broken("store");
}

/* -- phases ------------------------------------------------------------------------------------------------------ */

static struct lp_scope *begin_some(struct lp_thread *thread, lp_name_id name)
{
    static unsigned calls;
    return ++calls % 7 == 0 ? NULL : lp__selftest_parts.begin(thread, name);
}

static void test_broken_phases(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.begin = begin_some;
    run(&parts);
    is_broken("phases");
    assert_int_equal(outcome("counters"), LP_SELFTEST_PASSED);
}

/* -- counters ---------------------------------------------------------------------------------------------------- */

static void count_twice(struct lp_thread *thread, lp_name_id name, int64_t n)
{
    lp__selftest_parts.count(thread, name, n);
    lp__selftest_parts.count(thread, name, n);
}

static void test_broken_counters(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.count = count_twice;
    run(&parts);
    is_broken("counters");
    assert_int_equal(outcome("phases"), LP_SELFTEST_PASSED);
}

/* -- clocks ------------------------------------------------------------------------------------------------------ */

static uint64_t wall_half(void)
{
    return lp__mono_ns() / 2;
}

static void test_broken_wall_clock(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.wall_ns = wall_half; /* the recorded clock runs twice as fast as this one */
    run(&parts);
    is_broken("wall clock");
    assert_int_equal(outcome("phases"), LP_SELFTEST_PASSED);
}

static int64_t cpu_half(void)
{
    return lp__thread_cpu_ns() / 2;
}

static void test_broken_cpu_clock(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    if (lp__clock.cpu == LP_CPU_NONE) skip();
    parts.cpu_ns = cpu_half;
    run(&parts);
    is_broken("CPU clock");
    assert_int_equal(outcome("wall clock"), LP_SELFTEST_PASSED);
}

/* -- processes --------------------------------------------------------------------------------------------------- */

static int no_child(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *err)
{
    (void)work;
    (void)arg;
    (void)end;
    return lp__fail(err, LP_ERR_IO, 11, "no child process: Resource temporarily unavailable");
}

static void test_broken_fork(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.child = no_child;
    run(&parts);
    is_broken("kill");
    is_broken("fork");
    assert_int_equal(outcome("store"), LP_SELFTEST_PASSED);
}

/* Not a child at all: what it records lands in the parent's file. */
static int same_process(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *err)
{
    if (end == LP_CHILD_KILL) return lp__child_run(work, arg, end, err);
    return work(arg) == 0 ? LP_OK : lp__fail(err, LP_ERR_IO, 0, "no work");
}

static void test_fork_into_one_file(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.child = same_process;
    run(&parts);
    is_broken("fork");
    assert_int_equal(outcome("kill"), LP_SELFTEST_PASSED);
}

/* A worker that leaves in good order is no killed one. */
static int never_killed(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *err)
{
    return end == LP_CHILD_KILL ? LP_OK : lp__child_run(work, arg, end, err);
}

static void test_kill_that_lost_everything(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.child = never_killed;
    run(&parts);
    is_broken("kill");
    assert_int_equal(outcome("fork"), LP_SELFTEST_PASSED);
}

/* -- reading back ------------------------------------------------------------------------------------------------ */

static int no_load(const char *dir, const struct lp_run_options *options, struct lp_run **out, struct lp_error *err)
{
    (void)dir;
    (void)options;
    (void)out;
    return lp__fail(err, LP_ERR_IO, 5, "Input/output error");
}

static void test_broken_reader(void **state)
{
    struct lp_selftest_parts parts = lp__selftest_parts;
    (void)state;
    parts.load = no_load;
    run(&parts);
    for (size_t i = 0; i < LP_SELFTEST_COUNT; i++)
        is_broken(results[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pass_here),
        cmocka_unit_test(test_broken_store),
        cmocka_unit_test(test_broken_phases),
        cmocka_unit_test(test_broken_counters),
        cmocka_unit_test(test_broken_wall_clock),
        cmocka_unit_test(test_broken_cpu_clock),
        cmocka_unit_test(test_broken_fork),
        cmocka_unit_test(test_fork_into_one_file),
        cmocka_unit_test(test_kill_that_lost_everything),
        cmocka_unit_test(test_broken_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
