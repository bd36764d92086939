/* The public C API (include/lineprofiler.h): each call goes to the copy of the core in this process that records.
 *
 * That is another one's — the Python extension's — when it is loaded and records, else our own.  It is looked for when
 * a name is registered, which each place of a program does once, and at lp_start; a copy that begins to record later
 * makes itself known (collect/table.h). */
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "collect/entry.h"
#include "collect/name.h"

#define NAMES_TRANSLATED 65536u

/* Our number of a name -> another copy's; 0 not asked yet.  One for each copy there ever was, the latest first. */
struct dictionary {
    const struct lp_table *of;
    struct dictionary *older;
    lp_name theirs[NAMES_TRANSLATED];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct dictionary *) dictionaries;

/* The other copy when it records, else NULL: our own. */
static inline const struct lp_table *recording_other(void)
{
    const struct lp_table *table = atomic_load_explicit(&lp__other_table, memory_order_acquire);
    return __builtin_expect(table != NULL, 0) && table->is_recording() ? table : NULL;
}

static inline struct dictionary *find_dictionary(const struct lp_table *table)
{
    struct dictionary *found = atomic_load_explicit(&dictionaries, memory_order_acquire);
    while (found && found->of != table)
        found = found->older;
    return found;
}

static struct dictionary *add_dictionary(const struct lp_table *table)
{
    struct dictionary *added = lp__calloc(1, sizeof *added);
    if (added == NULL) return NULL;
    added->of = table;
    added->older = atomic_load_explicit(&dictionaries, memory_order_relaxed);
    atomic_store_explicit(&dictionaries, added, memory_order_release);
    return added;
}

/* Without memory for a dictionary each call asks anew. */
static lp_name translate_slow(const struct lp_table *table, lp_name name)
{
    size_t len;
    const char *text = lp__name_text(name, &len);
    lp_name theirs = table->name_register(text, len);
    struct dictionary *dictionary;
    if (name >= NAMES_TRANSLATED) return theirs;
    pthread_mutex_lock(&lock);
    dictionary = find_dictionary(table);
    if (dictionary == NULL) dictionary = add_dictionary(table);
    if (dictionary) __atomic_store_n(&dictionary->theirs[name], theirs, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return theirs;
}

static inline lp_name translate(const struct lp_table *table, lp_name name)
{
    struct dictionary *dictionary = find_dictionary(table);
    lp_name theirs = 0;
    if (dictionary && name < NAMES_TRANSLATED) theirs = __atomic_load_n(&dictionary->theirs[name], __ATOMIC_RELAXED);
    return theirs ? theirs : translate_slow(table, name);
}

const char *lp_version(void)
{
    return LP_VERSION;
}

int lp_start(const char *run_dir, const char *role)
{
    const struct lp_table *table;
    lp__table_look();
    table = atomic_load_explicit(&lp__other_table, memory_order_acquire);
    return (table ? table : &lp_table_1)->start(run_dir, role);
}

void lp_stop(void)
{
    const struct lp_table *table = recording_other();
    if (table) table->stop();
    lp_table_1.stop();
}

/* Programs in C++ may register a name at each construction: what is known costs no search of the loaded objects. */
lp_name lp_name_register_n(const char *bytes, size_t len)
{
    lp_name known = lp__name_find(bytes, len);
    if (known) return known;
    lp__table_look();
    return lp__name_register(bytes, len);
}

lp_name lp_name_register(const char *text)
{
    return text ? lp_name_register_n(text, strlen(text)) : 0;
}

/* Another copy is there.  A function of its own, so that the usual case saves no register for it. */
static __attribute__((noinline)) lp_token begin_elsewhere(const struct lp_table *table, lp_name name)
{
    if (!table->is_recording()) return lp__entry_begin_slow(name);
    return table->phase_begin(name ? translate(table, name) : 0);
}

lp_token lp_phase_begin(lp_name name)
{
    const struct lp_table *table = atomic_load_explicit(&lp__other_table, memory_order_acquire);
    if (__builtin_expect(table != NULL, 0)) return begin_elsewhere(table, name);
    return lp__entry_begin(name);
}

void lp_phase_end(lp_token token)
{
    const struct lp_table *table = token.recorder; /* the copy that began it */
    if (__builtin_expect(table == &lp_table_1, 1))
        lp__entry_end(token.scope, token.serial);
    else if (table)
        table->phase_end(token);
}

void lp_count(lp_name name, int64_t n)
{
    const struct lp_table *table = recording_other();
    if (__builtin_expect(table != NULL, 0))
        table->count(name ? translate(table, name) : 0, n);
    else
        lp__entry_count(name, n);
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
