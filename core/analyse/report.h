/* The finished report: everything a renderer may show, as plain structs.
 *
 * lp__report_build is a pure function of a run: no clock, no file, no environment.  All renderers read this and
 * nothing else, so text, JSON and pages cannot disagree.  Times are nanoseconds; a figure that was not measured is
 * NaN (times, shares, rates) or a negative number (ranks), never zero.  Names are raw bytes as the program gave them:
 * renderers escape.  Everything lives in the report's arena or in the run, which must outlive the report.
 *
 *   active = wall - suspended      self = active - inner      wait = active - cpu
 *
 * Open entries are included in wall, active and self with their time so far.  Phases that were sampled, and all
 * below them, are scaled to estimate what was skipped (`scale` > 1).
 */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_REPORT_H
#define LP_ANALYSE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "merge/run.h"

enum lp_report_sort { LP_SORT_SELF = 0, LP_SORT_WALL, LP_SORT_WAIT, LP_SORT_ENTRIES, LP_SORT_P99, LP_SORT_COUNT };
const char *lp__report_sort_name(enum lp_report_sort sort);              /* "self", … */
bool lp__report_sort_parse(const char *text, enum lp_report_sort *sort); /* false: no such order */

#define LP_REPORT_TOP_DEFAULT 6u
#define LP_REPORT_TOP_ALL     UINT32_MAX

struct lp_report_options {
    uint32_t top; /* dominant phases shown per role; 0: LP_REPORT_TOP_DEFAULT; or LP_REPORT_TOP_ALL */
    enum lp_report_sort sort;
    const char *role;   /* only this role, or several separated by commas; NULL: all */
    bool workers;       /* list every worker, with its phases if the run kept process trees */
    double now_real_ns; /* epoch, for "last seen … ago"; 0: not said */
};

struct lp_report_counter {
    struct lp_text name;
    int64_t total_high; /* 128-bit two's complement, scaled like its phase */
    uint64_t total_low;
    double total; /* the same, rounded */
    uint64_t adds;
    int64_t min, max;
    double mean, p50, p95; /* of the amounts added */
    double per_s;          /* total per second of the phase's active time; NaN when that is 0 */
    double each_ns;        /* active time per unit; NaN when the total is not positive */
};

/* One path.  In a tree, phase 0 is the root, which stands for "outside any phase". */
struct lp_report_phase {
    uint32_t parent; /* index in the tree; the root is its own parent */
    uint32_t depth;
    struct lp_text name;
    uint32_t flags; /* enum lp_node_flags */
    uint32_t processes;
    uint64_t entries;    /* finished, skipped ones included; exact unless an ancestor was sampled */
    uint64_t measured;   /* finished entries that were really timed */
    uint64_t open;       /* entries open at the end, or now */
    uint64_t skipped;    /* left out by sample= */
    uint64_t unmeasured; /* timed entries without CPU and suspended time */
    uint64_t async_entries;
    double scale;           /* times are measured times `scale`; 1 when nothing was skipped here or above */
    bool entries_estimated; /* an ancestor was sampled */
    bool self_estimated;    /* a child was sampled: self is what the estimate of it leaves */
    bool untimed;           /* every entry was skipped: its times are not known, though they read 0 */
    double wall_ns, active_ns, suspended_ns;
    double open_ns;                       /* of it, the time of open entries so far */
    double self_ns;                       /* >= 0 */
    double cpu_ns;                        /* of finished entries; NaN not measured */
    double wait_ns;                       /* of finished entries, >= 0; NaN not measured */
    double wait_share;                    /* of the active time of finished entries, 0…1; NaN not measured */
    uint64_t trend_calls;                 /* see struct lp_report_iterations */
    double first_tenth_ns, last_tenth_ns; /* mean wall of an entry; NaN not measured */
    double min_ns, max_ns, mean_ns, p50_ns, p95_ns, p99_ns, stddev_ns; /* wall of one finished entry; NaN when none */
    struct lp_report_counter *counters;                                /* by name */
    size_t counter_count;
};

struct lp_report_tree {
    struct lp_report_phase *phases; /* parents before children */
    size_t count;
    uint32_t *order; /* every phase but the root, in the chosen order */
    size_t order_count;
};

/* The first level at which the time divides. */
struct lp_report_share {
    uint32_t phase; /* index in the role's tree */
    double ns;      /* active */
    double share;   /* of the base, 0…1 */
};
struct lp_report_breakdown {
    uint32_t parent;              /* the phase that divides; 0: the root */
    struct lp_report_share *rows; /* largest first */
    size_t count;
    double base_ns;  /* siblings + self of the parent: what the percentages are of */
    double other_ns; /* self of the parent */
    double other_share;
    bool has_other; /* worth a row: more than 0.1 % */
};

/* The repeating phase: the shallowest one with at least 30 entries (or, if there is none, more than two per process)
 * that holds at least a quarter of the role's phase time; of one level the one with the most time.  Its trend is the
 * first tenth of each thread's finished entries against the last tenth; it stands over the threads that had entries
 * enough for tenths. */
struct lp_report_iterations {
    uint32_t phase;        /* index in the role's tree; 0: nothing repeats */
    double share;          /* of the role's phase time */
    uint64_t trend_calls;  /* finished entries that the trend is of; 0: not measured */
    double first_tenth_ns; /* mean wall of an entry; NaN not measured */
    double last_tenth_ns;
    double change; /* of the mean, 0.25 for a quarter longer; NaN not measured, or from nothing */
};

struct lp_report_worker {
    const struct lp_run_process *process;
    uint32_t role;               /* index in report->roles */
    double ratio;                /* its phase time to the median worker's of the role; NaN when that is 0 */
    double span_ns;              /* first start to last write; NaN when the clock is unusable */
    struct lp_report_tree *tree; /* its own phases with options.workers and a run that kept trees, else NULL */
};

/* How the workers of a role compare; indexes in report->workers, SIZE_MAX when the role has none. */
struct lp_report_spread {
    size_t slowest, median, fastest;
};

/* Something that the reader of a number must know.  `text` is one sentence without a full stop; it may hold raw bytes
 * of a name and is escaped by whoever prints it. */
enum lp_note_kind {
    LP_NOTE_UNREADABLE,   /* a file that could not be read or trusted */
    LP_NOTE_DAMAGED,      /* a file of which a part was lost */
    LP_NOTE_SUPERSEDED,   /* an attempt that is not shown */
    LP_NOTE_MISSING_RANK, /* a rank that should exist */
    LP_NOTE_KILLED,       /* a worker that died with a phase open */
    LP_NOTE_STALE,        /* a worker that was not heard of */
    LP_NOTE_WRITES,       /* failed writes */
    LP_NOTE_DROP,         /* something not recorded, or recorded elsewhere */
    LP_NOTE_CLOCK,        /* clock stepped, refused or missing */
    LP_NOTE_STORE,        /* where the live data are, when a kill can cost something */
    LP_NOTE_TORN,         /* a thread died while booking an entry */
    LP_NOTE_LAUNCH,       /* launcher variables that disagree */
    LP_NOTE_OWNER,        /* workers recorded in a folder of their own below the run directory */
    LP_NOTE_SUSPENSIONS,  /* stops of coroutines and generators were only inferred: what is not measured then */
    LP_NOTE_NOTHING,      /* a worker whose file holds no record */
    LP_NOTE_KINDS
};
const char *lp__note_kind_name(enum lp_note_kind kind); /* "unreadable", … */

struct lp_report_note {
    enum lp_note_kind kind;
    uint32_t role;     /* index in report->roles that it is about; UINT32_MAX: the whole run */
    const char *about; /* the file, attempt, worker or reason; "" none */
    uint64_t count;    /* of what `text` counts; 0 when it counts nothing */
    const char *text;
};

struct lp_report_role {
    const char *name;
    uint32_t processes;
    double imbalance;       /* phase time of the busiest process to the mean; 1 for one process */
    double phase_ns;        /* active time of depth-1 phases, estimates included */
    double elapsed_ns;      /* of its threads */
    double outside_ns;      /* elapsed time outside any phase; NaN not measured */
    double outside_share;   /* of elapsed */
    bool outside_estimated; /* a depth-1 phase was sampled */
    struct lp_report_tree tree;
    size_t shown; /* of tree.order, as DOMINANT PHASES */
    struct lp_report_breakdown breakdown;
    struct lp_report_iterations iterations;
    struct lp_report_spread spread;
    uint64_t drops[LP_DROP_COUNT];
};

/* Processes that used the same pair of clocks. */
struct lp_report_clock {
    uint32_t wall, cpu; /* enum lp_wall_clock, enum lp_cpu_clock */
    uint32_t processes;
    double wall_cost_ns, cpu_cost_ns, entry_cost_ns; /* the largest measured; NaN not measured */
};

#define LP_REPORT_VERDICTS (LP_VERDICT_NOTHING + 1)

struct lp_report_header {
    const char *directory;
    const char *attempt;    /* the one shown; "all" when several are; "" when there is none */
    double span_ns;         /* first start to last write of any worker; NaN unusable clock */
    bool span_across_hosts; /* from wall clocks of several hosts */
    double longest_ns;      /* of one worker */
    double started_real_ns, ended_real_ns;
    size_t processes;
    uint32_t verdicts[LP_REPORT_VERDICTS]; /* by enum lp_verdict */
    const char **hosts;                    /* distinct, in order of appearance */
    size_t host_count;
    double imbalance;               /* over all processes */
    int64_t world_size;             /* -1 unknown */
    uint64_t missing_ranks;         /* of them, how many left no file; run->missing_ranks names the first */
    const char *revision, *branch;  /* of the program's source, from the first worker that knows; "" unknown */
    size_t revisions;               /* distinct ones among the workers */
    struct lp_report_clock *clocks; /* most processes first */
    size_t clock_count;
    uint64_t entries; /* finished and timed, all roles */
    uint64_t threads;
    double elapsed_ns;     /* of all threads */
    double cost_ns;        /* entries times measured cost per entry; NaN when no process measured it */
    double cost_share;     /* of elapsed_ns of those that did */
    size_t cost_processes; /* that measured it */
    size_t shown_attempts;
};

struct lp_report {
    struct lp_arena arena;
    const struct lp_run *run; /* borrowed */
    struct lp_report_options options;
    struct lp_report_header header;
    struct lp_report_role *roles; /* by phase time, largest first */
    size_t role_count;
    struct lp_report_worker *workers; /* by role, rank, start */
    size_t worker_count;
    struct lp_report_note *notes;
    size_t note_count;
};

/* Builds the report.  LP_ERR_USAGE when options->role names a role that is not there (detail lists those that are);
 * LP_ERR_NO_MEMORY.  `options` may be NULL for the defaults.  On success the caller releases with lp__report_free,
 * before the run. */
LP_WARN_UNUSED int lp__report_build(const struct lp_run *run, const struct lp_report_options *options,
                                    struct lp_report **out, struct lp_error *err);
void lp__report_free(struct lp_report *report); /* NULL is fine */

/* Did every process of the role (index in run->roles) that recorded entries measure CPU time? */
bool lp__role_has_cpu(const struct lp_run *run, uint32_t role);

/* "clean", "running", "stale", "killed", "ended without closing", "nothing recorded". */
const char *lp__verdict_words(enum lp_verdict verdict);
const char *lp__verdict_name(
    enum lp_verdict verdict);                 /* "finished", "running", "stale", "killed", "ended", "nothing" */
const char *lp__drop_name(enum lp_drop drop); /* "end_without_begin", …; NULL for unused numbers */
/* A worker by name, "rank 3 node1:4711" or "node1:4711", raw bytes, into `out`. */
char *lp__worker_name(char *out, size_t cap, const struct lp_run_process *process);

#endif
