/* The table of functions by which copies of this core in one process find each other.
 *
 * A C library linked with liblineprofiler and Python's extension module each have their own copy of the core.  Both
 * export one `lp_table_1`; the C API looks for another copy's and, when that one records, hands everything on to it, so
 * that phases of C code nest below the Python phases of the same thread.  The layout of a version never changes: more
 * functions are added at the end and `bytes` grows. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_TABLE_H
#define LP_COLLECT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lineprofiler.h"

#define LP_TABLE_MAGIC   "lptable"
#define LP_TABLE_VERSION 1u

struct lp_table {
    char magic[8];
    uint32_t bytes; /* sizeof of the copy's struct */
    uint32_t version;
    int (*start)(const char *run_dir, const char *role);
    void (*stop)(void);
    int (*is_recording)(void);
    lp_name (*name_register)(const char *bytes, size_t len);
    lp_token (*phase_begin)(lp_name name);
    void (*phase_end)(lp_token token);
    void (*count)(lp_name name, int64_t n);
};

extern LP_API const struct lp_table lp_table_1;

#endif
