/* This copy's table: the C API's calls on this copy's installed recording. */
// SPDX-License-Identifier: MIT
#include "collect/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/entry.h"
#include "collect/name.h"
#include "os/objects.h"

_Atomic(const struct lp_table *) lp__other_table;
static _Atomic(struct lp_recording *) started; /* by start(), which alone stop() may end; a reference */

static bool is_valid(const struct lp_table *table)
{
    return memcmp(table->magic, LP_TABLE_MAGIC, sizeof table->magic) == 0 && table->version == LP_TABLE_VERSION &&
           table->bytes >= sizeof *table;
}

static void meet(const struct lp_table *recorder)
{
    if (recorder != &lp_table_1) atomic_store_explicit(&lp__other_table, recorder, memory_order_release);
}

static bool introduce(const void *symbol, void *arg)
{
    const struct lp_table *table = symbol;
    (void)arg;
    if (is_valid(table)) table->meet(&lp_table_1);
    return false;
}

void lp__table_announce(void)
{
    lp__objects_each("lp_table_1", &lp_table_1, introduce, NULL);
}

/* Takes the first, and goes on until one records. */
static bool note(const void *symbol, void *arg)
{
    const struct lp_table *table = symbol, **found = arg;
    if (!is_valid(table)) return false;
    if (*found == NULL || table->is_recording()) *found = table;
    return table->is_recording() != 0;
}

void lp__table_look(void)
{
    const struct lp_table *found = NULL;
    if (atomic_load_explicit(&lp__other_table, memory_order_acquire)) return;
    lp__objects_each("lp_table_1", &lp_table_1, note, &found);
    if (found) meet(found);
}

static const char *or_environment(const char *given, const char *variable, const char *otherwise)
{
    const char *value = given ? given : secure_getenv(variable);
    return value && (given || value[0]) ? value : otherwise;
}

/* So that programs it starts record into the same run.  What is set already was meant so, unless by ourselves, for an
 * earlier recording. */
static void tell_children(const struct lp_recording *recording)
{
    static atomic_bool ours;
    int saved = errno;
    if (secure_getenv("LINEPROFILER_RUN_DIR") == NULL) atomic_store(&ours, true);
    (void)setenv("LINEPROFILER_RUN_DIR", lp__recording_run_dir(recording), atomic_load(&ours));
    (void)setenv("LINEPROFILER_RUN_ID", lp__recording_attempt(recording), 0);
    errno = saved;
}

static int start(const char *run_dir, const char *role)
{
    struct lp_recording_options options = {0};
    struct lp_recording *recording;
    int rc;
    if (atomic_load(&lp__installed)) return 0;
    options.run_dir = or_environment(run_dir, "LINEPROFILER_RUN_DIR", "profile");
    options.role = or_environment(role, "LINEPROFILER_ROLE", "main");
    options.role_len = strlen(options.role);
    rc = lp__recording_open(&options, &recording, NULL);
    if (rc) return rc;
    tell_children(recording);
    lp__install(recording);
    recording = atomic_exchange(&started, recording);
    if (recording) lp__recording_release(recording);
    lp__table_announce();
    return 0;
}

static void stop(void)
{
    struct lp_recording *recording = atomic_exchange(&started, NULL);
    if (recording == NULL) return;
    lp__recording_close(recording);
    lp__recording_release(recording);
}

static int is_recording(void)
{
    return atomic_load_explicit(&lp__installed, memory_order_relaxed) != NULL;
}

static lp_token phase_begin(lp_name name)
{
    return lp__entry_begin(name);
}

static void phase_end(lp_token token)
{
    lp__entry_end(token.scope, token.serial);
}

static void count(lp_name name, int64_t n)
{
    lp__entry_count(name, n);
}

const struct lp_table lp_table_1 = {
    .magic = LP_TABLE_MAGIC,
    .bytes = sizeof(struct lp_table),
    .version = LP_TABLE_VERSION,
    .start = start,
    .stop = stop,
    .is_recording = is_recording,
    .name_register = lp__name_register,
    .phase_begin = phase_begin,
    .phase_end = phase_end,
    .count = count,
    .meet = meet,
};
