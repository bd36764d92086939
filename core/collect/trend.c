/* The trend of a node: how far its wall had come after every so many entries.  A record of fixed size spans any number
 * of entries, because it thins itself out when it is full.  A kill while marks are rewritten leaves `count` at 0: the
 * trend is lost then and nothing else. */
// SPDX-License-Identifier: MIT
#include <errno.h>

#include "collect/book.h"
#include "collect/internal.h"
#include "collect/record.h"

/* The node's record, made with its first mark; NULL without space. */
static struct lp_trend_record *trend_of(struct lp_thread *thread, struct lp_node_record *node)
{
    struct lp_store *store = &thread->home->store;
    struct lp_trend_record *trend;
    if (node->trend) return lp__store_at(store, node->trend);
    trend = lp__record_next(thread, &thread->hists, LP_SEGMENT_HIST, sizeof *trend);
    if (trend == NULL) return NULL;
    trend->stride = LP_TREND_STRIDE;
    lp__record_commit(&thread->hists, sizeof *trend);
    node->trend = lp__store_ref(store, trend);
    return trend;
}

/* Halves the resolution of the marks until `wall` fits. */
static void widen(struct lp_trend_record *trend, uint64_t wall)
{
    uint32_t count = trend->count, i;
    if (wall >> trend->shift <= UINT32_MAX) return;
    trend->count = 0;
    lp__store_order();
    while (wall >> trend->shift > UINT32_MAX) {
        for (i = 0; i < count; i++)
            trend->mark[i] >>= 1;
        trend->shift++;
    }
    lp__store_order();
    trend->count = count;
}

static void thin(struct lp_trend_record *trend)
{
    uint32_t i;
    trend->count = 0;
    lp__store_order();
    for (i = 0; i < LP_TREND_MARKS / 2; i++)
        trend->mark[i] = trend->mark[2 * i + 1];
    trend->stride *= 2;
    lp__store_order();
    trend->count = LP_TREND_MARKS / 2;
}

void lp__trend_mark(struct lp_thread *thread, struct lp_tree_node *node)
{
    int saved = errno;
    uint64_t wall = node->record->wall;
    struct lp_trend_record *trend = trend_of(thread, node->record);
    errno = saved;
    if (trend == NULL) {
        node->next_mark = UINT64_MAX; /* what has passed by would be missing later */
        return;
    }
    widen(trend, wall);
    trend->mark[trend->count] = (uint32_t)(wall >> trend->shift);
    lp__store_order();
    if (++trend->count == LP_TREND_MARKS) thin(trend);
    node->next_mark += trend->stride;
}
