/* Seven small recordings, each read back and held against what is known about it.
 *
 * Times are never held against a limit, only against another clock that was read outside and inside the phase: the
 * recorded time lies between the two, give or take what the conversion of ticks may err. */
// SPDX-License-Identifier: MIT
#include "cli/selftest.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/remove.h"

#define ENTRIES    100u
#define SPIN_NS    20000000 /* long enough that a rate error of 1 % is 200 us */
#define RATE_ERROR 0.02
#define SLACK_NS   200000.0 /* a switch of threads between two readings */

struct test {
    const struct lp_selftest_parts *parts;
    struct lp_selftest_result *result;
    char dir[PATH_MAX];
    bool *mapped; /* did the store test find its file mapped in the folder? */
    struct lp_recording *recording;
    struct lp_thread *thread;
    struct lp_run *run;
};

/* -- helpers ----------------------------------------------------------------------------------------------------- */

static bool broken(struct test *test, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool broken(struct test *test, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(test->result->detail, sizeof test->result->detail, format, args);
    va_end(args);
    test->result->outcome = LP_SELFTEST_BROKEN;
    return false;
}

static bool seen(struct test *test, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool seen(struct test *test, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(test->result->detail, sizeof test->result->detail, format, args);
    va_end(args);
    return true;
}

/* Where live data are copied to the folder now and then, a process that just goes may leave less than it recorded. */
static bool lost(struct test *test, const char *what)
{
    if (*test->mapped) return broken(test, "%s", what);
    test->result->outcome = LP_SELFTEST_UNMEASURED;
    return seen(test, "%s: this file system cannot map the live data, so what was not copied yet is lost", what);
}

static lp_name_id name(const char *text)
{
    return lp__name_register(text, strlen(text));
}

static bool open_recording(struct test *test)
{
    struct lp_recording_options options = {.run_dir = test->dir, .role = "doctor", .role_len = 6, .attempt = "doctor"};
    struct lp_error err = {0};
    if (test->parts->open(&options, &test->recording, &err) != LP_OK)
        return broken(test, "cannot record: %.150s", err.detail);
    test->thread = lp__thread_of(test->recording);
    return test->thread || broken(test, "no state for this thread");
}

static void close_recording(struct test *test)
{
    if (!test->recording) return;
    lp__recording_close(test->recording);
    lp__recording_release(test->recording);
    test->recording = NULL;
    test->thread = NULL;
}

static bool load(struct test *test)
{
    struct lp_run_options options = {0}; /* not read-only: live data in shared memory are brought home first */
    struct lp_error err = {0};
    close_recording(test);
    if (test->parts->load(test->dir, &options, &test->run, &err) == LP_OK) return true;
    return broken(test, "cannot be read back: %.150s", err.detail);
}

/* The phase at a path of one or two names in the only role; NULL when it is not there. */
static const struct lp_run_phase *phase_at(const struct test *test, const char *outer, const char *inner)
{
    const struct lp_run *run = test->run;
    uint32_t id, at = 0;
    const char *path[] = {outer, inner};
    if (run->role_count != 1) return NULL;
    for (size_t i = 0; i < 2 && path[i]; i++) {
        if (!lp__intern_find(&run->names, path[i], strlen(path[i]), &id)) return NULL;
        at = lp__run_tree_child(&run->roles[0].tree, at, id);
        if (at == UINT32_MAX) return NULL;
    }
    return &run->roles[0].tree.phases[at];
}

static void record(struct test *test, const char *text, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        test->parts->end(test->thread, test->parts->begin(test->thread, name(text)));
}

/* -- the tests --------------------------------------------------------------------------------------------------- */

static bool test_store(struct test *test)
{
    static const char *const places[] = {"mapped", "in shared memory, copied", "in memory, copied"};
    if (!open_recording(test)) return false;
    record(test, "work", ENTRIES);
    uint64_t failures = lp__recording_write_failures(test->recording);
    if (!load(test)) return false;
    if (failures) return broken(test, "%llu writes failed", (unsigned long long)failures);
    if (test->run->process_count != 1) return broken(test, "%zu files instead of 1", test->run->process_count);
    const struct lp_run_process *process = &test->run->processes[0];
    if (process->verdict != LP_VERDICT_FINISHED) return broken(test, "a closed file is not seen as closed");
    if (process->damaged || process->truncated) return broken(test, "the file came back damaged");
    *test->mapped = process->place == LP_PLACE_RUN_DIR;
    return seen(test, "%s, written, closed and read back", process->place < 3 ? places[process->place] : "?");
}

static bool test_phases(struct test *test)
{
    if (!open_recording(test)) return false;
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct lp_scope *outer = test->parts->begin(test->thread, name("outer"));
        record(test, "inner", 2);
        test->parts->end(test->thread, outer);
    }
    if (!load(test)) return false;
    const struct lp_run_phase *outer = phase_at(test, "outer", NULL), *inner = phase_at(test, "outer", "inner");
    if (!outer || !inner) return broken(test, "a phase is missing");
    if (outer->calls != ENTRIES || inner->calls != 2 * ENTRIES)
        return broken(test, "%llu and %llu entries instead of %u and %u", (unsigned long long)outer->calls,
                      (unsigned long long)inner->calls, ENTRIES, 2 * ENTRIES);
    if (inner->wall_ns > outer->wall_ns) return broken(test, "a part took longer than the whole");
    return seen(test, "%u nested entries exact", 3 * ENTRIES);
}

static bool test_counters(struct test *test)
{
    const uint64_t total = ENTRIES * (ENTRIES + 1) / 2;
    if (!open_recording(test)) return false;
    struct lp_scope *scope = test->parts->begin(test->thread, name("work"));
    for (int64_t n = 1; n <= ENTRIES; n++)
        test->parts->count(test->thread, name("units"), n);
    test->parts->end(test->thread, scope);
    if (!load(test)) return false;
    const struct lp_run_phase *work = phase_at(test, "work", NULL);
    const struct lp_run_counter *units = work ? work->counters : NULL;
    if (!units) return broken(test, "a counter is missing");
    if (units->total_low != total || units->total_high != 0 || units->adds != ENTRIES || units->min != 1 ||
        units->max != ENTRIES)
        return broken(test, "total %llu in %llu adds instead of %llu in %u", (unsigned long long)units->total_low,
                      (unsigned long long)units->adds, (unsigned long long)total, ENTRIES);
    return seen(test, "%u adds exact", ENTRIES);
}

static bool between(double recorded, double inside, double outside)
{
    return recorded >= inside * (1 - RATE_ERROR) - SLACK_NS && recorded <= outside * (1 + RATE_ERROR) + SLACK_NS;
}

static bool test_wall(struct test *test)
{
    if (!open_recording(test)) return false;
    lp_name_id work = name("work");
    uint64_t outside = test->parts->wall_ns();
    struct lp_scope *scope = test->parts->begin(test->thread, work);
    uint64_t inside = test->parts->wall_ns();
    /* Counted rounds, not time, end the loop: a clock that stands still must not hang us. */
    uint64_t start = lp__mono_ns();
    for (uint64_t rounds = 0; lp__mono_ns() - start < SPIN_NS && rounds < 10000000; rounds++)
        continue;
    double inside_ns = (double)(test->parts->wall_ns() - inside);
    test->parts->end(test->thread, scope);
    double outside_ns = (double)(test->parts->wall_ns() - outside);
    if (!load(test)) return false;
    const struct lp_run_phase *phase = phase_at(test, "work", NULL);
    if (!phase) return broken(test, "a phase is missing");
    if (!between(phase->wall_ns, inside_ns, outside_ns) || inside_ns <= 0)
        return broken(test, "%.3f ms recorded, the system's clock says %.3f ms", phase->wall_ns / 1e6,
                      outside_ns / 1e6);
    return seen(test, "%.3f ms recorded, %.3f ms by the system's clock", phase->wall_ns / 1e6, outside_ns / 1e6);
}

static bool test_cpu(struct test *test)
{
    if (!open_recording(test)) return false;
    lp_name_id work = name("work");
    int64_t outside = test->parts->cpu_ns();
    struct lp_scope *scope = test->parts->begin(test->thread, work);
    int64_t inside = test->parts->cpu_ns();
    int64_t start = lp__thread_cpu_ns();
    for (uint64_t rounds = 0; lp__thread_cpu_ns() - start < SPIN_NS && rounds < 1000000; rounds++)
        continue;
    const struct timespec nap = {0, SPIN_NS};
    (void)nanosleep(&nap, NULL); /* time that is not CPU time, which a clock that fails its proof counts as such */
    double inside_ns = (double)(test->parts->cpu_ns() - inside);
    test->parts->end(test->thread, scope);
    double outside_ns = (double)(test->parts->cpu_ns() - outside);
    if (!load(test)) return false;
    const struct lp_run_phase *phase = phase_at(test, "work", NULL);
    if (!phase) return broken(test, "a phase is missing");
    if (lp__clock.cpu == LP_CPU_NONE) {
        test->result->outcome = LP_SELFTEST_UNMEASURED;
        return seen(test, "no CPU clock: CPU and wait are left out of reports");
    }
    if (!between(phase->cpu_ns, inside_ns, outside_ns) || inside_ns <= 0)
        return broken(test, "%.3f ms recorded, the thread's clock says %.3f ms", phase->cpu_ns / 1e6, outside_ns / 1e6);
    return seen(test, "%.3f ms of %.3f ms recorded as CPU, %.3f ms by the thread's clock", phase->cpu_ns / 1e6,
                phase->wall_ns / 1e6, outside_ns / 1e6);
}

/* In a child that is killed: entries, and a phase that nobody ends. */
static int killed_work(void *arg)
{
    struct test *test = arg;
    if (!open_recording(test)) return 1;
    record(test, "work", ENTRIES);
    return test->parts->begin(test->thread, name("open")) ? 0 : 1;
}

static bool test_kill(struct test *test)
{
    char what[80];
    struct lp_error err = {0};
    if (test->parts->child(killed_work, test, LP_CHILD_KILL, &err) != LP_OK) return broken(test, "%.150s", err.detail);
    if (!load(test)) return lost(test, "nothing of a killed worker is there");
    const struct lp_run_phase *work = phase_at(test, "work", NULL);
    if (!work || work->calls != ENTRIES) {
        (void)snprintf(what, sizeof what, "%llu entries of %u survived", (unsigned long long)(work ? work->calls : 0),
                       ENTRIES);
        return lost(test, what);
    }
    if (test->run->processes[0].verdict != LP_VERDICT_KILLED)
        return broken(test, "the killed worker is not called killed");
    return seen(test, "a worker killed with SIGKILL kept %u of %u entries and its open phase", ENTRIES, ENTRIES);
}

static int forked_work(void *arg)
{
    struct test *test = arg;
    test->thread = lp__thread_of(test->recording);
    if (!test->thread) return 1;
    record(test, "child", ENTRIES);
    return 0;
}

static bool test_fork(struct test *test)
{
    struct lp_error err = {0};
    if (!open_recording(test)) return false;
    struct lp_scope *scope = test->parts->begin(test->thread, name("parent"));
    int rc = test->parts->child(forked_work, test, LP_CHILD_LEAVE, &err);
    test->parts->end(test->thread, scope);
    if (rc != LP_OK) return broken(test, "%.150s", err.detail);
    if (!load(test)) return false;
    const struct lp_run_phase *parent = phase_at(test, "parent", NULL), *child = phase_at(test, "child", NULL);
    if (test->run->process_count != 2) return lost(test, "the child of a fork left no file");
    if (!parent || parent->calls != 1 || !child || child->calls != ENTRIES)
        return lost(test, "the entries of parent and child are not where they belong");
    return seen(test, "the child of a fork has a file of its own, nothing is counted twice");
}

/* -- running them ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    bool (*run)(struct test *test);
    const char *meaning;
} tests[] = {
    {"store", test_store, "what is recorded reaches the run directory"},
    {"phases", test_phases, "entries are exact"},
    {"counters", test_counters, "totals, adds, min and max are exact"},
    {"wall clock", test_wall, "durations are the system's"},
    {"CPU clock", test_cpu, "CPU time is the thread's own, and wait is what is left"},
    {"kill", test_kill, "a killed worker loses nothing that it had finished"},
    {"fork", test_fork, "workers of a pool are told apart"},
};

static_assert(sizeof tests / sizeof *tests == LP_SELFTEST_COUNT, "the header promises as many");

struct job {
    const struct lp_selftest_parts *parts;
    const char *base;
    size_t index;
    struct lp_selftest_result *result;
    bool *mapped;
};

static void *run_one(void *arg)
{
    const struct job *job = arg;
    struct test test = {.parts = job->parts, .result = job->result, .mapped = job->mapped};
    int len = snprintf(test.dir, sizeof test.dir, "%s/%zu", job->base, job->index);
    if (len < 0 || (size_t)len >= sizeof test.dir)
        broken(&test, "the temporary folder's name is too long");
    else
        tests[job->index].run(&test);
    close_recording(&test);
    lp__run_free(test.run);
    return NULL;
}

/* In a thread of its own: its state in the recording ends with it, and the caller's thread is left as it was. */
static void run_in_thread(const struct job *job)
{
    struct test test = {.result = job->result};
    pthread_t thread;
    *job->result = (struct lp_selftest_result){.name = tests[job->index].name, .meaning = tests[job->index].meaning};
    int failed = pthread_create(&thread, NULL, run_one, (void *)(uintptr_t)job);
    if (failed)
        broken(&test, "no thread: %s", strerror(failed));
    else
        pthread_join(thread, NULL);
}

int lp__selftest(const struct lp_selftest_parts *parts, struct lp_selftest_result out[LP_SELFTEST_COUNT],
                 struct lp_error *err)
{
    char base[PATH_MAX - 8];
    bool mapped = true;
    int rc = lp__temp_dir_make(base, sizeof base, err);
    if (rc != LP_OK) return rc;
    for (size_t i = 0; i < LP_SELFTEST_COUNT; i++) {
        const struct job job = {parts, base, i, &out[i], &mapped};
        run_in_thread(&job);
    }
    lp__temp_dir_remove(base);
    return LP_OK;
}

/* -- the real parts ---------------------------------------------------------------------------------------------- */

static struct lp_scope *real_begin(struct lp_thread *thread, lp_name_id id)
{
    return lp__begin(thread, id, NULL, 0);
}

static void real_end(struct lp_thread *thread, struct lp_scope *scope)
{
    if (scope) lp__end(thread, scope);
}

static void real_count(struct lp_thread *thread, lp_name_id id, int64_t n)
{
    lp__count(thread, id, n);
}

static uint64_t real_wall_ns(void)
{
    return lp__mono_ns();
}

const struct lp_selftest_parts lp__selftest_parts = {
    .open = lp__recording_open,
    .begin = real_begin,
    .end = real_end,
    .count = real_count,
    .child = lp__child_run,
    .load = lp__run_load,
    .wall_ns = real_wall_ns,
    .cpu_ns = lp__thread_cpu_ns,
};
