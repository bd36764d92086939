/* Pieces of the line report's page.  Inside render only. */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_HTML_LINES_H
#define LP_RENDER_HTML_LINES_H

#include "analyse/lines.h"
#include "base/buf.h"

/* The main tables for readers without scripts: hottest lines, functions, regions, the annotated source of the functions
 * with the most time, and what the reader must know.  Its length has a ceiling, whatever the report.
 * `why`: NULL, or one more sentence of those. */
void lp__html_lines_plain(struct lp_buf *out, const struct lp_line_report *report, const char *title, const char *why);

#endif
