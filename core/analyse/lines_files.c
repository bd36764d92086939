/* Files of the report: their functions in the order of the source, and where each line of the text starts. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "analyse/lines_parts.h"

static bool ends_line(const char *text, size_t len, size_t at)
{
    return text[at] == '\n' || (text[at] == '\r' && (at + 1 == len || text[at + 1] != '\n'));
}

/* Lines end as Python's do: \n, \r\n, \r. */
static int find_lines(struct lp_line_report *report, struct lp_line_file *file)
{
    size_t count = 1, start = file->text_len >= 3 && !memcmp(file->text, "\xEF\xBB\xBF", 3) ? 3 : 0;
    for (size_t i = start; i < file->text_len; i++)
        count += ends_line(file->text, file->text_len, i);
    uint32_t *starts = lp__arena_alloc(&report->arena, (count + 1) * sizeof *starts);
    if (!starts) return LP_ERR_NO_MEMORY;
    starts[0] = (uint32_t)start;
    file->line_count = 0;
    for (size_t i = start; i < file->text_len; i++)
        if (ends_line(file->text, file->text_len, i)) starts[++file->line_count] = (uint32_t)i + 1;
    if (starts[file->line_count] < file->text_len) starts[++file->line_count] = (uint32_t)file->text_len;
    file->line_starts = starts;
    return LP_OK;
}

bool lp__line_text(const struct lp_line_file *file, uint32_t line, struct lp_text *out)
{
    if (!file->text || !line || line > file->line_count) return false;
    size_t from = file->line_starts[line - 1], to = file->line_starts[line];
    while (to > from && (file->text[to - 1] == '\n' || file->text[to - 1] == '\r'))
        to--;
    *out = (struct lp_text){file->text + from, to - from};
    return true;
}

/* -- order ------------------------------------------------------------------------------------------------------- */

static int compare_files(const void *a, const void *b)
{
    const struct lp_line_file *left = a, *right = b;
    int order = (left->self_ns < right->self_ns) - (left->self_ns > right->self_ns);
    if (!order) order = strcmp(left->path, right->path);
    return order ? order : (left->functions[0] > right->functions[0]) - (left->functions[0] < right->functions[0]);
}

/* qsort gives its order nothing else to look at, so the line goes along. */
struct function_key {
    uint32_t file, line, function;
};

static int compare_keys(const void *a, const void *b)
{
    const struct function_key *left = a, *right = b;
    if (left->file != right->file) return left->file < right->file ? -1 : 1;
    if (left->line != right->line) return left->line < right->line ? -1 : 1;
    return (left->function > right->function) - (left->function < right->function);
}

static void add_figures(struct lp_line_file *file, const struct lp_line_function *function)
{
    file->self_ns += function->self_ns;
    for (size_t i = 0; i < function->row_count; i++)
        if (function->rows[i].mark == LP_ROW_EXACT) file->hits += function->rows[i].hits;
}

/* One file for each run of functions of one; functions->file still means the merged run's. */
static int group(struct lp_lines_work *work, struct function_key *keys, size_t count)
{
    struct lp_line_report *report = work->report;
    uint32_t *members = lp__arena_alloc(&report->arena, (count + 1) * sizeof *members);
    report->files = lp__arena_alloc(&report->arena, (work->lines->file_count + 1) * sizeof *report->files);
    if (!members || !report->files) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!i || keys[i].file != keys[i - 1].file) {
            const struct lp_lines_file *from = &work->lines->files[keys[i].file];
            report->files[report->file_count++] = (struct lp_line_file){.path = from->path,
                                                                        .source = from->source,
                                                                        .text = from->text,
                                                                        .text_len = from->text_len,
                                                                        .functions = members + i};
        }
        struct lp_line_file *file = &report->files[report->file_count - 1];
        members[i] = keys[i].function;
        file->function_count++;
        add_figures(file, &report->functions[keys[i].function]);
    }
    return LP_OK;
}

int lp__lines_files(struct lp_lines_work *work)
{
    struct lp_line_report *report = work->report;
    size_t count = report->function_count;
    struct function_key *keys = lp__arena_alloc(&work->scratch, (count + 1) * sizeof *keys);
    if (!keys) return LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (struct function_key){report->functions[i].file, report->functions[i].first_line, i};
    qsort(keys, count, sizeof *keys, compare_keys);
    int rc = group(work, keys, count);
    if (rc) return rc;
    if (report->file_count) qsort(report->files, report->file_count, sizeof *report->files, compare_files);
    for (uint32_t f = 0; f < report->file_count && !rc; f++) {
        struct lp_line_file *file = &report->files[f];
        for (size_t i = 0; i < file->function_count; i++)
            report->functions[file->functions[i]].file = f;
        if (file->text) rc = find_lines(report, file);
    }
    return rc;
}
