/* Files under a store.  Everything is opened, checked, used and closed at once: a daemon that closes all descriptors
 * finds none of ours, and growth reopens by name and compares device and inode before it maps. */
// SPDX-License-Identifier: MIT
#include "store/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "os/file.h"
#include "os/host.h"
#include "store/rundir.h"

#define COPY_INTERVAL_NETWORK_MS 10000u
#define COPY_CHUNK               65536u
#define UNRESERVED               "its file system does not reserve blocks for maps"

void lp__backing_choose_name(struct lp_store *store, const struct lp_store_options *options)
{
    uint8_t random[4];
    lp__random_bytes(random, sizeof random);
    snprintf(store->name, sizeof store->name, "%.100s.%u.%02x%02x%02x%02x%s", options->attempt, options->pid, random[0],
             random[1], random[2], random[3], LP_FILE_SUFFIX);
}

/* The directory's name from its descriptor; false when /proc is hidden or it is too long. */
static bool directory_path(int fd, char out[PATH_MAX])
{
    char link[64];
    ssize_t len;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    len = readlink(link, out, PATH_MAX - 1);
    if (len <= 0 || len >= PATH_MAX - 200) return false;
    out[len] = '\0';
    return true;
}

static int open_new(int directory, const char *name, bool share_group)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, fd;
    do
        fd = openat(directory, name, flags, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0 && share_group) (void)fchmod(fd, 0660); /* whatever the umask */
    return fd < 0 ? -errno : fd;
}

/* Opens workers/<host>; its name goes to `path`, "" when it cannot be told. */
static int workers_directory(struct lp_store *store, char path[PATH_MAX])
{
    struct lp_error err = {0};
    int fd = lp__rundir_open_workers(store->run_dir, store->host, store->share_group, &store->own_folder, &err);
    path[0] = '\0';
    if (fd < 0) return err.sys_errno ? -err.sys_errno : -EACCES;
    if (directory_path(fd, path) || store->own_folder) return fd;
    if (snprintf(path, PATH_MAX, "%s/workers/%s", store->run_dir, store->host) >= PATH_MAX - 200) path[0] = '\0';
    return fd;
}

static void set_path(char path[PATH_MAX], const char *directory, const char *name)
{
    path[0] = '\0';
    if (directory[0]) snprintf(path, PATH_MAX, "%.3800s/%.190s", directory, name);
}

static void remember_file(struct lp_store *store, int fd, const char *directory, const char *name)
{
    struct stat st;
    if (fstat(fd, &st) == 0) {
        store->device = st.st_dev;
        store->inode = st.st_ino;
    }
    set_path(store->live_path, directory, name);
}

/* Why the new file cannot be mapped; 0 when it can. */
static int judge_file_system(struct lp_store *store, const struct lp_store_options *options, int fd)
{
    const char *fs;
    enum lp_fs_kind kind = lp__fs_kind(fd, &fs);
    if (kind == LP_FS_MAPPABLE || store->insists) return 0;
    if (kind == LP_FS_NETWORK && options->copy_interval_ms == 0) store->copy_interval_ms = COPY_INTERVAL_NETWORK_MS;
    store->why_not_run_dir = UNRESERVED;
    return -EOPNOTSUPP;
}

static int create_in_run_dir(struct lp_store *store, const struct lp_store_options *options)
{
    char directory[PATH_MAX];
    int at = workers_directory(store, directory), fd, rc = -ENAMETOOLONG;
    store->why_not_run_dir = "the run directory cannot be made or written";
    if (at < 0) return at;
    fd = directory[0] ? open_new(at, store->name, options->share_group) : -ENAMETOOLONG;
    if (fd >= 0) {
        rc = judge_file_system(store, options, fd);
        if (rc) unlinkat(at, store->name, 0);
        remember_file(store, fd, directory, store->name);
        close(fd);
    }
    close(at);
    if (fd < 0 || rc) return fd < 0 ? fd : rc;
    memcpy(store->path, store->live_path, sizeof store->path);
    store->why_not_run_dir = "";
    return 0;
}

/* -- tmpfs ------------------------------------------------------------------------------------------------------- */

int lp__backing_shm_directory(char path[64], bool make)
{
    struct stat st;
    int fd;
    snprintf(path, 64, "/dev/shm/lineprofiler-%u", (unsigned)geteuid());
    if (make && mkdir(path, 0700) && errno != EEXIST) return -errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -errno;
    /* asked of what is open, so that nobody can exchange it in between */
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077)) return fd;
    close(fd);
    return -EACCES;
}

bool lp__backing_shm_prefix(const char *run_dir, char prefix[18])
{
    struct stat st;
    if (stat(run_dir, &st) || !S_ISDIR(st.st_mode)) return false;
    snprintf(prefix, 18, "%016llx.",
             (unsigned long long)lp__hash_u64(lp__hash_u64((uint64_t)st.st_dev) ^ (uint64_t)st.st_ino));
    return true;
}

static int create_in_shm(struct lp_store *store)
{
    char directory[64], name[210] = "0000000000000000.";
    const char *fs;
    int at, fd;
    store->stray = store->path[0] == '\0' || !lp__backing_shm_prefix(store->run_dir, name);
    at = lp__backing_shm_directory(directory, true);
    if (at < 0) return at;
    memcpy(name + strlen(name), store->name, strlen(store->name) + 1);
    fd = lp__fs_kind(at, &fs) == LP_FS_MAPPABLE ? open_new(at, name, false) : -EOPNOTSUPP;
    close(at);
    if (fd < 0) return fd;
    remember_file(store, fd, directory, name);
    close(fd);
    return 0;
}

/* -- copies ------------------------------------------------------------------------------------------------------ */

void lp__backing_name_copy(struct lp_store *store)
{
    char directory[PATH_MAX];
    int at = workers_directory(store, directory);
    store->path[0] = '\0';
    if (at < 0) return;
    set_path(store->path, directory, store->name);
    close(at);
}

/* SIGXFSZ kills by default; better not to ask for more than the limit. */
static bool within_file_size_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* In pieces, each read word by word: threads go on recording into what is being copied. */
static int write_live(int fd, const uint8_t *bytes, uint64_t len)
{
    uint64_t at, piece;
    struct lp_error err = {0};
    int rc = 0;
    void *chunk = lp__alloc(COPY_CHUNK);
    if (chunk == NULL) return -ENOMEM;
    for (at = 0; at < len && rc == 0; at += piece) {
        piece = len - at < COPY_CHUNK ? len - at : COPY_CHUNK;
        lp__store_read_live(chunk, bytes + at, piece);
        if (lp__write_full(fd, chunk, piece, &err)) rc = err.sys_errno ? -err.sys_errno : -EIO;
    }
    lp__free(chunk);
    return rc;
}

int lp__backing_replace(int directory, const char *name, const void *bytes, uint64_t len, bool share_group)
{
    char beside[200];
    int fd, rc;
    if (!within_file_size_limit(len)) return -EFBIG;
    snprintf(beside, sizeof beside, ".%.190s", name);
    (void)unlinkat(directory, beside, 0); /* of a process that was killed while it copied */
    fd = open_new(directory, beside, share_group);
    if (fd < 0) return fd;
    rc = write_live(fd, bytes, len);
    if (close(fd) && rc == 0 && errno != EINTR) rc = -errno; /* NFS reports a full disk here */
    if (rc == 0 && renameat(directory, beside, directory, name)) rc = -errno;
    if (rc) (void)unlinkat(directory, beside, 0);
    return rc;
}

int lp__backing_copy(struct lp_store *store, uint64_t bytes)
{
    char directory[PATH_MAX];
    int at = workers_directory(store, directory), rc;
    if (at < 0) return at;
    rc = lp__backing_replace(at, store->name, store->base, bytes, store->share_group);
    close(at);
    if (rc == 0 && store->path[0] == '\0') set_path(store->path, directory, store->name);
    return rc;
}

/* -- the live file ----------------------------------------------------------------------------------------------- */

int lp__backing_create(struct lp_store *store, const struct lp_store_options *options)
{
    switch (store->place) {
    case LP_PLACE_RUN_DIR:
        return create_in_run_dir(store, options);
    case LP_PLACE_SHM:
        return create_in_shm(store);
    default:
        store->live_path[0] = '\0';
        return 0;
    }
}

static int reopen(const struct lp_store *store)
{
    struct stat st;
    int fd = open(store->live_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == store->device && st.st_ino == store->inode)
        return fd;
    close(fd);
    return -ESTALE;
}

/* For want of memory the kernel may have removed what was there before it refused: those addresses are anybody's now,
 * and the store ends before them. */
static int map_piece(struct lp_store *store, int fd, uint64_t from, uint64_t to)
{
    int flags = MAP_SHARED | MAP_FIXED, rc;
    if (mmap(store->base + from, to - from, PROT_READ | PROT_WRITE, flags, fd, (off_t)from) != MAP_FAILED) return 0;
    rc = errno;
    if (rc == ENOMEM) {
        store->reserved = from;
        store->ceiling_errno = rc;
    }
    return rc;
}

/* Does what was asked for stand in the file's blocks?  A layered file system may hide one that promises too much. */
static int check_reserved(struct lp_store *store, int fd, uint64_t to)
{
    struct stat st;
    if (store->insists || fstat(fd, &st) || (uint64_t)st.st_blocks * 512 >= to) return 0;
    store->why_not_run_dir = UNRESERVED;
    return EOPNOTSUPP;
}

static int extend_file(struct lp_store *store, uint64_t from, uint64_t to)
{
    int fd, rc;
    if (!within_file_size_limit(to)) return -EFBIG;
    fd = reopen(store);
    if (fd < 0) return fd;
    do
        rc = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
    while (rc == EINTR);
    if (rc == 0) rc = check_reserved(store, fd, to);
    if (rc == 0) rc = map_piece(store, fd, from, to);
    /* What did fit would stay allocated; if it cannot be given back either, that is harmless. */
    if (rc && ftruncate(fd, (off_t)from)) (void)errno;
    close(fd);
    return -rc;
}

int lp__backing_extend(struct lp_store *store, uint64_t from, uint64_t to)
{
    if (store->place != LP_PLACE_MEMORY) return extend_file(store, from, to);
    return mprotect(store->base + from, to - from, PROT_READ | PROT_WRITE) ? -errno : 0;
}

void lp__backing_remove(struct lp_store *store)
{
    if (store->live_path[0]) unlink(store->live_path);
    store->live_path[0] = '\0';
    if (store->place == LP_PLACE_RUN_DIR) store->path[0] = '\0';
}
