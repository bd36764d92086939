/* Fills the shell in one pass: part, title, part, tables, part, form, part, data, part.  Nothing that was filled in is
 * ever looked at again, so no name can pose as a mark. */
// SPDX-License-Identifier: MIT
#include "render/page.h"

#include <string.h>

#include "base/deflate.h"
#include "base/utf8.h"
#include "render/page_parts.h"

static const size_t STRINGS_CEILING = (size_t)256 << 20;

void lp__html_text(struct lp_buf *out, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t start = at;
        uint32_t c = lp__utf8_next(bytes, len, &at);
        if (c == '&')
            lp__buf_adds(out, "&amp;");
        else if (c == '<')
            lp__buf_adds(out, "&lt;");
        else if (c == '>')
            lp__buf_adds(out, "&gt;");
        else if (c == '"')
            lp__buf_adds(out, "&quot;");
        else if (c == LP_UTF8_BAD || lp__utf8_is_unsafe(c))
            lp__buf_adds(out, "\xEF\xBF\xBD");
        else
            lp__buf_add(out, bytes + start, at - start);
    }
}

void lp__html_cell(struct lp_buf *out, const char *text)
{
    lp__buf_adds(out, "<td>");
    lp__buf_adds(out, text);
    lp__buf_adds(out, "</td>");
}

void lp__page_string(struct lp_page_data *data, const char *bytes, size_t len)
{
    uint32_t id = 0;
    struct lp_buf *out = data->json.out;
    if (lp__intern_add(&data->strings, bytes, len, &id) && !out->failed) out->failed = LP_ERR_NO_MEMORY;
    lp__json_u64(&data->json, id);
}

static void put_value(struct lp_json *json, enum lp_page_type type, const char *field)
{
    switch (type) {
    case LP_PAGE_U32:
        lp__json_u64(json, *(const uint32_t *)(const void *)field);
        break;
    case LP_PAGE_ENUM:
        lp__json_u64(json, *(const unsigned *)(const void *)field);
        break;
    case LP_PAGE_U64:
        lp__json_u64(json, *(const uint64_t *)(const void *)field);
        break;
    case LP_PAGE_NS:
        lp__json_double(json, *(const double *)(const void *)field, 0);
        break;
    case LP_PAGE_SHARE:
        lp__json_double(json, *(const double *)(const void *)field, 6);
        break;
    }
}

void lp__page_values(struct lp_json *json, const struct lp_page_column *column, const void *structs, size_t stride,
                     size_t count)
{
    const char *field = structs;
    for (size_t i = 0; i < count; i++, field += stride)
        put_value(json, column->type, field + column->offset);
}

void lp__page_columns(struct lp_json *json, const struct lp_page_column *columns, size_t column_count,
                      const void *structs, size_t stride, size_t count)
{
    for (size_t i = 0; i < column_count; i++) {
        lp__json_key(json, columns[i].key);
        lp__json_open(json, '[');
        lp__page_values(json, &columns[i], structs, stride, count);
        lp__json_close(json, ']');
    }
}

static void put_part(struct lp_buf *out, size_t part)
{
    lp__buf_add(out, lp__page_parts[part].bytes, lp__page_parts[part].len);
}

static void put_strings(struct lp_page_data *data)
{
    lp__json_key(&data->json, "strings");
    lp__json_open(&data->json, '[');
    for (size_t i = 0; i < data->strings.count; i++)
        lp__json_str(&data->json, data->strings.texts[i].bytes, data->strings.texts[i].len);
    lp__json_close(&data->json, ']');
}

static void make_data(const struct lp_page *page, struct lp_buf *text)
{
    struct lp_page_data data;
    lp__arena_init(&data.arena, STRINGS_CEILING);
    lp__intern_init(&data.strings, &data.arena);
    lp__json_init(&data.json, text, 0);
    lp__json_open(&data.json, '{');
    page->put_data(&data, page->subject);
    put_strings(&data);
    lp__json_close(&data.json, '}');
    lp__intern_release(&data.strings);
    lp__arena_release(&data.arena);
}

static void fail(struct lp_buf *out, int code)
{
    if (code && !out->failed) out->failed = (enum lp_err)code;
}

/* What stands in the way of the compressor is its memory alone: then the page is larger, and complete. */
static bool put_deflated(const struct lp_buf *text, struct lp_buf *out)
{
    struct lp_buf packed;
    bool done = false;
    lp__buf_init(&packed, text->len + 1024);
    if (text->len > LP_PAGE_PLAIN_BYTES && !lp__deflate_zlib(text->data, text->len, &packed)) {
        lp__buf_adds(out, "deflate");
        put_part(out, 3);
        lp__base64_add(out, packed.data, packed.len);
        done = true;
    }
    lp__buf_release(&packed);
    return done;
}

static void put_data(const struct lp_page *page, struct lp_buf *out)
{
    struct lp_buf text;
    lp__buf_init(&text, out->ceiling);
    make_data(page, &text);
    if (text.failed)
        fail(out, text.failed);
    else if (!put_deflated(&text, out)) {
        lp__buf_adds(out, "json");
        put_part(out, 3);
        lp__buf_add(out, text.data, text.len);
    }
    lp__buf_release(&text);
}

void lp__page_write(const struct lp_page *page, struct lp_buf *out)
{
    put_part(out, 0);
    lp__html_text(out, page->title, strlen(page->title));
    put_part(out, 1);
    page->put_plain(out, page->subject);
    put_part(out, 2);
    put_data(page, out);
    put_part(out, 4);
}
