/* Huffman codes of limited length, as deflate wants them. */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_HUFFMAN_H
#define LP_BASE_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

#define LP_HUFFMAN_SYMBOLS 288
#define LP_HUFFMAN_BITS    15

/* Code lengths for `count` (<= LP_HUFFMAN_SYMBOLS) symbols, none above `limit` (<= LP_HUFFMAN_BITS); 0 for a symbol
 * that never occurs.  A single symbol gets length 1. */
void lp__huffman_lengths(const uint32_t *counts, size_t count, unsigned limit, uint8_t *lengths);
/* The canonical codes of such lengths, bits reversed so that they can be written lowest bit first. */
void lp__huffman_codes(const uint8_t *lengths, size_t count, uint16_t *codes);

#endif
