/* tail RUN_DIR MEGABYTES: how long single entries take while a neighbour writes to the same disk.
 *
 * Each step records the same entry into three recordings: a file in RUN_DIR, tmpfs, and anonymous memory.  What differs
 * between them is what lies under the store; preemption hits all alike.  Steps go on until the neighbour, a child that
 * writes MEGABYTES into a file beside the run and flushes it, has ended.  With 0 there is no neighbour, and a fixed
 * number of steps.
 *
 * Prints `PLACE count p50 p99 p99.9 p99.99 p99.999 max` in nanoseconds. */
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hist.h"
#include "bench.h"

#define PATHS       200u
#define QUIET_STEPS 3000000u

static struct place {
    const char *name;
    enum lp_store_choice choice;
    struct lp_recording *recording;
    struct lp_thread *thread;
    uint64_t max;
    struct lp_hist ticks;
} places[] = {
    {.name = "run_dir", .choice = LP_STORE_RUN_DIR},
    {.name = "shm", .choice = LP_STORE_SHM},
    {.name = "memory", .choice = LP_STORE_MEMORY},
};
#define PLACES (sizeof places / sizeof *places)

static lp_name_id names[PATHS];
static struct lp_arena arena;

static void neighbour(const char *path, long megabytes)
{
    static char block[1 << 20];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    memset(block, 'x', sizeof block);
    for (long i = 0; fd >= 0 && i < megabytes; i++)
        if (write(fd, block, sizeof block) < 0) _exit(1);
    if (fd < 0 || fsync(fd)) _exit(1);
    _exit(0);
}

static uint64_t entry(struct lp_thread *thread, lp_name_id name)
{
    uint64_t start = lp__ticks();
    struct lp_scope *scope = lp__begin(thread, name, NULL, 0);
    KEEP(scope);
    lp__end(thread, scope);
    return lp__ticks() - start;
}

static void step(uint64_t number, bool is_counted)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct place *place = &places[(i + number) % PLACES];
        uint64_t ticks = entry(place->thread, names[number % PATHS]);
        if (!is_counted) continue;
        if (ticks > place->max) place->max = ticks;
        if (lp__hist_add(&place->ticks, &arena, ticks, 1)) exit(1);
    }
}

static void prepare(const char *run_dir)
{
    lp__arena_init(&arena, (size_t)16 << 20);
    for (unsigned i = 0; i < PATHS; i++)
        names[i] = bench_name("phase", i);
    for (size_t i = 0; i < PLACES; i++) {
        places[i].recording = bench_open(run_dir, places[i].choice);
        places[i].thread = lp__thread_of(places[i].recording);
        if (places[i].thread == NULL) exit(1);
    }
    for (uint64_t i = 0; i < (uint64_t)PATHS * 10; i++)
        step(i, false);
}

/* false when the neighbour failed. */
static bool measure(const char *file, long megabytes)
{
    pid_t child = -1;
    int status = 0;
    if (megabytes > 0 && (child = fork()) == 0) neighbour(file, megabytes);
    for (uint64_t i = 0;; i++) {
        step(i, true);
        if (child < 0 && i >= QUIET_STEPS) break;
        if (child > 0 && i % 1024 == 0 && waitpid(child, &status, WNOHANG) == child) break;
    }
    unlink(file);
    return child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    static const double quantiles[] = {0.5, 0.99, 0.999, 0.9999, 0.99999};
    char file[4096];
    if (argc < 3) return 2;
    prepare(argv[1]);
    snprintf(file, sizeof file, "%s/neighbour", argv[1]);
    if (!measure(file, atol(argv[2]))) return 1;
    for (size_t i = 0; i < PLACES; i++) {
        printf("%s %llu", places[i].name, (unsigned long long)places[i].ticks.count);
        for (size_t q = 0; q < sizeof quantiles / sizeof *quantiles; q++)
            printf(" %.0f", lp__hist_quantile(&places[i].ticks, quantiles[q]) / lp__clock.ticks_per_ns);
        printf(" %.0f\n", (double)places[i].max / lp__clock.ticks_per_ns);
        lp__recording_release(places[i].recording);
    }
    return 0;
}
