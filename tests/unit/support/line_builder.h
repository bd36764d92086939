/* Line tables made in memory, record by record, on top of image_builder.h. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_LINE_BUILDER_H
#define LP_TEST_LINE_BUILDER_H

#include "support/image_builder.h"

/* A source of `text`, which goes into the image where `keep` says so; NULL: there is none. */
lp_ref line_file(struct image *image, const char *path, const char *text, int keep);

/* A code object with one slot for each of `lines` (ended by 0) and so many counted branches, all on its first line. */
lp_ref line_code(struct image *image, lp_ref file, const char *name, uint32_t first_line, const uint32_t *lines,
                 uint32_t branches);
uint64_t line_code_hash(struct image *image, lp_ref code);

lp_ref line_region(struct image *image, lp_ref parent, const char *name);
/* Finished entries of `each_ticks`, one owner. */
lp_ref line_region_time(struct image *image, lp_ref region, uint64_t entries, uint64_t each_ticks);

/* An empty table of the thread whose segment is the present one; slots are filled in place. */
lp_ref line_table(struct image *image, lp_ref code, lp_ref region);
struct lp_line_table_record *line_table_at(struct image *image, lp_ref table); /* valid until the next append */
struct lp_line_slot *line_slot(struct image *image, lp_ref table, uint32_t slot);
uint64_t *line_branch(struct image *image, lp_ref table, uint32_t branch); /* [0] not taken, [1] taken */
/* Events and ticks of one slot. */
void line_add(struct image *image, lp_ref table, uint32_t slot, uint64_t events, uint64_t own);
/* A call line: so many calls of `callee`, which took so long in all. */
lp_ref line_call(struct image *image, lp_ref table, uint32_t slot, lp_ref callee, uint64_t calls, uint64_t ticks);
/* Calls of the function itself and their time. */
void line_calls(struct image *image, lp_ref table, uint64_t calls, uint64_t wall);

/* Sums of a code object of a source: rows and all their terms. */
lp_ref line_sums(struct image *image, lp_ref code, const char *text, uint32_t pass, const struct lp_sums_row *rows,
                 uint32_t row_count, const struct lp_sums_term *terms, uint32_t term_count);

/* A program as tests usually want it, 2 ticks a nanosecond, one thread:
 *
 *   1 def inner(n):          inner: 300 calls, 3 ms in all
 *   2     total = 0
 *   3     for i in range(n):
 *   4         total += i
 *   5     return total
 *   6
 *   7 def outer():           outer: 1 call, 4 ms
 *   8     for k in range(300):
 *   9         inner(k)
 *
 * outer's line 9 in region "hot".  Sums: line 3 is the calls and the events of line 4; the others their own events. */
#define LINE_PROGRAM_PATH "/project/shop.py"
extern const char line_program[];
void line_usual(struct image *image);

#endif
