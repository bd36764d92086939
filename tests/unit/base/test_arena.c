/* The arena: zeroed, aligned, disjoint pieces of any size, a ceiling, and no leak when memory runs out. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

enum { PIECES = 2000 };

static void test_pieces_are_zeroed_aligned_and_disjoint(void **state)
{
    (void)state;
    static const unsigned char zeros[8192];
    unsigned char *pieces[PIECES];
    struct lp_arena arena;
    lp__arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = i * 37 % sizeof zeros;
        pieces[i] = lp__arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        assert_memory_equal(pieces[i], zeros, size);
        memset(pieces[i], (int)(i % 251 + 1), size);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t at = 0; at < i * 37 % sizeof zeros; at += 61)
            assert_int_equal(pieces[i][at], i % 251 + 1);
    lp__arena_release(&arena);
    assert_int_equal(arena.bytes, 0);
}

static void test_large_piece_does_not_waste_the_current_chunk(void **state)
{
    (void)state;
    struct lp_arena arena;
    lp__arena_init(&arena, SIZE_MAX);
    char *before = lp__arena_alloc(&arena, 16);
    assert_non_null(lp__arena_alloc(&arena, 5000000));
    size_t bytes = arena.bytes;
    char *after = lp__arena_alloc(&arena, 16);
    assert_ptr_equal(after, before + 16);
    assert_int_equal(arena.bytes, bytes);
    lp__arena_release(&arena);
}

static void test_ceiling_holds_and_small_rest_is_usable(void **state)
{
    (void)state;
    struct lp_arena arena;
    lp__arena_init(&arena, 10000);
    size_t count = 0;
    while (lp__arena_alloc(&arena, 100))
        count++;
    assert_true(arena.bytes <= 10000);
    assert_true(count >= 80);
    assert_null(lp__arena_alloc(&arena, SIZE_MAX));
    assert_null(lp__arena_alloc(&arena, SIZE_MAX - 20));
    lp__arena_release(&arena);
}

static void test_copy_ends_with_nul(void **state)
{
    (void)state;
    struct lp_arena arena;
    lp__arena_init(&arena, SIZE_MAX);
    assert_memory_equal(lp__arena_copy(&arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(lp__arena_copy(&arena, NULL, 0), "");
    assert_null(lp__arena_copy(&arena, "", SIZE_MAX));
    lp__arena_release(&arena);
}

static void test_no_memory_is_null(void **state)
{
    (void)state;
    struct lp_arena arena;
    lp__arena_init(&arena, SIZE_MAX);
    lp__mem_fail_after(1);
    assert_non_null(lp__arena_alloc(&arena, 4000));
    assert_null(lp__arena_alloc(&arena, 4000));
    lp__mem_fail_after(-1);
    assert_non_null(lp__arena_alloc(&arena, 4000));
    lp__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_zeroed_aligned_and_disjoint),
        cmocka_unit_test(test_large_piece_does_not_waste_the_current_chunk),
        cmocka_unit_test(test_ceiling_holds_and_small_rest_is_usable),
        cmocka_unit_test(test_copy_ends_with_nul),
        cmocka_unit_test(test_no_memory_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
