/* Which files belong to one launch, and which launch is wanted. */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_ATTEMPT_H
#define LP_MERGE_ATTEMPT_H

#include "merge/run.h"
#include "store/reader.h"
#include "store/rundir.h"

struct lp_attempts {
    struct lp_run_attempt *at; /* grown by lp__realloc */
    struct lp_text *prefixes;  /* beside `at`: how its files' names begin */
    bool *stated;              /* beside `at`: its id is from a fact, not from a file name */
    size_t count;
    size_t cap;
    struct lp_map by_id, by_prefix; /* hash of the text -> index: a directory may hold very many attempts */
    struct lp_arena *arena;         /* of the texts; borrowed */
};

void lp__attempts_release(struct lp_attempts *attempts);
/* The part of a file's name that stands for its attempt; not NUL-terminated. */
struct lp_text lp__attempt_prefix(const struct lp_rundir_file *file);
/* Whether all files begin alike, so that most likely there is one attempt. */
bool lp__attempts_look_single(const struct lp_rundir_list *list);
/* The attempt of a file: the one its fact names (`id` may be "" where it has none: then the one of its file name);
 * also counts the file and its times.  LP_ERR_NO_MEMORY. */
LP_WARN_UNUSED int lp__attempt_note(struct lp_attempts *attempts, const struct lp_text *id,
                                    const struct lp_rundir_file *file, const struct lp_file_header *header,
                                    size_t *index);
/* Marks what `wanted` means (NULL or "latest", "all", an id).  LP_ERR_USAGE lists what there is. */
LP_WARN_UNUSED int lp__attempts_choose(struct lp_attempts *attempts, const char *wanted, struct lp_error *err);
/* Hands them to the run, oldest first. */
LP_WARN_UNUSED int lp__attempts_finish(struct lp_attempts *attempts, struct lp_run *run);

#endif
