/* Proof that the collectors work here: each records something known in a folder of its own and reads it back.
 *
 * Knows nothing of printing.  What it uses of the core is called through a table, so that a test can break each part
 * and see that it is named. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_SELFTEST_H
#define LP_CLI_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/phase.h"
#include "merge/run.h"
#include "os/child.h"

struct lp_selftest_parts {
    int (*open)(const struct lp_recording_options *options, struct lp_recording **out, struct lp_error *err);
    struct lp_scope *(*begin)(struct lp_thread *thread, lp_name_id name);
    void (*end)(struct lp_thread *thread, struct lp_scope *scope);
    void (*count)(struct lp_thread *thread, lp_name_id name, int64_t n);
    int (*child)(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *err);
    int (*load)(const char *dir, const struct lp_run_options *options, struct lp_run **out, struct lp_error *err);
    uint64_t (*wall_ns)(void); /* the clocks that the recorded times are held against */
    int64_t (*cpu_ns)(void);
};
extern const struct lp_selftest_parts lp__selftest_parts; /* the real ones */

enum lp_selftest_outcome { LP_SELFTEST_PASSED, LP_SELFTEST_BROKEN, LP_SELFTEST_UNMEASURED };

struct lp_selftest_result {
    const char *name;    /* of the collector: "counters" */
    const char *meaning; /* what a pass means for the numbers */
    enum lp_selftest_outcome outcome;
    char detail[200]; /* what was seen */
};

#define LP_SELFTEST_COUNT 7u

/* Runs all, about 0.1 s, and removes what it wrote.  The environment's run directory and attempt are not touched.
 * LP_ERR_IO when there is no place for a temporary folder. */
LP_WARN_UNUSED int lp__selftest(const struct lp_selftest_parts *parts, struct lp_selftest_result out[LP_SELFTEST_COUNT],
                                struct lp_error *err);

#endif
