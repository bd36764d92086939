/* What may be asked of a recording, and the facts that are told to it.  Everything here looks first whether this is the
 * child of a fork: until that has recorded, the store at hand would be its parent's. */
// SPDX-License-Identifier: MIT
#include "collect/recording.h"

#include <errno.h>
#include <string.h>

#include "collect/internal.h"

const char *lp__recording_run_dir(const struct lp_recording *recording)
{
    return recording->run_dir;
}

const char *lp__recording_attempt(const struct lp_recording *recording)
{
    return recording->attempt;
}

const char *lp__recording_path(const struct lp_recording *recording)
{
    lp__process_check_fork();
    return recording->store_made ? recording->store.path : "";
}

bool lp__recording_is_open(const struct lp_recording *recording)
{
    return !atomic_load(&recording->closed);
}

bool lp__recording_no_cpu(const struct lp_recording *recording)
{
    return recording->no_cpu;
}

bool lp__recording_is_strict(const struct lp_recording *recording)
{
    return recording->strict_names;
}

bool lp__recording_is_full(struct lp_recording *recording)
{
    bool full;
    lp__process_check_fork();
    pthread_mutex_lock(&recording->lock);
    full = recording->paths.count >= recording->max_paths;
    pthread_mutex_unlock(&recording->lock);
    return full;
}

const char *lp__recording_role(const struct lp_recording *recording, size_t *len)
{
    *len = recording->role_len;
    return recording->role;
}

uint64_t lp__recording_write_failures(const struct lp_recording *recording)
{
    lp__process_check_fork();
    return recording->store.base ? lp__store_header(&recording->store)->write_failures : 0;
}

int lp__recording_copy(struct lp_recording *recording, void **bytes, uint64_t *len, struct lp_error *err)
{
    int rc = 0;
    *bytes = NULL;
    *len = 0;
    lp__process_check_fork();
    pthread_mutex_lock(&recording->lock);
    if (recording->store.base) {
        *len = lp__store_header(&recording->store)->tiled_bytes;
        if (!atomic_load(&recording->closed)) lp__store_heartbeat(&recording->store, false);
        *bytes = lp__alloc(*len);
        if (*bytes)
            lp__store_read_live(*bytes, recording->store.base, *len);
        else
            rc = lp__fail(err, LP_ERR_NO_MEMORY, errno, "a copy of the store");
    }
    pthread_mutex_unlock(&recording->lock);
    return rc;
}

/* The place of a key's value, made when new; NULL without memory. */
static struct lp_kept_fact *fact_place(struct lp_recording *recording, const char *key)
{
    size_t i;
    struct lp_kept_fact *facts;
    char *copy;
    for (i = 0; i < recording->fact_count; i++)
        if (!strcmp(recording->facts[i].key, key)) return &recording->facts[i];
    facts = lp__realloc(recording->facts, (recording->fact_count + 1) * sizeof *facts);
    if (facts == NULL) return NULL;
    recording->facts = facts;
    copy = lp__strndup(key, strlen(key));
    if (copy == NULL) return NULL;
    facts[recording->fact_count] = (struct lp_kept_fact){.key = copy};
    return &facts[recording->fact_count++];
}

/* Keeps it for the children of forks, and writes it if there is a file. */
void lp__recording_fact(struct lp_recording *recording, const char *key, const char *value, size_t len)
{
    struct lp_kept_fact *place;
    lp__process_check_fork();
    pthread_mutex_lock(&recording->lock);
    place = fact_place(recording, key);
    if (place) {
        lp__free(place->value);
        place->value = lp__copy_bytes(value, len);
        place->len = len;
    }
    if (recording->store.base) lp__store_fact(&recording->store, key, value, len);
    pthread_mutex_unlock(&recording->lock);
}

static void count_suspended(struct lp_owner *owner, void *arg)
{
    if (owner->suspended) *(uint32_t *)arg += owner->scopes;
}

uint32_t lp__recording_open_scopes(struct lp_recording *recording, struct lp_thread *thread)
{
    uint32_t count = 0;
    struct lp_scope *scope;
    if (thread)
        for (scope = thread->top; scope != &thread->root_scope; scope = scope->below)
            count += scope->state == LP_SCOPE_RUNNING;
    lp__owner_each(recording, count_suspended, &count);
    return count;
}
