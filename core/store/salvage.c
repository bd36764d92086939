/* Looks through the caller's folder in tmpfs, under a lock, so that two who come at once do not fetch the same file.
 * The copy is written beside and renamed before the live file is removed: a kill in between costs nothing. */
// SPDX-License-Identifier: MIT
#include "store/salvage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "os/clock.h"
#include "os/console.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/host.h"
#include "store/backing.h"
#include "store/layout.h"
#include "store/reader.h"
#include "store/rundir.h"

#define PREFIX_BYTES  17u
#define LOCK_WAIT_MS  2000
#define ARENA_CEILING ((size_t)16 << 20)
#define WEEK_NS       (7 * INT64_C(86400) * 1000000000)
/* File systems note births by a clock that ticks every few milliseconds. */
#define BIRTH_SLACK_NS INT64_C(1000000000)

struct salvage {
    const char *run_dir;
    bool reader;
    int folder;       /* in tmpfs */
    int workers;      /* in the run directory; negative before it is needed */
    bool share_group; /* the run directory is open to its group */
    char prefix[18];  /* of the live files of this run directory */
    int64_t born_ns;  /* when the run directory was made; 0 unknown */
    uint8_t boot_id[16];
    uint64_t pid_namespace;
    bool locked;
    unsigned count;
};

static pid_t pid_of(const char *name)
{
    return (pid_t)lp__rundir_pid_of(name);
}

static bool is_of_here(const struct salvage *salvage, const struct lp_file_header *header)
{
    static const uint8_t unknown[16];
    return memcmp(header->boot_id, unknown, sizeof unknown) != 0 &&
           memcmp(header->boot_id, salvage->boot_id, sizeof unknown) == 0 &&
           header->pid_namespace == salvage->pid_namespace;
}

/* Dead, or another program by exec.  With /proc hidden nothing can be told. */
static bool is_gone(const struct salvage *salvage, const struct lp_file_header *header,
                    const struct lp_file_facts *facts)
{
    if (!is_of_here(salvage, header) || header->pid_start == 0) return false;
    if (lp__process_start(lp__process_id()) == 0) return false;
    if (lp__process_start((pid_t)header->pid) != header->pid_start) return true;
    return lp__process_maps_file((pid_t)header->pid, (dev_t)facts->device, (ino_t)facts->inode) == 0;
}

/* Opens workers/<host>, once. */
static bool open_workers(struct salvage *salvage)
{
    struct lp_host_facts host;
    if (salvage->workers >= 0) return true;
    lp__host_facts(&host);
    salvage->workers = lp__rundir_open_workers(salvage->run_dir, host.name, salvage->share_group, NULL, NULL);
    return salvage->workers >= 0;
}

enum { LEAVE, REMOVE, BRING_HOME };

/* What is to become of a live file; `len` is what of it is in use. */
static int judge(const struct salvage *salvage, const char *name, const void *bytes, uint64_t *len,
                 const struct lp_file_facts *facts)
{
    struct lp_image image;
    struct lp_arena arena;
    int rc;
    lp__arena_init(&arena, ARENA_CEILING);
    rc = lp__image_index(&image, bytes, *len, &arena, NULL);
    lp__arena_release(&arena);
    if (rc || image.header_damaged) return LEAVE;
    if (image.header.state == LP_STATE_NOTHING) return lp__process_start(pid_of(name)) ? LEAVE : REMOVE;
    if (!is_gone(salvage, &image.header, facts) && image.header.state != LP_STATE_FINISHED) return LEAVE;
    /* of a directory that is no more, and whose inode was used again */
    if ((int64_t)image.header.created_real_ns + BIRTH_SLACK_NS < salvage->born_ns) return REMOVE;
    if (image.header.tiled_bytes >= sizeof image.header && image.header.tiled_bytes < *len)
        *len = image.header.tiled_bytes;
    return BRING_HOME;
}

static void handle(struct salvage *salvage, const char *live, int fd, void *bytes, uint64_t size)
{
    const char *name = live + PREFIX_BYTES;
    struct lp_file_facts facts;
    int64_t got = lp__pread_full(fd, bytes, (size_t)size, 0);
    uint64_t len = got < 0 ? 0 : (uint64_t)got & ~UINT64_C(7);
    int verdict = len && lp__file_facts(fd, &facts) ? judge(salvage, name, bytes, &len, &facts) : LEAVE;
    if (verdict == BRING_HOME) {
        if (!open_workers(salvage)) return;
        if (lp__backing_replace(salvage->workers, name, bytes, len, salvage->share_group)) return;
        salvage->count++;
    }
    if (verdict != LEAVE) lp__file_remove_at(salvage->folder, live);
}

static void visit_own(struct salvage *salvage, const char *live)
{
    uint64_t size = 0;
    uid_t owner;
    void *bytes;
    int fd = lp__open_regular_at(salvage->folder, live, &size, &owner, NULL);
    if (fd < 0) return;
    bytes = owner == lp__effective_user() && size && size <= LP_MAX_FILE_BYTES ? lp__alloc(size) : NULL;
    if (bytes) handle(salvage, live, fd, bytes, size);
    lp__free(bytes);
    lp__close_fd(fd);
}

/* Left for another directory, which perhaps is gone too. */
static void visit_other(const struct salvage *salvage, const char *live)
{
    struct lp_file_facts facts;
    if (!lp__file_facts_at(salvage->folder, live, &facts)) return;
    if ((int64_t)lp__real_ns() - facts.mtime_ns < WEEK_NS) return;
    if (lp__process_start(pid_of(live + PREFIX_BYTES)) == 0) lp__file_remove_at(salvage->folder, live);
}

static int visit(const char *live, void *arg)
{
    struct salvage *salvage = arg;
    bool own = strncmp(live, salvage->prefix, PREFIX_BYTES) == 0;
    if (strlen(live) <= PREFIX_BYTES || live[PREFIX_BYTES - 1] != '.') return 0;
    if (!lp__rundir_is_worker_name(live + PREFIX_BYTES) || (!own && salvage->reader)) return 0;
    if (!salvage->locked && !lp__dir_lock(salvage->folder, LOCK_WAIT_MS)) return 1;
    salvage->locked = true; /* until the folder is closed */
    if (own)
        visit_own(salvage, live);
    else
        visit_other(salvage, live);
    return 0;
}

/* May anything be changed in the run directory, and when was it made? */
static bool look_at_run_dir(struct salvage *salvage)
{
    struct lp_file_facts facts;
    int fd = lp__dir_open_at(LP_DIR_CWD, salvage->run_dir, true, NULL);
    bool known = fd >= 0 && lp__file_facts(fd, &facts);
    if (known) salvage->born_ns = lp__file_birth_ns(fd);
    lp__close_fd(fd);
    if (!known || !lp__backing_shm_prefix(salvage->run_dir, salvage->prefix)) return false;
    salvage->share_group = (facts.mode & 0070) != 0;
    return !salvage->reader || facts.owner == lp__effective_user();
}

unsigned lp__salvage(const char *run_dir, bool reader)
{
    struct salvage salvage = {.run_dir = run_dir, .reader = reader, .workers = -1};
    char folder[64];
    int saved = errno;
    salvage.folder = lp__backing_shm_directory(folder, false);
    if (salvage.folder >= 0 && look_at_run_dir(&salvage)) {
        lp__host_identity(salvage.boot_id, &salvage.pid_namespace);
        /* 1: somebody else is at it */
        if (lp__dir_each(salvage.folder, visit, &salvage) < 0) salvage.count = 0;
        lp__close_fd(salvage.workers);
    }
    lp__close_fd(salvage.folder);
    errno = saved;
    return salvage.count;
}
