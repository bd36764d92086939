/* Properties of the text report that hold for every run: bounded lines, safe bytes, aligned rows, caveats beside the
 * numbers, no share above 100 %. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "render/render.h"
#include "support/run_scenes.h"

typedef void scene(struct fixture *f);
static scene *const scenes[] = {scene_mcts, scene_roles, scene_trouble, scene_hostile, scene_empty};
#define SCENES (sizeof scenes / sizeof *scenes)

static char *print(scene *make, struct lp_text_options text, struct lp_report_options options)
{
    struct fixture f;
    struct lp_report *report = NULL;
    struct lp_buf out;
    make(&f);
    assert_int_equal(lp__report_build(&f.run, &options, &report, NULL), LP_OK);
    lp__buf_init(&out, 1 << 24);
    lp__render_text(report, &text, &out);
    assert_int_equal(out.failed, LP_OK);
    lp__report_free(report);
    fixture_release(&f);
    return out.data; /* freed with lp__free */
}

/* The line that starts with `start`, without its newline, in a buffer of its own. */
static const char *line(const char *page, const char *start)
{
    static char found[512];
    for (const char *at = page; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, start, strlen(start)) != 0) continue;
        size_t len = strcspn(at, "\n");
        memcpy(found, at, len < 511 ? len : 511);
        found[len < 511 ? len : 511] = 0;
        return found;
    }
    fail_msg("no line starts with \"%s\" in:\n%s", start, page);
    return "";
}

static size_t columns(const char *text, size_t len)
{
    size_t used = 0;
    for (size_t at = 0; at < len;)
        used += (size_t)lp__utf8_width(lp__utf8_next(text, len, &at));
    return used;
}

static void test_columns_are_where_users_know_them(void **state)
{
    (void)state;
    char *page = print(scene_mcts, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    assert_string_equal(line(page, "ACTOR"), "ACTOR  (1 process, imbalance 1.00)");
    assert_string_equal(line(page, "select  "), "select                         60.3%       111.2ms");
    assert_string_equal(line(page, "DOMINANT"),
                        "DOMINANT PHASES          entries        self    wait       p50       p99");
    assert_string_equal(line(page, "iteration/expand"),
                        "iteration/expand           2,000       9.3ms      1%     4.7us     4.7us");
    assert_string_equal(line(page, "    + children_scored"),
                        "    + children_scored          50,600 1,777,777.8/s    562ns/ea  always 8");
    assert_string_equal(line(page, "    + tree_depth"),
                        "    + tree_depth                6,325    56,879.5/s   17.6us/ea  0..4");
    assert_string_equal(line(page, "ITERATIONS"), "ITERATIONS  (2000 entries)");
    assert_string_equal(line(page, "  mean"), "  mean     92.2us   p50     92.2us   p95     94.0us   p99     94.2us");
    lp__free(page);
}

static void test_no_line_is_wider_than_the_page(void **state)
{
    static const unsigned widths[] = {0, 20, 72, 80, 90, 132, 200};
    (void)state;
    for (size_t s = 0; s < SCENES; s++) {
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            struct lp_text_options text = {.width = widths[w], .utf8 = true, .wide = s == 2 && w > 4};
            char *page = print(scenes[s], text, (struct lp_report_options){.top = LP_REPORT_TOP_ALL, .workers = true});
            size_t most = widths[w] == 0 ? 80 : widths[w] < 72 ? 72 : widths[w];
            for (const char *at = page; *at; at += strcspn(at, "\n") + 1) {
                size_t len = strcspn(at, "\n");
                char row[1024];
                (void)snprintf(row, sizeof row, "%.*s", (int)len, at);
                bool counts = strncmp(at, "    + ", 6) == 0 || strstr(row, "19,161,676"); /* never shortened */
                if (columns(at, len) > most && !counts) fail_msg("%zu: %.*s", columns(at, len), (int)len, at);
            }
            lp__free(page);
        }
    }
}

static void test_nothing_that_a_terminal_obeys_gets_out(void **state)
{
    (void)state;
    for (size_t s = 0; s < SCENES; s++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            char *page = print(scenes[s], (struct lp_text_options){.utf8 = utf8}, (struct lp_report_options){0});
            size_t len = strlen(page);
            for (size_t at = 0; at < len;) {
                uint32_t c = lp__utf8_next(page, len, &at);
                if (c == '\n') continue;
                if (c == LP_UTF8_BAD || lp__utf8_is_unsafe(c)) fail_msg("U+%04X at %zu", (unsigned)c, at);
                if (!utf8) assert_true(c < 0x80);
            }
            lp__free(page);
        }
    }
}

static void test_colours_only_when_asked(void **state)
{
    (void)state;
    char *plain = print(scene_trouble, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    char *color =
        print(scene_trouble, (struct lp_text_options){.utf8 = true, .color = true}, (struct lp_report_options){0});
    assert_null(strchr(plain, '\x1b'));
    assert_non_null(strstr(color, "\x1b[33mWARNING"));
    assert_non_null(strstr(color, "\xE2\x96\x88")); /* heat */
    lp__free(plain);
    lp__free(color);
}

static void test_marks_do_not_widen_a_row(void **state)
{
    (void)state;
    char *page = print(scene_trouble, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    const char *heading = line(page, "DOMINANT");
    size_t want = columns(heading, strlen(heading));
    static const char *const rows[] = {"\xE2\x80\xA0step/forward", ">train/step", "~step/rare", "step/load"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *row = line(page, rows[i]);
        assert_int_equal(columns(row, strlen(row)), want);
    }
    lp__free(page);
}

static void test_no_share_is_above_a_hundred(void **state)
{
    (void)state;
    for (size_t s = 0; s < SCENES; s++) {
        char *page = print(scenes[s], (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
        for (const char *at = page; (at = strchr(at, '%')) != NULL; at++) {
            const char *start = at;
            while (start > page && strchr("0123456789.", start[-1]))
                start--;
            if (start < at && atof(start) > 100) fail_msg("%.*s%%", (int)(at - start), start);
        }
        lp__free(page);
    }
}

static void before(const char *page, const char *first, const char *second)
{
    const char *a = strstr(page, first), *b = a ? strstr(a, second) : NULL;
    if (!a || !b) fail_msg("\"%s\" does not come before \"%s\"", first, second);
}

static void test_caveats_stand_beside_their_numbers(void **state)
{
    (void)state;
    char *page = print(scene_trouble, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    before(page, "DOMINANT PHASES", "1,204 entries NOT recorded");
    before(page, "1,204 entries NOT recorded", "ITERATIONS");
    before(page, "WARNING: ranks 6-7, 12 of 16", "WORKER  (");
    before(page, "WARNING: 2 files not read", "WORKER  (");
    before(page, "1 killed", "WORKER  (");
    before(page, "  killed    rank 1 vm:301", "in train/step");
    before(page, "wait n/a:", "step/load  12 of 5,000 entries");
    before(page, "~ sampled", "step/rare  none of 3 was timed");
    before(page, "> open when last seen", "train  1 open, 6.00s so far");
    before(page, "CAVEATS", "not read: workers/vm/y.lpw");
    before(page, "CAVEATS", "3 failed writes");
    lp__free(page);
}

static void test_open_role_does_not_vanish(void **state)
{
    (void)state;
    char *page = print(scene_trouble, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    assert_string_equal(line(page, ">train  "), ">train                         98.9%         6.00s (\xCE\xA3"
                                                "6 proc)");
    lp__free(page);
}

static void test_sums_over_processes_are_marked(void **state)
{
    (void)state;
    char *page = print(scene_roles, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    assert_non_null(strstr(page, "at the first branching level, summed over 4 processes"));
    assert_non_null(strstr(page, "(\xCE\xA3"
                                 "4 proc)"));
    lp__free(page);
    page = print(scene_roles, (struct lp_text_options){0}, (struct lp_report_options){0});
    assert_non_null(strstr(page, "(sum of 4)"));
    lp__free(page);
}

static void test_the_slow_worker_is_named(void **state)
{
    (void)state;
    char *page = print(scene_roles, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    assert_string_equal(line(page, "  slowest"), "  slowest   rank 2 node2:102               3.00s   3.00x  clean");
    assert_null(strstr(page, "rank 0 "));
    lp__free(page);
    page = print(scene_roles, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){.workers = true});
    for (int i = 0; i < 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "rank %d node", i);
        assert_non_null(strstr(page, name));
    }
    lp__free(page);
}

static void test_what_is_left_out_is_said_and_can_be_had(void **state)
{
    (void)state;
    char *page = print(scene_mcts, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){0});
    assert_non_null(strstr(page, "  1 more phase with 2.6% of the self time: --top all\n"));
    assert_null(strstr(page, "iteration/backpropagate"));
    lp__free(page);
    page =
        print(scene_mcts, (struct lp_text_options){.utf8 = true}, (struct lp_report_options){.top = LP_REPORT_TOP_ALL});
    assert_null(strstr(page, "--top all"));
    assert_non_null(strstr(page, "iteration/backpropagate"));
    lp__free(page);
}

static void test_a_wide_page_has_more_columns(void **state)
{
    (void)state;
    char *page = print(scene_mcts, (struct lp_text_options){.utf8 = true, .wide = true}, (struct lp_report_options){0});
    const char *head = line(page, "DOMINANT");
    assert_non_null(strstr(head, "p95       p99       max"));
    assert_non_null(strstr(line(page, "iteration/select/score_children "), "6,325"));
    assert_non_null(strstr(line(page, "    + tree_depth"), "0..4  p50 3 p95 4"));
    lp__free(page);
}

static void test_many_of_a_kind_are_bounded(void **state)
{
    struct fixture f;
    struct lp_report *report = NULL;
    struct lp_buf out;
    static struct lp_run_bad_file bad[500];
    (void)state;
    scene_mcts(&f);
    for (size_t i = 0; i < 500; i++)
        bad[i] = (struct lp_run_bad_file){"workers/vm/x.lpw", LP_ERR_FORMAT, "no magic"};
    f.run.bad = bad;
    f.run.bad_count = 500;
    uint32_t wide_level = fixture_child(&f, 0, 0, "others");
    for (uint32_t i = 0; i < 60; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "child %u", i);
        fixture_entries(&f, 0, fixture_child(&f, 0, 0, name), 1, 1000000 + i, 0);
    }
    fixture_entries(&f, 0, wide_level, 1, 1000, 0);
    assert_int_equal(lp__report_build(&f.run, NULL, &report, NULL), LP_OK);
    lp__buf_init(&out, 1 << 24);
    lp__render_text(report, &(struct lp_text_options){.utf8 = true}, &out);
    assert_non_null(strstr(out.data, "and 492 more like these"));
    assert_non_null(strstr(out.data, "43 more phases"));
    lp__buf_release(&out);
    lp__report_free(report);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_where_users_know_them),
        cmocka_unit_test(test_no_line_is_wider_than_the_page),
        cmocka_unit_test(test_nothing_that_a_terminal_obeys_gets_out),
        cmocka_unit_test(test_colours_only_when_asked),
        cmocka_unit_test(test_marks_do_not_widen_a_row),
        cmocka_unit_test(test_no_share_is_above_a_hundred),
        cmocka_unit_test(test_caveats_stand_beside_their_numbers),
        cmocka_unit_test(test_open_role_does_not_vanish),
        cmocka_unit_test(test_sums_over_processes_are_marked),
        cmocka_unit_test(test_the_slow_worker_is_named),
        cmocka_unit_test(test_what_is_left_out_is_said_and_can_be_had),
        cmocka_unit_test(test_a_wide_page_has_more_columns),
        cmocka_unit_test(test_many_of_a_kind_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
