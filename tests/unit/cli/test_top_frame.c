/* Frames of `top`: the report's figures, rates between frames, and room. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fmt.h"
#include "cli/top_frame.h"
#include "support/run_fixture.h"

static struct lp_report *build(struct fixture *f, uint32_t top)
{
    struct lp_report_options options = {.top = top, .now_real_ns = 1.7e18 + 5e9};
    struct lp_report *report = NULL;
    struct lp_error err;
    assert_int_equal(lp__report_build(&f->run, &options, &report, &err), LP_OK);
    return report;
}

/* The line that holds `word`, or fails. */
static const char *line_with(const struct lp_buf *out, const char *word)
{
    static char line[512];
    const char *at = strstr(out->data, word);
    if (!at) fail_msg("no '%s' in:\n%s", word, out->data);
    while (at > out->data && at[-1] != '\n')
        at--;
    size_t len = strcspn(at, "\n");
    if (len >= sizeof line) len = sizeof line - 1;
    memcpy(line, at, len);
    line[len] = '\0';
    return line;
}

static size_t lines_of(const struct lp_buf *out)
{
    size_t lines = 0;
    for (size_t i = 0; i < out->len; i++)
        lines += out->data[i] == '\n';
    return lines;
}

static void test_figures_are_the_report_s(void **state)
{
    struct fixture f;
    struct lp_buf out;
    char figure[LP_FMT_CAP];
    const struct lp_top_frame frame = {.width = 100};
    (void)state;
    fixture_init(&f);
    fixture_mcts(&f);
    struct lp_report *report = build(&f, LP_REPORT_TOP_ALL);
    lp__buf_init(&out, 1 << 20);
    lp__top_frame(report, &frame, &out);
    const struct lp_report_tree *tree = &report->roles[0].tree;
    for (size_t i = 1; i < tree->count; i++) {
        const struct lp_report_phase *phase = &tree->phases[i];
        const char *line = line_with(&out, phase->name.bytes);
        (void)line;
    }
    const struct lp_report_phase *first = &tree->phases[tree->order[0]];
    const char *line = line_with(&out, first->name.bytes);
    assert_non_null(strstr(line, lp__fmt_count(figure, sizeof figure, first->entries)));
    assert_non_null(strstr(line, lp__fmt_duration(figure, sizeof figure, first->self_ns)));
    assert_non_null(strstr(line, lp__fmt_duration(figure, sizeof figure, first->p50_ns)));
    assert_non_null(strstr(line, lp__fmt_duration(figure, sizeof figure, first->p99_ns)));
    lp__buf_release(&out);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_open_phases_are_marked(void **state)
{
    struct fixture f;
    struct lp_buf out;
    const struct lp_top_frame frame = {.width = 100};
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "serve");
    fixture_process(&f, role, "node", 7)->verdict = LP_VERDICT_RUNNING;
    uint32_t loop = fixture_child(&f, role, 0, "loop");
    uint32_t step = fixture_child(&f, role, loop, "step");
    fixture_entries(&f, role, step, 10, 1000, 900);
    fixture_open(&f, role, loop, 50000);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, LP_REPORT_TOP_ALL);
    lp__buf_init(&out, 1 << 20);
    lp__top_frame(report, &frame, &out);
    assert_memory_equal(line_with(&out, "> loop"), "> loop ", 7);
    assert_memory_equal(line_with(&out, "loop/step"), "  loop/step ", 12);
    assert_non_null(strstr(line_with(&out, "node:7"), "running"));
    lp__buf_release(&out);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_rates_between_frames(void **state)
{
    struct fixture f;
    struct lp_buf out;
    struct lp_map before;
    struct lp_top_frame frame = {.width = 100, .before = &before};
    (void)state;
    lp__map_init(&before);
    lp__buf_init(&out, 1 << 20);
    for (int round = 0; round < 2; round++) {
        fixture_init(&f);
        uint32_t role = fixture_role(&f, "serve");
        fixture_process(&f, role, "node", 7);
        uint32_t step = fixture_child(&f, role, 0, "step");
        fixture_entries(&f, role, step, round ? 350 : 100, 1000, 900);
        fixture_finish(&f, role, 0);
        struct lp_report *report = build(&f, LP_REPORT_TOP_ALL);
        frame.since_ns = round ? 2e9 : 0;
        lp__buf_clear(&out);
        lp__top_frame(report, &frame, &out);
        if (round)
            assert_non_null(strstr(line_with(&out, "  step"), "125.0/s"));
        else
            assert_null(strstr(line_with(&out, "  step"), "/s"));
        lp__report_free(report);
        fixture_release(&f);
    }
    lp__map_release(&before);
    lp__buf_release(&out);
}

static void test_fits_the_window(void **state)
{
    struct fixture f;
    struct lp_buf out;
    (void)state;
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "many");
    for (uint32_t i = 0; i < 40; i++) {
        char name[16];
        struct lp_run_process *process = fixture_process(&f, role, "node", i);
        process->verdict = i % 2 ? LP_VERDICT_RUNNING : LP_VERDICT_KILLED;
        snprintf(name, sizeof name, "phase%u", i);
        fixture_entries(&f, role, fixture_child(&f, role, 0, name), 10, 1000, 900);
    }
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, LP_REPORT_TOP_ALL);
    lp__buf_init(&out, 1 << 20);
    for (unsigned rows = 8; rows < 80; rows += 3) {
        const struct lp_top_frame frame = {.width = 80, .rows = rows, .utf8 = true, .hint = "q quits"};
        lp__buf_clear(&out);
        lp__top_frame(report, &frame, &out);
        if (lines_of(&out) + 1 > rows) fail_msg("%zu lines in %u rows:\n%s", lines_of(&out) + 1, rows, out.data);
    }
    lp__buf_release(&out);
    lp__report_free(report);
    fixture_release(&f);
}

static void test_hostile_names_stay_in_their_cell(void **state)
{
    struct fixture f;
    struct lp_buf out;
    const struct lp_top_frame frame = {.width = 80};
    char name[6000];
    (void)state;
    memset(name, 'x', sizeof name);
    memcpy(name, "\x1b[31m\n", 6);
    fixture_init(&f);
    uint32_t role = fixture_role(&f, "a\nb");
    fixture_process(&f, role, "node", 7);
    uint32_t phase = fixture_child_n(&f, &f.roles[role].tree, 0, name, sizeof name);
    fixture_entries(&f, role, phase, 10, 1000, 900);
    fixture_entries(&f, role, fixture_child(&f, role, phase, "in\033ner"), 10, 500, 400);
    fixture_finish(&f, role, 0);
    struct lp_report *report = build(&f, LP_REPORT_TOP_ALL);
    lp__buf_init(&out, 1 << 20);
    lp__top_frame(report, &frame, &out);
    assert_null(memchr(out.data, '\x1b', out.len));
    for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1)
        assert_true(strcspn(at, "\n") <= 80);
    assert_int_equal(lines_of(&out), 6); /* two of the head, an empty one, the table's three */
    lp__buf_release(&out);
    lp__report_free(report);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_the_report_s),
        cmocka_unit_test(test_open_phases_are_marked),
        cmocka_unit_test(test_rates_between_frames),
        cmocka_unit_test(test_fits_the_window),
        cmocka_unit_test(test_hostile_names_stay_in_their_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
