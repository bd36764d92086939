/* The maps against a plain array: random puts, gets and removals with few keys, so that chains form and break. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"

enum { KEYS = 200, STEPS = 60000 };

static uint64_t seed = 1;

static uint64_t random_number(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static void compare(const struct lp_map *map, const bool *there, const uint64_t *values)
{
    size_t count = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t value = 12345;
        assert_int_equal(lp__map_get(map, key << 56, &value), there[key]);
        if (there[key]) assert_int_equal(value, values[key]);
        count += there[key];
    }
    assert_int_equal(map->count, count);
}

static void test_map_behaves_like_an_array(void **state)
{
    (void)state;
    struct lp_map map;
    bool there[KEYS] = {false};
    uint64_t values[KEYS];
    lp__map_init(&map);
    for (int step = 0; step < STEPS; step++) {
        uint64_t key = random_number() % KEYS;
        if (random_number() % 2) {
            values[key] = random_number();
            there[key] = true;
            assert_int_equal(lp__map_put(&map, key << 56, values[key]), LP_OK);
        } else {
            assert_int_equal(lp__map_remove(&map, key << 56), there[key]);
            there[key] = false;
        }
        if (step % 500 == 0) compare(&map, there, values);
    }
    compare(&map, there, values);
    assert_true(map.count <= map.capacity / 4 * 3);
    lp__map_release(&map);
}

static void test_empty_map_answers(void **state)
{
    (void)state;
    struct lp_map map;
    lp__map_init(&map);
    assert_false(lp__map_get(&map, 0, NULL));
    assert_false(lp__map_remove(&map, 0));
    assert_int_equal(lp__map_put(&map, 0, 7), LP_OK);
    assert_true(lp__map_get(&map, 0, NULL));
    lp__map_release(&map);
}

static void test_put_without_memory_changes_nothing(void **state)
{
    (void)state;
    struct lp_map map;
    uint64_t value;
    lp__map_init(&map);
    lp__mem_fail_after(0);
    assert_int_equal(lp__map_put(&map, 1, 1), LP_ERR_NO_MEMORY);
    lp__mem_fail_after(1);
    uint64_t put = 0;
    while (lp__map_put(&map, put, put) == LP_OK)
        put++;
    lp__mem_fail_after(-1);
    assert_int_equal(map.count, put);
    for (uint64_t key = 0; key < put; key++)
        assert_true(lp__map_get(&map, key, &value) && value == key);
    assert_int_equal(lp__map_put(&map, put, put), LP_OK);
    lp__map_release(&map);
}

static void test_texts_keep_their_numbers(void **state)
{
    (void)state;
    struct lp_arena arena;
    struct lp_intern intern;
    char text[32];
    uint32_t id;
    lp__arena_init(&arena, SIZE_MAX);
    lp__intern_init(&intern, &arena);
    assert_false(lp__intern_find(&intern, "", 0, &id));
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            int len = snprintf(text, sizeof text, "name %u", i);
            assert_int_equal(lp__intern_add(&intern, text, (size_t)len, &id), LP_OK);
            assert_int_equal(id, i);
        }
    assert_int_equal(intern.count, 5000);
    assert_string_equal(intern.texts[4321].bytes, "name 4321");
    assert_true(lp__intern_find(&intern, "name 17", 7, &id) && id == 17);
    assert_false(lp__intern_find(&intern, "name 17", 6, &id) && id == 17);
    lp__intern_release(&intern);
    lp__arena_release(&arena);
}

static void test_any_bytes_are_a_text(void **state)
{
    (void)state;
    static const struct lp_text texts[] = {{"", 0},     {"\0", 1},   {"\0\0", 2},
                                           {"a\0b", 3}, {"a\0c", 3}, {"\xff\xed\xa0\x80", 4}};
    struct lp_arena arena;
    struct lp_intern intern;
    uint32_t id;
    lp__arena_init(&arena, SIZE_MAX);
    lp__intern_init(&intern, &arena);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(lp__intern_add(&intern, texts[i].bytes, texts[i].len, &id), LP_OK);
        assert_int_equal(id, i);
        assert_int_equal(intern.texts[i].len, texts[i].len);
        assert_memory_equal(intern.texts[i].bytes, texts[i].bytes, texts[i].len + 1);
    }
    lp__intern_release(&intern);
    lp__arena_release(&arena);
}

/* Each allocation fails once; the table stays usable and no number is given twice. */
static void test_intern_survives_every_failure(void **state)
{
    (void)state;
    for (long successes = 0; successes < 30; successes++) {
        struct lp_arena arena;
        struct lp_intern intern;
        uint32_t id, before = 0;
        lp__arena_init(&arena, SIZE_MAX);
        lp__intern_init(&intern, &arena);
        lp__mem_fail_after(successes);
        for (uint32_t i = 0; i < 300; i++)
            if (lp__intern_add(&intern, (const char *)&i, sizeof i, &id) == LP_OK) before++;
        lp__mem_fail_after(-1);
        assert_int_equal(intern.count, before);
        for (uint32_t i = 0; i < 300; i++)
            assert_int_equal(lp__intern_add(&intern, (const char *)&i, sizeof i, &id), LP_OK);
        assert_int_equal(intern.count, 300);
        lp__intern_release(&intern);
        lp__arena_release(&arena);
    }
}

/* The store keeps these numbers: they may never change. */
static void test_hash_is_stable(void **state)
{
    (void)state;
    assert_true(lp__hash_u64(0) == 0);
    assert_true(lp__hash_u64(1) == UINT64_C(0x5692161D100B05E5));
    assert_true(lp__hash_bytes("", 0) == lp__hash_u64(UINT64_C(0x9E3779B97F4A7C15)));
    assert_true(lp__hash_bytes("phase", 5) == UINT64_C(0x9AC363874C0BCFF1));
    assert_true(lp__hash_bytes("0123456789abcdef", 16) == UINT64_C(0xD0D81E3BF26634E2));
}

static void test_hash_tells_lengths_apart(void **state)
{
    (void)state;
    static const char zeros[64];
    for (size_t a = 0; a < sizeof zeros; a++)
        for (size_t b = 0; b < a; b++)
            assert_true(lp__hash_bytes(zeros, a) != lp__hash_bytes(zeros, b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_behaves_like_an_array),
        cmocka_unit_test(test_empty_map_answers),
        cmocka_unit_test(test_put_without_memory_changes_nothing),
        cmocka_unit_test(test_texts_keep_their_numbers),
        cmocka_unit_test(test_any_bytes_are_a_text),
        cmocka_unit_test(test_intern_survives_every_failure),
        cmocka_unit_test(test_hash_is_stable),
        cmocka_unit_test(test_hash_tells_lengths_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
