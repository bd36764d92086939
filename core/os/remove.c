/* Every step is asked of an open descriptor, so a folder that is exchanged for a link meanwhile leads nowhere. */
// SPDX-License-Identifier: MIT
#include "os/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/dir.h"

#define TEMP_DEPTH 16

static int refuse(struct lp_error *err, const char *path, int sys_errno)
{
    enum lp_err code = sys_errno == ENOENT                                               ? LP_ERR_NOT_FOUND
                       : sys_errno == EACCES || sys_errno == EPERM || sys_errno == EROFS ? LP_ERR_DENIED
                                                                                         : LP_ERR_IO;
    return lp__fail(err, code, sys_errno, "cannot remove %s: %s", path, strerror(sys_errno));
}

/* Opens the folder of `path` below `dir_fd`, part by part; `*leaf` is the rest.  A descriptor or a negative lp_err. */
static int open_parent(int dir_fd, const char *path, const char **leaf, struct lp_error *err)
{
    int fd = lp__dir_open_at(dir_fd, ".", false, err);
    for (const char *slash; fd >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        char part[NAME_MAX + 1];
        size_t len = (size_t)(slash - path);
        int next = LP_ERR_DENIED;
        if (len && len < sizeof part && !(len == 2 && memcmp(path, "..", 2) == 0)) {
            memcpy(part, path, len);
            part[len] = '\0';
            next = lp__dir_open_at(fd, part, false, err);
        } else
            lp__fail(err, LP_ERR_DENIED, 0, "%s is no plain path", path);
        lp__close_fd(fd);
        fd = next;
    }
    *leaf = path;
    return fd;
}

int lp__remove_file_at(int dir_fd, const char *path, uint64_t device, uint64_t inode, struct lp_error *err)
{
    struct lp_file_facts facts;
    const char *leaf;
    int rc = LP_OK;
    int fd = open_parent(dir_fd, path, &leaf, err);
    if (fd < 0) return fd;
    if (!lp__file_facts_at(fd, leaf, &facts))
        rc = lp__fail(err, LP_ERR_NOT_FOUND, ENOENT, "%s has gone", path);
    else if (facts.kind != LP_FILE_REGULAR || facts.device != device || facts.inode != inode)
        rc = lp__fail(err, LP_ERR_DENIED, 0, "%s is not the file that was read", path);
    else if (unlinkat(fd, leaf, 0))
        rc = refuse(err, path, errno);
    lp__close_fd(fd);
    return rc;
}

void lp__remove_empty_parents_at(int dir_fd, const char *path)
{
    char folder[PATH_MAX];
    int saved = errno;
    int len = snprintf(folder, sizeof folder, "%s", path);
    for (char *slash; len > 0 && len < (int)sizeof folder && (slash = strrchr(folder, '/')) != NULL;) {
        const char *leaf;
        *slash = '\0';
        int fd = open_parent(dir_fd, folder, &leaf, NULL);
        if (fd < 0) break;
        bool removed = unlinkat(fd, leaf, AT_REMOVEDIR) == 0; /* refused unless it is an empty folder */
        lp__close_fd(fd);
        if (!removed) break;
    }
    errno = saved;
}

int lp__temp_dir_make(char *out, size_t cap, struct lp_error *err)
{
    const char *base = secure_getenv("TMPDIR");
    int len = snprintf(out, cap, "%s/lineprofiler-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (len < 0 || (size_t)len >= cap) return lp__fail(err, LP_ERR_IO, 0, "TMPDIR is too long");
    if (mkdtemp(out)) return LP_OK;
    return lp__fail(err, LP_ERR_IO, errno, "cannot make a folder in %s: %s", base ? base : "/tmp", strerror(errno));
}

struct emptying {
    int fd;
    int depth;
};

static int remove_entry(const char *name, void *arg)
{
    struct emptying *emptying = arg;
    if (unlinkat(emptying->fd, name, 0) == 0) return 0;
    if (emptying->depth == TEMP_DEPTH) return 0;
    struct emptying below = {lp__dir_open_at(emptying->fd, name, false, NULL), emptying->depth + 1};
    if (below.fd >= 0) {
        int rc = lp__dir_each(below.fd, remove_entry, &below);
        (void)rc; /* what cannot be listed stays */
        lp__close_fd(below.fd);
        (void)unlinkat(emptying->fd, name, AT_REMOVEDIR);
    }
    return 0;
}

void lp__temp_dir_remove(const char *path)
{
    int saved = errno;
    struct emptying emptying = {lp__dir_open_at(LP_DIR_CWD, path, false, NULL), 0};
    if (emptying.fd >= 0) {
        int rc = lp__dir_each(emptying.fd, remove_entry, &emptying);
        (void)rc;
        lp__close_fd(emptying.fd);
        (void)rmdir(path);
    }
    errno = saved;
}
