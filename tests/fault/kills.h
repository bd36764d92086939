/* Kills of recording processes at random instants.
 *
 * A child tells over a pipe, after each entry, how many it has finished.  It is killed at some instant of its life;
 * what is in its file must be at least what it had told, and one entry more at most, and it must be called killed. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_KILLS_H
#define LP_TEST_KILLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/internal.h"
#include "collect/phase.h"
#include "merge/run.h"
#include "support/run_lookup.h"
#include "support/temp_dir.h"

#define KILL_THREADS 2

struct kill_case {
    char run[80];
    enum lp_store_choice store;
    bool from_the_start; /* killed perhaps before the first record */
    uint64_t random;
};

/* What a child tells: one number for each of its threads. */
struct kill_report {
    uint32_t thread;
    uint32_t finished;
};

static inline uint64_t kill_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct kill_worker {
    struct lp_recording *recording;
    uint32_t number;
    int out;
};

static inline lp_name_id kill_name(const char *format, uint32_t number)
{
    char text[32];
    int len = snprintf(text, sizeof text, format, number);
    return lp__name_register(text, (size_t)len);
}

/* Entries without end, now and then of a new path or with a new counter, so that every kind of growth is met. */
static inline void *kill_work(void *arg)
{
    const struct kill_worker *worker = arg;
    struct lp_thread *thread = lp__thread_of(worker->recording);
    lp_name_id outer = kill_name("outer", 0), inner = kill_name("inner %u", worker->number), count = kill_name("n", 0);
    struct kill_report report = {.thread = worker->number};
    if (thread == NULL) _exit(90);
    (void)lp__begin(thread, outer, NULL, 0);
    for (;;) {
        struct lp_scope *scope = lp__begin(thread, inner, NULL, 0);
        lp__count(thread, count, report.finished % 3 ? 1 : -2);
        if (report.finished % 16 == 0)
            lp__end(thread, lp__begin(thread, kill_name("path %u", report.finished), NULL, 0));
        lp__end(thread, scope);
        report.finished++;
        if (write(worker->out, &report, sizeof report) != sizeof report) _exit(91);
    }
    return NULL;
}

static inline void kill_live(const struct kill_case *kase, int out)
{
    struct lp_recording_options options = {
        .run_dir = kase->run, .attempt = "kill", .store = kase->store, .copy_interval_ms = 3600000};
    struct kill_worker workers[KILL_THREADS];
    struct lp_recording *recording;
    pthread_t thread;
    uint32_t i;
    alarm(60);
    if (lp__recording_open(&options, &recording, NULL)) _exit(92);
    for (i = 0; i < KILL_THREADS; i++)
        workers[i] = (struct kill_worker){recording, i, out};
    if (pthread_create(&thread, NULL, kill_work, &workers[1])) _exit(93);
    (void)kill_work(&workers[0]);
}

/* Reads what there is; false at the end of the pipe.  A pipe's small writes are whole. */
static inline bool kill_drain(int in, uint32_t finished[KILL_THREADS])
{
    struct kill_report reports[256];
    ssize_t got = read(in, reports, sizeof reports);
    size_t i;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got <= 0) return false;
    assert_int_equal((size_t)got % sizeof *reports, 0);
    for (i = 0; i < (size_t)got / sizeof *reports; i++) {
        assert_true(reports[i].thread < KILL_THREADS);
        finished[reports[i].thread] = reports[i].finished;
    }
    return true;
}

static inline uint64_t kill_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Listens until the child's hour has come, kills it, and takes what is left in the pipe. */
static inline void kill_child(struct kill_case *kase, pid_t pid, int in, uint32_t finished[KILL_THREADS])
{
    struct pollfd ready = {.fd = in, .events = POLLIN};
    uint64_t until;
    int status;
    if (!kase->from_the_start) kill_drain(in, finished);
    until = kill_now_us() + kill_random(&kase->random) % 4000;
    fcntl(in, F_SETFL, O_NONBLOCK);
    while (kill_now_us() < until)
        if (poll(&ready, 1, 0) > 0) kill_drain(in, finished);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    fcntl(in, F_SETFL, 0);
    while (kill_drain(in, finished)) {
    }
}

static inline void kill_check_thread(const struct lp_run *run, const struct lp_run_role *role, uint32_t thread,
                                     uint32_t finished)
{
    const struct lp_run_phase *phase;
    const struct lp_run_counter *counter;
    char path[32];
    snprintf(path, sizeof path, "outer/inner %u", thread);
    phase = run_phase(run, &role->tree, path);
    if (finished == 0 && phase == NULL) return;
    assert_non_null(phase);
    assert_true(phase->calls >= finished && phase->calls <= finished + 1);
    assert_true(phase->open <= 1);
    counter = run_counter(run, phase, "n");
    if (finished == 0 && counter == NULL) return;
    assert_non_null(counter);
    assert_true(counter->adds >= phase->calls && counter->adds <= phase->calls + 1);
    assert_true(phase->hist || !phase->calls);
    /* an entry is booked in its histogram first, and at most one is under way */
    if (phase->calls) assert_true(phase->hist->count >= phase->calls && phase->hist->count <= phase->calls + 1);
    assert_true(phase->wall_ns >= 0 && phase->wall_ns < 60e9);
}

static inline void kill_check(const struct kill_case *kase, const uint32_t finished[KILL_THREADS])
{
    struct lp_run *run = NULL;
    struct lp_error err = {0};
    const struct lp_run_role *role;
    uint32_t i, any = 0;
    int rc = lp__run_load(kase->run, NULL, &run, &err);
    for (i = 0; i < KILL_THREADS; i++)
        any |= finished[i];
    if (rc && !any) { /* before its first record */
        assert_true(rc == LP_ERR_NO_RUN || rc == LP_ERR_NOT_FOUND);
        return;
    }
    if (rc) fail_msg("%s", err.detail);
    assert_int_equal(run->bad_count, 0);
    assert_int_equal(run->process_count, 1);
    if (any) {
        assert_int_equal(run->processes[0].verdict, LP_VERDICT_KILLED);
        assert_int_equal(strncmp(run->processes[0].killed_in, "outer", 5), 0);
        assert_int_equal(run->processes[0].damaged_nodes, 0);
        assert_int_equal(run->processes[0].damaged_segments, 0);
        role = run_role(run, "main");
        assert_non_null(role);
        for (i = 0; i < KILL_THREADS; i++)
            kill_check_thread(run, role, i, finished[i]);
    }
    lp__run_free(run);
}

static inline void kill_one(struct kill_case *kase)
{
    uint32_t finished[KILL_THREADS] = {0};
    struct temp_dir dir;
    int ends[2];
    pid_t pid;
    assert_int_equal(temp_dir_make(&dir), 0);
    snprintf(kase->run, sizeof kase->run, "%.63s/run", dir.path);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) kill_live(kase, ends[1]);
    close(ends[1]);
    kill_child(kase, pid, ends[0], finished);
    close(ends[0]);
    kill_check(kase, finished);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

/* LP_KILLS overrides how many, LP_KILL_SEED where the instants begin. */
static inline void kill_many(unsigned count)
{
    const char *given = getenv("LP_KILLS"), *seed = getenv("LP_KILL_SEED");
    struct kill_case kase = {.random = seed ? strtoull(seed, NULL, 10) : (uint64_t)getpid() * 2654435761u + 1};
    unsigned i;
    if (given) count = (unsigned)strtoul(given, NULL, 10);
    print_message("%u kills, LP_KILL_SEED=%llu\n", count, (unsigned long long)kase.random);
    for (i = 0; i < count; i++) {
        kase.store = i % 4 == 3 ? LP_STORE_SHM : LP_STORE_AUTO;
        kase.from_the_start = i % 3 == 2;
        kill_one(&kase);
    }
}

#endif
