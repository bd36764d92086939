/* What the printed tables of lines share.  Inside render only. */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_TEXT_LINES_H
#define LP_RENDER_TEXT_LINES_H

#include "render/lines.h"

/* Figures of one row as the options want them. */
struct lp_line_shown {
    const struct lp_line_function *function;
    uint32_t line;
    enum lp_row_mark mark;
    uint64_t hits;
    double time_ns, self_ns, suspended_ns;
};

struct lp_lines_page {
    const struct lp_line_report *report;
    const struct lp_lines_options *options;
    struct lp_buf *out;
    unsigned width;
    bool marked; /* some row shows line events instead of executions */
};

void lp__lines_rule(struct lp_lines_page *page, char c);
/* A text of ours or a number, at the left of so many columns, one more behind it. */
void lp__lines_cell(struct lp_lines_page *page, const char *text, unsigned columns);
/* "Time (µs)" for "Time". */
void lp__lines_unit_cell(struct lp_lines_page *page, const char *title, unsigned columns);
void lp__lines_time_cell(struct lp_lines_page *page, double ns, unsigned columns);
/* "123.4 µs" */
void lp__lines_add_time(struct lp_lines_page *page, double ns);
void lp__lines_hits_cell(struct lp_lines_page *page, const struct lp_line_shown *shown, unsigned columns);
void lp__lines_per_hit_cell(struct lp_lines_page *page, const struct lp_line_shown *shown, unsigned columns);
void lp__lines_share_cell(struct lp_lines_page *page, double part, double whole, unsigned columns);
/* The line's text without what it is indented by, cut, and the end of the row. */
void lp__lines_source(struct lp_lines_page *page, const struct lp_line_shown *shown, unsigned columns);
/* A function's name behind its file's, from the right. */
void lp__lines_place_cell(struct lp_lines_page *page, const struct lp_line_function *function, unsigned columns);

struct lp_line_shown lp__lines_shown(const struct lp_lines_page *page, const struct lp_line_function *function,
                                     const struct lp_line_row *row);
bool lp__lines_is_shown(const struct lp_lines_page *page, const struct lp_line_shown *shown);
/* Sorts as the options say. */
void lp__lines_sort(const struct lp_lines_page *page, struct lp_line_shown *rows, size_t count);

/* What stands below the tables: marks, the measured cost, what was not seen.  For a report without functions: why. */
void lp__lines_closing(struct lp_lines_page *page);
/* The sentences alone, each behind "- ", and whether there are any. */
bool lp__lines_has_notes(const struct lp_line_report *report);
void lp__lines_notes_text(const struct lp_line_report *report, unsigned width, bool utf8, struct lp_buf *out);

#endif
