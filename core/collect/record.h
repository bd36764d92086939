/* Records of one thread in the store: taking the next one, adding a segment when the present one is full. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_RECORD_H
#define LP_COLLECT_RECORD_H

#include "collect/thread.h"
#include "collect/tree.h"
#include "store/writer.h"

#define LP_FIRST_SEGMENT_PAYLOAD (8192u - 64)
#define LP_LAST_SEGMENT_PAYLOAD  (262144u - 64)

/* Room for one zeroed record; NULL when the store cannot grow.  Not visible to readers before the commit. */
void *lp__record_next(struct lp_thread *thread, struct lp_segment_cursor *cursor, enum lp_segment_type type,
                      uint32_t bytes);
static inline void lp__record_commit(struct lp_segment_cursor *cursor, uint64_t bytes)
{
    lp__segment_commit(cursor->segment, bytes);
}

struct lp_hist_record *lp__store_hist_new(struct lp_thread *thread); /* NULL without space */
struct lp_tree_node *lp__tree_root(struct lp_thread *thread);        /* NULL without space or memory */
struct lp_tree_node *lp__tree_thread_node(struct lp_thread *thread, lp_name_id name);
/* The thread's present name becomes the parent of its phases (thread_names); 0: no name. */
void lp__thread_set_name(struct lp_thread *thread, lp_name_id name);

#endif
