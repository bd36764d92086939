/* Sums of counters, 128 bits wide, and their histograms.
 *
 * A counter has no histogram as long as every amount was the same, in a file and in the joined form alike: the two
 * sides of a join agree on an amount or both become histograms first.
 */
// SPDX-License-Identifier: MIT
#include "merge/counter.h"

#include <string.h>

/* -- histogram records ------------------------------------------------------------------------------------------- */

/* The block behind a reference, or NULL.  A node's blocks mostly lie in one segment, so the last one is asked first. */
static const struct lp_hist_block *block_at(const struct lp_image *image, lp_ref ref,
                                            const struct lp_image_segment **last)
{
    const uint64_t offset = (uint64_t)ref * 8, bytes = sizeof(struct lp_hist_block);
    const struct lp_image_segment *segment = *last;
    bool inside = segment && offset >= segment->payload && offset - segment->payload + bytes <= segment->payload_bytes;
    if (!inside) {
        segment = lp__image_segment_at(image, offset, bytes, LP_SEGMENT_HIST);
        if (!segment) return NULL;
        *last = segment;
    }
    return (const struct lp_hist_block *)(const void *)(image->bytes + offset);
}

/* lp__hist_add_block for the store's 32-bit counters: the innermost loop of a merge, so it stands here open to the
 * compiler. */
static int add_block(struct lp_hist *hist, struct lp_arena *arena, unsigned slot, const struct lp_hist_block *block,
                     unsigned weight_bits)
{
    uint64_t *into = hist->blocks[slot], sum = 0;
    if (!into) into = hist->blocks[slot] = lp__arena_alloc(arena, LP_HIST_SUB_COUNT * sizeof *into);
    if (!into) return LP_ERR_NO_MEMORY;
    for (unsigned sub = 0; sub < LP_HIST_SUB_COUNT; sub++) {
        uint64_t count = (uint64_t)block->count[sub] << weight_bits;
        into[sub] += count;
        sum += count;
    }
    hist->count += sum;
    return LP_OK;
}

/* Most slots are empty: four of them are looked at together. */
static bool are_empty(const lp_ref slots[4])
{
    uint64_t two[2];
    memcpy(two, slots, sizeof two);
    return (two[0] | two[1]) == 0;
}

static int add_blocks(struct lp_hist *hist, struct lp_arena *arena, const struct lp_image *image,
                      const struct lp_hist_record *record, unsigned weight_bits)
{
    const struct lp_image_segment *last = NULL;
    for (unsigned slot = 0; slot < LP_HIST_RECORD_SLOTS; slot++) {
        while (slot + 4 < LP_HIST_RECORD_SLOTS && are_empty(&record->slot[slot]))
            slot += 4;
        if (!record->slot[slot]) continue;
        const struct lp_hist_block *block = block_at(image, record->slot[slot], &last);
        int rc = block ? add_block(hist, arena, slot, block, weight_bits) : LP_OK;
        if (rc) return rc;
    }
    return LP_OK;
}

int lp__hist_add_record(struct lp_hist *hist, struct lp_arena *arena, const struct lp_image *image,
                        const struct lp_hist_record *record)
{
    int rc = add_blocks(hist, arena, image, record, 0);
    if (rc || !record->carry) return rc;
    const struct lp_hist_record *carry = lp__image_record(image, record->carry, LP_SEGMENT_HIST, sizeof *carry);
    return carry ? add_blocks(hist, arena, image, carry, 32) : LP_OK; /* its own carry would weigh 2^64: none */
}

/* -- counters ---------------------------------------------------------------------------------------------------- */

static struct lp_hist *hist_for(struct lp_run_counter *counter, struct lp_arena *arena, bool negative)
{
    struct lp_hist **hist = negative ? &counter->hist_negative : &counter->hist;
    if (!*hist) *hist = lp__arena_alloc(arena, sizeof **hist);
    return *hist;
}

/* Books `adds` adds of one amount. */
static int book(struct lp_run_counter *counter, struct lp_arena *arena, int64_t amount, uint64_t adds)
{
    bool negative = amount < 0;
    struct lp_hist *hist = hist_for(counter, arena, negative);
    uint64_t size = negative ? (uint64_t)0 - (uint64_t)amount : (uint64_t)amount;
    return hist ? lp__hist_add(hist, arena, size, adds) : LP_ERR_NO_MEMORY;
}

static int book_record(struct lp_run_counter *counter, struct lp_arena *arena, const struct lp_image *image, lp_ref ref,
                       bool negative)
{
    const struct lp_hist_record *record = lp__image_record(image, ref, LP_SEGMENT_HIST, sizeof *record);
    if (!record) return LP_OK;
    struct lp_hist *hist = hist_for(counter, arena, negative);
    return hist ? lp__hist_add_record(hist, arena, image, record) : LP_ERR_NO_MEMORY;
}

static int join_hists(struct lp_run_counter *into, struct lp_arena *arena, const struct lp_image *image,
                      const struct lp_counter_record *record)
{
    bool into_uniform = !into->hist && !into->hist_negative;
    bool uniform = !record->hist && !record->hist_negative;
    if (uniform && into_uniform && (!into->adds || (into->min == record->min && into->max == record->max)))
        return LP_OK;
    /* Different amounts without a histogram: the store had no space for it.  They stay out of ours too. */
    int rc = into_uniform && into->adds && into->min == into->max ? book(into, arena, into->min, into->adds) : LP_OK;
    if (!rc && uniform && record->min == record->max) rc = book(into, arena, record->min, record->adds);
    if (!rc) rc = book_record(into, arena, image, record->hist, false);
    if (!rc) rc = book_record(into, arena, image, record->hist_negative, true);
    return rc;
}

static void add_total(struct lp_run_counter *into, uint64_t low, int64_t high)
{
    uint64_t sum = into->total_low + low;
    uint64_t carry = sum < low;
    into->total_low = sum;
    into->total_high = (int64_t)((uint64_t)into->total_high + (uint64_t)high + carry);
}

int lp__counter_add(struct lp_run_counter *into, struct lp_arena *arena, const struct lp_image *image,
                    const struct lp_counter_record *record)
{
    if (!record->adds) return LP_OK;
    int rc = join_hists(into, arena, image, record);
    if (rc) return rc;
    into->min = into->adds && into->min < record->min ? into->min : record->min;
    into->max = into->adds && into->max > record->max ? into->max : record->max;
    into->adds += record->adds;
    add_total(into, record->total_low, record->total_high);
    return LP_OK;
}

/* -- order ------------------------------------------------------------------------------------------------------- */

static bool comes_first(const struct lp_run_counter *a, const struct lp_run_counter *b, const struct lp_intern *names)
{
    const struct lp_text *left = &names->texts[a->name], *right = &names->texts[b->name];
    size_t shorter = left->len < right->len ? left->len : right->len;
    int order = shorter ? memcmp(left->bytes, right->bytes, shorter) : 0;
    return order ? order < 0 : left->len <= right->len;
}

static struct lp_run_counter *join_sorted(struct lp_run_counter *a, struct lp_run_counter *b,
                                          const struct lp_intern *names)
{
    struct lp_run_counter *list = NULL, **end = &list;
    while (a && b) {
        struct lp_run_counter **first = comes_first(a, b, names) ? &a : &b;
        *end = *first;
        end = &(*end)->next;
        *first = (*first)->next;
    }
    *end = a ? a : b;
    return list;
}

/* Merge sort from below: run[i] holds 2^i sorted counters or none, as a binary number counts. */
struct lp_run_counter *lp__counters_sorted(struct lp_run_counter *list, const struct lp_intern *names)
{
    struct lp_run_counter *run[48] = {NULL};
    while (list) {
        struct lp_run_counter *sorted = list;
        list = list->next;
        sorted->next = NULL;
        size_t i = 0;
        for (; run[i]; i++) {
            sorted = join_sorted(run[i], sorted, names);
            run[i] = NULL;
        }
        run[i] = sorted;
    }
    struct lp_run_counter *all = NULL;
    for (size_t i = 0; i < sizeof run / sizeof run[0]; i++)
        all = run[i] ? join_sorted(run[i], all, names) : all;
    return all;
}
