/* The reader against whole, cut, flipped and hostile files. */
// SPDX-License-Identifier: MIT
#include "store/reader.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/clock.h"
#include "support/image_builder.h"

struct fixture {
    struct image image;
    struct lp_arena arena;
    struct lp_image index;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    image_init(&f->image);
    lp__arena_init(&f->arena, (size_t)1 << 24);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    image_release(&f->image);
    lp__arena_release(&f->arena);
    free(f);
    return 0;
}

static int index_of(struct fixture *f)
{
    return lp__image_index(&f->index, f->image.bytes, f->image.len, &f->arena, NULL);
}

/* Everything the accessors can reach, so that a sanitizer sees each byte they hand out. */
static uint64_t touch_all(const struct lp_image *image)
{
    struct lp_image_fact_cursor cursor = {0};
    struct lp_text key, value;
    uint64_t sum = 0;
    while (lp__image_fact_next(image, &cursor, &key, &value))
        sum += lp__hash_bytes(key.bytes, key.len) + lp__hash_bytes(value.bytes, value.len);
    for (lp_ref ref = 0; ref < image->len / 8 + 2; ref++) {
        if (lp__image_name(image, ref, &value)) sum += value.len;
        const void *node = lp__image_record(image, ref, LP_SEGMENT_NODES, sizeof(struct lp_node_record));
        if (node) sum += lp__hash_bytes(node, sizeof(struct lp_node_record));
    }
    struct lp_clock_line line;
    lp__image_clock_line(image, 0.5, &line);
    return sum + (uint64_t)lp__ticks_to_mono_ns(&line, 12345);
}

static size_t count_type(const struct lp_image *image, uint16_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < image->segment_count; i++)
        count += image->segments[i].type == type;
    return count;
}

static void a_whole_file_is_read(void **state)
{
    struct fixture *f = *state;
    image_usual(&f->image, "a1", "actor", 3);
    assert_int_equal(index_of(f), LP_OK);
    assert_false(f->index.header_damaged);
    assert_false(f->index.truncated);
    assert_int_equal(f->index.damaged_segments, 0);
    assert_int_equal(f->index.header.pid, 4242);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_NODES), 1);
    struct lp_text text;
    assert_true(lp__image_fact(&f->index, "role", &text));
    assert_memory_equal(text.bytes, "actor", text.len);
    assert_false(lp__image_fact(&f->index, "rol", &text));
}

static void the_last_fact_of_a_key_wins(void **state)
{
    struct fixture *f = *state;
    image_fact(&f->image, "role", "first");
    image_fact(&f->image, "role", "second");
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_OK);
    struct lp_text text;
    assert_true(lp__image_fact(&f->index, "role", &text));
    assert_int_equal(text.len, 6);
    assert_memory_equal(text.bytes, "second", 6);
}

static void names_hold_any_bytes_and_are_checked(void **state)
{
    struct fixture *f = *state;
    lp_ref odd = image_name(&f->image, "a/\0\xed\xa0\x80", 6), empty = image_name(&f->image, "", 0);
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_OK);
    struct lp_text text;
    assert_true(lp__image_name(&f->index, odd, &text));
    assert_int_equal(text.len, 6);
    assert_memory_equal(text.bytes, "a/\0\xed\xa0\x80", 6);
    assert_true(lp__image_name(&f->index, empty, &text));
    assert_int_equal(text.len, 0);
    assert_false(lp__image_name(&f->index, odd + 1, &text));
    assert_false(lp__image_name(&f->index, 0, &text));
    f->image.bytes[(size_t)odd * 8 + 8] ^= 1; /* its first letter */
    assert_false(lp__image_name(&f->index, odd, &text));
}

static void references_must_hit_a_whole_record_of_the_type(void **state)
{
    struct fixture *f = *state;
    lp_ref root = image_root(&f->image, 0);
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_OK);
    size_t size = sizeof(struct lp_node_record);
    assert_non_null(lp__image_record(&f->index, root, LP_SEGMENT_NODES, size));
    assert_null(lp__image_record(&f->index, root + 1, LP_SEGMENT_NODES, size));
    assert_null(lp__image_record(&f->index, root + (lp_ref)(size / 8), LP_SEGMENT_NODES, size));
    assert_null(lp__image_record(&f->index, root, LP_SEGMENT_HIST, 64));
    assert_null(lp__image_record(&f->index, UINT32_MAX, LP_SEGMENT_NODES, size));
    assert_null(lp__image_record(&f->index, root, LP_SEGMENT_NODES, UINT64_MAX));
    assert_non_null(lp__image_segment_at(&f->index, (uint64_t)root * 8, size, 0));
    assert_null(lp__image_segment_at(&f->index, UINT64_MAX, 8, 0));
}

static void an_empty_or_zero_file_has_recorded_nothing(void **state)
{
    struct fixture *f = *state;
    static const uint64_t zeros[128];
    assert_int_equal(lp__image_index(&f->index, zeros, 0, &f->arena, NULL), LP_OK);
    assert_int_equal(f->index.header.state, LP_STATE_NOTHING);
    assert_int_equal(lp__image_index(&f->index, zeros, sizeof zeros, &f->arena, NULL), LP_OK);
    assert_int_equal(f->index.header.state, LP_STATE_NOTHING);
    assert_false(f->index.header_damaged);
    assert_int_equal(f->index.segment_count, 0);
}

static void other_files_are_refused(void **state)
{
    struct fixture *f = *state;
    struct lp_error err = {0};
    uint64_t text[200];
    memset(text, '{', sizeof text);
    assert_int_equal(lp__image_index(&f->index, text, sizeof text, &f->arena, &err), LP_ERR_FORMAT);
    assert_int_equal(err.code, LP_ERR_FORMAT);
    memcpy(text, LP_FILE_MAGIC, 8);
    assert_int_equal(lp__image_index(&f->index, text, 100, &f->arena, &err), LP_ERR_TRUNCATED);
    image_header(&f->image)->version = LP_FILE_VERSION + 1;
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_ERR_VERSION);
}

static void a_cut_keeps_all_records_before_it(void **state)
{
    struct fixture *f = *state;
    image_usual(&f->image, "a1", "actor", 0);
    for (int i = 0; i < 30; i++) /* three segments of nodes */
        (void)image_node(&f->image, 0, "more", 1, 1000);
    image_seal(&f->image);
    size_t len = f->image.len, size = sizeof(struct lp_node_record);
    assert_int_equal(index_of(f), LP_OK);
    struct lp_image whole = f->index;
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut + 1); /* exact, so that a sanitizer sees the end */
        assert_non_null(copy);
        memcpy(copy, f->image.bytes, cut);
        struct lp_arena arena;
        lp__arena_init(&arena, (size_t)1 << 24);
        struct lp_image image;
        int rc = lp__image_index(&image, copy, cut, &arena, NULL);
        assert_int_equal(rc, cut && cut < LP_FILE_CHECKED_END ? LP_ERR_TRUNCATED : LP_OK);
        if (rc == LP_OK && cut) assert_true(image.truncated);
        for (size_t i = 0; rc == LP_OK && i < whole.segment_count; i++) {
            const struct lp_image_segment *want = &whole.segments[i];
            if (want->type != LP_SEGMENT_NODES) continue;
            for (uint64_t at = 0; at + size <= want->payload_bytes && want->payload + at + size <= cut; at += size)
                assert_non_null(lp__image_record(&image, (lp_ref)((want->payload + at) / 8), LP_SEGMENT_NODES, size));
        }
        if (rc == LP_OK && cut % 7 == 0) (void)touch_all(&image);
        lp__arena_release(&arena);
        free(copy);
    }
}

static void a_flipped_byte_costs_at_most_its_segment(void **state)
{
    struct fixture *f = *state;
    image_usual(&f->image, "a1", "actor", 0);
    assert_int_equal(index_of(f), LP_OK);
    struct lp_image whole = f->index;
    for (size_t at = 0; at < f->image.len; at++) {
        uint8_t old = f->image.bytes[at];
        f->image.bytes[at] ^= (uint8_t)(1u << at % 8);
        struct lp_arena arena;
        lp__arena_init(&arena, (size_t)1 << 24);
        struct lp_image image;
        assert_int_equal(lp__image_index(&image, f->image.bytes, f->image.len, &arena, NULL), LP_OK);
        for (size_t i = 0; i < whole.segment_count; i++) {
            const struct lp_image_segment *want = &whole.segments[i];
            uint64_t end = i + 1 < whole.segment_count ? whole.segments[i + 1].offset : f->image.len;
            if (at >= want->offset && at < end) continue;
            assert_true(lp__image_segment_at(&image, want->payload, want->payload_bytes, want->type) != NULL);
        }
        if (at % 5 == 0) (void)touch_all(&image);
        lp__arena_release(&arena);
        f->image.bytes[at] = old;
    }
}

static void a_damaged_header_is_stepped_over_and_counted(void **state)
{
    struct fixture *f = *state;
    f->image.capacity = LP_SEGMENT_ALIGN; /* the next header is one step on */
    image_usual(&f->image, "a1", "actor", 0);
    uint64_t names = f->image.current[LP_SEGMENT_NAMES];
    size_t nodes = 0;
    assert_int_equal(index_of(f), LP_OK);
    nodes = count_type(&f->index, LP_SEGMENT_NODES);
    image_segment_header(&f->image, names)->capacity = (uint64_t)1 << 40;
    assert_int_equal(index_of(f), LP_OK);
    assert_int_equal(f->index.damaged_segments, 1);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_NAMES), 0);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_NODES), nodes);
    image_segment_reseal(&f->image, names); /* a right checksum does not make an impossible size true */
    assert_int_equal(index_of(f), LP_OK);
    assert_int_equal(f->index.damaged_segments, 1);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_NODES), nodes);
}

static void a_copied_header_is_no_header_elsewhere(void **state)
{
    struct fixture *f = *state;
    uint64_t from = image_segment(&f->image, LP_SEGMENT_NODES, 0, 4096);
    uint64_t to = image_segment(&f->image, LP_SEGMENT_HIST, 0, 4096);
    memcpy(f->image.bytes + to, f->image.bytes + from, sizeof(struct lp_segment_header));
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_OK);
    assert_int_equal(f->index.damaged_segments, 1);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_NODES), 1);
}

static void unknown_types_are_skipped_and_newer_ones_said(void **state)
{
    struct fixture *f = *state;
    (void)image_segment(&f->image, 50, 0, 4096);
    uint64_t newer = image_segment(&f->image, LP_SEGMENT_NODES, 0, 4096);
    image_segment_header(&f->image, newer)->version = 2;
    image_segment_reseal(&f->image, newer);
    image_usual(&f->image, "a1", "actor", 0);
    assert_int_equal(index_of(f), LP_OK);
    assert_int_equal(f->index.newer_segments, 1);
    assert_int_equal(f->index.damaged_segments, 0);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_FACTS), 1);
}

static void a_damaged_file_header_leaves_the_segments(void **state)
{
    struct fixture *f = *state;
    image_usual(&f->image, "a1", "actor", 0);
    image_header(&f->image)->pid ^= 1;
    assert_int_equal(index_of(f), LP_OK);
    assert_true(f->index.header_damaged);
    assert_int_equal(f->index.header.pid, 0);
    assert_int_equal(f->index.header.state, LP_STATE_FINISHED);
    assert_int_equal(count_type(&f->index, LP_SEGMENT_NODES), 1);
    assert_int_equal(f->index.damaged_segments, 0);
}

static void a_used_word_beyond_its_segment_is_cut(void **state)
{
    struct fixture *f = *state;
    uint64_t at = image_segment(&f->image, LP_SEGMENT_NODES, 0, 1024);
    (void)image_segment(&f->image, LP_SEGMENT_HIST, 0, 4096);
    image_segment_header(&f->image, at)->used = UINT64_MAX;
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_OK);
    const struct lp_image_segment *segment = &f->index.segments[f->index.segment_count - 2];
    assert_int_equal(segment->payload_bytes, 2 * sizeof(struct lp_node_record));
}

/* -- clock line -------------------------------------------------------------------------------------------------- */

static struct lp_clock_line line_of(struct fixture *f, double fallback)
{
    struct lp_clock_line line;
    image_seal(&f->image);
    assert_int_equal(index_of(f), LP_OK);
    lp__image_clock_line(&f->index, fallback, &line);
    return line;
}

static void pair(struct fixture *f, uint64_t after_ticks, int64_t off_ns)
{
    uint64_t ns = after_ticks / 2 + (uint64_t)off_ns;
    image_clock(&f->image, IMAGE_CREATED_TICKS + after_ticks, IMAGE_CREATED_MONO + ns, IMAGE_CREATED_REAL + ns);
}

static void pairs_give_the_rate(void **state)
{
    struct fixture *f = *state;
    pair(f, IMAGE_LIFE_TICKS / 2, 300); /* a little off: no step */
    struct lp_clock_line line = line_of(f, 3.0);
    assert_false(line.guessed);
    assert_false(line.stepped);
    assert_true(fabs(line.ns_per_tick - IMAGE_NS_PER_TICK) < 1e-9);
    assert_true(line.worst_residual_ns > 299 && line.worst_residual_ns < 301);
    assert_int_equal(line.span_ticks, IMAGE_LIFE_TICKS);
    assert_int_equal(lp__ticks_to_mono_ns(&line, IMAGE_CREATED_TICKS + 2000), IMAGE_CREATED_MONO + 1000);
    assert_int_equal(lp__ticks_to_mono_ns(&line, IMAGE_CREATED_TICKS - 2000), IMAGE_CREATED_MONO - 1000);
    assert_true(fabs(lp__ticks_to_ns(&line, 10) - 5) < 1e-6);
}

static void a_step_is_said_and_does_not_move_the_rate(void **state)
{
    struct fixture *f = *state;
    image_segment_header(&f->image, f->image.current[LP_SEGMENT_CLOCK])->used = 0;
    for (uint64_t i = 1; i <= 8; i++) /* suspended for a second between the fifth and the sixth */
        pair(f, i * 2000000000, i > 5 ? 1000000000 : 0);
    struct lp_clock_line line = line_of(f, 0);
    assert_true(line.stepped);
    assert_true(fabs(line.ns_per_tick - IMAGE_NS_PER_TICK) < 1e-3);
}

static void a_torn_record_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct lp_clock_record torn = {IMAGE_CREATED_TICKS + 5000000, 77, 78, 79};
    (void)image_append(&f->image, LP_SEGMENT_CLOCK, &torn, sizeof torn);
    assert_false(line_of(f, 0).stepped);
}

static void without_a_second_pair_the_fallback_counts(void **state)
{
    struct fixture *f = *state;
    struct lp_file_header *header = image_header(&f->image);
    image_segment_header(&f->image, f->image.current[LP_SEGMENT_CLOCK])->used = 0;
    struct lp_clock_line line = line_of(f, 0.25); /* header and heartbeat are two pairs */
    assert_false(line.guessed);
    header->heartbeat_ticks = 0;
    line = line_of(f, 0.25);
    assert_true(line.guessed);
    assert_true(fabs(line.ns_per_tick - 0.25) < 1e-12);
    line = line_of(f, 0);
    assert_true(line.guessed);
    assert_true(fabs(line.ns_per_tick - 1) < 1e-12);
    header->wall_clock = LP_WALL_MONOTONIC;
    line = line_of(f, 0.25);
    assert_false(line.guessed);
    assert_true(fabs(line.ns_per_tick - 1) < 1e-12);
}

static void impossible_rates_are_not_believed(void **state)
{
    struct fixture *f = *state;
    image_segment_header(&f->image, f->image.current[LP_SEGMENT_CLOCK])->used = 0;
    image_clock(&f->image, IMAGE_CREATED_TICKS + 1, UINT64_MAX, UINT64_MAX);
    struct lp_clock_line line = line_of(f, 0.5);
    assert_true(line.guessed);
    assert_true(fabs(line.ns_per_tick - 0.5) < 1e-12);
    assert_int_equal(lp__ticks_to_mono_ns(&(struct lp_clock_line){.ns_per_tick = 1e9}, INT64_MAX), INT64_MAX);
    assert_int_equal(lp__ticks_to_mono_ns(&(struct lp_clock_line){.ns_per_tick = 1e9}, (uint64_t)1 << 63), INT64_MIN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_whole_file_is_read),
        TEST(the_last_fact_of_a_key_wins),
        TEST(names_hold_any_bytes_and_are_checked),
        TEST(references_must_hit_a_whole_record_of_the_type),
        TEST(an_empty_or_zero_file_has_recorded_nothing),
        TEST(other_files_are_refused),
        TEST(a_cut_keeps_all_records_before_it),
        TEST(a_flipped_byte_costs_at_most_its_segment),
        TEST(a_damaged_header_is_stepped_over_and_counted),
        TEST(a_copied_header_is_no_header_elsewhere),
        TEST(unknown_types_are_skipped_and_newer_ones_said),
        TEST(a_damaged_file_header_leaves_the_segments),
        TEST(a_used_word_beyond_its_segment_is_cut),
        TEST(pairs_give_the_rate),
        TEST(a_step_is_said_and_does_not_move_the_rate),
        TEST(a_torn_record_is_left_out),
        TEST(without_a_second_pair_the_fallback_counts),
        TEST(impossible_rates_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
