/* A load in progress: what load.c, read.c and finish.c share. */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_LOAD_H
#define LP_MERGE_LOAD_H

#include "merge/attempt.h"
#include "merge/join.h"
#include "merge/lines_build.h"
#include "merge/select.h"

/* Ceiling of what a run may take in memory, and of what of it one file may still ask for. */
#define LP_RUN_MAX_BYTES ((size_t)1 << 31)

struct lp_role_builder {
    struct lp_builder builder;
    uint32_t name;
};

/* The best known tick rate of a boot: of the file with the longest way between its first and last clock pair. */
struct lp_boot_rate {
    uint8_t boot_id[16];
    uint32_t wall_clock;
    double span_ns;
    double ns_per_tick;
};

struct lp_load {
    struct lp_run *run;
    const struct lp_run_options *options;
    struct lp_error *err;
    struct lp_selection selection;
    struct lp_moment now;
    struct lp_rundir_list list;
    int dir_fd;
    struct lp_attempts attempts;
    uint32_t *file_attempt; /* per file: index of its attempt, UINT32_MAX before it is known */
    bool peeked;            /* all files' attempts are known and one is chosen */
    struct lp_join_scratch scratch;
    struct lp_arena image_arena; /* the index of one image at a time */
    uint8_t *bytes;              /* of one file at a time */
    size_t bytes_cap;
    size_t last_used; /* of the file before: files of a run are alike */
    struct lp_role_builder *roles;
    size_t role_count, role_cap;
    struct lp_map role_of_name;
    struct lp_run_process *processes; /* with those that are not selected, until the end */
    size_t process_count, process_cap;
    bool *wanted; /* beside `processes` */
    size_t wanted_cap;
    struct lp_run_bad_file *bad;
    size_t bad_count, bad_cap;
    uint32_t *later; /* files whose clock waits for the others' */
    size_t later_count, later_cap;
    struct lp_boot_rate *rates;
    size_t rate_count, rate_cap;
    struct lp_lines_builder *lines; /* NULL: not asked for */
};

/* One file or image, read and indexed. */
struct lp_load_item {
    const struct lp_rundir_file *file; /* NULL: an image in memory */
    uint32_t number;                   /* of the file in the list; 0 for an image */
    struct lp_image image;
    bool last_try; /* its clock has waited */
};

enum { LP_LOAD_RESTART = 1 }; /* several attempts where one was expected: look at all files first */

/* -- read.c ------------------------------------------------------------------------------------------------------- */

/* Reads the used part of a file, at most `limit` bytes unless 0, into load->bytes.  Bytes or a negative lp_err. */
LP_WARN_UNUSED int64_t lp__load_read(struct lp_load *load, const struct lp_rundir_file *file, size_t limit,
                                     struct lp_error *err);

/* -- load.c ------------------------------------------------------------------------------------------------------- */

/* Adds an item to its process and role; LP_LOAD_RESTART or a negative lp_err ends the load. */
LP_WARN_UNUSED int lp__load_item(struct lp_load *load, struct lp_load_item *item);
LP_WARN_UNUSED int lp__load_bad(struct lp_load *load, const char *path, const struct lp_error *why);
/* Grows a heap array to hold one more than `count`. */
LP_WARN_UNUSED int lp__load_grow(void **memory, size_t *cap, size_t count, size_t size);

/* -- run.c -------------------------------------------------------------------------------------------------------- */

void lp__run_tree_release(struct lp_run_tree *tree);

/* -- finish.c ----------------------------------------------------------------------------------------------------- */

/* Turns the collected parts into the run: trees, order, sums, missing ranks. */
LP_WARN_UNUSED int lp__load_finish(struct lp_load *load);

#endif
