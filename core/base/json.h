/* A JSON writer over a lp_buf: commas, indentation and escaping are its business, nesting is checked.
 *
 * Strings are bytes of a name: valid UTF-8 goes out as it is, a lone surrogate (WTF-8) as its \uXXXX escape, any
 * other bad byte as U+FFFD; control characters, ", \, <, > & and U+2028/9 are always escaped, so the output is
 * safe inside a script element.  NaN and infinity become null: unmeasured is never zero.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_JSON_H
#define LP_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define LP_JSON_DEPTH 32

struct lp_json {
    struct lp_buf *out; /* borrowed */
    int indent;         /* spaces per level; 0 = one line */
    int depth;
    bool first[LP_JSON_DEPTH];
    bool after_key;
};

void lp__json_init(struct lp_json *json, struct lp_buf *out, int indent);
void lp__json_open(struct lp_json *json, char bracket);  /* '{' or '[' */
void lp__json_close(struct lp_json *json, char bracket); /* '}' or ']' */
void lp__json_key(struct lp_json *json, const char *key);
void lp__json_str(struct lp_json *json, const char *bytes, size_t len);
void lp__json_text(struct lp_json *json, const char *text); /* NUL-terminated; NULL writes null */
void lp__json_u64(struct lp_json *json, uint64_t value);
void lp__json_i64(struct lp_json *json, int64_t value);
void lp__json_i128(struct lp_json *json, int64_t high, uint64_t low);
void lp__json_double(struct lp_json *json, double value, int digits); /* fixed digits after the point, zeros trimmed */
void lp__json_bool(struct lp_json *json, bool value);
void lp__json_null(struct lp_json *json);

#endif
