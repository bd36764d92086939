/* The page as bytes: whole, sealed against what names may hold, the same each time, and honest about memory.  What a
 * browser makes of it is seen in tests/web. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "render/html.h"
#include "support/line_scenes.h"

typedef void scene(struct line_scene *s);
static scene *const scenes[] = {line_scene_usual, line_scene_hostile, line_scene_empty};
#define SCENES (sizeof scenes / sizeof *scenes)

static struct line_scene made;

static char *page_of(scene *make, const struct lp_html_options *options)
{
    struct lp_buf out;
    make(&made);
    lp__buf_init(&out, 1 << 24);
    lp__render_lines_html(&made.report, options, &out);
    assert_int_equal(out.failed, LP_OK);
    assert_int_equal(strlen(out.data), out.len);
    line_scene_release(&made);
    return out.data;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static void a_page_is_whole_and_sealed(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCENES; i++) {
        char *page = page_of(scenes[i], NULL);
        assert_memory_equal(page, "<!doctype html>", 15);
        assert_non_null(strstr(page, "</html>"));
        assert_int_equal(occurrences(page, "<script"), 2);
        assert_int_equal(occurrences(page, "</script"), 2);
        assert_int_equal(occurrences(page, "<style"), 1);
        assert_int_equal(occurrences(page, "</noscript"), 1);
        assert_int_equal(occurrences(page, "<title>"), 1);
        assert_null(strstr(page, "{{plain}}"));
        assert_null(strstr(page, "<img"));
        assert_null(strstr(page, "http://"));
        /* Outside the data, of which the script takes care, nothing turns the reading order. */
        *strstr(page, "<script type=\"application/json\"") = '\0';
        assert_null(strstr(page, "\xE2\x80\xAE"));
        lp__free(page);
    }
}

static void the_same_report_gives_the_same_page(void **state)
{
    (void)state;
    char *first = page_of(line_scene_usual, NULL), *second = page_of(line_scene_usual, NULL);
    assert_string_equal(first, second);
    lp__free(first);
    lp__free(second);
}

static void the_title_is_what_was_asked_for_or_the_command(void **state)
{
    (void)state;
    char *page = page_of(line_scene_usual, &(struct lp_html_options){.title = "a <b> & \"c\"\n\xFF"});
    assert_non_null(strstr(page, "<title>a &lt;b&gt; &amp; &quot;c&quot;\xEF\xBF\xBD\xEF\xBF\xBD</title>"));
    lp__free(page);
    page = page_of(line_scene_usual, &(struct lp_html_options){.title = ""});
    assert_non_null(strstr(page, "<title>train.py --steps 200</title>"));
    lp__free(page);
    page = page_of(line_scene_empty, NULL);
    assert_non_null(strstr(page, "<title>lines</title>"));
    lp__free(page);
}

static void why_there_is_nothing_stands_where_there_is_nothing(void **state)
{
    (void)state;
    const struct lp_html_options options = {.why = "Never entered.\n  <try> this"};
    char *page = page_of(line_scene_empty, &options);
    assert_non_null(strstr(page, "Never entered.\n  &lt;try&gt; this</p>"));
    assert_non_null(strstr(page, "Never entered.\\n  \\u003ctry\\u003e this"));
    lp__free(page);
    page = page_of(line_scene_usual, &options);
    assert_null(strstr(page, "Never entered"));
    lp__free(page);
}

static void the_plain_tables_are_bounded(void **state)
{
    (void)state;
    struct lp_buf out;
    line_scene_large(&made, 20000);
    lp__buf_init(&out, 1 << 24);
    lp__render_lines_html(&made.report, NULL, &out);
    assert_int_equal(out.failed, LP_OK);
    size_t source = made.report.files[0].text_len;
    const char *start = strstr(out.data, "<noscript>"), *end = strstr(out.data, "</noscript>");
    assert_non_null(start);
    assert_true(end - start < 400000);
    assert_non_null(strstr(start, "more lines with less time"));
    assert_true(out.len < source + (size_t)100 * 20000); /* the budget of a long page */
    lp__buf_release(&out);
    line_scene_release(&made);
}

/* Without memory the buffer says so, whichever allocation it was; only the compressor's is worth no more than size. */
static void memory_is_checked_once(void **state)
{
    (void)state;
    bool complete = false;
    for (long successes = 0; !complete; successes++) {
        struct lp_buf out;
        line_scene_usual(&made);
        lp__buf_init(&out, 1 << 24);
        lp__mem_fail_after(successes);
        lp__render_lines_html(&made.report, NULL, &out);
        lp__mem_fail_after(-1);
        complete = out.failed == LP_OK;
        if (complete)
            assert_non_null(strstr(out.data, "</html>"));
        else
            assert_int_equal(out.failed, LP_ERR_NO_MEMORY);
        lp__buf_release(&out);
        line_scene_release(&made);
        assert_true(successes < 1000);
    }
}

static void a_ceiling_is_said(void **state)
{
    (void)state;
    for (size_t ceiling = 1000; ceiling < 100000; ceiling += 7919) {
        struct lp_buf out;
        line_scene_usual(&made);
        lp__buf_init(&out, ceiling);
        lp__render_lines_html(&made.report, NULL, &out);
        assert_int_equal(out.failed, LP_ERR_LIMIT);
        lp__buf_release(&out);
        line_scene_release(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_whole_and_sealed),
        cmocka_unit_test(the_same_report_gives_the_same_page),
        cmocka_unit_test(the_title_is_what_was_asked_for_or_the_command),
        cmocka_unit_test(why_there_is_nothing_stands_where_there_is_nothing),
        cmocka_unit_test(the_plain_tables_are_bounded),
        cmocka_unit_test(memory_is_checked_once),
        cmocka_unit_test(a_ceiling_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
