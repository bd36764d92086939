/* threads RUN_DIR ROUNDS: CPU time of an entry while 1, 2 and 4 threads of one process record at once.  One line for
 * each round and number of threads: the mean over the threads. */
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include "bench.h"

#define ENTRIES 20000u
#define MOST    4

static struct lp_recording *recording;
static lp_name_id names[4];

struct worker {
    pthread_t id;
    pthread_barrier_t *start;
    struct stopwatch spent;
};

static void entries(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct lp_scope *scope = lp__begin(lp__thread_of(recording), names[i & 3], NULL, 0);
        KEEP(scope);
        lp__end(lp__thread_of(recording), scope);
    }
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct stopwatch start;
    if (lp__thread_of(recording) == NULL) exit(1);
    entries(64);
    pthread_barrier_wait(worker->start);
    start = watch_start();
    entries(ENTRIES);
    worker->spent = watch_since(start);
    pthread_barrier_wait(worker->start); /* nobody leaves, and frees the core for others, before the last has done */
    return NULL;
}

static void run(int count, int round)
{
    struct worker workers[MOST];
    struct stopwatch sum = {0, 0};
    pthread_barrier_t barrier;
    char name[16];
    int i;
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (i = 0; i < count; i++) {
        workers[i].start = &barrier;
        if (pthread_create(&workers[i].id, NULL, work, &workers[i])) exit(1);
    }
    for (i = 0; i < count; i++) {
        pthread_join(workers[i].id, NULL);
        sum.wall += workers[i].spent.wall;
        sum.cpu += workers[i].spent.cpu;
    }
    pthread_barrier_destroy(&barrier);
    snprintf(name, sizeof name, "threads_%d", count);
    print_round(name, round, sum, (uint64_t)ENTRIES * (uint64_t)count);
}

int main(int argc, char **argv)
{
    int round, rounds = argc > 2 ? atoi(argv[2]) : 20;
    unsigned i;
    if (argc < 2) return 2;
    recording = bench_open(argv[1], LP_STORE_AUTO);
    for (i = 0; i < 4; i++)
        names[i] = bench_name("phase", i);
    for (round = 0; round < rounds; round++)
        for (int count = 1; count <= MOST; count *= 2)
            run(count, round);
    lp__recording_release(recording);
    return 0;
}
