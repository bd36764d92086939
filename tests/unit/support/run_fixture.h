/* Runs made by hand, for tests of what comes after merging.  Entries are recorded as the store would: a finished entry
 * adds to its phase and is charged to the phase below.  Deterministic: same calls, same run. */
// SPDX-License-Identifier: MIT
#ifndef TESTS_RUN_FIXTURE_H
#define TESTS_RUN_FIXTURE_H

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "merge/run.h"

#define FIXTURE_ROLES     8
#define FIXTURE_PROCESSES 64
#define FIXTURE_PHASES    512

__extension__ typedef __int128 fixture_wide; /* what a 128-bit total is checked with */

struct fixture {
    struct lp_run run;
    struct lp_run_role roles[FIXTURE_ROLES];
    struct lp_run_process processes[FIXTURE_PROCESSES];
    struct lp_run_attempt attempts[4];
    struct lp_run_bad_file bad[4];
    int64_t missing[4];
};

static inline void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    lp__arena_init(&f->run.arena, (size_t)64 << 20);
    lp__intern_init(&f->run.names, &f->run.arena);
    f->run.directory = "profile";
    f->run.roles = f->roles;
    f->run.processes = f->processes;
    f->run.attempts = f->attempts;
    f->run.bad = f->bad;
    f->run.missing_ranks = f->missing;
    f->run.world_size = -1;
    f->attempts[0] = (struct lp_run_attempt){"20260101T000000-abcdef", 1, 1.7e18, 1.7e18 + 5e8, true};
    f->run.attempt_count = 1;
}

static inline void fixture_release(struct fixture *f)
{
    lp__intern_release(&f->run.names);
    lp__arena_release(&f->run.arena);
}

static inline uint32_t fixture_name(struct fixture *f, const char *bytes, size_t len)
{
    uint32_t id = 0;
    int rc = lp__intern_add(&f->run.names, bytes, len, &id);
    assert(rc == LP_OK);
    (void)rc;
    return id;
}

static inline struct lp_run_tree *fixture_tree(struct fixture *f, struct lp_run_tree *tree)
{
    tree->phases = lp__arena_alloc(&f->run.arena, FIXTURE_PHASES * sizeof *tree->phases);
    assert(tree->phases);
    tree->cap = FIXTURE_PHASES;
    tree->count = 1;
    tree->phases[0].flags = LP_NODE_ROOT;
    return tree;
}

static inline uint32_t fixture_role(struct fixture *f, const char *name)
{
    uint32_t index = (uint32_t)f->run.role_count++;
    f->roles[index].name = name;
    fixture_tree(f, &f->roles[index].tree);
    return index;
}

static inline struct lp_run_process *fixture_process(struct fixture *f, uint32_t role, const char *host, uint32_t pid)
{
    struct lp_run_process *process = &f->processes[f->run.process_count++];
    process->path = "workers/vm/a.1.00000000.lpw";
    process->host = host;
    process->role = f->roles[role].name;
    process->attempt = f->attempts[0].id;
    process->launcher = process->job = process->conflicts = process->killed_in = process->cpu_refused = "";
    process->attempt_source = process->exe = process->cwd = process->version = process->revision = process->branch = "";
    process->cpu_model = process->kernel = process->wall_refused = process->why_not_run_dir = "";
    process->suspensions = "";
    process->python = "3.12.1";
    process->argv = "python train.py";
    process->role_index = role;
    process->pid = pid;
    process->rank = process->world_size = process->local_rank = -1;
    process->verdict = LP_VERDICT_FINISHED;
    process->started_real_ns = 1.7e18;
    process->last_real_ns = 1.7e18 + 477e6;
    process->last_mono_ns = 477000000;
    process->boot_id[0] = 1;
    process->threads = 1;
    process->wall_clock = 1;
    process->cpu_clock = 3;
    process->wall_cost_ns = 12;
    process->cpu_cost_ns = 14;
    process->entry_cost_ns = 80;
    f->roles[role].processes++;
    return process;
}

static inline uint32_t fixture_child_n(struct fixture *f, struct lp_run_tree *tree, uint32_t parent, const char *name,
                                       size_t len)
{
    assert(tree->count < tree->cap);
    uint32_t index = (uint32_t)tree->count++;
    tree->phases[index].parent = parent;
    tree->phases[index].name = fixture_name(f, name, len);
    tree->phases[index].depth = tree->phases[parent].depth + 1;
    tree->phases[index].processes = 1;
    return index;
}

static inline uint32_t fixture_child(struct fixture *f, uint32_t role, uint32_t parent, const char *name)
{
    return fixture_child_n(f, &f->roles[role].tree, parent, name, strlen(name));
}

/* `times` finished entries of `wall` ns each, of which `cpu` on a CPU and `suspended` suspended. */
static inline void fixture_entries_in(struct fixture *f, struct lp_run_tree *tree, uint32_t at, uint64_t times,
                                      uint64_t wall, uint64_t cpu, uint64_t suspended)
{
    struct lp_run_phase *phase = &tree->phases[at];
    if (!phase->hist) phase->hist = lp__arena_alloc(&f->run.arena, sizeof *phase->hist);
    int rc = lp__hist_add(phase->hist, &f->run.arena, wall, times);
    assert(rc == LP_OK);
    (void)rc;
    phase->min_ns = phase->calls ? fmin(phase->min_ns, (double)wall) : (double)wall;
    phase->max_ns = fmax(phase->max_ns, (double)wall);
    phase->calls += times;
    phase->wall_ns += (double)times * (double)wall;
    phase->cpu_ns += (double)times * (double)cpu;
    phase->suspended_ns += (double)times * (double)suspended;
    tree->phases[phase->parent].inner_ns += (double)times * (double)(wall - suspended);
}

static inline void fixture_entries(struct fixture *f, uint32_t role, uint32_t at, uint64_t times, uint64_t wall,
                                   uint64_t cpu)
{
    fixture_entries_in(f, &f->roles[role].tree, at, times, wall, cpu, 0);
}

/* `calls` of the finished entries have a trend; the mean of the first and of the last tenth of them. */
static inline void fixture_trend(struct fixture *f, uint32_t role, uint32_t at, uint64_t calls, double first,
                                 double last)
{
    struct lp_run_phase *phase = &f->roles[role].tree.phases[at];
    phase->trend_calls = calls;
    phase->first_tenth_ns = first * (double)calls / 10;
    phase->last_tenth_ns = last * (double)calls / 10;
}

/* An entry that is still open, for `wall` ns so far: it has charged nothing yet. */
static inline void fixture_open(struct fixture *f, uint32_t role, uint32_t at, double wall)
{
    f->roles[role].tree.phases[at].open++;
    f->roles[role].tree.phases[at].open_wall_ns += wall;
}

static inline struct lp_run_counter *fixture_count(struct fixture *f, uint32_t role, uint32_t at, const char *name,
                                                   int64_t amount, uint64_t times)
{
    struct lp_run_phase *phase = &f->roles[role].tree.phases[at];
    uint32_t id = fixture_name(f, name, strlen(name));
    struct lp_run_counter **link = &phase->counters, *counter;
    while (*link && (*link)->name != id)
        link = &(*link)->next;
    if (!*link) *link = lp__arena_alloc(&f->run.arena, sizeof **link);
    counter = *link;
    fixture_wide total = (fixture_wide)counter->total_high * ((fixture_wide)1 << 64) + (fixture_wide)counter->total_low;
    total += (fixture_wide)amount * (fixture_wide)times;
    if (!counter->adds) counter->min = counter->max = amount;
    if (!counter->hist) counter->hist = lp__arena_alloc(&f->run.arena, sizeof *counter->hist);
    if (!counter->hist_negative) counter->hist_negative = lp__arena_alloc(&f->run.arena, sizeof *counter->hist);
    int rc = lp__hist_add(amount < 0 ? counter->hist_negative : counter->hist, &f->run.arena,
                          amount < 0 ? (uint64_t)-amount : (uint64_t)amount, times);
    assert(rc == LP_OK);
    (void)rc;
    counter->name = id;
    counter->total_low = (uint64_t)total;
    counter->total_high = (int64_t)(total >> 64);
    counter->adds += times;
    counter->min = amount < counter->min ? amount : counter->min;
    counter->max = amount > counter->max ? amount : counter->max;
    return counter;
}

/* What the merge would know of the role: its time in phases, and `outside` ns beside them. */
static inline void fixture_finish(struct fixture *f, uint32_t role, double outside)
{
    struct lp_run_role *r = &f->roles[role];
    double top = 0;
    for (size_t i = 1; i < r->tree.count; i++) {
        const struct lp_run_phase *phase = &r->tree.phases[i];
        if (phase->depth == 1) top += phase->wall_ns + phase->open_wall_ns - phase->suspended_ns;
    }
    r->top_wall_ns = top;
    r->outside_ns = outside;
    r->elapsed_ns = top + outside;
    uint32_t count = 0;
    for (size_t i = 0; i < f->run.process_count; i++)
        count += f->processes[i].role_index == role;
    for (size_t i = 0; i < f->run.process_count; i++) {
        struct lp_run_process *process = &f->processes[i];
        if (process->role_index != role) continue;
        if (process->top_wall_ns == 0) process->top_wall_ns = top / count;
        process->elapsed_ns = process->top_wall_ns + outside / count;
        process->outside_ns = outside / count;
        r->max_top_wall_ns = fmax(r->max_top_wall_ns, process->top_wall_ns);
        for (size_t k = 1; k < r->tree.count; k++)
            process->entries += r->tree.phases[k].calls / count;
    }
}

/* The worked example: an MCTS of 2,000 iterations with counters, as one process records it. */
static inline uint32_t fixture_mcts(struct fixture *f)
{
    uint32_t role = fixture_role(f, "actor");
    fixture_process(f, role, "vm", 4711);
    uint32_t iteration = fixture_child(f, role, 0, "iteration");
    uint32_t select = fixture_child(f, role, iteration, "select");
    uint32_t score = fixture_child(f, role, select, "score_children");
    uint32_t descend = fixture_child(f, role, select, "descend");
    uint32_t expand = fixture_child(f, role, iteration, "expand");
    uint32_t rollout = fixture_child(f, role, iteration, "rollout");
    uint32_t back = fixture_child(f, role, iteration, "backpropagate");
    fixture_entries(f, role, iteration, 1980, 92000, 90000);
    fixture_entries(f, role, iteration, 20, 114500, 110000);
    fixture_trend(f, role, iteration, 2000, 90000, 97200);
    fixture_entries(f, role, select, 2000, 55600, 55000);
    fixture_entries(f, role, score, 6325, 4500, 4450);
    fixture_entries(f, role, descend, 6325, 901, 900);
    fixture_entries(f, role, expand, 2000, 4650, 4600);
    fixture_entries(f, role, rollout, 2000, 5900, 5800);
    fixture_entries(f, role, back, 2000, 2400, 2400);
    fixture_count(f, role, select, "tree_depth", 0, 100);
    fixture_count(f, role, select, "tree_depth", 3, 1375);
    fixture_count(f, role, select, "tree_depth", 4, 550);
    fixture_count(f, role, score, "children_scored", 8, 6325);
    fixture_count(f, role, rollout, "rollout_plies", 1, 1000);
    fixture_count(f, role, rollout, "rollout_plies", 2, 1000);
    fixture_count(f, role, rollout, "rollout_plies", 5, 135);
    fixture_finish(f, role, 12.5e6);
    return role;
}

#endif
