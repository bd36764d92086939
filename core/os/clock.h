/* Time: the wall clock in ticks, thread CPU time without a system call where that can be proved, and the facts
 * about both.
 *
 * Ticks are raw TSC (x86-64), CNTVCT (arm64) or nanoseconds of CLOCK_MONOTONIC; which one is decided once per
 * process by lp__clock_init and never changes.  Nothing is calibrated: the store keeps (ticks, monotonic) pairs and
 * the reader converts.  Why each choice: docs/decisions/clocks.md.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_CLOCK_H
#define LP_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum lp_wall_clock { LP_WALL_MONOTONIC = 0, LP_WALL_TSC = 1, LP_WALL_CNTVCT = 2 };
enum lp_cpu_clock { LP_CPU_NONE = 0, LP_CPU_SYSCALL = 1, LP_CPU_AGE = 2, LP_CPU_RSEQ = 3 };

struct lp_clock {
    enum lp_wall_clock wall;
    enum lp_cpu_clock cpu;    /* the best one that passed its proof in this process */
    uint64_t age_limit_ticks; /* LP_CPU_AGE: a real read when the last is older; about 20 us */
    void *rseq_mark;          /* what an armed rseq_cs holds: this process's inert descriptor; NULL without rseq */
    double ticks_per_ns;      /* rough (50 ppm), from lp__clock_init; 1.0 for LP_WALL_MONOTONIC.  Not for reports */
    char cpu_refused[96];     /* why a better CPU clock was not taken; "" if the best was */
    char wall_refused[96];    /* why TSC was not taken; "" if it was */
};

/* The process's clocks.  Filled by lp__clock_init; read-only afterwards. */
extern struct lp_clock lp__clock;

/* Chooses and proves the clocks (about 0.25 ms, two short sleeps).  Idempotent and thread-safe; again after a fork
 * with `again`.  LINEPROFILER_CLOCK=tsc|monotonic and LINEPROFILER_CPU_CLOCK=rseq|age|syscall|none force a choice;
 * tsc (or cntvct) also where the kernel prefers another clock source;
 * a forced clock that fails its proof is refused: the next one is taken and the refusal recorded. */
void lp__clock_init(bool again);

static inline uint64_t lp__mono_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
uint64_t lp__real_ns(void);      /* CLOCK_REALTIME, since the epoch */
int64_t lp__thread_cpu_ns(void); /* CLOCK_THREAD_CPUTIME_ID: the expensive, true one */

/* Hot.  Ticks are the processor's counter, which lp__counter reads. */
static inline bool lp__ticks_are_counter(void)
{
#if defined(__x86_64__)
    return __builtin_expect(lp__clock.wall == LP_WALL_TSC, 1);
#elif defined(__aarch64__)
    return __builtin_expect(lp__clock.wall == LP_WALL_CNTVCT, 1);
#else
    return false;
#endif
}
static inline uint64_t lp__counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    return 0;
#endif
}

/* Hot: ticks now.  10-24 ns (TSC) or one vDSO call. */
static inline uint64_t lp__ticks(void)
{
    return lp__ticks_are_counter() ? lp__counter() : lp__mono_ns();
}

/* Thread CPU time as a pair: a real reading in ns plus ticks run since.  Differences are taken member by member and
 * stay signed; the reader converts ticks.  {0, 0} differences are right for LP_CPU_NONE too, which is told apart by
 * lp__clock.cpu. */
struct lp_cpu_time {
    int64_t ns;
    int64_t ticks;
};

/* One thread's CPU clock.  All zero is a valid start (the first read is a real one); zero it again when another
 * thread takes it over and in the child of a fork. */
struct lp_cpu_state {
    int64_t real_ns;        /* last real reading */
    uint64_t real_ticks;    /* ticks at that moment */
    void **rseq_field;      /* this thread's rseq_cs while armed by us; NULL: not armed */
    uint64_t fresh_until;   /* bounded age: the last real reading holds until then (ticks); 0 when rseq decides */
    uint64_t foreign_until; /* rseq shared with someone else: bounded age until then (ticks) */
    uint32_t reads;         /* reads since the last check for a second rseq user */
    uint32_t resyncs;       /* of them real */
    uint32_t foreign_seen;  /* of these, how many found somebody else's descriptor in the field */
};

/* The real read behind lp__cpu_read; also arms rseq and looks for a second user of it.  Keeps errno. */
struct lp_cpu_time lp__cpu_resync(struct lp_cpu_state *state, uint64_t now);

/* Hot, in two halves: whether the last real reading still tells the calling thread's CPU time at `now` (= lp__ticks()
 * just taken), and that time.  While rseq_cs still holds our descriptor the kernel has not switched the thread out
 * since, so CPU ran as fast as wall.  The field is tested after `now` was taken: a switch in between is seen. volatile,
 * because the kernel is the other writer. */
static inline bool lp__cpu_is_fresh(struct lp_cpu_state *state, uint64_t now)
{
    void *volatile *field = state->rseq_field;
    state->reads++;
    return __builtin_expect(field && *field == lp__clock.rseq_mark, 1) || now < state->fresh_until;
}
static inline struct lp_cpu_time lp__cpu_since(const struct lp_cpu_state *state, uint64_t now)
{
    return (struct lp_cpu_time){state->real_ns, (int64_t)(now - state->real_ticks)};
}

/* Hot: both. */
static inline struct lp_cpu_time lp__cpu_read(struct lp_cpu_state *state, uint64_t now)
{
    return lp__cpu_is_fresh(state, now) ? lp__cpu_since(state, now) : lp__cpu_resync(state, now);
}

/* A bracketed pair: the tightest of several ticks-monotonic-ticks sandwiches, plus the wall clock. */
struct lp_clock_pair {
    uint64_t ticks;
    uint64_t mono_ns;
    uint64_t real_ns;
};
struct lp_clock_pair lp__clock_pair(void);

/* The measured cost of one read in ns (minimum over a short loop): for doctor and for the report's header. */
struct lp_clock_costs {
    double wall_ns;
    double cpu_ns;      /* of the chosen CPU clock while nothing switches */
    double cpu_real_ns; /* of a real thread-clock read */
};
struct lp_clock_costs lp__clock_costs(void);

const char *lp__wall_clock_name(enum lp_wall_clock clock); /* "tsc", "cntvct", "monotonic" */
const char *lp__cpu_clock_name(enum lp_cpu_clock clock);   /* "rseq", "bounded age", "system call", "none" */

#endif
