/* One image added to the trees: its nodes find their paths, its threads are summed, its open scopes get their time.
 *
 *   nodes of all threads ──► sums per path of this process ──► figures in ns ──► tree of the role (and its own)
 *
 * The sums come first because a scope may begin on one thread and end on another: only over all threads of a process
 * is begun - calls the number of open ones.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_JOIN_H
#define LP_MERGE_JOIN_H

#include "merge/process.h"
#include "merge/tree.h"

struct lp_path_sum;
struct lp_name_slot;

/* Memory that is used again for each image. */
struct lp_join_scratch {
    struct lp_path_sum *sums; /* per phase of the role's tree; those of a former image are told by their stamp */
    size_t sum_cap;
    uint32_t *touched; /* phases of this image, in the order they were met */
    size_t touched_cap, touched_count;
    uint32_t *node_phase; /* per node of the image, then room for a chain of ancestors */
    size_t node_cap;
    uint64_t *used_counters; /* a bit per counter record: each is added once */
    size_t counter_cap;
    uint32_t *segment_base; /* per segment: the number of records of its type before it */
    size_t segment_cap;
    struct lp_name_slot *names; /* reference -> id, for this image */
    size_t name_cap, name_count;
    uint32_t stamp;
    uint32_t folded_name, damaged_name; /* ids */
};

struct lp_join {
    struct lp_join_scratch *scratch;
    struct lp_run *run;
    const struct lp_image *image;
    const struct lp_clock_line *line;
    struct lp_builder *role; /* the tree of its role */
    struct lp_builder *own;  /* a tree for the process alone; NULL: none */
    struct lp_run_process *process;
    enum lp_life life;
    uint64_t end_ticks;
    /* filled on the way */
    size_t node_count, counter_count;
    uint64_t name_bytes_left;
    double lifetime_ticks;
    int32_t rate; /* class of its tick rate */
};

LP_WARN_UNUSED int lp__join_scratch_init(struct lp_join_scratch *scratch, struct lp_run *run);
void lp__join_scratch_release(struct lp_join_scratch *scratch);

/* Adds the image; fills the process's sums, verdict and times.  LP_ERR_NO_MEMORY only. */
LP_WARN_UNUSED int lp__join_image(struct lp_join *join);
/* Its last step, all there is to do for a file without phases: when the process ran, and how it ended. */
void lp__join_times(struct lp_join *join);

/* -- between paths.c and join.c ---------------------------------------------------------------------------------- */

/* What one process did on one path, in ticks, over all its threads. */
struct lp_path_sum {
    uint32_t stamp;
    uint32_t own; /* phase in the process's own tree */
    uint32_t flags;
    uint64_t begun, calls, start_sum;
    uint64_t wall, suspended, inner;
    uint64_t min, max; /* valid when calls > 0 */
    uint64_t skipped, unmeasured, async_entries;
    double cpu_ns, cpu_ticks;
    uint64_t trend_calls;
    double first_tenth, last_tenth;
};

struct lp_name_slot {
    lp_ref ref;
    uint32_t stamp; /* of the image it is from */
    uint32_t id;    /* UINT32_MAX: no good name */
};

/* Finds the phase of every node: scratch->node_phase[i], LP_NO_PHASE for records that are not in use. */
LP_WARN_UNUSED int lp__join_paths(struct lp_join *join);
/* Calls for each node in the order of the file, numbered from 0, until one returns non-zero. */
LP_WARN_UNUSED int lp__join_each_node(struct lp_join *join,
                                      int (*visit)(struct lp_join *join, lp_ref ref, size_t number));
/* The number of the node or counter record behind a reference; false where there is none. */
bool lp__join_number(const struct lp_join *join, lp_ref ref, uint16_t type, uint64_t record_bytes, size_t *number);
/* The id of a name; `*id` is UINT32_MAX where the reference is bad. */
LP_WARN_UNUSED int lp__join_name(struct lp_join *join, lp_ref ref, uint32_t *id);
/* The sum of a phase for this image, zero at first. */
LP_WARN_UNUSED int lp__join_touch(struct lp_join *join, uint32_t phase, struct lp_path_sum **out);

#endif
