/* Two tables with linear probing and power-of-two sizes, at most three quarters full.  A removal moves the entries
 * behind it back instead of leaving a tombstone, so long-lived maps do not slow down. */
// SPDX-License-Identifier: MIT
#include "base/map.h"

#include <string.h>

#include "base/err.h"

struct lp_map_entry {
    uint64_t key;
    uint64_t value;
    bool used;
};

uint64_t lp__hash_u64(uint64_t value)
{
    /* The finaliser of SplitMix64: a bijection, so different numbers stay different. */
    value ^= value >> 30;
    value *= UINT64_C(0xBF58476D1CE4E5B9);
    value ^= value >> 27;
    value *= UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

/* Up to eight bytes as a little-endian number, the same on every machine. */
static uint64_t load_le(const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&word, bytes, len);
#else
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
#endif
    return word;
}

uint64_t lp__hash_bytes(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t hash = lp__hash_u64(len + UINT64_C(0x9E3779B97F4A7C15));
    for (; len >= 8; len -= 8, at += 8)
        hash = lp__hash_u64(hash ^ load_le(at, 8)) + UINT64_C(0x9E3779B97F4A7C15);
    return len ? lp__hash_u64(hash ^ load_le(at, len)) : hash;
}

void lp__map_init(struct lp_map *map)
{
    *map = (struct lp_map){0};
}

void lp__map_release(struct lp_map *map)
{
    lp__free(map->entries);
    lp__map_init(map);
}

/* The entry of `key`, or the free one where it belongs. */
static struct lp_map_entry *probe(const struct lp_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t i = lp__hash_u64(key) & mask;
    while (map->entries[i].used && map->entries[i].key != key)
        i = (i + 1) & mask;
    return &map->entries[i];
}

static int grow(struct lp_map *map)
{
    struct lp_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 16, .count = map->count};
    bigger.entries = lp__calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].used) *probe(&bigger, map->entries[i].key) = map->entries[i];
    lp__free(map->entries);
    *map = bigger;
    return LP_OK;
}

bool lp__map_get(const struct lp_map *map, uint64_t key, uint64_t *value)
{
    if (!map->count) return false;
    const struct lp_map_entry *entry = probe(map, key);
    if (entry->used && value) *value = entry->value;
    return entry->used;
}

int lp__map_put(struct lp_map *map, uint64_t key, uint64_t value)
{
    struct lp_map_entry *entry = map->capacity ? probe(map, key) : NULL;
    if (entry && entry->used) {
        entry->value = value;
        return LP_OK;
    }
    if (entry == NULL || map->count + 1 > map->capacity / 4 * 3) {
        if (grow(map)) return LP_ERR_NO_MEMORY;
        entry = probe(map, key);
    }
    *entry = (struct lp_map_entry){.key = key, .value = value, .used = true};
    map->count++;
    return LP_OK;
}

bool lp__map_remove(struct lp_map *map, uint64_t key)
{
    if (!map->count) return false;
    struct lp_map_entry *entry = probe(map, key);
    if (!entry->used) return false;
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(entry - map->entries);
    for (size_t i = (hole + 1) & mask; map->entries[i].used; i = (i + 1) & mask) {
        /* An entry may fill the hole unless its home lies cyclically in (hole, i]: then it would be lost. */
        size_t home = lp__hash_u64(map->entries[i].key) & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        map->entries[hole] = map->entries[i];
        hole = i;
    }
    map->entries[hole].used = false;
    map->count--;
    return true;
}

void lp__intern_init(struct lp_intern *intern, struct lp_arena *arena)
{
    *intern = (struct lp_intern){.arena = arena};
}

void lp__intern_release(struct lp_intern *intern)
{
    lp__free(intern->texts);
    lp__free(intern->hashes);
    lp__free(intern->slots);
    lp__intern_init(intern, intern->arena);
}

/* The slot that holds the bytes, or the free one where they belong.  Needs slot_cap > 0. */
static size_t intern_probe(const struct lp_intern *intern, const char *bytes, size_t len, uint64_t hash)
{
    size_t mask = intern->slot_cap - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        if (!intern->slots[i]) return i;
        size_t id = intern->slots[i] - 1;
        const struct lp_text *text = &intern->texts[id];
        if (intern->hashes[id] == hash && text->len == len && (!len || !memcmp(text->bytes, bytes, len))) return i;
    }
}

static int grow_slots(struct lp_intern *intern)
{
    size_t cap = intern->slot_cap ? intern->slot_cap * 2 : 32;
    uint32_t *slots = lp__calloc(cap, sizeof *slots);
    if (!slots) return LP_ERR_NO_MEMORY;
    for (size_t id = 0; id < intern->count; id++) {
        size_t i = intern->hashes[id] & (cap - 1);
        while (slots[i])
            i = (i + 1) & (cap - 1);
        slots[i] = (uint32_t)(id + 1);
    }
    lp__free(intern->slots);
    intern->slots = slots;
    intern->slot_cap = cap;
    return LP_OK;
}

static int grow_texts(struct lp_intern *intern)
{
    size_t cap = intern->text_cap ? intern->text_cap * 2 : 16;
    struct lp_text *texts = lp__realloc(intern->texts, cap * sizeof *texts);
    if (!texts) return LP_ERR_NO_MEMORY;
    intern->texts = texts;
    uint64_t *hashes = lp__realloc(intern->hashes, cap * sizeof *hashes);
    if (!hashes) return LP_ERR_NO_MEMORY;
    intern->hashes = hashes;
    intern->text_cap = cap;
    return LP_OK;
}

int lp__intern_add(struct lp_intern *intern, const char *bytes, size_t len, uint32_t *id)
{
    uint64_t hash = lp__hash_bytes(bytes, len);
    if (intern->slot_cap) {
        uint32_t found = intern->slots[intern_probe(intern, bytes, len, hash)];
        if (found) {
            *id = found - 1;
            return LP_OK;
        }
    }
    if (intern->count >= UINT32_MAX - 1) return LP_ERR_NO_MEMORY;
    if (intern->count + 1 > intern->slot_cap / 4 * 3 && grow_slots(intern)) return LP_ERR_NO_MEMORY;
    if (intern->count == intern->text_cap && grow_texts(intern)) return LP_ERR_NO_MEMORY;
    char *copy = lp__arena_copy(intern->arena, bytes, len);
    if (!copy) return LP_ERR_NO_MEMORY;
    *id = (uint32_t)intern->count;
    intern->texts[*id] = (struct lp_text){copy, len};
    intern->hashes[*id] = hash;
    intern->slots[intern_probe(intern, bytes, len, hash)] = *id + 1;
    intern->count++;
    return LP_OK;
}

bool lp__intern_find(const struct lp_intern *intern, const char *bytes, size_t len, uint32_t *id)
{
    if (!intern->count) return false;
    uint32_t found = intern->slots[intern_probe(intern, bytes, len, lp__hash_bytes(bytes, len))];
    if (found && id) *id = found - 1;
    return found != 0;
}
