/* File access that survives interruption and distrusts what it opens.  Every function leaves no descriptor behind and
 * restores errno when it succeeds. */
// SPDX-License-Identifier: MIT
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/console.h"
#include "os/host.h"
#include "os/interrupt.h"

static enum lp_err code_of(int sys_errno)
{
    switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
        return LP_ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case ELOOP:
        return LP_ERR_DENIED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return LP_ERR_NO_SPACE;
    case ENOMEM:
        return LP_ERR_NO_MEMORY;
    default:
        return LP_ERR_IO;
    }
}

static int fail_errno(struct lp_error *err, const char *verb, const char *path)
{
    int sys_errno = errno;
    return lp__fail(err, code_of(sys_errno), sys_errno, "cannot %s %s: %s", verb, path, strerror(sys_errno));
}

static int open_retrying(int dir_fd, const char *name, int flags, mode_t mode)
{
    int fd;
    do
        fd = openat(dir_fd, name, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Linux frees the number even when close is interrupted, so it is never tried twice. */
static void close_quietly(int fd)
{
    int saved = errno;
    if (fd >= 0) close(fd);
    errno = saved;
}

static ssize_t read_retrying(int fd, void *into, size_t len)
{
    ssize_t got;
    do
        got = read(fd, into, len);
    while (got < 0 && errno == EINTR);
    return got;
}

int lp__slurp(const char *path, struct lp_buf *out, struct lp_error *err)
{
    int saved = errno;
    int rc = LP_OK;
    struct stat st;
    char chunk[4096];
    ssize_t got = 1;
    int fd = open_retrying(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &st)) {
        rc = fail_errno(err, "open", path);
        goto done;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = lp__fail(err, LP_ERR_DENIED, 0, "%s is not a regular file", path);
        goto done;
    }
    while (got > 0 && out->len < out->ceiling && !out->failed) {
        size_t room = out->ceiling - out->len;
        got = read_retrying(fd, chunk, room < sizeof chunk ? room : sizeof chunk);
        if (got > 0) lp__buf_add(out, chunk, (size_t)got);
    }
    if (got < 0)
        rc = fail_errno(err, "read", path);
    else if (out->failed)
        rc = lp__fail(err, out->failed, 0, "no memory to read %s", path);
done:
    close_quietly(fd);
    if (!rc) errno = saved;
    return rc;
}

int lp__open_regular_at(int dir_fd, const char *name, uint64_t *size, uid_t *owner, struct lp_error *err)
{
    int saved = errno;
    struct stat st;
    int fd = open_retrying(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 && errno == ELOOP)
        return lp__fail(err, LP_ERR_DENIED, ELOOP, "%s is a link; links are not followed", name);
    if (fd < 0) return fail_errno(err, "open", name);
    if (fstat(fd, &st)) {
        int rc = fail_errno(err, "inspect", name);
        close_quietly(fd);
        return rc;
    }
    if (!S_ISREG(st.st_mode)) {
        close_quietly(fd);
        return lp__fail(err, LP_ERR_DENIED, 0, "%s is not a regular file", name);
    }
    if (size) *size = (uint64_t)st.st_size;
    if (owner) *owner = st.st_uid;
    errno = saved;
    return fd;
}

int64_t lp__pread_full(int fd, void *into, size_t len, uint64_t offset)
{
    int saved = errno;
    size_t done = 0;
    if (len > INT64_MAX || offset > INT64_MAX - (uint64_t)len) return 0; /* no file reaches that far */
    while (done < len) {
        ssize_t got = pread(fd, (char *)into + done, len - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return code_of(errno);
        if (got == 0) break;
        done += (size_t)got;
    }
    errno = saved;
    return (int64_t)done;
}

int lp__write_full(int fd, const void *bytes, size_t len, struct lp_error *err)
{
    int saved = errno;
    const char *at = bytes;
    while (len) {
        ssize_t put = write(fd, at, len < SSIZE_MAX ? len : SSIZE_MAX);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) { /* somebody made our standard output non-blocking */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
            continue;
        }
        if (put <= 0) {
            int sys_errno = put ? errno : EIO;
            return lp__fail(err, code_of(sys_errno), sys_errno, "cannot write: %s", strerror(sys_errno));
        }
        at += put;
        len -= (size_t)put;
    }
    errno = saved;
    return LP_OK;
}

/* The descriptor that a path stands for: "-", /dev/stdout, /dev/stderr, /dev/fd/N; -1 for any other path.  These are
 * links, but to what the user opened, and opening them anew would lose the position. */
static int named_descriptor(const char *path)
{
    static const char folder[] = "/dev/fd/";
    if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    if (strncmp(path, folder, sizeof folder - 1)) return -1;
    const char *digits = path + sizeof folder - 1;
    size_t len = strspn(digits, "0123456789");
    return len && len < 9 && !digits[len] ? (int)strtol(digits, NULL, 10) : -1;
}

/* The directory part of a path, "." when it has none.  NULL without memory. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return lp__strndup(".", 1);
    return lp__strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* A FIFO without a reader, or a full one, waits for ever: then an interrupt ends it (os/interrupt.h). */
static int write_through(const char *path, const void *bytes, size_t len, struct lp_error *err)
{
    int fd, sys_errno;
    do
        fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR && !lp__interrupted());
    if (fd < 0 && errno == EINTR) return lp__fail(err, LP_ERR_INTERRUPTED, EINTR, "while opening %s", path);
    if (fd < 0) return fail_errno(err, "open", path);
    int rc = lp__console_write(fd, bytes, len, lp__interrupted, &sys_errno);
    if (rc) lp__fail(err, rc, sys_errno, "cannot write to %s: %s", path, strerror(sys_errno));
    close_quietly(fd);
    return rc;
}

/* A fresh file beside the target; its name, unguessable and never reused, goes to `name`. */
static int create_beside(int dir_fd, char name[32], const struct stat *old)
{
    mode_t mode = old ? (old->st_mode & 0777) : 0666;
    for (int tries = 0; tries < 16; tries++) {
        uint64_t random;
        lp__random_bytes(&random, sizeof random);
        snprintf(name, 32, ".lp-%016llx", (unsigned long long)random);
        int fd = open_retrying(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (fd >= 0 && old) (void)fchmod(fd, mode); /* the umask already had its say on the old file */
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static int replace(int dir_fd, const char *path, const void *bytes, size_t len, const struct stat *old,
                   struct lp_error *err)
{
    char temporary[32];
    const char *slash = strrchr(path, '/');
    int fd = create_beside(dir_fd, temporary, old);
    if (fd < 0) return fail_errno(err, "create a file beside", path);
    int rc = lp__write_full(fd, bytes, len, err);
    /* File systems that cannot sync say EINVAL; then rename alone has to do. */
    if (!rc && fsync(fd) && errno != EINVAL && errno != EROFS) rc = fail_errno(err, "write", path);
    if (close(fd) && !rc && errno != EINTR) rc = fail_errno(err, "write", path); /* NFS reports a full disk here */
    if (!rc && renameat(dir_fd, temporary, dir_fd, slash ? slash + 1 : path)) rc = fail_errno(err, "replace", path);
    if (rc) {
        int saved = errno;
        unlinkat(dir_fd, temporary, 0);
        errno = saved;
    }
    return rc;
}

static int write_regular(const char *path, const void *bytes, size_t len, bool make_parents, const struct stat *old,
                         struct lp_error *err)
{
    int dir_fd = -1, rc = LP_OK;
    char *parent = parent_of(path);
    if (!parent) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "no memory to write %s", path);
    if (make_parents && !old) rc = lp__make_dirs(parent, 0777, err);
    if (rc) goto done;
    dir_fd = open_retrying(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0);
    rc = dir_fd < 0 ? fail_errno(err, "open", parent) : replace(dir_fd, path, bytes, len, old, err);
done:
    close_quietly(dir_fd);
    lp__free(parent);
    return rc;
}

int lp__write_atomic(const char *path, const void *bytes, size_t len, bool make_parents, struct lp_error *err)
{
    int saved = errno;
    struct stat st;
    int rc;
    int named = named_descriptor(path);
    bool exists = named < 0 && !lstat(path, &st);
    if (named >= 0)
        rc = lp__write_full(named, bytes, len, err);
    else if (!*path || path[strlen(path) - 1] == '/' || (exists && S_ISDIR(st.st_mode)))
        rc = lp__fail(err, LP_ERR_USAGE, EISDIR, "\"%s\" is a directory; name a file in it", path);
    else if (exists && S_ISLNK(st.st_mode))
        rc = lp__fail(err, LP_ERR_DENIED, ELOOP, "%s is a link; name the file it points to", path);
    else if (exists && !S_ISREG(st.st_mode))
        rc = write_through(path, bytes, len, err);
    else if (exists && access(path, W_OK))
        rc = fail_errno(err, "replace", path);
    else
        rc = write_regular(path, bytes, len, make_parents, exists ? &st : NULL, err);
    if (!rc) errno = saved;
    return rc;
}

int lp__make_dirs(const char *path, mode_t mode, struct lp_error *err)
{
    int saved = errno;
    int rc = LP_OK;
    struct stat st;
    char *copy = lp__strndup(path, strlen(path));
    if (!copy) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "no memory to create %s", path);
    /* Errors on the way are not looked at: what counts is whether a directory is there in the end. */
    for (char *at = copy; *at && *(at + 1); at++) {
        if (*(at + 1) != '/' || *at == '/') continue;
        at[1] = '\0';
        (void)mkdir(copy, mode);
        at[1] = '/';
    }
    if (mkdir(copy, mode) && (errno != EEXIST || stat(copy, &st) || !S_ISDIR(st.st_mode))) {
        if (errno == EEXIST || !errno) errno = ENOTDIR;
        rc = fail_errno(err, "create", path);
    }
    lp__free(copy);
    if (!rc) errno = saved;
    return rc;
}
