/* Recordings: what they are asked to do, their store, and their life.  See process.c for what a process has once, and
 * thread.c for what each thread has. */
// SPDX-License-Identifier: MIT
#include "collect/recording.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "collect/attempt.h"
#include "collect/facts.h"
#include "collect/internal.h"
#include "collect/name.h"
#include "os/host.h"
#include "os/launch.h"
#include "store/rundir.h"
#include "store/salvage.h"

#define DEFAULT_MAX_PATHS 16384u
#define ARENA_CEILING     ((size_t)512 << 20)

_Atomic(struct lp_recording *) lp__installed;

/* -- opening ----------------------------------------------------------------------------------------------------- */

/* With a NUL behind it; the bytes may hold others. */
char *lp__copy_bytes(const char *bytes, size_t len)
{
    char *copy = lp__alloc(len + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

static char *absolute_path(const char *path)
{
    char cwd[PATH_MAX];
    size_t len;
    char *out;
    if (path[0] == '/' || getcwd(cwd, sizeof cwd) == NULL) return lp__strndup(path, strlen(path));
    len = strlen(cwd) + strlen(path) + 2;
    out = lp__alloc(len);
    if (out) snprintf(out, len, "%s/%s", cwd, path);
    return out;
}

static bool choose_attempt(struct lp_recording *recording, const struct lp_recording_options *options)
{
    struct lp_attempt attempt;
    lp__attempt_choose(&attempt, recording->run_dir, options->attempt, options->family);
    recording->attempt = lp__strndup(attempt.id, strlen(attempt.id));
    recording->attempt_source = lp__strndup(attempt.source, strlen(attempt.source));
    return recording->attempt && recording->attempt_source;
}

static bool copy_facts(struct lp_recording *recording, const char *const *facts)
{
    size_t i;
    for (i = 0; facts && facts[i] && facts[i + 1]; i += 2)
        lp__recording_fact(recording, facts[i], facts[i + 1], strlen(facts[i + 1]));
    return true;
}

static bool copy_options(struct lp_recording *recording, const struct lp_recording_options *options)
{
    const char *role = options->role ? options->role : "main";
    recording->role_len = options->role ? options->role_len : strlen(role);
    recording->role = lp__copy_bytes(role, recording->role_len);
    recording->run_dir = absolute_path(options->run_dir);
    if (options->python) recording->python = lp__strndup(options->python, strlen(options->python));
    recording->no_cpu = options->no_cpu;
    recording->thread_names = options->thread_names;
    recording->thread_name = options->thread_name;
    recording->strict_names = options->strict_names;
    recording->share_group = options->share_group;
    recording->choice = options->store;
    recording->copy_interval_ms = options->copy_interval_ms;
    recording->host_entry_ps = options->host_entry_ps;
    recording->max_paths = options->max_paths ? options->max_paths : DEFAULT_MAX_PATHS;
    return recording->role && recording->run_dir && choose_attempt(recording, options) &&
           copy_facts(recording, options->facts);
}

int lp__recording_open(const struct lp_recording_options *options, struct lp_recording **out, struct lp_error *err)
{
    struct lp_recording *recording;
    *out = NULL;
    if (options->run_dir == NULL || options->run_dir[0] == '\0')
        return lp__fail(err, LP_ERR_USAGE, 0, "no run directory given");
    recording = lp__calloc(1, sizeof *recording);
    if (recording == NULL) return lp__fail(err, LP_ERR_NO_MEMORY, errno, "a recording");
    lp__process_init();
    lp__clock_init(false);
    pthread_mutex_init(&recording->lock, NULL);
    pthread_mutex_init(&recording->copy_lock, NULL);
    pthread_mutex_init(&recording->store.lock, NULL);
    atomic_store(&recording->references, 1);
    lp__arena_init(&recording->arena, ARENA_CEILING);
    lp__map_init(&recording->paths);
    lp__map_init(&recording->shapes);
    lp__map_init(&recording->owners);
    recording->generation = lp__process_generation();
    if (!copy_options(recording, options)) {
        lp__recording_release(recording);
        return lp__fail(err, LP_ERR_NO_MEMORY, errno, "a recording");
    }
    lp__process_add(recording);
    *out = recording;
    return 0;
}

/* -- the store, made at the first record ------------------------------------------------------------------------- */

bool lp__recording_make_store(struct lp_recording *recording)
{
    struct lp_store_options options = {.run_dir = recording->run_dir,
                                       .host = recording->host,
                                       .choice = recording->choice,
                                       .share_group = recording->share_group,
                                       .no_cpu = recording->no_cpu,
                                       .copy_interval_ms = recording->copy_interval_ms};
    struct lp_host_facts host;
    struct lp_error err;
    char safe[104];
    if (recording->store_made) return recording->store.base != NULL;
    recording->store_made = true;
    lp__host_facts(&host);
    snprintf(recording->host, sizeof recording->host, "%s", host.name);
    lp__rundir_safe_name(safe, recording->attempt);
    options.attempt = safe;
    options.pid = (uint32_t)getpid();
    options.pid_start = lp__process_start(getpid());
    memcpy(options.boot_id, host.boot_id, sizeof options.boot_id);
    options.pid_namespace = host.pid_namespace;
    pthread_mutex_destroy(&recording->store.lock);
    if (lp__store_open(&recording->store, &options, &err)) {
        pthread_mutex_init(&recording->store.lock, NULL);
        return false;
    }
    lp__facts_write(recording, &host);
    if (recording->store.place == LP_PLACE_SHM) (void)lp__salvage(recording->run_dir, false);
    return true;
}

void *lp__recording_block(struct lp_recording *recording, size_t bytes)
{
    void *memory;
    pthread_mutex_lock(&recording->lock);
    memory = lp__arena_alloc(&recording->arena, bytes);
    pthread_mutex_unlock(&recording->lock);
    return memory;
}

static bool room_for_name(struct lp_recording *recording, lp_name_id name)
{
    uint32_t cap = recording->name_cap ? recording->name_cap : 64;
    lp_ref *refs;
    if (name < recording->name_cap) return true;
    while (cap <= name)
        cap *= 2;
    refs = lp__realloc(recording->name_refs, cap * sizeof *refs);
    if (refs == NULL) return false;
    memset(refs + recording->name_cap, 0, (cap - recording->name_cap) * sizeof *refs);
    recording->name_refs = refs;
    recording->name_cap = cap;
    return true;
}

lp_ref lp__recording_name_ref(struct lp_recording *recording, lp_name_id name)
{
    size_t len;
    const char *text = lp__name_text(name, &len);
    lp_ref ref = 0;
    pthread_mutex_lock(&recording->lock);
    if (room_for_name(recording, name)) {
        if (recording->name_refs[name] == 0) recording->name_refs[name] = lp__store_name(&recording->store, text, len);
        ref = recording->name_refs[name];
    }
    pthread_mutex_unlock(&recording->lock);
    return ref;
}

bool lp__recording_admit_path(struct lp_recording *recording, uint64_t path)
{
    bool admitted;
    pthread_mutex_lock(&recording->lock);
    admitted = lp__map_get(&recording->paths, path, NULL);
    if (!admitted && recording->paths.count < recording->max_paths)
        admitted = lp__map_put(&recording->paths, path, 1) == 0;
    pthread_mutex_unlock(&recording->lock);
    return admitted;
}

uint32_t lp__recording_note_shape(struct lp_recording *recording, lp_name_id name)
{
    uint64_t shape = lp__name_shape(name), seen = 0, known = 0;
    pthread_mutex_lock(&recording->lock);
    if (!lp__map_get(&recording->shapes, lp__hash_u64(name) | 1, &known)) {
        (void)lp__map_get(&recording->shapes, shape & ~(uint64_t)1, &seen);
        seen++;
        if (lp__map_put(&recording->shapes, shape & ~(uint64_t)1, seen) ||
            lp__map_put(&recording->shapes, lp__hash_u64(name) | 1, 1))
            seen = 0;
    }
    pthread_mutex_unlock(&recording->lock);
    return (uint32_t)seen;
}

/* -- fork, beat, end --------------------------------------------------------------------------------------------- */

/* Nodes and thread states of the parent's stay allocated: the host's objects still point at scopes, those at both. */
static void keep_inherited(struct lp_recording *recording)
{
    struct lp_inherited *inherited = lp__alloc(sizeof *inherited);
    if (inherited) {
        inherited->arena = recording->arena;
        inherited->slabs = recording->slabs;
        inherited->next = recording->inherited;
        recording->inherited = inherited;
    } /* else they are never freed */
    recording->slabs = NULL;
    lp__arena_init(&recording->arena, ARENA_CEILING);
}

/* In the child: own tree, own file, same run.  The parent's thread states were wiped by the kernel; its open scopes are
 * recognised by their generation. */
void lp__recording_after_fork(struct lp_recording *recording)
{
    struct lp_owner *owner;
    size_t i;
    pthread_mutex_init(&recording->lock, NULL);
    pthread_mutex_init(&recording->copy_lock, NULL);
    lp__store_abandon(&recording->store);
    recording->store_made = false;
    recording->threads = recording->free_threads = NULL;
    lp__map_release(&recording->paths);
    for (owner = recording->owner_list; owner; owner = owner->next)
        owner->detached = true;
    lp__map_release(&recording->owners);
    lp__free(recording->name_refs);
    recording->name_refs = NULL;
    recording->name_cap = 0;
    keep_inherited(recording);
    for (i = 0; i < LP_DROP_COUNT; i++)
        atomic_store(&recording->lost[i], 0);
    recording->losses = NULL;
    recording->copied_ns = 0;
    recording->generation = lp__process_generation();
}

void lp__recording_lost(struct lp_recording *recording, enum lp_drop reason)
{
    atomic_fetch_add_explicit(&recording->lost[reason], 1, memory_order_relaxed);
}

/* Into a thread record that belongs to the process.  The lock is held. */
static void write_lost(struct lp_recording *recording)
{
    size_t i;
    for (i = 0; i < LP_DROP_COUNT; i++) {
        if (atomic_load_explicit(&recording->lost[i], memory_order_relaxed) == 0) continue;
        if (recording->losses == NULL) recording->losses = lp__store_thread_record(&recording->store);
        if (recording->losses == NULL) return;
        recording->losses->drops[i] += atomic_exchange_explicit(&recording->lost[i], 0, memory_order_relaxed);
    }
}

/* Heartbeat and what goes with it; false when there is nothing to beat for. */
static bool refresh(struct lp_recording *recording, bool force_pair)
{
    if (recording->store.base == NULL || atomic_load(&recording->closed)) return false;
    write_lost(recording);
    lp__store_heartbeat(&recording->store, force_pair);
    return true;
}

/* The store is not unmapped while somebody holds a reference, so a copy, which may take its time, needs no lock that a
 * record could wait for. */
void lp__recording_beat(struct lp_recording *recording, uint64_t own_cpu_ns)
{
    uint64_t now = lp__mono_ns();
    bool beaten;
    /* Busy making the store or closing: the next beat will do. */
    if (pthread_mutex_trylock(&recording->lock)) return;
    beaten = refresh(recording, false);
    if (beaten) lp__store_header(&recording->store)->own_cpu_ns = own_cpu_ns;
    pthread_mutex_unlock(&recording->lock);
    if (!beaten || now - recording->copied_ns < (uint64_t)recording->store.copy_interval_ms * 1000000u) return;
    if (pthread_mutex_trylock(&recording->copy_lock)) return;
    recording->copied_ns = now;
    (void)lp__store_copy_out(&recording->store);
    pthread_mutex_unlock(&recording->copy_lock);
}

void lp__recording_snapshot(struct lp_recording *recording)
{
    bool beaten;
    lp__process_check_fork();
    pthread_mutex_lock(&recording->copy_lock);
    pthread_mutex_lock(&recording->lock);
    beaten = refresh(recording, true);
    pthread_mutex_unlock(&recording->lock);
    if (beaten) (void)lp__store_copy_out(&recording->store);
    pthread_mutex_unlock(&recording->copy_lock);
}

static void close_once(struct lp_recording *recording)
{
    struct lp_recording *installed = recording;
    if (atomic_compare_exchange_strong(&lp__installed, &installed, NULL)) lp__recording_release(recording);
    lp__process_remove(recording);
    pthread_mutex_lock(&recording->copy_lock); /* the last copy is the last */
    pthread_mutex_lock(&recording->lock);
    for (struct lp_thread *thread = recording->threads; thread; thread = thread->next)
        atomic_store(&thread->recording, NULL);
    if (recording->store.base) {
        write_lost(recording);
        lp__store_finish(&recording->store);
    }
    pthread_mutex_unlock(&recording->lock);
    pthread_mutex_unlock(&recording->copy_lock);
}

/* A reference of our own, since being installed may be the caller's only one. */
void lp__recording_close(struct lp_recording *recording)
{
    int saved = errno;
    lp__process_check_fork();
    lp__recording_retain(recording);
    if (!atomic_exchange(&recording->closed, true)) close_once(recording);
    lp__thread_leave_closed();
    lp__recording_release(recording);
    errno = saved;
}

bool lp__recording_try_retain(struct lp_recording *recording)
{
    unsigned count = atomic_load(&recording->references);
    while (count)
        if (atomic_compare_exchange_weak(&recording->references, &count, count + 1)) return true;
    return false;
}

void lp__recording_retain(struct lp_recording *recording)
{
    atomic_fetch_add(&recording->references, 1);
}

static void free_recording(struct lp_recording *recording)
{
    size_t i;
    while (recording->owner_list) /* they lie in the arena, and the host looks at each once more */
        lp__owner_free(recording->owner_list);
    lp__store_release(&recording->store);
    lp__thread_slabs_free(recording->slabs);
    lp__arena_release(&recording->arena);
    while (recording->inherited) {
        struct lp_inherited *next = recording->inherited->next;
        lp__arena_release(&recording->inherited->arena);
        lp__thread_slabs_free(recording->inherited->slabs);
        lp__free(recording->inherited);
        recording->inherited = next;
    }
    lp__process_leave_scopes(recording);
    lp__map_release(&recording->paths);
    lp__map_release(&recording->shapes);
    while (recording->owner_list)
        lp__owner_free(recording->owner_list);
    lp__map_release(&recording->owners);
    lp__free(recording->name_refs);
    for (i = 0; i < recording->fact_count; i++) {
        lp__free(recording->facts[i].key);
        lp__free(recording->facts[i].value);
    }
    lp__free(recording->facts);
    lp__free(recording->run_dir);
    lp__free(recording->role);
    lp__free(recording->attempt);
    lp__free(recording->attempt_source);
    lp__free(recording->python);
    pthread_mutex_destroy(&recording->lock);
    pthread_mutex_destroy(&recording->copy_lock);
    lp__free(recording);
}

void lp__recording_release(struct lp_recording *recording)
{
    int saved;
    if (atomic_fetch_sub(&recording->references, 1) != 1) return;
    saved = errno;
    lp__process_check_fork();
    if (!atomic_exchange(&recording->closed, true)) close_once(recording);
    free_recording(recording);
    errno = saved;
}

void lp__install(struct lp_recording *recording)
{
    struct lp_recording *before;
    if (recording) lp__recording_retain(recording);
    before = atomic_exchange(&lp__installed, recording);
    if (before) lp__recording_release(before);
}
