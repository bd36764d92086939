/* What a process has one of: the list of its recordings, the knowledge of having been forked, and the background
 * thread.
 *
 * The background thread runs without any signal, is stopped before each fork and started again by the next record, so
 * that neither a child nor the interpreter's count of threads ever sees it.  A page that the kernel zeroes in the child
 * of any fork, also one that runs no handlers, says that the process is a new one.
 *
 * Locks, in the order in which they are taken: life (starting and stopping the thread, and the whole of a fork), list,
 * a recording's, its store's, names.  The thread takes the list's only to walk it, and never life. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/internal.h"
#include "collect/lines.h"
#include "collect/name.h"

#define BEAT_NS     1000000000u
#define STACK_BYTES (128 * 1024)

#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lp_recording *list; /* newest first */
static uint64_t last_serial;
static struct lp_scope_block *left_scopes; /* of recordings that were freed; the list's lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;

enum life { LIFE_NEW = 0 /* in the child of a fork */, LIFE_ALIVE = 1, LIFE_WAKING = 2 };
static uint32_t life_stand_in = LIFE_ALIVE; /* where no page can be had that fork wipes */
static uint32_t *life = &life_stand_in;     /* else a page of its own, wiped by fork */
static THREAD_LOCAL bool waking;            /* this thread is the one that makes the child ready */
static THREAD_LOCAL bool fork_has_locks;
static uint32_t generation = 1;

static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t background_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t background_wake;
static pthread_t background;
static atomic_int background_tid;
static atomic_bool background_runs; /* written under life_lock */
static bool background_stop;
static THREAD_LOCAL bool is_background;
static uint64_t background_cpu_ns; /* of the threads that have been stopped */

/* -- the background thread --------------------------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
    struct timespec own;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own)) return 0;
    return (uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec;
}

static void beat(struct lp_recording *recording, void *arg)
{
    (void)arg;
    lp__recording_beat(recording, background_cpu_ns + own_cpu_ns());
}

static bool wait_for_beat(void)
{
    struct timespec until;
    bool stop;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += BEAT_NS / 1000000000u;
    pthread_mutex_lock(&background_lock);
    while (!background_stop && pthread_cond_timedwait(&background_wake, &background_lock, &until) == 0) {
    }
    stop = background_stop;
    pthread_mutex_unlock(&background_lock);
    return !stop;
}

static void *run_background(void *arg)
{
    (void)arg;
    is_background = true;
    atomic_store(&background_tid, (int)syscall(SYS_gettid));
    (void)pthread_setname_np(pthread_self(), "lineprofiler");
    while (wait_for_beat())
        lp__process_each(beat, NULL);
    background_cpu_ns += own_cpu_ns();
    return NULL;
}

static int create_thread(void)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int rc;
    pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&background, &attr, run_background, NULL);
    /* Thread-local variables of the program count against the stack; with many of them the small one is refused. */
    if (rc == EINVAL) rc = pthread_create(&background, NULL, run_background, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

static bool have_recordings(void)
{
    bool any;
    pthread_mutex_lock(&list_lock);
    any = list != NULL;
    pthread_mutex_unlock(&list_lock);
    return any;
}

void lp__background_start(void)
{
    if (atomic_load_explicit(&background_runs, memory_order_relaxed)) return;
    pthread_mutex_lock(&life_lock);
    if (!atomic_load(&background_runs) && have_recordings()) {
        background_stop = false;
        atomic_store(&background_tid, 0);
        atomic_store(&background_runs, create_thread() == 0);
    }
    pthread_mutex_unlock(&life_lock);
}

/* A joined thread may still be in the kernel's list of threads for a moment, where CPython would count it. */
static void wait_until_gone(int tid)
{
    int tries;
    for (tries = 0; tid && tries < 10000 && syscall(SYS_tgkill, getpid(), tid, 0) == 0; tries++)
        sched_yield();
}

/* Life's lock is held, the list's is not: the thread takes it for its beat. */
static void stop_background(void)
{
    if (!atomic_exchange(&background_runs, false)) return;
    pthread_mutex_lock(&background_lock);
    background_stop = true;
    pthread_cond_signal(&background_wake);
    pthread_mutex_unlock(&background_lock);
    pthread_join(background, NULL);
    wait_until_gone(atomic_load(&background_tid));
}

/* -- fork -------------------------------------------------------------------------------------------------------- */

static void lock_recording(struct lp_recording *recording)
{
    pthread_mutex_lock(&recording->lock);
    pthread_mutex_lock(&recording->store.lock);
}

static void unlock_recording(struct lp_recording *recording)
{
    pthread_mutex_unlock(&recording->store.lock);
    pthread_mutex_unlock(&recording->lock);
}

/* Every thread's next record goes the slow way once, which starts the background thread again. */
static void send_the_slow_way(struct lp_recording *recording)
{
    struct lp_thread *thread;
    for (thread = recording->threads; thread; thread = thread->next)
        atomic_store_explicit(&thread->recording, NULL, memory_order_relaxed);
    unlock_recording(recording);
}

static void each_locked(void (*visit)(struct lp_recording *recording))
{
    struct lp_recording *recording;
    for (recording = list; recording; recording = recording->next)
        visit(recording);
}

static bool is_alive(void)
{
    return __atomic_load_n(life, __ATOMIC_ACQUIRE) == LIFE_ALIVE;
}

/* In a child that has not recorded yet there is nothing to hold still, and after a raw clone a lock may never open. */
static void before_fork(void)
{
    int saved = errno;
    fork_has_locks = is_alive();
    if (!fork_has_locks) return;
    pthread_mutex_lock(&life_lock);
    stop_background();
    pthread_mutex_lock(&list_lock);
    each_locked(lock_recording);
    lp__name_lock();
    errno = saved;
}

static void after_fork_in_parent(void)
{
    if (!fork_has_locks) return;
    lp__name_unlock();
    each_locked(send_the_slow_way);
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_unlock(&life_lock);
}

/* No more than making the locks usable: everything else waits for the child's first record. */
static void after_fork_in_child(void)
{
    __atomic_store_n(life, LIFE_NEW, __ATOMIC_RELEASE); /* again: an emulator says that it wipes, and does not */
    lp__tls_thread = NULL;
    lp__tls_lines = NULL;
    if (!fork_has_locks) return;
    lp__name_unlock();
    each_locked(unlock_recording);
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_unlock(&life_lock);
}

/* The child of a raw clone may find any lock taken by a thread that it does not have. */
static void renew_locks(void)
{
    pthread_mutex_init(&life_lock, NULL);
    pthread_mutex_init(&list_lock, NULL);
    pthread_mutex_init(&background_lock, NULL);
    lp__name_renew_lock();
}

/* The first thread of the child that comes here does the work; others wait for it. */
static void wake_up(void)
{
    uint32_t state = LIFE_NEW;
    if (waking) return; /* called from below */
    if (!__atomic_compare_exchange_n(life, &state, LIFE_WAKING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(life, __ATOMIC_ACQUIRE) == LIFE_WAKING)
            sched_yield();
        return;
    }
    waking = true;
    generation++;
    atomic_store(&background_runs, false);
    background_cpu_ns = 0;
    renew_locks();
    lp__clock_init(true);
    each_locked(lp__recording_after_fork);
    waking = false;
    __atomic_store_n(life, LIFE_ALIVE, __ATOMIC_RELEASE);
}

void lp__process_check_fork(void)
{
    int saved;
    if (__builtin_expect(is_alive(), 1)) return;
    saved = errno;
    wake_up();
    errno = saved;
}

uint32_t lp__process_generation(void)
{
    lp__process_check_fork();
    return generation;
}

/* -- start and end ----------------------------------------------------------------------------------------------- */

static struct lp_recording *take_older_than(uint64_t serial)
{
    struct lp_recording *recording;
    pthread_mutex_lock(&list_lock);
    for (recording = list; recording; recording = recording->next)
        if (recording->serial < serial && lp__recording_try_retain(recording)) break;
    pthread_mutex_unlock(&list_lock);
    return recording;
}

/* exit() without close(): a normal end. */
static void at_exit(void)
{
    struct lp_recording *recording;
    uint64_t serial;
    if (!is_alive()) return;
    pthread_mutex_lock(&life_lock);
    stop_background();
    pthread_mutex_unlock(&life_lock);
    for (serial = UINT64_MAX; (recording = take_older_than(serial)) != NULL;) {
        serial = recording->serial;
        lp__recording_close(recording);
        lp__recording_release(recording);
    }
}

static void init_once(void)
{
    pthread_condattr_t attr;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&background_wake, &attr);
    pthread_condattr_destroy(&attr);
    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0) {
        *(uint32_t *)page = LIFE_ALIVE;
        life = page;
    }
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    atexit(at_exit);
}

void lp__process_init(void)
{
    int saved = errno;
    (void)pthread_once(&once, init_once);
    errno = saved;
    lp__process_check_fork();
}

void lp__process_add(struct lp_recording *recording)
{
    pthread_mutex_lock(&list_lock);
    recording->serial = ++last_serial;
    recording->next = list;
    list = recording;
    pthread_mutex_unlock(&list_lock);
}

void lp__process_remove(struct lp_recording *recording)
{
    struct lp_recording **link;
    pthread_mutex_lock(&list_lock);
    for (link = &list; *link && *link != recording; link = &(*link)->next) {
    }
    if (*link) *link = recording->next;
    pthread_mutex_unlock(&list_lock);
    if (is_background) return; /* it had the last reference, and cannot wait for itself */
    pthread_mutex_lock(&life_lock);
    if (!have_recordings()) stop_background();
    pthread_mutex_unlock(&life_lock);
}

bool lp__process_retain(struct lp_recording *recording)
{
    struct lp_recording *at;
    bool retained;
    pthread_mutex_lock(&list_lock);
    for (at = list; at && at != recording; at = at->next) {
    }
    retained = at && lp__recording_try_retain(at);
    pthread_mutex_unlock(&list_lock);
    return retained;
}

void lp__process_each(void (*visit)(struct lp_recording *recording, void *arg), void *arg)
{
    struct lp_recording *recording;
    uint64_t serial;
    for (serial = UINT64_MAX; (recording = take_older_than(serial)) != NULL;) {
        serial = recording->serial;
        visit(recording, arg);
        lp__recording_release(recording);
    }
}

/* -- scopes ------------------------------------------------------------------------------------------------------ */

struct lp_scope_block *lp__process_take_scopes(struct lp_recording *recording)
{
    struct lp_scope_block *block;
    pthread_mutex_lock(&list_lock);
    block = left_scopes;
    if (block) left_scopes = block->next;
    pthread_mutex_unlock(&list_lock);
    if (block == NULL) block = lp__calloc(1, sizeof *block);
    if (block == NULL) return NULL;
    pthread_mutex_lock(&recording->lock);
    block->next = recording->scopes;
    recording->scopes = block;
    pthread_mutex_unlock(&recording->lock);
    return block;
}

/* A handle of a scope that was still open must find another serial. */
static void retire(struct lp_scope *scope)
{
    __atomic_store_n(&scope->state, LP_SCOPE_IDLE, __ATOMIC_RELAXED);
    scope->serial++;
    scope->owner = NULL;
    scope->thread = NULL;
}

void lp__process_leave_scopes(struct lp_recording *recording)
{
    while (recording->scopes) {
        struct lp_scope_block *block = recording->scopes;
        size_t i;
        recording->scopes = block->next;
        for (i = 0; i < LP_SCOPES_PER_BLOCK; i++)
            retire(&block->scopes[i]);
        pthread_mutex_lock(&list_lock);
        block->next = left_scopes;
        left_scopes = block;
        pthread_mutex_unlock(&list_lock);
    }
}
