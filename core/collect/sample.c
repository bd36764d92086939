/* sample=: which entries are recorded.  A stride with jitter, so that periodic work is not met in step: the gap to the
 * next recorded entry is uniform between 1 and twice the stride.  What was skipped is counted, so the scale is exact.
 */
// SPDX-License-Identifier: MIT
#include "collect/phase.h"

static uint64_t next_random(struct lp_thread *thread)
{
    uint64_t x = thread->random ? thread->random : 0x9E3779B97F4A7C15u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return thread->random = x;
}

/* Uniform on 1 … 2 * stride - 1; `stride` in 1/65,536. */
static uint64_t jittered_gap(struct lp_thread *thread, uint64_t stride)
{
    uint64_t span = 2 * (stride - 65536) + 65536; /* of values, in 1/65,536 */
    uint64_t random = next_random(thread) >> 48;  /* 16 bits: `span` may have up to 48 */
    return 1 + (((span >> 16) * random + ((span & 65535) * random >> 16)) >> 16);
}

bool lp__sample_take(struct lp_thread *thread, struct lp_tree_node *node, uint64_t stride)
{
    if (stride <= 65536) return true;
    if (node->stride_left == 0) node->stride_left = jittered_gap(thread, stride);
    if (--node->stride_left) return false;
    node->stride_left = jittered_gap(thread, stride);
    return true;
}
