/* Memory that is freed all at once: what a merged run is made of.  Owned by one thread. */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_ARENA_H
#define LP_BASE_ARENA_H

#include <stddef.h>

#include "base/mem.h"

struct lp_arena {
    struct lp_arena_chunk *chunks;
    size_t bytes;   /* taken from the system so far */
    size_t ceiling; /* an allocation that would pass it returns NULL */
};

void lp__arena_init(struct lp_arena *arena, size_t ceiling);
void lp__arena_release(struct lp_arena *arena);
LP_WARN_UNUSED void *lp__arena_alloc(struct lp_arena *arena, size_t bytes); /* zeroed, aligned to 16; or NULL */
LP_WARN_UNUSED char *lp__arena_copy(struct lp_arena *arena, const char *text, size_t len); /* NUL-terminated */

#endif
