/* The CPUID instruction, on x86-64 only. */
// SPDX-License-Identifier: MIT
#include "os/cpuid.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool lp__cpuid_invariant_tsc(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

bool lp__cpuid_brand(char *out, size_t cap)
{
    uint32_t words[13] = {0}; /* three answers of 16 bytes, and a NUL */
    for (unsigned i = 0; i < 3; i++) {
        uint32_t *at = words + 4 * i;
        if (!__get_cpuid(0x80000002 + i, at, at + 1, at + 2, at + 3)) return false;
    }
    const char *text = (const char *)words;
    text += strspn(text, " ");
    snprintf(out, cap, "%s", text);
    for (size_t len = strlen(out); len && out[len - 1] == ' '; len--)
        out[len - 1] = '\0';
    return out[0] != '\0';
}

#else

bool lp__cpuid_invariant_tsc(void)
{
    return false;
}

bool lp__cpuid_brand(char *out, size_t cap)
{
    (void)out;
    (void)cap;
    return false;
}

#endif
