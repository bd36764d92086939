/* Bump allocation in the segments a thread owns: the first is small, so that short processes stay small. */
// SPDX-License-Identifier: MIT
#include "collect/record.h"

#include "collect/internal.h"

static struct lp_segment_header *add_segment(struct lp_thread *thread, enum lp_segment_type type, uint32_t bytes,
                                             uint64_t payload)
{
    /* histograms hold two sizes of records, so their segments name none */
    return lp__store_segment(&thread->home->store, type, thread->record->index + 1, type == LP_SEGMENT_HIST ? 0 : bytes,
                             payload);
}

void *lp__record_next(struct lp_thread *thread, struct lp_segment_cursor *cursor, enum lp_segment_type type,
                      uint32_t bytes)
{
    void *record = lp__segment_next(cursor->segment, bytes);
    struct lp_segment_header *segment;
    uint64_t payload;
    if (record) return record;
    payload = cursor->next_bytes ? cursor->next_bytes : LP_FIRST_SEGMENT_PAYLOAD;
    segment = add_segment(thread, type, bytes, payload);
    if (segment == NULL) segment = add_segment(thread, type, bytes, bytes); /* what is left of a full store */
    if (segment == NULL) return NULL;
    cursor->segment = segment;
    cursor->next_bytes = payload * 2 < LP_LAST_SEGMENT_PAYLOAD ? payload * 2 : LP_LAST_SEGMENT_PAYLOAD;
    return lp__segment_next(segment, bytes);
}
