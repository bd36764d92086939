/* Whole outputs, compared byte for byte with tests/golden: they change only on purpose.
 *
 * LP_ACCEPT=1 writes what is printed now (make accept shows the difference).  LP_GOLDEN names the folder; without it,
 * it is found beside this file's source. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/render.h"
#include "support/run_scenes.h"

enum form { FORM_TEXT, FORM_JSON, FORM_RUN };

struct golden {
    const char *file;
    void (*scene)(struct fixture *f);
    enum form form;
    struct lp_text_options text;
    struct lp_report_options report;
};

static const struct golden goldens[] = {
    {"mcts.txt", scene_mcts, FORM_TEXT, {.utf8 = true}, {0}},
    {"mcts.json", scene_mcts, FORM_JSON, {0}, {0}},
    {"mcts-run.json", scene_mcts, FORM_RUN, {0}, {0}},
    {"mcts-color.txt", scene_mcts, FORM_TEXT, {.utf8 = true, .color = true}, {.sort = LP_SORT_WALL, .top = 3}},
    {"roles.txt", scene_roles, FORM_TEXT, {.utf8 = true}, {0}},
    {"roles-all.txt", scene_roles, FORM_TEXT, {.utf8 = true}, {.workers = true, .top = LP_REPORT_TOP_ALL}},
    {"roles.json", scene_roles, FORM_JSON, {0}, {.sort = LP_SORT_P99}},
    {"trouble.txt", scene_trouble, FORM_TEXT, {.utf8 = true}, {0}},
    {"trouble-ascii.txt", scene_trouble, FORM_TEXT, {.width = 72}, {0}},
    {"trouble-wide.txt", scene_trouble, FORM_TEXT, {.utf8 = true, .wide = true, .width = 120}, {0}},
    {"trouble.json", scene_trouble, FORM_JSON, {0}, {0}},
    {"hostile.txt", scene_hostile, FORM_TEXT, {.utf8 = true}, {.top = LP_REPORT_TOP_ALL}},
    {"hostile-ascii.txt", scene_hostile, FORM_TEXT, {0}, {.top = LP_REPORT_TOP_ALL}},
    {"empty.txt", scene_empty, FORM_TEXT, {.utf8 = true}, {0}},
    {"empty.json", scene_empty, FORM_JSON, {0}, {0}},
};

static void render(const struct golden *golden, struct lp_buf *out)
{
    struct fixture f;
    struct lp_report *report = NULL;
    golden->scene(&f);
    assert_int_equal(lp__report_build(&f.run, &golden->report, &report, NULL), LP_OK);
    if (golden->form == FORM_TEXT) lp__render_text(report, &golden->text, out);
    if (golden->form == FORM_JSON) lp__render_json(report, out);
    if (golden->form == FORM_RUN) lp__render_run_json(&f.run, out);
    assert_int_equal(out->failed, LP_OK);
    lp__report_free(report);
    fixture_release(&f);
}

static void golden_path(char *out, size_t cap, const char *file)
{
    const char *folder = getenv("LP_GOLDEN"), *here = __FILE__, *slash = strrchr(here, '/');
    if (folder)
        (void)snprintf(out, cap, "%s/%s", folder, file);
    else
        (void)snprintf(out, cap, "%.*s/../../golden/%s", (int)(slash ? slash - here : 0), here, file);
}

static void accept(const char *path, const struct lp_buf *now)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(now->data, 1, now->len, file), now->len);
    assert_int_equal(fclose(file), 0);
}

static void read_file(const char *path, struct lp_buf *out)
{
    char part[4096];
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s: LP_ACCEPT=1 writes it", path);
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;)
        lp__buf_add(out, part, got);
    (void)fclose(file);
}

/* Shows the first line that differs, which is what one wants to see. */
static void show_difference(const char *path, const struct lp_buf *want, const struct lp_buf *got)
{
    size_t at = 0, line = 1, start = 0;
    while (at < want->len && at < got->len && want->data[at] == got->data[at])
        if (got->data[at++] == '\n') line++, start = at;
    fail_msg("%s:%zu differs\nwant: %.120s\ngot:  %.120s", path, line, want->data ? want->data + start : "",
             got->data + start);
}

static void test_outputs_are_as_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        char path[512];
        struct lp_buf got, want;
        lp__buf_init(&got, 1 << 24);
        lp__buf_init(&want, 1 << 24);
        golden_path(path, sizeof path, goldens[i].file);
        render(&goldens[i], &got);
        if (getenv("LP_ACCEPT"))
            accept(path, &got);
        else {
            read_file(path, &want);
            if (got.len != want.len || memcmp(got.data, want.data, got.len) != 0) show_difference(path, &want, &got);
        }
        lp__buf_release(&got);
        lp__buf_release(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_outputs_are_as_accepted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
