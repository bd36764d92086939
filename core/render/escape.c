/* Labels: decode, replace what is unsafe, cut to a number of columns.  Only a window of the input as long as could ever
 * be shown is looked at, so a name of a megabyte costs no more than a short one. */
// SPDX-License-Identifier: MIT
#include "render/escape.h"

#include "base/utf8.h"

#define WINDOW_BYTES_PER_COLUMN 8

/* One character as it will be printed. */
struct glyph {
    const char *bytes;
    size_t len;
    size_t columns;
};

static struct glyph next_glyph(const char *bytes, size_t len, size_t *at, bool utf8)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t start = *at;
    uint32_t c = lp__utf8_next(bytes, len, at);
    bool unsafe = c == LP_UTF8_BAD || lp__utf8_is_unsafe(c);
    if (!unsafe && (utf8 || c < 0x80)) return (struct glyph){bytes + start, *at - start, (size_t)lp__utf8_width(c)};
    return utf8 ? (struct glyph){replacement, 3, 1} : (struct glyph){"?", 1, 1};
}

static size_t width_of(const char *bytes, size_t len, bool utf8)
{
    size_t columns = 0;
    for (size_t at = 0; at < len;)
        columns += next_glyph(bytes, len, &at, utf8).columns;
    return columns;
}

static size_t cut_columns(bool utf8)
{
    return utf8 ? 1 : 2;
}

static void add_cut(struct lp_buf *out, bool utf8)
{
    lp__buf_adds(out, utf8 ? "\xE2\x80\xA6" : "..");
}

/* Appends what fits, from `at` on; returns the columns used. */
static size_t add_from(struct lp_buf *out, const char *bytes, size_t len, size_t at, size_t columns, bool utf8)
{
    size_t used = 0;
    while (at < len) {
        struct glyph glyph = next_glyph(bytes, len, &at, utf8);
        if (used + glyph.columns > columns) break;
        lp__buf_add(out, glyph.bytes, glyph.len);
        used += glyph.columns;
    }
    return used;
}

size_t lp__escape_label(struct lp_buf *out, const char *bytes, size_t len, size_t columns, bool utf8)
{
    size_t window = columns * WINDOW_BYTES_PER_COLUMN, at = 0;
    bool cut = len > window;
    if (cut) {
        bytes += len - window;
        len = window;
        while (len && ((unsigned char)*bytes & 0xC0) == 0x80)
            bytes++, len--;
    }
    size_t total = width_of(bytes, len, utf8);
    if (!cut && total <= columns) return add_from(out, bytes, len, 0, columns, utf8);
    size_t mark = cut_columns(utf8);
    if (columns < mark) return 0;
    while (at < len && total > columns - mark)
        total -= next_glyph(bytes, len, &at, utf8).columns;
    add_cut(out, utf8);
    return mark + add_from(out, bytes, len, at, columns - mark, utf8);
}

size_t lp__escape_head(struct lp_buf *out, const char *bytes, size_t len, size_t columns, bool utf8)
{
    size_t window = columns * WINDOW_BYTES_PER_COLUMN;
    bool cut = len > window;
    if (cut) len = window;
    if (!cut && width_of(bytes, len, utf8) <= columns) return add_from(out, bytes, len, 0, columns, utf8);
    size_t mark = cut_columns(utf8);
    if (columns < mark) return 0;
    size_t used = add_from(out, bytes, len, 0, columns - mark, utf8);
    add_cut(out, utf8);
    return used + mark;
}

static bool starts_formula(const char *bytes, size_t len)
{
    static const char starts[] = "=+-@\t\r";
    for (size_t i = 0; len && i < sizeof starts - 1; i++)
        if (bytes[0] == starts[i]) return true;
    return false;
}

void lp__escape_csv(struct lp_buf *out, const char *bytes, size_t len)
{
    lp__buf_addc(out, '"');
    if (starts_formula(bytes, len)) lp__buf_addc(out, '\'');
    for (size_t at = 0; at < len;) {
        struct glyph glyph = next_glyph(bytes, len, &at, true);
        if (glyph.len == 1 && glyph.bytes[0] == '"') lp__buf_addc(out, '"');
        lp__buf_add(out, glyph.bytes, glyph.len);
    }
    lp__buf_addc(out, '"');
}
