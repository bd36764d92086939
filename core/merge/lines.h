/* Line tables of a run, joined over threads and processes: code objects that are the same code (file, first line,
 * qualified name, hash) are one; counts and ticks are added up, ticks as nanoseconds of their own process's clock.
 *
 * Filled by lp__run_load and lp__run_load_image when options->lines is set; lives in the run's arena.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_LINES_H
#define LP_MERGE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "store/layout.h"

/* Where a file's text is to be had. */
enum lp_source_state {
    LP_SOURCE_OK = 0,
    LP_SOURCE_MISSING, /* no such file here, or it cannot be read */
    LP_SOURCE_CHANGED, /* it is not what ran */
    LP_SOURCE_NONE     /* there never was any */
};

struct lp_lines_file {
    const char *path;
    uint64_t source_hash;
    enum lp_source_state source;
    const char *text; /* with a NUL behind it; NULL unless LP_SOURCE_OK */
    size_t text_len;
};

/* inclusive = self + below.  What an inner activation of the same place spent stands in `self` alone, so that a
 * recursive call counts once. */
struct lp_lines_slot {
    uint64_t events;
    double self_ns, below_ns, suspended_ns;
};

/* What one code object did in one region, all threads and processes. */
struct lp_lines_table {
    uint32_t code;   /* index in lines->codes */
    uint32_t region; /* index in lines->regions; UINT32_MAX outside any */
    uint64_t calls;
    uint64_t active; /* activations that had not ended: their calls are not in `wall_ns` or any `below_ns` yet */
    double wall_ns;
    struct lp_lines_slot *slots; /* code->slot_count + 1, the last is the entry */
    uint64_t *branches;          /* code->branch_count * 2 */
};

struct lp_lines_code {
    uint32_t file; /* index in lines->files */
    struct lp_text name;
    uint32_t first_line, flags, python;
    uint64_t hash;
    uint32_t slot_count, branch_count;
    const struct lp_place *slots, *branches;
    const uint8_t *code, *lines, *handlers; /* raw, see struct lp_code_record */
    uint32_t code_bytes, lines_bytes, handlers_bytes;
    const struct lp_sums_row *rows; /* NULL: nobody has worked them out */
    const struct lp_sums_term *terms;
    uint32_t row_count, term_count;
};

struct lp_lines_edge {
    uint32_t caller, slot; /* code and slot of the call */
    uint32_t callee;
    uint64_t calls;
    double wall_ns;
};

/* Regions deeper than LP_LINES_REGION_DEPTH are one with the last that is not. */
#define LP_LINES_REGION_DEPTH 64
struct lp_lines_region {
    uint32_t parent; /* index, before this one; UINT32_MAX none */
    struct lp_text name;
    uint64_t entries; /* finished and open */
    double wall_ns;   /* of all, open ones so far */
};

/* A file that the scope leaves out, and how often a function of it was entered. */
struct lp_lines_outside {
    const char *path;
    uint64_t calls;
};

/* Sums over all files of the run that hold line tables. */
struct lp_lines {
    struct lp_lines_file *files;
    size_t file_count;
    struct lp_lines_code *codes;
    size_t code_count;
    struct lp_lines_table *tables;
    size_t table_count;
    struct lp_lines_edge *edges;
    size_t edge_count;
    struct lp_lines_region *regions;
    size_t region_count;
    uint32_t threads, processes; /* with line tables */
    uint64_t unobserved_threads;
    double event_cost_ns;  /* largest measured; NaN none */
    const char *mechanism; /* "monitoring", "settrace", "mixed"; "" unknown */
    uint64_t dropped[2];   /* LP_DROP_LINES_NO_SPACE, LP_DROP_LINES_LOST */
    uint64_t damaged;      /* records that could not be what they said, left out */
    const char **notes;    /* sentences of the recording side, each once */
    size_t note_count;
    struct lp_lines_outside *outside; /* most calls first */
    size_t outside_count;
};

#endif
