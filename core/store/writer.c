/* Makes and grows worker files.  Knows the layout and the system, nothing of phases.  Every function that can run in
 * the middle of user code keeps errno.  Invariants: [0, mapped) is backed by allocated blocks; segments tile
 * [512, tiled_bytes); `lock` is held wherever `tiled_bytes` or a process-owned segment changes. */
// SPDX-License-Identifier: MIT
#include "store/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/crc.h"
#include "base/map.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"
#include "store/backing.h"
#include "store/rundir.h"

#define FIRST_BYTES      (64u * 1024)
#define GROWTH_MAX       ((uint64_t)16 << 20)
#define CEILING          ((uint64_t)256 << 20)
#define CEILING_MIN      ((uint64_t)1 << 20)
#define REFUSAL_PAUSE_NS 1000000000u
#define CLOCK_SPACING_NS 1000000000u

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* -- growth ------------------------------------------------------------------------------------------------------ */

static uint64_t grown_size(const struct lp_store *store, uint64_t needed)
{
    uint64_t size = store->mapped ? store->mapped : FIRST_BYTES;
    while (size < needed)
        size += size < GROWTH_MAX ? size : GROWTH_MAX;
    return size < store->reserved ? size : store->reserved;
}

static void note_failure(struct lp_store *store, int sys_errno)
{
    struct lp_file_header *header = lp__store_header(store);
    header->write_failures++;
    header->grow_errno = (uint64_t)sys_errno;
}

/* By doubling; where that is refused, by as little as will do. */
static int extend(struct lp_store *store, uint64_t needed)
{
    uint64_t size = grown_size(store, needed), least = round_up(needed, FIRST_BYTES);
    int rc = lp__backing_extend(store, store->mapped, size);
    if (rc && least < size && store->reserved >= least) {
        size = least;
        rc = lp__backing_extend(store, store->mapped, size);
    }
    if (rc) return rc;
    store->mapped = size;
    lp__store_header(store)->file_bytes = size;
    return 0;
}

/* A refusal is counted, and not asked for again within a second; one by our own ceiling costs no call, so that a
 * smaller request may follow at once. */
static int grow_to(struct lp_store *store, uint64_t needed)
{
    uint64_t now = lp__mono_ns();
    int rc;
    if (needed > store->reserved) {
        if (store->mapped && now - store->too_big_at >= REFUSAL_PAUSE_NS) note_failure(store, store->ceiling_errno);
        if (now - store->too_big_at >= REFUSAL_PAUSE_NS) store->too_big_at = now;
        return -store->ceiling_errno;
    }
    if (store->grow_refused_at && now - store->grow_refused_at < REFUSAL_PAUSE_NS) return -EAGAIN;
    rc = extend(store, needed);
    if (rc && store->mapped) note_failure(store, -rc);
    store->grow_refused_at = rc ? now : 0;
    return rc;
}

static struct lp_segment_header *segment_locked(struct lp_store *store, enum lp_segment_type type, uint32_t thread,
                                                uint32_t record_bytes, uint64_t payload)
{
    struct lp_file_header *header = lp__store_header(store);
    uint64_t capacity = round_up(sizeof(struct lp_segment_header) + payload, LP_SEGMENT_ALIGN);
    uint64_t at = header->tiled_bytes;
    struct lp_segment_header *segment;
    if (at + capacity > store->mapped && grow_to(store, at + capacity)) return NULL;
    segment = (struct lp_segment_header *)(void *)(store->base + at);
    segment->type = (uint16_t)type;
    segment->version = 1;
    segment->thread = thread;
    segment->record_bytes = record_bytes;
    segment->offset = at;
    segment->capacity = capacity;
    segment->magic = LP_SEGMENT_MAGIC;
    segment->check = lp__crc32c(0, segment, offsetof(struct lp_segment_header, check));
    header->tiled_bytes = at + capacity;
    return segment;
}

struct lp_segment_header *lp__store_segment(struct lp_store *store, enum lp_segment_type type, uint32_t thread,
                                            uint32_t record_bytes, uint64_t payload)
{
    struct lp_segment_header *segment;
    int saved = errno;
    pthread_mutex_lock(&store->lock);
    segment = segment_locked(store, type, thread, record_bytes, payload);
    pthread_mutex_unlock(&store->lock);
    errno = saved;
    return segment;
}

/* Room for one record in a process-owned segment, adding a segment when the present one is full. */
static void *process_record(struct lp_store *store, struct lp_segment_header **current, enum lp_segment_type type,
                            uint32_t record_bytes, uint64_t bytes)
{
    void *record = lp__segment_next(*current, bytes);
    struct lp_segment_header *segment;
    uint64_t payload;
    if (record) return record;
    payload = *current ? ((*current)->capacity * 2 < 65536 ? (*current)->capacity * 2 : 65536) : 4000;
    if (payload < bytes) payload = bytes;
    segment = segment_locked(store, type, 0, record_bytes, payload);
    if (segment == NULL) return NULL;
    *current = segment;
    return lp__segment_next(segment, bytes);
}

/* -- opening ----------------------------------------------------------------------------------------------------- */

static void fill_header(struct lp_store *store, const struct lp_store_options *options)
{
    struct lp_file_header *header = lp__store_header(store);
    struct lp_clock_pair pair = lp__clock_pair();
    header->version = LP_FILE_VERSION;
    header->header_bytes = sizeof *header;
    header->pid = options->pid;
    header->pid_start = options->pid_start;
    memcpy(header->boot_id, options->boot_id, sizeof header->boot_id);
    header->pid_namespace = options->pid_namespace;
    header->created_ticks = header->heartbeat_ticks = pair.ticks;
    header->created_mono_ns = header->heartbeat_mono_ns = pair.mono_ns;
    header->created_real_ns = header->heartbeat_real_ns = pair.real_ns;
    header->wall_clock = (uint32_t)lp__clock.wall;
    header->cpu_clock = (uint32_t)(options->no_cpu ? LP_CPU_NONE : lp__clock.cpu);
    header->place = (uint32_t)store->place;
    header->copy_interval_ms = store->place == LP_PLACE_RUN_DIR ? 0 : store->copy_interval_ms;
    header->file_bytes = store->mapped;
    header->tiled_bytes = sizeof *header;
    header->state = LP_STATE_RUNNING;
    header->check = lp__crc32c(lp__crc32c(0, &header->version, 8), &header->pid, LP_FILE_CHECKED_END - 20);
}

static bool make_process_segments(struct lp_store *store)
{
    store->facts = segment_locked(store, LP_SEGMENT_FACTS, 0, 0, 4000);
    store->clock = segment_locked(store, LP_SEGMENT_CLOCK, 0, sizeof(struct lp_clock_record),
                                  LP_CLOCK_RECORDS * sizeof(struct lp_clock_record));
    store->names = segment_locked(store, LP_SEGMENT_NAMES, 0, 0, 4000);
    store->threads = segment_locked(store, LP_SEGMENT_THREADS, 0, sizeof(struct lp_thread_record),
                                    15 * sizeof(struct lp_thread_record));
    return store->facts && store->clock && store->names && store->threads;
}

static int reserve_addresses(struct lp_store *store, uint64_t ceiling)
{
    uint64_t bytes = round_up(ceiling ? ceiling : CEILING, FIRST_BYTES);
    void *at;
    do
        at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    while (at == MAP_FAILED && (bytes = round_up(bytes / 2, FIRST_BYTES)) >= CEILING_MIN);
    if (at == MAP_FAILED) return LP_ERR_NO_MEMORY;
    store->base = at;
    store->reserved = bytes;
    store->ceiling_errno = EFBIG;
    return 0;
}

/* Tries one place; true when the store has its first bytes there. */
static bool try_place(struct lp_store *store, const struct lp_store_options *options, enum lp_store_place place)
{
    store->place = place;
    store->mapped = 0;
    if (lp__backing_create(store, options)) return false;
    if (grow_to(store, FIRST_BYTES) == 0) return true;
    lp__backing_remove(store);
    if (place == LP_PLACE_RUN_DIR && store->why_not_run_dir[0] == '\0')
        store->why_not_run_dir = "the system refuses it space";
    store->grow_refused_at = 0;
    if (store->reserved == 0) (void)reserve_addresses(store, options->ceiling_bytes);
    return false;
}

static int choose_place(struct lp_store *store, const struct lp_store_options *options)
{
    enum lp_store_choice choice = options->choice;
    if (choice == LP_STORE_AUTO || choice == LP_STORE_RUN_DIR)
        if (try_place(store, options, LP_PLACE_RUN_DIR)) return 0;
    if (choice == LP_STORE_PRIVATE) return try_place(store, options, LP_PLACE_MEMORY) ? 0 : LP_ERR_NO_MEMORY;
    lp__backing_name_copy(store);
    if (choice != LP_STORE_MEMORY && try_place(store, options, LP_PLACE_SHM)) return 0;
    return try_place(store, options, LP_PLACE_MEMORY) ? 0 : LP_ERR_NO_MEMORY;
}

int lp__store_open(struct lp_store *store, const struct lp_store_options *options, struct lp_error *err)
{
    int saved = errno, rc;
    memset(store, 0, sizeof *store);
    pthread_mutex_init(&store->lock, NULL);
    store->run_dir = options->run_dir;
    store->host = options->host;
    lp__backing_choose_name(store, options);
    store->copy_interval_ms = options->copy_interval_ms ? options->copy_interval_ms : 1000;
    store->share_group = options->share_group;
    store->insists = options->choice == LP_STORE_RUN_DIR;
    store->is_private = options->choice == LP_STORE_PRIVATE;
    store->why_not_run_dir = "";
    store->clock_spacing_ns = CLOCK_SPACING_NS;
    rc = reserve_addresses(store, options->ceiling_bytes);
    if (rc == 0) rc = choose_place(store, options);
    if (rc == 0) {
        fill_header(store, options);
        if (!make_process_segments(store)) rc = LP_ERR_NO_SPACE;
    }
    if (rc) {
        lp__store_release(store);
        errno = saved;
        return lp__fail(err, (enum lp_err)rc, 0, "no memory for a store of %u KiB", FIRST_BYTES / 1024);
    }
    lp__store_heartbeat(store, true);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(lp__store_header(store)->magic, LP_FILE_MAGIC, 8);
    errno = saved;
    return 0;
}

void lp__store_release(struct lp_store *store)
{
    if (store->base) munmap(store->base, store->reserved);
    store->base = NULL;
    store->reserved = store->mapped = 0;
    pthread_mutex_destroy(&store->lock);
}

void lp__store_abandon(struct lp_store *store)
{
    if (store->base) munmap(store->base, store->reserved);
    memset(store, 0, sizeof *store);
    pthread_mutex_init(&store->lock, NULL);
}

/* -- process-owned records --------------------------------------------------------------------------------------- */

lp_ref lp__store_name(struct lp_store *store, const char *text, size_t len)
{
    uint64_t bytes = round_up(sizeof(struct lp_name_record) + len, 8);
    struct lp_name_record *record;
    lp_ref ref = 0;
    int saved = errno;
    if (len > LP_MAX_NAME_BYTES) return 0;
    pthread_mutex_lock(&store->lock);
    record = process_record(store, &store->names, LP_SEGMENT_NAMES, 0, bytes);
    if (record) {
        record->bytes = (uint32_t)len;
        record->check = (uint32_t)lp__hash_bytes(text, len);
        memcpy(record + 1, text, len);
        lp__segment_commit(store->names, bytes);
        ref = lp__store_ref(store, record);
    }
    pthread_mutex_unlock(&store->lock);
    errno = saved;
    return ref;
}

struct lp_thread_record *lp__store_thread_record(struct lp_store *store)
{
    struct lp_thread_record *record;
    int saved = errno;
    pthread_mutex_lock(&store->lock);
    record = process_record(store, &store->threads, LP_SEGMENT_THREADS, sizeof *record, sizeof *record);
    if (record) {
        record->index = store->thread_count++;
        lp__segment_commit(store->threads, sizeof *record);
    }
    pthread_mutex_unlock(&store->lock);
    errno = saved;
    return record;
}

void lp__store_fact(struct lp_store *store, const char *key, const char *value, size_t len)
{
    size_t key_len = strlen(key);
    uint64_t bytes = round_up(sizeof(struct lp_fact) + key_len + len, 8);
    struct lp_fact *fact;
    int saved = errno;
    if (key_len > 255 || len > 65536) return;
    pthread_mutex_lock(&store->lock);
    fact = process_record(store, &store->facts, LP_SEGMENT_FACTS, 0, bytes);
    if (fact) {
        fact->key_bytes = (uint16_t)key_len;
        fact->value_bytes = (uint32_t)len;
        memcpy(fact + 1, key, key_len);
        memcpy((char *)(fact + 1) + key_len, value, len);
        lp__segment_commit(store->facts, bytes);
    }
    pthread_mutex_unlock(&store->lock);
    errno = saved;
}

/* -- heartbeat and end ------------------------------------------------------------------------------------------- */

/* Keeps every second pair and doubles the spacing, so that 64 records span any length of run evenly. */
static void thin_clock_records(struct lp_store *store, struct lp_clock_record *records)
{
    size_t i;
    for (i = 1; 2 * i < LP_CLOCK_RECORDS; i++)
        records[i] = records[2 * i];
    memset(&records[i], 0, (LP_CLOCK_RECORDS - i) * sizeof *records);
    store->clock->used = i * sizeof *records;
    store->clock_spacing_ns *= 2;
}

static void put_clock_pair(struct lp_clock_record *record, const struct lp_clock_pair *pair)
{
    record->ticks = pair->ticks;
    record->mono_ns = pair->mono_ns;
    record->real_ns = pair->real_ns;
    record->check = pair->ticks ^ pair->mono_ns ^ pair->real_ns ^ LP_CLOCK_CHECK;
}

/* A pair that is not due yet (of a snapshot, of the end) stands last until the next one takes its place: however many
 * there are, those that are due stay evenly spaced. */
static void add_clock_pair(struct lp_store *store, const struct lp_clock_pair *pair, bool due)
{
    struct lp_clock_record *records = (struct lp_clock_record *)(void *)(store->clock + 1);
    bool replaces = store->clock_is_early;
    if (!replaces && store->clock->used >= LP_CLOCK_RECORDS * sizeof *records) thin_clock_records(store, records);
    put_clock_pair(&records[store->clock->used / sizeof *records - (replaces ? 1 : 0)], pair);
    if (!replaces) lp__segment_commit(store->clock, sizeof *records);
    store->clock_is_early = !due;
    if (due) store->clock_last_ns = pair->mono_ns;
}

void lp__store_heartbeat(struct lp_store *store, bool force_pair)
{
    struct lp_file_header *header = lp__store_header(store);
    struct lp_clock_pair pair = lp__clock_pair();
    bool due;
    pthread_mutex_lock(&store->lock);
    header->heartbeat_ticks = pair.ticks;
    header->heartbeat_mono_ns = pair.mono_ns;
    header->heartbeat_real_ns = pair.real_ns;
    due = pair.mono_ns - store->clock_last_ns >= store->clock_spacing_ns;
    if (force_pair || due) add_clock_pair(store, &pair, due);
    pthread_mutex_unlock(&store->lock);
}

__attribute__((no_sanitize("thread"))) void lp__store_read_live(void *into, const void *from, uint64_t len)
{
    uint64_t *out = into, i;
    const uint64_t *in = from;
    for (i = 0; i < len / 8; i++)
        out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

int lp__store_copy_out(struct lp_store *store)
{
    uint64_t bytes;
    int rc, saved = errno;
    if (store->place == LP_PLACE_RUN_DIR || store->is_private) return 0;
    pthread_mutex_lock(&store->lock);
    bytes = lp__store_header(store)->tiled_bytes;
    pthread_mutex_unlock(&store->lock);
    rc = lp__backing_copy(store, bytes);
    errno = saved;
    if (rc == 0) return 0;
    pthread_mutex_lock(&store->lock);
    note_failure(store, -rc);
    pthread_mutex_unlock(&store->lock);
    return LP_ERR_IO;
}

void lp__store_finish(struct lp_store *store)
{
    struct lp_file_header *header = lp__store_header(store);
    int saved = errno;
    lp__store_heartbeat(store, true);
    header->closed_ticks = header->heartbeat_ticks;
    __atomic_store_n(&header->state, LP_STATE_FINISHED, __ATOMIC_RELEASE);
    if ((lp__store_copy_out(store) == 0 || store->stray) && store->place == LP_PLACE_SHM) lp__backing_remove(store);
    errno = saved;
}
