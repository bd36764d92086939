/* The table of functions by which copies of this core in one process find each other.
 *
 * A C library linked with liblineprofiler and Python's extension module each have their own copy of the core.  Both
 * export one `lp_table_1`.  A copy that begins to record tells all others that are loaded; one that is loaded later
 * looks for it.  The C API hands everything on to the copy that records, so that phases of C code nest below the Python
 * phases of the same thread.  The layout of a version never changes: more functions are added at the end and `bytes`
 * grows. */
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
    void (*meet)(const struct lp_table *recorder); /* `recorder` records from now on */
};

extern LP_API const struct lp_table lp_table_1;

/* The copy that told last that it records, or was found; NULL when there is only this one. */
extern _Atomic(const struct lp_table *) lp__other_table;

void lp__table_announce(void); /* this copy begins to record: tells the others; tens of microseconds */
void lp__table_look(void);     /* looks for another copy unless one is known; tens of microseconds */

#endif
