/* The page that the blocks of the text report are written on.  Inside render only.
 *
 * A block starts with lp__page_block, which puts the empty line between blocks.  Every label goes through a cell or a
 * sentence, which escape; format strings and figures are ours.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_TEXT_H
#define LP_RENDER_TEXT_H

#include <stdarg.h>

#include "render/render.h"

#define LP_PAGE_NAME_COLUMNS 24u /* of the first column at the default width */

enum lp_ink { LP_INK_PLAIN, LP_INK_TITLE, LP_INK_FAINT, LP_INK_WARN, LP_INK_BAD };

struct lp_page {
    const struct lp_report *report;
    struct lp_text_options options;
    struct lp_buf *out;
    unsigned width;
    unsigned name; /* columns of the first column of tables */
    unsigned at;   /* column in a line of flowing items */
    bool started;  /* something was printed: blocks need an empty line before them */
};

void lp__page_block(struct lp_page *page);
void lp__page_rule(struct lp_page *page);
/* Text of ours, in a colour where colours are on. */
void lp__page_ink(struct lp_page *page, enum lp_ink ink, const char *text);
void lp__page_add(struct lp_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A label, escaped, padded to `columns`. */
void lp__page_cell(struct lp_page *page, const char *bytes, size_t len, unsigned columns);
/* A sentence that may hold names: escaped, wrapped, ended by a newline.  The first line is behind `indent` spaces and
 * `bullet`, the others line up with it. */
void lp__page_sentence(struct lp_page *page, unsigned indent, const char *bullet, enum lp_ink ink, const char *format,
                       ...) __attribute__((format(printf, 5, 6)));
/* Items that flow: each on this line behind `gap` when it still fits, else on the next. */
void lp__page_flow(struct lp_page *page, const char *gap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lp__page_flow_end(struct lp_page *page);
/* A label made safe and bounded, for use in a format of ours.  `out` holds 12 * columns + 1 bytes at least. */
char *lp__page_label(const struct lp_page *page, char *out, size_t cap, const char *text, unsigned columns);
#define LP_LABEL_CAP 512

struct lp_text lp__shown_name(struct lp_text name); /* two quotes for an empty one */

/* The blocks, in order. */
void lp__page_header(struct lp_page *page);
void lp__page_role(struct lp_page *page, uint32_t role);
void lp__page_phases(struct lp_page *page, uint32_t role);
void lp__page_iterations(struct lp_page *page, const struct lp_report_role *role);
void lp__page_counters(struct lp_page *page, const struct lp_report_phase *phase, bool rates);
void lp__page_workers(struct lp_page *page);
void lp__page_outside(struct lp_page *page);
void lp__page_caveats(struct lp_page *page);

/* "~", "†", ">" in front of a phase's name, as many as apply; returns their columns. */
unsigned lp__page_marks(struct lp_page *page, const struct lp_report_phase *phase);
/* A phase's name alone, as in a path, without marks, padded. */
void lp__page_step(struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, unsigned columns);
/* A phase's label with its marks, padded: parent/leaf, or as much of the path as a wider column holds. */
void lp__page_phase(struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, unsigned columns);
/* The same without marks, unpadded, into `out`. */
char *lp__page_phase_label(const struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, char *out,
                           size_t cap, unsigned columns);

#endif
