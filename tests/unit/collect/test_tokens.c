/* Tokens of every age and place, the macros, and programs that are started. (Which copy gets it: test_api.c.) */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <errno.h>
#include <pthread.h>

#include "collect/table.h"
#include "lineprofiler.h"
#include "store/rundir.h"

struct run {
    struct temp_dir dir;
    char path[80];
};

static void start(struct run *run)
{
    assert_int_equal(temp_dir_make(&run->dir), 0);
    snprintf(run->path, sizeof run->path, "%.63s/run", run->dir.path);
    assert_int_equal(lp_start(run->path, "tester"), 0);
}

static void read_installed(struct readback *rb)
{
    assert_int_equal(readback_recording(rb, atomic_load(&lp__installed)), 0);
}

static void stop(const struct run *run)
{
    lp_stop();
    assert_null(atomic_load(&lp__installed));
    assert_int_equal(temp_dir_remove(&run->dir), 0);
    unsetenv("LINEPROFILER_RUN_DIR");
    unsetenv("LINEPROFILER_RUN_ID");
}

static int work(int n)
{
    LP_PHASE("work");
    LP_COUNT("items", n);
    if (n == 2) return n; /* every way out ends it */
    LP_PHASE("rest");
    return n + 1;
}

static void test_macros(void **state)
{
    struct run run;
    struct readback rb;
    int i;
    (void)state;
    start(&run);
    for (i = 0; i < 5; i++)
        (void)work(i);
    read_installed(&rb);
    assert_int_equal(phase_at(&rb, "work").calls, 5);
    assert_int_equal(phase_at(&rb, "work/rest").calls, 4);
    assert_int_equal(counter_at(&rb, "work", "items").counters.total_low, 10);
    assert_int_equal(lp__recording_open_scopes(atomic_load(&lp__installed), lp__tls_thread), 0);
    readback_release(&rb);
    stop(&run);
}

static void test_names(void **state)
{
    lp_name name = lp_name_register("a name");
    (void)state;
    assert_true(name != 0);
    assert_int_equal(lp_name_register("a name"), name);
    assert_int_equal(lp_name_register_n("a name!", 6), name);
    assert_true(lp_name_register_n("a\0b", 3) != lp_name_register("a"));
    assert_int_equal(lp_name_register(NULL), 0);
    assert_string_equal(lp_version(), LP_VERSION);
}

static void test_nothing_happens_while_nothing_records(void **state)
{
    lp_name name = lp_name_register("idle");
    lp_token token, nothing = {NULL, 0, NULL};
    (void)state;
    errno = 5;
    token = lp_phase_begin(name);
    assert_null(token.scope);
    lp_count(name, 1);
    lp_phase_end(token);
    lp_phase_end(nothing);
    lp_stop();
    lp_signal(name, "k");
    lp_wait_on(name, "k");
    (void)work(1);
    assert_int_equal(errno, 5);
}

static void test_a_name_of_zero_is_not_recorded(void **state)
{
    struct run run;
    struct readback rb;
    (void)state;
    start(&run);
    lp_phase_end(lp_phase_begin(0));
    lp_count(0, 1);
    (void)work(1);
    read_installed(&rb);
    assert_int_equal(node_count(&rb), 3);
    readback_release(&rb);
    stop(&run);
}

static void test_tokens_of_every_age(void **state)
{
    struct run run;
    struct readback rb;
    lp_name name = lp_name_register("aged");
    lp_token open, ended, of_old;
    (void)state;
    start(&run);
    of_old = lp_phase_begin(name);
    ended = lp_phase_begin(name);
    lp_phase_end(ended);
    stop(&run); /* of_old is still open */
    lp_phase_end(of_old);
    start(&run);
    open = lp_phase_begin(name);
    lp_phase_end(of_old);
    lp_phase_end(ended);
    lp_phase_end(open);
    lp_phase_end(open);
    read_installed(&rb);
    assert_int_equal(phase_at(&rb, "aged").calls, 1);
    assert_int_equal(drops_of(&rb, LP_DROP_END_WITHOUT_BEGIN), 3);
    readback_release(&rb);
    stop(&run);
}

struct handed {
    lp_name name;
    lp_token token;
};

static void *begin_one(void *arg)
{
    struct handed *handed = arg;
    handed->token = lp_phase_begin(handed->name);
    return NULL;
}

static void test_a_token_of_a_thread_and_a_recording_that_are_gone(void **state)
{
    struct run run;
    struct handed handed = {.name = lp_name_register("handed")};
    pthread_t thread;
    (void)state;
    start(&run);
    assert_int_equal(pthread_create(&thread, NULL, begin_one, &handed), 0);
    pthread_join(thread, NULL);
    stop(&run); /* nobody holds it any more: it is freed */
    lp_phase_end(handed.token);
    start(&run);
    lp_phase_end(handed.token);
    stop(&run);
}

static void *end_one(void *arg)
{
    const struct handed *handed = arg;
    lp_phase_end(handed->token);
    return NULL;
}

static void test_another_thread_ends_it(void **state)
{
    struct run run;
    struct readback rb;
    struct handed handed = {.name = lp_name_register("handed")};
    pthread_t thread;
    (void)state;
    start(&run);
    handed.token = lp_phase_begin(handed.name);
    assert_int_equal(pthread_create(&thread, NULL, end_one, &handed), 0);
    pthread_join(thread, NULL);
    (void)work(1);
    read_installed(&rb);
    assert_int_equal(phase_at(&rb, "handed").calls, 1);
    assert_int_equal(phase_at(&rb, "work").calls, 1); /* not below it */
    assert_int_equal(drops_of(&rb, LP_DROP_END_FOREIGN), 1);
    readback_release(&rb);
    stop(&run);
}

static int end_inherited(void *arg)
{
    const lp_token *token = arg;
    lp_phase_end(*token);
    (void)work(1);
    lp_phase_end(*token);
    return lp__recording_open_scopes(atomic_load(&lp__installed), lp__tls_thread) ? 1 : 0;
}

static void test_an_inherited_token(void **state)
{
    struct run run;
    struct readback rb;
    lp_token token;
    (void)state;
    start(&run);
    token = lp_phase_begin(lp_name_register("parent"));
    assert_int_equal(in_child(end_inherited, &token), 0);
    lp_phase_end(token);
    read_installed(&rb);
    assert_int_equal(phase_at(&rb, "parent").calls, 1);
    assert_int_equal(phase_at(&rb, "work").nodes, 0);
    readback_release(&rb);
    stop(&run);
}

static void test_starting_twice_is_once(void **state)
{
    struct run run;
    struct lp_recording *first;
    (void)state;
    start(&run);
    first = atomic_load(&lp__installed);
    assert_int_equal(lp_start("/nowhere", "other"), 0);
    assert_ptr_equal(atomic_load(&lp__installed), first);
    stop(&run);
    assert_true(lp_start("", NULL) < 0);
}

static void test_programs_are_told_of_the_present_run(void **state)
{
    struct run first, second;
    (void)state;
    start(&first);
    assert_string_equal(getenv("LINEPROFILER_RUN_DIR"), first.path);
    lp_stop();
    start(&second);
    assert_string_equal(getenv("LINEPROFILER_RUN_DIR"), second.path);
    stop(&second);
    assert_int_equal(temp_dir_remove(&first.dir), 0);
}

static void test_a_recording_that_others_installed_goes_on(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    lp__install(stage.recording);
    assert_int_equal(lp_start("/nowhere", NULL), 0);
    lp_stop();
    assert_ptr_equal(atomic_load(&lp__installed), stage.recording);
    assert_true(lp__recording_is_open(stage.recording));
    stage_close(&stage);
}

/* -- programs that this one starts ------------------------------------------------------------------------------- */

static int be_child(void)
{
    if (lp_start(NULL, NULL)) return 1;
    (void)work(1);
    return 0; /* exit is a stop */
}

static void test_a_program_that_is_started_joins_the_run(void **state)
{
    struct run run;
    struct lp_arena arena;
    struct lp_rundir_list list;
    size_t i;
    int status;
    pid_t pid;
    (void)state;
    start(&run);
    (void)work(1);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "test", "--child", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    lp__arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(lp__rundir_list(run.path, false, &arena, &list, NULL, NULL), 0);
    assert_int_equal(list.count, 2);
    for (i = 0; i < 2; i++) {
        const char *attempt = lp__recording_attempt(atomic_load(&lp__installed));
        const char *name = strrchr(list.files[i].path, '/') + 1;
        assert_int_equal(strncmp(name, attempt, strlen(attempt)), 0);
    }
    lp__arena_release(&arena);
    stop(&run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_nothing_happens_while_nothing_records),
        cmocka_unit_test(test_a_name_of_zero_is_not_recorded),
        cmocka_unit_test(test_tokens_of_every_age),
        cmocka_unit_test(test_a_token_of_a_thread_and_a_recording_that_are_gone),
        cmocka_unit_test(test_another_thread_ends_it),
        cmocka_unit_test(test_an_inherited_token),
        cmocka_unit_test(test_starting_twice_is_once),
        cmocka_unit_test(test_programs_are_told_of_the_present_run),
        cmocka_unit_test(test_a_recording_that_others_installed_goes_on),
        cmocka_unit_test(test_a_program_that_is_started_joins_the_run),
    };
    if (argc > 1 && !strcmp(argv[1], "--child")) return be_child();
    unsetenv("LINEPROFILER_RUN_DIR");
    unsetenv("LINEPROFILER_RUN_ID");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
