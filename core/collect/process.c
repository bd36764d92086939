/* What a process has one of: the list of its recordings, the knowledge of having been forked, and the background
 * thread.
 *
 * The background thread runs without any signal, is stopped before each fork and started again by the next record, so
 * that neither a child nor the interpreter's count of threads ever sees it.  A page that the kernel zeroes in the child
 * of any fork, also one that runs no handlers, says that the process is a new one. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "collect/internal.h"
#include "collect/name.h"

#define BEAT_NS     1000000000u
#define STACK_BYTES (128 * 1024)

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lp_recording *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t *alive; /* in a page of its own, wiped by fork; NULL when the kernel cannot */
static uint32_t alive_stand_in = 1;
static uint32_t generation = 1;

static pthread_mutex_t background_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t background_wake;
static pthread_t background;
static atomic_bool background_runs;
static bool background_stop;

/* -- the background thread --------------------------------------------------------------------------------------- */

static void beat(struct lp_recording *recording, void *arg)
{
    (void)arg;
    lp__recording_beat(recording);
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
    (void)pthread_setname_np(pthread_self(), "lineprofiler");
    while (wait_for_beat())
        lp__process_each(beat, NULL);
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
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

void lp__background_start(void)
{
    if (atomic_load_explicit(&background_runs, memory_order_relaxed)) return;
    pthread_mutex_lock(&list_lock);
    if (list && !atomic_load(&background_runs)) {
        background_stop = false;
        if (create_thread() == 0) atomic_store(&background_runs, true);
    }
    pthread_mutex_unlock(&list_lock);
}

/* The list's lock is *not* held: the thread takes it for its beat. */
static void stop_background(void)
{
    if (!atomic_exchange(&background_runs, false)) return;
    pthread_mutex_lock(&background_lock);
    background_stop = true;
    pthread_cond_signal(&background_wake);
    pthread_mutex_unlock(&background_lock);
    pthread_join(background, NULL);
}

/* -- fork -------------------------------------------------------------------------------------------------------- */

static void lock_recording(struct lp_recording *recording, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&recording->lock);
    pthread_mutex_lock(&recording->store.lock);
}

static void unlock_recording(struct lp_recording *recording, void *arg)
{
    (void)arg;
    pthread_mutex_unlock(&recording->store.lock);
    pthread_mutex_unlock(&recording->lock);
}

static void send_the_slow_way(struct lp_recording *recording, void *arg)
{
    struct lp_thread *thread;
    unlock_recording(recording, arg);
    for (thread = recording->threads; thread; thread = thread->next)
        atomic_store_explicit(&thread->recording, NULL, memory_order_relaxed);
}

static void each_locked(void (*visit)(struct lp_recording *recording, void *arg))
{
    struct lp_recording *recording;
    for (recording = list; recording; recording = recording->next)
        visit(recording, NULL);
}

static void before_fork(void)
{
    stop_background();
    pthread_mutex_lock(&list_lock);
    each_locked(lock_recording);
    lp__name_lock();
}

/* Every thread's next record goes the slow way once, which starts the background thread again. */
static void after_fork_in_parent(void)
{
    lp__name_unlock();
    each_locked(send_the_slow_way);
    pthread_mutex_unlock(&list_lock);
}

/* No more than making the locks usable: everything else waits for the child's first record. */
static void after_fork_in_child(void)
{
    lp__name_unlock();
    each_locked(unlock_recording);
    pthread_mutex_unlock(&list_lock);
    alive_stand_in = 0;
    lp__tls_thread = NULL;
}

static void start_again(struct lp_recording *recording, void *arg)
{
    (void)arg;
    lp__recording_after_fork(recording);
}

static bool is_alive(void)
{
    return alive ? __atomic_load_n(alive, __ATOMIC_RELAXED) != 0 : alive_stand_in != 0;
}

void lp__process_check_fork(void)
{
    if (__builtin_expect(is_alive(), 1)) return;
    generation++;
    if (alive) *alive = 1;
    alive_stand_in = 1;
    atomic_store(&background_runs, false);
    pthread_mutex_init(&list_lock, NULL);
    pthread_mutex_init(&background_lock, NULL);
    lp__clock_init(true);
    each_locked(start_again);
}

uint32_t lp__process_generation(void)
{
    lp__process_check_fork();
    return generation;
}

/* -- start and end ----------------------------------------------------------------------------------------------- */

/* exit() without close(): a normal end. */
static void at_exit(void)
{
    struct lp_recording *recording;
    if (!is_alive()) return;
    stop_background();
    while ((recording = list) != NULL)
        lp__recording_close(recording);
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
        alive = page;
        *alive = 1;
    }
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    atexit(at_exit);
}

void lp__process_add(struct lp_recording *recording)
{
    pthread_once(&once, init_once);
    lp__process_check_fork();
    pthread_mutex_lock(&list_lock);
    recording->next = list;
    list = recording;
    pthread_mutex_unlock(&list_lock);
}

void lp__process_remove(struct lp_recording *recording)
{
    struct lp_recording **link;
    bool empty;
    pthread_mutex_lock(&list_lock);
    for (link = &list; *link && *link != recording; link = &(*link)->next) {
    }
    if (*link) *link = recording->next;
    empty = list == NULL;
    pthread_mutex_unlock(&list_lock);
    if (empty) stop_background();
}

void lp__process_each(void (*visit)(struct lp_recording *recording, void *arg), void *arg)
{
    struct lp_recording *recording;
    pthread_mutex_lock(&list_lock);
    for (recording = list; recording; recording = recording->next)
        visit(recording, arg);
    pthread_mutex_unlock(&list_lock);
}
