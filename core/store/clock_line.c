/* From ticks to nanoseconds: a line through a file's clock pairs.
 *
 * The pairs are (ticks, monotonic) readings that the writer took at its start, as it grew, now and then, and at its
 * end.  Between them the two clocks run alike to a few parts per million, so the line through the first and the last
 * pair is as good as a fit (worst error 15 ns in a minute, measured) and the pairs between serve as witnesses: where
 * one leaves the line by more than NTP can explain, a clock was stepped (suspend, migration of a virtual machine),
 * and the median slope is taken instead, which the step cannot move.
 */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "os/clock.h"
#include "store/reader.h"

enum { MAX_PAIRS = 256 };

/* Slower than any counter we know, faster than any processor: a line outside this range is damage. */
static const double least_ns_per_tick = 0.01, most_ns_per_tick = 10000.0;
/* The kernel slews CLOCK_MONOTONIC by at most 500 ppm; a bracketed pair is good to well under 1 us. */
static const double allowed_ns = 1000.0, allowed_share = 500e-6;

struct pairs {
    struct lp_clock_pair at[MAX_PAIRS]; /* by ticks */
    size_t count;
};

static void add_pair(struct pairs *pairs, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns)
{
    if (!ticks || !mono_ns || pairs->count == MAX_PAIRS) return;
    size_t i = pairs->count;
    while (i && pairs->at[i - 1].ticks > ticks)
        i--;
    if (i && pairs->at[i - 1].ticks == ticks) return; /* the header's pair is often a record as well */
    memmove(&pairs->at[i + 1], &pairs->at[i], (pairs->count - i) * sizeof pairs->at[0]);
    pairs->at[i] = (struct lp_clock_pair){ticks, mono_ns, real_ns};
    pairs->count++;
}

static void add_records(struct pairs *pairs, const struct lp_image *image, const struct lp_image_segment *segment)
{
    struct lp_clock_record record;
    for (uint64_t at = 0; at < segment->payload_bytes; at += sizeof record) {
        memcpy(&record, image->bytes + segment->payload + at, sizeof record);
        if ((record.ticks ^ record.mono_ns ^ record.real_ns ^ LP_CLOCK_CHECK) != record.check) continue;
        add_pair(pairs, record.ticks, record.mono_ns, record.real_ns);
    }
}

static void collect(struct pairs *pairs, const struct lp_image *image)
{
    const struct lp_file_header *header = &image->header;
    if (!image->header_damaged)
        add_pair(pairs, header->created_ticks, header->created_mono_ns, header->created_real_ns);
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].type == LP_SEGMENT_CLOCK) add_records(pairs, image, &image->segments[i]);
    /* The heartbeat is three words without a check, perhaps torn: only where there is nothing better. */
    if (pairs->count < 2)
        add_pair(pairs, header->heartbeat_ticks, header->heartbeat_mono_ns, header->heartbeat_real_ns);
}

static double slope(const struct lp_clock_pair *from, const struct lp_clock_pair *to)
{
    return (double)(int64_t)(to->mono_ns - from->mono_ns) / (double)(to->ticks - from->ticks);
}

/* By how much the second of two neighbours leaves the line through the first, beyond what is allowed. */
static bool neighbours_disagree(const struct lp_clock_pair *from, const struct lp_clock_pair *to, double ns_per_tick)
{
    double expected = (double)(to->ticks - from->ticks) * ns_per_tick;
    double off = fabs((double)(int64_t)(to->mono_ns - from->mono_ns) - expected);
    return off > allowed_ns + allowed_share * expected;
}

static bool any_step(const struct pairs *pairs, double ns_per_tick)
{
    for (size_t i = 1; i < pairs->count; i++)
        if (neighbours_disagree(&pairs->at[i - 1], &pairs->at[i], ns_per_tick)) return true;
    return false;
}

/* Median of the slopes between neighbours, each weighing as many ticks as it spans. */
static double median_slope(const struct pairs *pairs)
{
    double slopes[MAX_PAIRS], weights[MAX_PAIRS], half = 0, sum = 0;
    size_t count = 0;
    for (size_t i = 1; i < pairs->count; i++) {
        double s = slope(&pairs->at[i - 1], &pairs->at[i]);
        double w = (double)(pairs->at[i].ticks - pairs->at[i - 1].ticks);
        size_t j = count++;
        for (; j && slopes[j - 1] > s; j--) {
            slopes[j] = slopes[j - 1];
            weights[j] = weights[j - 1];
        }
        slopes[j] = s;
        weights[j] = w;
        half += w / 2;
    }
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        if (sum >= half) return slopes[i];
    }
    return 0;
}

static double worst_residual(const struct pairs *pairs, double ns_per_tick)
{
    double worst = 0;
    for (size_t i = 1; i < pairs->count; i++) {
        const struct lp_clock_pair *first = &pairs->at[0], *pair = &pairs->at[i];
        double line = (double)(pair->ticks - first->ticks) * ns_per_tick;
        worst = fmax(worst, fabs((double)(int64_t)(pair->mono_ns - first->mono_ns) - line));
    }
    return worst;
}

static bool is_possible(double ns_per_tick)
{
    return ns_per_tick >= least_ns_per_tick && ns_per_tick <= most_ns_per_tick;
}

static void fit(const struct pairs *pairs, double fallback_ns_per_tick, struct lp_clock_line *out)
{
    const struct lp_clock_pair *first = &pairs->at[0], *last = &pairs->at[pairs->count - 1];
    double ns_per_tick = pairs->count > 1 ? slope(first, last) : 0;
    if (pairs->count > 1) {
        out->span_ticks = last->ticks - first->ticks;
        out->stepped = !is_possible(ns_per_tick) || any_step(pairs, ns_per_tick);
        if (out->stepped) ns_per_tick = median_slope(pairs);
    }
    out->guessed = !is_possible(ns_per_tick);
    out->ns_per_tick = !out->guessed ? ns_per_tick : fallback_ns_per_tick > 0 ? fallback_ns_per_tick : 1.0;
    out->worst_residual_ns = worst_residual(pairs, out->ns_per_tick);
}

void lp__image_clock_line(const struct lp_image *image, double fallback_ns_per_tick, struct lp_clock_line *out)
{
    struct pairs pairs = {.count = 0};
    collect(&pairs, image);
    *out = (struct lp_clock_line){.ns_per_tick = 1.0};
    if (pairs.count) {
        out->base_ticks = pairs.at[0].ticks;
        out->base_mono_ns = pairs.at[0].mono_ns;
        out->base_real_ns = pairs.at[0].real_ns;
    }
    if (!image->header_damaged && image->header.wall_clock == LP_WALL_MONOTONIC) return; /* ticks are nanoseconds */
    if (!pairs.count) {
        out->guessed = true;
        if (fallback_ns_per_tick > 0) out->ns_per_tick = fallback_ns_per_tick;
        return;
    }
    fit(&pairs, fallback_ns_per_tick, out);
}

int64_t lp__ticks_to_mono_ns(const struct lp_clock_line *line, uint64_t ticks)
{
    double ns = (double)(int64_t)(ticks - line->base_ticks) * line->ns_per_tick;
    double mono = (double)line->base_mono_ns + ns;
    if (!(fabs(mono) < 0x1p62 && fabs(ns) < 0x1p62)) return mono > 0 ? INT64_MAX : INT64_MIN;
    return (int64_t)(line->base_mono_ns + (uint64_t)(int64_t)ns);
}

double lp__ticks_to_ns(const struct lp_clock_line *line, double ticks)
{
    return ticks * line->ns_per_tick;
}
