/* The writing side of a worker file: a mapped file that grows without moving.
 *
 * Address space for the ceiling is reserved once; the file is mapped into its beginning piece by piece, so a file
 * offset and a pointer differ by a constant for the life of the store.  Blocks are allocated (posix_fallocate) before
 * they are mapped: a full disk is a refusal here, never a SIGBUS in the middle of a store.  No descriptor stays open.
 *
 * Growth, names, thread records and facts are guarded by `lock`; the records inside a thread's segments are written by
 * that thread alone, without it.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_WRITER_H
#define LP_STORE_WRITER_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/layout.h"

enum lp_store_choice {
    LP_STORE_AUTO,
    LP_STORE_RUN_DIR,
    LP_STORE_SHM,
    LP_STORE_MEMORY,
    LP_STORE_PRIVATE /* memory that is never copied: nothing is made in the run directory */
};

struct lp_store_options {
    const char *run_dir; /* absolute; must live as long as the store */
    const char *host;    /* folder name below workers/; the same */
    const char *attempt; /* safe for a file name */
    enum lp_store_choice choice;
    bool share_group;
    bool no_cpu;               /* the header then names LP_CPU_NONE */
    uint32_t copy_interval_ms; /* 0: 1000, on a network file system 10,000 */
    uint32_t pid;
    uint64_t pid_start;
    uint8_t boot_id[16];
    uint64_t pid_namespace;
    uint64_t ceiling_bytes; /* 0: 256 MiB */
};

struct lp_store {
    pthread_mutex_t lock;
    uint8_t *base;                                             /* NULL: none */
    uint64_t reserved;                                         /* bytes of address space: how far the store may grow */
    uint64_t mapped;                                           /* bytes usable, = header->file_bytes */
    struct lp_segment_header *facts, *clock, *names, *threads; /* the process's own current segments */
    enum lp_store_place place;
    const char *run_dir, *host;
    char name[192];           /* of the file, in whichever directory */
    char path[PATH_MAX];      /* of the file in the run directory; "" when that could not be made */
    char live_path[PATH_MAX]; /* of the mapped file: the same, or in tmpfs; "" in memory */
    dev_t device;
    ino_t inode;
    bool own_folder;
    bool share_group;
    bool stray;   /* in tmpfs without a run directory by which it could be found again */
    bool insists; /* on the run directory, whatever its file system */
    bool is_private;
    uint32_t thread_count;
    uint32_t copy_interval_ms;
    uint64_t clock_spacing_ns;
    uint64_t clock_last_ns;
    bool clock_is_early;         /* the last pair was taken before it was due */
    int ceiling_errno;           /* why it may grow no further than `reserved`: EFBIG, or what the system said */
    uint64_t grow_refused_at;    /* mono ns of the last refusal: not tried again within a second */
    uint64_t too_big_at;         /* mono ns when a growth beyond the ceiling was counted last */
    const char *why_not_run_dir; /* static text, "" */
};

/* Makes the file (or its stand-in) with header and the process's segments; the magic is written.  Falls back from run
 * directory to tmpfs to memory; LP_ERR_NO_MEMORY only when not even that is to be had. */
LP_WARN_UNUSED int lp__store_open(struct lp_store *store, const struct lp_store_options *options, struct lp_error *err);
/* Unmaps.  The file stays. */
void lp__store_release(struct lp_store *store);
/* In the child of a fork: forgets the parent's file without touching it, and makes the lock anew. */
void lp__store_abandon(struct lp_store *store);

static inline struct lp_file_header *lp__store_header(const struct lp_store *store)
{
    return (struct lp_file_header *)(void *)store->base;
}
static inline lp_ref lp__store_ref(const struct lp_store *store, const void *record)
{
    return (lp_ref)((uint64_t)((const uint8_t *)record - store->base) / 8);
}
static inline void *lp__store_at(const struct lp_store *store, lp_ref ref)
{
    return store->base + (uint64_t)ref * 8;
}

/* A new segment with room for `payload` bytes at least, zeroed; NULL when the store cannot grow.  Takes the lock. */
struct lp_segment_header *lp__store_segment(struct lp_store *store, enum lp_segment_type type, uint32_t thread,
                                            uint32_t record_bytes, uint64_t payload);

/* The next free record of a segment, or NULL when it is full; the caller fills it and then calls commit. */
static inline void *lp__segment_next(struct lp_segment_header *segment, uint64_t bytes)
{
    if (segment == NULL || segment->used + bytes > segment->capacity - sizeof *segment) return NULL;
    return (uint8_t *)(segment + 1) + segment->used;
}
static inline void lp__segment_commit(struct lp_segment_header *segment, uint64_t bytes)
{
    __atomic_store_n(&segment->used, segment->used + bytes, __ATOMIC_RELEASE);
}

lp_ref lp__store_name(struct lp_store *store, const char *text,
                      size_t len);                                        /* appends; 0 without space; takes the lock */
struct lp_thread_record *lp__store_thread_record(struct lp_store *store); /* NULL without space; takes the lock */
void lp__store_fact(struct lp_store *store, const char *key, const char *value, size_t len); /* lost without space */

/* Background thread (or close): heartbeat, and a clock pair when one is due. */
void lp__store_heartbeat(struct lp_store *store, bool force_pair);
/* Where the store is not mapped in the run directory: writes the copy there.  0 or the error, counted in the header.
 * One thread at a time; others may record meanwhile. */
int lp__store_copy_out(struct lp_store *store);
/* Last heartbeat, the mark, last copy.  A live file in tmpfs is removed once that copy is complete; it stays mapped. */
void lp__store_finish(struct lp_store *store);
/* Copies bytes that other threads may be writing; each 8-byte word comes out whole.  `len` is a multiple of 8. */
void lp__store_read_live(void *into, const void *from, uint64_t len);

#endif
