/* Chunks from calloc, filled from the front.  A chunk doubles the last one up to 1 MiB; something larger than a
 * chunk gets one of its own, put behind the current one so that the room left there is not lost. */
// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, ALIGNMENT = 16 };

struct lp_arena_chunk {
    struct lp_arena_chunk *next;
    size_t size; /* of `bytes` */
    size_t used;
    size_t pad; /* keeps `bytes` on a 16-byte boundary */
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

void lp__arena_init(struct lp_arena *arena, size_t ceiling)
{
    *arena = (struct lp_arena){.ceiling = ceiling};
}

void lp__arena_release(struct lp_arena *arena)
{
    struct lp_arena_chunk *next;
    for (struct lp_arena_chunk *chunk = arena->chunks; chunk; chunk = next) {
        next = chunk->next;
        lp__free(chunk);
    }
    lp__arena_init(arena, arena->ceiling);
}

static struct lp_arena_chunk *new_chunk(struct lp_arena *arena, size_t size)
{
    size_t total = size + sizeof(struct lp_arena_chunk);
    if (total < size || total > arena->ceiling - arena->bytes) return NULL;
    struct lp_arena_chunk *chunk = lp__calloc(1, total);
    if (!chunk) return NULL;
    chunk->size = size;
    arena->bytes += total;
    return chunk;
}

static struct lp_arena_chunk *add_chunk(struct lp_arena *arena, size_t bytes)
{
    struct lp_arena_chunk *top = arena->chunks;
    size_t usual = top ? top->size * 2 : FIRST_CHUNK;
    if (usual > LARGEST_CHUNK) usual = LARGEST_CHUNK;
    struct lp_arena_chunk *chunk = new_chunk(arena, bytes > usual ? bytes : usual);
    if (!chunk) chunk = new_chunk(arena, bytes); /* near the ceiling the exact size may still fit */
    if (!chunk) return NULL;
    if (top && bytes > usual) {
        chunk->next = top->next;
        top->next = chunk;
    } else {
        chunk->next = top;
        arena->chunks = chunk;
    }
    return chunk;
}

void *lp__arena_alloc(struct lp_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
    size_t rounded = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    struct lp_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < rounded) chunk = add_chunk(arena, rounded);
    if (!chunk) return NULL;
    void *memory = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return memory;
}

char *lp__arena_copy(struct lp_arena *arena, const char *text, size_t len)
{
    char *copy = len == SIZE_MAX ? NULL : lp__arena_alloc(arena, len + 1);
    if (copy && len) memcpy(copy, text, len);
    return copy;
}
