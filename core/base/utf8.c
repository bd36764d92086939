/* UTF-8 with the one extension that file names and Python strings bring along: lone surrogates in three bytes. */
// SPDX-License-Identifier: MIT
#include "base/utf8.h"

/* Length of the sequence that a first byte announces, 0 when it cannot start one. */
static size_t announced(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0; /* continuation, or an overlong two-byte form */
    if (first < 0xE0) return 2;
    if (first < 0xF0) return 3;
    return first < 0xF5 ? 4 : 0;
}

uint32_t lp__utf8_next(const char *bytes, size_t len, size_t *at)
{
    static const uint32_t lowest[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *in = (const unsigned char *)bytes + *at;
    size_t size = announced(in[0]);
    size_t left = len - *at;
    *at += 1;
    if (size == 1) return in[0];
    if (!size || size > left) return LP_UTF8_BAD;
    uint32_t code_point = in[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((in[i] & 0xC0) != 0x80) return LP_UTF8_BAD;
        code_point = code_point << 6 | (in[i] & 0x3Fu);
    }
    if (code_point < lowest[size] || code_point > 0x10FFFF) return LP_UTF8_BAD;
    *at += size - 1;
    return code_point;
}

size_t lp__utf8_put(char out[4], uint32_t code_point)
{
    if (code_point > 0x10FFFF) code_point = 0xFFFD;
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    size_t size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code_point >>= 6)
        out[i] = (char)(0x80 | (code_point & 0x3F));
    out[0] = (char)((0xF00u >> size & 0xFF) | code_point);
    return size;
}

bool lp__utf8_is_unsafe(uint32_t code_point)
{
    static const uint32_t unsafe[][2] = {
        {0x0000, 0x001F},   {0x007F, 0x009F}, {0x00AD, 0x00AD},   /* controls, soft hyphen */
        {0x034F, 0x034F},   {0x061C, 0x061C}, {0x115F, 0x1160},   /* joiner, bidi mark, empty jamo */
        {0x17B4, 0x17B5},   {0x180B, 0x180F}, {0x200B, 0x200F},   /* zero-width, bidi marks */
        {0x2028, 0x202E},   {0x2060, 0x206F}, {0x3164, 0x3164},   /* separators, bidi, invisible operators */
        {0xD800, 0xDFFF},   {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF},   /* surrogates, noncharacters, BOM */
        {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB}, {0x1D173, 0x1D17A}, /* fillers, annotations, musical controls */
        {0xE0000, 0xE0FFF},                                       /* tags */
    };
    if ((code_point & 0xFFFE) == 0xFFFE || code_point > 0x10FFFF) return true;
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe && code_point >= unsafe[i][0]; i++)
        if (code_point <= unsafe[i][1]) return true;
    return false;
}
