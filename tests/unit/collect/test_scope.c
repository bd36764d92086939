/* Scopes of real threads: sums of nested entries, ends out of order, twice, and from other threads; errno. (Owners and
 * suspension: test_scope_model.c.) */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <errno.h>
#include <pthread.h>

/* Work whose length depends on `n` a little, so that phases differ. */
static void spin(unsigned n)
{
    volatile unsigned sink = 0;
    unsigned i;
    for (i = 0; i < 200 * (n % 13 + 1); i++)
        sink += i;
    (void)sink;
}

struct sums {
    uint64_t self; /* of all nodes but the root */
    uint64_t top;  /* what the root was charged */
};

static void add_self(const struct readback *rb, const struct lp_node_record *node, void *arg)
{
    struct sums *sums = arg;
    (void)rb;
    assert_int_equal(node->begun, node->calls);
    if (node->calls || node->parent) assert_int_equal(node->start_sum, 0);
    if (node->parent)
        sums->self += node->wall - node->suspended - node->inner;
    else
        sums->top += node->inner;
}

static void test_own_times_add_up_to_what_ran(void **state)
{
    struct stage stage;
    struct readback rb;
    struct sums sums = {0};
    unsigned i;
    (void)state;
    stage_open(&stage);
    for (i = 0; i < 300; i++) {
        struct entry a = begin_in(stage.recording, "a"), b;
        spin(i);
        b = begin_in(stage.recording, "b");
        spin(i + 5);
        entry_in(stage.recording, "c");
        end_of(b);
        entry_in(stage.recording, i % 3 ? "b" : "d");
        end_of(a);
        spin(i + 7);
    }
    stage_read(&stage, &rb);
    each_node(&rb, add_self, &sums);
    assert_int_equal(sums.self, sums.top);
    assert_int_equal(sums.top, phase_at(&rb, "a").wall);
    assert_int_equal(phase_at(&rb, "a").inner, phase_at(&rb, "a/b").wall + phase_at(&rb, "a/d").wall);
    assert_true(phase_at(&rb, "a").wall_min <= phase_at(&rb, "a").wall / 300);
    assert_true(phase_at(&rb, "a").wall_max >= phase_at(&rb, "a").wall / 300);
    assert_int_equal(phase_at(&rb, "a/b").hist, phase_at(&rb, "a/b").calls);
    readback_release(&rb);
    stage_close(&stage);
}

/* Per thread: what ran in phases and what ran outside make up the time between its first and its last record. */
static void *run_and_leave(void *arg)
{
    unsigned i;
    for (i = 0; i < 50; i++) {
        entry_in(arg, "p");
        spin(i);
    }
    return NULL;
}

static void test_a_threads_time_holds_its_phases(void **state)
{
    struct stage stage;
    struct readback rb;
    pthread_t thread;
    (void)state;
    stage_open(&stage);
    assert_int_equal(pthread_create(&thread, NULL, run_and_leave, stage.recording), 0);
    pthread_join(thread, NULL);
    stage_read(&stage, &rb);
    assert_int_equal(threads_of(&rb).attached, 0);
    assert_true(threads_of(&rb).elapsed > phase_at(&rb, "").inner);
    assert_int_equal(phase_at(&rb, "").inner, phase_at(&rb, "p").wall);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_ends_out_of_order_close_their_own_phase(void **state)
{
    struct stage stage;
    struct readback rb;
    struct sums sums = {0};
    struct entry a, b, c;
    (void)state;
    stage_open(&stage);
    a = begin_in(stage.recording, "a");
    spin(1);
    b = begin_in(stage.recording, "b");
    spin(2);
    c = begin_in(stage.recording, "c");
    spin(3);
    assert_true(end_of(a));
    spin(4);
    assert_true(end_of(b));
    spin(5);
    assert_true(end_of(c));
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 1);
    assert_int_equal(phase_at(&rb, "a/b").calls, 1);
    assert_int_equal(phase_at(&rb, "a/b/c").calls, 1);
    assert_true(phase_at(&rb, "a/b/c").wall > 0);
    assert_int_equal(drops_of(&rb, LP_DROP_END_OUT_OF_ORDER), 2);
    each_node(&rb, add_self, &sums);
    assert_int_equal(sums.self, sums.top); /* nothing is charged twice */
    readback_release(&rb);
    stage_close(&stage);
}

static void test_an_end_too_many_is_counted(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry a, again;
    (void)state;
    stage_open(&stage);
    a = begin_in(stage.recording, "a");
    assert_true(end_of(a));
    assert_false(end_of(a));
    again = begin_in(stage.recording, "a"); /* the same scope, used again */
    assert_ptr_equal(again.scope, a.scope);
    assert_false(end_of(a));
    assert_true(end_of(again));
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 2);
    assert_int_equal(drops_of(&rb, LP_DROP_END_WITHOUT_BEGIN), 2);
    readback_release(&rb);
    stage_close(&stage);
}

static void *end_it(void *arg)
{
    const struct entry *entry = arg;
    end_of(*entry);
    return NULL;
}

static void test_another_thread_may_end_a_phase(void **state)
{
    struct stage stage;
    struct readback rb;
    struct sums sums = {0};
    struct entry a, b, c;
    pthread_t thread;
    (void)state;
    stage_open(&stage);
    a = begin_in(stage.recording, "a");
    b = begin_in(stage.recording, "b");
    c = begin_in(stage.recording, "c");
    assert_int_equal(pthread_create(&thread, NULL, end_it, &b), 0);
    pthread_join(thread, NULL);
    assert_int_equal(b.scope->state, LP_SCOPE_ENDING);
    entry_in(stage.recording, "x"); /* the thread's next record takes it off */
    end_of(c);
    assert_false(end_of(b));
    end_of(a);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 1);
    assert_int_equal(phase_at(&rb, "a/b").calls, 1);
    assert_int_equal(phase_at(&rb, "a/b").unmeasured, 1);
    assert_int_equal(phase_at(&rb, "a/b/c").calls, 1);
    assert_int_equal(drops_of(&rb, LP_DROP_END_FOREIGN), 1);
    assert_int_equal(drops_of(&rb, LP_DROP_END_OUT_OF_ORDER), 0);
    each_node(&rb, add_self, &sums);
    readback_release(&rb);
    stage_close(&stage);
}

struct exchange {
    struct lp_recording *recording;
    pthread_barrier_t barrier;
    struct entry entries[2];
    int rounds;
};

struct party {
    struct exchange *exchange;
    int number;
};

/* Each round both threads begin, then each ends the other's and, at the same time, its own. */
static void *cross_ends(void *arg)
{
    const struct party *party = arg;
    struct exchange *x = party->exchange;
    int i;
    for (i = 0; i < x->rounds; i++) {
        x->entries[party->number] = begin_in(x->recording, "p");
        pthread_barrier_wait(&x->barrier);
        end_of(x->entries[!party->number]);
        end_of(x->entries[party->number]);
        pthread_barrier_wait(&x->barrier);
    }
    entry_in(x->recording, "last");
    return NULL;
}

static void test_two_threads_may_end_one_phase_at_once(void **state)
{
    struct stage stage;
    struct readback rb;
    struct exchange exchange = {.rounds = 2000};
    struct party parties[2] = {{&exchange, 0}, {&exchange, 1}};
    pthread_t threads[2];
    int i;
    (void)state;
    stage_open(&stage);
    exchange.recording = stage.recording;
    pthread_barrier_init(&exchange.barrier, NULL, 2);
    for (i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, cross_ends, &parties[i]), 0);
    for (i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "p").begun, 4000);
    assert_int_equal(phase_at(&rb, "p").calls, 4000); /* each ended once, whoever did it */
    assert_int_equal(phase_at(&rb, "last").calls, 2);
    readback_release(&rb);
    pthread_barrier_destroy(&exchange.barrier);
    stage_close(&stage);
}

static void *leave_open(void *arg)
{
    (void)begin_in(arg, "a");
    (void)begin_in(arg, "b");
    return NULL;
}

static void test_what_a_thread_leaves_open_ends_with_it(void **state)
{
    struct stage stage;
    struct readback rb;
    pthread_t thread;
    (void)state;
    stage_open(&stage);
    assert_int_equal(pthread_create(&thread, NULL, leave_open, stage.recording), 0);
    pthread_join(thread, NULL);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 1);
    assert_int_equal(phase_at(&rb, "a/b").calls, 1);
    assert_int_equal(drops_of(&rb, LP_DROP_LEFT_OPEN), 2);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_errno_is_left_alone(void **state)
{
    struct stage stage;
    struct entry a;
    char name[16];
    int i;
    (void)state;
    stage_open(&stage);
    errno = 77;
    a = begin_in(stage.recording, "first"); /* makes directories, file, thread */
    assert_int_equal(errno, 77);
    for (i = 0; i < 500; i++) { /* grows the store */
        snprintf(name, sizeof name, "e%d", i);
        errno = 77;
        entry_in(stage.recording, name);
        count_in(stage.recording, name, i);
        assert_int_equal(errno, 77);
    }
    end_of(a);
    end_of(a);
    lp__recording_snapshot(stage.recording);
    lp__recording_close(stage.recording);
    assert_int_equal(errno, 77);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_times_add_up_to_what_ran),
        cmocka_unit_test(test_a_threads_time_holds_its_phases),
        cmocka_unit_test(test_ends_out_of_order_close_their_own_phase),
        cmocka_unit_test(test_an_end_too_many_is_counted),
        cmocka_unit_test(test_another_thread_may_end_a_phase),
        cmocka_unit_test(test_two_threads_may_end_one_phase_at_once),
        cmocka_unit_test(test_what_a_thread_leaves_open_ends_with_it),
        cmocka_unit_test(test_errno_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
