/* Which line threads the calling OS thread has: one per active session, made or taken over when it first records.
 *
 * The hot path compares one number, the version of the set of active sessions; a start, a stop and a fork (which wipes
 * the tenants) send every thread the slow way once.  Locks: this file's, then a recording's. */
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/lines_internal.h"

#define FIRST_FRAMES    64u
#define SETTLE_EVERY_NS 500000000u /* what a kill may cost of the time of calls that had not ended */
#define SLAB_BYTES      4096u
#define THREAD_LOCAL    __thread __attribute__((tls_model("initial-exec")))

THREAD_LOCAL struct lp_line_tenant *lp__tls_lines;
_Atomic(uint64_t) lp__lines_version = 1; /* written under the lock; a thread that reads an old one is told next time */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lp_line_session *active;
static uint32_t known_generation;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Tenants lie in slabs that the kernel zeroes in the child of a fork; a tenant of a thread that has gone is used
 * again. */
struct tenant_slab {
    struct lp_line_tenant *tenants;
    uint32_t used;
};
static struct tenant_slab slab;
static struct lp_line_tenant *free_tenants[SLAB_BYTES / sizeof(struct lp_line_tenant)];
static uint32_t free_tenant_count;

void lp__lines_lock(void)
{
    pthread_mutex_lock(&lock);
}

void lp__lines_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* -- fork -------------------------------------------------------------------------------------------------------- */

static void forget_threads(struct lp_line_session *session)
{
    session->threads = NULL; /* the parent's; its frames are not ours any more */
    session->segment = NULL;
    session->generation = known_generation;
}

/* The lock may have been held by a thread that is not there any more. */
static void renew(uint32_t generation)
{
    struct lp_line_session *session;
    pthread_mutex_init(&lock, NULL);
    slab.tenants = NULL;
    free_tenant_count = 0;
    known_generation = generation;
    lp__tls_lines = NULL;
    atomic_fetch_add(&lp__lines_version, 1);
    for (session = active; session; session = session->next)
        forget_threads(session);
}

void lp__lines_check_fork(struct lp_line_session *session)
{
    uint32_t generation = lp__process_generation();
    if (known_generation != generation) renew(generation);
    if (session && session->generation != generation) forget_threads(session);
}

/* -- tenants ----------------------------------------------------------------------------------------------------- */

static struct lp_line_tenant *new_tenant(void)
{
    void *memory;
    if (free_tenant_count) return free_tenants[--free_tenant_count];
    if (slab.tenants == NULL || slab.used == SLAB_BYTES / sizeof *slab.tenants) {
        memory = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return NULL;
        (void)madvise(memory, SLAB_BYTES, MADV_WIPEONFORK);
        slab.tenants = memory;
        slab.used = 0;
    }
    return &slab.tenants[slab.used++];
}

static void leave_all(struct lp_line_tenant *tenant)
{
    struct lp_line_session *session;
    struct lp_line_thread *thread;
    uint64_t now = lp__ticks();
    for (session = active; session; session = session->next) {
        for (thread = session->threads; thread; thread = thread->next) {
            if (thread->tenant != tenant) continue;
            lp__line_unwind(thread, now);
            thread->tenant = NULL;
        }
    }
}

/* Runs in C only: a thread may end after the interpreter has gone. */
static void thread_exits(void *arg)
{
    struct lp_line_tenant *tenant = lp__tls_lines;
    (void)arg;
    lp__tls_lines = NULL;
    if (tenant == NULL || known_generation != lp__process_generation()) return;
    lp__lines_lock();
    leave_all(tenant);
    memset(tenant, 0, sizeof *tenant);
    if (free_tenant_count < sizeof free_tenants / sizeof *free_tenants) free_tenants[free_tenant_count++] = tenant;
    lp__lines_unlock();
}

static void make_exit_key(void)
{
    (void)pthread_key_create(&exit_key, thread_exits);
}

/* -- line threads ------------------------------------------------------------------------------------------------ */

static void free_thread(struct lp_line_thread *thread)
{
    struct lp_line_view *view, *next;
    for (view = thread->views; view; view = next) {
        next = view->next;
        lp__free(view->tables);
        lp__free(view);
    }
    lp__free(thread->frames);
    lp__free(thread);
}

void lp__line_threads_free(struct lp_line_session *session)
{
    struct lp_line_thread *thread = session->threads, *next;
    session->threads = NULL;
    for (; thread; thread = next) {
        next = thread->next;
        free_thread(thread);
    }
}

static struct lp_line_thread *make_thread(struct lp_line_session *session)
{
    struct lp_line_thread *thread = lp__calloc(1, sizeof *thread);
    if (thread == NULL) return NULL;
    thread->session = session;
    thread->data = session->data;
    thread->frames = lp__calloc(FIRST_FRAMES, sizeof *thread->frames);
    thread->owner = lp__thread_of(session->recording);
    if (thread->frames == NULL || thread->owner == NULL || lp__line_view(thread, 0) == NULL) {
        free_thread(thread);
        return NULL;
    }
    thread->limit = thread->frames + FIRST_FRAMES;
    thread->base = session->recording->store.base;
    thread->settle_every = lp__clock.wall == LP_WALL_MONOTONIC ? SETTLE_EVERY_NS : (uint64_t)SETTLE_EVERY_NS * 2;
    thread->next = session->threads;
    session->threads = thread;
    return thread;
}

static void begin_tenancy(struct lp_line_thread *thread, struct lp_line_tenant *tenant)
{
    struct lp_line_frame *base = thread->frames;
    memset(base, 0, sizeof *base);
    memset(&thread->outside, 0, sizeof thread->outside);
    base->slots = base->current = &thread->outside;
    base->view = lp__line_view(thread, 0);
    thread->top = base;
    thread->tenant = tenant;
    thread->last = thread->settled = lp__ticks();
}

/* The tenant's own state in a session, an idle one, or a new one. */
static struct lp_line_thread *thread_for(struct lp_line_session *session, struct lp_line_tenant *tenant)
{
    struct lp_line_thread *thread, *idle = NULL;
    if (session->generation != known_generation) forget_threads(session);
    for (thread = session->threads; thread; thread = thread->next) {
        if (thread->tenant == tenant) return thread;
        if (thread->tenant == NULL) idle = thread;
    }
    if (idle == NULL) idle = make_thread(session);
    if (idle) begin_tenancy(idle, tenant);
    return idle;
}

static void collect_threads(struct lp_line_tenant *tenant)
{
    struct lp_line_session *session;
    tenant->first = NULL;
    for (session = active; session; session = session->next) {
        struct lp_line_thread *thread = thread_for(session, tenant);
        if (thread == NULL) {
            lp__recording_lost(session->recording, LP_DROP_LINES_NO_SPACE);
            continue;
        }
        thread->next_of_tenant = tenant->first;
        tenant->first = thread;
    }
}

struct lp_line_thread *lp__lines_slow(void)
{
    struct lp_line_tenant *tenant;
    struct lp_line_thread *first = NULL;
    lp__lines_check_fork(NULL);
    (void)pthread_once(&exit_once, make_exit_key);
    lp__lines_lock();
    tenant = lp__tls_lines ? lp__tls_lines : new_tenant();
    if (tenant) {
        lp__tls_lines = tenant;
        (void)pthread_setspecific(exit_key, &exit_key);
        collect_threads(tenant);
        tenant->version = atomic_load(&lp__lines_version);
        first = tenant->first;
    }
    lp__lines_unlock();
    return first;
}

/* -- sessions start and stop ------------------------------------------------------------------------------------- */

void lp__lines_activate(struct lp_line_session *session)
{
    lp__lines_check_fork(session);
    lp__lines_lock();
    session->next = active;
    active = session;
    atomic_fetch_add(&lp__lines_version, 1);
    lp__lines_unlock();
}

void lp__lines_deactivate(struct lp_line_session *session)
{
    struct lp_line_session **link;
    struct lp_line_thread *thread;
    uint64_t now = lp__ticks();
    lp__lines_check_fork(session);
    lp__lines_lock();
    for (link = &active; *link && *link != session; link = &(*link)->next) {
    }
    if (*link) *link = session->next;
    atomic_fetch_add(&lp__lines_version, 1);
    for (thread = session->threads; thread; thread = thread->next) {
        if (thread->tenant) lp__line_unwind(thread, now);
        thread->tenant = NULL;
    }
    lp__lines_unlock();
}

void lp__line_threads_each(struct lp_line_session *session, void (*visit)(struct lp_line_thread *thread, uint64_t now))
{
    struct lp_line_thread *thread;
    uint64_t now = lp__ticks();
    lp__lines_check_fork(session);
    lp__lines_lock();
    for (thread = session->threads; thread; thread = thread->next)
        visit(thread, now);
    lp__lines_unlock();
}
