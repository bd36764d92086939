/* The allocator of the core: malloc with checked sizes and a countdown for tests.
 *
 * Everything the core allocates goes through here, so that the fault tests can make the n-th allocation fail.
 * Not for the hot path, which never allocates.  Thread-safe.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_MEM_H
#define LP_BASE_MEM_H

#include <stddef.h>

#define LP_WARN_UNUSED __attribute__((warn_unused_result))

LP_WARN_UNUSED void *lp__alloc(size_t bytes);                     /* uninitialised; NULL when out of memory */
LP_WARN_UNUSED void *lp__calloc(size_t count, size_t bytes);      /* zeroed; NULL on overflow too */
LP_WARN_UNUSED void *lp__realloc(void *old, size_t bytes);        /* `old` stays valid on failure */
LP_WARN_UNUSED char *lp__strndup(const char *text, size_t bytes); /* up to a NUL or `bytes`; NUL-terminated copy */
void lp__free(void *memory);                                      /* NULL is fine */

/* Tests only: the allocation after `successes` more ones fails, and all that follow; negative: never fail. */
void lp__mem_fail_after(long successes);

#endif
