/* Code segments of an image: source files, regions, code objects, and the sums that others have worked out.
 *
 * Two walks, since a function may stand before its file where segments of two writers' blocks alternate.
 */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "merge/lines_build.h"
#include "merge/load.h"

#define GROW(array, cap, count) lp__load_grow((void **)&(array), &(cap), (count), sizeof *(array))

static int damaged(struct lp_lines_builder *builder)
{
    builder->lines.damaged++;
    return LP_OK;
}

/* -- files ------------------------------------------------------------------------------------------------------- */

struct wanted_file {
    const char *path;
    uint64_t hash;
};

static bool same_file(const struct lp_lines_builder *builder, uint32_t index, const void *wanted)
{
    const struct lp_lines_file *file = &builder->lines.files[index];
    const struct wanted_file *other = wanted;
    return file->path == other->path && file->source_hash == other->hash; /* interned: one address for each text */
}

/* The file of this path and content, added where it is new. */
static int file_of(struct lp_lines_builder *builder, uint32_t path, uint64_t hash, uint32_t *index)
{
    struct lp_lines *lines = &builder->lines;
    struct wanted_file wanted = {builder->run->names.texts[path].bytes, hash};
    uint64_t key;
    *index = lp__lines_look(builder, &builder->files, lp__lines_hash(path, hash, 2), &wanted, same_file, &key);
    if (*index != LP_LINES_NONE) return LP_OK;
    if (GROW(lines->files, builder->file_cap, lines->file_count)) return LP_ERR_NO_MEMORY;
    if (GROW(builder->source_bytes, builder->source_cap, lines->file_count)) return LP_ERR_NO_MEMORY;
    *index = (uint32_t)lines->file_count;
    builder->source_bytes[lines->file_count] = 0;
    lines->files[lines->file_count++] =
        (struct lp_lines_file){.path = wanted.path, .source_hash = hash, .source = LP_SOURCE_NONE};
    return lp__map_put(&builder->files, key, *index);
}

/* Keeps the text that came along, if it is the one that ran. */
static int take_text(struct lp_lines_builder *builder, struct lp_lines_file *file, const uint8_t *text, uint32_t len)
{
    if (file->text || lp__hash_bytes(text, len) != file->source_hash) return LP_OK;
    file->text = lp__arena_copy(&builder->run->arena, (const char *)text, len);
    if (!file->text) return LP_ERR_NO_MEMORY;
    file->text_len = len;
    file->source = LP_SOURCE_OK;
    return LP_OK;
}

static int add_file(struct lp_lines_builder *builder, lp_ref ref, const uint8_t *at, uint64_t bytes)
{
    struct lp_file_record record;
    uint32_t path, index;
    if (bytes < sizeof record) return damaged(builder);
    memcpy(&record, at, sizeof record);
    if (record.text_bytes > bytes - sizeof record) return damaged(builder);
    int rc = lp__lines_name(builder, record.path, &path);
    if (rc || path == LP_LINES_NONE) return rc ? rc : damaged(builder);
    if (record.flags & LP_FILE_NO_SOURCE) record.source_hash = 0;
    rc = file_of(builder, path, record.source_hash, &index);
    if (rc) return rc;
    struct lp_lines_file *file = &builder->lines.files[index];
    builder->source_bytes[index] = record.source_bytes;
    if (record.source_hash && record.text_bytes) rc = take_text(builder, file, at + sizeof record, record.text_bytes);
    return rc ? rc : lp__map_put(&builder->file_of, ref, index);
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static bool same_region(const struct lp_lines_builder *builder, uint32_t index, const void *wanted)
{
    const struct lp_lines_region *region = &builder->lines.regions[index], *other = wanted;
    return region->parent == other->parent && region->name.bytes == other->name.bytes;
}

static int add_region(struct lp_lines_builder *builder, lp_ref ref, const uint8_t *at, uint64_t bytes)
{
    struct lp_lines *lines = &builder->lines;
    struct lp_region_record record;
    struct lp_lines_region region = {.parent = LP_LINES_NONE};
    uint64_t parent, key;
    uint32_t name, index, depth = 0;
    if (bytes < sizeof record) return damaged(builder);
    memcpy(&record, at, sizeof record);
    int rc = lp__lines_name(builder, record.name, &name);
    if (rc || name == LP_LINES_NONE) return rc ? rc : damaged(builder);
    if (record.parent && !lp__map_get(&builder->region_of, record.parent, &parent)) return damaged(builder);
    if (record.parent) region.parent = (uint32_t)parent;
    if (record.parent) depth = builder->region_depth[region.parent] + 1;
    if (depth >= LP_LINES_REGION_DEPTH) return lp__map_put(&builder->region_of, ref, region.parent);
    region.name = builder->run->names.texts[name];
    index =
        lp__lines_look(builder, &builder->regions, lp__lines_hash(region.parent, name, 3), &region, same_region, &key);
    if (index != LP_LINES_NONE) return lp__map_put(&builder->region_of, ref, index);
    if (GROW(lines->regions, builder->region_cap, lines->region_count)) return LP_ERR_NO_MEMORY;
    if (GROW(builder->region_depth, builder->depth_cap, lines->region_count)) return LP_ERR_NO_MEMORY;
    index = (uint32_t)lines->region_count++;
    lines->regions[index] = region;
    builder->region_depth[index] = depth;
    rc = lp__map_put(&builder->regions, key, index);
    return rc ? rc : lp__map_put(&builder->region_of, ref, index);
}

/* -- code objects ------------------------------------------------------------------------------------------------ */

static bool same_code(const struct lp_lines_builder *builder, uint32_t index, const void *wanted)
{
    const struct lp_lines_code *code = &builder->lines.codes[index], *other = wanted;
    return code->file == other->file && code->first_line == other->first_line &&
           code->name.bytes == other->name.bytes && code->hash == other->hash &&
           code->slot_count == other->slot_count && code->branch_count == other->branch_count;
}

static bool code_is_whole(const struct lp_code_record *record, uint64_t bytes)
{
    uint64_t places = (uint64_t)record->slot_count + record->branch_count;
    uint64_t tables = (uint64_t)record->code_bytes + record->lines_bytes + record->handlers_bytes;
    return sizeof *record + places * sizeof(struct lp_place) + tables <= bytes;
}

/* Copies what stands behind the record. */
static int copy_code(struct lp_lines_builder *builder, struct lp_lines_code *code, const uint8_t *tail, uint64_t bytes)
{
    uint8_t *copy = lp__arena_alloc(&builder->run->arena, bytes ? (size_t)bytes : 1);
    if (!copy) return LP_ERR_NO_MEMORY;
    memcpy(copy, tail, (size_t)bytes);
    code->slots = (const struct lp_place *)(const void *)copy;
    code->branches = code->slots + code->slot_count;
    code->code = (const uint8_t *)(code->branches + code->branch_count);
    code->lines = code->code + code->code_bytes;
    code->handlers = code->lines + code->lines_bytes;
    return LP_OK;
}

static int keep_code(struct lp_lines_builder *builder, struct lp_lines_code *code, const uint8_t *at, uint64_t bytes,
                     uint32_t *index)
{
    struct lp_lines *lines = &builder->lines;
    uint64_t key, hash = lp__lines_hash((uint64_t)code->file << 32 | code->first_line, code->hash, 4);
    *index = lp__lines_look(builder, &builder->codes, hash, code, same_code, &key);
    if (*index != LP_LINES_NONE) return LP_OK;
    int rc = copy_code(builder, code, at + sizeof(struct lp_code_record), bytes - sizeof(struct lp_code_record));
    if (rc || GROW(lines->codes, builder->code_cap, lines->code_count)) return LP_ERR_NO_MEMORY;
    *index = (uint32_t)lines->code_count;
    lines->codes[lines->code_count++] = *code;
    return lp__map_put(&builder->codes, key, *index);
}

static int add_code(struct lp_lines_builder *builder, lp_ref ref, const uint8_t *at, uint64_t bytes)
{
    struct lp_code_record record;
    uint64_t file;
    uint32_t name, index;
    if (bytes < sizeof record) return damaged(builder);
    memcpy(&record, at, sizeof record);
    if (!code_is_whole(&record, bytes) || !record.file || !lp__map_get(&builder->file_of, record.file, &file))
        return damaged(builder);
    int rc = lp__lines_name(builder, record.name, &name);
    if (rc || name == LP_LINES_NONE) return rc ? rc : damaged(builder);
    struct lp_lines_code code = {
        .file = (uint32_t)file,
        .name = builder->run->names.texts[name],
        .first_line = record.first_line,
        .flags = record.flags,
        .python = record.python,
        .hash = record.hash,
        .slot_count = record.slot_count,
        .branch_count = record.branch_count,
        .code_bytes = record.code_bytes,
        .lines_bytes = record.lines_bytes,
        .handlers_bytes = record.handlers_bytes,
    };
    rc = keep_code(builder, &code, at, bytes, &index);
    return rc ? rc : lp__map_put(&builder->code_of, ref, index);
}

/* -- sums -------------------------------------------------------------------------------------------------------- */

static bool same_sums(const struct lp_lines_builder *builder, uint32_t index, const void *wanted)
{
    const struct lp_lines_sums *sums = &builder->sums[index], *other = wanted;
    return sums->code_hash == other->code_hash && sums->source_hash == other->source_hash;
}

/* Do the rows' shares of the terms add up to all of them? */
static bool rows_fit(const uint8_t *rows, uint32_t row_count, uint32_t term_count)
{
    uint64_t terms = 0;
    for (size_t i = 0; i < row_count; i++) {
        struct lp_sums_row row;
        memcpy(&row, rows + i * sizeof row, sizeof row);
        terms += row.term_count;
    }
    return terms == term_count;
}

static int copy_sums(struct lp_lines_builder *builder, struct lp_lines_sums *sums, const uint8_t *tail)
{
    size_t rows = sums->row_count * sizeof *sums->rows, terms = sums->term_count * sizeof *sums->terms;
    uint8_t *copy = lp__arena_alloc(&builder->run->arena, rows + terms + 1);
    if (!copy) return LP_ERR_NO_MEMORY;
    memcpy(copy, tail, rows + terms);
    sums->rows = (const struct lp_sums_row *)(const void *)copy;
    sums->terms = (const struct lp_sums_term *)(const void *)(copy + rows);
    return LP_OK;
}

/* The newest way of working them out wins. */
static int keep_sums(struct lp_lines_builder *builder, struct lp_lines_sums *sums, const uint8_t *tail)
{
    uint64_t key, hash = lp__lines_hash(sums->code_hash, sums->source_hash, 5);
    uint32_t index = lp__lines_look(builder, &builder->sums_of, hash, sums, same_sums, &key);
    if (index != LP_LINES_NONE) {
        if (builder->sums[index].pass >= sums->pass) return LP_OK;
        int rc = copy_sums(builder, sums, tail);
        if (!rc) builder->sums[index] = *sums;
        return rc;
    }
    if (copy_sums(builder, sums, tail) || GROW(builder->sums, builder->sums_cap, builder->sums_count))
        return LP_ERR_NO_MEMORY;
    builder->sums[builder->sums_count] = *sums;
    return lp__map_put(&builder->sums_of, key, builder->sums_count++);
}

static int add_sums(struct lp_lines_builder *builder, const uint8_t *at, uint64_t bytes)
{
    struct lp_sums_record record;
    if (bytes < sizeof record) return damaged(builder);
    memcpy(&record, at, sizeof record);
    uint64_t rows = (uint64_t)record.row_count * sizeof(struct lp_sums_row);
    uint64_t terms = (uint64_t)record.term_count * sizeof(struct lp_sums_term);
    if (sizeof record + rows + terms > bytes || !rows_fit(at + sizeof record, record.row_count, record.term_count))
        return damaged(builder);
    struct lp_lines_sums sums = {.code_hash = record.code_hash,
                                 .source_hash = record.source_hash,
                                 .pass = record.pass,
                                 .row_count = record.row_count,
                                 .term_count = record.term_count};
    return keep_sums(builder, &sums, at + sizeof record);
}

static bool counters_exist(const struct lp_lines_sums *sums, const struct lp_lines_code *code)
{
    uint64_t counters = (uint64_t)code->slot_count + 1 + 2 * (uint64_t)code->branch_count;
    for (uint32_t i = 0; i < sums->term_count; i++)
        if (sums->terms[i].counter >= counters) return false;
    return true;
}

int lp__lines_attach_sums(struct lp_lines_builder *builder)
{
    struct lp_lines *lines = &builder->lines;
    for (size_t i = 0; i < lines->code_count; i++) {
        struct lp_lines_code *code = &lines->codes[i];
        struct lp_lines_sums wanted = {.code_hash = code->hash, .source_hash = lines->files[code->file].source_hash};
        uint64_t key, hash = lp__lines_hash(wanted.code_hash, wanted.source_hash, 5);
        uint32_t index = lp__lines_look(builder, &builder->sums_of, hash, &wanted, same_sums, &key);
        if (index == LP_LINES_NONE) continue;
        const struct lp_lines_sums *sums = &builder->sums[index];
        if (!counters_exist(sums, code)) {
            lines->damaged++;
            continue;
        }
        code->rows = sums->rows;
        code->terms = sums->terms;
        code->row_count = sums->row_count;
        code->term_count = sums->term_count;
    }
    return LP_OK;
}

/* -- the walks --------------------------------------------------------------------------------------------------- */

static uint32_t kind_of(const uint8_t *at)
{
    uint32_t kind;
    memcpy(&kind, at + sizeof kind, sizeof kind);
    return kind;
}

static int visit_first(struct lp_lines_builder *builder, const struct lp_image_segment *segment, lp_ref ref,
                       const uint8_t *at, uint64_t bytes)
{
    (void)segment;
    if (kind_of(at) == LP_CODE_FILE) return add_file(builder, ref, at, bytes);
    return kind_of(at) == LP_CODE_REGION ? add_region(builder, ref, at, bytes) : LP_OK;
}

static int visit_second(struct lp_lines_builder *builder, const struct lp_image_segment *segment, lp_ref ref,
                        const uint8_t *at, uint64_t bytes)
{
    (void)segment;
    if (kind_of(at) == LP_CODE_FUNCTION) return add_code(builder, ref, at, bytes);
    return kind_of(at) == LP_CODE_SUMS ? add_sums(builder, at, bytes) : LP_OK; /* other kinds: of a later version */
}

int lp__lines_codes(struct lp_lines_builder *builder)
{
    int rc = lp__lines_each(builder, LP_SEGMENT_CODE, 8, visit_first);
    return rc ? rc : lp__lines_each(builder, LP_SEGMENT_CODE, 8, visit_second);
}
