/* Hash maps: numbers to numbers, and byte strings to small ids.  Owned by one thread. */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_MAP_H
#define LP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Open addressing, linear probing, power-of-two capacity, load at most 3/4.  Key 0 is a key like any other. */
struct lp_map {
    struct lp_map_entry *entries;
    size_t capacity; /* 0 until the first put */
    size_t count;
};

void lp__map_init(struct lp_map *map);
void lp__map_release(struct lp_map *map);
bool lp__map_get(const struct lp_map *map, uint64_t key, uint64_t *value);
LP_WARN_UNUSED int lp__map_put(struct lp_map *map, uint64_t key, uint64_t value); /* 0 or LP_ERR_NO_MEMORY */
bool lp__map_remove(struct lp_map *map, uint64_t key); /* true if it was there; backward-shift deletion */

/* FNV-free 64-bit hash of bytes; stable between versions, because the store keeps it beside each name. */
uint64_t lp__hash_bytes(const void *bytes, size_t len);
uint64_t lp__hash_u64(uint64_t value);

struct lp_text {
    const char *bytes; /* not necessarily UTF-8, may hold NUL; NUL-terminated as well */
    size_t len;
};

/* Byte strings numbered 0, 1, 2 … in the order of their first appearance. */
struct lp_intern {
    struct lp_arena *arena; /* holds the copies; borrowed */
    struct lp_text *texts;
    uint64_t *hashes;
    uint32_t *slots; /* id + 1, 0 = free */
    size_t count;
    size_t text_cap;
    size_t slot_cap;
};

void lp__intern_init(struct lp_intern *intern, struct lp_arena *arena);
void lp__intern_release(struct lp_intern *intern);
/* The id of the bytes, adding a copy when they are new.  0 or LP_ERR_NO_MEMORY. */
LP_WARN_UNUSED int lp__intern_add(struct lp_intern *intern, const char *bytes, size_t len, uint32_t *id);
bool lp__intern_find(const struct lp_intern *intern, const char *bytes, size_t len, uint32_t *id);

#endif
