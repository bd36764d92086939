/* Line tables of worker files: joined over threads and processes, sources found, damage left out. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge/run.h"
#include "support/line_builder.h"
#include "support/run_lookup.h"
#include "support/temp_dir.h"

static const struct lp_run_options with_lines = {.lines = true};
static const uint32_t three_lines[] = {10, 11, 12, 0};

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-6 * fabs(wanted) + 1e-3;
}

static struct lp_run *load_image(struct image *image)
{
    struct lp_run *run = NULL;
    struct lp_error err;
    image_seal(image);
    int rc = lp__run_load_image_with(image->bytes, image->len, &with_lines, &run, &err);
    if (rc) print_message("%s\n", err.detail);
    assert_int_equal(rc, LP_OK);
    assert_non_null(run->lines);
    return run;
}

static void put(const struct temp_dir *dir, struct image *image, const char *name)
{
    char path[200];
    image_seal(image);
    (void)snprintf(path, sizeof path, "workers/node1/%s.lpw", name);
    assert_int_equal(temp_dir_put(dir, path, image->bytes, image->len), 0);
    image_release(image);
}

static struct lp_run *load_dir(const struct temp_dir *dir, const struct lp_run_options *options)
{
    struct lp_run *run = NULL;
    struct lp_error err;
    int rc = lp__run_load(dir->path, options, &run, &err);
    if (rc) print_message("%s\n", err.detail);
    assert_int_equal(rc, LP_OK);
    return run;
}

/* One function with a table on each of some threads. */
static void work_on_threads(struct image *image, unsigned threads, uint64_t events, uint64_t own)
{
    lp_ref file = line_file(image, "/p/a.py", "source", 1);
    lp_ref code = line_code(image, file, "work", 10, three_lines, 1);
    image_fact(image, "attempt", "a1");
    image_fact(image, "collector", "lines");
    for (unsigned thread = 0; thread < threads; thread++) {
        (void)image_thread(image, thread);
        (void)image_segment(image, LP_SEGMENT_LINES, thread + 1, 1024);
        lp_ref table = line_table(image, code, 0);
        line_add(image, table, 1, events, own);
        line_slot(image, table, 1)->own[1] = own / 2;
        line_slot(image, table, 1)->below = own;
        line_slot(image, table, 1)->suspended = 8;
        line_branch(image, table, 0)[1] = events;
        line_calls(image, table, 2, 3 * own);
    }
}

/* -- joining ----------------------------------------------------------------------------------------------------- */

static void threads_and_processes_are_joined(void **state)
{
    struct temp_dir dir;
    struct image image;
    (void)state;
    assert_int_equal(temp_dir_make(&dir), 0);
    image_init(&image); /* 0.5 ns a tick */
    work_on_threads(&image, 2, 100, 1000);
    put(&dir, &image, "a1.1.00000001");
    image_init(&image); /* 1 ns a tick */
    struct lp_file_header *header = image_header(&image);
    header->boot_id[0] = 'X';
    image_segment_header(&image, image.current[LP_SEGMENT_CLOCK])->used = 0;
    image_clock(&image, header->closed_ticks, IMAGE_CREATED_MONO + IMAGE_LIFE_TICKS, 0);
    work_on_threads(&image, 1, 50, 1000);
    put(&dir, &image, "a1.2.00000002");
    struct lp_run *run = load_dir(&dir, &with_lines);
    const struct lp_lines *lines = run->lines;
    assert_int_equal(lines->processes, 2);
    assert_int_equal(lines->threads, 3);
    assert_int_equal(lines->file_count, 1);
    assert_int_equal(lines->code_count, 1);
    assert_int_equal(lines->table_count, 1);
    const struct lp_lines_table *table = &lines->tables[0];
    assert_int_equal(table->calls, 6);
    assert_int_equal(table->slots[1].events, 250);
    assert_int_equal(table->branches[1], 250);
    assert_true(is_near(table->slots[1].self_ns, 2 * 750 + 1500));
    assert_true(is_near(table->slots[1].below_ns, 2 * 250 + 500));
    assert_true(is_near(table->slots[1].suspended_ns, 2 * 4 + 8));
    assert_true(is_near(table->wall_ns, 2 * 1500 + 3000));
    assert_int_equal(table->region, UINT32_MAX);
    assert_int_equal(lines->damaged, 0);
    lp__run_free(run);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

static void lines_are_only_read_where_asked_for(void **state)
{
    struct image image;
    struct lp_run *run;
    (void)state;
    image_init(&image);
    line_usual(&image);
    assert_int_equal(lp__run_load_image(image.bytes, image.len, &run, NULL), LP_OK);
    assert_null(run->lines);
    lp__run_free(run);
    image_release(&image);
}

static void other_instructions_are_another_code_object(void **state)
{
    static const uint32_t two_lines[] = {10, 11, 0};
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref file = line_file(&image, "/p/a.py", "source", 1);
    lp_ref codes[] = {
        line_code(&image, file, "work", 10, three_lines, 0), line_code(&image, file, "work", 10, two_lines, 0),
        line_code(&image, file, "work", 10, three_lines, 0), line_code(&image, file, "other", 10, three_lines, 0)};
    for (size_t i = 0; i < 4; i++)
        line_calls(&image, line_table(&image, codes[i], 0), i + 1, 0);
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->lines->code_count, 3);
    assert_int_equal(run->lines->table_count, 3);
    assert_int_equal(run->lines->tables[0].calls, 1 + 3);
    assert_int_equal(run->lines->tables[1].calls, 2);
    assert_int_equal(run->lines->codes[1].slot_count, 2);
    assert_int_equal(run->lines->codes[2].code_bytes, 16);
    assert_int_equal(run->lines->codes[2].code[15], 9);
    assert_int_equal(run->lines->codes[2].slots[2].line, 12);
    lp__run_free(run);
    image_release(&image);
}

static void a_source_that_was_edited_is_another_file(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref before = line_file(&image, "/p/a.py", "x = 1\n", 1), after = line_file(&image, "/p/a.py", "x = 2\n", 1);
    (void)line_table(&image, line_code(&image, before, "f", 10, three_lines, 0), 0);
    (void)line_table(&image, line_code(&image, after, "f", 10, three_lines, 0), 0);
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->lines->file_count, 2);
    assert_int_equal(run->lines->code_count, 2);
    lp__run_free(run);
    image_release(&image);
}

/* A call that still runs has charged the place it came from less than what was spent below it. */
static void open_calls_are_tolerated(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref code = line_code(&image, line_file(&image, "/p/a.py", "source", 1), "f", 10, three_lines, 0);
    lp_ref table = line_table(&image, code, 0);
    line_table_at(&image, table)->active = 2;
    *line_slot(&image, table, 0) = (struct lp_line_slot){.events = 3, .own = {10, 50}, .below = 20, .open = 1};
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->lines->tables[0].active, 2);
    assert_true(is_near(run->lines->tables[0].slots[0].self_ns, 30));
    assert_true(is_near(run->lines->tables[0].slots[0].below_ns, 0));
    lp__run_free(run);
    image_release(&image);
}

/* Longer than the process lived: nothing, and counted; but any number of activations may stand still together. */
static void impossible_times_are_left_out(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref code = line_code(&image, line_file(&image, "/p/a.py", "source", 1), "f", 10, three_lines, 0);
    lp_ref table = line_table(&image, code, 0);
    line_add(&image, table, 0, 1, UINT64_MAX);
    line_add(&image, table, 1, 1, 100);
    line_slot(&image, table, 1)->suspended = 1000 * IMAGE_LIFE_TICKS;
    line_calls(&image, table, 1, UINT64_MAX / 2);
    struct lp_run *run = load_image(&image);
    assert_true(is_near(run->lines->tables[0].slots[0].self_ns, 0));
    assert_true(is_near(run->lines->tables[0].slots[1].self_ns, 50));
    assert_true(is_near(run->lines->tables[0].slots[1].suspended_ns, 500.0 * (double)IMAGE_LIFE_TICKS));
    assert_true(is_near(run->lines->tables[0].wall_ns, 0));
    assert_int_equal(run->lines->damaged, 2);
    lp__run_free(run);
    image_release(&image);
}

static void edges_are_joined_and_a_circle_of_them_ends(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref code = line_code(&image, line_file(&image, "/p/a.py", "source", 1), "f", 10, three_lines, 0);
    lp_ref one = line_table(&image, code, 0), two = line_table(&image, code, 0);
    (void)line_call(&image, one, 2, code, 5, 100);
    (void)line_call(&image, two, 2, code, 7, 100);
    lp_ref circle = line_call(&image, two, 1, code, 1, 10);
    ((struct lp_edge_record *)image_at(&image, circle))->next = circle;
    struct lp_run *run = load_image(&image);
    const struct lp_lines *lines = run->lines;
    assert_int_equal(lines->edge_count, 2);
    assert_int_equal(lines->edges[0].slot, 2);
    assert_int_equal(lines->edges[0].calls, 5);
    assert_true(lines->edges[1].calls >= 1);
    assert_true(lines->damaged > 0);
    lp__run_free(run);
    image_release(&image);
}

/* -- companions -------------------------------------------------------------------------------------------------- */

static void a_file_of_lines_is_no_worker(void **state)
{
    struct temp_dir dir;
    struct image image;
    (void)state;
    assert_int_equal(temp_dir_make(&dir), 0);
    image_init(&image);
    image_usual(&image, "a1", "actor", 0);
    put(&dir, &image, "a1.1.00000001");
    struct lp_run *alone = load_dir(&dir, NULL);
    image_init(&image);
    image_fact(&image, "attempt", "a1");
    image_fact(&image, "role", "actor");
    line_usual(&image);
    put(&dir, &image, "a1.1.00000002");
    struct lp_run *run = load_dir(&dir, &with_lines), *without = load_dir(&dir, NULL);
    struct lp_run *both[] = {run, without};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(both[i]->process_count, alone->process_count);
        assert_int_equal(both[i]->role_count, alone->role_count);
        assert_int_equal(both[i]->roles[0].processes, 1);
        assert_true(is_near(both[i]->roles[0].elapsed_ns, alone->roles[0].elapsed_ns));
        assert_int_equal(both[i]->processes[0].threads, alone->processes[0].threads);
    }
    assert_int_equal(run->lines->table_count, 2);
    lp__run_free(run);
    lp__run_free(without);
    lp__run_free(alone);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

static void a_run_may_hold_lines_alone(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    line_usual(&image);
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->process_count, 0);
    assert_int_equal(run->role_count, 0);
    assert_int_equal(run->lines->processes, 1);
    assert_int_equal(run->lines->threads, 1);
    lp__run_free(run);
    image_release(&image);
}

/* -- facts ------------------------------------------------------------------------------------------------------- */

static void facts_are_joined(void **state)
{
    struct temp_dir dir;
    struct image image;
    (void)state;
    assert_int_equal(temp_dir_make(&dir), 0);
    for (int i = 0; i < 2; i++) {
        image_init(&image);
        image_fact(&image, "attempt", "a1");
        image_fact(&image, "lines.mechanism", i ? "settrace" : "monitoring");
        image_fact(&image, "lines.event_cost_ps", i ? "15500" : "9000");
        image_fact(&image, "lines.unobserved", "1");
        image_fact(&image, "lines.unobserved", "2"); /* the last one counts */
        image_fact(&image, "lines.outside", "7\t/lib/a.py\n90\t/lib/b.py\nno number\n\t\n");
        image_fact(&image, "lines.note", "the same note");
        if (i) image_fact(&image, "lines.note", "another");
        lp_ref thread = image_thread(&image, 0);
        ((struct lp_thread_record *)image_at(&image, thread))->drops[LP_DROP_LINES_NO_SPACE] = 3;
        ((struct lp_thread_record *)image_at(&image, thread))->drops[LP_DROP_LINES_LOST] = 4;
        put(&dir, &image, i ? "a1.1.00000001" : "a1.2.00000002");
    }
    struct lp_run *run = load_dir(&dir, &with_lines);
    const struct lp_lines *lines = run->lines;
    assert_string_equal(lines->mechanism, "mixed");
    assert_true(is_near(lines->event_cost_ns, 15.5));
    assert_int_equal(lines->unobserved_threads, 4);
    assert_int_equal(lines->note_count, 2);
    assert_int_equal(lines->outside_count, 2);
    assert_string_equal(lines->outside[0].path, "/lib/b.py");
    assert_int_equal(lines->outside[0].calls, 180);
    assert_int_equal(lines->dropped[0], 6);
    assert_int_equal(lines->dropped[1], 8);
    assert_int_equal(lines->processes, 0);
    lp__run_free(run);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static void regions_are_told_apart_by_their_path(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref a = line_region(&image, 0, "a"), b = line_region(&image, 0, "b");
    lp_ref inner = line_region(&image, a, "x"), other = line_region(&image, b, "x"),
           again = line_region(&image, a, "x");
    (void)line_region_time(&image, inner, 2, 100);
    (void)line_region_time(&image, again, 1, 100);
    lp_ref open = line_region_time(&image, other, 0, 0);
    struct lp_region_entry_record *entry = image_at(&image, open);
    entry->open = 1;
    entry->start_sum = image_header(&image)->closed_ticks - 1000;
    struct lp_run *run = load_image(&image);
    const struct lp_lines *lines = run->lines;
    assert_int_equal(lines->region_count, 4);
    assert_int_equal(lines->regions[2].parent, 0);
    assert_int_equal(lines->regions[2].entries, 3);
    assert_true(is_near(lines->regions[2].wall_ns, 150));
    assert_int_equal(lines->regions[3].parent, 1);
    assert_int_equal(lines->regions[3].entries, 1);
    assert_true(is_near(lines->regions[3].wall_ns, 500));
    lp__run_free(run);
    image_release(&image);
}

static void very_deep_regions_are_folded(void **state)
{
    struct image image;
    lp_ref region = 0;
    (void)state;
    image_init(&image);
    for (int i = 0; i < 2 * LP_LINES_REGION_DEPTH; i++)
        region = line_region(&image, region, "again");
    lp_ref code = line_code(&image, line_file(&image, "/p/a.py", "source", 1), "f", 10, three_lines, 0);
    (void)line_table(&image, code, region);
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->lines->region_count, LP_LINES_REGION_DEPTH);
    assert_int_equal(run->lines->tables[0].region, LP_LINES_REGION_DEPTH - 1);
    lp__run_free(run);
    image_release(&image);
}

/* -- sums -------------------------------------------------------------------------------------------------------- */

static void the_newest_sums_count(void **state)
{
    static const struct lp_sums_row row = {10, LP_ROW_EXACT, 1};
    static const struct lp_sums_term first = {1, 0}, second = {2, 0}, impossible = {1, 6};
    struct image image;
    (void)state;
    image_init(&image);
    lp_ref file = line_file(&image, "/p/a.py", "source", 1);
    lp_ref code = line_code(&image, file, "f", 10, three_lines, 1),
           other = line_code(&image, file, "g", 11, three_lines, 1);
    (void)line_sums(&image, code, "source", 3, &row, 1, &second, 1);
    (void)line_sums(&image, code, "source", 2, &row, 1, &first, 1);
    (void)line_sums(&image, code, "another", 9, &row, 1, &first, 1);
    (void)line_sums(&image, other, "source", 1, &row, 1, &impossible, 1); /* counters 0 … 5 exist */
    struct lp_run *run = load_image(&image);
    const struct lp_lines_code *codes = run->lines->codes;
    assert_int_equal(codes[0].row_count, 1);
    assert_int_equal(codes[0].terms[0].factor, 2);
    assert_null(codes[1].rows);
    assert_int_equal(run->lines->damaged, 1);
    lp__run_free(run);
    image_release(&image);
}

/* -- sources ----------------------------------------------------------------------------------------------------- */

/* The state of a file of this path with this text, of which the image has the hash alone. */
static enum lp_source_state state_of(const char *path, const char *text)
{
    struct image image;
    image_init(&image);
    (void)line_file(&image, path, text, 0);
    struct lp_run *run = load_image(&image);
    const struct lp_lines_file *file = &run->lines->files[0];
    enum lp_source_state state = file->source;
    if (state == LP_SOURCE_OK)
        assert_string_equal(file->text, text);
    else
        assert_null(file->text);
    lp__run_free(run);
    image_release(&image);
    return state;
}

static void sources_are_read_and_compared(void **state)
{
    struct temp_dir dir;
    char path[200], link[200];
    (void)state;
    assert_int_equal(temp_dir_make(&dir), 0);
    assert_int_equal(temp_dir_put(&dir, "a.py", "x = 1\n", 6), 0);
    (void)snprintf(path, sizeof path, "%s/a.py", dir.path);
    (void)snprintf(link, sizeof link, "%s/link.py", dir.path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(state_of(path, "x = 1\n"), LP_SOURCE_OK);
    assert_int_equal(state_of(path, "x = 2\n"), LP_SOURCE_CHANGED);
    assert_int_equal(state_of(path, "x = 11\n"), LP_SOURCE_CHANGED);
    assert_int_equal(state_of(link, "x = 1\n"), LP_SOURCE_MISSING);
    assert_int_equal(state_of(dir.path, "x = 1\n"), LP_SOURCE_MISSING);
    assert_int_equal(state_of("a.py", "x = 1\n"), LP_SOURCE_MISSING);
    assert_int_equal(state_of("/no/such/file.py", "x = 1\n"), LP_SOURCE_MISSING);
    assert_int_equal(state_of(path, NULL), LP_SOURCE_NONE);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

static void a_text_that_came_along_is_believed_if_it_is_the_one(void **state)
{
    struct image image;
    (void)state;
    image_init(&image);
    (void)line_file(&image, "<cell 1>", "good", 1);
    lp_ref bad = line_file(&image, "<cell 2>", "good too", 1);
    ((char *)image_at(&image, bad))[sizeof(struct lp_file_record)] = 'f';
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->lines->files[0].source, LP_SOURCE_OK);
    assert_string_equal(run->lines->files[0].text, "good");
    assert_int_equal(run->lines->files[1].source, LP_SOURCE_MISSING);
    assert_null(run->lines->files[1].text);
    lp__run_free(run);
    image_release(&image);
}

/* -- damage ------------------------------------------------------------------------------------------------------ */

static void unknown_kinds_are_skipped(void **state)
{
    struct image image;
    uint32_t later[6] = {24, 99, 1, 2, 3, 4};
    (void)state;
    image_init(&image);
    (void)image_append(&image, LP_SEGMENT_CODE, later, sizeof later);
    line_usual(&image);
    struct lp_run *run = load_image(&image);
    assert_int_equal(run->lines->code_count, 2);
    assert_int_equal(run->lines->damaged, 0);
    lp__run_free(run);
    image_release(&image);
}

/* What a loaded image must keep to, whatever stands in it. */
static void check(const struct lp_run *run)
{
    const struct lp_lines *lines = run->lines;
    for (size_t i = 0; i < lines->code_count; i++)
        assert_true(lines->codes[i].file < lines->file_count);
    for (size_t i = 0; i < lines->table_count; i++) {
        const struct lp_lines_table *table = &lines->tables[i];
        assert_true(table->code < lines->code_count);
        assert_true(table->region == UINT32_MAX || table->region < lines->region_count);
        for (uint32_t s = 0; s <= lines->codes[table->code].slot_count; s++)
            assert_true(isfinite(table->slots[s].self_ns) && table->slots[s].below_ns >= 0);
    }
    for (size_t i = 0; i < lines->edge_count; i++) {
        const struct lp_lines_edge *edge = &lines->edges[i];
        assert_true(edge->caller < lines->code_count && edge->callee < lines->code_count);
        assert_true(edge->slot <= lines->codes[edge->caller].slot_count);
    }
    for (uint32_t i = 0; i < lines->region_count; i++)
        assert_true(lines->regions[i].parent == UINT32_MAX || lines->regions[i].parent < i);
}

static bool holds_lines(uint16_t type)
{
    return type >= LP_SEGMENT_CODE && type <= LP_SEGMENT_REGIONS;
}

/* Every word of every record, with values that offsets, counts and sizes break on. */
static void no_word_can_break_the_reader(void **state)
{
    static const uint32_t values[] = {0, 1, 7, 8, 16, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0xFFFFFFF8};
    struct image image, copy;
    unsigned tried = 0;
    (void)state;
    image_init(&image);
    image.capacity = 1024;
    line_usual(&image);
    copy.bytes = malloc(image.len);
    assert_non_null(copy.bytes);
    for (size_t at = sizeof(struct lp_file_header); at < image.len;) {
        const struct lp_segment_header *segment = image_segment_header(&image, at);
        size_t from = at + sizeof *segment, used = holds_lines(segment->type) ? segment->used : 0;
        for (size_t word = from; word < from + used; word += 4)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                struct lp_run *run = NULL;
                memcpy(copy.bytes, image.bytes, image.len);
                memcpy(copy.bytes + word, &values[v], 4);
                assert_int_equal(lp__run_load_image_with(copy.bytes, image.len, &with_lines, &run, NULL), LP_OK);
                check(run);
                lp__run_free(run);
                tried++;
            }
        at += segment->capacity;
    }
    assert_true(tried > 2000);
    free(copy.bytes);
    image_release(&image);
}

/* Cut anywhere: what stands before the cut is read. */
static void a_cut_file_keeps_what_is_whole(void **state)
{
    struct image image;
    size_t codes = 0;
    (void)state;
    image_init(&image);
    line_usual(&image);
    for (size_t len = sizeof(struct lp_file_header); len <= image.len; len += 200) {
        struct lp_run *run = NULL;
        uint8_t *copy = malloc(len);
        assert_non_null(copy);
        memcpy(copy, image.bytes, len);
        if (!lp__run_load_image_with(copy, len, &with_lines, &run, NULL)) {
            check(run);
            assert_true(run->lines->code_count >= codes);
            codes = run->lines->code_count;
        }
        lp__run_free(run);
        free(copy);
    }
    assert_int_equal(codes, 2);
    image_release(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_processes_are_joined),
        cmocka_unit_test(lines_are_only_read_where_asked_for),
        cmocka_unit_test(other_instructions_are_another_code_object),
        cmocka_unit_test(a_source_that_was_edited_is_another_file),
        cmocka_unit_test(open_calls_are_tolerated),
        cmocka_unit_test(impossible_times_are_left_out),
        cmocka_unit_test(edges_are_joined_and_a_circle_of_them_ends),
        cmocka_unit_test(a_file_of_lines_is_no_worker),
        cmocka_unit_test(a_run_may_hold_lines_alone),
        cmocka_unit_test(facts_are_joined),
        cmocka_unit_test(regions_are_told_apart_by_their_path),
        cmocka_unit_test(very_deep_regions_are_folded),
        cmocka_unit_test(the_newest_sums_count),
        cmocka_unit_test(sources_are_read_and_compared),
        cmocka_unit_test(a_text_that_came_along_is_believed_if_it_is_the_one),
        cmocka_unit_test(unknown_kinds_are_skipped),
        cmocka_unit_test(no_word_can_break_the_reader),
        cmocka_unit_test(a_cut_file_keeps_what_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
