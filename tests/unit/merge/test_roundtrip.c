/* What a real recording writes is what a run holds: the writer and the reader against each other. */
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/phase.h"
#include "collect/recording.h"
#include "merge/run.h"
#include "support/run_lookup.h"
#include "support/temp_dir.h"

static int set_up(void **state)
{
    struct temp_dir *dir = calloc(1, sizeof *dir);
    *state = dir;
    return dir ? temp_dir_make(dir) : -1;
}

static int tear_down(void **state)
{
    struct temp_dir *dir = *state;
    int rc = temp_dir_remove(dir);
    free(dir);
    return rc;
}

static struct lp_recording *start(const struct temp_dir *dir, const char *role)
{
    struct lp_recording *recording = NULL;
    struct lp_recording_options options = {
        .run_dir = dir->path, .role = role, .role_len = strlen(role), .attempt = "t1"};
    return lp__recording_open(&options, &recording, NULL) ? NULL : recording;
}

static lp_name_id name_of(const char *text)
{
    return lp__name_register(text, strlen(text));
}

/* outer { inner × times, each counting one and its number } */
static void work(struct lp_recording *recording, int times)
{
    struct lp_thread *thread = lp__thread_of(recording);
    struct lp_scope *outer = lp__begin(thread, name_of("outer"), NULL, 0);
    for (int i = 0; i < times; i++) {
        struct lp_scope *inner = lp__begin(thread, name_of("in/ner"), NULL, 0);
        lp__count(thread, name_of("one"), 1);
        lp__count(thread, name_of("number"), i - 3);
        lp__end(thread, inner);
    }
    lp__end(thread, outer);
}

static void *work_in_thread(void *recording)
{
    work(recording, 50);
    return NULL;
}

static struct lp_run *load(const struct temp_dir *dir)
{
    struct lp_run *run = NULL;
    assert_int_equal(lp__run_load(dir->path, NULL, &run, NULL), LP_OK);
    assert_int_equal(run->bad_count, 0);
    return run;
}

/* The phase ("outer", "in/ner"): a name with a slash is one name. */
static const struct lp_run_phase *inner_of(const struct lp_run *run)
{
    const struct lp_run_tree *tree = &run->roles[0].tree;
    const struct lp_run_phase *outer = run_phase(run, tree, "outer");
    uint32_t name, at;
    assert_non_null(outer);
    assert_true(lp__intern_find(&run->names, "in/ner", 6, &name));
    at = lp__run_tree_child(tree, (uint32_t)(outer - tree->phases), name);
    assert_int_not_equal(at, UINT32_MAX);
    return &tree->phases[at];
}

static void what_was_recorded_is_there(void **state)
{
    struct lp_recording *recording = start(*state, "actor");
    pthread_t other;
    assert_non_null(recording);
    work(recording, 100);
    assert_int_equal(pthread_create(&other, NULL, work_in_thread, recording), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    lp__recording_close(recording);
    lp__recording_release(recording);
    struct lp_run *run = load(*state);
    const struct lp_run_process *process = &run->processes[0];
    const struct lp_run_phase *inner = inner_of(run), *outer = run_phase(run, &run->roles[0].tree, "outer");
    assert_int_equal(run->process_count, 1);
    assert_int_equal(process->verdict, LP_VERDICT_FINISHED);
    assert_string_equal(process->role, "actor");
    assert_string_equal(process->attempt, "t1");
    assert_int_equal(process->pid, getpid());
    assert_int_equal(process->threads, 2);
    assert_false(process->damaged);
    assert_false(process->truncated);
    assert_int_equal(process->torn_threads, 0);
    assert_int_equal(inner->calls, 150);
    assert_int_equal(inner->hist->count, 150);
    assert_int_equal(outer->calls, 2);
    assert_int_equal(process->entries, 152);
    assert_true(outer->wall_ns >= inner->wall_ns);
    assert_true(inner->min_ns <= inner->max_ns);
    assert_true(process->outside_ns >= 0 && process->top_wall_ns <= process->elapsed_ns);
    const struct lp_run_counter *one = run_counter(run, inner, "one"), *number = run_counter(run, inner, "number");
    assert_int_equal(one->total_low, 150);
    assert_null(one->hist);
    assert_int_equal(number->adds, 150);
    assert_int_equal(number->min, -3);
    assert_int_equal(number->max, 96);
    assert_int_equal(number->hist->count + number->hist_negative->count, 150);
    lp__run_free(run);
}

static void a_live_store_reads_itself(void **state)
{
    struct lp_recording *recording = start(*state, "actor");
    struct lp_run *run = NULL;
    void *bytes = NULL;
    uint64_t len = 0;
    assert_non_null(recording);
    struct lp_thread *thread = lp__thread_of(recording);
    struct lp_scope *open = lp__begin(thread, name_of("still open"), NULL, 0);
    work(recording, 7);
    assert_int_equal(lp__recording_copy(recording, &bytes, &len, NULL), LP_OK);
    assert_int_equal(lp__run_load_image(bytes, len, &run, NULL), LP_OK);
    const struct lp_run_phase *phase = run_phase(run, &run->roles[0].tree, "still open");
    assert_int_equal(phase->open, 1);
    assert_true(phase->open_wall_ns > 0);
    assert_int_equal(run->processes[0].verdict, LP_VERDICT_RUNNING);
    assert_true(run->processes[0].outside_ns <= run->processes[0].elapsed_ns);
    lp__run_free(run);
    lp__free(bytes);
    lp__end(thread, open);
    lp__recording_close(recording);
    lp__recording_release(recording);
}

/* Says after each entry how many there were, until it is killed. */
static void record_until_killed(const struct temp_dir *dir, int progress)
{
    struct lp_recording *recording = start(dir, "victim");
    struct lp_thread *thread = recording ? lp__thread_of(recording) : NULL;
    if (!thread) _exit(1);
    (void)lp__begin(thread, name_of("outer"), NULL, 0);
    for (unsigned i = 1;; i++) {
        lp__end(thread, lp__begin(thread, name_of("in/ner"), NULL, 0));
        if (write(progress, &i, sizeof i) != sizeof i) _exit(2);
    }
}

static void a_kill_loses_nothing(void **state)
{
    int progress[2];
    unsigned told = 0, last = 0;
    assert_int_equal(pipe(progress), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        close(progress[0]);
        record_until_killed(*state, progress[1]);
    }
    close(progress[1]);
    while (told < 1000 && read(progress[0], &told, sizeof told) == sizeof told)
        last = told;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(progress[0], &told, sizeof told) == sizeof told)
        last = told;
    close(progress[0]);
    assert_true(last >= 1000);
    struct lp_run *run = load(*state);
    assert_int_equal(run->processes[0].verdict, LP_VERDICT_KILLED);
    assert_int_equal(run->processes[0].pid, child);
    assert_int_equal(run_phase(run, &run->roles[0].tree, "outer")->open, 1);
    assert_true(run_phase(run, &run->roles[0].tree, "outer")->open_wall_ns > 0);
    assert_true(inner_of(run)->calls >= last);
    assert_true(inner_of(run)->calls <= last + 1);
    lp__run_free(run);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_was_recorded_is_there),
        TEST(a_live_store_reads_itself),
        TEST(a_kill_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
