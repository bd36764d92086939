/* From code objects to functions: file, first line and qualified name are one function, whatever its bytecode. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "analyse/lines_parts.h"

#define NONE UINT32_MAX

/* Code objects in the order of functions, so that those of one function stand together. */
struct code_key {
    const struct lp_lines_code *code;
    uint32_t index;
};

static int compare_texts(const struct lp_text *a, const struct lp_text *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len ? memcmp(a->bytes, b->bytes, len) : 0;
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_identity(const struct lp_lines_code *a, const struct lp_lines_code *b)
{
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->first_line != b->first_line) return a->first_line < b->first_line ? -1 : 1;
    return compare_texts(&a->name, &b->name);
}

static int compare_codes(const void *a, const void *b)
{
    const struct code_key *left = a, *right = b;
    int order = compare_identity(left->code, right->code);
    if (!order) order = (left->code->hash > right->code->hash) - (left->code->hash < right->code->hash);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

static int group_codes(struct lp_lines_work *work)
{
    const struct lp_lines *lines = work->lines;
    struct code_key *keys = lp__arena_alloc(&work->scratch, lines->code_count * sizeof *keys);
    if (!keys) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < lines->code_count; i++)
        keys[i] = (struct code_key){&lines->codes[i], (uint32_t)i};
    qsort(keys, lines->code_count, sizeof *keys, compare_codes);
    for (size_t i = 0; i < lines->code_count; i++) {
        uint32_t index = keys[i].index;
        if (!i || compare_identity(keys[i - 1].code, keys[i].code) != 0)
            work->functions[work->function_count++].first_code = index;
        else
            work->next_code[keys[i - 1].index] = index;
        work->next_code[index] = NONE;
        work->function_of[index] = (uint32_t)work->function_count - 1;
    }
    return LP_OK;
}

/* -- lines ------------------------------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void add_line(uint32_t *lines, size_t *count, uint32_t line)
{
    if (line) lines[(*count)++] = line;
}

/* Lines of one code object, as they come. */
static size_t code_lines(const struct lp_lines_code *code, uint32_t *lines)
{
    size_t count = 0;
    for (uint32_t i = 0; i < code->slot_count; i++)
        add_line(lines, &count, code->slots[i].line);
    for (uint32_t i = 0; i < code->row_count; i++)
        add_line(lines, &count, code->rows[i].line);
    return count;
}

static int find_lines(struct lp_lines_work *work, struct lp_line_function_work *function)
{
    const struct lp_lines *lines = work->lines;
    size_t most = 1, count = 0, kept = 0;
    for (uint32_t code = function->first_code; code != NONE; code = work->next_code[code])
        most += (size_t)lines->codes[code].slot_count + lines->codes[code].row_count;
    function->lines = lp__arena_alloc(&work->scratch, most * sizeof *function->lines);
    function->by_events = lp__arena_alloc(&work->scratch, most * sizeof *function->by_events);
    if (!function->lines || !function->by_events) return LP_ERR_NO_MEMORY;
    for (uint32_t code = function->first_code; code != NONE; code = work->next_code[code])
        count += code_lines(&lines->codes[code], function->lines + count);
    if (!count) function->lines[count++] = lines->codes[function->first_code].first_line;
    qsort(function->lines, count, sizeof *function->lines, compare_lines);
    for (size_t i = 0; i < count; i++)
        if (!i || function->lines[i] != function->lines[i - 1]) function->lines[kept++] = function->lines[i];
    function->line_count = (uint32_t)kept;
    return LP_OK;
}

static uint32_t row_of(const struct lp_line_function_work *function, uint32_t line)
{
    const uint32_t *found =
        bsearch(&line, function->lines, function->line_count, sizeof *function->lines, compare_lines);
    return found ? (uint32_t)(found - function->lines) : NONE;
}

static int map_rows(struct lp_lines_work *work, const struct lp_line_function_work *function, uint32_t index)
{
    const struct lp_lines_code *code = &work->lines->codes[index];
    uint32_t *slots = lp__arena_alloc(&work->scratch, ((size_t)code->slot_count + 1) * sizeof *slots);
    uint32_t *sums = lp__arena_alloc(&work->scratch, ((size_t)code->row_count + 1) * sizeof *sums);
    if (!slots || !sums) return LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < code->slot_count; i++)
        slots[i] = row_of(function, code->slots[i].line);
    slots[code->slot_count] = NONE;
    for (uint32_t i = 0; i < code->row_count; i++)
        sums[i] = row_of(function, code->rows[i].line);
    work->row_of_slot[index] = slots;
    work->row_of_sum[index] = sums;
    return LP_OK;
}

/* -- tables by code ---------------------------------------------------------------------------------------------- */

static void order_tables(struct lp_lines_work *work)
{
    const struct lp_lines *lines = work->lines;
    uint32_t sum = 0;
    for (size_t i = 0; i < lines->table_count; i++)
        work->table_start[lines->tables[i].code]++;
    for (size_t c = 0; c <= lines->code_count; c++) { /* counts become ends */
        sum += work->table_start[c];
        work->table_start[c] = sum;
    }
    for (size_t i = lines->table_count; i-- > 0;)
        work->by_code[--work->table_start[lines->tables[i].code]] = (uint32_t)i;
}

/* -- all --------------------------------------------------------------------------------------------------------- */

static int allocate(struct lp_lines_work *work)
{
    struct lp_arena *scratch = &work->scratch;
    size_t codes = work->lines->code_count + 1, tables = work->lines->table_count + 1;
    work->functions = lp__arena_alloc(scratch, codes * sizeof *work->functions);
    work->function_of = lp__arena_alloc(scratch, codes * sizeof *work->function_of);
    work->next_code = lp__arena_alloc(scratch, codes * sizeof *work->next_code);
    work->row_of_slot = lp__arena_alloc(scratch, codes * sizeof *work->row_of_slot);
    work->row_of_sum = lp__arena_alloc(scratch, codes * sizeof *work->row_of_sum);
    work->table_start = lp__arena_alloc(scratch, codes * sizeof *work->table_start);
    work->by_code = lp__arena_alloc(scratch, tables * sizeof *work->by_code);
    bool all = work->functions && work->function_of && work->next_code && work->row_of_slot && work->row_of_sum &&
               work->table_start && work->by_code;
    return all ? LP_OK : LP_ERR_NO_MEMORY;
}

static void describe(struct lp_lines_work *work, struct lp_line_function_work *function)
{
    const struct lp_lines_code *code = &work->lines->codes[function->first_code];
    function->done.file = code->file;
    function->done.name = code->name;
    function->done.first_line = code->first_line;
    function->done.flags = code->flags;
    uint32_t last = function->lines[function->line_count - 1];
    function->done.last_line = last > code->first_line ? last : code->first_line;
}

int lp__lines_functions(struct lp_lines_work *work)
{
    int rc = allocate(work);
    if (!rc) rc = group_codes(work);
    if (rc) return rc;
    order_tables(work);
    for (size_t i = 0; i < work->function_count && !rc; i++) {
        struct lp_line_function_work *function = &work->functions[i];
        rc = find_lines(work, function);
        for (uint32_t code = function->first_code; !rc && code != NONE; code = work->next_code[code])
            rc = map_rows(work, function, code);
        if (!rc) describe(work, function);
    }
    return rc;
}
