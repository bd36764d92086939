/* See the header. */
// SPDX-License-Identifier: MIT
#include "temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int temp_dir_make(struct temp_dir *dir)
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(dir->path, sizeof dir->path, "%s/lp-test-XXXXXX",
                   parent && strlen(parent) < sizeof dir->path - 16 ? parent : "/tmp");
    return mkdtemp(dir->path) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

int temp_dir_remove(const struct temp_dir *dir)
{
    return nftw(dir->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int temp_dir_put(const struct temp_dir *dir, const char *name, const void *bytes, size_t len)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir->path, name);
    for (char *slash = strchr(path + strlen(dir->path) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST) return -1;
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    ssize_t put = len ? write(fd, bytes, len) : 0;
    close(fd);
    return put == (ssize_t)len ? 0 : -1;
}
