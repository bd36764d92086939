/* The text report: the page, its cells and sentences, and the order of the blocks. */
// SPDX-License-Identifier: MIT
#include "render/text.h"

#include <stdio.h>
#include <string.h>

#include "base/step.h"
#include "base/utf8.h"
#include "render/escape.h"

#define RULE_COLUMNS  62
#define SENTENCE_MOST 1200u /* columns of a sentence; names in it are bounded before */

static const char *const inks[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[31m"};

static void ink_on(struct lp_page *page, enum lp_ink ink)
{
    if (page->options.color) lp__buf_adds(page->out, inks[ink]);
}

static void ink_off(struct lp_page *page, enum lp_ink ink)
{
    if (page->options.color && ink != LP_INK_PLAIN) lp__buf_adds(page->out, "\x1b[0m");
}

void lp__page_block(struct lp_page *page)
{
    if (page->started) lp__buf_addc(page->out, '\n');
    page->started = true;
}

void lp__page_rule(struct lp_page *page)
{
    unsigned columns = page->width < RULE_COLUMNS ? page->width : RULE_COLUMNS;
    ink_on(page, LP_INK_FAINT);
    for (unsigned i = 0; i < columns; i++)
        lp__buf_adds(page->out, page->options.utf8 ? "\xE2\x94\x80" : "-");
    ink_off(page, LP_INK_FAINT);
    lp__buf_addc(page->out, '\n');
}

void lp__page_ink(struct lp_page *page, enum lp_ink ink, const char *text)
{
    ink_on(page, ink);
    lp__buf_adds(page->out, text);
    ink_off(page, ink);
}

void lp__page_add(struct lp_page *page, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    lp__buf_adds(page->out, text);
}

void lp__page_cell(struct lp_page *page, const char *bytes, size_t len, unsigned columns)
{
    size_t used = lp__escape_label(page->out, bytes, len, columns, page->options.utf8);
    lp__buf_pad(page->out, ' ', columns - used);
}

char *lp__page_label(const struct lp_page *page, char *out, size_t cap, const char *text, unsigned columns)
{
    struct lp_buf buf;
    lp__buf_init(&buf, cap - 1);
    struct lp_text shown = lp__shown_name((struct lp_text){text, strlen(text)});
    (void)lp__escape_label(&buf, shown.bytes, shown.len, columns, page->options.utf8);
    (void)snprintf(out, cap, "%s", buf.data && !buf.failed ? buf.data : "?");
    lp__buf_release(&buf);
    return out;
}

/* Bytes of the longest run of whole words that fits into `columns`; a word that alone is too long is cut. */
static size_t line_bytes(const char *text, size_t len, size_t columns)
{
    size_t at = 0, used = 0, space = 0;
    while (at < len) {
        size_t start = at;
        uint32_t c = lp__utf8_next(text, len, &at);
        used += c == LP_UTF8_BAD ? 1 : (size_t)lp__utf8_width(c);
        if (used > columns) return space ? space : start ? start : at;
        if (c == ' ') space = start;
    }
    return len;
}

static void wrap(struct lp_page *page, unsigned indent, enum lp_ink ink, const char *text, size_t len)
{
    bool first = true;
    while (len) {
        size_t take = line_bytes(text, len, page->width - indent);
        if (!first) lp__buf_pad(page->out, ' ', indent);
        ink_on(page, ink);
        lp__buf_add(page->out, text, take);
        ink_off(page, ink);
        lp__buf_addc(page->out, '\n');
        text += take;
        len -= take;
        while (len && *text == ' ')
            text++, len--;
        first = false;
    }
}

void lp__page_sentence(struct lp_page *page, unsigned indent, const char *bullet, enum lp_ink ink, const char *format,
                       ...)
{
    char raw[1024];
    struct lp_buf safe;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    lp__buf_init(&safe, 64 * 1024);
    (void)lp__escape_head(&safe, raw, strlen(raw), SENTENCE_MOST, page->options.utf8);
    lp__buf_pad(page->out, ' ', indent);
    lp__buf_adds(page->out, bullet);
    if (safe.len && !safe.failed)
        wrap(page, indent + (unsigned)strlen(bullet), ink, safe.data, safe.len);
    else
        lp__buf_addc(page->out, '\n');
    lp__buf_release(&safe);
}

static unsigned columns_of(const char *text)
{
    size_t len = strlen(text), columns = 0;
    for (size_t at = 0; at < len;)
        columns += (size_t)lp__utf8_width(lp__utf8_next(text, len, &at));
    return (unsigned)columns;
}

void lp__page_flow(struct lp_page *page, const char *gap, const char *format, ...)
{
    char text[2 * LP_LABEL_CAP];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    unsigned columns = columns_of(text), gap_columns = page->at ? (unsigned)strlen(gap) : 0;
    if (page->at && page->at + gap_columns + columns > page->width) {
        size_t trailing = strcspn(gap, " "); /* a comma stays at the end of the line */
        lp__buf_add(page->out, gap, trailing);
        lp__buf_adds(page->out, "\n  ");
        page->at = 2;
    } else if (page->at) {
        lp__buf_adds(page->out, gap);
        page->at += gap_columns;
    }
    lp__buf_adds(page->out, text);
    page->at += columns;
}

void lp__page_flow_end(struct lp_page *page)
{
    if (page->at) lp__buf_addc(page->out, '\n');
    page->at = 0;
}

/* An empty name is a name too, and must not look like a gap. */
struct lp_text lp__shown_name(struct lp_text name)
{
    return name.len ? name : (struct lp_text){"\"\"", 2};
}

/* -- labels of phases -------------------------------------------------------------------------------------------- */

unsigned lp__page_marks(struct lp_page *page, const struct lp_report_phase *phase)
{
    unsigned columns = 0;
    if (phase->open) {
        lp__buf_addc(page->out, '>');
        columns++;
    }
    if (phase->scale != 1 || phase->untimed) {
        lp__buf_addc(page->out, '~');
        columns++;
    }
    if (phase->async_entries) {
        lp__buf_adds(page->out, page->options.utf8 ? "\xE2\x80\xA0" : "^");
        columns++;
    }
    return columns;
}

/* Joins names from the leaf upwards into the end of `out`, at most `most` of them; returns where the text starts.  What
 * does not fit was beyond what a label shows. */
static size_t join_backwards(const struct lp_report_tree *tree, uint32_t phase, uint32_t most, char *out, size_t cap)
{
    size_t at = cap;
    for (uint32_t i = phase, n = 0; i && n < most && at; i = tree->phases[i].parent, n++) {
        struct lp_text name = tree->phases[i].name;
        if (n) out[--at] = '/';
        at = lp__step_put_before(out, at, name.bytes, name.len);
    }
    return at;
}

static size_t phase_bytes(const struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, char *out,
                          size_t cap)
{
    bool roomy = page->options.wide || page->name > LP_PAGE_NAME_COLUMNS;
    return join_backwards(tree, phase, roomy ? UINT32_MAX : 2, out, cap);
}

void lp__page_step(struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, unsigned columns)
{
    char joined[1024];
    size_t start = join_backwards(tree, phase, 1, joined, sizeof joined);
    lp__page_cell(page, joined + start, sizeof joined - start, columns);
}

void lp__page_phase(struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, unsigned columns)
{
    char joined[1024];
    unsigned marks = lp__page_marks(page, &tree->phases[phase]);
    size_t start = phase_bytes(page, tree, phase, joined, sizeof joined);
    lp__page_cell(page, joined + start, sizeof joined - start, columns - marks);
}

char *lp__page_phase_label(const struct lp_page *page, const struct lp_report_tree *tree, uint32_t phase, char *out,
                           size_t cap, unsigned columns)
{
    char joined[1024];
    struct lp_buf buf;
    size_t start = phase_bytes(page, tree, phase, joined, sizeof joined);
    lp__buf_init(&buf, cap - 1);
    (void)lp__escape_label(&buf, joined + start, sizeof joined - start, columns, page->options.utf8);
    (void)snprintf(out, cap, "%s", buf.data && !buf.failed ? buf.data : "");
    lp__buf_release(&buf);
    return out;
}

/* -- the page ---------------------------------------------------------------------------------------------------- */

static unsigned name_columns(unsigned width)
{
    if (width <= LP_TEXT_WIDTH_DEFAULT) return LP_PAGE_NAME_COLUMNS;
    unsigned more = width - LP_TEXT_WIDTH_DEFAULT;
    return LP_PAGE_NAME_COLUMNS + (more < 36 ? more : 36);
}

static void set_width(struct lp_page *page)
{
    unsigned width = page->options.width ? page->options.width : LP_TEXT_WIDTH_DEFAULT;
    unsigned least = page->options.wide ? LP_TEXT_WIDTH_WIDE : LP_TEXT_WIDTH_MIN;
    page->width = width < least ? least : width;
    page->name = name_columns(page->options.wide ? page->width - 12 : page->width);
}

void lp__render_text(const struct lp_report *report, const struct lp_text_options *options, struct lp_buf *out)
{
    struct lp_page page = {.report = report, .out = out};
    if (options) page.options = *options;
    set_width(&page);
    lp__page_header(&page);
    for (uint32_t role = 0; role < report->role_count; role++) {
        lp__page_role(&page, role);
        lp__page_phases(&page, role);
        lp__page_iterations(&page, &report->roles[role]);
    }
    lp__page_workers(&page);
    lp__page_outside(&page);
    lp__page_caveats(&page);
}
