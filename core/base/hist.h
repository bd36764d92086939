/* The log-linear histogram: how a value finds its bucket, and the merged form in memory.
 *
 * Values 0…15 have a bucket each; every octave above has 16 of equal width, so a bucket is at most 1/16 of its
 * lower bound wide (3.2 % as the error of its middle).  Slot 0 holds 0…15, slot e-3 the octave 2^e … 2^(e+1)-1:
 * 61 slots of 16 buckets cover every 64-bit value.  The store keeps blocks of 16 counters per slot, allocated
 * when first needed; `struct lp_hist` is the same thing on the heap with 64-bit counters.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_HIST_H
#define LP_BASE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define LP_HIST_SUB_BITS   4
#define LP_HIST_SUB_COUNT  16
#define LP_HIST_SLOT_COUNT 61

static inline unsigned lp__hist_slot(uint64_t value)
{
    return value < LP_HIST_SUB_COUNT ? 0u : 60u - (unsigned)__builtin_clzll(value);
}

/* The bucket inside `slot`, which must be lp__hist_slot(value). */
static inline unsigned lp__hist_sub(uint64_t value, unsigned slot)
{
    return (unsigned)(slot ? value >> (slot - 1) : value) & (LP_HIST_SUB_COUNT - 1);
}

/* Lowest value of a bucket, and how many values it holds. */
static inline uint64_t lp__hist_low(unsigned slot, unsigned sub)
{
    return slot ? (uint64_t)(LP_HIST_SUB_COUNT + sub) << (slot - 1) : sub;
}
static inline uint64_t lp__hist_width(unsigned slot)
{
    return slot ? (uint64_t)1 << (slot - 1) : 1;
}

struct lp_hist {
    uint64_t *blocks[LP_HIST_SLOT_COUNT]; /* 16 counters each, NULL where nothing fell */
    uint64_t count;
};

/* All memory comes from the arena; a histogram needs no release. */
LP_WARN_UNUSED int lp__hist_add(struct lp_hist *hist, struct lp_arena *arena, uint64_t value, uint64_t times);
LP_WARN_UNUSED int lp__hist_add_block(struct lp_hist *hist, struct lp_arena *arena, unsigned slot,
                                      const uint64_t counts[LP_HIST_SUB_COUNT]);
LP_WARN_UNUSED int lp__hist_merge(struct lp_hist *into, struct lp_arena *arena, const struct lp_hist *from);
/* Spreads the counts over buckets whose values are `scale` times as large (ticks to nanoseconds): each source
 * bucket is divided among the target buckets it overlaps in proportion, counts conserved exactly. */
LP_WARN_UNUSED int lp__hist_merge_scaled(struct lp_hist *into, struct lp_arena *arena, const struct lp_hist *from,
                                         double scale);
/* Quantile in 0…1 by linear interpolation inside the bucket; NaN when empty.  The caller clamps to min and max. */
double lp__hist_quantile(const struct lp_hist *hist, double q);
double lp__hist_mean(const struct lp_hist *hist);   /* from bucket middles; NaN when empty */
double lp__hist_stddev(const struct lp_hist *hist); /* population, from bucket middles; NaN when empty */

#endif
