/* Analysis of runs made by hand: times, conservation, estimates, marks, workers, header, notes. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/report.h"
#include "base/fmt.h"
#include "support/run_fixture.h"

static struct lp_report *build(struct fixture *f, const struct lp_report_options *options)
{
    struct lp_report *report = NULL;
    struct lp_error err;
    assert_int_equal(lp__report_build(&f->run, options, &report, &err), LP_OK);
    assert_non_null(report);
    return report;
}

static const struct lp_report_phase *phase(const struct lp_report_role *role, const char *name)
{
    for (size_t i = 1; i < role->tree.count; i++)
        if (strcmp(role->tree.phases[i].name.bytes, name) == 0) return &role->tree.phases[i];
    fail_msg("no phase %s", name);
    return NULL;
}

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-6 * fmax(1, fabs(want))) fail_msg("got %.6f, want %.6f", got, want);
}

/* Per role: self times and the time outside any phase are the elapsed time. */
static void conserves(const struct lp_report_role *role)
{
    double sum = role->outside_ns;
    for (size_t i = 1; i < role->tree.count; i++)
        sum += role->tree.phases[i].self_ns;
    near(sum, role->elapsed_ns);
}

static void test_worked_example(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_role *role = &report->roles[0];
    assert_int_equal(role->tree.count, 8);
    assert_int_equal(role->shown, 6);
    const struct lp_report_phase *select = phase(role, "select");
    near(select->active_ns, 2000 * 55600.0);
    near(select->self_ns, 2000 * 55600.0 - 6325 * 5401.0);
    near(select->wait_share, 600.0 / 55600);
    near(select->p50_ns, 55600);
    assert_int_equal(select->counter_count, 1);
    assert_int_equal(select->counters[0].total, 3 * 1375 + 4 * 550);
    assert_int_equal(select->counters[0].max, 4);
    near(select->counters[0].each_ns, 2000 * 55600.0 / 6325);
    near(select->counters[0].per_s, 6325 / (2000 * 55600.0 / 1e9));
    assert_string_equal(role->tree.phases[role->tree.order[0]].name.bytes, "select");
    conserves(role);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_breakdown_starts_at_the_first_branching_level(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_breakdown *parts = &report->roles[0].breakdown;
    double shares = parts->other_share;
    assert_int_equal(parts->count, 4);
    assert_true(parts->has_other);
    near(parts->base_ns, report->roles[0].tree.phases[1].active_ns);
    for (size_t i = 0; i < parts->count; i++)
        shares += parts->rows[i].share;
    near(shares, 1);
    assert_string_equal(report->roles[0].tree.phases[parts->rows[0].phase].name.bytes, "select");
    lp__report_free(report);
    fixture_release(&f);
}

static void test_breakdown_of_a_chain_shows_its_last_level(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t a = fixture_child(&f, role, 0, "a");
    uint32_t b = fixture_child(&f, role, a, "b");
    fixture_entries(&f, role, a, 1, 1000, 0);
    fixture_entries(&f, role, b, 1, 600, 0);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_breakdown *parts = &report->roles[0].breakdown;
    assert_int_equal(parts->count, 1);
    assert_int_equal(parts->rows[0].phase, b);
    near(parts->rows[0].share, 0.6);
    near(parts->other_ns, 400);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_open_phases_count_with_their_time_so_far(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t train = fixture_child(&f, role, 0, "train");
    uint32_t step = fixture_child(&f, role, train, "step");
    fixture_entries(&f, role, step, 10, 1000000, 900000);
    fixture_open(&f, role, train, 30e6);
    fixture_open(&f, role, step, 5e6);
    fixture_finish(&f, role, 1e6);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_phase *t = phase(&report->roles[0], "train"), *s = phase(&report->roles[0], "step");
    assert_int_equal(t->entries, 0);
    assert_int_equal(t->open, 1);
    near(t->wall_ns, 30e6);
    near(t->self_ns, 15e6); /* 30 - 10 finished - 5 open below */
    near(s->active_ns, 15e6);
    assert_true(isnan(t->wait_ns));
    assert_true(isnan(t->p50_ns));
    near(s->wait_share, 0.1); /* of finished entries only */
    conserves(&report->roles[0]);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_what_an_open_child_charged_already_is_not_taken_twice(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t loop = fixture_child(&f, role, 0, "loop");
    uint32_t task = fixture_child(&f, role, loop, "task");
    fixture_open(&f, role, loop, 100);
    fixture_open(&f, role, task, 80);
    f.roles[role].tree.phases[loop].inner_ns = 50; /* a stint before a suspension */
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    near(phase(&report->roles[0], "loop")->self_ns, 20);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_sampled_phases_are_scaled_and_their_entries_exact(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "learner");
    fixture_process(&f, role, "vm", 1);
    uint32_t update = fixture_child(&f, role, 0, "update");
    uint32_t optimise = fixture_child(&f, role, update, "optimise");
    uint32_t inner = fixture_child(&f, role, optimise, "inner");
    fixture_entries(&f, role, update, 100, 3000, 3000);
    fixture_entries(&f, role, optimise, 25, 2000, 1000);
    fixture_entries(&f, role, inner, 10, 500, 500);
    f.roles[role].tree.phases[optimise].skipped = 75;
    f.roles[role].tree.phases[inner].skipped = 10;
    fixture_count(&f, role, optimise, "samples", 32, 25);
    fixture_finish(&f, role, 100);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_phase *u = phase(&report->roles[0], "update");
    const struct lp_report_phase *o = phase(&report->roles[0], "optimise");
    const struct lp_report_phase *i = phase(&report->roles[0], "inner");
    near(u->scale, 1);
    assert_true(u->self_estimated);
    near(o->scale, 4);
    assert_int_equal(o->entries, 100);
    assert_false(o->entries_estimated);
    near(o->active_ns, 200000);
    near(o->wait_share, 0.5);
    near(o->p50_ns, 2000);
    near(i->scale, 8);
    assert_int_equal(i->entries, 80); /* (10 + 10) times 4 */
    assert_true(i->entries_estimated);
    near(i->active_ns, 40000);
    near(o->self_ns, 160000);
    near(u->self_ns, 100000);
    assert_int_equal(o->counters[0].total_low, 3200);
    assert_int_equal(o->counters[0].min, 32);
    assert_int_equal(o->counters[0].max, 32); /* amounts are as they were added */
    conserves(&report->roles[0]);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_sampling_the_first_level_takes_from_outside(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t a = fixture_child(&f, role, 0, "a");
    fixture_entries(&f, role, a, 10, 100, 100);
    f.roles[role].tree.phases[a].skipped = 10;
    fixture_finish(&f, role, 1500);
    struct lp_report *report = build(&f, NULL);
    near(report->roles[0].outside_ns, 500);
    assert_true(report->roles[0].outside_estimated);
    conserves(&report->roles[0]);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_a_phase_of_which_every_entry_was_skipped_is_untimed(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t a = fixture_child(&f, role, 0, "a");
    f.roles[role].tree.phases[a].skipped = 7;
    fixture_finish(&f, role, 1500);
    struct lp_report *report = build(&f, NULL);
    assert_true(phase(&report->roles[0], "a")->untimed);
    assert_int_equal(phase(&report->roles[0], "a")->entries, 7);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_suspended_time_is_neither_self_nor_wait(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t request = fixture_child(&f, role, 0, "request");
    fixture_entries_in(&f, &f.roles[role].tree, request, 64, 1000000, 80000, 900000);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_phase *r = phase(&report->roles[0], "request");
    near(r->wall_ns, 64e6);
    near(r->active_ns, 6.4e6);
    near(r->self_ns, 6.4e6);
    near(r->wait_share, 0.2);
    conserves(&report->roles[0]);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_unmeasured_is_not_zero(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t a = fixture_child(&f, role, 0, "a"), b = fixture_child(&f, role, 0, "b");
    fixture_entries(&f, role, a, 10, 100, 0);
    fixture_entries(&f, role, b, 10, 100, 150); /* more CPU than wall: clocks differ a little */
    f.roles[role].tree.phases[a].unmeasured = 1;
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    assert_true(isnan(phase(&report->roles[0], "a")->cpu_ns));
    assert_true(isnan(phase(&report->roles[0], "a")->wait_share));
    near(phase(&report->roles[0], "b")->wait_ns, 0);
    lp__report_free(report);
    f.processes[0].cpu_clock = 0;
    report = build(&f, NULL);
    assert_true(isnan(phase(&report->roles[0], "b")->wait_share));
    lp__report_free(report);
    fixture_release(&f);
}

static void test_thread_nodes_are_what_their_phases_are(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t thread = fixture_child(&f, role, 0, "MainThread");
    f.roles[role].tree.phases[thread].flags = LP_NODE_THREAD;
    uint32_t a = fixture_child(&f, role, thread, "a"), b = fixture_child(&f, role, thread, "b");
    fixture_entries(&f, role, a, 1, 300, 300);
    fixture_entries(&f, role, b, 1, 700, 700);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    near(phase(&report->roles[0], "MainThread")->active_ns, 1000);
    near(phase(&report->roles[0], "MainThread")->self_ns, 0);
    near(report->roles[0].phase_ns, 1000);
    assert_int_equal(report->roles[0].breakdown.count, 2);
    near(report->roles[0].breakdown.base_ns, 1000);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_counters_spread(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t a = fixture_child(&f, role, 0, "a");
    fixture_entries(&f, role, a, 1, 1000000, 0);
    fixture_count(&f, role, a, "delta", -10, 50);
    fixture_count(&f, role, a, "delta", 8, 50);
    fixture_count(&f, role, a, "huge", INT64_MAX, 8);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_phase *p = phase(&report->roles[0], "a");
    const struct lp_report_counter *delta = &p->counters[0], *huge = &p->counters[1];
    near(delta->total, -100);
    assert_int_equal(delta->total_high, -1);
    near(delta->p50, -10);
    near(delta->p95, 8);
    assert_true(isnan(delta->each_ns));
    near(huge->total, 8 * 9223372036854775807.0);
    assert_int_equal(huge->total_high, 3);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_the_iteration_is_found_at_any_depth(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t train = fixture_child(&f, role, 0, "train");
    uint32_t log = fixture_child(&f, role, train, "log");
    uint32_t epoch = fixture_child(&f, role, train, "epoch");
    uint32_t step = fixture_child(&f, role, epoch, "step");
    uint32_t forward = fixture_child(&f, role, step, "forward");
    fixture_entries(&f, role, train, 1, 1000000, 0);
    fixture_entries(&f, role, log, 50, 1000, 0);
    fixture_entries(&f, role, epoch, 10, 90000, 0);
    fixture_entries(&f, role, step, 1000, 880, 0);
    fixture_entries(&f, role, forward, 2000, 400, 0);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    assert_int_equal(report->roles[0].iterations.phase, step); /* 10 epochs are too few for percentiles */
    near(report->roles[0].iterations.share, 0.88);
    lp__report_free(report);
    f.roles[role].tree.phases[step].calls = f.roles[role].tree.phases[forward].calls = 2;
    report = build(&f, NULL);
    assert_int_equal(report->roles[0].iterations.phase, epoch); /* better than nothing */
    lp__report_free(report);
    fixture_release(&f);
}

static void test_the_iteration_has_a_trend_where_it_was_measured(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t step = fixture_child(&f, role, 0, "step");
    fixture_entries(&f, role, step, 1000, 880, 0);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    assert_int_equal(report->roles[0].iterations.phase, step);
    assert_int_equal(report->roles[0].iterations.trend_calls, 0);
    assert_true(isnan(report->roles[0].iterations.first_tenth_ns));
    assert_true(isnan(report->roles[0].iterations.last_tenth_ns));
    assert_true(isnan(report->roles[0].iterations.change));
    lp__report_free(report);
    fixture_trend(&f, role, step, 600, 800, 1000);
    report = build(&f, NULL);
    assert_int_equal(report->roles[0].iterations.trend_calls, 600);
    near(report->roles[0].iterations.first_tenth_ns, 800);
    near(report->roles[0].iterations.last_tenth_ns, 1000);
    near(report->roles[0].iterations.change, 0.25);
    lp__report_free(report);
    fixture_trend(&f, role, step, 600, 0, 1000);
    report = build(&f, NULL);
    near(report->roles[0].iterations.first_tenth_ns, 0);
    assert_true(isnan(report->roles[0].iterations.change)); /* from nothing */
    lp__report_free(report);
    fixture_release(&f);
}

static const struct lp_report_note *note_of(const struct lp_report *report, enum lp_note_kind kind, size_t skip)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (report->notes[i].kind == kind && !skip--) return &report->notes[i];
    return NULL;
}

static void test_inferred_stops_are_said_with_what_measures_them(void **state)
{
    static const struct {
        const char *python, *remedy;
    } cases[] = {
        {"3.11.9", "LINEPROFILER_EXACT_ASYNC=1"},
        {"3.110.0", "sys.monitoring"}, /* not 3.11 */
        {"3.12.1", "sys.monitoring"},
        {"3.10.4", "frame hook"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        (void)state;
        fixture_init(&f);
        uint32_t role = fixture_role(&f, "main");
        for (uint32_t pid = 1; pid <= 3; pid++)
            fixture_process(&f, role, "vm", pid)->python = cases[i].python;
        fixture_finish(&f, role, 0);
        struct lp_report *report = build(&f, NULL);
        assert_null(note_of(report, LP_NOTE_SUSPENSIONS, 0));
        lp__report_free(report);
        f.processes[0].suspensions = f.processes[2].suspensions = "inferred";
        report = build(&f, NULL);
        const struct lp_report_note *note = note_of(report, LP_NOTE_SUSPENSIONS, 0);
        assert_non_null(note);
        assert_null(note_of(report, LP_NOTE_SUSPENSIONS, 1)); /* once for all */
        assert_int_equal(note->count, 2);
        assert_non_null(strstr(note->text, "2 of 3 processes"));
        assert_non_null(strstr(note->text, "CPU, wait and suspended time"));
        assert_non_null(strstr(note->text, cases[i].remedy));
        lp__report_free(report);
        fixture_release(&f);
    }
}

static void test_a_worker_that_recorded_nothing_is_named(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    fixture_process(&f, role, "vm", 2)->verdict = LP_VERDICT_NOTHING;
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_note *note = note_of(report, LP_NOTE_NOTHING, 0);
    assert_non_null(note);
    assert_null(note_of(report, LP_NOTE_NOTHING, 1));
    assert_non_null(strstr(note->text, "vm:2 started and recorded nothing"));
    assert_non_null(strstr(note->text, "workers/vm/a.1.00000000.lpw is empty"));
    lp__report_free(report);
    fixture_release(&f);
}

static void test_one_entry_in_each_of_many_processes_is_no_iteration(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    fixture_process(&f, role, "vm", 1);
    uint32_t train = fixture_child(&f, role, 0, "train");
    fixture_entries(&f, role, train, 64, 1000, 0);
    f.roles[role].tree.phases[train].processes = 64;
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    assert_int_equal(report->roles[0].iterations.phase, 0);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_workers_are_compared_to_the_median(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    for (uint32_t i = 0; i < 4; i++) {
        struct lp_run_process *process = fixture_process(&f, role, "vm", 100 + i);
        process->rank = i;
        process->top_wall_ns = i == 2 ? 3e9 : 1e9;
    }
    fixture_process(&f, role, "vm", 99)->verdict = LP_VERDICT_NOTHING;
    uint32_t a = fixture_child(&f, role, 0, "a");
    fixture_entries(&f, role, a, 4, 1500000000, 0);
    f.processes[4].top_wall_ns = 1; /* keeps the fixture from giving it a share */
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_spread *spread = &report->roles[0].spread;
    assert_int_equal(report->workers[spread->slowest].process->rank, 2);
    near(report->workers[spread->slowest].ratio, 3);
    near(report->workers[spread->median].ratio, 1);
    assert_true(isnan(report->workers[4].ratio)); /* recorded nothing: no fastest worker */
    lp__report_free(report);
    fixture_release(&f);
}

static void test_header(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "main");
    for (uint32_t i = 0; i < 3; i++) {
        struct lp_run_process *process = fixture_process(&f, role, i == 2 ? "b" : "a", 100 + i);
        process->started_mono_ns = i * 10000000000ll;
        process->last_mono_ns = process->started_mono_ns + 1000000000;
        process->started_real_ns = 1.7e18 + i * 1e10;
        process->last_real_ns = process->started_real_ns + 1e9;
        process->entries = 1000;
        process->verdict = i == 1 ? LP_VERDICT_KILLED : LP_VERDICT_FINISHED;
    }
    f.processes[1].entry_cost_ns = LP_NAN;
    f.processes[2].cpu_clock = 1;
    fixture_finish(&f, role, 3e9);
    struct lp_report *report = build(&f, NULL);
    const struct lp_report_header *header = &report->header;
    near(header->span_ns, 21e9);
    near(header->longest_ns, 1e9);
    assert_false(header->span_across_hosts);
    assert_int_equal(header->host_count, 2);
    assert_string_equal(header->hosts[1], "b");
    assert_int_equal(header->verdicts[LP_VERDICT_KILLED], 1);
    assert_int_equal(header->clock_count, 2);
    assert_int_equal(header->cost_processes, 2);
    near(header->cost_ns, 2 * 1000 * 80);
    near(header->cost_share, 160000 / 2e9);
    lp__report_free(report);
    f.processes[2].boot_id[0] = 9; /* another machine: only wall clocks compare */
    report = build(&f, NULL);
    assert_true(report->header.span_across_hosts);
    near(report->header.span_ns, 21e9);
    lp__report_free(report);
    f.processes[2].last_real_ns = LP_NAN;
    f.processes[0].last_real_ns = f.processes[1].last_real_ns = 0; /* a clock set back */
    report = build(&f, NULL);
    assert_true(isnan(report->header.span_ns));
    lp__report_free(report);
    fixture_release(&f);
}

static const struct lp_report_note *note(const struct lp_report *report, enum lp_note_kind kind)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (report->notes[i].kind == kind) return &report->notes[i];
    fail_msg("no note of kind %s", lp__note_kind_name(kind));
    return NULL;
}

static void test_notes_say_what_is_missing(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    struct lp_run_process *process = &f.processes[0];
    process->verdict = LP_VERDICT_KILLED;
    process->killed_in = "iteration/select";
    process->write_failures = 2;
    process->damaged = process->clock_stepped = true;
    process->torn_threads = 1;
    process->place = LP_PLACE_SHM;
    process->copy_interval_ms = 1000;
    process->conflicts = "RANK=1 SLURM_PROCID=2";
    process->cpu_refused = "the kernel keeps rseq across switches";
    process->drops[LP_DROP_NO_SPACE] = 1204;
    process->drops[14] = 3; /* a kind of a later version */
    f.bad[0] = (struct lp_run_bad_file){"workers/vm/x.lpw", LP_ERR_FORMAT, "no magic"};
    f.run.bad_count = 1;
    f.missing[0] = 2;
    f.run.missing_count = 1;
    f.run.missing_total = 1;
    f.run.world_size = 4;
    f.attempts[1] = (struct lp_run_attempt){"old", 3, 0, 0, false};
    f.run.attempt_count = 2;
    struct lp_report *report = build(&f, NULL);
    assert_string_equal(note(report, LP_NOTE_KILLED)->text, "vm:4711 was killed in iteration/select");
    assert_non_null(strstr(note(report, LP_NOTE_UNREADABLE)->text, "workers/vm/x.lpw"));
    assert_non_null(strstr(note(report, LP_NOTE_SUPERSEDED)->text, "--attempt old"));
    assert_string_equal(note(report, LP_NOTE_MISSING_RANK)->text, "rank 2 of 4 left no file");
    assert_int_equal(note(report, LP_NOTE_WRITES)->count, 2);
    assert_int_equal(note(report, LP_NOTE_DROP)->count, 1204);
    assert_int_equal(note(report, LP_NOTE_DROP)->role, 0);
    assert_non_null(strstr(note(report, LP_NOTE_STORE)->text, "every 1.0 s"));
    (void)note(report, LP_NOTE_DAMAGED);
    (void)note(report, LP_NOTE_TORN);
    (void)note(report, LP_NOTE_CLOCK);
    (void)note(report, LP_NOTE_LAUNCH);
    assert_string_equal(report->header.attempt, "20260101T000000-abcdef");
    lp__report_free(report);
    fixture_release(&f);
}

static void test_orders(void **state)
{
    struct fixture f;
    enum lp_report_sort sort;
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    static const char *const first[] = {"select", "iteration", "iteration", "score_children", "iteration"};
    for (unsigned i = 0; i < LP_SORT_COUNT; i++) {
        struct lp_report_options options = {.sort = (enum lp_report_sort)i, .top = LP_REPORT_TOP_ALL};
        struct lp_report *report = build(&f, &options);
        const struct lp_report_role *role = &report->roles[0];
        assert_string_equal(role->tree.phases[role->tree.order[0]].name.bytes, first[i]);
        assert_int_equal(role->shown, 7);
        assert_true(lp__report_sort_parse(lp__report_sort_name((enum lp_report_sort)i), &sort));
        assert_int_equal(sort, i);
        lp__report_free(report);
    }
    assert_false(lp__report_sort_parse("selfish", &sort));
    fixture_release(&f);
}

static void test_a_role_can_be_chosen(void **state)
{
    struct fixture f;
    struct lp_error err = {0};
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    uint32_t learner = fixture_role(&f, "learner");
    fixture_process(&f, learner, "vm", 5);
    fixture_finish(&f, learner, 5);
    struct lp_report_options options = {.role = "learner"};
    struct lp_report *report = build(&f, &options);
    assert_int_equal(report->role_count, 1);
    assert_int_equal(report->worker_count, 1);
    assert_int_equal(report->workers[0].role, 0);
    lp__report_free(report);
    options.role = "learner,actor";
    report = build(&f, &options);
    assert_int_equal(report->role_count, 2);
    lp__report_free(report);
    options.role = "nobody";
    assert_int_equal(lp__report_build(&f.run, &options, &report, &err), LP_ERR_USAGE);
    assert_null(report);
    assert_string_equal(err.detail, "no role \"nobody\" in this run; it has: actor, learner");
    fixture_release(&f);
}

static void test_workers_phases_come_from_their_own_trees(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    struct lp_run_tree tree = {0};
    fixture_tree(&f, &tree);
    uint32_t a = fixture_child_n(&f, &tree, 0, "iteration", 9);
    fixture_entries_in(&f, &tree, a, 3, 1000, 500, 0);
    f.processes[0].tree = &tree;
    struct lp_report *report = build(&f, NULL);
    assert_null(report->workers[0].tree);
    lp__report_free(report);
    report = build(&f, &(struct lp_report_options){.workers = true});
    assert_int_equal(report->workers[0].tree->phases[a].entries, 3);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_an_empty_run_is_a_report(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    f.run.attempt_count = 0;
    struct lp_report *report = build(&f, NULL);
    assert_int_equal(report->role_count, 0);
    assert_true(isnan(report->header.span_ns));
    assert_string_equal(report->header.attempt, "");
    lp__report_free(report);
    fixture_release(&f);
}

static void test_no_memory_leaks_nothing(void **state)
{
    struct fixture f;
    struct lp_report *report = NULL;
    int rc = LP_ERR_NO_MEMORY;
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    for (long n = 0; rc == LP_ERR_NO_MEMORY && n < 1000; n++) {
        lp__mem_fail_after(n);
        rc = lp__report_build(&f.run, NULL, &report, NULL);
        lp__mem_fail_after(-1);
        if (rc) assert_null(report);
    }
    assert_int_equal(rc, LP_OK);
    lp__report_free(report);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_breakdown_starts_at_the_first_branching_level),
        cmocka_unit_test(test_breakdown_of_a_chain_shows_its_last_level),
        cmocka_unit_test(test_open_phases_count_with_their_time_so_far),
        cmocka_unit_test(test_what_an_open_child_charged_already_is_not_taken_twice),
        cmocka_unit_test(test_sampled_phases_are_scaled_and_their_entries_exact),
        cmocka_unit_test(test_sampling_the_first_level_takes_from_outside),
        cmocka_unit_test(test_a_phase_of_which_every_entry_was_skipped_is_untimed),
        cmocka_unit_test(test_suspended_time_is_neither_self_nor_wait),
        cmocka_unit_test(test_unmeasured_is_not_zero),
        cmocka_unit_test(test_thread_nodes_are_what_their_phases_are),
        cmocka_unit_test(test_counters_spread),
        cmocka_unit_test(test_the_iteration_is_found_at_any_depth),
        cmocka_unit_test(test_a_worker_that_recorded_nothing_is_named),
        cmocka_unit_test(test_inferred_stops_are_said_with_what_measures_them),
        cmocka_unit_test(test_the_iteration_has_a_trend_where_it_was_measured),
        cmocka_unit_test(test_one_entry_in_each_of_many_processes_is_no_iteration),
        cmocka_unit_test(test_workers_are_compared_to_the_median),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_notes_say_what_is_missing),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_a_role_can_be_chosen),
        cmocka_unit_test(test_workers_phases_come_from_their_own_trees),
        cmocka_unit_test(test_an_empty_run_is_a_report),
        cmocka_unit_test(test_no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
