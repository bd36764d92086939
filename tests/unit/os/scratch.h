/* A folder of its own for a test, and short ways to fill it.  Everything asserts. */
// SPDX-License-Identifier: MIT
#ifndef LP_TESTS_OS_SCRATCH_H
#define LP_TESTS_OS_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[512]; /* absolute, without a final slash */

/* The path of a name below the folder; valid until four more calls of the thread. */
static inline const char *at(const char *name)
{
    static _Thread_local char paths[4][1024];
    static _Thread_local unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline int scratch_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/lp-test-XXXXXX", base && base[0] == '/' ? base : "/tmp");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int scratch_remove(void **state)
{
    (void)state;
    return nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Creates the file and the folders above it. */
static inline void put(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", at(name));
    for (char *slash = path + strlen(scratch) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* How many descriptors are open: a test that leaks one sees the number grow. */
static inline int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#endif
