/* What the compressor writes is read back by an inflater that was written here from the RFC alone, in the slowest way
 * that works; tests/web reads the same streams with Python's zlib and with a browser. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/deflate.h"
#include "base/huffman.h"

/* -- the inflater ------------------------------------------------------------------------------------------------ */

struct stream {
    const uint8_t *bytes;
    size_t bits, at; /* in bits */
};

static unsigned take(struct stream *s, unsigned count)
{
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++, s->at++) {
        assert_true(s->at < s->bits);
        value |= (unsigned)(s->bytes[s->at / 8] >> s->at % 8 & 1) << i;
    }
    return value;
}

/* Canonical codes, highest bit first: walk the lengths as the RFC counts them. */
static unsigned symbol(struct stream *s, const uint8_t *lengths, unsigned count)
{
    unsigned code = 0, first = 0;
    for (unsigned bits = 1; bits <= 15; bits++) {
        code = code << 1 | take(s, 1);
        unsigned n = 0;
        for (unsigned i = 0; i < count; i++)
            if (lengths[i] == bits && code == first + n++) return i;
        first = (first + n) << 1;
    }
    fail_msg("no such code");
    return 0;
}

static unsigned spread(struct stream *s, unsigned code, unsigned start, unsigned step)
{
    unsigned value = start;
    for (unsigned i = 0; i < code; i++)
        value += 1u << (i < step * 2 ? 0 : i / step - 1);
    unsigned extra = code < step * 2 ? 0 : code / step - 1;
    return value + take(s, extra);
}

static void tables(struct stream *s, uint8_t *lengths, unsigned *literals, unsigned *distances)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t runs[19] = {0};
    *literals = take(s, 5) + 257;
    *distances = take(s, 5) + 1;
    unsigned sent = take(s, 4) + 4;
    for (unsigned i = 0; i < sent; i++)
        runs[order[i]] = (uint8_t)take(s, 3);
    for (unsigned n = 0; n < *literals + *distances;) {
        unsigned run = symbol(s, runs, 19), repeat = 1;
        uint8_t value = run < 16 ? (uint8_t)run : 0;
        if (run == 16) {
            assert_true(n > 0);
            value = lengths[n - 1];
            repeat = 3 + take(s, 2);
        } else if (run > 16)
            repeat = run == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        for (; repeat; repeat--) {
            assert_true(n < *literals + *distances);
            lengths[n++] = value;
        }
    }
}

static size_t coded_block(struct stream *s, uint8_t *out, size_t at, size_t cap)
{
    uint8_t lengths[320] = {0};
    unsigned literals, distances;
    tables(s, lengths, &literals, &distances);
    for (;;) {
        unsigned c = symbol(s, lengths, literals);
        if (c == 256) return at;
        if (c < 256) {
            assert_true(at < cap);
            out[at++] = (uint8_t)c;
            continue;
        }
        unsigned length = c == 285 ? 258 : spread(s, c - 257, 3, 4);
        unsigned distance = spread(s, symbol(s, lengths + literals, distances), 1, 2);
        assert_true(distance <= at && at + length <= cap);
        for (; length; length--, at++)
            out[at] = out[at - distance];
    }
}

static size_t inflate(const struct lp_buf *packed, uint8_t *out, size_t cap)
{
    struct stream s = {(const uint8_t *)packed->data, packed->len * 8, 0};
    size_t at = 0;
    assert_int_equal(take(&s, 16) & 0x20FF, 0x0078);
    for (bool last = false; !last;) {
        last = take(&s, 1);
        unsigned kind = take(&s, 2);
        if (kind == 2) {
            at = coded_block(&s, out, at, cap);
            continue;
        }
        assert_int_equal(kind, 0);
        s.at = (s.at + 7) / 8 * 8;
        unsigned length = take(&s, 16);
        assert_int_equal(take(&s, 16), length ^ 0xFFFF);
        for (; length; length--) {
            assert_true(at < cap);
            out[at++] = (uint8_t)take(&s, 8);
        }
    }
    s.at = (s.at + 7) / 8 * 8;
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum = sum << 8 | take(&s, 8);
    assert_int_equal(s.at, s.bits);
    assert_int_equal(sum, lp__adler32(out, at));
    return at;
}

/* -- tests ------------------------------------------------------------------------------------------------------- */

static size_t round_trip(const uint8_t *bytes, size_t len)
{
    struct lp_buf packed;
    uint8_t *back = malloc(len + 1);
    assert_non_null(back);
    lp__buf_init(&packed, len * 2 + 1000);
    assert_int_equal(lp__deflate_zlib(bytes, len, &packed), LP_OK);
    assert_int_equal(inflate(&packed, back, len + 1), len);
    if (len) assert_memory_equal(back, bytes, len);
    size_t size = packed.len;
    free(back);
    lp__buf_release(&packed);
    return size;
}

static uint32_t seed = 12345;

static unsigned dice(unsigned sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

static void short_and_uniform(void **state)
{
    (void)state;
    static uint8_t same[200000];
    round_trip(same, 0);
    for (size_t len = 1; len < 12; len++)
        round_trip((const uint8_t *)"abcabcabcabc", len);
    assert_true(round_trip(same, sizeof same) < 300);
}

static void noise_is_stored(void **state)
{
    (void)state;
    static uint8_t noise[150000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)dice(256);
    assert_true(round_trip(noise, sizeof noise) < sizeof noise + 64);
}

/* Matches at every distance and length, alphabets of every size. */
static void random_texts(void **state)
{
    (void)state;
    static uint8_t text[70000];
    for (int round = 0; round < 30; round++) {
        size_t len = dice(sizeof text), at = 0;
        unsigned letters = 1 + dice(200);
        while (at < len) {
            if (at > 10 && dice(3) == 0) {
                size_t from = at - 1 - dice((unsigned)at), n = 3 + dice(400);
                for (; n && at < len; n--)
                    text[at++] = text[from++];
            } else
                text[at++] = (uint8_t)dice(letters);
        }
        round_trip(text, len);
    }
}

/* Counts that grow like Fibonacci's numbers want codes longer than the limit. */
static void lengths_keep_the_limit(void **state)
{
    (void)state;
    uint32_t counts[30] = {1, 1};
    uint8_t lengths[30];
    for (unsigned limit = 5; limit <= LP_HUFFMAN_BITS; limit++)
        for (size_t n = 2; n <= 30; n++) {
            for (size_t i = 2; i < n; i++)
                counts[i] = counts[i - 1] + counts[i - 2];
            lp__huffman_lengths(counts, n, limit, lengths);
            uint32_t room = 0;
            for (size_t i = 0; i < n; i++) {
                assert_in_range(lengths[i], 1, limit);
                room += 1u << (limit - lengths[i]);
            }
            assert_int_equal(room, 1u << limit);
        }
}

static void ceilings_and_memory(void **state)
{
    (void)state;
    struct lp_buf out;
    lp__buf_init(&out, 8);
    assert_int_equal(lp__deflate_zlib("abcdefghijklmnop", 16, &out), LP_ERR_LIMIT);
    lp__buf_release(&out);
    lp__buf_init(&out, 1000);
    lp__mem_fail_after(0);
    assert_int_equal(lp__deflate_zlib("abc", 3, &out), LP_ERR_NO_MEMORY);
    lp__mem_fail_after(-1);
    lp__buf_release(&out);
}

static void base64_of_every_length(void **state)
{
    (void)state;
    static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t len = 0; len <= 6; len++) {
        struct lp_buf out;
        lp__buf_init(&out, 100);
        lp__base64_add(&out, "foobar", len);
        assert_string_equal(out.data ? out.data : "", want[len]);
        lp__buf_release(&out);
    }
    struct lp_buf out;
    lp__buf_init(&out, 100);
    lp__base64_add(&out, "\xFB\xFF\xFE", 3);
    assert_string_equal(out.data, "+//+");
    lp__buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_and_uniform),   cmocka_unit_test(noise_is_stored),
        cmocka_unit_test(random_texts),        cmocka_unit_test(lengths_keep_the_limit),
        cmocka_unit_test(ceilings_and_memory), cmocka_unit_test(base64_of_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
