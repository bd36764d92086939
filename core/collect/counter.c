/* Counters: how much work an entry did.  On the innermost running scope's node, else on the root. */
// SPDX-License-Identifier: MIT
#include <errno.h>

#include "collect/book.h"
#include "collect/internal.h"
#include "collect/record.h"
#include "collect/tree.h"

/* 128-bit sum: the amount's sign goes into the high half, and the carry.  Where both halves change, a kill in between
 * would leave a wild total, so the thread says that it is at it. */
static void add_total(struct lp_thread *thread, struct lp_counter_record *counter, int64_t n)
{
    uint64_t low;
    int64_t high = (__builtin_add_overflow(counter->total_low, (uint64_t)n, &low) ? 1 : 0) - (n < 0 ? 1 : 0);
    if (__builtin_expect(high == 0, 1)) {
        counter->total_low = low;
        return;
    }
    thread->record->sequence++;
    lp__store_order();
    counter->total_low = low;
    counter->total_high += high;
    lp__store_order();
    thread->record->sequence++;
}

/* The histogram for amounts of this sign, made when first needed; NULL without space. */
static struct lp_hist_record *hist_of(struct lp_thread *thread, struct lp_counter_record *counter, bool negative)
{
    struct lp_store *store = &thread->home->store;
    lp_ref *ref = negative ? &counter->hist_negative : &counter->hist;
    struct lp_hist_record *hist;
    if (*ref) return lp__store_at(store, *ref);
    hist = lp__store_hist_new(thread);
    if (hist) *ref = lp__store_ref(store, hist);
    return hist;
}

static void hist_amount(struct lp_thread *thread, struct lp_counter_record *counter, int64_t n, uint64_t times)
{
    struct lp_hist_record *hist = hist_of(thread, counter, n < 0);
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    if (hist == NULL)
        thread->record->drops[LP_DROP_HIST_NO_SPACE] += times;
    else if (times != 1 || !lp__hist_add_in_place(thread->map.base, hist, magnitude))
        lp__store_hist_add(thread, hist, magnitude, times);
}

/* While every amount is the same, min and adds say everything; the second distinct one starts the histogram. */
static void spread_amount(struct lp_thread *thread, struct lp_counter_link *link, int64_t n)
{
    struct lp_counter_record *counter = link->record;
    if (!link->spread) {
        if (counter->adds == 0 || n == counter->min) return;
        link->spread = true;
        hist_amount(thread, counter, counter->min, counter->adds);
    }
    hist_amount(thread, counter, n, 1);
}

static struct lp_counter_record *new_counter(struct lp_thread *thread, struct lp_tree_node *node, lp_ref name)
{
    struct lp_store *store = &thread->home->store;
    struct lp_counter_record *counter =
        lp__record_next(thread, &thread->counters, LP_SEGMENT_COUNTERS, sizeof *counter);
    if (counter == NULL) return NULL;
    counter->name = name;
    counter->min = INT64_MAX;
    counter->max = INT64_MIN;
    counter->next = node->record->counters;
    lp__record_commit(&thread->counters, sizeof *counter);
    node->record->counters = lp__store_ref(store, counter);
    return counter;
}

/* A counter and its link; NULL without space.  A link whose record could not be made is kept for the next try. */
static struct lp_counter_link *make_counter(struct lp_thread *thread, struct lp_tree_node *node, lp_name_id name)
{
    struct lp_counter_link *link = thread->spare;
    lp_ref text;
    if (link == NULL) link = lp__recording_block(thread->home, sizeof *link);
    thread->spare = link;
    text = link ? lp__recording_name_ref(thread->home, name) : 0;
    if (text == 0) return NULL;
    link->record = new_counter(thread, node, text);
    if (link->record == NULL) return NULL;
    thread->spare = NULL;
    link->name = name;
    return link;
}

/* Moves the link of `name` to the front, making counter and link when new; NULL without space. */
static struct lp_counter_link *counter_slow(struct lp_thread *thread, struct lp_tree_node *node, lp_name_id name)
{
    struct lp_counter_link **at = &node->counters, *link;
    int saved = errno;
    while (*at && (*at)->name != name)
        at = &(*at)->next;
    link = *at;
    if (link)
        *at = link->next;
    else
        link = make_counter(thread, node, name);
    errno = saved;
    if (link == NULL) return NULL;
    link->next = node->counters;
    node->counters = link;
    return link;
}

void lp__count_at(struct lp_thread *thread, struct lp_tree_node *node, lp_name_id name, int64_t n)
{
    struct lp_counter_link *link = node->counters;
    struct lp_counter_record *counter;
    if (__builtin_expect(node->dropped, 0))
        link = NULL;
    else if (__builtin_expect(link == NULL || link->name != name, 0))
        link = counter_slow(thread, node, name);
    if (__builtin_expect(link == NULL, 0)) {
        lp__drop(thread, LP_DROP_COUNTER_NO_SPACE);
        return;
    }
    counter = link->record;
    spread_amount(thread, link, n);
    add_total(thread, counter, n);
    if (n < counter->min) counter->min = n;
    if (n > counter->max) counter->max = n;
    counter->adds++;
}
