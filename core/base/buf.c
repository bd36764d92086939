/* The growing buffer.  Capacity doubles from 64 bytes and always has room for the closing NUL, which the ceiling
 * does not count. */
// SPDX-License-Identifier: MIT
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lp__buf_init(struct lp_buf *buf, size_t ceiling)
{
    *buf = (struct lp_buf){.ceiling = ceiling};
}

void lp__buf_release(struct lp_buf *buf)
{
    lp__free(buf->data);
    lp__buf_init(buf, buf->ceiling);
}

void lp__buf_clear(struct lp_buf *buf)
{
    buf->len = 0;
    buf->failed = LP_OK;
    if (buf->data) buf->data[0] = '\0';
}

static bool refuse(struct lp_buf *buf, enum lp_err why)
{
    buf->failed = why;
    return false;
}

static size_t grown_cap(const struct lp_buf *buf, size_t need)
{
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    if (buf->ceiling < SIZE_MAX && cap > buf->ceiling + 1) cap = buf->ceiling + 1;
    return cap;
}

/* Room for `more` bytes and the NUL. */
static bool reserve(struct lp_buf *buf, size_t more)
{
    if (buf->failed) return false;
    if (more > buf->ceiling - buf->len || more >= SIZE_MAX - buf->len) return refuse(buf, LP_ERR_LIMIT);
    size_t need = buf->len + more + 1;
    if (need <= buf->cap) return true;
    size_t cap = grown_cap(buf, need);
    char *data = lp__realloc(buf->data, cap);
    if (!data) return refuse(buf, LP_ERR_NO_MEMORY);
    buf->data = data;
    buf->cap = cap;
    buf->data[buf->len] = '\0';
    return true;
}

void lp__buf_add(struct lp_buf *buf, const void *bytes, size_t len)
{
    if (!reserve(buf, len)) return;
    if (len) memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void lp__buf_adds(struct lp_buf *buf, const char *text)
{
    lp__buf_add(buf, text, strlen(text));
}

void lp__buf_addc(struct lp_buf *buf, char c)
{
    lp__buf_add(buf, &c, 1);
}

void lp__buf_addf(struct lp_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len >= 0 && reserve(buf, (size_t)len)) {
        vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

void lp__buf_pad(struct lp_buf *buf, char c, size_t count)
{
    if (!reserve(buf, count)) return;
    memset(buf->data + buf->len, c, count);
    buf->len += count;
    buf->data[buf->len] = '\0';
}
