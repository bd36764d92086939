/* What the C programs of the bench share: a recording of their own, clocks, and one line of output for each round,
 * `NAME ROUND WALL CPU` in nanoseconds of one operation.  The medians are made by whoever reads them. */
// SPDX-License-Identifier: MIT
#ifndef LP_BENCH_H
#define LP_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "collect/phase.h"

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

struct stopwatch {
    uint64_t wall;
    int64_t cpu;
};

static inline struct stopwatch watch_start(void)
{
    return (struct stopwatch){lp__mono_ns(), lp__thread_cpu_ns()};
}

static inline struct stopwatch watch_since(struct stopwatch start)
{
    int64_t cpu = lp__thread_cpu_ns();
    return (struct stopwatch){lp__mono_ns() - start.wall, cpu - start.cpu};
}

static inline void print_round(const char *name, int round, struct stopwatch spent, uint64_t operations)
{
    printf("%s %d %.4f %.4f\n", name, round, (double)spent.wall / (double)operations,
           (double)spent.cpu / (double)operations);
}

static inline struct lp_recording *bench_open(const char *run_dir, enum lp_store_choice store)
{
    struct lp_recording_options options = {.run_dir = run_dir, .role = "bench", .role_len = 5, .store = store};
    struct lp_recording *recording;
    struct lp_error err;
    if (lp__recording_open(&options, &recording, &err)) {
        fprintf(stderr, "cannot record into %s\n", run_dir);
        exit(1);
    }
    return recording;
}

static inline lp_name_id bench_name(const char *prefix, unsigned number)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%s %u", prefix, number);
    return lp__name_register(text, (size_t)len);
}

#endif
