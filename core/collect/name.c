/* The process's table of names.  It only grows, and only by names that became part of a tree, so the ceiling on paths
 * bounds it; texts stay valid for ever, so readers of a text need no lock. */
// SPDX-License-Identifier: MIT
#include "collect/name.h"

#include <pthread.h>

#include "base/arena.h"
#include "base/map.h"
#include "store/layout.h"

#define TABLE_CEILING ((size_t)1 << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lp_arena arena = {.ceiling = TABLE_CEILING};
static struct lp_intern table = {.arena = &arena};

void lp__name_lock(void)
{
    pthread_mutex_lock(&lock);
}

void lp__name_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void lp__name_renew_lock(void)
{
    pthread_mutex_init(&lock, NULL);
}

lp_name_id lp__name_register(const char *bytes, size_t len)
{
    uint32_t id = 0;
    int rc;
    if (len > LP_MAX_NAME_BYTES) return 0;
    lp__name_lock();
    rc = lp__intern_add(&table, bytes, len, &id);
    lp__name_unlock();
    return rc ? 0 : id + 1;
}

lp_name_id lp__name_find(const char *bytes, size_t len)
{
    uint32_t id = 0;
    bool found;
    lp__name_lock();
    found = lp__intern_find(&table, bytes, len, &id);
    lp__name_unlock();
    return found ? id + 1 : 0;
}

const char *lp__name_text(lp_name_id name, size_t *len)
{
    struct lp_text text = {"", 0};
    lp__name_lock();
    if (name && name <= table.count) text = table.texts[name - 1];
    lp__name_unlock();
    *len = text.len;
    return text.bytes;
}

uint64_t lp__name_shape(lp_name_id name)
{
    size_t len, i;
    const char *text = lp__name_text(name, &len);
    uint64_t hash = 0;
    for (i = 0; i < len; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (digit && i && text[i - 1] >= '0' && text[i - 1] <= '9') continue;
        hash = lp__hash_u64(hash * 31 + (digit ? (uint64_t)'#' : (uint64_t)(unsigned char)text[i]) + 1);
    }
    return hash;
}
