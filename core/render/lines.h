/* From a line report to bytes.  As in render.h: renderers append to a buffer and never fail by themselves. */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_LINES_H
#define LP_RENDER_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/lines.h"
#include "base/buf.h"
#include "base/json.h"
#include "render/render.h"

enum lp_lines_sort {
    LP_LINES_BY_TIME, /* inclusive, the most first */
    LP_LINES_BY_LINE,
    LP_LINES_BY_SELF,
    LP_LINES_BY_HITS
};
enum lp_lines_unit { LP_LINES_US, LP_LINES_NS, LP_LINES_MS, LP_LINES_S };

struct lp_lines_options {
    double min_time_us; /* rows with less time, in any unit, are left out */
    uint32_t top;       /* rows of a function, of the ranking, of a region; 0: all */
    enum lp_lines_sort sort;
    enum lp_lines_unit unit;
    bool self;           /* a column of self time */
    bool raw;            /* what events cost is not taken off */
    bool utf8;           /* false: pure ASCII */
    const char *project; /* folder that rankings show files relative to; NULL: base names */
    const char *why;     /* lines to print where there is nothing; NULL: what the report can tell */
};

#define LP_LINES_TOP_DEFAULT 10u /* of rankings and regions */

/* false for a word that is none of "time", "line", "self", "hits", or of "us", "µs", "ns", "ms", "s". */
bool lp__lines_sort_parse(const char *word, enum lp_lines_sort *out);
bool lp__lines_unit_parse(const char *word, enum lp_lines_unit *out);

/* Every function with its lines; 100 columns, but for the source.  Functions by total time. */
void lp__render_lines_functions(const struct lp_line_report *report, const struct lp_lines_options *options,
                                struct lp_buf *out);
/* The lines of all functions in one ranking; 130 columns.  Sorted by line: by file and line. */
void lp__render_lines_top(const struct lp_line_report *report, const struct lp_lines_options *options,
                          struct lp_buf *out);
/* Each region with its lines; 130 columns. */
void lp__render_lines_regions(const struct lp_line_report *report, const struct lp_lines_options *options,
                              struct lp_buf *out);

/* LINES of a run's text report: the functions with the most time, and the hottest lines.  `started`: something stands
 * above.  Nothing for a report that has no functions and nothing to say. */
void lp__render_lines_section(const struct lp_line_report *report, const struct lp_text_options *text, uint32_t top,
                              bool started, struct lp_buf *out);

/* The whole text report of a run: what lp__render_text prints, where there are phases or there is nothing else, and
 * LINES.  `lines` may be NULL. */
void lp__render_text_with(const struct lp_report *report, const struct lp_line_report *lines,
                          const struct lp_text_options *text, struct lp_buf *out);
/* lp__render_json with the document of the lines in it, null where there are none. */
void lp__render_json_with(const struct lp_report *report, const struct lp_line_report *lines, struct lp_buf *out);

/* The document that docs/lines.schema.json describes, ending in a newline; and the same as an open writer's value. */
void lp__render_lines_json(const struct lp_line_report *report, struct lp_buf *out);
void lp__json_lines(struct lp_json *json, const struct lp_line_report *report);

/* Call paths with their self time: "a;b;c 123" in nanoseconds, a line each; and a file for speedscope. */
void lp__render_lines_collapsed(const struct lp_line_report *report, const struct lp_line_stacks *stacks,
                                struct lp_buf *out);
void lp__render_lines_speedscope(const struct lp_line_report *report, const struct lp_line_stacks *stacks,
                                 struct lp_buf *out);

#endif
