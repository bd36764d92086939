/* Whole runs to print: what a reader may meet, from a clean run to one where everything went wrong. */
// SPDX-License-Identifier: MIT
#ifndef TESTS_RUN_SCENES_H
#define TESTS_RUN_SCENES_H

#include "support/run_fixture.h"

/* Two roles on two hosts; one actor three times as slow as the others; queue waits; a sampled phase. */
static inline void scene_roles(struct fixture *f)
{
    fixture_init(f);
    uint32_t actor = fixture_role(f, "actor"), learner = fixture_role(f, "learner");
    for (uint32_t i = 0; i < 4; i++) {
        struct lp_run_process *process = fixture_process(f, actor, i < 2 ? "node1" : "node2", 100 + i);
        process->rank = process->local_rank = i;
        process->world_size = 5;
        process->launcher = "torchrun";
        process->top_wall_ns = i == 2 ? 3e9 : 1e9;
        process->started_mono_ns = i * 1000000ll;
        process->last_mono_ns = (i == 2 ? 3200000000ll : 1200000000ll);
    }
    struct lp_run_process *process = fixture_process(f, learner, "node1", 200);
    process->rank = 4;
    process->last_mono_ns = 3500000000ll;
    process->revision = "0123456789abcdef0123456789abcdef01234567";
    process->branch = "main";
    uint32_t iteration = fixture_child(f, actor, 0, "iteration");
    uint32_t simulate = fixture_child(f, actor, iteration, "simulate");
    uint32_t put = fixture_child(f, actor, iteration, "put");
    fixture_entries(f, actor, iteration, 1000, 6000000, 4500000);
    fixture_trend(f, actor, iteration, 750, 8000000, 5000000);
    fixture_entries(f, actor, simulate, 1000, 5300000, 4300000);
    fixture_entries(f, actor, put, 990, 100000, 50000);
    fixture_entries(f, actor, put, 10, 1400000, 50000);
    fixture_count(f, actor, simulate, "plies", 1, 500);
    fixture_count(f, actor, simulate, "plies", 5, 500);
    fixture_finish(f, actor, 120e6);
    uint32_t train = fixture_child(f, learner, 0, "train");
    uint32_t update = fixture_child(f, learner, train, "update");
    uint32_t get = fixture_child(f, learner, update, "queue_get");
    uint32_t optimise = fixture_child(f, learner, update, "optimise");
    fixture_entries(f, learner, train, 1, 3300000000, 1500000000);
    fixture_entries(f, learner, update, 1000, 3200000, 1500000);
    fixture_entries(f, learner, get, 1000, 1900000, 200000);
    fixture_entries(f, learner, optimise, 500, 1200000, 1100000);
    f->roles[learner].tree.phases[optimise].skipped = 500;
    fixture_count(f, learner, optimise, "samples", 32, 500);
    fixture_finish(f, learner, 200e6);
}

static inline void scene_trouble_phases(struct fixture *f, uint32_t role)
{
    uint32_t train = fixture_child(f, role, 0, "train");
    uint32_t step = fixture_child(f, role, train, "step");
    uint32_t load = fixture_child(f, role, step, "load");
    uint32_t forward = fixture_child(f, role, step, "forward");
    uint32_t rare = fixture_child(f, role, step, "rare");
    uint32_t request = fixture_child(f, role, 0, "request");
    fixture_entries(f, role, step, 5000, 1000000, 700000);
    fixture_entries(f, role, load, 5000, 300000, 20000);
    fixture_entries(f, role, forward, 5000, 400000, 390000);
    fixture_entries_in(f, &f->roles[role].tree, request, 64, 50000000, 200000, 49000000);
    fixture_open(f, role, train, 6000e6);
    fixture_open(f, role, step, 0.6e6);
    f->roles[role].tree.phases[load].unmeasured = 12;
    f->roles[role].tree.phases[forward].async_entries = 4000;
    f->roles[role].tree.phases[rare].skipped = 3;
    f->roles[role].tree.phases[rare].flags = LP_NODE_SAMPLED;
    fixture_count(f, role, 0, "orphans", 5, 3);
    fixture_count(f, role, load, "bytes", 1 << 20, 4999);
    fixture_count(f, role, load, "bytes", -1, 1);
    fixture_count(f, role, forward, "huge", INT64_MAX, 8);
}

/* Everything that can be missing, wrong or worth a word. */
static inline void scene_trouble(struct fixture *f)
{
    static const enum lp_verdict verdicts[] = {LP_VERDICT_FINISHED, LP_VERDICT_KILLED, LP_VERDICT_RUNNING,
                                               LP_VERDICT_STALE,    LP_VERDICT_ENDED,  LP_VERDICT_NOTHING};
    fixture_init(f);
    uint32_t role = fixture_role(f, "worker");
    for (uint32_t i = 0; i < 6; i++) {
        struct lp_run_process *process = fixture_process(f, role, "vm", 300 + i);
        process->rank = i;
        process->world_size = 16;
        process->verdict = verdicts[i];
        process->top_wall_ns = i < 5 ? (1.2 - 0.1 * i) * 1e9 : 1;
        process->killed_in = i == 1 || i == 3 ? "train/step" : "";
    }
    struct lp_run_process *first = &f->processes[0];
    first->write_failures = 3;
    first->clock_stepped = first->damaged = true;
    first->conflicts = "RANK=1 SLURM_PROCID=2";
    first->cpu_refused = "the kernel does not clear rseq_cs at a switch";
    first->drops[LP_DROP_NO_SPACE] = 1204;
    first->drops[LP_DROP_LEFT_OPEN] = 2;
    f->processes[1].torn_threads = 1;
    f->processes[2].place = LP_PLACE_SHM;
    f->processes[2].copy_interval_ms = 1000;
    f->processes[2].why_not_run_dir = "nfs cannot be mapped safely";
    f->processes[3].clock_guessed = true;
    f->processes[3].suspensions = f->processes[4].suspensions = "inferred";
    f->processes[4].python = "3.11.9";
    f->processes[4].grow_errno = 28;
    f->processes[4].newer_segments = 2;
    f->processes[3].entry_cost_ns = (double)NAN;
    scene_trouble_phases(f, role);
    fixture_finish(f, role, 300e6);
    f->bad[0] = (struct lp_run_bad_file){"workers/vm/x.lpw", LP_ERR_FORMAT, "no magic"};
    f->bad[1] = (struct lp_run_bad_file){"workers/vm/y.lpw", LP_ERR_DENIED, "owned by uid 1001"};
    f->run.bad_count = 2;
    f->missing[0] = 6;
    f->missing[1] = 7;
    f->missing[2] = 12;
    f->run.missing_count = 3;
    f->run.missing_total = 3;
    f->run.world_size = 16;
    f->attempts[1] = f->attempts[0];
    f->attempts[0] = (struct lp_run_attempt){"20251231T235959-012345", 9, 1.69e18, 1.695e18, false};
    f->run.attempt_count = 2;
    f->run.own_folders = true;
}

#define SCENE_LONG_NAME 10000

/* Names that break tables, terminals and parsers, as roles, hosts, phases, counters, files and messages. */
static inline void scene_hostile(struct fixture *f)
{
    static const char *const names[] = {
        "a/b",
        "",
        "new\nline",
        "\x1b[31mred\x1b[0m",
        "\xe2\x80\xaekcab\xe2\x80\xac",
        "</script>",
        "bad\xff\xfe",
        "\xed\xa0\x80 half",
        "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c",
        "=cmd|'!A1'",
        "e\xcc\x81te\xcc\x81",
        "tab\there",
    };
    static char lengthy[SCENE_LONG_NAME + 1];
    memset(lengthy, 'x', SCENE_LONG_NAME);
    memcpy(lengthy + SCENE_LONG_NAME - 4, "tail", 4);
    fixture_init(f);
    uint32_t role = fixture_role(f, "evil\nrole \x1b[2J");
    struct lp_run_process *process = fixture_process(f, role, "host\r\nname", 7);
    process->argv = "python \"x\"\n--flag";
    process->killed_in = "a/\x1b[2Jb";
    process->verdict = LP_VERDICT_KILLED;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t phase = fixture_child(f, role, 0, names[i]);
        fixture_entries(f, role, phase, 100, 1000 * (20 - i), 500 * (20 - i));
        fixture_count(f, role, phase, names[(i + 2) % 12], (int64_t)i, 3);
    }
    uint32_t nul = fixture_child_n(f, &f->roles[role].tree, 0, "nul\0inside", 10);
    fixture_entries(f, role, nul, 100, 3000, 3000);
    uint32_t deep = fixture_child(f, role, nul, lengthy);
    fixture_entries(f, role, deep, 19161676, 100, 100);
    fixture_count(f, role, deep, lengthy, 64, 19161676);
    fixture_finish(f, role, 1e6);
    f->bad[0] = (struct lp_run_bad_file){"workers/\x1b[5m\nx.lpw", LP_ERR_FORMAT, "de\ntail"};
    f->run.bad_count = 1;
}

static inline void scene_mcts(struct fixture *f)
{
    fixture_init(f);
    fixture_mcts(f);
}

/* A directory of which no file could be read. */
static inline void scene_empty(struct fixture *f)
{
    fixture_init(f);
    f->run.attempt_count = 0;
    f->bad[0] = (struct lp_run_bad_file){"workers/vm/x.lpw", LP_ERR_TRUNCATED, ""};
    f->run.bad_count = 1;
}

#endif
