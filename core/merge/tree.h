/* A tree while it grows: the run's tree plus what only merging needs to know.
 *
 * Histograms arrive in ticks.  Rescaling one costs as much as adding a hundred, so blocks are added up as they are,
 * apart for each class of tick rate (a tenth of a percent wide; all processes of one boot share one), and rescaled
 * once, in lp__builder_finish.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_TREE_H
#define LP_MERGE_TREE_H

#include "merge/run.h"
#include "store/reader.h"

/* What a child is, so that no name can pass for another kind. */
enum lp_child_kind { LP_CHILD_PHASE, LP_CHILD_THREAD, LP_CHILD_FOLDED, LP_CHILD_DAMAGED };

struct lp_rated_hist {
    struct lp_rated_hist *next;
    int32_t rate;        /* lp__rate_class */
    struct lp_hist hist; /* in ticks */
};

struct lp_phase_extra {
    struct lp_rated_hist *hists;
    bool outermost; /* a phase below nothing but the root and a thread's name */
};

struct lp_builder {
    struct lp_run_tree tree;
    struct lp_phase_extra *extra; /* beside tree.phases */
    size_t extra_cap;
    struct lp_map counters; /* (phase << 32 | name) -> struct lp_run_counter * */
    struct lp_arena *arena; /* borrowed: histograms and counters */
    struct lp_arena *ticks; /* borrowed: histograms until they are rescaled; the same at first */
};

#define LP_NO_PHASE         UINT32_MAX
#define LP_RUN_MAX_PATHS    (1u << 20) /* of one tree; further ones are charged to "(folded)" */
#define LP_RUN_MAX_COUNTERS (1u << 20) /* of one tree, over all its paths */

LP_WARN_UNUSED int lp__builder_init(struct lp_builder *builder, struct lp_arena *arena); /* makes the root */
void lp__builder_release(struct lp_builder *builder);
/* Finds or makes a child.  At the ceilings of depth and count it is the "(folded)" child of the parent, or the parent
 * where that is one; `folded_name` is the id of that name. */
LP_WARN_UNUSED int lp__builder_child(struct lp_builder *builder, uint32_t parent, enum lp_child_kind kind,
                                     uint32_t name, uint32_t folded_name, uint32_t *child);

/* The class of a tick rate, and the rate in the middle of a class. */
int32_t lp__rate_class(double ns_per_tick);
double lp__class_rate(int32_t rate);

/* Adds a histogram record of an image to a phase. */
LP_WARN_UNUSED int lp__builder_hist(struct lp_builder *builder, uint32_t phase, const struct lp_image *image,
                                    const struct lp_hist_record *record, int32_t rate);
/* Adds a counter record; `name` is the id of its name.  LP_ERR_LIMIT: a new one beyond the ceiling, left out. */
LP_WARN_UNUSED int lp__builder_counter(struct lp_builder *builder, uint32_t phase, const struct lp_image *image,
                                       const struct lp_counter_record *record, uint32_t name);
/* Adds one process's figures to a phase; flags are ORed, min and max taken, `processes` counted. */
void lp__builder_add(struct lp_builder *builder, uint32_t phase, const struct lp_run_phase *figures);

/* Rescales the histograms, sorts the counters by name, sums the threads' names up, and hands the tree over. */
LP_WARN_UNUSED int lp__builder_finish(struct lp_builder *builder, const struct lp_intern *names,
                                      struct lp_run_tree *out);

#endif
