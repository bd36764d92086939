/* The JSON writer.  It never fails by itself: trouble is the buffer's, and nesting errors are the caller's bugs, kept
 * harmless (a bracket past the depth limit marks the buffer as failed). */
// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "base/utf8.h"

/* "-1.8e308" in full has 309 digits; with a point and decimals this holds every double. */
enum { DOUBLE_CAP = 352, MOST_DIGITS = 32 };

void lp__json_init(struct lp_json *json, struct lp_buf *out, int indent)
{
    *json = (struct lp_json){.out = out, .indent = indent};
    json->first[0] = true;
}

static void new_line(struct lp_json *json)
{
    if (!json->indent) return;
    lp__buf_addc(json->out, '\n');
    lp__buf_pad(json->out, ' ', (size_t)json->indent * (size_t)json->depth);
}

/* What stands before a value or a key: nothing after a key, else the comma and the line break. */
static void before_item(struct lp_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (!json->first[json->depth]) lp__buf_adds(json->out, json->indent ? "," : ", ");
    json->first[json->depth] = false;
    if (json->depth) new_line(json);
}

void lp__json_open(struct lp_json *json, char bracket)
{
    before_item(json);
    lp__buf_addc(json->out, bracket);
    if (json->depth + 1 >= LP_JSON_DEPTH) {
        if (!json->out->failed) json->out->failed = LP_ERR_LIMIT;
        return;
    }
    json->first[++json->depth] = true;
}

void lp__json_close(struct lp_json *json, char bracket)
{
    if (!json->depth) return;
    bool empty = json->first[json->depth--];
    if (!empty) new_line(json);
    lp__buf_addc(json->out, bracket);
}

static void add_unit_escape(struct lp_buf *out, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[6] = {'\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]};
    lp__buf_add(out, escape, sizeof escape);
}

static char short_escape(uint32_t c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\n':
        return 'n';
    case '\t':
        return 't';
    case '\r':
        return 'r';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    default:
        return 0;
    }
}

static bool needs_unit_escape(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029 ||
           (c >= 0xD800 && c <= 0xDFFF);
}

/* How many bytes from here on stand for themselves: most of most strings. */
static size_t plain_run(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        unsigned char c = (unsigned char)bytes[at];
        if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&') break;
        at++;
    }
    return at;
}

static void add_quoted(struct lp_buf *out, const char *bytes, size_t len)
{
    lp__buf_addc(out, '"');
    for (size_t at = 0; at < len;) {
        size_t start = at, plain = plain_run(bytes + at, len - at);
        if (plain) {
            lp__buf_add(out, bytes + at, plain);
            at += plain;
            continue;
        }
        uint32_t c = lp__utf8_next(bytes, len, &at);
        char brief = short_escape(c);
        if (c == LP_UTF8_BAD)
            lp__buf_adds(out, "\xEF\xBF\xBD");
        else if (brief)
            lp__buf_add(out, (const char[2]){'\\', brief}, 2);
        else if (needs_unit_escape(c))
            add_unit_escape(out, c);
        else
            lp__buf_add(out, bytes + start, at - start);
    }
    lp__buf_addc(out, '"');
}

void lp__json_key(struct lp_json *json, const char *key)
{
    before_item(json);
    add_quoted(json->out, key, strlen(key));
    lp__buf_adds(json->out, ": ");
    json->after_key = true;
}

void lp__json_str(struct lp_json *json, const char *bytes, size_t len)
{
    before_item(json);
    add_quoted(json->out, bytes, len);
}

void lp__json_text(struct lp_json *json, const char *text)
{
    if (text)
        lp__json_str(json, text, strlen(text));
    else
        lp__json_null(json);
}

static void add_literal(struct lp_json *json, const char *text)
{
    before_item(json);
    lp__buf_adds(json->out, text);
}

/* Documents of lines are mostly whole numbers: printf would be most of the time they take. */
static void add_digits(struct lp_buf *out, uint64_t value, bool negative)
{
    char text[21];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + value % 10);
    while (value /= 10);
    if (negative) text[--at] = '-';
    lp__buf_add(out, text + at, sizeof text - at);
}

void lp__json_u64(struct lp_json *json, uint64_t value)
{
    before_item(json);
    add_digits(json->out, value, false);
}

void lp__json_i64(struct lp_json *json, int64_t value)
{
    before_item(json);
    add_digits(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void lp__json_i128(struct lp_json *json, int64_t high, uint64_t low)
{
    char text[LP_FMT_I128_CAP];
    add_literal(json, lp__fmt_i128(text, sizeof text, high, low));
}

void lp__json_double(struct lp_json *json, double value, int digits)
{
    char text[DOUBLE_CAP];
    if (!isfinite(value)) {
        lp__json_null(json);
        return;
    }
    if (digits <= 0 && fabs(value) < 0x1p53) { /* ties to even, as printf does */
        lp__json_i64(json, (int64_t)rint(value));
        return;
    }
    lp__fmt_fixed(text, sizeof text, value, digits > MOST_DIGITS ? MOST_DIGITS : digits);
    if (strchr(text, '.')) {
        char *end = text + strlen(text);
        while (end[-1] == '0')
            end--;
        if (end[-1] == '.') end--;
        *end = '\0';
    }
    add_literal(json, text);
}

void lp__json_bool(struct lp_json *json, bool value)
{
    add_literal(json, value ? "true" : "false");
}

void lp__json_null(struct lp_json *json)
{
    add_literal(json, "null");
}
