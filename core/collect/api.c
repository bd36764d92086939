/* The public C API (include/lineprofiler.h): each call goes to the copy of the core in this process that records.
 *
 * That is another one's — the Python extension's — when it is loaded and records, else our own.  It is looked for when
 * a name is registered, which each place of a program does once, and at lp_start; a copy that is found stays found. */
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "collect/name.h"
#include "collect/table.h"
#include "os/objects.h"

#define NAMES_TRANSLATED 65536u

static _Atomic(const struct lp_table *) other;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(lp_name *) translated; /* our number of a name -> the other copy's; 0 not asked yet */

static bool is_valid(const struct lp_table *table)
{
    return memcmp(table->magic, LP_TABLE_MAGIC, sizeof table->magic) == 0 && table->version == LP_TABLE_VERSION &&
           table->bytes >= sizeof *table;
}

static void look_for_other(void)
{
    const struct lp_table *found;
    if (atomic_load_explicit(&other, memory_order_acquire)) return;
    found = lp__objects_find("lp_table_1", &lp_table_1);
    if (found && is_valid(found)) atomic_store_explicit(&other, found, memory_order_release);
}

/* The other copy when it records, else NULL: our own. */
static inline const struct lp_table *recording_other(void)
{
    const struct lp_table *table = atomic_load_explicit(&other, memory_order_acquire);
    return __builtin_expect(table != NULL, 0) && table->is_recording() ? table : NULL;
}

static lp_name translate_slow(const struct lp_table *table, lp_name name)
{
    size_t len;
    const char *text = lp__name_text(name, &len);
    lp_name theirs = table->name_register(text, len), *map;
    if (name >= NAMES_TRANSLATED) return theirs;
    pthread_mutex_lock(&lock);
    map = atomic_load_explicit(&translated, memory_order_relaxed);
    if (map == NULL) map = lp__calloc(NAMES_TRANSLATED, sizeof *map);
    if (map) __atomic_store_n(&map[name], theirs, __ATOMIC_RELAXED);
    atomic_store_explicit(&translated, map, memory_order_release);
    pthread_mutex_unlock(&lock);
    return theirs;
}

static inline lp_name translate(const struct lp_table *table, lp_name name)
{
    lp_name *map = atomic_load_explicit(&translated, memory_order_acquire), theirs = 0;
    if (map && name < NAMES_TRANSLATED) theirs = __atomic_load_n(&map[name], __ATOMIC_RELAXED);
    return theirs ? theirs : translate_slow(table, name);
}

const char *lp_version(void)
{
    return LP_VERSION;
}

int lp_start(const char *run_dir, const char *role)
{
    const struct lp_table *table;
    look_for_other();
    table = atomic_load_explicit(&other, memory_order_acquire);
    return (table ? table : &lp_table_1)->start(run_dir, role);
}

void lp_stop(void)
{
    const struct lp_table *table = recording_other();
    (table ? table : &lp_table_1)->stop();
}

lp_name lp_name_register_n(const char *bytes, size_t len)
{
    look_for_other();
    return lp__name_register(bytes, len);
}

lp_name lp_name_register(const char *text)
{
    return text ? lp_name_register_n(text, strlen(text)) : 0;
}

lp_token lp_phase_begin(lp_name name)
{
    const struct lp_table *table = recording_other();
    if (__builtin_expect(table != NULL, 0)) return table->phase_begin(name ? translate(table, name) : 0);
    return lp_table_1.phase_begin(name);
}

void lp_phase_end(lp_token token)
{
    const struct lp_table *table = token.recorder; /* the copy that began it */
    if (table) table->phase_end(token);
}

void lp_count(lp_name name, int64_t n)
{
    const struct lp_table *table = recording_other();
    if (__builtin_expect(table != NULL, 0))
        table->count(name ? translate(table, name) : 0, n);
    else
        lp_table_1.count(name, n);
}

void lp_signal(lp_name channel, const char *key)
{
    (void)channel;
    (void)key;
}

void lp_wait_on(lp_name channel, const char *key)
{
    (void)channel;
    (void)key;
}
