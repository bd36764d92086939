/* Which half-written copies nobody is at work on.  A copy has no live words that could tell: its header does when it
 * got so far, else its name and age.  If a writer should be wronged, its renaming fails, it counts that and copies
 * again. */
// SPDX-License-Identifier: MIT
#include "store/sweep.h"

#include <string.h>

#include "os/clock.h"
#include "os/console.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/host.h"
#include "os/remove.h"
#include "store/reader.h"

#define HOUR_NS   (INT64_C(3600) * 1000000000)
#define MINUTE_NS (INT64_C(60) * 1000000000)

struct sweep {
    int dir_fd;
    int64_t now_ns;
    uint8_t boot_id[16];
    uint64_t pid_namespace;
    char folder[104]; /* of this host */
};

/* The header that the copy begins with; false when it did not get so far. */
static bool read_header(const struct sweep *sweep, const struct lp_rundir_file *file, struct lp_file_header *out)
{
    struct lp_image image;
    struct lp_arena arena;
    _Alignas(8) uint8_t bytes[sizeof *out];
    int fd = lp__open_regular_at(sweep->dir_fd, file->path, NULL, NULL, NULL);
    int64_t got = fd < 0 ? -1 : lp__pread_full(fd, bytes, sizeof bytes, 0);
    lp__close_fd(fd);
    if (got < (int64_t)sizeof bytes) return false;
    lp__arena_init(&arena, 1 << 16);
    int rc = lp__image_index(&image, bytes, sizeof bytes, &arena, NULL);
    lp__arena_release(&arena);
    *out = image.header;
    return !rc && !image.header_damaged;
}

static bool is_of_here(const struct sweep *sweep, const struct lp_file_header *header)
{
    static const uint8_t unknown[16];
    return memcmp(header->boot_id, unknown, sizeof unknown) != 0 &&
           memcmp(header->boot_id, sweep->boot_id, sizeof unknown) == 0 &&
           header->pid_namespace == sweep->pid_namespace;
}

/* With /proc hidden nothing can be told. */
static bool is_left(const struct sweep *sweep, const struct lp_rundir_file *file)
{
    struct lp_file_header header;
    const char *name = strrchr(file->path, '/');
    int64_t age = sweep->now_ns - file->mtime_ns;
    if (age > HOUR_NS) return true;
    if (lp__process_start(lp__process_id()) == 0) return false;
    if (read_header(sweep, file, &header) && header.pid_start)
        return is_of_here(sweep, &header) && lp__process_start((pid_t)header.pid) != header.pid_start;
    return age > MINUTE_NS && name && strcmp(file->host, sweep->folder) == 0 &&
           lp__process_start((pid_t)lp__rundir_pid_of(name + 1)) == 0;
}

static bool sweep_one(const struct sweep *sweep, const struct lp_rundir_file *file, bool dry)
{
    if (file->refused || file->owner != lp__effective_user() || !is_left(sweep, file)) return false;
    return dry || lp__remove_file_at(sweep->dir_fd, file->path, file->device, file->inode, NULL) == LP_OK;
}

size_t lp__sweep_copies(int dir_fd, const struct lp_rundir_list *list, bool dry)
{
    struct sweep sweep = {.dir_fd = dir_fd, .now_ns = (int64_t)lp__real_ns()};
    struct lp_host_facts host;
    size_t swept = 0;
    if (!list->copy_count) return 0;
    lp__host_identity(sweep.boot_id, &sweep.pid_namespace);
    lp__host_facts(&host);
    lp__rundir_safe_name(sweep.folder, host.name);
    for (size_t i = 0; i < list->copy_count; i++)
        swept += sweep_one(&sweep, &list->copies[i], dry);
    return swept;
}
