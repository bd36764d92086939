/* What the control groups above this process allow. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_CGROUP_H
#define LP_OS_CGROUP_H

#include <stdint.h>

/* The lowest cpu quota (in cores; NaN: none or unknown) and memory limit (-1: none or unknown) of any group from ours
 * up to the mount's root, versions 1 and 2.  `root` stands before /proc and the mount points: "" or a test's folder. */
void lp__cgroup_limits(const char *root, double *quota_cores, int64_t *memory_limit_bytes);

#endif
