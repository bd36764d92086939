/* Numbers as the reports print them.  Each writes into `out` (NUL-terminated, never past `cap`) and returns `out`,
 * so that calls nest in printf-like lists.  NaN, infinity and negative durations become "n/a". */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_FMT_H
#define LP_BASE_FMT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define LP_FMT_CAP      32
#define LP_FMT_I128_CAP 48
#define LP_NAN          ((double)NAN) /* the C library's is a float, which the warnings about silent promotion reject */

/* Like "%.*f", but with a point in every locale; "n/a" for NaN and infinity.  All decimals of the core go through it.
 */
char *lp__fmt_fixed(char *out, size_t cap, double value, int digits);
char *lp__fmt_duration(char *out, size_t cap, double ns); /* "853ns" "4.5us" "111.2ms" "3.51s" "4m 05s" "1h 02m" */
char *lp__fmt_bytes(char *out, size_t cap, double bytes); /* "0 B" "15.6 MB": base 1024 up to TB */
char *lp__fmt_count(char *out, size_t cap, uint64_t n);   /* "1,234,567" */
char *lp__fmt_i128(char *out, size_t cap, int64_t high, uint64_t low); /* signed 128-bit, plain digits; cap >= 41 */
char *lp__fmt_count128(char *out, size_t cap, int64_t high,
                       uint64_t low);                    /* signed 128-bit, with separators; cap >= 56 */
char *lp__fmt_rate(char *out, size_t cap, double per_s); /* "1,234.5/s"; from 1e15 on "1.23e+15/s" */
char *lp__fmt_pct(char *out, size_t cap, double share);  /* share 0…1 -> "60.1%" */

#endif
