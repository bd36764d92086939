/* Numbers as text, the same in every locale: a program may have called setlocale(), so the decimal point of printf
 * is not ours to trust.  A unit is chosen after rounding: 999.96 us is "1.0ms", never "1000.0us". */
// SPDX-License-Identifier: MIT
#include "base/fmt.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NOT_KNOWN "n/a"

static char *put(char *out, size_t cap, const char *text)
{
    if (cap) snprintf(out, cap, "%s", text);
    return out;
}

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '-';
}

/* The locale's point, which may be several bytes, becomes ".". */
static void fix_point(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        if (is_number_char(*from)) {
            *to++ = *from++;
            continue;
        }
        *to++ = '.';
        while (*from && !is_number_char(*from))
            from++;
    }
    *to = '\0';
}

char *lp__fmt_fixed(char *out, size_t cap, double value, int digits)
{
    if (!isfinite(value)) return put(out, cap, NOT_KNOWN);
    if (!cap) return out;
    if (digits < 0) digits = 0;
    snprintf(out, cap, "%.*f", digits, value);
    fix_point(out);
    if (out[0] == '-' && strspn(out + 1, "0.") == strlen(out + 1)) memmove(out, out + 1, strlen(out)); /* no "-0.0" */
    return out;
}

static char *with_unit(char *out, size_t cap, double value, int digits, const char *unit)
{
    char number[LP_FMT_CAP];
    lp__fmt_fixed(number, sizeof number, value, digits);
    if (cap) snprintf(out, cap, "%s%s", number, unit);
    return out;
}

static char *clock_form(char *out, size_t cap, uint64_t high, const char *high_unit, unsigned low, const char *low_unit)
{
    if (cap) snprintf(out, cap, "%llu%s %02u%s", (unsigned long long)high, high_unit, low, low_unit);
    return out;
}

char *lp__fmt_duration(char *out, size_t cap, double ns)
{
    if (!isfinite(ns) || ns < 0) return put(out, cap, NOT_KNOWN);
    if (ns < 999.5) return with_unit(out, cap, ns, 0, "ns");
    if (ns < 999.95e3) return with_unit(out, cap, ns / 1e3, 1, "us");
    if (ns < 999.95e6) return with_unit(out, cap, ns / 1e6, 1, "ms");
    double s = ns / 1e9;
    if (s < 59.995) return with_unit(out, cap, s, 2, "s");
    if (s < 3599.5)
        return clock_form(out, cap, (uint64_t)(s + 0.5) / 60, "m", (unsigned)((uint64_t)(s + 0.5) % 60), "s");
    double minutes = s / 60 + 0.5;
    if (minutes >= 1e18) return put(out, cap, NOT_KNOWN);
    return clock_form(out, cap, (uint64_t)minutes / 60, "h", (unsigned)((uint64_t)minutes % 60), "m");
}

char *lp__fmt_bytes(char *out, size_t cap, double bytes)
{
    static const char *const units[] = {" KB", " MB", " GB", " TB"};
    if (!isfinite(bytes)) return put(out, cap, NOT_KNOWN);
    double size = fabs(bytes);
    if (size < 1023.5) return with_unit(out, cap, bytes, 0, " B");
    size_t unit = 0;
    bytes /= 1024;
    while (fabs(bytes) >= 1023.95 && unit < 3) {
        bytes /= 1024;
        unit++;
    }
    return with_unit(out, cap, bytes, 1, units[unit]);
}

/* Copies `digits` with a comma before each group of three of the whole part, which is `whole` characters long. */
static char *group(char *out, size_t cap, const char *digits, size_t whole)
{
    size_t at = 0;
    for (size_t i = 0; digits[i] && at + 1 < cap; i++) {
        if (i && i < whole && (whole - i) % 3 == 0) out[at++] = ',';
        if (at + 1 < cap) out[at++] = digits[i];
    }
    if (cap) out[at] = '\0';
    return out;
}

char *lp__fmt_count(char *out, size_t cap, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    return group(out, cap, digits, (size_t)len);
}

/* Divides the 128-bit number in place by 10 and returns the remainder; 32 bits at a time, so that no compiler
 * extension is needed. */
static unsigned div10(uint32_t limbs[4])
{
    uint64_t rest = 0;
    for (int i = 0; i < 4; i++) {
        rest = rest << 32 | limbs[i];
        limbs[i] = (uint32_t)(rest / 10);
        rest %= 10;
    }
    return (unsigned)rest;
}

char *lp__fmt_i128(char *out, size_t cap, int64_t high, uint64_t low)
{
    bool negative = high < 0;
    uint64_t top = (uint64_t)high;
    if (negative) {
        low = ~low + 1;
        top = ~top + (low == 0);
    }
    uint32_t limbs[4] = {(uint32_t)(top >> 32), (uint32_t)top, (uint32_t)(low >> 32), (uint32_t)low};
    char text[LP_FMT_I128_CAP];
    char *at = text + sizeof text - 1;
    *at = '\0';
    do
        *--at = (char)('0' + div10(limbs));
    while (limbs[0] | limbs[1] | limbs[2] | limbs[3]);
    if (negative) *--at = '-';
    return put(out, cap, at);
}

char *lp__fmt_count128(char *out, size_t cap, int64_t high, uint64_t low)
{
    char digits[LP_FMT_I128_CAP];
    lp__fmt_i128(digits, sizeof digits, high, low);
    bool negative = digits[0] == '-';
    if (!negative || cap < 2) return group(out, cap, digits, strlen(digits));
    out[0] = '-';
    group(out + 1, cap - 1, digits + 1, strlen(digits) - 1);
    return out;
}

char *lp__fmt_rate(char *out, size_t cap, double per_s)
{
    char digits[LP_FMT_CAP], text[LP_FMT_CAP + 8];
    if (!isfinite(per_s)) return put(out, cap, NOT_KNOWN);
    if (fabs(per_s) >= 1e15) {
        int exponent = (int)floor(log10(fabs(per_s)));
        double mantissa = per_s / pow(10, exponent);
        if (fabs(mantissa) >= 9.995) {
            mantissa /= 10;
            exponent++;
        }
        lp__fmt_fixed(digits, sizeof digits, mantissa, 2);
        if (cap) snprintf(out, cap, "%se+%d/s", digits, exponent);
        return out;
    }
    bool negative = per_s < 0;
    lp__fmt_fixed(digits, sizeof digits, fabs(per_s), 1);
    group(text, sizeof text, digits, strcspn(digits, "."));
    if (cap) snprintf(out, cap, "%s%s/s", negative ? "-" : "", text);
    return out;
}

char *lp__fmt_pct(char *out, size_t cap, double share)
{
    if (!isfinite(share)) return put(out, cap, NOT_KNOWN);
    return with_unit(out, cap, share * 100, 1, "%");
}
