/* What the files of line tables share and nobody else needs. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_LINES_INTERNAL_H
#define LP_COLLECT_LINES_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "collect/internal.h"
#include "collect/line_hot.h"
#include "collect/lines.h"
#include "collect/name.h"

/* A source file of a session. */
struct lp_line_file {
    lp_name_id path;
    uint64_t source_hash, source_bytes;
    uint32_t flags;
    char *text; /* kept for the store; NULL: it can be read again */
    size_t text_bytes;
    lp_ref ref;
    uint32_t generation;
};

/* A region by its path from the outermost one. */
struct lp_line_region {
    uint32_t parent; /* number, 0: none */
    lp_name_id name;
    lp_ref ref;
    uint32_t generation;
};

/* An activation that stands still. */
struct lp_line_pause {
    const void *code_object;
    struct lp_line_code *code;
    uint64_t since;
    uint32_t slot;
    uint32_t region; /* of its own, opened in this very activation; UINT32_MAX none */
    uint32_t next_free;
};
#define LP_LINE_PAUSES 65536u

struct lp_line_session {
    struct lp_recording *recording; /* a reference */
    const struct lp_line_host *host;
    void *data; /* the host's */
    bool active;
    uint32_t generation;          /* of the process whose store the refs and threads belong to */
    struct lp_line_session *next; /* active ones */
    struct lp_line_file *files;   /* by number - 1 */
    size_t file_count, file_cap;
    struct lp_map file_of_path; /* registered name -> number */
    struct lp_line_code **codes;
    size_t code_count, code_cap;
    struct lp_map code_of_identity; /* hash -> index of the first */
    struct lp_line_region *regions; /* by number; [0] stands for outside any */
    size_t region_count, region_cap;
    struct lp_map region_of_path; /* hash(parent, name) -> number */
    struct lp_map suspended;      /* activation -> index in `pauses` + 1 */
    struct lp_line_pause *pauses;
    uint32_t pause_cap, free_pause; /* index + 1 */
    struct lp_line_thread *threads;
    struct lp_segment_header *segment; /* CODE */
};

/* -- line_store.c ------------------------------------------------------------------------------------------------ */

/* The refs of what tables refer to, written into the present store when they are not there yet; 0 without space. */
lp_ref lp__line_code_ref(struct lp_line_session *session, struct lp_line_code *code);
lp_ref lp__line_region_ref(struct lp_line_session *session, uint32_t region);
/* A table of this thread; NULL without space. */
struct lp_line_table_record *lp__line_table_new(struct lp_line_thread *thread, struct lp_line_code *code,
                                                uint32_t region);
struct lp_edge_record *lp__line_edge_new(struct lp_line_thread *thread, struct lp_line_slot *caller, lp_ref callee);
struct lp_region_entry_record *lp__line_entry_new(struct lp_line_thread *thread, uint32_t region);
bool lp__line_append_sums(struct lp_line_session *session, const struct lp_line_code *code, const void *record,
                          size_t bytes);

static inline uint64_t *lp__line_branches(struct lp_line_table_record *table)
{
    return (uint64_t *)(void *)(lp__line_slots(table) + table->slot_count + 1);
}

/* -- line_code.c ------------------------------------------------------------------------------------------------- */

#define LP_LINE_REGIONS 65536u /* of a session; more count for the outer one */

/* The region's number, made or found; the parent's when there can be no more. */
uint32_t lp__line_region(struct lp_line_session *session, uint32_t parent, lp_name_id name);
bool lp__line_tables_init(struct lp_line_session *session);
void lp__line_tables_release(struct lp_line_session *session);

/* -- line_thread.c ----------------------------------------------------------------------------------------------- */

/* Guards the list of active sessions, and each session's list of threads: a thread may end without the host's lock. */
void lp__lines_lock(void);
void lp__lines_unlock(void);
/* In the child of a fork, once: everything of the parent's is forgotten.  Any slow path. */
void lp__lines_check_fork(struct lp_line_session *session);
void lp__lines_activate(struct lp_line_session *session);
void lp__lines_deactivate(struct lp_line_session *session);
/* Calls `visit` on every thread of the session that has a tenant. */
void lp__line_threads_each(struct lp_line_session *session, void (*visit)(struct lp_line_thread *thread, uint64_t now));
void lp__line_threads_free(struct lp_line_session *session);

/* -- line_stack.c ------------------------------------------------------------------------------------------------ */

/* Leaves and enters again all frames of a thread: brings the time of open calls into the store. */
void lp__line_settle(struct lp_line_thread *thread, uint64_t now);
/* Zeroes what was counted; nothing may be open but what is settled. */
void lp__line_zero(struct lp_line_thread *thread, uint64_t now);
/* Leaves all frames for good. */
void lp__line_unwind(struct lp_line_thread *thread, uint64_t now);
/* Moves a frame to another view; the present place is charged up to now already. */
void lp__line_move(struct lp_line_thread *thread, struct lp_line_frame *frame, struct lp_line_view *view);
/* The table of a code object in a view, made when it is not there; NULL without space. */
struct lp_line_table_record *lp__line_table(struct lp_line_thread *thread, struct lp_line_view *view,
                                            struct lp_line_code *code);
struct lp_line_view *lp__line_view(struct lp_line_thread *thread, uint32_t region);

#endif
