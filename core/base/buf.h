/* A growing byte buffer with a ceiling.
 *
 * An append past the ceiling or without memory fails once and sticks: `failed` keeps the first error, later
 * appends do nothing, so a writer may append freely and check once at the end.  Owned by one thread.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_BUF_H
#define LP_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct lp_buf {
    char *data; /* always NUL-terminated once something was appended; NULL before */
    size_t len;
    size_t cap;
    size_t ceiling;
    enum lp_err failed; /* LP_OK, LP_ERR_NO_MEMORY or LP_ERR_LIMIT */
};

void lp__buf_init(struct lp_buf *buf, size_t ceiling);
void lp__buf_release(struct lp_buf *buf);
void lp__buf_clear(struct lp_buf *buf); /* length 0, memory kept, failure forgotten */
void lp__buf_add(struct lp_buf *buf, const void *bytes, size_t len);
void lp__buf_adds(struct lp_buf *buf, const char *text);
void lp__buf_addc(struct lp_buf *buf, char c);
void lp__buf_addf(struct lp_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lp__buf_pad(struct lp_buf *buf, char c, size_t count);

#endif
