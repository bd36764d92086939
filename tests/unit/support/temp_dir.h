/* A folder for one test, and files in it. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_TEMP_DIR_H
#define LP_TEST_TEMP_DIR_H

#include <stddef.h>

struct temp_dir {
    char path[64];
};

/* 0, or -1 when it could not be made. */
int temp_dir_make(struct temp_dir *dir);
/* Removes it with all that is in it; 0 or -1. */
int temp_dir_remove(const struct temp_dir *dir);
/* Writes a file below it, making its folders; 0 or -1. */
int temp_dir_put(const struct temp_dir *dir, const char *name, const void *bytes, size_t len);

#endif
