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

#include "os/file.h"
#include "os/host.h"
#include "store/rundir.h"

#define COPY_INTERVAL_NETWORK_MS 10000u

static void file_name(char out[192], const struct lp_store_options *options)
{
    uint8_t random[4];
    lp__random_bytes(random, sizeof random);
    snprintf(out, 192, "%.100s.%u.%02x%02x%02x%02x%s", options->attempt, options->pid, random[0], random[1], random[2],
             random[3], LP_FILE_SUFFIX);
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
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    return openat(directory, name, flags, share_group ? 0660 : 0600);
}

static int workers_directory(struct lp_store *store, const struct lp_store_options *options, char path[PATH_MAX])
{
    struct lp_error err = {0};
    int fd = lp__rundir_open_workers(options->run_dir, options->host, options->share_group, &store->own_folder, &err);
    if (fd < 0) {
        store->why_not_run_dir = "the run directory cannot be made or written";
        return err.sys_errno ? -err.sys_errno : -EACCES;
    }
    if (directory_path(fd, path)) return fd;
    if (snprintf(path, PATH_MAX, "%s/workers/%s", options->run_dir, options->host) < PATH_MAX - 200 &&
        !store->own_folder)
        return fd;
    close(fd);
    return -ENAMETOOLONG;
}

static void remember_file(struct lp_store *store, int fd, const char *directory, const char *name)
{
    struct stat st;
    if (fstat(fd, &st) == 0) {
        store->device = st.st_dev;
        store->inode = st.st_ino;
    }
    snprintf(store->live_path, sizeof store->live_path, "%.3800s/%.190s", directory, name);
}

static int create_in_run_dir(struct lp_store *store, const struct lp_store_options *options)
{
    char directory[PATH_MAX], name[192];
    const char *fs = "";
    int at = workers_directory(store, options, directory), fd, rc = 0;
    if (at < 0) return at;
    file_name(name, options);
    fd = open_new(at, name, options->share_group);
    if (fd < 0) {
        rc = -errno;
        store->why_not_run_dir = "the run directory cannot be written";
    } else if (lp__fs_kind(fd, &fs) != LP_FS_MAPPABLE && options->choice != LP_STORE_RUN_DIR) {
        if (lp__fs_kind(fd, &fs) == LP_FS_NETWORK) store->copy_interval_ms = COPY_INTERVAL_NETWORK_MS;
        store->why_not_run_dir = "its file system does not reserve blocks for maps";
        unlinkat(at, name, 0);
        rc = -EOPNOTSUPP;
    } else {
        remember_file(store, fd, directory, name);
        memcpy(store->path, store->live_path, sizeof store->path);
    }
    if (fd >= 0) close(fd);
    close(at);
    return rc;
}

/* /dev/shm/lineprofiler-UID, 0700, ours and no link; else -EACCES. */
static int shm_directory(char out[64])
{
    struct stat st;
    snprintf(out, 64, "/dev/shm/lineprofiler-%u", (unsigned)geteuid());
    if (mkdir(out, 0700) && errno != EEXIST) return -errno;
    if (lstat(out, &st)) return -errno;
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) return -EACCES;
    return open(out, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int create_in_shm(struct lp_store *store, const struct lp_store_options *options)
{
    char directory[64], name[192];
    int at = shm_directory(directory), fd;
    if (at < 0) return at;
    file_name(name, options);
    fd = open_new(at, name, false);
    close(at);
    if (fd < 0) return -errno;
    remember_file(store, fd, directory, name);
    close(fd);
    return 0;
}

void lp__backing_name_copy(struct lp_store *store, const struct lp_store_options *options)
{
    char directory[PATH_MAX], name[192];
    int at = workers_directory(store, options, directory);
    store->path[0] = '\0';
    if (at < 0) return;
    file_name(name, options);
    snprintf(store->path, sizeof store->path, "%.3800s/%.190s", directory, name);
    close(at);
}

int lp__backing_create(struct lp_store *store, const struct lp_store_options *options)
{
    switch (store->place) {
    case LP_PLACE_RUN_DIR:
        return create_in_run_dir(store, options);
    case LP_PLACE_SHM:
        return create_in_shm(store, options);
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

/* SIGXFSZ kills by default; better not to ask for more than the limit. */
static bool within_file_size_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

static int extend_file(struct lp_store *store, uint64_t from, uint64_t to)
{
    int fd, rc;
    void *at;
    if (!within_file_size_limit(to)) return -EFBIG;
    fd = reopen(store);
    if (fd < 0) return fd;
    do {
        rc = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
    } while (rc == EINTR);
    if (rc == 0) {
        at = mmap(store->base + from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)from);
        rc = at == MAP_FAILED ? errno : 0;
    } else if (ftruncate(fd, (off_t)from)) {
        rc = rc ? rc : errno; /* what did fit stays allocated: harmless, and the file is removed if it was the first */
    }
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
