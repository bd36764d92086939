/* The JSON documents: valid whatever the names are, exact where numbers are large, null where nothing was measured. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "render/render.h"
#include "support/run_scenes.h"

typedef void scene(struct fixture *f);
static scene *const scenes[] = {scene_mcts, scene_roles, scene_trouble, scene_hostile, scene_empty};
#define SCENES (sizeof scenes / sizeof *scenes)

enum document { DOCUMENT_REPORT, DOCUMENT_RUN };

static char *print(scene *make, enum document document, bool workers)
{
    struct fixture f;
    struct lp_run_tree tree = {0};
    struct lp_report *report = NULL;
    struct lp_buf out;
    make(&f);
    if (workers) {
        fixture_tree(&f, &tree);
        fixture_entries_in(&f, &tree, fixture_child_n(&f, &tree, 0, "own", 3), 3, 1000, 500, 0);
        f.processes[0].tree = &tree;
    }
    lp__buf_init(&out, 1 << 24);
    if (document == DOCUMENT_RUN)
        lp__render_run_json(&f.run, &out);
    else {
        assert_int_equal(lp__report_build(&f.run, &(struct lp_report_options){.workers = workers}, &report, NULL),
                         LP_OK);
        lp__render_json(report, &out);
    }
    assert_int_equal(out.failed, LP_OK);
    lp__report_free(report);
    fixture_release(&f);
    return out.data;
}

/* -- a strict reader, which knows nothing but the grammar -------------------------------------------------------- */

static const char *value(const char *at);

static const char *space(const char *at)
{
    return at + strspn(at, " \n\t\r");
}

static const char *string(const char *at)
{
    assert_int_equal(*at, '"');
    for (at++; *at != '"';) {
        if ((unsigned char)*at < 0x20 || *at == 0x7F) fail_msg("control character in a string: %.20s", at);
        if (*at != '\\') {
            size_t used = 0;
            if (lp__utf8_next(at, strlen(at) < 4 ? strlen(at) : 4, &used) == LP_UTF8_BAD) fail_msg("bad UTF-8");
            at += used;
        } else if (at[1] == 'u') {
            assert_int_equal(strspn(at + 2, "0123456789abcdef") >= 4, 1);
            at += 6;
        } else {
            assert_non_null(strchr("\"\\/bfnrt", at[1]));
            at += 2;
        }
    }
    return at + 1;
}

static const char *members(const char *at, char end)
{
    at = space(at + 1);
    if (*at == end) return at + 1;
    for (;;) {
        if (end == '}') {
            at = space(string(at));
            assert_int_equal(*at, ':');
            at = space(at + 1);
        }
        at = space(value(at));
        if (*at == end) return at + 1;
        if (*at != ',') fail_msg("no comma: %.40s", at);
        at = space(at + 1);
    }
}

static const char *value(const char *at)
{
    static const char *const words[] = {"null", "true", "false"};
    if (*at == '{' || *at == '[') return members(at, *at == '{' ? '}' : ']');
    if (*at == '"') return string(at);
    for (size_t i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0) return at + strlen(words[i]);
    size_t len = strspn(at, "-0123456789.");
    if (!len || at[len - 1] == '.') fail_msg("no value: %.40s", at);
    return at + len;
}

static void test_documents_are_json(void **state)
{
    (void)state;
    for (size_t s = 0; s < SCENES; s++) {
        for (int form = 0; form < 4; form++) {
            bool workers = form >= 2 && scenes[s] != scene_empty;
            char *page = print(scenes[s], form % 2 ? DOCUMENT_RUN : DOCUMENT_REPORT, workers);
            assert_int_equal(*space(value(space(page))), 0);
            lp__free(page);
        }
    }
}

static void has(const char *page, const char *part)
{
    if (!strstr(page, part)) fail_msg("no %s in %.3000s", part, page);
}

static void test_names_come_back_as_they_were(void **state)
{
    (void)state;
    char *page = print(scene_hostile, DOCUMENT_RUN, false);
    has(page, "\"path\": [\"a/b\"]");
    has(page, "\"path\": [\"\"]");
    has(page, "\"path\": [\"new\\nline\"]");
    has(page, "\"path\": [\"\\u001b[31mred\\u001b[0m\"]");
    has(page, "\"path\": [\"\\u003c/script\\u003e\"]");
    has(page, "\"path\": [\"\\ud800 half\"]");
    has(page, "\"path\": [\"nul\\u0000inside\"]");
    has(page, "\"path\": [\"bad\xEF\xBF\xBD\xEF\xBF\xBD\"]");
    assert_true(strlen(page) > SCENE_LONG_NAME);
    lp__free(page);
}

static void test_large_totals_are_exact(void **state)
{
    (void)state;
    char *page = print(scene_trouble, DOCUMENT_RUN, false);
    has(page, "\"huge\": {\"total\": 73786976294838206456, \"adds\": 8");
    lp__free(page);
    page = print(scene_trouble, DOCUMENT_REPORT, false);
    has(page, "\"huge\": 73786976294838206456");
    lp__free(page);
}

static void test_what_was_not_measured_is_null(void **state)
{
    struct fixture f;
    struct lp_buf out;
    (void)state;
    char *page = print(scene_empty, DOCUMENT_REPORT, false);
    has(page, "\"empty\": \"no_readable_worker_files\"");
    has(page, "\"runtime_s\": null");
    lp__free(page);
    scene_mcts(&f);
    f.processes[0].cpu_clock = 0;
    lp__buf_init(&out, 1 << 20);
    lp__render_run_json(&f.run, &out);
    has(out.data, "\"cpu_ns\": null");
    assert_null(strstr(out.data, "\"cpu_ns\": 0"));
    lp__buf_release(&out);
    fixture_release(&f);
}

static void test_workers_have_their_own_phases_on_request(void **state)
{
    (void)state;
    char *page = print(scene_mcts, DOCUMENT_REPORT, true);
    has(strstr(page, "\"workers\""), "\"phase\": \"own\"");
    lp__free(page);
    page = print(scene_mcts, DOCUMENT_REPORT, false);
    has(strstr(page, "\"workers\""), "\"phases\": null");
    lp__free(page);
    page = print(scene_mcts, DOCUMENT_RUN, true);
    has(strstr(page, "\"workers\""), "\"path\": [\"own\"]");
    lp__free(page);
}

static void test_the_ceiling_of_the_buffer_is_seen(void **state)
{
    struct fixture f;
    struct lp_report *report = NULL;
    struct lp_buf out;
    (void)state;
    scene_mcts(&f);
    assert_int_equal(lp__report_build(&f.run, NULL, &report, NULL), LP_OK);
    lp__buf_init(&out, 1000);
    lp__render_json(report, &out);
    assert_int_equal(out.failed, LP_ERR_LIMIT);
    lp__buf_release(&out);
    lp__buf_init(&out, 1000);
    lp__render_text(report, &(struct lp_text_options){.utf8 = true}, &out);
    assert_int_equal(out.failed, LP_ERR_LIMIT);
    lp__buf_release(&out);
    lp__report_free(report);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_are_json),
        cmocka_unit_test(test_names_come_back_as_they_were),
        cmocka_unit_test(test_large_totals_are_exact),
        cmocka_unit_test(test_what_was_not_measured_is_null),
        cmocka_unit_test(test_workers_have_their_own_phases_on_request),
        cmocka_unit_test(test_the_ceiling_of_the_buffer_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
