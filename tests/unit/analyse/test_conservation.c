/* Random programs on one thread, recorded by a naive twin and as the store would: per path the same entries, wall and
 * self; and whatever is open or was sampled, self times and the time outside add up to the elapsed time.  Fixed seed.
 */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/report.h"
#include "support/run_fixture.h"

#define MOST_DEPTH 6
#define MOST_NODES 200

struct twin {
    uint64_t calls, wall, self;
};

struct program {
    struct fixture f;
    struct twin twins[MOST_NODES];
    uint64_t random, clock, outside;
    uint32_t stack[MOST_DEPTH + 1];
    uint64_t started[MOST_DEPTH + 1];
    uint32_t depth;
};

static uint64_t roll(struct program *program, uint64_t below)
{
    program->random = program->random * 6364136223846793005u + 1442695040888963407u;
    return (program->random >> 33) % below;
}

/* Time passes: it is the self time of what is on top. */
static void pass(struct program *program)
{
    uint64_t ns = roll(program, 100000);
    program->clock += ns;
    if (program->depth)
        program->twins[program->stack[program->depth]].self += ns;
    else
        program->outside += ns;
}

static uint32_t child(struct program *program, uint32_t parent, uint32_t name)
{
    struct lp_run_tree *tree = &program->f.roles[0].tree;
    char text[2] = {(char)('a' + name), 0};
    uint32_t id = fixture_name(&program->f, text, 1);
    for (uint32_t i = 1; i < tree->count; i++)
        if (tree->phases[i].parent == parent && tree->phases[i].name == id) return i;
    return tree->count < MOST_NODES ? fixture_child(&program->f, 0, parent, text) : 0;
}

static void enter(struct program *program)
{
    uint32_t phase = child(program, program->stack[program->depth], (uint32_t)roll(program, 4));
    if (!phase) return;
    program->stack[++program->depth] = phase;
    program->started[program->depth] = program->clock;
}

static void leave(struct program *program)
{
    uint32_t phase = program->stack[program->depth];
    uint64_t wall = program->clock - program->started[program->depth--];
    program->twins[phase].calls++;
    program->twins[phase].wall += wall;
    fixture_entries(&program->f, 0, phase, 1, wall, wall / 2);
}

static void run_program(struct program *program, uint64_t seed, size_t steps, bool leave_open)
{
    memset(program, 0, sizeof *program);
    program->random = seed;
    fixture_init(&program->f);
    (void)fixture_role(&program->f, "main");
    fixture_process(&program->f, 0, "vm", 1);
    for (size_t i = 0; i < steps; i++) {
        pass(program);
        if (program->depth < MOST_DEPTH && roll(program, 2))
            enter(program);
        else if (program->depth)
            leave(program);
    }
    while (program->depth && !leave_open)
        leave(program);
    for (uint32_t d = 1; d <= program->depth; d++) {
        uint64_t wall = program->clock - program->started[d];
        program->twins[program->stack[d]].wall += wall;
        fixture_open(&program->f, 0, program->stack[d], (double)wall);
    }
    fixture_finish(&program->f, 0, (double)program->outside);
}

static void conserves(const struct lp_report_role *role, uint64_t elapsed)
{
    double sum = role->outside_ns;
    for (size_t i = 1; i < role->tree.count; i++)
        sum += role->tree.phases[i].self_ns;
    assert_true(fabs(sum - (double)elapsed) <= 1e-9 * (double)elapsed + 1);
}

static void check_program(uint64_t seed, bool leave_open)
{
    static struct program program;
    struct lp_report *report = NULL;
    run_program(&program, seed, 500, leave_open);
    assert_int_equal(lp__report_build(&program.f.run, NULL, &report, NULL), LP_OK);
    const struct lp_report_tree *tree = &report->roles[0].tree;
    for (size_t i = 1; i < tree->count; i++) {
        assert_int_equal(tree->phases[i].entries, program.twins[i].calls);
        assert_true(fabs(tree->phases[i].wall_ns - (double)program.twins[i].wall) < 1);
        assert_true(fabs(tree->phases[i].self_ns - (double)program.twins[i].self) < 1);
    }
    conserves(&report->roles[0], program.clock);
    lp__report_free(report);
    fixture_release(&program.f);
}

static void test_finished_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        check_program(seed, false);
}

static void test_programs_that_are_still_open(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        check_program(seed, true);
}

/* Half the entries of a phase were left out, and what was below them with it: its parent's self shrinks by what the
 * estimate adds, so the sum stays. */
static void test_sampled_programs(void **state)
{
    static struct program program;
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct lp_report *report = NULL;
        run_program(&program, seed, 500, seed % 2);
        struct lp_run_tree *tree = &program.f.roles[0].tree;
        uint64_t clamped = 0;
        for (size_t i = 1; i < tree->count; i += 3)
            tree->phases[i].skipped = roll(&program, 2);
        assert_int_equal(lp__report_build(&program.f.run, NULL, &report, NULL), LP_OK);
        const struct lp_report_tree *got = &report->roles[0].tree;
        for (size_t i = 1; i < got->count; i++)
            clamped += got->phases[i].self_ns <= 0;
        if (!clamped && report->roles[0].outside_ns > 0) conserves(&report->roles[0], program.clock);
        for (size_t i = 1; i < got->count; i++) {
            const struct lp_report_phase *phase = &got->phases[i];
            assert_true(phase->scale >= got->phases[phase->parent].scale);
            assert_true(phase->self_ns >= 0 && phase->self_ns <= phase->active_ns + 1);
            assert_true(isnan(phase->wait_share) || (phase->wait_share >= 0 && phase->wait_share <= 1));
        }
        lp__report_free(report);
        fixture_release(&program.f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finished_programs),
        cmocka_unit_test(test_programs_that_are_still_open),
        cmocka_unit_test(test_sampled_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
