/* Thread states: handed on when a thread goes, one for each recording, none after a close, found again. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <pthread.h>
#include <sched.h>

static void run_threads(void *(*body)(void *arg), void *arg, int count)
{
    pthread_t threads[16];
    int i;
    for (i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, arg), 0);
    for (i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void *one_entry(void *arg)
{
    entry_in(arg, "request");
    return NULL;
}

static void test_short_threads_hand_their_state_on(void **state)
{
    struct stage stage;
    struct readback rb;
    struct thread_sum sum;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 10000; i++)
        run_threads(one_entry, stage.recording, 1);
    stage_read(&stage, &rb);
    sum = threads_of(&rb);
    assert_int_equal(sum.records, 1);
    assert_int_equal(sum.tenants, 10000);
    assert_int_equal(sum.attached, 0);
    assert_int_equal(phase_at(&rb, "request").calls, 10000);
    assert_true(rb.len <= 128 * 1024);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_threads_at_once_have_a_state_each(void **state)
{
    struct stage stage;
    struct readback rb;
    int i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 30; i++)
        run_threads(one_entry, stage.recording, 16);
    stage_read(&stage, &rb);
    assert_true(threads_of(&rb).records <= 16);
    assert_int_equal(threads_of(&rb).tenants, 480);
    assert_int_equal(phase_at(&rb, "request").calls, 480);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_a_thread_has_one_state_for_each_recording(void **state)
{
    struct stage one, two;
    struct readback rb;
    struct entry a, b;
    int i;
    (void)state;
    stage_open(&one);
    stage_open(&two);
    for (i = 0; i < 100; i++) {
        a = begin_in(one.recording, "a");
        b = begin_in(two.recording, "b");
        count_in(one.recording, "n", 1);
        count_in(two.recording, "n", 10);
        end_of(a);
        end_of(b);
    }
    assert_true(lp__thread_find(one.recording) != lp__thread_find(two.recording));
    stage_read(&one, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 100);
    assert_int_equal(phase_at(&rb, "b").nodes, 0);
    assert_int_equal(phase_at(&rb, "a/b").nodes, 0);
    assert_int_equal(counter_at(&rb, "a", "n").counters.total_low, 100);
    assert_int_equal(threads_of(&rb).records, 1);
    readback_release(&rb);
    stage_read(&two, &rb);
    assert_int_equal(phase_at(&rb, "b").calls, 100);
    assert_int_equal(counter_at(&rb, "b", "n").counters.total_low, 1000);
    readback_release(&rb);
    stage_close(&one);
    stage_close(&two);
}

struct pair {
    struct lp_recording *one, *two;
};

static void *into_both(void *arg)
{
    const struct pair *pair = arg;
    int i;
    for (i = 0; i < 200; i++) {
        entry_in(pair->one, "p");
        entry_in(pair->two, "q");
    }
    return NULL;
}

static void test_two_recordings_in_several_threads(void **state)
{
    struct stage one, two;
    struct readback rb;
    struct pair pair;
    (void)state;
    stage_open(&one);
    stage_open(&two);
    pair = (struct pair){one.recording, two.recording};
    run_threads(into_both, &pair, 8);
    stage_read(&one, &rb);
    assert_int_equal(phase_at(&rb, "p").calls, 1600);
    assert_int_equal(threads_of(&rb).attached, 0);
    readback_release(&rb);
    stage_close(&one);
    stage_read(&two, &rb);
    assert_int_equal(phase_at(&rb, "q").calls, 1600);
    readback_release(&rb);
    stage_close(&two);
}

static double cpu_ns_at(struct stage *stage, const char *path)
{
    struct readback rb;
    struct node_sum sum;
    stage_read(stage, &rb);
    sum = phase_at(&rb, path);
    readback_release(&rb);
    return (double)sum.cpu_ns + (double)sum.cpu_ticks / lp__clock.ticks_per_ns;
}

/* That the thread was switched out is told once: to whichever recording asks first. */
static void test_a_pause_is_no_cpu_time_in_either_of_two_recordings(void **state)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    struct stage first, second;
    struct entry outer, inner;
    int64_t before;
    double used;
    (void)state;
    stage_open(&first);
    stage_open(&second);
    before = lp__thread_cpu_ns();
    outer = begin_in(first.recording, "outer");
    inner = begin_in(second.recording, "inner");
    nanosleep(&pause, NULL);
    entry_in(second.recording, "after");
    assert_true(end_of(outer));
    assert_true(end_of(inner));
    used = (double)(lp__thread_cpu_ns() - before) + 1e6;
    assert_true(cpu_ns_at(&first, "outer") <= used);
    assert_true(cpu_ns_at(&second, "inner") <= used);
    stage_close(&second);
    stage_close(&first);
}

/* One that does not measure CPU lends nothing to one that does, and keeps its word. */
static void test_a_recording_without_cpu_time_beside_one_with(void **state)
{
    struct lp_recording_options options = {.no_cpu = true};
    struct stage with, without;
    int i;
    (void)state;
    stage_open(&with);
    stage_open_with(&without, &options);
    for (i = 0; i < 3; i++) {
        entry_in(without.recording, "p");
        assert_true(lp__thread_of(without.recording)->cpu.real_ns == 0);
        entry_in(with.recording, "p");
        assert_true(lp__clock.cpu == LP_CPU_NONE || lp__thread_of(with.recording)->cpu.real_ns != 0);
    }
    stage_close(&without);
    stage_close(&with);
}

static void test_a_state_is_made_at_the_first_record_only(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    assert_null(lp__thread_find(stage.recording));
    assert_int_equal(readback_recording(&rb, stage.recording), -1);
    entry_in(stage.recording, "a");
    assert_ptr_equal(lp__thread_find(stage.recording), lp__thread_of(stage.recording));
    stage_close(&stage);
}

struct racing {
    struct lp_recording *recording;
    pthread_barrier_t barrier;
};

static void *record_until_closed(void *arg)
{
    struct racing *racing = arg;
    pthread_barrier_wait(&racing->barrier);
    while (lp__thread_of(racing->recording)) {
        entry_in(racing->recording, "p");
        count_in(racing->recording, "n", 1);
    }
    return NULL;
}

static void test_a_close_stops_every_thread(void **state)
{
    struct racing racing;
    struct stage stage;
    struct readback rb;
    pthread_t threads[4];
    struct node_sum before, after;
    int i, round;
    (void)state;
    for (round = 0; round < 20; round++) {
        stage_open(&stage);
        racing.recording = stage.recording;
        pthread_barrier_init(&racing.barrier, NULL, 5);
        for (i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, record_until_closed, &racing), 0);
        pthread_barrier_wait(&racing.barrier);
        entry_in(stage.recording, "p");
        lp__recording_close(stage.recording);
        for (i = 0; i < 4; i++)
            pthread_join(threads[i], NULL); /* they end, so they have noticed */
        stage_read(&stage, &rb);
        before = phase_at(&rb, "p");
        readback_release(&rb);
        entry_in(stage.recording, "p");
        stage_read(&stage, &rb);
        after = phase_at(&rb, "p");
        assert_int_equal(after.begun, before.begun);
        readback_release(&rb);
        pthread_barrier_destroy(&racing.barrier);
        stage_close(&stage);
    }
}

/* The background thread holds one too while it beats. */
static void assert_references(struct lp_recording *recording, unsigned count)
{
    int tries;
    for (tries = 0; tries < 1000000 && atomic_load(&recording->references) != count; tries++)
        sched_yield();
    assert_int_equal(atomic_load(&recording->references), count);
}

struct turning {
    struct lp_recording *first, *second;
    pthread_barrier_t barrier;
};

static void *turn_to_the_second(void *arg)
{
    struct turning *turning = arg;
    entry_in(turning->first, "p");
    pthread_barrier_wait(&turning->barrier);
    pthread_barrier_wait(&turning->barrier); /* the first was closed meanwhile */
    entry_in(turning->second, "p");
    pthread_barrier_wait(&turning->barrier);
    pthread_barrier_wait(&turning->barrier);
    return NULL;
}

/* A closed recording is kept by whoever opened it, and by threads only until they record elsewhere. */
static void test_threads_let_go_of_what_was_closed(void **state)
{
    struct stage one, two;
    struct turning turning;
    pthread_t thread;
    (void)state;
    stage_open(&one);
    stage_open(&two);
    turning.first = one.recording;
    turning.second = two.recording;
    pthread_barrier_init(&turning.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, turn_to_the_second, &turning), 0);
    entry_in(one.recording, "p");
    pthread_barrier_wait(&turning.barrier);
    assert_references(one.recording, 3);
    lp__recording_close(one.recording);
    assert_references(one.recording, 2); /* ours, and the other thread's */
    pthread_barrier_wait(&turning.barrier);
    pthread_barrier_wait(&turning.barrier);
    assert_references(one.recording, 1);
    assert_references(two.recording, 2);
    pthread_barrier_wait(&turning.barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&turning.barrier);
    stage_close(&one);
    stage_close(&two);
}

/* A thread may hold the address of a recording that is gone by the time it looks. */
static void test_a_stale_recording_records_nothing(void **state)
{
    struct stage stage;
    struct lp_recording *gone;
    (void)state;
    stage_open(&stage);
    gone = stage.recording;
    stage_close(&stage);
    assert_null(lp__thread_of(gone));
}

static void *keep_scope(void *arg)
{
    struct entry *entry = arg;
    *entry = begin_in(entry->recording, "a");
    return NULL;
}

static void test_a_handle_outlives_thread_and_recording(void **state)
{
    struct stage stage, other;
    struct entry entry;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    stage_open(&other);
    entry.recording = stage.recording;
    run_threads(keep_scope, &entry, 1);
    stage_close(&stage);
    entry.recording = other.recording;
    entry_in(other.recording, "b");
    assert_false(end_of(entry));
    stage_read(&other, &rb);
    assert_int_equal(drops_of(&rb, LP_DROP_END_WITHOUT_BEGIN), 1);
    readback_release(&rb);
    stage_close(&other);
}

static void test_native_thread_names(void **state)
{
    struct lp_recording_options options = {.thread_names = true};
    struct stage stage;
    struct readback rb;
    char before[16];
    (void)state;
    pthread_getname_np(pthread_self(), before, sizeof before);
    pthread_setname_np(pthread_self(), "a loader");
    stage_open_with(&stage, &options);
    entry_in(stage.recording, "p");
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a loader/p").calls, 1);
    assert_true(phase_at(&rb, "a loader").flags & LP_NODE_THREAD);
    readback_release(&rb);
    stage_close(&stage);
    pthread_setname_np(pthread_self(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_threads_hand_their_state_on),
        cmocka_unit_test(test_threads_at_once_have_a_state_each),
        cmocka_unit_test(test_a_thread_has_one_state_for_each_recording),
        cmocka_unit_test(test_two_recordings_in_several_threads),
        cmocka_unit_test(test_a_pause_is_no_cpu_time_in_either_of_two_recordings),
        cmocka_unit_test(test_a_recording_without_cpu_time_beside_one_with),
        cmocka_unit_test(test_a_state_is_made_at_the_first_record_only),
        cmocka_unit_test(test_a_close_stops_every_thread),
        cmocka_unit_test(test_threads_let_go_of_what_was_closed),
        cmocka_unit_test(test_a_stale_recording_records_nothing),
        cmocka_unit_test(test_a_handle_outlives_thread_and_recording),
        cmocka_unit_test(test_native_thread_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
