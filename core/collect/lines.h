/* Line tables: how often each place of a function ran and where the time went, per thread, in the mapped store.
 *
 * A *session* is one line profiler: it records into a recording and knows its code objects.  Each OS thread has one
 * *line thread* per active session, with a shadow stack of the watched activations.  The host (the extension) tells
 * what the interpreter does: a function is entered, a line begins, a function is left.  It says who runs by two
 * addresses, of the activation (frame) and of the code object; nothing here looks behind them.
 *
 * Time between two events of a thread belongs to the place that ran: `last` is up to when everything is charged.  A
 * function's time is added to the place that called it when it is left; calls that are not the outermost ones from
 * that very place only count (`open`), so recursion is counted once.
 *
 *     base ──► frame ──► frame ──► frame   top: runs
 *              │ place that called  ▲
 *              └────────────────────┘ `caller` of the next one
 *
 * A *view* is the set of tables of one region on one thread.  Each frame has the view it runs in: callees inherit it,
 * a region changes that of its own frame only, so a boundary costs the same however many functions there are, and what
 * is charged in all views together is exactly what was measured.
 *
 * The hot functions are called with the host's lock held (the interpreter's), which also lets another thread settle a
 * thread's frames when a session stops.  They allocate only for what was never met.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_LINES_H
#define LP_COLLECT_LINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "collect/code_slots.h"
#include "collect/recording.h"
#include "os/clock.h"
#include "store/layout.h"

#define LP_LINE_DEPTH 8192u /* activations of one thread; deeper ones are charged to the deepest */

struct lp_line_session;

/* A code object of a session.  Code objects with the same identity and the same instructions share one. */
struct lp_line_code {
    uint32_t index;             /* in session->codes */
    struct lp_code_slots slots; /* `slot_of` gives the entry slot for a unit that is no place */
    bool is_generator;
    bool has_sums;
    lp_ref ref;          /* its record in the store of `generation` */
    uint32_t generation; /* of the process */
    uint64_t file;       /* number of its file in the session */
    uint32_t name;       /* qualified name, a registered one */
    struct lp_code_record *image;
    struct lp_line_code *same; /* next with this identity */
};

/* The tables of one thread in one region, by code index; NULL where the thread has not been there. */
struct lp_line_view {
    struct lp_line_table_record **tables;
    uint32_t count;  /* length of `tables` */
    uint32_t region; /* number of the region in the session; 0: outside any */
    struct lp_region_entry_record *entry;
    struct lp_line_view *next; /* of the thread */
};

struct lp_line_frame {
    const void *frame;       /* the host's activation; NULL in the base frame */
    const void *code_object; /* the host's code object */
    const uint16_t *map;
    struct lp_line_slot *slots;   /* of the table it runs in */
    struct lp_line_slot *current; /* the place where it is */
    struct lp_line_slot *caller;  /* the place that called */
    uint64_t start;
    struct lp_line_table_record *entered; /* the table it was entered in: counts the activation */
    struct lp_edge_record *edge;          /* of the call; may be NULL */
    struct lp_line_view *view;
    struct lp_line_code *code;
};

struct lp_line_thread {
    struct lp_line_frame *top;
    uint64_t last;                     /* everything up to here is charged */
    const struct lp_line_frame *fresh; /* has been entered at `last`: its first line needs no clock */
    uint64_t settled;                  /* when the time of open calls was last brought into the store */
    uint64_t settle_every;             /* ticks */
    uint8_t *base;                     /* where the store's bytes begin */
    struct lp_line_thread *next_of_tenant;
    struct lp_line_session *session;
    void *data;                           /* the host's, of the session */
    struct lp_line_frame *frames, *limit; /* frames[0] is the base; limit: one behind the last there is room for */
    struct lp_line_slot outside;          /* stands for whoever called the bottom frame; not in the store */
    struct lp_line_view *views;           /* the last one is that outside any region */
    struct lp_thread *owner;              /* whose segments they are */
    struct lp_segment_cursor tables, edges, entries;
    struct lp_line_tenant *tenant; /* NULL: idle */
    struct lp_line_thread *next;   /* of the session */
};

/* What the calling OS thread has.  Lies in memory that a fork wipes. */
struct lp_line_tenant {
    uint64_t version; /* of the set of active sessions that `first` was made for; 0: none */
    struct lp_line_thread *first;
};
extern __thread struct lp_line_tenant *lp__tls_lines __attribute__((tls_model("initial-exec")));
extern _Atomic(uint64_t) lp__lines_version; /* changes when a session starts or stops; never 0 */

/* The calling thread's states, one per active session; NULL: none.  Hot. */
struct lp_line_thread *lp__lines_slow(void);
static inline struct lp_line_thread *lp__lines_here(void)
{
    struct lp_line_tenant *tenant = lp__tls_lines;
    if (__builtin_expect(tenant != NULL, 1) &&
        __builtin_expect(tenant->version == atomic_load_explicit(&lp__lines_version, memory_order_relaxed), 1))
        return tenant->first;
    return lp__lines_slow();
}

/* The same where that is known without making any; NULL: none, or not known. */
static inline struct lp_line_thread *lp__lines_peek(void)
{
    struct lp_line_tenant *tenant = lp__tls_lines;
    if (tenant == NULL || tenant->version != atomic_load_explicit(&lp__lines_version, memory_order_relaxed))
        return NULL;
    return tenant->first;
}

/* -- sessions ---------------------------------------------------------------------------------------------------- */

struct lp_line_host {
    /* The activation that called this one; NULL: none. */
    const void *(*caller)(const void *frame);
};

/* Takes a reference to the recording; `data` is the host's own.  NULL without memory. */
struct lp_line_session *lp__line_session_new(struct lp_recording *recording, const struct lp_line_host *host,
                                             void *data);
void lp__line_session_free(struct lp_line_session *session); /* stops it */
void lp__line_session_start(struct lp_line_session *session);
void lp__line_session_stop(struct lp_line_session *session); /* settles every thread's frames */
bool lp__line_session_is_active(const struct lp_line_session *session);
/* Brings everything that runs up to now into the store. */
void lp__line_session_settle(struct lp_line_session *session);
/* Forgets what was counted: tables are zeroed where they are. */
void lp__line_session_clear(struct lp_line_session *session);

/* A file by its path: its number, from 1; 0 without memory.  `text`: NULL where there is none to be had; it goes into
 * the store where `keep` says so. */
uint64_t lp__line_file(struct lp_line_session *session, struct lp_text path, const struct lp_text *text, bool keep);
uint64_t lp__line_file_find(struct lp_line_session *session, struct lp_text path); /* 0: not known yet */

/* The session's code object for these bytes, made or found.  NULL without memory or for bytes that are no code. */
struct lp_line_code *lp__line_code(struct lp_line_session *session, uint64_t file, struct lp_text name,
                                   const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes);
/* The sums of a code object, a complete lp_sums_record but for bytes, kind and hashes; appended to the store. */
void lp__line_sums(struct lp_line_session *session, struct lp_line_code *code, const void *record, size_t bytes);

/* -- regions ----------------------------------------------------------------------------------------------------- */

/* One entry of a region by the activation that is on top of the calling thread; ended with the same struct. */
struct lp_line_region_entry {
    struct lp_line_thread *thread; /* NULL: none, nothing is recorded */
    const void *frame;
    struct lp_line_view *before, *view;
    uint64_t start;
    uint32_t generation;
};
bool lp__line_region_enter(struct lp_line_session *session, lp_name_id name, struct lp_line_region_entry *entry);
void lp__line_region_end(struct lp_line_region_entry *entry);

/* -- what the host says ------------------------------------------------------------------------------------------ */

enum lp_line_entry { LP_LINE_STARTS, LP_LINE_GOES_ON, LP_LINE_IS_MET /* it runs already */ };
void lp__line_enter(struct lp_line_thread *thread, const void *frame, const void *code_object,
                    struct lp_line_code *code, uint64_t now, enum lp_line_entry how);
/* It ends, or is suspended (then `suspends`), whatever is on top of it.  Unknown ones are ignored. */
void lp__line_leave(struct lp_line_thread *thread, const void *frame, uint64_t now, bool suspends);
/* A line event of an activation that is not on top: what lies above it on the stack has ended unnoticed, or it was
 * never met.  Puts it on top. */
void lp__line_find(struct lp_line_thread *thread, const void *frame, const void *code_object, struct lp_line_code *code,
                   uint64_t now);
/* A counted jump of the activation on top, `unit` its place and `destination` where it went, in code units. */
void lp__line_branch(struct lp_line_thread *thread, const void *frame, uint32_t unit, uint32_t destination);

/* Hot: the first line of an activation that was entered a moment ago.  What lies between is the cost of hearing of
 * both, and goes to the line. */
static inline void lp__line_first(struct lp_line_thread *thread, struct lp_line_frame *top, uint32_t unit)
{
    struct lp_line_slot *slot = top->slots + top->map[unit];
    slot->events++;
    top->current = slot;
    thread->fresh = NULL;
}

/* Hot: line event of the activation on top, at code unit `unit` of its code. */
static inline void lp__line_event(struct lp_line_thread *thread, struct lp_line_frame *top, uint32_t unit, uint64_t now)
{
    struct lp_line_slot *at = top->current, *slot = top->slots + top->map[unit];
    at->own[at->open != 0] += now - thread->last;
    thread->last = now;
    slot->events++;
    top->current = slot;
}

#endif
