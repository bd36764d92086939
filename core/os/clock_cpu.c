/* The slow half of the thread CPU clock: real readings, arming rseq, and living beside another user of it. */
// SPDX-License-Identifier: MIT
#include <errno.h>

#include "os/clock.h"
#include "os/rseq.h"

enum {
    WINDOW_READS = 256,   /* a second user of rseq is looked for once per so many reads … */
    WINDOW_RESYNCS = 64,  /* … and believed when more than so many of them were real */
    FOREIGN_NS = 10000000 /* how long the thread then lives with bounded age */
};

int64_t lp__thread_cpu_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts)) return 0;
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Many real readings alone are no sign: a thread that blocks in every phase has as many, and rseq serves it well.
 * Somebody else's descriptor must have been seen among them. */
static void look_for_second_user(struct lp_cpu_state *state, uint64_t now)
{
    if (state->reads < WINDOW_READS) return;
    if (state->foreign_seen && state->resyncs > state->reads / (WINDOW_READS / WINDOW_RESYNCS))
        state->foreign_until = now + (uint64_t)(FOREIGN_NS * lp__clock.ticks_per_ns);
    state->reads = state->resyncs = state->foreign_seen = 0;
}

/* Raises the flag for this thread unless it must do with bounded age.  Returns whether it is raised. */
static bool arm(struct lp_cpu_state *state, uint64_t now)
{
    if (now < state->foreign_until) return false;
    void **field = lp__rseq_field();
    if (!field || !lp__clock.rseq_mark) return false;
    void *volatile *flag = field;
    if (state->rseq_field && *flag && *flag != lp__clock.rseq_mark) state->foreign_seen++;
    *flag = lp__clock.rseq_mark;
    state->rseq_field = field;
    return true;
}

struct lp_cpu_time lp__cpu_resync(struct lp_cpu_state *state, uint64_t now)
{
    if (lp__clock.cpu == LP_CPU_NONE) return (struct lp_cpu_time){0, 0};
    int saved = errno;
    state->resyncs++;
    look_for_second_user(state, now);
    /* The order matters: the flag first, then CPU, then wall.  A switch between them lowers the flag again and costs
     * one more real reading; the other way round it would go unseen. */
    bool armed = lp__clock.cpu == LP_CPU_RSEQ && arm(state, now);
    if (!armed) state->rseq_field = NULL;
    state->real_ns = lp__thread_cpu_ns();
    state->real_ticks = lp__ticks();
    bool ages = lp__clock.cpu == LP_CPU_AGE || (lp__clock.cpu == LP_CPU_RSEQ && !armed);
    state->fresh_until = ages ? state->real_ticks + lp__clock.age_limit_ticks : 0;
    errno = saved;
    /* Back to the moment asked for, so that the cost of the reading itself falls outside the phase that ends here.
     * If it took longer than a reading does, the thread was switched out and the difference is not CPU time. */
    uint64_t late = state->real_ticks - now;
    return (struct lp_cpu_time){state->real_ns, late < lp__clock.age_limit_ticks ? -(int64_t)late : 0};
}
