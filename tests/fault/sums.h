/* What must hold for the numbers of a recording whatever was refused to it. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_SUMS_H
#define LP_TEST_SUMS_H

#include "collect/stage.h"

#include "analyse/report.h"
#include "merge/run.h"
#include "render/render.h"

struct own_times {
    uint64_t self; /* of all nodes but the roots */
    uint64_t top;  /* what the roots were charged */
    uint64_t calls;
};

static inline void add_own_time(const struct readback *rb, const struct lp_node_record *node, void *arg)
{
    struct own_times *times = arg;
    (void)rb;
    assert_int_equal(node->begun, node->calls);
    assert_int_equal(node->start_sum, 0);
    if (node->parent) {
        assert_true(node->inner <= node->wall);
        times->self += node->wall - node->inner;
        times->calls += node->calls;
    } else {
        times->top += node->inner;
    }
}

/* Every entry ended, nothing counted twice, own times add up to what ran; how many entries there are. */
static inline uint64_t assert_sums(const struct readback *rb)
{
    struct own_times times = {0};
    each_node(rb, add_own_time, &times);
    assert_int_equal(times.self, times.top);
    return times.calls;
}

/* Does the text report of the run say this? */
static inline bool report_says(const char *run_dir, const char *words)
{
    struct lp_run *run;
    struct lp_report *report = NULL;
    struct lp_report_options options = {.top = 0};
    struct lp_text_options text = {.width = 100};
    struct lp_buf out;
    bool said;
    if (lp__run_load(run_dir, NULL, &run, NULL)) return false;
    lp__buf_init(&out, (size_t)1 << 24);
    assert_int_equal(lp__report_build(run, &options, &report, NULL), 0);
    lp__render_text(report, &text, &out);
    said = out.data && strstr(out.data, words) != NULL;
    if (!said) print_message("%s\n", out.data ? out.data : "(no report)");
    lp__buf_release(&out);
    lp__report_free(report);
    lp__run_free(run);
    return said;
}

#endif
