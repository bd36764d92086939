/* Thread states: finding the calling thread's one, making it at its first record, handing it on when the thread goes.
 * The states lie in slabs that the kernel zeroes in the child of a fork, so nothing of the parent's is ever written
 * there. */
// SPDX-License-Identifier: MIT
#include "collect/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/book.h"
#include "collect/internal.h"
#include "collect/phase.h"
#include "collect/record.h"

#define SLAB_BYTES 16384

__thread struct lp_thread *lp__tls_thread __attribute__((tls_model("initial-exec")));
static __thread struct lp_thread *states __attribute__((tls_model("initial-exec"))); /* by next_of_thread */
static __thread uint32_t states_generation __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* -- slabs ------------------------------------------------------------------------------------------------------- */

struct lp_thread_slab {
    struct lp_thread_slab *next;
    uint8_t *memory;
    size_t used;
};

static struct lp_thread_slab *new_slab(struct lp_recording *recording)
{
    struct lp_thread_slab *slab = lp__calloc(1, sizeof *slab);
    void *memory;
    if (slab == NULL) return NULL;
    memory = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        lp__free(slab);
        return NULL;
    }
    (void)madvise(memory, SLAB_BYTES, MADV_WIPEONFORK); /* where that fails, the fork handler forgets them */
    slab->memory = memory;
    slab->next = recording->slabs;
    recording->slabs = slab;
    return slab;
}

struct lp_thread *lp__thread_slab_take(struct lp_recording *recording)
{
    struct lp_thread_slab *slab = recording->slabs;
    size_t size = (sizeof(struct lp_thread) + 63) / 64 * 64;
    struct lp_thread *thread;
    if (slab == NULL || slab->used + size > SLAB_BYTES) slab = new_slab(recording);
    if (slab == NULL) return NULL;
    thread = (struct lp_thread *)(void *)(slab->memory + slab->used);
    slab->used += size;
    return thread;
}

void lp__thread_slabs_free(struct lp_thread_slab *slabs)
{
    struct lp_thread_slab *next;
    for (; slabs; slabs = next) {
        next = slabs->next;
        munmap(slabs->memory, SLAB_BYTES);
        lp__free(slabs);
    }
}

unsigned lp__thread_slab_count(const struct lp_recording *recording)
{
    const struct lp_thread_slab *slab;
    unsigned count = 0;
    for (slab = recording->slabs; slab; slab = slab->next)
        count++;
    return count;
}

/* -- attaching --------------------------------------------------------------------------------------------------- */

static bool init_state(struct lp_recording *recording, struct lp_thread *thread)
{
    thread->home = recording;
    thread->map.base = recording->store.base;
    if (thread->record == NULL) thread->record = lp__store_thread_record(&recording->store);
    if (thread->record == NULL) return false;
    thread->random = lp__ticks() | 1;
    if (thread->root == NULL) thread->root = lp__tree_root(thread);
    if (thread->root == NULL) return false;
    thread->record->root = lp__store_ref(&recording->store, thread->root->record);
    thread->root_scope.flags = LP_SCOPE_ROOT;
    thread->root_scope.state = LP_SCOPE_RUNNING;
    thread->root_scope.thread = thread;
    thread->top = &thread->root_scope;
    pthread_mutex_lock(&recording->lock);
    thread->next = recording->threads;
    recording->threads = thread;
    pthread_mutex_unlock(&recording->lock);
    return true;
}

static void put_back(struct lp_recording *recording, struct lp_thread *thread)
{
    pthread_mutex_lock(&recording->lock);
    thread->next_free = recording->free_threads;
    recording->free_threads = thread;
    pthread_mutex_unlock(&recording->lock);
}

static lp_name_id thread_name(const struct lp_recording *recording)
{
    char name[32] = "";
    lp_name_id given = recording->thread_name ? recording->thread_name() : 0;
    if (given) return given;
    if (pthread_getname_np(pthread_self(), name, sizeof name) || name[0] == '\0') return 0;
    return lp__name_register(name, strlen(name));
}

/* The thread's present name becomes the parent of its phases. */
void lp__thread_set_name(struct lp_thread *thread, lp_name_id name)
{
    struct lp_tree_node *node = name ? lp__tree_thread_node(thread, name) : NULL;
    thread->base = node ? node : thread->root;
    thread->root_scope.node = thread->base;
}

static void start_tenancy(struct lp_recording *recording, struct lp_thread *thread)
{
    struct lp_thread_record *record = thread->record;
    record->tid = (uint32_t)syscall(SYS_gettid);
    record->tenants++;
    memset(&thread->cpu, 0, sizeof thread->cpu);
    if (recording->no_cpu)
        thread->cpu.fresh_until = UINT64_MAX; /* the file says that CPU was not measured: read nothing */
    thread->host = NULL;
    thread->generation = recording->generation;
    thread->base = thread->root;
    thread->root_scope.node = thread->root;
    thread->root_scope.generation = thread->generation;
    if (recording->thread_names) lp__thread_set_name(thread, thread_name(recording));
    record->attached_ticks = record->last_ticks = lp__ticks();
}

/* Adds up what the tenant did and leaves the state for the next one. */
static void end_tenancy(struct lp_thread *thread)
{
    struct lp_recording *recording = thread->home;
    struct lp_thread_record *record = thread->record;
    uint64_t now;
    struct lp_cpu_time cpu;
    lp__read_clocks(thread, &now, &cpu);
    (void)lp__stack_end_all(thread, now, cpu);
    record->elapsed += lp__elapsed(record->attached_ticks, now);
    record->attached_ticks = 0;
    record->last_ticks = now;
    atomic_store_explicit(&thread->recording, NULL, memory_order_relaxed);
    put_back(recording, thread);
    lp__recording_release(recording);
}

/* Runs in C only: a thread may end after the interpreter has gone. */
static void thread_exits(void *arg)
{
    struct lp_thread *thread = states, *next;
    (void)arg;
    if (states_generation != lp__process_generation()) thread = NULL;
    states = NULL;
    lp__tls_thread = NULL;
    for (; thread; thread = next) {
        next = thread->next_of_thread;
        if (thread->home && atomic_load(&thread->home->closed) == false)
            end_tenancy(thread);
        else if (thread->home)
            lp__recording_release(thread->home);
    }
}

void lp__thread_leave_closed(void)
{
    struct lp_thread **link = &states;
    if (states_generation != lp__process_generation()) states = NULL;
    while (*link) {
        struct lp_thread *thread = *link;
        if (!atomic_load(&thread->home->closed)) {
            link = &thread->next_of_thread;
            continue;
        }
        *link = thread->next_of_thread;
        if (lp__tls_thread == thread) lp__tls_thread = NULL;
        lp__recording_release(thread->home);
    }
}

static void make_exit_key(void)
{
    (void)pthread_key_create(&exit_key, thread_exits);
}

static void join_states(struct lp_thread *thread)
{
    (void)pthread_once(&exit_once, make_exit_key);
    (void)pthread_setspecific(exit_key, &exit_key); /* any non-NULL value: the destructor reads the list itself */
    thread->next_of_thread = states;
    states = thread;
    states_generation = thread->generation;
}

/* A state without a tenant, or a new one.  NULL: no memory, no store, or closed. */
static struct lp_thread *take_state(struct lp_recording *recording)
{
    struct lp_thread *thread = NULL;
    pthread_mutex_lock(&recording->lock);
    if (!atomic_load(&recording->closed) && lp__recording_make_store(recording)) {
        thread = recording->free_threads;
        if (thread)
            recording->free_threads = thread->next_free;
        else
            thread = lp__thread_slab_take(recording);
    }
    pthread_mutex_unlock(&recording->lock);
    return thread;
}

/* `recording` may be a pointer that went stale since it was read.  The tenant holds a reference. */
static struct lp_thread *attach(struct lp_recording *recording)
{
    struct lp_thread *thread;
    lp__thread_leave_closed();
    if (!lp__process_retain(recording)) return NULL;
    thread = take_state(recording);
    if (thread && thread->top == NULL && !init_state(recording, thread)) {
        put_back(recording, thread); /* with what it has got so far: the next try goes on from there */
        thread = NULL;
    }
    if (thread == NULL) {
        lp__recording_lost(recording, LP_DROP_NO_SPACE);
        lp__recording_release(recording);
        return NULL;
    }
    start_tenancy(recording, thread);
    join_states(thread);
    return thread;
}

/* -- finding ----------------------------------------------------------------------------------------------------- */

struct lp_thread *lp__thread_find(struct lp_recording *recording)
{
    struct lp_thread *thread;
    lp__process_check_fork();
    if (states_generation != lp__process_generation()) states = NULL;
    for (thread = states; thread; thread = thread->next_of_thread)
        if (thread->home == recording) return thread;
    return NULL;
}

static bool measures_cpu(const struct lp_thread *thread)
{
    return thread->cpu.fresh_until != UINT64_MAX;
}

/* From here on the hot path finds this state.  Only one state of an OS thread can tell whether that was switched out
 * since a reading of its CPU time: the one used last, so the reading goes along. */
static void switch_to(struct lp_thread *thread)
{
    struct lp_thread *from = lp__tls_thread;
    lp__tls_thread = thread;
    if (from == thread || !measures_cpu(thread)) return;
    if (from && measures_cpu(from))
        thread->cpu = from->cpu;
    else
        thread->cpu.rseq_field = NULL; /* the next reading is a real one */
}

/* False when the recording was closed meanwhile.  Sequentially consistent with lp__recording_close: either that sees
 * the pointer and clears it, or we see the mark. */
static bool point_at(struct lp_thread *thread, struct lp_recording *recording)
{
    atomic_store(&thread->recording, recording);
    switch_to(thread);
    if (!atomic_load(&recording->closed)) return true;
    atomic_store(&thread->recording, NULL);
    return false;
}

struct lp_thread *lp__thread_slow(struct lp_recording *recording)
{
    int saved = errno;
    struct lp_thread *thread = recording ? lp__thread_find(recording) : NULL;
    if (thread && atomic_load_explicit(&thread->recording, memory_order_relaxed) == recording) {
        switch_to(thread); /* a thread that records into several */
        return thread;
    }
    if (recording) {
        if (thread == NULL) thread = attach(recording);
        if (thread && !point_at(thread, recording)) thread = NULL;
        if (thread) lp__background_start();
    }
    errno = saved;
    return thread;
}

/* Counts an end that closed nothing, without making a thread state for it. */
static bool end_of_nothing(struct lp_recording *recording, enum lp_drop reason)
{
    struct lp_thread *thread = lp__thread_find(recording);
    if (thread)
        lp__drop(thread, reason);
    else
        lp__recording_lost(recording, reason);
    return false;
}

bool lp__scope_is_open(const struct lp_scope *scope, uint64_t serial)
{
    return scope->generation == lp__process_generation() && scope->serial == serial &&
           lp__scope_state(scope) != LP_SCOPE_IDLE;
}

bool lp__end_handle(struct lp_recording *recording, struct lp_scope *scope, uint64_t serial)
{
    struct lp_thread *thread;
    if (!lp__scope_is_open(scope, serial)) {
        bool inherited = scope->generation != lp__process_generation();
        return end_of_nothing(recording, inherited ? LP_DROP_END_INHERITED : LP_DROP_END_WITHOUT_BEGIN);
    }
    thread = lp__thread_of(recording);
    if (thread == NULL) return false;
    lp__end(thread, scope);
    return true;
}
