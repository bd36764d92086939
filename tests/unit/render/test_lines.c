/* Printed tables of lines, their document and the exports: whole outputs against tests/golden, widths, hostile names.
 *
 * LP_ACCEPT=1 writes what is printed now, as in test_golden.c. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "merge/run.h"
#include "render/lines.h"
#include "support/line_builder.h"

/* -- scenes ------------------------------------------------------------------------------------------------------ */

static void scene_usual(struct image *image)
{
    line_usual(image);
}

/* Line events, a suspended row, a call that runs, two callers, nested regions, a changed source, everything to say. */
static void scene_mixed(struct image *image)
{
    static const char text[] =
        "async def fetch(n):\n"
        "    await sleep(n)\n"
        "    values = [\n"
        "        n,\n"
        "    ]\n"
        "    return values\n"
        "def one(): fetch(1)\n"
        "def two():\n"
        "\tfetch(2)\t# a comment that goes on and on, so long that nobody would print all of it\n";
    static const uint32_t fetch_lines[] = {2, 3, 4, 5, 6, 0}, one_lines[] = {7, 0}, two_lines[] = {9, 0};
    static const struct lp_sums_row rows[] = {
        {2, LP_ROW_EXACT, 1}, {3, LP_ROW_EXACT, 1}, {4, LP_ROW_PART, 1}, {6, LP_ROW_EVENTS, 0}};
    static const struct lp_sums_term terms[] = {{1, 0}, {1, 1}, {1, 2}};
    (void)image_thread(image, 0);
    image_fact(image, "collector", "lines");
    image_fact(image, "lines.mechanism", "settrace");
    image_fact(image, "lines.unobserved", "1");
    image_fact(image, "lines.outside", "12\t/usr/lib/json.py\n");
    image_fact(image, "lines.note", "Python was started with -S, so that children are not recorded");
    lp_ref file = line_file(image, "/project/net.py", text, 1);
    lp_ref fetch = line_code(image, file, "fetch", 1, fetch_lines, 0);
    lp_ref one = line_code(image, file, "one", 7, one_lines, 0);
    lp_ref two = line_code(image, line_file(image, "/project/gone.py", "not here", 0), "Box.two", 8, two_lines, 0);
    (void)line_sums(image, fetch, text, 1, rows, 4, terms, 3);
    lp_ref outer = line_region(image, 0, "load"), inner = line_region(image, outer, "parse");
    lp_ref tables[] = {line_table(image, fetch, inner), line_table(image, one, outer), line_table(image, two, 0)};
    for (uint32_t slot = 0; slot < 5; slot++)
        line_add(image, tables[0], slot, 3, 1000 * (slot + 1));
    line_slot(image, tables[0], 0)->suspended = 4000000;
    line_calls(image, tables[0], 3, 15000);
    line_add(image, tables[1], 0, 1, 600);
    (void)line_call(image, tables[1], 0, fetch, 1, 5000);
    line_calls(image, tables[1], 1, 5600);
    line_add(image, tables[2], 0, 2, 2000000000);
    (void)line_call(image, tables[2], 0, fetch, 2, 10000);
    line_table_at(image, tables[2])->active = 1;
    line_table_at(image, tables[2])->calls = 1;
    (void)line_region_time(image, outer, 1, 6000);
    (void)line_region_time(image, inner, 3, 5000);
}

/* Names and sources that break tables, terminals and parsers. */
static void scene_hostile(struct image *image)
{
    static const char *const names[] = {
        "a;b 7", "new\nline", "\x1b[31mred", "</script>", "bad\xff\xfe", "\xed\xa0\x80", "\xe4\xbd\xa0\xe5\xa5\xbd",
        "",      "=cmd|'!A1'"};
    static char lengthy[3000];
    (void)image_thread(image, 0);
    memset(lengthy, 'x', sizeof lengthy - 1);
    lp_ref file = line_file(image, "/tmp/\x1b[2J/evil\n.py", "\x1b[5mx = '\xe2\x80\xae'\t</script>\n", 1);
    lp_ref plain = line_file(image, lengthy, "y\n", 1);
    lp_ref region = line_region(image, 0, "re\ngion\x1b[1m");
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t lines[] = {1, 4000000000u - i, 0};
        lp_ref code = line_code(image, i % 2 ? file : plain, i ? names[i] : lengthy, 1, lines, 0);
        lp_ref table = line_table(image, code, region);
        line_add(image, table, 0, 12345678901234567u, 4000u * (i + 1));
        line_add(image, table, 1, 1, (uint64_t)1 << 34);
        line_calls(image, table, 1, (uint64_t)1 << 34);
    }
    image_fact(image, "lines.note", "a note\nwith \x1b[31m a line break");
    image_fact(image, "lines.mechanism", "<script>");
}

static void scene_outside(struct image *image)
{
    image_fact(image, "collector", "lines");
    image_fact(image, "lines.mechanism", "monitoring");
    image_fact(image, "lines.outside",
               "1\t/a/1.py\n2\t/a/2.py\n3000000\t/a/3.py\n4\t/a/4.py\n5\t/a/5.py\n6\t/a/\x1b[2J6.py\n");
}

static void scene_nothing(struct image *image)
{
    image_fact(image, "collector", "lines");
    image_fact(image, "lines.mechanism", "monitoring");
}

/* -- outputs ----------------------------------------------------------------------------------------------------- */

enum form { FORM_FUNCTIONS, FORM_TOP, FORM_REGIONS, FORM_SECTION, FORM_JSON, FORM_COLLAPSED, FORM_SPEEDSCOPE };

struct golden {
    const char *file;
    void (*scene)(struct image *image);
    enum form form;
    struct lp_lines_options options;
};

static const struct golden goldens[] = {
    {"lines-functions.txt", scene_usual, FORM_FUNCTIONS, {.utf8 = true}},
    {"lines-functions-raw.txt", scene_usual, FORM_FUNCTIONS, {.raw = true, .self = true, .sort = LP_LINES_BY_LINE}},
    {"lines-top.txt", scene_usual, FORM_TOP, {.utf8 = true, .top = 3, .project = "/project"}},
    {"lines-regions.txt", scene_usual, FORM_REGIONS, {.utf8 = true, .unit = LP_LINES_MS}},
    {"lines-section.txt", scene_usual, FORM_SECTION, {.utf8 = true}},
    {"lines.json", scene_usual, FORM_JSON, {0}},
    {"lines.collapsed", scene_usual, FORM_COLLAPSED, {0}},
    {"lines.speedscope.json", scene_usual, FORM_SPEEDSCOPE, {0}},
    {"lines-mixed-functions.txt", scene_mixed, FORM_FUNCTIONS, {.utf8 = true}},
    {"lines-mixed-top.txt", scene_mixed, FORM_TOP, {.utf8 = true, .self = true, .sort = LP_LINES_BY_SELF}},
    {"lines-mixed-regions.txt", scene_mixed, FORM_REGIONS, {.utf8 = true, .top = 2}},
    {"lines-mixed-section.txt", scene_mixed, FORM_SECTION, {.utf8 = true}},
    {"lines-mixed.json", scene_mixed, FORM_JSON, {0}},
    {"lines-mixed.collapsed", scene_mixed, FORM_COLLAPSED, {0}},
    {"lines-mixed.speedscope.json", scene_mixed, FORM_SPEEDSCOPE, {0}},
    {"lines-hostile-functions.txt", scene_hostile, FORM_FUNCTIONS, {.utf8 = true}},
    {"lines-hostile-top.txt", scene_hostile, FORM_TOP, {.top = 40}},
    {"lines-hostile-regions.txt", scene_hostile, FORM_REGIONS, {.utf8 = true}},
    {"lines-hostile-section.txt", scene_hostile, FORM_SECTION, {.utf8 = true}},
    {"lines-hostile.collapsed", scene_hostile, FORM_COLLAPSED, {0}},
    {"lines-outside.txt", scene_outside, FORM_FUNCTIONS, {.utf8 = true}},
    {"lines-nothing.txt", scene_nothing, FORM_TOP, {.utf8 = true}},
    {"lines-why.txt", scene_nothing, FORM_REGIONS, {.why = "First.\n  Second \x1b, behind two blanks.\n"}},
};

static void render_paths(const struct lp_line_report *report, enum form form, struct lp_buf *out)
{
    struct lp_line_stacks *stacks;
    assert_int_equal(lp__line_stacks(report, &stacks, NULL), LP_OK);
    if (form == FORM_COLLAPSED)
        lp__render_lines_collapsed(report, stacks, out);
    else
        lp__render_lines_speedscope(report, stacks, out);
    lp__line_stacks_free(stacks);
}

static void render_form(const struct lp_line_report *report, enum form form, const struct lp_lines_options *options,
                        struct lp_buf *out)
{
    const struct lp_text_options text = {.utf8 = options->utf8};
    if (form == FORM_FUNCTIONS) lp__render_lines_functions(report, options, out);
    if (form == FORM_TOP) lp__render_lines_top(report, options, out);
    if (form == FORM_REGIONS) lp__render_lines_regions(report, options, out);
    if (form == FORM_SECTION) lp__render_lines_section(report, &text, 0, false, out);
    if (form == FORM_JSON) lp__render_lines_json(report, out);
    if (form == FORM_COLLAPSED || form == FORM_SPEEDSCOPE) render_paths(report, form, out);
}

static void render(void (*scene)(struct image *image), enum form form, const struct lp_lines_options *options,
                   struct lp_buf *out)
{
    static const struct lp_run_options with_lines = {.lines = true};
    struct image image;
    struct lp_run *run;
    struct lp_line_report *report;
    image_init(&image);
    scene(&image);
    image_seal(&image);
    assert_int_equal(lp__run_load_image_with(image.bytes, image.len, &with_lines, &run, NULL), LP_OK);
    assert_int_equal(lp__lines_build(run, &report, NULL), LP_OK);
    render_form(report, form, options, out);
    assert_int_equal(out->failed, LP_OK);
    lp__lines_free(report);
    lp__run_free(run);
    image_release(&image);
}

/* -- files ------------------------------------------------------------------------------------------------------- */

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

static void show_difference(const char *path, const struct lp_buf *want, const struct lp_buf *got)
{
    size_t at = 0, line = 1, start = 0;
    while (at < want->len && at < got->len && want->data[at] == got->data[at])
        if (got->data[at++] == '\n') line++, start = at;
    fail_msg("%s:%zu differs\nwant: %.120s\ngot:  %.120s", path, line, want->data ? want->data + start : "",
             got->data + start);
}

static void outputs_are_as_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        char path[512];
        struct lp_buf got, want;
        lp__buf_init(&got, 1 << 24);
        lp__buf_init(&want, 1 << 24);
        golden_path(path, sizeof path, goldens[i].file);
        render(goldens[i].scene, goldens[i].form, &goldens[i].options, &got);
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

/* -- properties -------------------------------------------------------------------------------------------------- */

static size_t columns_of(const char *line, size_t len)
{
    size_t columns = 0;
    for (size_t at = 0; at < len;)
        columns += (size_t)lp__utf8_width(lp__utf8_next(line, len, &at));
    return columns;
}

/* Width, and what else no line may have. */
static void check_lines(const struct lp_buf *out, size_t most)
{
    for (const char *at = out->data, *end = out->data + out->len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        assert_non_null(stop);
        size_t len = (size_t)(stop - at);
        if (columns_of(at, len) > most) fail_msg("%zu columns: %.*s", columns_of(at, len), (int)len, at);
        assert_true(!len || at[len - 1] != ' ');
        for (size_t i = 0; i < len; i++)
            assert_true((unsigned char)at[i] >= 0x20 && at[i] != 0x7F);
        at = stop + 1;
    }
}

static void tables_keep_their_width(void **state)
{
    static const struct {
        enum form form;
        size_t most;
    } widths[] = {{FORM_TOP, 130}, {FORM_REGIONS, 130}, {FORM_SECTION, 80}, {FORM_FUNCTIONS, 113}};
    (void)state;
    for (unsigned i = 0; i < 4 * 2; i++) {
        struct lp_lines_options options = {.utf8 = i & 1};
        struct lp_buf out;
        lp__buf_init(&out, 1 << 24);
        render(scene_usual, widths[i / 2].form, &options, &out);
        check_lines(&out, widths[i / 2].most);
        lp__buf_release(&out);
    }
}

static void nothing_hostile_comes_through(void **state)
{
    (void)state;
    for (unsigned form = FORM_FUNCTIONS; form <= FORM_COLLAPSED; form++) {
        struct lp_lines_options options = {.utf8 = false};
        struct lp_buf out;
        lp__buf_init(&out, 1 << 24);
        render(scene_hostile, (enum form)form, &options, &out);
        check_lines(&out, SIZE_MAX);
        assert_null(strstr(out.data, "\x1b"));
        lp__buf_release(&out);
    }
}

static void pure_ascii_where_asked_for(void **state)
{
    (void)state;
    for (unsigned form = FORM_FUNCTIONS; form <= FORM_SECTION; form++) {
        struct lp_lines_options options = {.utf8 = false};
        struct lp_buf out;
        lp__buf_init(&out, 1 << 24);
        render(scene_hostile, (enum form)form, &options, &out);
        for (size_t i = 0; i < out.len; i++)
            assert_true((unsigned char)out.data[i] < 0x80);
        lp__buf_release(&out);
    }
}

static void words_are_parsed(void **state)
{
    enum lp_lines_sort sort = LP_LINES_BY_TIME;
    enum lp_lines_unit unit = LP_LINES_NS;
    (void)state;
    assert_true(lp__lines_sort_parse("hits", &sort) && sort == LP_LINES_BY_HITS);
    assert_false(lp__lines_sort_parse("speed", &sort));
    assert_true(lp__lines_unit_parse("\xCE\xBCs", &unit) && unit == LP_LINES_US);
    assert_true(lp__lines_unit_parse("s", &unit) && unit == LP_LINES_S);
    assert_false(lp__lines_unit_parse("", &unit));
}

/* Rows below the least time vanish, and with all of them their function. */
static void rows_below_the_least_time_are_left_out(void **state)
{
    struct lp_lines_options options = {.min_time_us = 1000};
    struct lp_buf out;
    (void)state;
    lp__buf_init(&out, 1 << 20);
    render(scene_usual, FORM_FUNCTIONS, &options, &out);
    assert_non_null(strstr(out.data, "Function: outer"));
    assert_null(strstr(out.data, "Function: inner"));
    assert_null(strstr(out.data, "for k"));
    lp__buf_release(&out);
}

static void a_full_buffer_is_seen(void **state)
{
    (void)state;
    for (size_t ceiling = 0; ceiling < 4000; ceiling += 97) {
        struct image image;
        struct lp_run *run;
        struct lp_line_report *report;
        struct lp_lines_options options = {.utf8 = true};
        image_init(&image);
        line_usual(&image);
        assert_int_equal(
            lp__run_load_image_with(image.bytes, image.len, &(struct lp_run_options){.lines = true}, &run, NULL),
            LP_OK);
        assert_int_equal(lp__lines_build(run, &report, NULL), LP_OK);
        for (unsigned form = FORM_FUNCTIONS; form <= FORM_SPEEDSCOPE; form++) {
            struct lp_buf out;
            lp__buf_init(&out, ceiling);
            render_form(report, (enum form)form, &options, &out);
            assert_true(out.len <= ceiling);
            lp__buf_release(&out);
        }
        lp__lines_free(report);
        lp__run_free(run);
        image_release(&image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_as_accepted),
        cmocka_unit_test(tables_keep_their_width),
        cmocka_unit_test(nothing_hostile_comes_through),
        cmocka_unit_test(pure_ascii_where_asked_for),
        cmocka_unit_test(words_are_parsed),
        cmocka_unit_test(rows_below_the_least_time_are_left_out),
        cmocka_unit_test(a_full_buffer_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
