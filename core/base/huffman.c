/* Code lengths by the two-queue method over symbols sorted by count, then cut to the limit: symbols that would lie
 * deeper are moved up to it, and room is made by moving the deepest of the others down until the code is complete
 * again.  That costs a bit here and there against the optimum, and hardly ever happens at 15 bits. */
// SPDX-License-Identifier: MIT
#include "base/huffman.h"

#include <stdbool.h>
#include <stdlib.h>

struct leaf {
    uint32_t count;
    uint16_t symbol;
};

static int lp__cmp_leaf(const void *left, const void *right)
{
    const struct leaf *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* Nodes 0 … n-1 are the leaves, ascending; inner nodes follow in the order they are made, ascending too, so the two
 * smallest are always at the heads of the two queues. */
struct forest {
    uint64_t weight[2 * LP_HUFFMAN_SYMBOLS];
    uint16_t parent[2 * LP_HUFFMAN_SYMBOLS];
    size_t leaf, inner, made, leaves;
};

static size_t take_smallest(struct forest *f)
{
    bool has_leaf = f->leaf < f->leaves, has_inner = f->inner < f->made;
    if (has_leaf && (!has_inner || f->weight[f->leaf] <= f->weight[f->inner])) return f->leaf++;
    return f->inner++;
}

/* How many leaves lie at each depth. */
static void depths(struct forest *f, unsigned limit, uint16_t at_depth[LP_HUFFMAN_BITS + 1])
{
    uint8_t depth[2 * LP_HUFFMAN_SYMBOLS];
    depth[f->made - 1] = 0;
    for (size_t node = f->made - 1; node-- > 0;) {
        unsigned below = depth[f->parent[node]] + 1u;
        depth[node] = (uint8_t)(below < 250 ? below : 250);
        if (node < f->leaves) at_depth[below < limit ? below : limit]++;
    }
}

/* Brings the sum of 2^-depth back to one after leaves were moved up to the limit. */
static void make_room(uint16_t at_depth[LP_HUFFMAN_BITS + 1], unsigned limit)
{
    uint64_t used = 0, room = UINT64_C(1) << limit;
    for (unsigned depth = 1; depth <= limit; depth++)
        used += (uint64_t)at_depth[depth] << (limit - depth);
    for (; used > room; used--) {
        unsigned depth = limit - 1;
        while (!at_depth[depth])
            depth--;
        at_depth[depth]--; /* becomes an inner node over itself and one leaf from the limit */
        at_depth[depth + 1] = (uint16_t)(at_depth[depth + 1] + 2);
        at_depth[limit]--;
    }
}

void lp__huffman_lengths(const uint32_t *counts, size_t count, unsigned limit, uint8_t *lengths)
{
    struct leaf leaves[LP_HUFFMAN_SYMBOLS];
    struct forest f = {.leaves = 0};
    uint16_t at_depth[LP_HUFFMAN_BITS + 1] = {0};
    for (size_t symbol = 0; symbol < count; symbol++) {
        lengths[symbol] = 0;
        if (counts[symbol]) leaves[f.leaves++] = (struct leaf){counts[symbol], (uint16_t)symbol};
    }
    if (f.leaves == 0) return;
    if (f.leaves == 1) {
        lengths[leaves[0].symbol] = 1;
        return;
    }
    qsort(leaves, f.leaves, sizeof *leaves, lp__cmp_leaf);
    for (size_t i = 0; i < f.leaves; i++)
        f.weight[i] = leaves[i].count;
    f.inner = f.made = f.leaves;
    while (f.made < 2 * f.leaves - 1) {
        size_t left = take_smallest(&f), right = take_smallest(&f);
        f.weight[f.made] = f.weight[left] + f.weight[right];
        f.parent[left] = f.parent[right] = (uint16_t)f.made;
        f.made++;
    }
    depths(&f, limit, at_depth);
    make_room(at_depth, limit);
    size_t next = f.leaves; /* the most frequent first, at the least depth */
    for (unsigned depth = 1; depth <= limit; depth++)
        for (unsigned i = 0; i < at_depth[depth]; i++)
            lengths[leaves[--next].symbol] = (uint8_t)depth;
}

static uint16_t reversed(unsigned code, unsigned bits)
{
    unsigned out = 0;
    for (unsigned i = 0; i < bits; i++)
        out |= (code >> i & 1u) << (bits - 1 - i);
    return (uint16_t)out;
}

void lp__huffman_codes(const uint8_t *lengths, size_t count, uint16_t *codes)
{
    unsigned used[LP_HUFFMAN_BITS + 1] = {0}, next[LP_HUFFMAN_BITS + 1] = {0};
    for (size_t symbol = 0; symbol < count; symbol++)
        used[lengths[symbol]]++;
    used[0] = 0;
    for (unsigned bits = 1; bits <= LP_HUFFMAN_BITS; bits++)
        next[bits] = (next[bits - 1] + used[bits - 1]) << 1;
    for (size_t symbol = 0; symbol < count; symbol++)
        codes[symbol] = lengths[symbol] ? reversed(next[lengths[symbol]]++, lengths[symbol]) : 0;
}
