/* Edit distance against a naive twin, and the choice among candidates. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/nearest.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The definition, by recursion from the ends. */
static size_t naive(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (!a_len || !b_len) return a_len + b_len;
    size_t distance = naive(a, a_len - 1, b, b_len - 1) + (a[a_len - 1] != b[b_len - 1]);
    distance = least(distance, naive(a, a_len - 1, b, b_len) + 1);
    distance = least(distance, naive(a, a_len, b, b_len - 1) + 1);
    if (a_len > 1 && b_len > 1 && a[a_len - 1] == b[b_len - 2] && a[a_len - 2] == b[b_len - 1])
        distance = least(distance, naive(a, a_len - 2, b, b_len - 2) + 1);
    return distance;
}

static void test_known_distances(void **state)
{
    (void)state;
    assert_int_equal(lp__edit_distance("report", "report"), 0);
    assert_int_equal(lp__edit_distance("reprot", "report"), 1); /* a swap is one slip */
    assert_int_equal(lp__edit_distance("repor", "report"), 1);
    assert_int_equal(lp__edit_distance("", "top"), 3);
    assert_int_equal(lp__edit_distance("top", ""), 3);
    assert_int_equal(lp__edit_distance("info", "doctor"), 5);
}

static void test_against_a_naive_twin(void **state)
{
    uint64_t random = 42;
    (void)state;
    for (int round = 0; round < 500; round++) {
        char words[2][8] = {"", ""};
        size_t lens[2];
        for (int w = 0; w < 2; w++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            lens[w] = (size_t)(random >> 61);
            for (size_t i = 0; i < lens[w] && i < 6; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                words[w][i] = (char)('a' + (random >> 62));
            }
            lens[w] = strlen(words[w]);
        }
        assert_int_equal(lp__edit_distance(words[0], words[1]), naive(words[0], lens[0], words[1], lens[1]));
    }
}

static void test_long_words_are_never_near(void **state)
{
    char word[LP_NEAREST_MAX + 2];
    (void)state;
    memset(word, 'x', sizeof word);
    word[LP_NEAREST_MAX] = '\0';
    assert_int_equal(lp__edit_distance(word, word), 0);
    word[LP_NEAREST_MAX] = 'x';
    word[LP_NEAREST_MAX + 1] = '\0';
    assert_true(lp__edit_distance(word, word) == SIZE_MAX);
    assert_true(lp__edit_distance("a", word) == SIZE_MAX);
}

static const char *nearest(const char *word)
{
    static const char *const commands[] = {"report", "top", "info", "doctor", "clean", "completion", "compare", "help"};
    struct lp_nearest search = {0};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        lp__nearest_offer(&search, word, commands[i]);
    return search.best;
}

static void test_choice(void **state)
{
    (void)state;
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("raport"), "report");
    assert_string_equal(nearest("tpo"), "top");
    assert_string_equal(nearest("docter"), "doctor");
    assert_string_equal(nearest("compl"), "completion"); /* a beginning */
    assert_string_equal(nearest("clear"), "clean");
    assert_null(nearest("profile"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_distances),
        cmocka_unit_test(test_against_a_naive_twin),
        cmocka_unit_test(test_long_words_are_never_near),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
