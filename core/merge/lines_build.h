/* Line tables while they are being joined: what lines*.c share.
 *
 *   for each image: code segments ──► files, regions, functions, sums     (lines_code.c)
 *                   line segments ──► tables, edges, region times          (lines.c)
 *                   facts, drops                                            (lines_facts.c)
 *   at the end:     sums find their functions, sources are read             (lines_source.c)
 *
 * Arrays grow on the heap and move into the run's arena at the end; what they point to is there from the beginning.
 * References of an image are resolved by maps that are filled in walking its records, so one that does not hit the
 * start of a record of the right kind hits nothing.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_LINES_BUILD_H
#define LP_MERGE_LINES_BUILD_H

#include "merge/run.h"
#include "store/reader.h"

#define LP_LINES_NONE UINT32_MAX

/* Larger sources are not read, nor more of all files together. */
#define LP_LINES_SOURCE_MAX     ((uint64_t)32 << 20)
#define LP_LINES_ALL_SOURCE_MAX ((uint64_t)512 << 20)

struct lp_lines_sums {
    uint64_t code_hash, source_hash;
    uint32_t pass, row_count, term_count;
    const struct lp_sums_row *rows;
    const struct lp_sums_term *terms;
};

struct lp_lines_builder {
    struct lp_run *run;
    struct lp_lines lines; /* arrays on the heap */
    size_t file_cap, code_cap, table_cap, edge_cap, region_cap, note_cap, outside_cap;
    uint64_t *source_bytes; /* beside lines.files */
    size_t source_cap;
    uint32_t *region_depth; /* beside lines.regions */
    size_t depth_cap;
    struct lp_lines_sums *sums;
    size_t sums_count, sums_cap;
    /* hash of what makes two equal -> index; a hash that two others share is probed on */
    struct lp_map files, codes, tables, edges, regions, sums_of, outside_of, notes_of;
    /* of one image at a time */
    const struct lp_image *image;
    double ns_per_tick;
    uint64_t end_ticks;
    double most_ticks;                         /* longer times than the process lived are damage */
    struct lp_map names;                       /* reference -> id + 1; 0: no good name */
    struct lp_map file_of, code_of, region_of; /* reference -> index */
    struct lp_map thread_seen;                 /* owner -> nothing */
    uint64_t edges_left;                       /* edges that this image may still have: ends a chain in a circle */
};

/* Is entry `index` what `wanted` describes? */
typedef bool lp_lines_same(const struct lp_lines_builder *builder, uint32_t index, const void *wanted);

/* The index of what equals `wanted`; LP_LINES_NONE and the key to put it under where there is none. */
uint32_t lp__lines_look(const struct lp_lines_builder *builder, const struct lp_map *map, uint64_t hash,
                        const void *wanted, lp_lines_same *same, uint64_t *key);
/* A hash of some numbers. */
uint64_t lp__lines_hash(uint64_t a, uint64_t b, uint64_t c);

/* The id of a name of the image in run->names, LP_LINES_NONE for a bad reference. */
LP_WARN_UNUSED int lp__lines_name(struct lp_lines_builder *builder, lp_ref ref, uint32_t *id);

/* Calls for each record of the image's segments of `type`, which vary in size and start with it, until one returns
 * non-zero.  `bytes` is right: at least `least`, a multiple of 8, inside the segment. */
typedef int lp_lines_visit(struct lp_lines_builder *builder, const struct lp_image_segment *segment, lp_ref ref,
                           const uint8_t *record, uint64_t bytes);
LP_WARN_UNUSED int lp__lines_each(struct lp_lines_builder *builder, uint16_t type, uint64_t least,
                                  lp_lines_visit *visit);

/* The parts of an image.  LP_ERR_NO_MEMORY only. */
LP_WARN_UNUSED int lp__lines_codes(struct lp_lines_builder *builder);
LP_WARN_UNUSED int lp__lines_facts(struct lp_lines_builder *builder);
void lp__lines_threads(struct lp_lines_builder *builder);

/* The end: sums to their functions, and the texts of files that did not come along. */
LP_WARN_UNUSED int lp__lines_attach_sums(struct lp_lines_builder *builder);
LP_WARN_UNUSED int lp__lines_sources(struct lp_lines_builder *builder);

/* -- for load.c -------------------------------------------------------------------------------------------------- */

struct lp_lines_builder *lp__lines_builder_new(struct lp_run *run); /* NULL: no memory */
void lp__lines_builder_free(struct lp_lines_builder *builder);      /* NULL is fine */
/* Adds what an image has of line tables.  LP_ERR_NO_MEMORY only. */
LP_WARN_UNUSED int lp__lines_add(struct lp_lines_builder *builder, const struct lp_image *image,
                                 const struct lp_clock_line *line, uint64_t end_ticks);
/* Hands everything to the run. */
LP_WARN_UNUSED int lp__lines_finish(struct lp_lines_builder *builder);
/* Whether the file holds line tables alone and so is no worker. */
bool lp__lines_only(const struct lp_image *image);

#endif
