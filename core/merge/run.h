/* A run in memory: many worker files joined.
 *
 * Merging knows nothing of roles' meaning or of printing.  Everything hangs on one arena and is read-only once
 * lp__run_load returns.  One tree per role (all its processes and threads joined by path), one small summary per
 * process, and the process's own tree only where asked for.  Times are nanoseconds from here on.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_RUN_H
#define LP_MERGE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hist.h"
#include "base/map.h"
#include "merge/lines.h"
#include "store/layout.h"

struct lp_run_counter {
    struct lp_run_counter *next; /* of the same phase, sorted by name */
    uint32_t name;               /* id in run->names */
    uint64_t total_low;          /* 128-bit two's complement */
    int64_t total_high;
    uint64_t adds;
    int64_t min, max;
    struct lp_hist *hist;          /* of amounts >= 0; NULL: every amount was `min` */
    struct lp_hist *hist_negative; /* of -amount */
};

/* Phases that stand for something else than a name the program gave, besides enum lp_node_flags. */
#define LP_RUN_DAMAGED (1u << 31) /* "(damaged)": what hangs below lost its place, or its name */

/* One path.  Phase 0 of a tree is the root (path ()): its wall is its threads' elapsed time, its inner what ran in
 * scopes, so its self is the time outside any phase; calls are 0.  A phase that stands for a thread's name
 * (LP_NODE_THREAD) has no calls either, and the sums of its children's times. */
struct lp_run_phase {
    uint32_t parent;     /* index in the tree; the root is its own parent */
    uint32_t name;       /* id in run->names */
    uint32_t depth;      /* 0 for the root */
    uint32_t flags;      /* enum lp_node_flags, ORed */
    uint32_t processes;  /* how many have it */
    uint64_t calls;      /* finished entries */
    uint64_t open;       /* entries open at the end (or now) */
    uint64_t skipped;    /* left out by sample= */
    uint64_t unmeasured; /* finished entries without CPU and suspended time */
    uint64_t async_entries;
    double wall_ns;      /* of finished entries */
    double open_wall_ns; /* of open ones, so far */
    double suspended_ns;
    double inner_ns;
    double cpu_ns;         /* signed */
    double min_ns, max_ns; /* valid when calls > 0, else NaN */
    uint64_t trend_calls;  /* of the finished entries, those of threads with a trend */
    double first_tenth_ns; /* wall of the first tenth of each such thread's entries, summed */
    double last_tenth_ns;  /* and of the last tenth */
    struct lp_hist *hist;  /* of finished entries' wall in ns; NULL when none */
    struct lp_run_counter *counters;
};

struct lp_run_tree {
    struct lp_run_phase *phases; /* parents before children */
    size_t count;
    size_t cap;
    struct lp_map children; /* (parent << 32 | kind << 30 | name) -> index; see lp__run_tree_child */
};

enum lp_verdict {
    LP_VERDICT_FINISHED, /* the mark is there */
    LP_VERDICT_RUNNING,
    LP_VERDICT_STALE,  /* another host or unknown: heartbeat too old to say running */
    LP_VERDICT_KILLED, /* gone with a scope open */
    LP_VERDICT_ENDED,  /* gone without closing, no scope open */
    LP_VERDICT_NOTHING /* started, nothing recorded */
};

struct lp_run_process {
    const char *path; /* of its file, relative to the run directory */
    const char *host;
    const char *role; /* as given; may hold any bytes; NUL-terminated */
    const char *attempt;
    const char *attempt_source;             /* "own", "launcher", "fresh"; "" unknown */
    const char *launcher, *job, *conflicts; /* "" when none */
    const char *python;                     /* "3.12.1", "" for a C program */
    const char *argv;                       /* joined by spaces, quoted where needed */
    const char *exe, *cwd;
    const char *version;           /* of the package that recorded */
    const char *revision, *branch; /* of the program's source; "" unknown */
    const char *cpu_model, *kernel;
    int64_t cores, hardware_threads, affinity; /* -1 unknown */
    int64_t ram_bytes, memory_limit_bytes;     /* -1 unknown or none */
    double quota_cores;                        /* NaN unknown or none */
    uint32_t role_index;                       /* in run->roles */
    uint32_t pid, parent_pid;
    int64_t rank, world_size, local_rank; /* -1 unknown */
    enum lp_verdict verdict;
    const char *killed_in;  /* deepest open path, "a/b", whatever the verdict; "" if none.  base/step.h */
    double started_real_ns; /* epoch; NaN unknown */
    double last_real_ns;    /* last write, heartbeat or close, on the clock of the start; NaN unknown */
    int64_t started_mono_ns, last_mono_ns; /* comparable within one boot_id; 0 unknown */
    uint8_t boot_id[16];
    double top_wall_ns; /* of the outermost phases, open ones included, suspended time left out */
    double elapsed_ns;  /* over its threads */
    double outside_ns;  /* elapsed - what ran in scopes, open ones included; >= 0 */
    uint64_t entries;   /* finished, all phases */
    uint64_t open;      /* open scopes */
    uint32_t threads;   /* that recorded, finished ones included */
    uint64_t drops[LP_DROP_COUNT];
    uint64_t write_failures;
    uint32_t wall_clock, cpu_clock, place, copy_interval_ms;
    const char *cpu_refused, *wall_refused;          /* why a better clock was not taken; "" if the best was */
    double wall_cost_ns, cpu_cost_ns, entry_cost_ns; /* NaN when not measured */
    const char *suspensions;     /* "inferred": nobody told when frames stop; "": told, or it never mattered */
    const char *why_not_run_dir; /* the store is not mapped there; "" if it is */
    double ns_per_tick;
    bool clock_stepped, clock_guessed, damaged, truncated;
    bool lines_only;                           /* a file of line tables beside a worker's; never in run->processes */
    uint32_t torn_threads;                     /* died while booking an entry */
    uint32_t damaged_segments, newer_segments; /* left out */
    uint64_t damaged_nodes;                    /* nodes without a place, a name or possible numbers */
    int32_t grow_errno;                        /* why the store was refused space; 0 */
    uint64_t own_cpu_ns;                       /* of the recorder's own thread */
    struct lp_run_tree *tree;                  /* own tree, only with keep_process_trees; else NULL */
};

struct lp_run_role {
    const char *name;
    struct lp_run_tree tree;
    uint32_t processes;
    double top_wall_ns, elapsed_ns, outside_ns;
    double max_top_wall_ns; /* of one process: imbalance = max / mean */
};

struct lp_run_attempt {
    const char *id;
    uint32_t files; /* readable ones */
    double started_real_ns, last_real_ns;
    bool chosen;
};

struct lp_run_bad_file {
    const char *path;
    enum lp_err code;
    const char *detail;
};

struct lp_run {
    struct lp_arena arena;
    struct lp_intern names;
    const char *directory;           /* as given */
    struct lp_run_attempt *attempts; /* oldest first */
    size_t attempt_count;
    struct lp_run_process *processes; /* of the chosen attempt(s), by role, rank, start */
    size_t process_count;
    struct lp_run_process *line_processes; /* files of line tables (lines_only) of the same */
    size_t line_process_count;
    struct lp_run_role *roles; /* by top_wall_ns, largest first; one may be "": its files do not say */
    size_t role_count;
    struct lp_run_bad_file *bad; /* unreadable, denied or damaged beyond use */
    size_t bad_count;
    int64_t *missing_ranks; /* of 0 … world_size-1, capped at 1,000 named */
    size_t missing_count;
    int64_t missing_total;  /* all of them */
    int64_t world_size;     /* -1 unknown */
    bool own_folders;       /* some workers recorded below user-<uid> */
    bool listing_truncated; /* more files than the ceiling */
    struct lp_lines *lines; /* NULL: not asked for */
};

struct lp_run_options {
    const char *attempt; /* NULL or "latest", an id, or "all" */
    const char *ranks;   /* "0-3,5"; NULL: all */
    const char *roles;   /* "a,b"; NULL: all */
    const char *hosts;   /* "a,b"; NULL: all */
    bool any_owner;
    bool read_only;
    bool keep_process_trees;
    bool lines;                                          /* line tables too, and the sources they speak of */
    int (*progress)(void *arg, size_t done, size_t all); /* may be NULL; non-zero return: LP_ERR_INTERRUPTED */
    void *progress_arg;
};

/* Loads a directory.  LP_ERR_NOT_FOUND, LP_ERR_NO_RUN, LP_ERR_FOREIGN_RUN as lp__rundir_list; LP_ERR_USAGE for a bad
 * selection or an attempt that is not there (detail lists them); LP_ERR_NO_MEMORY; LP_ERR_INTERRUPTED.  A bad file is
 * no error.  On success the caller releases with lp__run_free. */
LP_WARN_UNUSED int lp__run_load(const char *run_dir, const struct lp_run_options *options, struct lp_run **out,
                                struct lp_error *err);
/* The same over one file image in memory (a live process reading its own store). */
LP_WARN_UNUSED int lp__run_load_image(const void *bytes, uint64_t len, struct lp_run **out, struct lp_error *err);
LP_WARN_UNUSED int lp__run_load_image_with(const void *bytes, uint64_t len, const struct lp_run_options *options,
                                           struct lp_run **out, struct lp_error *err);
void lp__run_free(struct lp_run *run);

/* Child of `parent` that the program named `name` (an id), or UINT32_MAX.  Threads' names, "(folded)" and "(damaged)"
 * are other kinds of child, so that they cannot meet a phase of the same name. */
uint32_t lp__run_tree_child(const struct lp_run_tree *tree, uint32_t parent, uint32_t name);

#endif
