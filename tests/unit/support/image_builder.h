/* Worker files made in memory, record by record: what the tests of reader and merge, and the fuzzer's seeds, are
 * built from.  Written from layout.h alone, so that it does not share the writer's mistakes.
 *
 * A new image is a finished process on a machine whose counter runs at 2 GHz; tests change the header as they like
 * and call image_seal last.  Running out of memory ends the test program.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_IMAGE_BUILDER_H
#define LP_TEST_IMAGE_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "store/layout.h"

#define IMAGE_NS_PER_TICK   0.5
#define IMAGE_CREATED_TICKS UINT64_C(1000000000000)
#define IMAGE_CREATED_MONO  UINT64_C(500000000000)
#define IMAGE_CREATED_REAL  UINT64_C(1700000000000000000)
#define IMAGE_LIFE_TICKS    UINT64_C(20000000000) /* created -> closed: 10 s */

struct image {
    uint8_t *bytes; /* aligned to 8 */
    size_t len;
    size_t cap;
    uint64_t current[64]; /* offset of the segment of each type that records go to; 0: none yet */
    uint64_t capacity;    /* of the segments to come; 4096 at first */
    uint32_t pid;
};

void image_init(struct image *image);
void image_release(struct image *image);
struct lp_file_header *image_header(struct image *image);
/* Recomputes the header's checksum and the live words that say how large the file is. */
void image_seal(struct image *image);

/* A new segment at the end; records of its type go there from now on.  Returns its offset. */
uint64_t image_segment(struct image *image, uint16_t type, uint32_t thread, uint64_t capacity);
struct lp_segment_header *image_segment_header(struct image *image, uint64_t offset);
void image_segment_reseal(struct image *image, uint64_t offset); /* after a change of its fixed fields */
/* Appends a record, padded to 8 bytes; a full segment is followed by a new one. */
lp_ref image_append(struct image *image, uint16_t type, const void *record, size_t bytes);
void *image_at(struct image *image, lp_ref ref); /* valid until the next append */

lp_ref image_name(struct image *image, const char *text, size_t len);
lp_ref image_names(struct image *image, const char *text);
void image_fact(struct image *image, const char *key, const char *value);
void image_clock(struct image *image, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns);
/* A thread that was there all the time; returns its record. */
lp_ref image_thread(struct image *image, uint32_t index);
lp_ref image_root(struct image *image, uint32_t thread);
/* A node with `calls` finished entries of `each_ticks`; also books them in the histogram and the parent's `inner`. */
lp_ref image_node(struct image *image, lp_ref parent, const char *name, uint64_t calls, uint64_t each_ticks);
/* One more entry, still open since `start`. */
void image_open(struct image *image, lp_ref node, uint64_t start);
void image_hist(struct image *image, lp_ref hist, uint64_t value, uint32_t times);
/* A trend of a node: `marks` marks, each `stride` entries and `each_ticks` per entry after the last one. */
lp_ref image_trend(struct image *image, lp_ref node, uint64_t stride, uint32_t marks, uint32_t each_ticks);
/* A counter of a node: `adds` adds of `amount`, no histogram. */
lp_ref image_counter(struct image *image, lp_ref node, const char *name, uint64_t adds, int64_t amount);

/* One process as a test usually wants it: facts, a thread, main > step > (play, learn), a counter. */
void image_usual(struct image *image, const char *attempt, const char *role, int rank);

#endif
