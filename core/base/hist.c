/* The histogram on the heap.  A bucket stands for the whole numbers it holds, so its middle is low + (width-1)/2 and
 * the buckets of width 1 are exact.  Counters wrap at 2^64, which no run reaches. */
// SPDX-License-Identifier: MIT
#include "base/hist.h"

#include <math.h>

#include "base/err.h"
#include "base/fmt.h"

static uint64_t *block_of(struct lp_hist *hist, struct lp_arena *arena, unsigned slot)
{
    if (!hist->blocks[slot]) hist->blocks[slot] = lp__arena_alloc(arena, LP_HIST_SUB_COUNT * sizeof(uint64_t));
    return hist->blocks[slot];
}

int lp__hist_add(struct lp_hist *hist, struct lp_arena *arena, uint64_t value, uint64_t times)
{
    if (!times) return LP_OK;
    unsigned slot = lp__hist_slot(value);
    uint64_t *block = block_of(hist, arena, slot);
    if (!block) return LP_ERR_NO_MEMORY;
    block[lp__hist_sub(value, slot)] += times;
    hist->count += times;
    return LP_OK;
}

int lp__hist_add_block(struct lp_hist *hist, struct lp_arena *arena, unsigned slot,
                       const uint64_t counts[LP_HIST_SUB_COUNT])
{
    if (slot >= LP_HIST_SLOT_COUNT) return LP_ERR_FORMAT;
    uint64_t *block = block_of(hist, arena, slot);
    if (!block) return LP_ERR_NO_MEMORY;
    for (unsigned sub = 0; sub < LP_HIST_SUB_COUNT; sub++) {
        block[sub] += counts[sub];
        hist->count += counts[sub];
    }
    return LP_OK;
}

int lp__hist_merge(struct lp_hist *into, struct lp_arena *arena, const struct lp_hist *from)
{
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++) {
        if (!from->blocks[slot]) continue;
        int rc = lp__hist_add_block(into, arena, slot, from->blocks[slot]);
        if (rc) return rc;
    }
    return LP_OK;
}

static uint64_t to_value(double x)
{
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

/* Upper edge of the bucket of `value`; as a double, since the last one is 2^64. */
static double upper_edge(uint64_t value)
{
    unsigned slot = lp__hist_slot(value);
    return (double)lp__hist_low(slot, lp__hist_sub(value, slot)) + (double)lp__hist_width(slot);
}

/* Divides `times` over the target buckets that [low, high) meets.  Each piece is what the rounded cumulative share
 * grows by, and the last piece is what is left: so nothing is lost to rounding.  What lies above 2^64 goes into the
 * last bucket. */
static int spread(struct lp_hist *into, struct lp_arena *arena, double low, double high, uint64_t times)
{
    uint64_t done = 0;
    double at = low;
    while (done < times) {
        uint64_t value = to_value(at);
        double edge = upper_edge(value);
        uint64_t upto = times;
        if (edge < high && value < UINT64_MAX) {
            double share = (double)times * ((edge - low) / (high - low));
            upto = share >= (double)times ? times : (uint64_t)share;
            if (upto < done) upto = done;
        }
        int rc = lp__hist_add(into, arena, value, upto - done);
        if (rc) return rc;
        done = upto;
        at = edge;
    }
    return LP_OK;
}

int lp__hist_merge_scaled(struct lp_hist *into, struct lp_arena *arena, const struct lp_hist *from, double scale)
{
    if (!(scale > 0) || !isfinite(scale)) return LP_ERR_USAGE;
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++) {
        const uint64_t *block = from->blocks[slot];
        double width = (double)lp__hist_width(slot);
        for (unsigned sub = 0; block && sub < LP_HIST_SUB_COUNT; sub++) {
            double low = (double)lp__hist_low(slot, sub);
            int rc = spread(into, arena, low * scale, (low + width) * scale, block[sub]);
            if (rc) return rc;
        }
    }
    return LP_OK;
}

double lp__hist_quantile(const struct lp_hist *hist, double q)
{
    if (!hist->count || isnan(q)) return LP_NAN;
    double rank = fmin(fmax(q, 0), 1) * (double)hist->count;
    double below = 0, last = LP_NAN;
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++) {
        const uint64_t *block = hist->blocks[slot];
        for (unsigned sub = 0; block && sub < LP_HIST_SUB_COUNT; sub++) {
            if (!block[sub]) continue;
            double inside = (double)block[sub], span = (double)lp__hist_width(slot) - 1;
            double low = (double)lp__hist_low(slot, sub);
            if (rank <= below + inside) return low + span * ((rank - below) / inside);
            below += inside;
            last = low + span;
        }
    }
    return last; /* rounding of very large counts only */
}

/* Sum over all buckets of count × (middle − centre)^power, power 1 or 2. */
static double moment(const struct lp_hist *hist, double centre, int power)
{
    double sum = 0;
    for (unsigned slot = 0; slot < LP_HIST_SLOT_COUNT; slot++) {
        const uint64_t *block = hist->blocks[slot];
        double half = ((double)lp__hist_width(slot) - 1) / 2;
        for (unsigned sub = 0; block && sub < LP_HIST_SUB_COUNT; sub++) {
            double off = (double)lp__hist_low(slot, sub) + half - centre;
            sum += (double)block[sub] * (power == 1 ? off : off * off);
        }
    }
    return sum;
}

double lp__hist_mean(const struct lp_hist *hist)
{
    return hist->count ? moment(hist, 0, 1) / (double)hist->count : LP_NAN;
}

double lp__hist_stddev(const struct lp_hist *hist)
{
    if (!hist->count) return LP_NAN;
    return sqrt(moment(hist, lp__hist_mean(hist), 2) / (double)hist->count);
}
