/* Breaks our own sentences into lines.  Columns are counted in characters. */
// SPDX-License-Identifier: MIT
#include "cli/wrap.h"

#include <string.h>

static size_t columns_of(const char *text, size_t len)
{
    size_t columns = 0;
    for (size_t i = 0; i < len; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void lp__wrap(struct lp_buf *out, const char *text, size_t at, size_t indent)
{
    bool first_word = true;
    while (*text) {
        size_t len = strcspn(text, " ");
        size_t columns = columns_of(text, len);
        if (!first_word && at + 1 + columns > LP_WRAP_COLUMNS) {
            lp__buf_addc(out, '\n');
            lp__buf_pad(out, ' ', indent);
            at = indent;
        } else if (!first_word) {
            lp__buf_addc(out, ' ');
            at++;
        }
        lp__buf_add(out, text, len);
        at += columns;
        first_word = false;
        text += len;
        text += strspn(text, " ");
    }
    lp__buf_addc(out, '\n');
}
