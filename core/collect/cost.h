/* What one begin and end costs on this machine, for the report's estimate of its own price. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_COST_H
#define LP_COLLECT_COST_H

#include <stdint.h>

/* Picoseconds of one entry in C: the fastest of a few short rounds on a thread state of its own, which no recording
 * sees.  About 10 microseconds.  0 without memory. */
uint64_t lp__entry_cost_ps(void);

#endif
