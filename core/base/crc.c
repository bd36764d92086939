/* CRC-32C four bits at a time: sixteen numbers instead of a kilobyte of table, enough for headers. */
// SPDX-License-Identifier: MIT
#include "base/crc.h"

/* The remainder of each nibble under the reflected polynomial 0x82F63B78. */
static const uint32_t nibble[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
    0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t lp__crc32c(uint32_t crc, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    crc = ~crc;
    for (; len; len--, at++) {
        crc ^= *at;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}
