/* What the files of collect/ share and nobody else needs. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_INTERNAL_H
#define LP_COLLECT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "collect/recording.h"
#include "collect/thread.h"
#include "store/writer.h"

#define LP_SCOPES_PER_BLOCK 64

/* Scopes are never given back to the system: a handle of a recording that is long gone can still be asked whether it
 * is stale. */
struct lp_scope_block {
    struct lp_scope_block *next;
    struct lp_scope scopes[LP_SCOPES_PER_BLOCK];
};

struct lp_kept_fact {
    char *key, *value;
    size_t len;
};

struct lp_inherited {
    struct lp_inherited *next;
    struct lp_arena arena;
    struct lp_thread_slab *slabs;
};

struct lp_recording {
    pthread_mutex_t lock;      /* everything below that is not said otherwise; taken before the store's lock */
    pthread_mutex_t copy_lock; /* one copy at a time; taken before `lock`, never inside */
    atomic_uint references;
    atomic_bool closed;
    bool store_made;
    bool no_cpu, thread_names, strict_names, share_group;
    lp_name_id (*thread_name)(void);
    enum lp_store_choice choice;
    uint32_t copy_interval_ms, max_paths;
    struct lp_store store;
    struct lp_arena arena;          /* nodes; freed with the recording */
    struct lp_inherited *inherited; /* the same of the parents', which the host's objects may still point at */
    struct lp_scope_block *scopes;
    struct lp_thread *threads;      /* all states, by `next` */
    struct lp_thread *free_threads; /* without a tenant, by `next_free` */
    struct lp_thread_slab *slabs;
    struct lp_map paths;  /* path hash -> 1: distinct paths of the process */
    struct lp_map shapes; /* shape hash -> names seen */
    lp_ref *name_refs;    /* by name id: its record in this store, 0 not written yet */
    uint32_t name_cap;
    struct lp_map owners; /* owner table: the host's lock */
    struct lp_owner *owner_list, *free_owners;
    uint64_t owner_serial;
    uint32_t generation;               /* process generation the store belongs to */
    atomic_ullong lost[LP_DROP_COUNT]; /* dropped where no thread state was at hand, not yet in the store */
    struct lp_thread_record *losses;   /* the store's place for it; NULL before it is needed */
    uint64_t copied_ns;                /* background thread: when the last copy was made */
    struct lp_recording *next;         /* process list, with its lock */
    uint64_t serial;                   /* in it; counts up */
    char *run_dir, *role, *attempt, *attempt_source, *python;
    size_t role_len;
    struct lp_kept_fact *facts; /* repeated into the child's file after a fork */
    size_t fact_count;
    char host[64];
    uint64_t host_entry_ps; /* what the host adds to an entry */
};

static inline struct lp_map *lp__recording_owners(struct lp_recording *recording)
{
    return &recording->owners;
}
static inline struct lp_owner **lp__recording_owner_list(struct lp_recording *recording)
{
    return &recording->owner_list;
}
static inline uint64_t lp__recording_next_owner_serial(struct lp_recording *recording)
{
    return ++recording->owner_serial;
}

char *lp__copy_bytes(const char *bytes, size_t len); /* on the heap, a NUL behind; NULL without memory */

/* Zeroed memory that lives as long as the recording's present process; NULL without. Takes the lock. */
void *lp__recording_block(struct lp_recording *recording, size_t bytes);

/* The name's record in the store, written on first use; 0 without space.  Takes the lock. */
lp_ref lp__recording_name_ref(struct lp_recording *recording, lp_name_id name);
/* Counts a distinct path; false when that would pass the ceiling.  Takes the lock. */
bool lp__recording_admit_path(struct lp_recording *recording, uint64_t path);

/* Makes the store when it is not there yet.  The lock is held. */
bool lp__recording_make_store(struct lp_recording *recording);

void lp__owner_forget_key(struct lp_owner *owner);
void lp__owner_free(struct lp_owner *owner);
/* Ends everything on the stack of a thread that goes; how many. */
uint32_t lp__stack_end_all(struct lp_thread *thread, uint64_t now, struct lp_cpu_time cpu);

/* A zeroed thread state in memory that a fork wipes; NULL without memory.  The recording's lock is held. */
struct lp_thread *lp__thread_slab_take(struct lp_recording *recording);
void lp__thread_slabs_free(struct lp_thread_slab *slabs);
unsigned lp__thread_slab_count(const struct lp_recording *recording); /* tests */
/* Lets go of the calling thread's states in recordings that were closed: the last one to do so frees the recording. */
void lp__thread_leave_closed(void);

/* -- process-wide (process.c) ------------------------------------------------------------------------------------ */

void lp__process_init(void); /* before anything else here; any number of times */
void lp__process_add(struct lp_recording *recording);
void lp__process_remove(struct lp_recording *recording);
/* Takes a reference if this is an open recording; the pointer may be stale. */
bool lp__process_retain(struct lp_recording *recording);
/* Called on every slow path: in the child of a fork, makes everything ready for a new life, once. */
void lp__process_check_fork(void);
void lp__background_start(void); /* if it is not running and a recording is open */
/* No lock is held during a visit. */
void lp__process_each(void (*visit)(struct lp_recording *recording, void *arg), void *arg);

/* A block of scopes for this recording: one that another has left, or new.  NULL without memory. */
struct lp_scope_block *lp__process_take_scopes(struct lp_recording *recording);
void lp__process_leave_scopes(struct lp_recording *recording);

/* recording.c, for process.c */
void lp__recording_after_fork(struct lp_recording *recording);
void lp__recording_beat(struct lp_recording *recording, uint64_t own_cpu_ns);
bool lp__recording_try_retain(struct lp_recording *recording); /* false when its last reference is gone */
/* Counts what was dropped where there is no thread state. */
void lp__recording_lost(struct lp_recording *recording, enum lp_drop reason);

#endif
