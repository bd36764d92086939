/* The shell of every page: HTML, style, script, policy, and one block of data.  What is shown comes from the two
 * callbacks; the shell knows no kind of report.  Inside render only.
 *
 * The data are one JSON object of columns: arrays of numbers of equal length, and numbers of strings in place of
 * strings ("strings", written last).  Above LP_PAGE_PLAIN_BYTES they are deflated and in base64.  Nothing that a name
 * may hold ends the block: the JSON writer escapes <, > and &.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_PAGE_H
#define LP_RENDER_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "merge/run.h"

#define LP_PAGE_PLAIN_BYTES 8192u

struct lp_page_data {
    struct lp_json json;
    struct lp_arena arena;
    struct lp_intern strings;
};

struct lp_page {
    const char *title; /* raw bytes, NUL-terminated */
    const void *subject;
    void (*put_data)(struct lp_page_data *data, const void *subject); /* members of the open object */
    void (*put_plain)(struct lp_buf *out, const void *subject);       /* HTML for readers without scripts */
};

void lp__page_write(const struct lp_page *page, struct lp_buf *out);

/* -- for put_data ------------------------------------------------------------------------------------------------ */

/* Appends the number of the string to the open array. */
void lp__page_string(struct lp_page_data *data, const char *bytes, size_t len);

enum lp_page_type { LP_PAGE_U32, LP_PAGE_U64, LP_PAGE_NS, LP_PAGE_SHARE, LP_PAGE_ENUM };

/* A column: a field of an array of structs.  Times are rounded to whole nanoseconds. */
struct lp_page_column {
    const char *key;
    size_t offset;
    enum lp_page_type type;
};

/* Appends a field of `count` structs to the open array. */
void lp__page_values(struct lp_json *json, const struct lp_page_column *column, const void *structs, size_t stride,
                     size_t count);
/* "key": [...] for each column. */
void lp__page_columns(struct lp_json *json, const struct lp_page_column *columns, size_t column_count,
                      const void *structs, size_t stride, size_t count);

/* "run": {...}: what the header of every page shows. */
void lp__page_run(struct lp_page_data *data, const struct lp_run *run, const char *title);

/* -- for put_plain ----------------------------------------------------------------------------------------------- */

/* Text as HTML: markup characters as entities, what could mislead a reader's eye as U+FFFD (render/escape.h). */
void lp__html_text(struct lp_buf *out, const char *bytes, size_t len);
void lp__html_cell(struct lp_buf *out, const char *text); /* <td>, our own figures */

#endif
