/* Reading hostile text, one character at a time. */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_UTF8_H
#define LP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LP_UTF8_BAD 0xFFFFFFFFu

/* Decodes one character at `*at` (< len) and advances past it.  A lone surrogate encoded in three bytes (WTF-8) is
 * returned as its code point D800…DFFF; any other malformed byte returns LP_UTF8_BAD and advances by one byte. */
uint32_t lp__utf8_next(const char *bytes, size_t len, size_t *at);
size_t lp__utf8_put(char out[4], uint32_t code_point); /* bytes written; surrogates as WTF-8 */
bool lp__utf8_is_unsafe(
    uint32_t code_point);                /* controls, U+2028/9, bidi marks, zero-width, surrogates, noncharacters */
int lp__utf8_width(uint32_t code_point); /* terminal columns: 0, 1 or 2 */

#endif
