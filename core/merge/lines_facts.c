/* What a file of line tables says beside them: the mechanism, what an event costs, what was left out. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "merge/lines_build.h"
#include "merge/load.h"

#define GROW(array, cap, count) lp__load_grow((void **)&(array), &(cap), (count), sizeof *(array))

enum { MAX_NOTES = 64, MAX_NOTE_BYTES = 2000, MAX_OUTSIDE = 100000 };

static bool is_text(const struct lp_text *text, const char *wanted)
{
    return text->len == strlen(wanted) && !memcmp(text->bytes, wanted, text->len);
}

/* A whole number, all of the text. */
static bool number_of(const char *bytes, size_t len, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] < '0' || bytes[i] > '9' || number > (UINT64_MAX - 9) / 10) return false;
        number = number * 10 + (uint64_t)(bytes[i] - '0');
    }
    *out = number;
    return len > 0;
}

bool lp__lines_only(const struct lp_image *image)
{
    struct lp_text value;
    return lp__image_fact(image, "collector", &value) && is_text(&value, "lines");
}

static int take_mechanism(struct lp_lines_builder *builder, const struct lp_text *value)
{
    struct lp_lines *lines = &builder->lines;
    uint32_t id;
    size_t len = value->len < 40 ? value->len : 40;
    int rc = lp__intern_add(&builder->run->names, value->bytes, len, &id);
    if (rc) return rc;
    const char *name = builder->run->names.texts[id].bytes;
    bool same = !lines->mechanism[0] || strcmp(lines->mechanism, name) == 0;
    lines->mechanism = same ? name : "mixed";
    return LP_OK;
}

static void take_cost(struct lp_lines *lines, const struct lp_text *value)
{
    uint64_t ps;
    if (!number_of(value->bytes, value->len, &ps)) return;
    lines->event_cost_ns = fmax((double)ps / 1000, lines->event_cost_ns); /* of two with a NaN the other */
}

/* -- sentences --------------------------------------------------------------------------------------------------- */

static int take_note(struct lp_lines_builder *builder, const struct lp_text *value)
{
    struct lp_lines *lines = &builder->lines;
    uint64_t known;
    uint32_t id;
    size_t len = value->len < MAX_NOTE_BYTES ? value->len : MAX_NOTE_BYTES;
    if (lines->note_count == MAX_NOTES) return LP_OK;
    int rc = lp__intern_add(&builder->run->names, value->bytes, len, &id);
    if (rc || lp__map_get(&builder->notes_of, id, &known)) return rc;
    if (GROW(lines->notes, builder->note_cap, lines->note_count)) return LP_ERR_NO_MEMORY;
    lines->notes[lines->note_count++] = builder->run->names.texts[id].bytes;
    return lp__map_put(&builder->notes_of, id, 1);
}

/* -- files outside the scope ------------------------------------------------------------------------------------- */

static int add_outside(struct lp_lines_builder *builder, const char *path, size_t len, uint64_t calls)
{
    struct lp_lines *lines = &builder->lines;
    uint64_t known;
    uint32_t id;
    int rc = lp__intern_add(&builder->run->names, path, len, &id);
    if (rc) return rc;
    if (lp__map_get(&builder->outside_of, id, &known)) {
        lines->outside[known].calls += calls;
        return LP_OK;
    }
    if (lines->outside_count == MAX_OUTSIDE) return LP_OK;
    if (GROW(lines->outside, builder->outside_cap, lines->outside_count)) return LP_ERR_NO_MEMORY;
    lines->outside[lines->outside_count] = (struct lp_lines_outside){builder->run->names.texts[id].bytes, calls};
    return lp__map_put(&builder->outside_of, id, lines->outside_count++);
}

/* "count\tpath\n" and so on. */
static int take_outside(struct lp_lines_builder *builder, const struct lp_text *value)
{
    const char *at = value->bytes, *end = at + value->len;
    int rc = LP_OK;
    while (at < end && !rc) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        const char *tab = memchr(at, '\t', (size_t)(stop - at));
        uint64_t calls;
        if (tab && number_of(at, (size_t)(tab - at), &calls))
            rc = add_outside(builder, tab + 1, (size_t)(stop - tab - 1), calls);
        at = stop + 1;
    }
    return rc;
}

/* The last one of its key counts, but for sentences. */
int lp__lines_facts(struct lp_lines_builder *builder)
{
    struct lp_image_fact_cursor cursor = {0};
    struct lp_text key, value, mechanism = {0}, cost = {0}, unobserved = {0}, outside = {0};
    uint64_t threads = 0;
    int rc = LP_OK;
    while (!rc && lp__image_fact_next(builder->image, &cursor, &key, &value)) {
        if (key.len < 6 || memcmp(key.bytes, "lines.", 6) != 0) continue;
        if (is_text(&key, "lines.mechanism")) mechanism = value;
        if (is_text(&key, "lines.event_cost_ps")) cost = value;
        if (is_text(&key, "lines.unobserved")) unobserved = value;
        if (is_text(&key, "lines.outside")) outside = value;
        if (is_text(&key, "lines.note")) rc = take_note(builder, &value);
    }
    if (!rc && mechanism.len) rc = take_mechanism(builder, &mechanism);
    if (!rc && outside.len) rc = take_outside(builder, &outside);
    if (cost.len) take_cost(&builder->lines, &cost);
    if (number_of(unobserved.bytes, unobserved.len, &threads)) builder->lines.unobserved_threads += threads;
    return rc;
}

/* -- threads ----------------------------------------------------------------------------------------------------- */

/* A record of threads that came one after the other is as many threads. */
void lp__lines_threads(struct lp_lines_builder *builder)
{
    const struct lp_image *image = builder->image;
    struct lp_thread_record thread;
    uint64_t seen, told = 0;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type != LP_SEGMENT_THREADS) continue;
        for (uint64_t at = 0; at < segment->payload_bytes; at += sizeof thread) {
            memcpy(&thread, image->bytes + segment->payload + at, sizeof thread);
            builder->lines.dropped[0] += thread.drops[LP_DROP_LINES_NO_SPACE];
            builder->lines.dropped[1] += thread.drops[LP_DROP_LINES_LOST];
            if (!lp__map_get(&builder->thread_seen, (uint64_t)thread.index + 1, &seen)) continue;
            told++;
            builder->lines.threads += (uint32_t)(thread.tenants && thread.tenants < 1u << 20 ? thread.tenants : 1);
        }
    }
    if (told < builder->thread_seen.count) builder->lines.threads += (uint32_t)(builder->thread_seen.count - told);
}
