/* malloc behind one door.  The countdown is one atomic number: below zero it is off, at zero everything fails,
 * above it each allocation takes one away. */
// SPDX-License-Identifier: MIT
#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Half a terabyte: a request above it is a size gone wrong, and is refused before the system, or a sanitizer, sees it.
 */
static const size_t largest = SIZE_MAX / (SIZE_MAX > UINT32_MAX ? (size_t)1 << 25 : 2);

/* Relaxed throughout: the number guards nothing but itself. */
static atomic_long successes_left = -1;

static bool must_fail(void)
{
    long left = atomic_load_explicit(&successes_left, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&successes_left, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return false;
    return left == 0;
}

void lp__mem_fail_after(long successes)
{
    atomic_store_explicit(&successes_left, successes < 0 ? -1 : successes, memory_order_relaxed);
}

void *lp__alloc(size_t bytes)
{
    return must_fail() || bytes > largest ? NULL : malloc(bytes ? bytes : 1);
}

void *lp__calloc(size_t count, size_t bytes)
{
    if (must_fail() || (bytes && count > largest / bytes)) return NULL;
    return count && bytes ? calloc(count, bytes) : calloc(1, 1);
}

void *lp__realloc(void *old, size_t bytes)
{
    return must_fail() || bytes > largest ? NULL : realloc(old, bytes ? bytes : 1);
}

char *lp__strndup(const char *text, size_t bytes)
{
    size_t len = strnlen(text, bytes);
    char *copy = len == SIZE_MAX ? NULL : lp__alloc(len + 1);
    if (!copy) return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void lp__free(void *memory)
{
    free(memory);
}
