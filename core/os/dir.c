/* Thin over the *at system calls.  Rules about what a run directory may look like are not known here. */
// SPDX-License-Identifier: MIT
#include "os/dir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"

static_assert(LP_DIR_CWD == AT_FDCWD, "the header spares its readers fcntl.h");

static enum lp_err code_of(int sys_errno)
{
    switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
        return LP_ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
        return LP_ERR_DENIED;
    case ENOSPC:
    case EDQUOT:
        return LP_ERR_NO_SPACE;
    default:
        return LP_ERR_IO;
    }
}

static int fail_errno(struct lp_error *err, const char *verb, const char *name, int sys_errno)
{
    return lp__fail(err, code_of(sys_errno), sys_errno, "cannot %s %s: %s", verb, name, strerror(sys_errno));
}

void lp__close_fd(int fd)
{
    int saved = errno;
    if (fd >= 0) close(fd);
    errno = saved;
}

uid_t lp__effective_user(void)
{
    return geteuid();
}

static int openat_retrying(int dir_fd, const char *name, int flags, mode_t mode)
{
    int fd;
    do
        fd = openat(dir_fd, name, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int lp__dir_open_at(int dir_fd, const char *name, bool follow, struct lp_error *err)
{
    int saved = errno;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
    int fd = openat_retrying(dir_fd, name, flags, 0);
    if (fd < 0) {
        int sys_errno = errno;
        struct lp_file_facts facts;
        /* With O_DIRECTORY the kernel calls a refused link "not a directory". */
        bool link = !follow && lp__file_facts_at(dir_fd, name, &facts) && facts.kind == LP_FILE_LINK;
        if (link) return lp__fail(err, LP_ERR_DENIED, ELOOP, "%s is a link; links are not followed", name);
        return fail_errno(err, "open", name, sys_errno);
    }
    errno = saved;
    return fd;
}

int lp__dir_make_at(int dir_fd, const char *name, mode_t mode, struct lp_error *err)
{
    int saved = errno;
    if (mkdirat(dir_fd, name, mode)) {
        int sys_errno = errno;
        if (sys_errno != EEXIST) return fail_errno(err, "make", name, sys_errno);
        errno = saved;
        return 0;
    }
    /* The umask may have taken bits away.  What we open is what we made, or it is refused: O_NOFOLLOW. */
    int fd = openat_retrying(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd >= 0) {
        (void)fchmod(fd, mode);
        close(fd);
    }
    errno = saved;
    return 1;
}

int lp__dir_each(int dir_fd, int (*visit)(const char *name, void *arg), void *arg)
{
    int saved = errno;
    int rc = 0;
    int fd = openat_retrying(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); /* a position of its own */
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        lp__close_fd(fd);
        return LP_ERR_IO;
    }
    for (struct dirent *entry; !rc && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) rc = visit(entry->d_name, arg);
    closedir(dir);
    errno = saved;
    return rc;
}

static enum lp_file_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode)) return LP_FILE_REGULAR;
    if (S_ISDIR(mode)) return LP_FILE_DIRECTORY;
    return S_ISLNK(mode) ? LP_FILE_LINK : LP_FILE_OTHER;
}

/* Anybody may set a file's time to anything: what nanoseconds cannot hold is "unknown". */
static int64_t mtime_of(const struct stat *st)
{
    const int64_t last_s = INT64_MAX / 1000000000 - 1;
    if (st->st_mtim.tv_sec < 0 || st->st_mtim.tv_sec > last_s) return 0;
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void fill(struct lp_file_facts *out, const struct stat *st)
{
    *out = (struct lp_file_facts){
        .kind = kind_of(st->st_mode),
        .mode = st->st_mode & 07777,
        .owner = st->st_uid,
        .bytes = (uint64_t)st->st_size,
        .mtime_ns = mtime_of(st),
        .device = (uint64_t)st->st_dev,
        .inode = (uint64_t)st->st_ino,
    };
}

bool lp__file_facts_at(int dir_fd, const char *name, struct lp_file_facts *out)
{
    int saved = errno;
    struct stat st;
    bool there = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there) fill(out, &st);
    errno = saved;
    return there;
}

bool lp__file_facts(int fd, struct lp_file_facts *out)
{
    int saved = errno;
    struct stat st;
    bool known = fstat(fd, &st) == 0;
    if (known) fill(out, &st);
    errno = saved;
    return known;
}

int lp__file_create_at(int dir_fd, const char *name, mode_t mode, const void *bytes, size_t len, struct lp_error *err)
{
    int saved = errno;
    int fd = openat_retrying(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) return fail_errno(err, "create", name, errno);
    int rc = lp__write_full(fd, bytes, len, err);
    close(fd);
    if (!rc) errno = saved;
    return rc;
}

int64_t lp__file_birth_ns(int fd)
{
    int64_t born = 0;
    int saved = errno;
#ifdef STATX_BTIME
    struct statx facts;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &facts) == 0 && facts.stx_mask & STATX_BTIME &&
        facts.stx_btime.tv_sec > 0 && facts.stx_btime.tv_sec < INT64_MAX / 1000000000 - 1)
        born = facts.stx_btime.tv_sec * 1000000000 + facts.stx_btime.tv_nsec;
#else
    (void)fd;
#endif
    errno = saved;
    return born;
}

void lp__file_remove_at(int dir_fd, const char *name)
{
    int saved = errno;
    (void)unlinkat(dir_fd, name, 0);
    errno = saved;
}

bool lp__dir_lock(int dir_fd, unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int saved = errno;
    bool locked;
    unsigned waited = 0;
    while (!(locked = flock(dir_fd, LOCK_EX | LOCK_NB) == 0) && waited < wait_ms) {
        (void)nanosleep(&pause, NULL);
        waited += 5;
    }
    errno = saved;
    return locked;
}
