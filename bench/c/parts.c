/* parts RUN_DIR ROUNDS: what one entry costs in C, and what each of its parts does.  All variants run in turn in every
 * round.  A part that reads clocks is given twice, as an entry needs it. */
// SPDX-License-Identifier: MIT
#include "bench.h"
#include "lineprofiler.h"

#define OPERATIONS 2000u
#define SLOW       50u /* so many times fewer of what takes microseconds: a round is to be short */

static struct lp_recording *recording;
static struct lp_thread *thread;
static lp_name_id one, two, counted;
static struct lp_tree_node *node_one, *node_two;
static struct lp_cpu_time no_cpu;
static uint64_t random_state = 88172645463325252u;

static uint64_t some_duration(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return 1000 + (random_state & 0xfff);
}

static void run_loop(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        KEEP(i);
}

static void run_wall_twice(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        KEEP(lp__ticks());
        KEEP(lp__ticks());
    }
}

static void run_wall_and_cpu_twice(void)
{
    struct lp_cpu_time cpu;
    uint64_t now;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        lp__read_clocks(thread, &now, &cpu);
        KEEP(cpu.ticks);
        lp__read_clocks(thread, &now, &cpu);
        KEEP(cpu.ticks);
    }
}

static void run_thread_clock_twice(void)
{
    for (uint32_t i = 0; i < OPERATIONS / SLOW; i++) {
        KEEP(lp__thread_cpu_ns());
        KEEP(lp__thread_cpu_ns());
    }
}

static void run_tree_same(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        KEEP(lp__thread_of(recording));
        KEEP(lp__tree_child(thread, thread->top->node, one));
    }
}

static void run_tree_other(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        KEEP(lp__thread_of(recording));
        KEEP(lp__tree_child(thread, thread->top->node, i & 1 ? one : two));
    }
}

static void run_histogram(void)
{
    struct lp_hist_record *hist = &node_one->record->hist;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        uint64_t value = some_duration();
        if (!lp__hist_add_in_place(thread->map.base, hist, value)) lp__store_hist_add(thread, hist, value, 1);
    }
}

static void run_random(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        KEEP(some_duration());
}

/* Stack, books and histogram, with times that cost nothing. */
static void run_books(void)
{
    uint64_t now = thread->record->last_ticks;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        struct lp_scope *scope = lp__scope_push(thread, node_one, 0, now, no_cpu);
        KEEP(scope);
        now += 50;
        if (lp__scope_is_plain_top(thread, scope)) lp__scope_pop(thread, scope, now, no_cpu);
    }
}

static void run_entry(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        struct lp_thread *mine = lp__thread_of(recording);
        struct lp_scope *scope = lp__begin(mine, one, NULL, 0);
        KEEP(scope);
        mine = lp__thread_of(recording);
        lp__end(mine, scope);
    }
}

static void run_public(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        lp_token token = lp_phase_begin(one);
        KEEP(token.scope);
        lp_phase_end(token);
    }
}

static void run_public_other(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        lp_token token = lp_phase_begin(i & 1 ? one : two);
        KEEP(token.scope);
        lp_phase_end(token);
    }
}

static void run_public_count(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        lp_count(counted, 7);
}

static void run_public_count_varying(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        lp_count(two, (int64_t)(i & 63));
}

static void run_public_off(void)
{
    lp__install(NULL);
    run_public();
    lp__install(recording);
}

static const struct variant {
    const char *name;
    void (*run)(void);
    uint32_t fewer;
} variants[] = {
    {"loop", run_loop, 1},
    {"loop_again", run_loop, 1},
    {"wall_twice", run_wall_twice, 1},
    {"clocks_twice", run_wall_and_cpu_twice, 1},
    {"thread_clock_twice", run_thread_clock_twice, SLOW},
    {"tree_same", run_tree_same, 1},
    {"tree_other", run_tree_other, 1},
    {"random", run_random, 1},
    {"histogram", run_histogram, 1},
    {"books", run_books, 1},
    {"entry", run_entry, 1},
    {"public", run_public, 1},
    {"public_other", run_public_other, 1},
    {"public_off", run_public_off, 1},
    {"count", run_public_count, 1},
    {"count_varying", run_public_count_varying, 1},
};

static void prepare(const char *run_dir)
{
    recording = bench_open(run_dir, LP_STORE_AUTO);
    lp__install(recording);
    one = lp__name_register("one", 3);
    two = lp__name_register("two", 3);
    counted = lp__name_register("things", 6);
    thread = lp__thread_of(recording);
    if (thread == NULL) exit(1);
    node_one = lp__tree_child(thread, thread->top->node, one);
    node_two = lp__tree_child(thread, thread->top->node, two);
}

int main(int argc, char **argv)
{
    size_t count = sizeof variants / sizeof *variants;
    int round, rounds = argc > 2 ? atoi(argv[2]) : 100;
    if (argc < 2) return 2;
    prepare(argv[1]);
    for (round = -2; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            const struct variant *variant = &variants[(i + (size_t)(round + 2)) % count];
            struct stopwatch start, spent;
            variant->run(); /* whatever ran before has left the caches full of its own */
            start = watch_start();
            variant->run();
            spent = watch_since(start);
            if (round >= 0) print_round(variant->name, round, spent, OPERATIONS / variant->fewer);
        }
    }
    printf("clock %s %s\n", lp__wall_clock_name(lp__clock.wall), lp__cpu_clock_name(lp__clock.cpu));
    lp__install(NULL);
    lp__recording_release(recording);
    return 0;
}
