/* The n-th allocation fails, and all after it, for every n: nothing crashes, nothing leaks, what is recorded is right.
 */
// SPDX-License-Identifier: MIT
#include "sums.h"

#include <pthread.h>

static lp_name_id numbered(const char *format, long n)
{
    char text[40];
    int len = snprintf(text, sizeof text, format, n);
    return lp__name_register(text, (size_t)len);
}

static struct lp_scope *begin_if(struct lp_thread *thread, lp_name_id name)
{
    return thread && name ? lp__begin(thread, name, NULL, 0) : NULL;
}

static void end_if(struct lp_thread *thread, struct lp_scope *scope)
{
    if (scope) lp__end(thread, scope);
}

static void *record(void *arg)
{
    struct lp_recording *recording = arg;
    struct lp_thread *thread = lp__thread_of(recording);
    static atomic_long serial;
    long i, first = atomic_fetch_add(&serial, 1000);
    for (i = 0; i < 100; i++) { /* names never seen before: they need memory of their own */
        struct lp_scope *outer = begin_if(thread, numbered("outer %ld", first + i % 3)), *inner;
        inner = begin_if(thread, numbered("inner %ld", first + i));
        if (thread) lp__count(thread, numbered("count %ld", first + i % 7), i);
        end_if(thread, inner);
        end_if(thread, outer);
    }
    return NULL;
}

static void use(struct lp_recording *recording)
{
    struct lp_recording *also = NULL;
    struct lp_recording_options options = {.run_dir = recording->run_dir, .attempt = "also"};
    pthread_t thread;
    void *bytes;
    uint64_t len;
    (void)record(recording);
    if (pthread_create(&thread, NULL, record, recording) == 0) pthread_join(thread, NULL);
    (void)lp__recording_note_shape(recording, 1);
    lp__recording_fact(recording, "key", "value", 5);
    lp__recording_snapshot(recording);
    if (lp__recording_copy(recording, &bytes, &len, NULL) == 0) lp__free(bytes);
    if (lp__recording_open(&options, &also, NULL) == 0) {
        (void)record(also);
        lp__recording_close(also);
        lp__recording_release(also);
    }
}

/* True when nothing was missing. */
static bool check(struct lp_recording *recording)
{
    struct readback rb;
    struct thread_sum threads;
    uint64_t calls;
    if (readback_recording(&rb, recording)) return false;
    calls = assert_sums(&rb);
    threads = threads_of(&rb);
    if (calls + threads.drops[LP_DROP_NO_SPACE] > 400) fail_msg("more entries than there were");
    readback_release(&rb);
    return calls == 400 && threads.drops[LP_DROP_NO_SPACE] == 0 && threads.drops[LP_DROP_COUNTER_NO_SPACE] == 0;
}

static bool fail_at(long n, enum lp_store_choice store)
{
    static const char *const facts[] = {"a", "b", NULL};
    struct lp_recording_options options = {
        .attempt = NULL, .role = "role", .role_len = 4, .python = "3", .facts = facts, .store = store};
    struct lp_recording *recording = NULL;
    struct temp_dir dir;
    struct lp_error err = {0};
    bool whole = false;
    char run[80];
    int rc;
    assert_int_equal(temp_dir_make(&dir), 0);
    snprintf(run, sizeof run, "%.63s/run", dir.path);
    options.run_dir = run;
    lp__mem_fail_after(n);
    rc = lp__recording_open(&options, &recording, &err);
    if (rc == 0) {
        use(recording);
        lp__recording_close(recording);
        lp__mem_fail_after(-1);
        whole = check(recording);
        lp__recording_release(recording);
    }
    lp__mem_fail_after(-1);
    if (rc) assert_int_equal(rc, LP_ERR_NO_MEMORY);
    assert_int_equal(temp_dir_remove(&dir), 0);
    return whole;
}

/* Past the last allocation nothing is missing; ten times in a row, since the name table grows only now and then. */
static void fail_everywhere(enum lp_store_choice store)
{
    long n, whole = 0;
    for (n = 0; n < 3000 && whole < 10; n++)
        whole = fail_at(n, store) ? whole + 1 : 0;
    assert_int_equal(whole, 10);
    assert_true(n > 40); /* there was something to fail */
}

static void test_a_file_in_the_run_directory(void **state)
{
    (void)state;
    fail_everywhere(LP_STORE_AUTO);
}

static void test_copies_from_memory(void **state)
{
    (void)state;
    fail_everywhere(LP_STORE_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_in_the_run_directory),
        cmocka_unit_test(test_copies_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
