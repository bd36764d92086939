/* The kernel's restartable sequences, used as a flag that every context switch lowers.  Only os/clock*.c needs it. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_RSEQ_H
#define LP_OS_RSEQ_H

#include <stdbool.h>
#include <stddef.h>

/* The calling thread's rseq_cs field, or NULL when the C library registered none. */
void **lp__rseq_field(void);

/* The address to arm the field with: an inert descriptor that lives until the process ends, or NULL.  Not
 * thread-safe; lp__clock_init calls it under its lock. */
void *lp__rseq_descriptor(void);

/* Does a context switch lower the flag in this process?  Two sleeps of 50 us must both do it.  When not, `why` says
 * what was seen. */
bool lp__rseq_prove(char *why, size_t cap);

#endif
