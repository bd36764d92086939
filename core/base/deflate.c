/* The compressor: 1. find matches, into tokens; 2. when a block is full, work out its codes; 3. write whichever of
 * dynamic codes and a stored block is shorter.  Fixed codes are left out: blocks are large, so they never win by more
 * than a few bytes.  Bits go out lowest first, through a 64-bit accumulator. */
// SPDX-License-Identifier: MIT
#include "base/deflate.h"

#include <stdbool.h>
#include <string.h>

#include "base/huffman.h"

enum {
    WINDOW = 1 << 15,
    HASH_BITS = 15,
    CHAIN = 48, /* candidates looked at per position */
    GOOD = 32,  /* a match this long is taken without looking further */
    SHORTEST = 3,
    LONGEST = 258,
    TOKENS = 1 << 15, /* of one block */
    END = 256,
    LITERALS = 286,
    DISTANCES = 30,
    LENGTH_CODES = 19
};

struct token {
    uint16_t length;   /* 0: a literal */
    uint16_t distance; /* or the literal */
};

static const struct token no_match;

struct deflater {
    const uint8_t *bytes;
    size_t len;
    struct lp_buf *out;
    uint64_t bits;
    unsigned bit_count;
    size_t block_start, token_count;
    struct token tokens[TOKENS];
    uint32_t head[1 << HASH_BITS]; /* position + 1 of the newest with this hash; 0: none */
    uint32_t previous[WINDOW];
    uint32_t literal_counts[LITERALS], distance_counts[DISTANCES];
};

static const uint16_t length_bases[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                          31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_bases[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                            33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                            1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

static unsigned length_code(unsigned length)
{
    unsigned code = 28;
    while (length_bases[code] > length)
        code--;
    return code;
}

static unsigned distance_code(unsigned distance)
{
    unsigned code = 29;
    while (distance_bases[code] > distance)
        code--;
    return code;
}

static unsigned distance_extra(unsigned code)
{
    return code < 4 ? 0 : code / 2 - 1;
}

/* -- bits -------------------------------------------------------------------------------------------------------- */

static void put_bits(struct deflater *d, unsigned value, unsigned count)
{
    d->bits |= (uint64_t)value << d->bit_count;
    d->bit_count += count;
    while (d->bit_count >= 8) {
        lp__buf_addc(d->out, (char)(d->bits & 0xFF));
        d->bits >>= 8;
        d->bit_count -= 8;
    }
}

static void to_byte(struct deflater *d)
{
    if (d->bit_count) put_bits(d, 0, 8 - d->bit_count);
}

/* -- a block ----------------------------------------------------------------------------------------------------- */

struct block_codes {
    uint8_t lengths[LITERALS + DISTANCES]; /* both tables in a row, as they are sent */
    uint16_t literal_codes[LITERALS], distance_codes[DISTANCES];
    uint8_t distance_lengths[DISTANCES];
    size_t literals, distances; /* sent of each */
    uint8_t runs[LITERALS + DISTANCES], run_extra[LITERALS + DISTANCES];
    size_t run_count;
    uint8_t run_lengths[LENGTH_CODES];
    uint16_t run_codes[LENGTH_CODES];
    unsigned run_lengths_sent;
};

static const uint8_t run_order[LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

static unsigned run_extra_bits(unsigned symbol)
{
    return symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0;
}

static void add_run(struct block_codes *c, unsigned symbol, size_t extra)
{
    c->runs[c->run_count] = (uint8_t)symbol;
    c->run_extra[c->run_count++] = (uint8_t)extra;
}

/* A stretch of `n` equal lengths, in the alphabet that the two tables are sent in. */
static void add_stretch(struct block_codes *c, unsigned length, size_t n)
{
    if (length) {
        add_run(c, length, 0);
        n--;
    }
    while (n >= 3) {
        size_t most = length ? 6 : n <= 10 ? 10 : 138, take = n < most ? n : most;
        add_run(c, length ? 16 : most == 10 ? 17 : 18, take - (most == 138 ? 11 : 3));
        n -= take;
    }
    for (; n; n--)
        add_run(c, length, 0);
}

static void find_runs(struct block_codes *c)
{
    uint32_t counts[LENGTH_CODES] = {0};
    size_t all = c->literals + c->distances;
    for (size_t at = 0, end; at < all; at = end) {
        for (end = at + 1; end < all && c->lengths[end] == c->lengths[at]; end++)
            ;
        add_stretch(c, c->lengths[at], end - at);
    }
    for (size_t i = 0; i < c->run_count; i++)
        counts[c->runs[i]]++;
    lp__huffman_lengths(counts, LENGTH_CODES, 7, c->run_lengths);
    lp__huffman_codes(c->run_lengths, LENGTH_CODES, c->run_codes);
    c->run_lengths_sent = LENGTH_CODES;
    while (c->run_lengths_sent > 4 && !c->run_lengths[run_order[c->run_lengths_sent - 1]])
        c->run_lengths_sent--;
}

static void find_codes(struct deflater *d, struct block_codes *c)
{
    *c = (struct block_codes){.literals = LITERALS, .distances = DISTANCES};
    d->literal_counts[END] = 1;
    lp__huffman_lengths(d->literal_counts, LITERALS, LP_HUFFMAN_BITS, c->lengths);
    lp__huffman_lengths(d->distance_counts, DISTANCES, LP_HUFFMAN_BITS, c->distance_lengths);
    lp__huffman_codes(c->lengths, LITERALS, c->literal_codes);
    lp__huffman_codes(c->distance_lengths, DISTANCES, c->distance_codes);
    while (c->literals > 257 && !c->lengths[c->literals - 1])
        c->literals--;
    while (c->distances > 1 && !c->distance_lengths[c->distances - 1])
        c->distances--;
    memcpy(c->lengths + c->literals, c->distance_lengths, c->distances);
    find_runs(c);
}

static size_t bits_of(const struct deflater *d, const struct block_codes *c)
{
    size_t bits = 3 + 14 + 3 * (size_t)c->run_lengths_sent;
    for (size_t i = 0; i < c->run_count; i++)
        bits += c->run_lengths[c->runs[i]] + run_extra_bits(c->runs[i]);
    for (size_t i = 0; i < c->literals; i++)
        bits += (size_t)d->literal_counts[i] * (c->lengths[i] + (i > END ? length_extra[i - END - 1] : 0u));
    for (unsigned i = 0; i < DISTANCES; i++)
        bits += (size_t)d->distance_counts[i] * (c->distance_lengths[i] + distance_extra(i));
    return bits;
}

static void write_tables(struct deflater *d, const struct block_codes *c)
{
    put_bits(d, (unsigned)c->literals - 257, 5);
    put_bits(d, (unsigned)c->distances - 1, 5);
    put_bits(d, c->run_lengths_sent - 4, 4);
    for (unsigned i = 0; i < c->run_lengths_sent; i++)
        put_bits(d, c->run_lengths[run_order[i]], 3);
    for (size_t i = 0; i < c->run_count; i++) {
        put_bits(d, c->run_codes[c->runs[i]], c->run_lengths[c->runs[i]]);
        put_bits(d, c->run_extra[i], run_extra_bits(c->runs[i]));
    }
}

static void write_token(struct deflater *d, const struct block_codes *c, struct token token)
{
    if (!token.length) {
        put_bits(d, c->literal_codes[token.distance], c->lengths[token.distance]);
        return;
    }
    unsigned length = length_code(token.length), distance = distance_code(token.distance);
    put_bits(d, c->literal_codes[END + 1 + length], c->lengths[END + 1 + length]);
    put_bits(d, token.length - length_bases[length], length_extra[length]);
    put_bits(d, c->distance_codes[distance], c->distance_lengths[distance]);
    put_bits(d, (unsigned)token.distance - distance_bases[distance], distance_extra(distance));
}

static void write_stored(struct deflater *d, size_t end, bool last)
{
    size_t at = d->block_start;
    do {
        size_t piece = end - at < 0xFFFF ? end - at : 0xFFFF;
        put_bits(d, last && at + piece == end, 1);
        put_bits(d, 0, 2);
        to_byte(d);
        put_bits(d, (unsigned)piece, 16);
        put_bits(d, (unsigned)piece ^ 0xFFFFu, 16);
        lp__buf_add(d->out, d->bytes + at, piece);
        at += piece;
    } while (at < end);
}

static void write_block(struct deflater *d, size_t end, bool last)
{
    struct block_codes codes;
    find_codes(d, &codes);
    if ((end - d->block_start) * 8 + 40 < bits_of(d, &codes)) {
        write_stored(d, end, last);
    } else {
        put_bits(d, last, 1);
        put_bits(d, 2, 2);
        write_tables(d, &codes);
        for (size_t i = 0; i < d->token_count; i++)
            write_token(d, &codes, d->tokens[i]);
        put_bits(d, codes.literal_codes[END], codes.lengths[END]);
    }
    d->block_start = end;
    d->token_count = 0;
    memset(d->literal_counts, 0, sizeof d->literal_counts);
    memset(d->distance_counts, 0, sizeof d->distance_counts);
}

/* -- matches ----------------------------------------------------------------------------------------------------- */

static uint32_t *bucket(struct deflater *d, size_t at)
{
    const uint8_t *p = d->bytes + at;
    uint32_t three = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
    return &d->head[three * UINT32_C(2654435761) >> (32 - HASH_BITS)];
}

static void remember(struct deflater *d, size_t at)
{
    if (at + SHORTEST > d->len) return;
    uint32_t *head = bucket(d, at);
    d->previous[at & (WINDOW - 1)] = *head;
    *head = (uint32_t)at + 1;
}

static unsigned common(const uint8_t *a, const uint8_t *b, size_t most)
{
    unsigned n = 0;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* The longest match for `at` among the newest positions of its hash that are longer than `beat`. */
static struct token longest(struct deflater *d, size_t at, unsigned beat)
{
    struct token best = no_match;
    if (at + SHORTEST > d->len) return best;
    size_t most = d->len - at < LONGEST ? d->len - at : LONGEST;
    unsigned length = beat < SHORTEST - 1 ? SHORTEST - 1 : beat;
    uint32_t candidate = *bucket(d, at);
    for (int tries = CHAIN; candidate && tries && length < most; tries--) {
        size_t from = candidate - 1;
        if (at - from >= WINDOW) break;
        if (d->bytes[from + length] == d->bytes[at + length]) {
            unsigned n = common(d->bytes + from, d->bytes + at, most);
            if (n > length) {
                length = n;
                best = (struct token){(uint16_t)n, (uint16_t)(at - from)};
                if (n >= GOOD) tries = tries / 4 + 1;
            }
        }
        candidate = d->previous[from & (WINDOW - 1)];
        if (candidate > from) break; /* overwritten since: newer than what it should lead to */
    }
    /* Three bytes from far away take as many bits as they save. */
    return best.length == SHORTEST && best.distance > 4096 ? no_match : best;
}

static void add_token(struct deflater *d, struct token token, size_t end)
{
    d->tokens[d->token_count++] = token;
    if (token.length) {
        d->literal_counts[END + 1 + length_code(token.length)]++;
        d->distance_counts[distance_code(token.distance)]++;
    } else
        d->literal_counts[token.distance]++;
    if (d->token_count == TOKENS) write_block(d, end, false);
}

static void compress(struct deflater *d)
{
    struct token match = no_match;
    for (size_t at = 0; at < d->len;) {
        if (!match.length) match = longest(d, at, 0);
        remember(d, at);
        /* A longer match that starts one byte later is better than this one. */
        struct token next = match.length && match.length < GOOD ? longest(d, at + 1, match.length) : no_match;
        if (!match.length || next.length) {
            add_token(d, (struct token){0, d->bytes[at]}, at + 1);
            at++;
            match = next;
            continue;
        }
        for (unsigned i = 1; i < match.length; i++)
            remember(d, at + i);
        at += match.length;
        add_token(d, match, at);
        match = no_match;
    }
    write_block(d, d->len, true);
}

uint32_t lp__adler32(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    uint32_t low = 1, high = 0;
    while (len) {
        size_t piece = len < 5552 ? len : 5552; /* as long as neither sum can overflow */
        len -= piece;
        for (; piece; piece--) {
            low += *p++;
            high += low;
        }
        low %= 65521;
        high %= 65521;
    }
    return high << 16 | low;
}

int lp__deflate_zlib(const void *bytes, size_t len, struct lp_buf *out)
{
    if (len >= UINT32_MAX) return LP_ERR_LIMIT;
    struct deflater *d = lp__calloc(1, sizeof *d);
    if (!d) return LP_ERR_NO_MEMORY;
    d->bytes = bytes;
    d->len = len;
    d->out = out;
    put_bits(d, 0x9C78, 16);
    compress(d);
    to_byte(d);
    lp__free(d);
    uint32_t sum = lp__adler32(bytes, len);
    const uint8_t tail[4] = {(uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8), (uint8_t)sum};
    lp__buf_add(out, tail, sizeof tail);
    return out->failed;
}

void lp__base64_add(struct lp_buf *out, const void *bytes, size_t len)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = bytes;
    for (; len >= 3; p += 3, len -= 3) {
        const char four[4] = {letters[p[0] >> 2], letters[(p[0] & 3) << 4 | p[1] >> 4],
                              letters[(p[1] & 15) << 2 | p[2] >> 6], letters[p[2] & 63]};
        lp__buf_add(out, four, sizeof four);
    }
    if (!len) return;
    unsigned second = len > 1 ? p[1] : 0u;
    const char four[4] = {letters[p[0] >> 2], letters[(p[0] & 3u) << 4 | second >> 4],
                          len > 1 ? letters[(second & 15) << 2] : '=', '='};
    lp__buf_add(out, four, sizeof four);
}
