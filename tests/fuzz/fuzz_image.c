/* Fuzzes the reader, the merge and the report of lines with one worker file in memory.
 *
 * Checksums would stop a plain mutator at the first segment header.  So the mutator here starts from images of the
 * test builder, changes words of the payload as well as bytes anywhere, and mostly repairs the checksums afterwards;
 * what is left broken exercises the refusals.  No seed files are needed.
 */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/lines.h"
#include "base/crc.h"
#include "merge/run.h"
#include "render/lines.h"
#include "store/reader.h"
#include "support/line_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* -- the test ---------------------------------------------------------------------------------------------------- */

static void require(int truth)
{
    if (!truth) abort();
}

static void check_tree(const struct lp_run *run, const struct lp_run_tree *tree)
{
    require(tree->count > 0);
    for (size_t i = 0; i < tree->count; i++) {
        const struct lp_run_phase *phase = &tree->phases[i];
        require(i ? phase->parent < i : phase->parent == 0);
        require(phase->name < run->names.count && phase->depth <= LP_MAX_DEPTH);
        require(i == 0 || phase->depth == tree->phases[phase->parent].depth + 1);
        require(isfinite(phase->wall_ns) && phase->wall_ns >= 0);
        require(isfinite(phase->open_wall_ns) && phase->open_wall_ns >= 0);
        require(isfinite(phase->suspended_ns) && isfinite(phase->inner_ns) && isfinite(phase->cpu_ns));
        require(!phase->calls || (isfinite(phase->min_ns) && isfinite(phase->max_ns)));
        if (phase->hist) (void)lp__hist_quantile(phase->hist, 0.5);
        for (const struct lp_run_counter *counter = phase->counters; counter; counter = counter->next)
            require(counter->name < run->names.count);
    }
}

static void check_functions(const struct lp_line_report *report)
{
    for (size_t i = 0; i < report->function_count; i++) {
        const struct lp_line_function *function = &report->functions[i];
        require(function->file < report->file_count && function->code_line_count > 0);
        require(isfinite(function->total_ns) && function->total_ns >= function->self_ns * (1 - 1e-9));
        for (size_t r = 0; r < function->row_count; r++) {
            const struct lp_line_row *row = &function->rows[r];
            require(isfinite(row->self_ns) && row->self_ns >= 0 && row->inclusive_ns >= row->self_ns);
            require(row->corrected_self_ns >= 0 && row->corrected_inclusive_ns >= row->corrected_self_ns);
        }
        for (size_t c = 0; c < function->callee_count; c++)
            require(function->callees[c].function < report->function_count);
    }
}

static void check_lines(const struct lp_run *run)
{
    struct lp_line_report *report = NULL;
    struct lp_line_stacks *stacks = NULL;
    struct lp_lines_options options = {.utf8 = true};
    struct lp_buf out;
    require(!lp__lines_build(run, &report, NULL));
    check_functions(report);
    for (uint32_t i = 0; i < report->region_count; i++)
        require(report->regions[i].parent == UINT32_MAX || report->regions[i].parent < i);
    require(!lp__line_stacks(report, &stacks, NULL));
    lp__buf_init(&out, (size_t)1 << 20);
    lp__render_lines_functions(report, &options, &out);
    lp__render_lines_regions(report, &options, &out);
    lp__buf_clear(&out);
    lp__render_lines_json(report, &out);
    lp__buf_clear(&out);
    lp__render_lines_collapsed(report, stacks, &out);
    lp__buf_release(&out);
    lp__line_stacks_free(stacks);
    lp__lines_free(report);
}

static void check_run(const struct lp_run *run)
{
    check_lines(run);
    require(run->process_count == run->role_count && run->process_count <= 1);
    if (!run->process_count) return; /* lines alone */
    const struct lp_run_process *process = &run->processes[0];
    require(process->outside_ns >= 0 && process->outside_ns <= process->elapsed_ns);
    require(strlen(process->role) + strlen(process->killed_in) + strlen(process->argv) < (size_t)1 << 20);
    check_tree(run, &run->roles[0].tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lp_run *run = NULL;
    uint8_t *copy = malloc(size ? size : 1); /* aligned, and its end is watched */
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    if (!lp__run_load_image_with(copy, size, &(struct lp_run_options){.lines = true}, &run, NULL)) check_run(run);
    lp__run_free(run);
    free(copy);
    return 0;
}

/* -- the mutator ------------------------------------------------------------------------------------------------- */

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void build(struct image *image, unsigned kind)
{
    image_init(image);
    image->capacity = kind & 1 ? 1024 : 4096;
    image_usual(image, "a1", "actor", (int)(kind % 4));
    if (kind & 1) line_usual(image);
    lp_ref root = image_root(image, 1);
    (void)image_thread(image, 1);
    lp_ref node = image_node(image, root, "thread", 0, 0);
    lp_ref below = image_node(image, node, "work", 3, 1000);
    lp_ref counter = image_counter(image, below, "n", 4, -5);
    struct lp_hist_record record = {.carry = 0};
    lp_ref hist = image_append(image, LP_SEGMENT_HIST, &record, sizeof record);
    image_hist(image, hist, 5, 4);
    ((struct lp_counter_record *)image_at(image, counter))->hist_negative = hist;
    ((struct lp_node_record *)image_at(image, below))->hist.carry = hist;
    if (kind & 2) ((struct lp_node_record *)image_at(image, node))->flags = LP_NODE_THREAD;
    (void)image_trend(image, image_node(image, node, "steps", 80, 1000), 8, 10, 1000);
    image_open(image, below, IMAGE_CREATED_TICKS + 5000);
    image_fact(image, "world_size", "4");
    if (kind & 4) image_header(image)->state = LP_STATE_RUNNING;
    image_seal(image);
}

static size_t start_afresh(uint8_t *data, size_t max_size, unsigned kind)
{
    struct image image;
    build(&image, kind);
    size_t size = image.len < max_size ? image.len : max_size;
    memcpy(data, image.bytes, size);
    image_release(&image);
    return size;
}

/* References, small numbers and extremes: what the words of records are made of. */
static void change_word(uint8_t *data, size_t size, unsigned *random)
{
    static const uint64_t extremes[] = {0, 1, 2, 15, UINT32_MAX, UINT64_MAX, (uint64_t)1 << 63, INT64_MAX};
    size_t width = next_random(random) & 1 ? 4 : 8;
    size_t at = next_random(random) % (size / 4) * 4;
    uint64_t value;
    switch (next_random(random) % 4) {
    case 0:
        value = extremes[next_random(random) % 8];
        break;
    case 1:
        value = next_random(random) % (size / 8);
        break;
    case 2: /* a word from elsewhere */
        at = at / 8 * 8;
        value = 0;
        if (size >= 16) memcpy(&value, data + next_random(random) % (size / 8 - 1) * 8, 8);
        break;
    default:
        value = next_random(random) % 64;
    }
    if (at + width <= size) memcpy(data + at, &value, width);
}

static void repair(uint8_t *data, size_t size)
{
    struct lp_file_header header;
    struct lp_segment_header segment;
    if (size < sizeof header) return;
    memcpy(&header, data, sizeof header);
    memcpy(header.magic, LP_FILE_MAGIC, sizeof header.magic);
    header.version = LP_FILE_VERSION;
    memcpy(data, &header, sizeof header);
    header.check = lp__crc32c(lp__crc32c(0, data + 8, 8), data + 20, LP_FILE_CHECKED_END - 20);
    memcpy(data, &header, sizeof header);
    for (size_t at = sizeof header; at + sizeof segment <= size; at += LP_SEGMENT_ALIGN) {
        memcpy(&segment, data + at, sizeof segment);
        if (segment.magic != LP_SEGMENT_MAGIC) continue;
        segment.offset = at;
        segment.check = lp__crc32c(0, &segment, offsetof(struct lp_segment_header, check));
        memcpy(data + at, &segment, sizeof segment);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned random = seed;
    if (size < sizeof(struct lp_file_header) || next_random(&random) % 64 == 0)
        size = start_afresh(data, max_size, next_random(&random) % 8);
    if (size < 16) return LLVMFuzzerMutate(data, size, max_size);
    unsigned changes = 1 + next_random(&random) % 6;
    for (unsigned i = 0; i < changes; i++)
        change_word(data, size, &random);
    if (next_random(&random) % 4 == 0) size = LLVMFuzzerMutate(data, size, max_size);
    if (next_random(&random) % 8) repair(data, size);
    return size;
}
