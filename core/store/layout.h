/* Every byte of a worker file.
 *
 *   0          512                                                             file_bytes
 *   ├──────────┼──────────┬───────────────┬──────────┬───────────────┬─────────┤
 *   │ header   │ segment  │ segment       │ segment  │ segment       │ (free)  │
 *   └──────────┴──────────┴───────────────┴──────────┴───────────────┴─────────┘
 *               ┌ 64 bytes ───────┬ capacity - 64 ───────────────────┐
 *               │ segment header  │ records …          │ unused      │
 *               └─────────────────┴────────── used ────┴─────────────┘
 *
 * A file is mapped and written in place by one process and never flushed; it is read by pread, perhaps while it is
 * being written, perhaps after its writer was killed in the middle of a store.  Therefore:
 *
 *   - Segments tile the file from the header on and never move.  A segment's fixed fields are covered by a checksum
 *     that includes its own offset, so a reader that meets a damaged header finds the next one by stepping on in
 *     LP_SEGMENT_ALIGN units, and payload bytes cannot pose as a header by accident.
 *   - `used` is the last word written when a record is appended.  Records never shrink or move.
 *   - Every word has one writer: the thread that owns the segment, the process under its lock (thread 0), or the
 *     background thread (heartbeat, clock pairs).
 *   - References are offsets from the start of the file in units of 8 bytes (lp_ref, 0 = none).  The reader checks
 *     each one against the segment it must point into.
 *   - An unknown segment type is skipped; a known type of a newer version is skipped and said.
 *   - The magic is written last: a file of zeros means "started, nothing recorded".
 *
 * Times are in ticks of the clock the header names, unless the field's name ends in _ns.  Sums of start times are
 * modulo 2^64 on purpose.  All numbers are little-endian.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_LAYOUT_H
#define LP_STORE_LAYOUT_H

#include <assert.h>
#include <stdint.h>

#define LP_FILE_MAGIC   "lpstore\n"
#define LP_FILE_VERSION 1u
#define LP_FILE_SUFFIX  ".lpw" /* <run>/workers/<host>/<attempt>.<pid>.<8 hex>.lpw */

#define LP_SEGMENT_MAGIC 0x4753504Cu /* "LPSG" */
#define LP_SEGMENT_ALIGN 1024u

typedef uint32_t lp_ref; /* file offset / 8 */

/* Ceilings.  A reader refuses more, a writer never makes more. */
#define LP_MAX_FILE_BYTES ((uint64_t)1 << 30)
#define LP_MAX_NAME_BYTES (1u << 20)
#define LP_MAX_DEPTH      4096u /* of the merged tree; deeper nodes are charged to "(folded)" */
#define LP_MAX_SEGMENTS   (1u << 20)

enum lp_store_state {
    LP_STATE_NOTHING = 0, /* no magic yet */
    LP_STATE_RUNNING = 1,
    LP_STATE_FINISHED = 2 /* close(), interpreter exit or exit() set the mark */
};

/* Where the live data are, which decides what a kill costs. */
enum lp_store_place {
    LP_PLACE_RUN_DIR = 0, /* mapped in the run directory: a kill costs nothing */
    LP_PLACE_SHM = 1,     /* mapped in tmpfs, copied each interval and at close */
    LP_PLACE_MEMORY = 2   /* anonymous, copied each interval and at close */
};

struct lp_file_header {
    uint8_t magic[8];          /*   0  written last */
    uint32_t version;          /*   8 */
    uint32_t header_bytes;     /*  12  sizeof, so that a later version may grow it */
    uint32_t check;            /*  16  CRC-32C of bytes 8..15 and 20..95 */
    uint32_t pid;              /*  20 */
    uint64_t pid_start;        /*  24  clock ticks since boot, 0 unknown */
    uint8_t boot_id[16];       /*  32 */
    uint64_t pid_namespace;    /*  48 */
    uint64_t created_ticks;    /*  56 */
    uint64_t created_mono_ns;  /*  64 */
    uint64_t created_real_ns;  /*  72 */
    uint32_t wall_clock;       /*  80  enum lp_wall_clock */
    uint32_t cpu_clock;        /*  84  enum lp_cpu_clock */
    uint32_t place;            /*  88  enum lp_store_place */
    uint32_t copy_interval_ms; /*  92  0 when mapped in the run directory */
    /* live words, not under the checksum */
    uint64_t file_bytes;        /*  96  allocated so far */
    uint64_t tiled_bytes;       /* 104  end of the last segment */
    uint32_t state;             /* 112  enum lp_store_state */
    uint32_t reserved;          /* 116 */
    uint64_t heartbeat_ticks;   /* 120  background thread, each second */
    uint64_t heartbeat_mono_ns; /* 128 */
    uint64_t heartbeat_real_ns; /* 136 */
    uint64_t closed_ticks;      /* 144  0 while running */
    uint64_t own_cpu_ns;        /* 152  CPU the background thread used */
    uint64_t write_failures;    /* 160  growth, copies: refused by the system */
    uint64_t grow_errno;        /* 168  why the last one was refused */
    uint64_t pad[42];           /* 176 */
};
static_assert(sizeof(struct lp_file_header) == 512, "the header is one 512-byte sector");
#define LP_FILE_CHECKED_END 96

enum lp_segment_type {
    LP_SEGMENT_FREE = 0,
    LP_SEGMENT_FACTS = 1,    /* key/value strings about the process (struct lp_fact) */
    LP_SEGMENT_CLOCK = 2,    /* struct lp_clock_record */
    LP_SEGMENT_NAMES = 3,    /* struct lp_name_record */
    LP_SEGMENT_THREADS = 4,  /* struct lp_thread_record */
    LP_SEGMENT_NODES = 5,    /* struct lp_node_record, one owner thread */
    LP_SEGMENT_HIST = 6,     /* struct lp_hist_block, lp_hist_record and lp_trend_record, one owner thread */
    LP_SEGMENT_COUNTERS = 7, /* struct lp_counter_record, one owner thread */
    /* reserved for the parts to come: they need no new format */
    LP_SEGMENT_CODE = 16,    /* code objects, source, line tables */
    LP_SEGMENT_LINES = 17,   /* per-thread line slots */
    LP_SEGMENT_EDGES = 18,   /* caller -> callee */
    LP_SEGMENT_REGIONS = 19, /* struct lp_region_entry_record, one owner thread */
    LP_SEGMENT_SAMPLES = 24, /* resource samples */
    LP_SEGMENT_SPANS = 32,   /* timeline rings */
    LP_SEGMENT_LINKS = 33    /* signal / wait_on */
};

struct lp_segment_header {
    uint32_t magic;        /*  0 */
    uint16_t type;         /*  4  enum lp_segment_type */
    uint16_t version;      /*  6  of this type's records; 1 */
    uint32_t thread;       /*  8  owner: index of its thread record + 1; 0 = the process, under its lock */
    uint32_t record_bytes; /* 12  0 where records vary */
    uint64_t offset;       /* 16  of this header in the file */
    uint64_t capacity;     /* 24  of the whole segment, header included, a multiple of LP_SEGMENT_ALIGN */
    uint32_t check;        /* 32  CRC-32C of bytes 0..31 */
    uint32_t reserved;     /* 36 */
    uint64_t used;         /* 40  live: payload bytes in use, written last */
    uint64_t pad[2];       /* 48 */
};
static_assert(sizeof(struct lp_segment_header) == 64, "");

/* LP_SEGMENT_FACTS: records follow one another, each padded to 8 bytes.  Later ones of the same key win. */
struct lp_fact {
    uint16_t key_bytes;
    uint16_t reserved;
    uint32_t value_bytes;
    /* key, value */
};

/* LP_SEGMENT_CLOCK: at most LP_CLOCK_RECORDS; when full, every second one is dropped and the spacing doubled. */
#define LP_CLOCK_RECORDS 64
struct lp_clock_record {
    uint64_t ticks;
    uint64_t mono_ns;
    uint64_t real_ns;
    uint64_t check; /* ticks ^ mono_ns ^ real_ns ^ LP_CLOCK_CHECK: a record being rewritten is left out */
};
#define LP_CLOCK_CHECK 0x6C70636C6F636B31u

/* LP_SEGMENT_NAMES: any str, as UTF-8 with surrogates passed through (WTF-8), padded to 8 bytes. */
struct lp_name_record {
    uint32_t bytes;
    uint32_t check; /* low half of lp__hash_bytes(text) */
    /* text */
};

/* Why something is not where a reader would look for it.  Counted per thread, shown beside the numbers. */
enum lp_drop {
    LP_DROP_END_WITHOUT_BEGIN, /* end() twice or of nothing */
    LP_DROP_END_OUT_OF_ORDER,  /* ended below others: recorded right, only noted */
    LP_DROP_END_INHERITED,     /* a scope of the parent's, ended in the child of a fork: ignored */
    LP_DROP_END_FOREIGN,       /* ended by another thread: recorded, CPU unmeasured */
    LP_DROP_LEFT_OPEN,         /* the object died while its scope was open: ended there */
    LP_DROP_STALE_OWNER,       /* a frame vanished without a word; its scopes lost their place, not their time */
    LP_DROP_FOLDED,            /* entries charged to "(folded)" beyond the ceiling on paths */
    LP_DROP_NO_SPACE,          /* entries not recorded: the store could not grow */
    LP_DROP_COUNTER_NO_SPACE,  /* counter adds not recorded: the store could not grow */
    LP_DROP_HIST_NO_SPACE,     /* entries counted and timed, but not in the histogram */
    LP_DROP_WARNING,           /* a warning that the program's filters turned into an error */
    LP_DROP_HOOK,              /* a host hook failed and was disarmed */
    LP_DROP_LINES_NO_SPACE,    /* calls of functions whose line table could not be made: the store could not grow */
    LP_DROP_LINES_LOST,        /* line events whose frame had no place: not counted */
    LP_DROP_COUNT = 16         /* room; the layout does not change */
};

/* LP_SEGMENT_THREADS: one per thread state.  A finished thread's state goes to the next new thread. */
struct lp_thread_record {
    uint32_t index; /*  0  from 0 */
    uint32_t tid;   /*  4  of the present tenant */
    uint32_t flags;
    lp_ref root;                   /* 12  its root node */
    uint64_t sequence;             /* 16  odd while an entry is being booked */
    uint64_t attached_ticks;       /* 24  the present tenant's start, 0 when it has gone */
    uint64_t last_ticks;           /* 32  last record of any kind */
    uint64_t elapsed;              /* 40  of the tenants that have gone */
    uint64_t tenants;              /* 48 */
    lp_ref name;                   /* 56  thread name of the present tenant, 0 unknown */
    uint32_t reserved;             /* 60 */
    uint64_t drops[LP_DROP_COUNT]; /* 64 */
    uint64_t entries;              /* 192  reserved for later use */
    uint64_t pad[7];               /* 200 */
};
static_assert(sizeof(struct lp_thread_record) == 256, "");

/* Blocks of a histogram (see base/hist.h): `slot[s]` refers to a block of 16 counters, 0 where nothing fell.  A
 * counter that is full carries over into the block of the same place in the record that `carry` refers to. */
#define LP_HIST_RECORD_SLOTS 61
struct lp_hist_record {
    lp_ref slot[LP_HIST_RECORD_SLOTS];
    lp_ref carry; /* another lp_hist_record whose counters weigh 2^32 */
    uint32_t reserved[2];
};
static_assert(sizeof(struct lp_hist_record) == 256, "");
struct lp_hist_block {
    uint32_t count[16];
};

/* How the wall of a node's entries grew: mark[i] is the node's `wall` after (i + 1) * stride finished entries, shifted
 * right by `shift`.  Made with entry LP_TREND_STRIDE.  When it is full every second mark is dropped and the stride
 * doubled; while marks are rewritten `count` is 0. */
#define LP_TREND_MARKS  28
#define LP_TREND_STRIDE 4
struct lp_trend_record {
    uint64_t stride; /* entries from mark to mark */
    uint32_t count;  /* marks in use */
    uint32_t shift;
    uint32_t mark[LP_TREND_MARKS];
};
static_assert(sizeof(struct lp_trend_record) == 128, "");

enum lp_node_flags {
    LP_NODE_ROOT = 1u << 0,
    LP_NODE_THREAD = 1u << 1, /* stands for a thread's name: wall is the sum of its children's */
    LP_NODE_FOLDED = 1u << 2, /* "(folded)": everything beyond the ceiling on paths */
    LP_NODE_IO = 1u << 3,
    LP_NODE_SYNC = 1u << 4,
    LP_NODE_ASYNC = 1u << 5,
    LP_NODE_SAMPLED = 1u << 6
};

/* LP_SEGMENT_NODES: one path of one thread.
 *
 * Entries that are open = begun - calls, and their time so far = open * now - start_sum, whatever the order in which
 * they end and whichever thread ends them: both words are sums, so a scope that began on one thread and ended on
 * another is right in the sum over threads.  `calls` is written last.
 *   active = wall - suspended        self = active - inner        wait = active - cpu
 *   cpu    = cpu_ns + cpu_ticks / rate, signed */
struct lp_node_record {
    lp_ref parent;              /*   0  0 for a root */
    lp_ref name;                /*   4  0 for a root */
    uint32_t flags;             /*   8  enum lp_node_flags */
    uint32_t thread;            /*  12  index of the thread record */
    uint64_t begun;             /*  16 */
    uint64_t calls;             /*  24 */
    uint64_t start_sum;         /*  32  start times of the open entries, modulo 2^64 */
    uint64_t wall;              /*  40 */
    uint64_t suspended;         /*  48 */
    uint64_t inner;             /*  56  charged by the scopes that ran on top of this one */
    int64_t cpu_ns;             /*  64 */
    int64_t cpu_ticks;          /*  72 */
    uint64_t wall_min;          /*  80  valid when calls > 0 */
    uint64_t wall_max;          /*  88 */
    uint64_t unmeasured;        /*  96  finished entries whose CPU and suspended time are unknown */
    uint64_t skipped;           /* 104  entries left out by sample=, not in begun or calls */
    uint64_t async_entries;     /* 112  finished entries marked as submission time */
    lp_ref counters;            /* 120  first lp_counter_record */
    lp_ref trend;               /* 124  lp_trend_record; 0: too few entries, or no space when it was due */
    struct lp_hist_record hist; /* 128  of wall ticks */
};
static_assert(sizeof(struct lp_node_record) == 384, "");

/* LP_SEGMENT_COUNTERS.  The histograms exist from the second distinct amount on and then hold all adds. */
struct lp_counter_record {
    lp_ref next;
    lp_ref name;
    lp_ref hist;          /* lp_hist_record of amounts >= 0 */
    lp_ref hist_negative; /* of -amount for amounts < 0 */
    uint64_t total_low;   /* 128-bit two's complement */
    int64_t total_high;
    uint64_t adds;
    int64_t min;
    int64_t max;
    uint64_t reserved;
};
static_assert(sizeof(struct lp_counter_record) == 64, "");

/* LP_SEGMENT_CODE: what line tables refer to.  Records vary and follow one another, each a multiple of 8 bytes; the
 * first two words say how long and of which kind.  Written by the process under its lock. */
enum lp_code_kind {
    LP_CODE_FILE = 1,     /* struct lp_file_record */
    LP_CODE_FUNCTION = 2, /* struct lp_code_record */
    LP_CODE_SUMS = 3,     /* struct lp_sums_record */
    LP_CODE_REGION = 4    /* struct lp_region_record */
};

/* A source file, or what stands for one.  The text is kept only where it cannot be read again (notebook cells, exec);
 * else it is read from `path` and believed if its hash agrees. */
struct lp_file_record {
    uint32_t bytes, kind;
    lp_ref path;           /*  8  co_filename as the program had it, made absolute where it names a file */
    uint32_t flags;        /* 12  enum lp_file_flags */
    uint64_t source_hash;  /* 16  lp__hash_bytes of the text; 0: there was none to be had */
    uint64_t source_bytes; /* 24 */
    uint32_t text_bytes;   /* 32  of the text that follows, 0: not kept */
    uint32_t reserved;     /* 36 */
    /* text */
};
enum lp_file_flags { LP_FILE_NO_SOURCE = 1u << 0 };

/* A code object: its identity, and raw what the rows of its statements are worked out from.  `hash` covers all of the
 * record but `file` and `name`: equal hashes in equal files are one function's code. */
struct lp_code_record {
    uint32_t bytes, kind;
    lp_ref file;                                      /*  8 */
    lp_ref name;                                      /* 12  qualified name */
    uint32_t first_line;                              /* 16 */
    uint32_t flags;                                   /* 20  co_flags */
    uint32_t python;                                  /* 24  PY_VERSION_HEX of the interpreter */
    uint32_t slot_count;                              /* 28  places that can send a line event */
    uint32_t branch_count;                            /* 32  conditional jumps that are counted, two counters each */
    uint32_t code_bytes, lines_bytes, handlers_bytes; /* 36  co_code, co_linetable, co_exceptiontable */
    uint64_t hash;                                    /* 48 */
    /* struct lp_place[slot_count], struct lp_place[branch_count], the three tables, padding to 8 */
};
struct lp_place {
    uint32_t offset; /* of the instruction, in code units, prefixes included */
    uint32_t line;   /* 0: none */
};

/* How many executions of statements the counters of one code object stand for, once somebody has worked it out:
 * rows[row_count], then the terms of each row in turn.  Counter numbers: 0 … slot_count-1 the line events of a slot,
 * slot_count the calls, then two for each counted branch: not taken, taken. */
struct lp_sums_record {
    uint32_t bytes, kind;
    uint64_t code_hash;   /*  8  of the lp_code_record */
    uint64_t source_hash; /* 16  of the file it was worked out from */
    uint32_t row_count;   /* 24 */
    uint32_t term_count;  /* 28  of all rows */
    uint32_t pass;        /* 32  version of the way it was worked out */
    uint32_t reserved;    /* 36 */
    /* struct lp_sums_row[row_count], struct lp_sums_term[term_count] */
};
enum lp_row_mark {
    LP_ROW_EXACT = 0,
    LP_ROW_EVENTS = 1, /* not provable: show line events instead */
    LP_ROW_PART = 2    /* a row within a statement that starts on an earlier one */
};
struct lp_sums_row {
    uint32_t line;
    uint16_t mark; /* enum lp_row_mark */
    uint16_t term_count;
};
struct lp_sums_term {
    int32_t factor;
    uint32_t counter;
};

/* A region by its path: with profiler.region("a"): with profiler.region("b"): */
struct lp_region_record {
    uint32_t bytes, kind;
    lp_ref parent; /*  8  an outer region's record; 0 none */
    lp_ref name;   /* 12 */
};

/* LP_SEGMENT_LINES: one table per thread, code object and region.  Every word is written by the owner thread. */
struct lp_line_table_record {
    uint32_t bytes;        /*  0  of the whole record */
    uint32_t slot_count;   /*  4 */
    lp_ref code;           /*  8  struct lp_code_record */
    lp_ref region;         /* 12  struct lp_region_record; 0: outside any region */
    uint64_t calls;        /* 16  entries of the function (not resumptions) */
    uint64_t wall;         /* 24  inclusive time of outermost calls, ticks */
    uint32_t branch_count; /* 32 */
    uint32_t active;       /* 36  activations on the stack: a call that is not the outermost adds nothing to `wall` */
    /* struct lp_line_slot[slot_count + 1], uint64_t branches[branch_count][2] */
};
/* One place.  The last slot of a table is the function's entry: what runs before its first line.
 *   self = own[0] + own[1]      inclusive = own[0] + below */
struct lp_line_slot {
    uint64_t events;    /*  0  line events */
    uint64_t own[2];    /*  8  ticks here; [1]: while an outer activation is in a call from this very place */
    uint64_t below;     /* 24  ticks of functions called from here, outermost activations only */
    uint64_t suspended; /* 32  ticks its frame was suspended here */
    uint32_t open;      /* 40  calls from here that are running */
    lp_ref edges;       /* 44  first struct lp_edge_record */
};
static_assert(sizeof(struct lp_line_slot) == 48, "");
#define LP_LINE_ENTRY(slot_count) (slot_count) /* index of the entry slot */

/* LP_SEGMENT_EDGES: who called whom from where.  One owner thread. */
struct lp_edge_record {
    lp_ref next;    /*  0  of the same slot */
    lp_ref code;    /*  4  the callee's lp_code_record */
    uint64_t calls; /*  8 */
    uint64_t wall;  /* 16  ticks, calls that are the caller slot's outermost only */
};
static_assert(sizeof(struct lp_edge_record) == 24, "");

/* LP_SEGMENT_REGIONS: entries and time of one region on one thread. */
struct lp_region_entry_record {
    lp_ref region;
    uint32_t open;
    uint64_t entries;
    uint64_t wall;      /* ticks */
    uint64_t start_sum; /* of the open ones */
};

#endif
