/* Packed units made by hand: what Python makes of a source. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_UNIT_BUILDER_H
#define LP_TEST_UNIT_BUILDER_H

#include <string.h>

#include "analyse/statement_units.h"

struct source {
    struct lp_unit units[16];
    struct lp_unit_scope scopes[4];
    struct lp_unit_row rows[16];
    uint32_t unit_count, scope_count, row_count;
    uint32_t packed[512];
    size_t bytes;
};

/* A module of `rows` rows; each row's first token stands at column 4. */
static inline void source_init(struct source *source, uint32_t rows)
{
    memset(source, 0, sizeof *source);
    source->row_count = rows;
    source->scope_count = 1;
    source->scopes[0] = (struct lp_unit_scope){.first = LP_NO_UNIT, .last = LP_NO_UNIT, .end_line = rows + 1};
    for (uint32_t i = 0; i < rows; i++)
        source->rows[i] = (struct lp_unit_row){4, 4};
}

/* A unit of scope 0 that covers columns [column, end) of its first to its last row. */
static inline uint32_t source_unit(struct source *source, uint32_t kind, uint32_t line, uint32_t column,
                                   uint32_t end_line, uint32_t end, uint32_t parent)
{
    source->units[source->unit_count] = (struct lp_unit){line, column, end_line, end, parent, 0, kind};
    return source->unit_count++;
}

static inline void source_pack(struct source *source)
{
    uint32_t head[4] = {LP_UNITS_MAGIC, source->unit_count, source->scope_count, source->row_count};
    uint8_t *at = (uint8_t *)source->packed;
    const void *parts[4] = {head, source->units, source->scopes, source->rows};
    size_t sizes[4] = {sizeof head, source->unit_count * sizeof *source->units,
                       source->scope_count * sizeof *source->scopes, source->row_count * sizeof *source->rows};
    source->bytes = 0;
    for (int i = 0; i < 4; i++) {
        memcpy(at + source->bytes, parts[i], sizes[i]);
        source->bytes += sizes[i];
    }
}

#endif
