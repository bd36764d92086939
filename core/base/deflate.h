/* Deflate and base64, written here so that a page needs no library at run time.
 *
 * lp__deflate_zlib appends one zlib stream (RFC 1950 around RFC 1951) that any inflater reads: hash chains over a
 * window of 32 KiB, one Huffman code per block, stored blocks where nothing can be won.  On text of pages it comes
 * within a few per cent of zlib at its default level, in about the same time.  Needs 0.6 MB of memory while it runs.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_DEFLATE_H
#define LP_BASE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* LP_ERR_NO_MEMORY, or what `out` failed with. */
LP_WARN_UNUSED int lp__deflate_zlib(const void *bytes, size_t len, struct lp_buf *out);

uint32_t lp__adler32(const void *bytes, size_t len);

/* Standard alphabet, padded, no line breaks. */
void lp__base64_add(struct lp_buf *out, const void *bytes, size_t len);

#endif
