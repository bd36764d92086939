/* The scope module against a naive twin: random begins, ends in any order and from any thread, suspensions,
 * resumptions on any thread, hand-overs, frames that finish or vanish.  The twin keeps whole stacks in arrays and adds
 * up every quantum of time scope by scope.  After each step both must describe the same stacks; after each history, the
 * same calls and the same wall, suspended, charged and CPU time per path.  The host is made up: owners are numbers. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "collect/name.h"
#include "collect/phase.h"
#include "collect/recording.h"
#include "support/temp_dir.h"

#define THREADS   3
#define SCOPES    24
#define OWNERS    8
#define PATHS     4096
#define NAMES     3
#define DEEPEST   6
#define STEPS     1000
#define HISTORIES 200
#define NONE      (-1)
#define TOP_LEVEL 0 /* path number of a thread's root */

/* -- the twin ---------------------------------------------------------------------------------------------------- */

struct path {
    int parent, name, depth;
    int64_t calls, unmeasured, wall, suspended, inner, cpu;
};

enum twin_state { FREE, RUNNING, SUSPENDED, ENDED_ELSEWHERE };

struct twin_scope {
    enum twin_state state;
    struct lp_scope *real;
    int path, owner, thread;
    bool skipped, unmeasured;
    int64_t wall, suspended, active, cpu;
};

struct twin_owner {
    struct lp_owner *real; /* NULL: free */
    uintptr_t key, kind;
    int thread;
    bool suspended, nameless, unmeasured;
    int chain[SCOPES], chain_len; /* lowest first; empty while it runs */
};

struct model {
    struct lp_recording *recording;
    struct lp_thread *thread[THREADS];
    lp_name_id names[NAMES];
    struct path paths[PATHS];
    int path_count;
    struct twin_scope scopes[SCOPES];
    struct twin_owner owners[OWNERS];
    int stack[THREADS][SCOPES], height[THREADS]; /* lowest first */
    uint64_t now;
    int64_t cpu[THREADS];
    int64_t drops[LP_DROP_COUNT];
    int64_t active; /* of all recorded scopes */
    uint64_t random;
    uintptr_t next_key;
};

static struct model model;

static uint32_t draw(struct model *m, uint32_t below)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (uint32_t)((m->random >> 33) % below);
}

static struct lp_cpu_time cpu_of(const struct model *m, int thread)
{
    return (struct lp_cpu_time){m->cpu[thread], 0};
}

static int path_of(struct model *m, int parent, int name)
{
    int i;
    for (i = 1; i < m->path_count; i++)
        if (m->paths[i].parent == parent && m->paths[i].name == name) return i;
    if (m->path_count == PATHS) fail_msg("more paths than the model has room for");
    m->paths[i] = (struct path){.parent = parent, .name = name, .depth = m->paths[parent].depth + 1};
    return m->path_count++;
}

static struct lp_tree_node *node_of(struct model *m, int thread, int path)
{
    if (path == TOP_LEVEL) return m->thread[thread]->base;
    return lp__tree_child(m->thread[thread], node_of(m, thread, m->paths[path].parent), m->names[m->paths[path].name]);
}

/* A quantum passes for a scope that runs on top of what has this path. */
static void run_one(struct model *m, struct twin_scope *s, int below, int64_t wall, int64_t cpu)
{
    s->wall += wall;
    s->active += wall;
    s->cpu += cpu;
    if (s->skipped) return;
    m->paths[below].inner += wall;
    m->active += wall;
}

static void pass_time(struct model *m)
{
    int64_t wall = draw(m, 50);
    int t, k;
    m->now += (uint64_t)wall;
    for (t = 0; t < THREADS; t++) {
        int64_t cpu = draw(m, (uint32_t)wall + 1);
        m->cpu[t] += cpu;
        for (k = 0; k < m->height[t]; k++)
            run_one(m, &m->scopes[m->stack[t][k]], k ? m->scopes[m->stack[t][k - 1]].path : TOP_LEVEL, wall, cpu);
    }
    for (k = 0; k < SCOPES; k++) {
        if (m->scopes[k].state != SUSPENDED) continue;
        m->scopes[k].wall += wall;
        m->scopes[k].suspended += wall;
    }
}

static uint32_t owner_scopes(const struct model *m, int owner)
{
    uint32_t i, n = 0;
    for (i = 0; i < SCOPES; i++)
        n += m->scopes[i].state != FREE && m->scopes[i].owner == owner;
    return n;
}

static void take_out(int *list, int *len, int what)
{
    int i = 0;
    while (i < *len && list[i] != what)
        i++;
    assert_true(i < *len);
    memmove(&list[i], &list[i + 1], (size_t)(*len - i - 1) * sizeof *list);
    --*len;
}

static void free_scope(struct model *m, int scope)
{
    int owner = m->scopes[scope].owner;
    m->scopes[scope].state = FREE;
    if (owner != NONE && owner_scopes(m, owner) == 0) m->owners[owner].real = NULL;
}

/* The entry is over: what it was goes onto its path. */
static void book(struct model *m, struct twin_scope *s)
{
    struct path *p = &m->paths[s->path];
    if (s->owner != NONE && m->owners[s->owner].unmeasured) s->unmeasured = true;
    assert_int_equal(s->wall, s->active + s->suspended);
    if (s->skipped) return;
    p->calls++;
    p->wall += s->wall;
    p->unmeasured += s->unmeasured;
    if (s->unmeasured) return;
    p->suspended += s->suspended;
    p->cpu += s->cpu;
}

static void twin_end(struct model *m, int scope)
{
    struct twin_scope *s = &m->scopes[scope];
    if (s->state == SUSPENDED)
        take_out(m->owners[s->owner].chain, &m->owners[s->owner].chain_len, scope);
    else
        take_out(m->stack[s->thread], &m->height[s->thread], scope);
    book(m, s);
}

static void twin_suspend(struct model *m, int owner)
{
    struct twin_owner *o = &m->owners[owner];
    int t = o->thread, k, kept = 0;
    if (o->suspended) return;
    for (k = 0; k < m->height[t]; k++) {
        int scope = m->stack[t][k];
        if (m->scopes[scope].owner == owner) {
            m->scopes[scope].state = SUSPENDED;
            o->chain[o->chain_len++] = scope;
        } else {
            m->stack[t][kept++] = scope;
        }
    }
    m->height[t] = kept;
    o->suspended = true;
}

static void twin_resume(struct model *m, int owner, int thread)
{
    struct twin_owner *o = &m->owners[owner];
    int k;
    if (!o->suspended) return;
    for (k = 0; k < o->chain_len; k++) {
        m->scopes[o->chain[k]].state = RUNNING;
        m->scopes[o->chain[k]].thread = thread;
        m->stack[thread][m->height[thread]++] = o->chain[k];
    }
    o->chain_len = 0;
    o->suspended = false;
    o->thread = thread;
}

/* The thread takes off its stack what others have ended. */
static void twin_reap(struct model *m, int thread)
{
    int k;
    for (k = 0; k < SCOPES; k++)
        if (m->scopes[k].state == ENDED_ELSEWHERE && m->scopes[k].thread == thread) free_scope(m, k);
}

/* -- both must describe the same --------------------------------------------------------------------------------- */

/* The same scopes in the same order, each of them running. */
static void check_stack(const struct model *m, int t)
{
    const struct lp_scope *scope = m->thread[t]->top;
    int k = m->height[t];
    for (; scope != &m->thread[t]->root_scope; scope = scope->below) {
        if (scope->state == LP_SCOPE_ENDING) continue;
        assert_true(k > 0);
        assert_ptr_equal(scope, m->scopes[m->stack[t][--k]].real);
        assert_int_equal(scope->state, LP_SCOPE_RUNNING);
        assert_ptr_equal(scope->thread, m->thread[t]);
    }
    assert_int_equal(k, 0);
}

static void check_owner(const struct model *m, int i)
{
    const struct twin_owner *o = &m->owners[i];
    const struct lp_scope *scope = o->real->chain;
    int k = o->chain_len;
    assert_true(o->real->scopes > 0);
    assert_int_equal(o->real->scopes, owner_scopes(m, i));
    assert_int_equal(o->real->suspended, o->suspended);
    for (; scope; scope = scope->below) {
        assert_true(k > 0);
        assert_ptr_equal(scope, m->scopes[o->chain[--k]].real);
        assert_int_equal(scope->state, LP_SCOPE_SUSPENDED);
    }
    assert_int_equal(k, 0);
    if (!o->nameless) assert_ptr_equal(lp__owner_find(m->recording, o->key), o->real);
}

static void check_same(const struct model *m)
{
    int i;
    for (i = 0; i < THREADS; i++)
        check_stack(m, i);
    for (i = 0; i < OWNERS; i++)
        if (m->owners[i].real) check_owner(m, i);
}

struct sums {
    int64_t calls, unmeasured, wall, suspended, inner, cpu;
};

static struct sums sums_of(struct model *m, int path)
{
    struct sums sums = {0};
    int t;
    for (t = 0; t < THREADS; t++) {
        const struct lp_node_record *record = node_of(m, t, path)->record;
        sums.calls += (int64_t)record->calls;
        sums.unmeasured += (int64_t)record->unmeasured;
        sums.wall += (int64_t)record->wall;
        sums.suspended += (int64_t)record->suspended;
        sums.inner += (int64_t)record->inner;
        sums.cpu += record->cpu_ns;
    }
    return sums;
}

static void check_path(struct model *m, int path)
{
    const struct path *twin = &m->paths[path];
    struct sums real = sums_of(m, path);
    assert_int_equal(real.inner, twin->inner);
    if (path == TOP_LEVEL) return;
    assert_int_equal(real.calls, twin->calls);
    assert_int_equal(real.unmeasured, twin->unmeasured);
    assert_int_equal(real.wall, twin->wall);
    assert_int_equal(real.suspended, twin->suspended);
    assert_int_equal(real.cpu, twin->cpu);
}

/* Times per path, what was dropped, and that every quantum was charged exactly once. */
static void check_sums(struct model *m)
{
    int64_t charged = 0, drops;
    int i, t;
    for (i = 0; i < m->path_count; i++) {
        check_path(m, i);
        charged += sums_of(m, i).inner;
    }
    assert_int_equal(charged, m->active);
    for (i = 0; i < LP_DROP_COUNT; i++) {
        for (t = 0, drops = 0; t < THREADS; t++)
            drops += (int64_t)m->thread[t]->record->drops[i];
        if (drops != m->drops[i])
            fail_msg("drops of reason %d: %lld, not %lld", i, (long long)drops, (long long)m->drops[i]);
    }
}

/* -- steps ------------------------------------------------------------------------------------------------------- */

static void reap(struct model *m, int t)
{
    if (atomic_load(&m->thread[t]->marks)) lp__scope_reap(m->thread[t], m->now, cpu_of(m, t));
    twin_reap(m, t);
}

static int some_scope(struct model *m, bool open)
{
    int i = (int)draw(m, SCOPES), n;
    for (n = 0; n < SCOPES; n++, i = (i + 1) % SCOPES)
        if (open ? m->scopes[i].state == RUNNING || m->scopes[i].state == SUSPENDED : m->scopes[i].state == FREE)
            return i;
    return NONE;
}

static int some_owner(struct model *m, bool suspended)
{
    int i = (int)draw(m, OWNERS), n;
    for (n = 0; n < OWNERS; n++, i = (i + 1) % OWNERS)
        if (m->owners[i].real && !m->owners[i].nameless && m->owners[i].suspended == suspended) return i;
    return NONE;
}

static int new_owner(struct model *m, int thread, uintptr_t key, uintptr_t kind)
{
    struct twin_owner *o;
    int i = 0;
    while (i < OWNERS && m->owners[i].real)
        i++;
    if (i == OWNERS) return NONE;
    o = &m->owners[i];
    memset(o, 0, sizeof *o);
    o->key = key;
    o->kind = kind;
    o->thread = thread;
    /* hostile on purpose: a kind is only compared */
    o->real = lp__owner_make(m->recording, m->thread[thread], key, (void *)kind, m->now, cpu_of(m, thread));
    assert_non_null(o->real);
    assert_int_equal(o->real->scopes, 0);
    return i;
}

/* An owner for a scope that begins on this thread: none, a new one, or one that runs here. */
static int owner_for(struct model *m, int thread)
{
    uint32_t what = draw(m, 4);
    int owner;
    if (what == 0) return NONE;
    if (what == 1) return new_owner(m, thread, m->next_key += 8, 1 + draw(m, 2));
    owner = some_owner(m, false);
    return owner != NONE && m->owners[owner].thread == thread ? owner : NONE;
}

static int path_on_top(const struct model *m, int t)
{
    return m->height[t] ? m->scopes[m->stack[t][m->height[t] - 1]].path : TOP_LEVEL;
}

static void begin_with(struct model *m, int t, int owner)
{
    struct lp_owner *real_owner = owner == NONE ? NULL : m->owners[owner].real;
    int i = some_scope(m, false), name = (int)draw(m, NAMES), parent = path_on_top(m, t);
    struct twin_scope *s = &m->scopes[i];
    bool below_skipped = m->height[t] && m->scopes[m->stack[t][m->height[t] - 1]].skipped;
    *s = (struct twin_scope){.state = RUNNING, .owner = owner, .thread = t, .skipped = below_skipped || !draw(m, 12)};
    if (s->skipped) { /* what resumes on top of it is charged to its parent */
        s->path = parent;
        s->real = lp__begin_skipped(m->thread[t], NULL, real_owner);
    } else {
        struct lp_tree_node *node = lp__tree_child(m->thread[t], m->thread[t]->top->node, m->names[name]);
        s->path = path_of(m, parent, name);
        s->unmeasured = owner != NONE && m->owners[owner].unmeasured;
        s->real = lp__scope_begin(m->thread[t], node, real_owner, 0, m->now, cpu_of(m, t));
    }
    assert_non_null(s->real);
    m->stack[t][m->height[t]++] = i;
}

static bool may_begin(struct model *m, int t)
{
    return some_scope(m, false) != NONE && m->height[t] < DEEPEST && m->paths[path_on_top(m, t)].depth < DEEPEST;
}

static void step_begin(struct model *m)
{
    int t = (int)draw(m, THREADS);
    reap(m, t);
    if (may_begin(m, t)) begin_with(m, t, owner_for(m, t));
}

static void end_here(struct model *m, int i, int t)
{
    struct twin_scope *s = &m->scopes[i];
    if (s->state == RUNNING && m->stack[t][m->height[t] - 1] != i) m->drops[LP_DROP_END_OUT_OF_ORDER]++;
    if (s->state == SUSPENDED) m->owners[s->owner].thread = t;
    lp__scope_end(m->thread[t], s->real, m->now, cpu_of(m, t));
    twin_end(m, i);
    free_scope(m, i);
}

/* Another thread ends it: it is over now, and its own thread takes it off when it comes by. */
static void end_elsewhere(struct model *m, int i, int t)
{
    struct twin_scope *s = &m->scopes[i];
    m->drops[LP_DROP_END_FOREIGN]++;
    s->unmeasured = true;
    lp__scope_end(m->thread[t], s->real, m->now, cpu_of(m, t));
    assert_int_equal(s->real->state, LP_SCOPE_ENDING);
    twin_end(m, i);
    s->state = ENDED_ELSEWHERE;
}

static void step_end(struct model *m)
{
    int i = some_scope(m, true), t = (int)draw(m, THREADS);
    if (i == NONE) return;
    if (draw(m, 4)) t = m->scopes[i].thread;
    reap(m, t);
    if (m->scopes[i].state == RUNNING && m->scopes[i].thread != t)
        end_elsewhere(m, i, t);
    else
        end_here(m, i, t);
}

static void step_suspend(struct model *m)
{
    int owner = some_owner(m, false), again = draw(m, 4) == 0, t;
    struct twin_owner *o;
    if (owner == NONE) return;
    o = &m->owners[owner];
    t = o->thread;
    if (draw(m, 6) == 0) {
        o->unmeasured = true;
        o->real->measured = false;
    }
    lp__owner_suspend(o->real, m->thread[t], m->now, cpu_of(m, t));
    twin_reap(m, t);
    if (o->real == NULL) return; /* all it had was ended elsewhere */
    twin_suspend(m, owner);
    pass_time(m);
    if (again) lp__owner_suspend(o->real, m->thread[t], m->now, cpu_of(m, t)); /* twice is once */
}

static void step_resume(struct model *m)
{
    int owner = some_owner(m, true), again = draw(m, 4) == 0, t = (int)draw(m, THREADS);
    struct twin_owner *o;
    if (owner == NONE) return;
    o = &m->owners[owner];
    lp__owner_resume(o->real, m->thread[t], m->now, cpu_of(m, t));
    twin_reap(m, t);
    twin_resume(m, owner, t);
    pass_time(m);
    if (again) lp__owner_resume(o->real, m->thread[t], m->now, cpu_of(m, t));
}

/* No time between: only the order on the stack may change. */
static void step_suspend_resume(struct model *m)
{
    int owner = some_owner(m, false), t;
    struct twin_owner *o;
    if (owner == NONE) return;
    o = &m->owners[owner];
    t = o->thread;
    reap(m, t);
    if (o->real == NULL) return;
    lp__owner_suspend(o->real, m->thread[t], m->now, cpu_of(m, t));
    lp__owner_resume(o->real, m->thread[t], m->now, cpu_of(m, t));
    twin_suspend(m, owner);
    twin_resume(m, owner, t);
}

/* A frame ends and another one on the same thread takes its scopes. */
static void step_hand_over(struct model *m)
{
    int from = some_owner(m, false), to = some_owner(m, false), i, t;
    if (from == NONE) return;
    t = m->owners[from].thread;
    if (draw(m, 2) || m->owners[to].thread != t) to = new_owner(m, t, m->next_key += 8, 1);
    if (to == NONE || to == from) return;
    lp__owner_hand_over(m->owners[from].real, m->owners[to].real, m->now, cpu_of(m, t));
    for (i = 0; i < SCOPES; i++) {
        if (m->scopes[i].state == FREE || m->scopes[i].owner != from) continue;
        m->scopes[i].owner = to;
        m->scopes[i].unmeasured |= m->owners[from].unmeasured;
    }
    m->owners[from].real = NULL;
}

/* A frame ends and nobody takes them. */
static void step_finished(struct model *m)
{
    int owner = some_owner(m, draw(m, 3) == 0), i, t;
    struct twin_owner *o;
    if (owner == NONE) return;
    o = &m->owners[owner];
    t = o->suspended ? (int)draw(m, THREADS) : o->thread;
    lp__owner_finished(o->real, m->thread[t], m->now, cpu_of(m, t));
    twin_reap(m, t);
    for (i = 0; i < SCOPES; i++) {
        if (m->scopes[i].state == FREE || m->scopes[i].owner != owner) continue;
        m->drops[LP_DROP_LEFT_OPEN]++;
        twin_end(m, i);
        free_scope(m, i);
    }
}

/* The address of a frame is met again with other code: its scopes lose their place, not their time. */
static void step_stale(struct model *m)
{
    int owner = some_owner(m, draw(m, 2)), t, heir;
    struct twin_owner *o;
    if (owner == NONE) return;
    o = &m->owners[owner];
    t = o->suspended ? (int)draw(m, THREADS) : o->thread;
    reap(m, t);
    if (o->real == NULL || !may_begin(m, t)) return;
    heir = new_owner(m, t, o->key, 3 - o->kind);
    if (heir == NONE) return;
    m->drops[LP_DROP_STALE_OWNER]++;
    twin_suspend(m, owner);
    o->nameless = true;
    begin_with(m, t, heir);
}

static void (*const steps[])(struct model *) = {
    step_begin,   step_begin,  step_begin,          step_begin,     step_end,      step_end,   step_end,
    step_suspend, step_resume, step_suspend_resume, step_hand_over, step_finished, step_stale,
};

/* -- histories --------------------------------------------------------------------------------------------------- */

static void end_everything(struct model *m)
{
    int i, t;
    for (t = 0; t < THREADS; t++)
        reap(m, t);
    while ((i = some_scope(m, true)) != NONE) {
        pass_time(m);
        end_here(m, i, m->scopes[i].thread);
        check_same(m);
    }
}

static void run_history(struct model *m, uint64_t seed)
{
    int i;
    m->random = seed * 0x9E3779B97F4A7C15u | 1;
    for (i = 0; i < STEPS; i++) {
        if (draw(m, 3)) pass_time(m);
        steps[draw(m, sizeof steps / sizeof *steps)](m);
        check_same(m);
    }
    end_everything(m);
    check_sums(m);
}

static void test_histories(void **state)
{
    struct model *m = *state;
    uint64_t seed;
    for (seed = 1; seed <= HISTORIES; seed++)
        run_history(m, seed);
    assert_true(m->paths[1].calls > 0);
}

/* -- threads that lend their states ------------------------------------------------------------------------------ */

struct lender {
    pthread_t thread;
    struct lp_recording *recording;
    struct lp_thread *state;
    pthread_barrier_t *lent, *done;
};

static void *lend(void *arg)
{
    struct lender *lender = arg;
    lender->state = lp__thread_of(lender->recording);
    (void)pthread_barrier_wait(lender->lent);
    (void)pthread_barrier_wait(lender->done);
    return NULL;
}

static struct temp_dir dir;
static struct lender lenders[THREADS];
static pthread_barrier_t lent, done;

static int setup(void **state)
{
    struct lp_recording_options options = {.store = LP_STORE_MEMORY};
    int i;
    if (temp_dir_make(&dir)) return -1;
    options.run_dir = dir.path;
    if (lp__recording_open(&options, &model.recording, NULL)) return -1;
    (void)pthread_barrier_init(&lent, NULL, THREADS + 1);
    (void)pthread_barrier_init(&done, NULL, THREADS + 1);
    for (i = 0; i < THREADS; i++) {
        lenders[i] = (struct lender){.recording = model.recording, .lent = &lent, .done = &done};
        if (pthread_create(&lenders[i].thread, NULL, lend, &lenders[i])) return -1;
    }
    (void)pthread_barrier_wait(&lent);
    for (i = 0; i < THREADS; i++) {
        model.thread[i] = lenders[i].state;
        model.cpu[i] = 1000000 * i; /* clocks of different threads have nothing in common */
    }
    for (i = 0; i < NAMES; i++)
        model.names[i] = lp__name_register(&"abc"[i], 1);
    model.path_count = 1;
    model.next_key = 0x1000;
    model.now = 1000;
    *state = &model;
    return 0;
}

static int teardown(void **state)
{
    int i;
    (void)state;
    (void)pthread_barrier_wait(&done);
    for (i = 0; i < THREADS; i++)
        (void)pthread_join(lenders[i].thread, NULL);
    lp__recording_close(model.recording);
    lp__recording_release(model.recording);
    return temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_histories, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
