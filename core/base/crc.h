/* CRC-32C (Castagnoli), by table: guards headers of the store, not its hot records. */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_CRC_H
#define LP_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t lp__crc32c(uint32_t crc, const void *bytes, size_t len); /* start with 0; chains */

#endif
