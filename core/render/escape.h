/* The one place where bytes that we did not write become printable: labels, file names, messages.
 *
 * Control characters (C0, DEL, C1), line separators U+2028/9, bidirectional and zero-width marks, surrogates,
 * noncharacters and malformed UTF-8 become U+FFFD ("?" in ASCII).  A label that is too long loses its head and keeps
 * its tail, because the tail of a path tells phases apart; the cut is marked "…" (".." in ASCII).  Whatever the input,
 * at most `columns` columns and 12 * columns bytes come out.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_ESCAPE_H
#define LP_RENDER_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends the label and returns the columns it takes. */
size_t lp__escape_label(struct lp_buf *out, const char *bytes, size_t len, size_t columns, bool utf8);
/* The same, keeping the head: for messages and sentences. */
size_t lp__escape_head(struct lp_buf *out, const char *bytes, size_t len, size_t columns, bool utf8);

/* A cell of CSV or TSV: quoted, and one that a spreadsheet would take for a formula gets a leading apostrophe. */
void lp__escape_csv(struct lp_buf *out, const char *bytes, size_t len);

#endif
