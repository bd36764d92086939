/* One worker file as bytes in memory, every byte hostile.
 *
 * lp__image_index walks the segments of a buffer once and never trusts a number in it: offsets, sizes and counts are
 * checked before use, a damaged segment header is stepped over, a truncated tail keeps the complete records before
 * the cut.  The accessors below give checked pointers into the buffer or NULL.  No allocation besides the index; no
 * system call; safe on a buffer that another process is writing.  Pointers returned are aligned copies' addresses:
 * the buffer itself must be aligned to 8 bytes.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_STORE_READER_H
#define LP_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "store/layout.h"

struct lp_image_segment {
    uint64_t offset;        /* of the header */
    uint64_t payload;       /* offset of the first record */
    uint64_t payload_bytes; /* min(used, capacity, what the buffer holds), whole records only */
    uint16_t type;
    uint16_t version;
    uint32_t thread;
    uint32_t record_bytes;
};

struct lp_image {
    const uint8_t *bytes;
    uint64_t len;
    struct lp_file_header header;      /* copied; zeros where the file ends before */
    bool header_damaged;               /* magic or checksum wrong, but segments were found */
    bool truncated;                    /* a segment or the file ends before it should */
    uint32_t damaged_segments;         /* headers stepped over */
    uint32_t newer_segments;           /* known types of a newer version, skipped */
    struct lp_image_segment *segments; /* sorted by offset */
    size_t segment_count;
};

/* LP_OK (perhaps with the flags above), LP_ERR_FORMAT (nothing of ours in it; an all-zero or empty file is LP_OK with
 * state NOTHING), LP_ERR_TRUNCATED (it ends inside the header), LP_ERR_VERSION (a newer file version),
 * LP_ERR_NO_MEMORY.  The index is one allocation.  With a damaged header its checked fields are zeros: unknown. */
LP_WARN_UNUSED int lp__image_index(struct lp_image *image, const void *bytes, uint64_t len, struct lp_arena *arena,
                                   struct lp_error *err);

/* The segment that holds `bytes` payload bytes at `offset`, of this type (0: any); NULL if there is none. */
const struct lp_image_segment *lp__image_segment_at(const struct lp_image *image, uint64_t offset, uint64_t bytes,
                                                    uint16_t type);
/* A checked record behind a reference: inside the used payload of a segment of `type`, whole, aligned; or NULL. */
const void *lp__image_record(const struct lp_image *image, lp_ref ref, uint16_t type, uint64_t record_bytes);
/* The text of a name, in place and so not NUL-terminated; false when the reference or its check is wrong.  Costs a
 * hash of the text. */
bool lp__image_name(const struct lp_image *image, lp_ref ref, struct lp_text *out);
/* The last value of a fact, in place; false when absent.  `key` is NUL-terminated. */
bool lp__image_fact(const struct lp_image *image, const char *key, struct lp_text *out);
/* All facts in the order they were written: start with a zero cursor, false at the end.  A damaged fact ends its
 * segment. */
struct lp_image_fact_cursor {
    size_t segment;
    uint64_t at;
};
bool lp__image_fact_next(const struct lp_image *image, struct lp_image_fact_cursor *cursor, struct lp_text *key,
                         struct lp_text *value);

/* The line from ticks to monotonic nanoseconds, fitted to the file's clock pairs (header, heartbeat, records). */
struct lp_clock_line {
    double ns_per_tick; /* 1.0 for a monotonic clock */
    uint64_t base_ticks;
    uint64_t base_mono_ns;
    uint64_t base_real_ns;
    double worst_residual_ns;
    uint64_t span_ticks; /* between the first and the last pair: how far the slope can be trusted */
    bool stepped;        /* pairs leave the line by more than 1 us + 500 ppm: suspend, migration */
    bool guessed;        /* fewer than two usable pairs: `fallback_ns_per_tick` was used, or 1 if that is 0 */
};
void lp__image_clock_line(const struct lp_image *image, double fallback_ns_per_tick, struct lp_clock_line *out);
int64_t lp__ticks_to_mono_ns(const struct lp_clock_line *line, uint64_t ticks);
double lp__ticks_to_ns(const struct lp_clock_line *line, double ticks); /* a duration */

#endif
