/* Pages: one self-contained HTML file each, which opens from disk and asks no network for anything. */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_HTML_H
#define LP_RENDER_HTML_H

#include "analyse/lines.h"
#include "base/buf.h"

struct lp_html_options {
    const char *title; /* raw bytes; NULL or "": the command line that was run */
    const char *why;   /* raw bytes: why there is nothing, said where there is nothing; NULL: what the report tells */
};

/* The page of a line report: summary, source, functions, regions.  `options` may be NULL.  Memory and the buffer's
 * ceiling are checked once by the caller through `out->failed`. */
void lp__render_lines_html(const struct lp_line_report *report, const struct lp_html_options *options,
                           struct lp_buf *out);

#endif
