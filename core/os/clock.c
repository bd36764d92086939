/* Which clocks this process uses, decided once, and the pairs by which a reader relates ticks to the system's clocks.
 * The decision is written before `decided` is released; whoever reads lp__clock has called lp__clock_init before. */
// SPDX-License-Identifier: MIT
#include "os/clock.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "os/cpuid.h"
#include "os/file.h"
#include "os/rseq.h"

enum {
    AGE_LIMIT_NS = 20000,   /* 100 us would over-charge a blocking phase by up to 80 us; measured */
    RATE_WINDOW_NS = 200000 /* between two bracketed pairs: 50 ppm at worst */
};

struct lp_clock lp__clock = {.ticks_per_ns = 1.0};

static atomic_int busy_pid; /* who is deciding; a pid, so that a fork in the middle cannot lock the child out */
static atomic_bool decided;

uint64_t lp__real_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct lp_clock_pair lp__clock_pair(void)
{
    struct lp_clock_pair pair = {0};
    uint64_t tightest = UINT64_MAX;
    for (int i = 0; i < 12; i++) {
        uint64_t before = lp__ticks();
        uint64_t mono = lp__mono_ns();
        uint64_t width = lp__ticks() - before;
        if (width >= tightest) continue;
        tightest = width;
        pair.ticks = before + width / 2;
        pair.mono_ns = mono;
    }
    if (lp__clock.wall == LP_WALL_MONOTONIC) pair.ticks = pair.mono_ns;
    tightest = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t before = lp__mono_ns();
        uint64_t real = lp__real_ns();
        uint64_t width = lp__mono_ns() - before;
        if (width >= tightest) continue;
        tightest = width;
        pair.real_ns = real - (before + width / 2 - pair.mono_ns); /* as of mono_ns */
    }
    return pair;
}

/* One small file of /proc or /sys, without its last newline; "" when it cannot be read. */
static void read_line(const char *path, char *out, size_t cap)
{
    struct lp_buf buf;
    lp__buf_init(&buf, 16384);
    out[0] = '\0';
    if (!lp__slurp(path, &buf, NULL) && buf.data) {
        buf.data[strcspn(buf.data, "\n")] = '\0';
        snprintf(out, cap, "%s", buf.data);
    }
    lp__buf_release(&buf);
}

static bool clocksource_is(const char *wanted, char *why, size_t cap)
{
    char current[32];
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", current, sizeof current);
    if (!strcmp(current, wanted)) return true;
    snprintf(why, cap, "the kernel's clock source is %s", current[0] ? current : "not readable");
    return false;
}

/* May ticks come from the processor's counter?  The kernel's own choice is the best proof that its cores agree and that
 * nothing stops it; who forces the counter vouches for that (a virtual machine whose kernel prefers kvm-clock).
 * tsc_reliable is not asked for: a virtual machine with a perfect TSC does not list it. */
#if defined(__x86_64__) && defined(__linux__)

static bool may_use_counter(bool forced, char *why, size_t cap)
{
    int mode = PR_TSC_ENABLE;
    if (!prctl(PR_GET_TSC, &mode) && mode != PR_TSC_ENABLE) {
        snprintf(why, cap, "rdtsc is forbidden in this process");
        return false;
    }
    if (!lp__cpuid_invariant_tsc()) {
        snprintf(why, cap, "the TSC does not run at one rate in every power state");
        return false;
    }
    return forced || clocksource_is("tsc", why, cap);
}

static const enum lp_wall_clock counter = LP_WALL_TSC;

#elif defined(__aarch64__) && defined(__linux__)

static bool may_use_counter(bool forced, char *why, size_t cap)
{
    return forced || clocksource_is("arch_sys_counter", why, cap);
}

static const enum lp_wall_clock counter = LP_WALL_CNTVCT;

#else

static bool may_use_counter(bool forced, char *why, size_t cap)
{
    (void)forced;
    snprintf(why, cap, "no known counter on this platform");
    return false;
}

static const enum lp_wall_clock counter = LP_WALL_MONOTONIC;

#endif

static void decide_wall(void)
{
    const char *forced = secure_getenv("LINEPROFILER_CLOCK");
    if (forced && !strcmp(forced, "monotonic"))
        snprintf(lp__clock.wall_refused, sizeof lp__clock.wall_refused, "LINEPROFILER_CLOCK=monotonic");
    else if (may_use_counter(forced && !strcmp(forced, "tsc"), lp__clock.wall_refused, sizeof lp__clock.wall_refused))
        lp__clock.wall = counter;
}

/* Ticks per nanosecond between `first` and now; waits until the two pairs are far enough apart. */
static double measure_rate(struct lp_clock_pair first)
{
    uint64_t gone = lp__mono_ns() - first.mono_ns;
    if (gone < RATE_WINDOW_NS) nanosleep(&(struct timespec){.tv_nsec = (long)(RATE_WINDOW_NS - gone)}, NULL);
    struct lp_clock_pair last = lp__clock_pair();
    uint64_t ns = last.mono_ns - first.mono_ns;
    return ns ? (double)(last.ticks - first.ticks) / (double)ns : 0;
}

static void check_rate(struct lp_clock_pair first)
{
    if (lp__clock.wall == LP_WALL_MONOTONIC) return;
    double rate = measure_rate(first);
    if (rate > 0.0005 && rate < 20) { /* 500 kHz to 20 GHz */
        lp__clock.ticks_per_ns = rate;
        return;
    }
    snprintf(lp__clock.wall_refused, sizeof lp__clock.wall_refused, "the counter runs at %g ticks per ns", rate);
    lp__clock.wall = LP_WALL_MONOTONIC;
}

static enum lp_cpu_clock wanted_cpu(void)
{
    const char *forced = secure_getenv("LINEPROFILER_CPU_CLOCK");
    if (!forced) return LP_CPU_RSEQ;
    if (!strcmp(forced, "age")) return LP_CPU_AGE;
    if (!strcmp(forced, "syscall")) return LP_CPU_SYSCALL;
    return strcmp(forced, "none") ? LP_CPU_RSEQ : LP_CPU_NONE;
}

static void decide_cpu(void)
{
    char *why = lp__clock.cpu_refused;
    size_t cap = sizeof lp__clock.cpu_refused;
    enum lp_cpu_clock wanted = wanted_cpu();
    struct timespec ts;
    why[0] = '\0';
    if (wanted != LP_CPU_NONE && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts)) {
        snprintf(why, cap, "no thread CPU clock: %s", strerror(errno));
        wanted = LP_CPU_NONE;
    } else if (wanted == LP_CPU_RSEQ) {
        if (!lp__rseq_prove(why, cap)) wanted = LP_CPU_AGE;
    } else {
        snprintf(why, cap, "LINEPROFILER_CPU_CLOCK=%s", secure_getenv("LINEPROFILER_CPU_CLOCK"));
    }
    lp__clock.rseq_mark = wanted == LP_CPU_RSEQ ? lp__rseq_descriptor() : NULL;
    lp__clock.cpu = wanted;
}

/* Takes over from a holder with another pid: that is a parent which forked while one of its threads decided. */
static void lock(void)
{
    int self = (int)getpid();
    int holder = 0;
    while (!atomic_compare_exchange_weak(&busy_pid, &holder, self)) {
        if (holder != self) continue;
        holder = 0;
        sched_yield();
    }
}

void lp__clock_init(bool again)
{
    if (!again && atomic_load_explicit(&decided, memory_order_acquire)) return; /* pairs with the release below */
    int saved = errno;
    lock();
    bool first_time = !atomic_load_explicit(&decided, memory_order_relaxed);
    if (first_time) {
        decide_wall();
        struct lp_clock_pair first = lp__clock_pair();
        decide_cpu();
        check_rate(first);
        lp__clock.age_limit_ticks = (uint64_t)(AGE_LIMIT_NS * lp__clock.ticks_per_ns);
        atomic_store_explicit(&decided, true, memory_order_release);
    } else if (again) {
        decide_cpu(); /* the counter of the parent is the child's too */
    }
    atomic_store(&busy_pid, 0);
    errno = saved;
}

static double cost_of_wall(void)
{
    uint64_t sink = 0, start = lp__mono_ns();
    for (int i = 0; i < 64; i++)
        sink ^= lp__ticks();
    __asm__ volatile("" : : "r"(sink));
    return (double)(lp__mono_ns() - start) / 64;
}

static double cost_of_cpu(struct lp_cpu_state *state)
{
    int64_t sink = 0;
    uint64_t start = lp__mono_ns();
    for (int i = 0; i < 64; i++)
        sink ^= lp__cpu_read(state, state->real_ticks).ticks;
    __asm__ volatile("" : : "r"(sink));
    return (double)(lp__mono_ns() - start) / 64;
}

static double cost_of_real(void)
{
    int64_t sink = 0;
    uint64_t start = lp__mono_ns();
    for (int i = 0; i < 8; i++)
        sink ^= lp__thread_cpu_ns();
    __asm__ volatile("" : : "r"(sink));
    return (double)(lp__mono_ns() - start) / 8;
}

struct lp_clock_costs lp__clock_costs(void)
{
    struct lp_clock_costs least = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    struct lp_cpu_state state = {0};
    (void)lp__cpu_read(&state, lp__ticks());
    for (int i = 0; i < 8; i++) { /* the first record of a process waits for this */
        least.wall_ns = fmin(least.wall_ns, cost_of_wall());
        least.cpu_ns = fmin(least.cpu_ns, cost_of_cpu(&state));
        least.cpu_real_ns = fmin(least.cpu_real_ns, cost_of_real());
    }
    return least;
}

const char *lp__wall_clock_name(enum lp_wall_clock clock)
{
    switch (clock) {
    case LP_WALL_TSC:
        return "tsc";
    case LP_WALL_CNTVCT:
        return "cntvct";
    default:
        return "monotonic";
    }
}

const char *lp__cpu_clock_name(enum lp_cpu_clock clock)
{
    switch (clock) {
    case LP_CPU_RSEQ:
        return "rseq";
    case LP_CPU_AGE:
        return "bounded age";
    case LP_CPU_SYSCALL:
        return "system call";
    default:
        return "none";
    }
}
