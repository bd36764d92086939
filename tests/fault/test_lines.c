/* The n-th allocation fails while line tables are joined, reported and printed, for every n: an error that says so, no
 * crash, no leak. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "merge/run.h"
#include "render/html.h"
#include "render/lines.h"
#include "support/line_builder.h"

static int print_all(const struct lp_line_report *report)
{
    const struct lp_lines_options options = {.utf8 = true};
    struct lp_line_stacks *stacks = NULL;
    struct lp_buf out;
    lp__buf_init(&out, (size_t)1 << 24);
    lp__render_lines_functions(report, &options, &out);
    lp__render_lines_top(report, &options, &out);
    lp__render_lines_regions(report, &options, &out);
    lp__render_lines_json(report, &out);
    lp__render_lines_html(report, NULL, &out);
    int rc = lp__line_stacks(report, &stacks, NULL);
    if (!rc) lp__render_lines_collapsed(report, stacks, &out);
    if (!rc) lp__render_lines_speedscope(report, stacks, &out);
    if (!rc) rc = (int)out.failed;
    lp__line_stacks_free(stacks);
    lp__buf_release(&out);
    return rc;
}

static int use(const struct image *image)
{
    static const struct lp_run_options with_lines = {.lines = true};
    struct lp_run *run = NULL;
    struct lp_line_report *report = NULL;
    struct lp_error err = {.code = LP_OK};
    int rc = lp__run_load_image_with(image->bytes, image->len, &with_lines, &run, &err);
    if (!rc) rc = lp__lines_build(run, &report, &err);
    if (!rc) rc = print_all(report);
    lp__lines_free(report);
    lp__run_free(run);
    return rc;
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct image image;
    long n = 0;
    int rc;
    (void)state;
    image_init(&image);
    line_usual(&image);
    do {
        lp__mem_fail_after(n++);
        rc = use(&image);
        lp__mem_fail_after(-1);
        assert_true(rc == LP_OK || rc == LP_ERR_NO_MEMORY);
    } while (rc != LP_OK && n < 10000);
    assert_int_equal(rc, LP_OK);
    assert_true(n > 50);
    image_release(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failed_allocation_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
