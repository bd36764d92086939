/* The clocks: each choice in a process of its own, thread CPU time against the kernel's, and a second user of rseq. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rseq.h"

/* A process chooses its clocks once, so each case runs in a child; 0 is success, else the line that failed. */
#define CHECK(condition)                                                                                               \
    if (!(condition)) return __LINE__ % 255 + 1

static int run_child(int (*body)(void), const char *wall, const char *cpu)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        if (wall) setenv("LINEPROFILER_CLOCK", wall, 1);
        if (cpu) setenv("LINEPROFILER_CPU_CLOCK", cpu, 1);
        lp__clock_init(false);
        _exit(body());
    }
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static double to_ns(struct lp_cpu_time from, struct lp_cpu_time to)
{
    return (double)(to.ns - from.ns) + (double)(to.ticks - from.ticks) / lp__clock.ticks_per_ns;
}

/* Spins for a while of this thread's CPU time, reading the clock as a recorder of short phases would. */
static void work(struct lp_cpu_state *state, int64_t cpu_ns)
{
    int64_t end = lp__thread_cpu_ns() + cpu_ns;
    for (unsigned i = 0;; i++) {
        (void)lp__cpu_read(state, lp__ticks());
        if (i % 512 == 0 && lp__thread_cpu_ns() >= end) return;
    }
}

/* Working and blocking in turn: the sum must be the kernel's within what a few readings cost. */
static int agrees_with_the_kernel(void)
{
    struct lp_cpu_state state = {0};
    struct timespec pause = {.tv_nsec = 1000000};
    struct lp_cpu_time from = lp__cpu_read(&state, lp__ticks());
    int64_t real_from = lp__thread_cpu_ns();
    for (int i = 0; i < 20; i++) {
        work(&state, 1000000);
        nanosleep(&pause, NULL);
        (void)lp__cpu_read(&state, lp__ticks());
    }
    double mine = to_ns(from, lp__cpu_read(&state, lp__ticks()));
    double real = (double)(lp__thread_cpu_ns() - real_from);
    CHECK(fabs(mine - real) < 0.02 * real + 100000);
    return 0;
}

static int is_rseq_or_says_why(void)
{
    CHECK(lp__clock.cpu == LP_CPU_RSEQ || lp__clock.cpu_refused[0]);
    CHECK(lp__clock.cpu != LP_CPU_RSEQ || (!lp__clock.cpu_refused[0] && lp__clock.rseq_mark));
    CHECK(lp__clock.wall != LP_WALL_MONOTONIC || lp__clock.wall_refused[0]);
    CHECK(lp__clock.wall == LP_WALL_MONOTONIC || !lp__clock.wall_refused[0]);
    return agrees_with_the_kernel();
}

static void test_best_clocks(void **state)
{
    (void)state;
    assert_int_equal(run_child(is_rseq_or_says_why, NULL, NULL), 0);
}

static int is_monotonic(void)
{
    CHECK(lp__clock.wall == LP_WALL_MONOTONIC);
    CHECK(lp__clock.ticks_per_ns == 1.0);
    CHECK(strstr(lp__clock.wall_refused, "LINEPROFILER_CLOCK"));
    struct lp_clock_pair pair = lp__clock_pair();
    CHECK(pair.ticks == pair.mono_ns);
    return agrees_with_the_kernel();
}

static int is_age(void)
{
    CHECK(lp__clock.cpu == LP_CPU_AGE && lp__clock.cpu_refused[0]);
    return agrees_with_the_kernel();
}

static int is_syscall(void)
{
    CHECK(lp__clock.cpu == LP_CPU_SYSCALL);
    return agrees_with_the_kernel();
}

static int is_none(void)
{
    struct lp_cpu_state state = {0};
    CHECK(lp__clock.cpu == LP_CPU_NONE);
    for (int i = 0; i < 1000; i++) {
        struct lp_cpu_time time = lp__cpu_read(&state, lp__ticks());
        CHECK(time.ns == 0 && time.ticks == 0);
    }
    return 0;
}

static void test_forced_choices(void **state)
{
    (void)state;
    assert_int_equal(run_child(is_monotonic, "monotonic", NULL), 0);
    assert_int_equal(run_child(is_monotonic, "monotonic", "age"), 0);
    assert_int_equal(run_child(is_rseq_or_says_why, NULL, "rseq"), 0);
    assert_int_equal(run_child(is_age, NULL, "age"), 0);
    assert_int_equal(run_child(is_syscall, NULL, "syscall"), 0);
    assert_int_equal(run_child(is_none, NULL, "none"), 0);
    assert_int_equal(run_child(is_rseq_or_says_why, "no-such-clock", "no-such-clock"), 0);
}

static int survives_a_fork(void)
{
    struct lp_cpu_state state = {0};
    enum lp_wall_clock wall = lp__clock.wall;
    (void)lp__cpu_read(&state, lp__ticks()); /* armed */
    int status;
    pid_t pid = fork();
    if (!pid) {
        lp__clock_init(true);
        _exit(lp__clock.wall == wall ? agrees_with_the_kernel() : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void test_fork(void **state)
{
    (void)state;
    assert_int_equal(run_child(survives_a_fork, NULL, NULL), 0);
}

static void *init_again(void *arg)
{
    (void)arg;
    lp__clock_init(false);
    return lp__clock.age_limit_ticks ? NULL : &lp__clock; /* NULL: it saw the finished decision */
}

static int many_threads_decide_once(void)
{
    pthread_t threads[8];
    void *result;
    for (int i = 0; i < 8; i++)
        CHECK(!pthread_create(&threads[i], NULL, init_again, NULL));
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &result);
        CHECK(!result);
    }
    return 0;
}

static void test_threads_race_to_decide(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork(); /* without the init of run_child */
    if (!pid) _exit(many_threads_decide_once());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int ticks_run_like_monotonic(void)
{
    struct lp_clock_pair first = lp__clock_pair();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    struct lp_clock_pair last = lp__clock_pair();
    double ns = (double)(last.ticks - first.ticks) / lp__clock.ticks_per_ns;
    CHECK(fabs(ns / (double)(last.mono_ns - first.mono_ns) - 1) < 0.001);
    CHECK(fabs((double)(int64_t)(last.real_ns - lp__real_ns())) < 1e9);
    uint64_t before = lp__ticks();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = lp__ticks();
        CHECK(now + 1000 * (uint64_t)ceil(lp__clock.ticks_per_ns) >= before); /* cores may differ by some ns */
        before = now;
    }
    return 0;
}

static void test_ticks(void **state)
{
    (void)state;
    assert_int_equal(run_child(ticks_run_like_monotonic, NULL, NULL), 0);
    assert_int_equal(run_child(ticks_run_like_monotonic, "monotonic", NULL), 0);
}

static void on_signal(int number)
{
    (void)number;
}

/* The kernel reads our descriptor at each of these; a wrong one would kill the thread. */
static int stays_alive_while_armed(void)
{
    void **field = lp__rseq_field();
    void *mark = lp__rseq_descriptor();
    int missed = 0;
    if (!field || !mark) return 0;
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 300; i++) {
        *(void *volatile *)field = mark;
        if (i % 3 == 0) raise(SIGUSR1);
        if (i % 3 == 1) sched_yield();
        if (i % 3 == 2) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        if (i % 3 == 0) CHECK(*(void *volatile *)field == NULL || lp__clock.cpu != LP_CPU_RSEQ);
        if (i % 3 == 2 && *(void *volatile *)field) missed++;
    }
    /* A sleep may be over before the thread was switched, when the machine itself stood still meanwhile. */
    CHECK(missed < 50 || lp__clock.cpu != LP_CPU_RSEQ);
    *(void *volatile *)field = mark; /* and at the thread's end */
    return 0;
}

static void test_descriptor_is_harmless(void **state)
{
    (void)state;
    assert_int_equal(run_child(stays_alive_while_armed, NULL, NULL), 0);
}

/* Somebody else puts a descriptor of his own into the field between any two of our reads. */
static int lives_beside_another_user(void)
{
    static struct {
        _Alignas(32) uint64_t words[4];
        uint32_t signature;
        uint32_t target;
    } theirs;
    void **field = lp__rseq_field();
    if (lp__clock.cpu != LP_CPU_RSEQ) return 0;
    memcpy(&theirs.signature, (char *)lp__rseq_descriptor() + 32, sizeof theirs.signature);
    theirs.words[1] = theirs.words[3] = (uint64_t)(uintptr_t)&theirs.target;
    struct lp_cpu_state state = {0};
    for (int i = 0; i < 600 && !state.foreign_until; i++) {
        (void)lp__cpu_read(&state, lp__ticks());
        *(void *volatile *)field = &theirs;
    }
    CHECK(state.foreign_until > 0);
    CHECK(!state.rseq_field);     /* left alone for now */
    CHECK(state.fresh_until > 0); /* bounded age instead */
    CHECK(*field == (void *)&theirs || !*field);
    *(void *volatile *)field = NULL;
    while (lp__ticks() < state.foreign_until)
        (void)lp__cpu_read(&state, lp__ticks());
    while (!state.rseq_field) /* tried again once the time is over */
        (void)lp__cpu_read(&state, lp__ticks());
    CHECK(state.fresh_until == 0);
    return agrees_with_the_kernel();
}

static int blocking_is_not_taken_for_another_user(void)
{
    struct lp_cpu_state state = {0};
    if (lp__clock.cpu != LP_CPU_RSEQ) return 0;
    for (int i = 0; i < 600; i++) {
        (void)lp__cpu_read(&state, lp__ticks());
        *(void *volatile *)lp__rseq_field() = NULL; /* as after a switch */
    }
    CHECK(state.foreign_until == 0);
    return 0;
}

static void test_second_user(void **state)
{
    (void)state;
    assert_int_equal(run_child(lives_beside_another_user, NULL, NULL), 0);
    assert_int_equal(run_child(blocking_is_not_taken_for_another_user, NULL, NULL), 0);
}

/* The cost of a real reading belongs to what follows it: the value is as of the moment asked for. */
static int real_reading_is_as_of_now(void)
{
    if (lp__clock.cpu != LP_CPU_SYSCALL) return 1;
    struct lp_cpu_state state = {0};
    int corrected = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t now = lp__ticks();
        struct lp_cpu_time time = lp__cpu_read(&state, now);
        CHECK(time.ticks <= 0);
        CHECK(time.ticks == 0 || state.real_ticks - now == (uint64_t)-time.ticks);
        corrected += time.ticks < 0;
    }
    CHECK(corrected > 0);
    return 0;
}

static void test_real_reading(void **state)
{
    (void)state;
    assert_int_equal(run_child(real_reading_is_as_of_now, NULL, "syscall"), 0);
}

static int costs_are_measured(void)
{
    struct lp_clock_costs costs = lp__clock_costs();
    CHECK(isfinite(costs.wall_ns) && isfinite(costs.cpu_ns) && isfinite(costs.cpu_real_ns));
    CHECK(costs.wall_ns > 0 && costs.cpu_real_ns > 0);
    return 0;
}

static void test_costs(void **state)
{
    (void)state;
    assert_int_equal(run_child(costs_are_measured, NULL, NULL), 0);
    assert_int_equal(run_child(costs_are_measured, "monotonic", "syscall"), 0);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(lp__wall_clock_name(LP_WALL_TSC), "tsc");
    assert_string_equal(lp__wall_clock_name(LP_WALL_CNTVCT), "cntvct");
    assert_string_equal(lp__wall_clock_name(LP_WALL_MONOTONIC), "monotonic");
    assert_string_equal(lp__cpu_clock_name(LP_CPU_RSEQ), "rseq");
    assert_string_equal(lp__cpu_clock_name(LP_CPU_AGE), "bounded age");
    assert_string_equal(lp__cpu_clock_name(LP_CPU_SYSCALL), "system call");
    assert_string_equal(lp__cpu_clock_name(LP_CPU_NONE), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_clocks), cmocka_unit_test(test_forced_choices),
        cmocka_unit_test(test_fork),        cmocka_unit_test(test_threads_race_to_decide),
        cmocka_unit_test(test_ticks),       cmocka_unit_test(test_descriptor_is_harmless),
        cmocka_unit_test(test_second_user), cmocka_unit_test(test_real_reading),
        cmocka_unit_test(test_costs),       cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
