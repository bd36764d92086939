/* The report of lines: what stands in a row, what adds up to what, who called whom. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/lines.h"
#include "merge/run.h"
#include "support/line_builder.h"

/* A report and all it borrows from. */
struct built {
    struct image image;
    struct lp_run *run;
    struct lp_line_report *report;
};

static void build(struct built *built)
{
    static const struct lp_run_options with_lines = {.lines = true};
    image_seal(&built->image);
    assert_int_equal(lp__run_load_image_with(built->image.bytes, built->image.len, &with_lines, &built->run, NULL),
                     LP_OK);
    assert_int_equal(lp__lines_build(built->run, &built->report, NULL), LP_OK);
}

static void release(struct built *built)
{
    lp__lines_free(built->report);
    lp__run_free(built->run);
    image_release(&built->image);
}

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-6 * fabs(wanted) + 1e-3;
}

static const struct lp_line_function *function_of(const struct built *built, const char *name)
{
    for (size_t i = 0; i < built->report->function_count; i++)
        if (strcmp(built->report->functions[i].name.bytes, name) == 0) return &built->report->functions[i];
    fail_msg("no function %s", name);
    return NULL;
}

static const struct lp_line_row *row_of(const struct lp_line_function *function, uint32_t line)
{
    for (size_t i = 0; i < function->row_count; i++)
        if (function->rows[i].line == line) return &function->rows[i];
    fail_msg("no row of line %u", line);
    return NULL;
}

static const uint32_t lines_10[] = {10, 11, 12, 0};

static lp_ref code_in(struct image *image, const char *path, const char *name, uint32_t first)
{
    uint32_t lines[] = {first, first + 1, first + 2, 0};
    return line_code(image, line_file(image, path, "source", 1), name, first, lines, 0);
}

/* -- rows -------------------------------------------------------------------------------------------------------- */

static void rows_hold_hits_and_times(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    line_usual(&built.image);
    build(&built);
    const struct lp_line_report *report = built.report;
    const struct lp_line_function *inner = function_of(&built, "inner"), *outer = function_of(&built, "outer");
    assert_ptr_equal(outer, &report->functions[0]); /* the most total time */
    assert_int_equal(inner->calls, 300);
    assert_true(is_near(inner->total_ns, 3e6));
    assert_true(is_near(outer->total_ns, 4e6));
    assert_int_equal(inner->last_line, 5);
    assert_int_equal(inner->row_count, 4);
    assert_int_equal(row_of(inner, 3)->hits, 45150);
    assert_int_equal(row_of(inner, 3)->mark, LP_ROW_EXACT);
    assert_int_equal(row_of(inner, 3)->events, 45150);
    assert_true(is_near(row_of(inner, 2)->self_ns, 150e3)); /* 50 us and the entry's 100 */
    assert_true(is_near(row_of(outer, 9)->self_ns, 450e3));
    assert_true(is_near(row_of(outer, 9)->inclusive_ns, 3450e3));
    assert_int_equal(report->events, 91201);
    assert_int_equal(report->hot[0].function, inner - report->functions);
    assert_int_equal(inner->rows[report->hot[0].row].line, 4);
    assert_int_equal(report->file_count, 1);
    assert_int_equal(report->files[0].functions[0], inner - report->functions);
    assert_int_equal(report->files[0].hits, 91201);
    assert_int_equal(report->python, 0);
    release(&built);
}

/* The entry's time goes to the first line that ran, not to the first there is. */
static void the_entry_belongs_to_the_first_line_that_ran(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    lp_ref table = line_table(&built.image, code_in(&built.image, "/p/a.py", "f", 10), 0);
    line_add(&built.image, table, 1, 1, 100);
    line_add(&built.image, table, 2, 5, 100);
    line_add(&built.image, table, 3, 0, 1000);
    build(&built);
    const struct lp_line_function *f = function_of(&built, "f");
    assert_int_equal(f->row_count, 2);
    assert_true(is_near(row_of(f, 11)->self_ns, 550));
    assert_true(is_near(row_of(f, 12)->self_ns, 50));
    assert_int_equal(f->code_line_count, 3); /* 10 was not executed */
    release(&built);
}

static void a_function_whose_lines_never_ran_keeps_its_time(void **state)
{
    static const uint32_t none[] = {0};
    struct built built;
    (void)state;
    image_init(&built.image);
    lp_ref code = line_code(&built.image, line_file(&built.image, "/p/a.py", NULL, 0), "f", 10, none, 0);
    line_add(&built.image, line_table(&built.image, code, 0), 0, 0, 1000);
    build(&built);
    const struct lp_line_function *f = function_of(&built, "f");
    assert_int_equal(f->row_count, 1);
    assert_int_equal(f->rows[0].line, 10);
    assert_true(is_near(f->rows[0].self_ns, 500));
    assert_int_equal(built.report->files[0].source, LP_SOURCE_NONE);
    release(&built);
}

static void executions_come_from_the_sums(void **state)
{
    static const struct lp_sums_row rows[] = {{10, LP_ROW_EXACT, 2},
                                              {11, LP_ROW_EVENTS, 1},
                                              {12, LP_ROW_EXACT, 1},
                                              {13, LP_ROW_PART, 1},
                                              {15, LP_ROW_EXACT, 1}};
    /* calls - slot 0; slot 1; nothing; slot 3; branch taken */
    static const struct lp_sums_term terms[] = {{1, 5}, {-1, 0}, {1, 1}, {0, 0}, {2, 3}, {1, 7}};
    static const uint32_t lines[] = {10, 11, 12, 13, 14, 0};
    struct built built;
    (void)state;
    image_init(&built.image);
    lp_ref code = line_code(&built.image, line_file(&built.image, "/p/a.py", "source", 1), "f", 10, lines, 1);
    (void)line_sums(&built.image, code, "source", 1, rows, 5, terms, 6);
    lp_ref table = line_table(&built.image, code, 0);
    for (uint32_t slot = 0; slot < 5; slot++)
        line_add(&built.image, table, slot, slot + 1, 10);
    line_calls(&built.image, table, 9, 100);
    line_branch(&built.image, table, 0)[1] = 77;
    build(&built);
    const struct lp_line_function *f = function_of(&built, "f");
    assert_int_equal(row_of(f, 10)->hits, 9 - 1);
    assert_int_equal(row_of(f, 10)->mark, LP_ROW_EXACT);
    assert_int_equal(row_of(f, 11)->hits, 2);
    assert_int_equal(row_of(f, 11)->mark, LP_ROW_EVENTS);
    assert_int_equal(row_of(f, 12)->hits, 3); /* it adds up to nothing and yet sent events */
    assert_int_equal(row_of(f, 12)->mark, LP_ROW_EVENTS);
    assert_int_equal(row_of(f, 13)->hits, 2 * 4);
    assert_int_equal(row_of(f, 13)->mark, LP_ROW_PART);
    assert_int_equal(row_of(f, 14)->hits, 0); /* a closing bracket: no row of the sums */
    assert_int_equal(row_of(f, 14)->mark, LP_ROW_PART);
    assert_int_equal(row_of(f, 14)->events, 5);
    assert_int_equal(row_of(f, 15)->hits, 77); /* a row that sends no events at all */
    release(&built);
}

/* f's lines 10 and 11 in and outside a region; line 10 was entered outside and sends its second event inside. */
static void build_split(struct built *built, uint64_t calls)
{
    static const struct lp_sums_row rows[] = {{10, LP_ROW_EXACT, 1}, {11, LP_ROW_EXACT, 1}};
    static const struct lp_sums_term terms[] = {{1, 3}, {1, 1}};
    image_init(&built->image);
    struct image *image = &built->image;
    lp_ref code = code_in(image, "/p/a.py", "f", 10), region = line_region(image, 0, "part");
    (void)line_sums(image, code, "source", 1, rows, 2, terms, 2);
    lp_ref outside = line_table(image, code, 0), inside = line_table(image, code, region);
    line_add(image, outside, 0, 1, 10);
    line_calls(image, outside, calls, 40);
    line_add(image, inside, 0, 1, 10);
    line_add(image, inside, 1, 2, 20);
    build(built);
}

static void a_region_shows_what_the_whole_run_proved(void **state)
{
    struct built built;
    (void)state;
    build_split(&built, 1);
    assert_int_equal(row_of(function_of(&built, "f"), 10)->hits, 1);
    const struct lp_line_region *region = &built.report->regions[0];
    assert_int_equal(region->row_count, 2);
    assert_int_equal(region->rows[0].line, 11);
    assert_int_equal(region->rows[0].hits, 2);
    assert_int_equal(region->rows[1].hits, 0);
    assert_int_equal(region->rows[1].mark, LP_ROW_EXACT);
    release(&built);
}

/* `with profiler:` began before anybody watched: its end is no execution, and nothing that was not understood. */
static void what_began_before_shows_no_execution(void **state)
{
    struct built built;
    (void)state;
    build_split(&built, 0);
    assert_int_equal(row_of(function_of(&built, "f"), 10)->hits, 0);
    assert_int_equal(row_of(function_of(&built, "f"), 10)->mark, LP_ROW_PART);
    assert_int_equal(row_of(function_of(&built, "f"), 10)->events, 2);
    assert_int_equal(row_of(function_of(&built, "f"), 11)->hits, 2);
    release(&built);
}

static void without_sums_there_are_line_events(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    lp_ref table = line_table(&built.image, code_in(&built.image, "/p/a.py", "f", 10), 0);
    line_add(&built.image, table, 1, 42, 100);
    build(&built);
    assert_int_equal(row_of(function_of(&built, "f"), 11)->hits, 42);
    assert_int_equal(row_of(function_of(&built, "f"), 11)->mark, LP_ROW_EVENTS);
    assert_int_equal(built.report->python, 0x030C0100);
    release(&built);
}

static void code_objects_of_one_identity_are_one_function(void **state)
{
    static const struct lp_sums_row row = {10, LP_ROW_EXACT, 1};
    static const struct lp_sums_term term = {1, 0};
    static const uint32_t other_lines[] = {10, 13, 0};
    struct built built;
    (void)state;
    image_init(&built.image);
    lp_ref file = line_file(&built.image, "/p/a.py", "source", 1);
    lp_ref one = line_code(&built.image, file, "f", 10, lines_10, 0);
    lp_ref two = line_code(&built.image, file, "f", 10, other_lines, 0);
    (void)line_code(&built.image, file, "g", 10, other_lines, 0);
    (void)line_sums(&built.image, one, "source", 1, &row, 1, &term, 1);
    lp_ref first = line_table(&built.image, one, 0), second = line_table(&built.image, two, 0);
    line_add(&built.image, first, 0, 3, 100);
    line_add(&built.image, second, 0, 4, 100);
    line_calls(&built.image, first, 3, 100);
    line_calls(&built.image, second, 4, 100);
    build(&built);
    const struct lp_line_function *f = function_of(&built, "f");
    assert_int_equal(built.report->function_count, 2);
    assert_int_equal(f->calls, 7);
    assert_true(is_near(f->total_ns, 100));
    assert_int_equal(row_of(f, 10)->hits, 7);
    assert_int_equal(row_of(f, 10)->mark, LP_ROW_EVENTS); /* of one of the two it is not known */
    assert_int_equal(f->code_line_count, 4);
    assert_int_equal(function_of(&built, "g")->row_count, 0);
    release(&built);
}

/* -- calls ------------------------------------------------------------------------------------------------------- */

static void calls_stand_at_both_ends(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    line_usual(&built.image);
    build(&built);
    const struct lp_line_function *inner = function_of(&built, "inner"), *outer = function_of(&built, "outer");
    assert_int_equal(outer->callee_count, 1);
    assert_int_equal(outer->callees[0].function, inner - built.report->functions);
    assert_int_equal(outer->callees[0].line, 9);
    assert_int_equal(outer->callees[0].calls, 300);
    assert_true(is_near(outer->callees[0].inclusive_ns, 3e6));
    assert_int_equal(inner->caller_count, 1);
    assert_int_equal(inner->callers[0].function, outer - built.report->functions);
    assert_int_equal(inner->callers[0].line, 9);
    assert_int_equal(outer->caller_count, 0);
    release(&built);
}

/* f calls itself five deep around one busy line: the time of inner activations is in their own places. */
static void build_recursion(struct built *built)
{
    image_init(&built->image);
    image_fact(&built->image, "lines.event_cost_ps", "1000");
    lp_ref code = code_in(&built->image, "/p/a.py", "f", 10), table = line_table(&built->image, code, 0);
    line_add(&built->image, table, 0, 5, 100);
    line_add(&built->image, table, 1, 1, 10000);
    (void)line_call(&built->image, table, 2, code, 4, 10100);
    *line_slot(&built->image, table, 2) = (struct lp_line_slot){
        .events = 4, .own = {10, 40}, .below = 10100, .edges = line_slot(&built->image, table, 2)->edges};
    line_calls(&built->image, table, 5, 10150);
    build(built);
}

static void recursion_counts_once(void **state)
{
    struct built built;
    (void)state;
    build_recursion(&built);
    const struct lp_line_function *f = function_of(&built, "f");
    assert_true(is_near(f->total_ns, 5075));
    assert_true(is_near(f->self_ns, 5075));
    assert_true(is_near(row_of(f, 12)->self_ns, 25));
    assert_true(is_near(row_of(f, 12)->inclusive_ns, 5055));
    for (size_t i = 0; i < f->row_count; i++) {
        assert_true(f->rows[i].inclusive_ns <= f->total_ns);
        assert_true(f->rows[i].corrected_inclusive_ns <= f->corrected_total_ns + 1e-6);
    }
    release(&built);
}

/* -- correction -------------------------------------------------------------------------------------------------- */

static void the_cost_of_events_is_taken_off(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    line_usual(&built.image); /* 15 ns an event */
    build(&built);
    const struct lp_line_function *inner = function_of(&built, "inner"), *outer = function_of(&built, "outer");
    assert_true(is_near(row_of(inner, 4)->corrected_self_ns, 1500e3 - 44850 * 15));
    assert_true(is_near(inner->corrected_total_ns, 3e6 - 90600 * 15));
    assert_true(is_near(outer->corrected_total_ns, 4e6 - 91201 * 15));
    assert_true(is_near(row_of(outer, 9)->corrected_inclusive_ns, 450e3 - 300 * 15 + inner->corrected_total_ns));
    assert_true(is_near(built.report->corrected_ns, 4e6 - 91201 * 15));
    assert_true(is_near(built.report->regions[0].corrected_self_ns, inner->corrected_total_ns));
    release(&built);
}

static void nothing_is_corrected_below_zero(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    image_fact(&built.image, "lines.event_cost_ps", "1000000000");
    line_usual(&built.image);
    image_fact(&built.image, "lines.event_cost_ps", "1000000000");
    build(&built);
    for (size_t f = 0; f < built.report->function_count; f++) {
        const struct lp_line_function *function = &built.report->functions[f];
        assert_true(function->corrected_total_ns >= 0 && function->corrected_self_ns >= 0);
        for (size_t i = 0; i < function->row_count; i++) {
            assert_true(function->rows[i].corrected_self_ns >= 0);
            assert_true(function->rows[i].corrected_inclusive_ns >= function->rows[i].corrected_self_ns);
        }
    }
    release(&built);
}

static void an_unknown_cost_takes_nothing_off(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    lp_ref table = line_table(&built.image, code_in(&built.image, "/p/a.py", "f", 10), 0);
    line_add(&built.image, table, 1, 42, 100);
    build(&built);
    assert_true(isnan(built.report->event_cost_ns));
    assert_true(is_near(row_of(function_of(&built, "f"), 11)->corrected_self_ns, 50));
    release(&built);
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static void regions_hold_those_inside_them(void **state)
{
    struct built built;
    (void)state;
    image_init(&built.image);
    struct image *image = &built.image;
    lp_ref code = code_in(image, "/p/a.py", "f", 10);
    lp_ref a = line_region(image, 0, "a"), inner = line_region(image, a, "inner"), b = line_region(image, 0, "b");
    lp_ref regions[] = {0, a, inner, b};
    for (uint32_t i = 0; i < 4; i++)
        line_add(image, line_table(image, code, regions[i]), 1, i + 1, 100 * (i + 1));
    line_add(image, line_table(image, code, b), 3, 0, 20); /* an entry: to the line that it is part of everywhere */
    build(&built);
    const struct lp_line_region *found = built.report->regions;
    assert_int_equal(built.report->region_count, 3);
    assert_true(is_near(built.report->profiled_ns, 510));
    assert_true(is_near(found[0].self_ns, 100 + 150));
    assert_true(is_near(found[1].self_ns, 150));
    assert_true(is_near(found[2].self_ns, 200 + 10));
    assert_true(is_near(found[0].share + found[2].share, 460 / 510.0));
    assert_int_equal(found[0].rows[0].events, 2 + 3);
    assert_int_equal(found[2].row_count, 1);
    assert_int_equal(found[2].rows[0].line, 11);
    release(&built);
}

/* -- conservation ------------------------------------------------------------------------------------------------ */

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

enum { CODES = 12 };

static void random_tables(struct image *image, unsigned *random, const lp_ref *codes, const lp_ref *regions)
{
    unsigned tables = 1 + next_random(random) % 40;
    for (unsigned t = 0; t < tables; t++) {
        lp_ref code = codes[next_random(random) % CODES];
        lp_ref table = line_table(image, code, regions[next_random(random) % 4]);
        uint64_t wall = 0;
        for (uint32_t slot = 0; slot <= 3; slot++) {
            line_add(image, table, slot, slot < 3 ? next_random(random) % 50 : 0, next_random(random) % 100000);
            unsigned edges = next_random(random) % 3;
            for (unsigned e = 0; e < edges; e++)
                (void)line_call(image, table, slot, codes[next_random(random) % CODES], next_random(random) % 9,
                                next_random(random) % 100000);
            struct lp_line_slot *at = line_slot(image, table, slot);
            at->own[1] = at->below / 3;
            wall += at->own[0] + at->below;
        }
        line_calls(image, table, next_random(random) % 100, wall);
    }
}

static void random_image(struct image *image, unsigned seed)
{
    static const char *const paths[] = {"/p/a.py", "/p/b.py", "/p/c.py"};
    unsigned random = seed;
    lp_ref codes[CODES], regions[4] = {0};
    char name[] = "f_";
    image_init(image);
    image_fact(image, "lines.event_cost_ps", "20000");
    for (unsigned i = 0; i < CODES; i++) {
        name[1] = (char)('a' + i / 2);
        codes[i] = code_in(image, paths[i % 3], name, 10 + i / 4);
    }
    for (unsigned i = 1; i < 4; i++)
        regions[i] = line_region(image, i == 2 ? regions[1] : 0, i == 3 ? "other" : "a");
    random_tables(image, &random, codes, regions);
}

static double self_of_rows(const struct lp_line_function *function)
{
    double sum = 0;
    for (size_t i = 0; i < function->row_count; i++) {
        const struct lp_line_row *row = &function->rows[i];
        assert_true(row->inclusive_ns >= row->self_ns && row->corrected_self_ns <= row->self_ns);
        assert_true(row->corrected_inclusive_ns <= row->inclusive_ns + 1e-6);
        assert_true(!i || row->line > function->rows[i - 1].line);
        sum += row->self_ns;
    }
    return sum;
}

/* What was charged, in ns. */
static double charged(const struct lp_run *run)
{
    double sum = 0;
    for (size_t i = 0; i < run->lines->table_count; i++)
        for (uint32_t s = 0; s <= 3; s++)
            sum += run->lines->tables[i].slots[s].self_ns;
    return sum;
}

static void check_sums(const struct built *built)
{
    const struct lp_line_report *report = built->report;
    double files = 0, regions = 0, outside = 0;
    for (size_t f = 0; f < report->file_count; f++) {
        double functions = 0;
        for (size_t i = 0; i < report->files[f].function_count; i++) {
            const struct lp_line_function *function = &report->functions[report->files[f].functions[i]];
            assert_int_equal(function->file, f);
            assert_true(is_near(self_of_rows(function), function->self_ns));
            assert_true(function->total_ns >= function->self_ns - 1e-6);
            functions += function->self_ns;
        }
        assert_true(is_near(functions, report->files[f].self_ns));
        files += report->files[f].self_ns;
    }
    assert_true(is_near(files, report->profiled_ns));
    assert_true(is_near(charged(built->run), report->profiled_ns));
    for (size_t i = 0; i < report->region_count; i++)
        if (report->regions[i].parent == UINT32_MAX) regions += report->regions[i].self_ns;
    for (size_t i = 0; i < built->run->lines->table_count; i++)
        for (uint32_t s = 0; s <= 3 && built->run->lines->tables[i].region == UINT32_MAX; s++)
            outside += built->run->lines->tables[i].slots[s].self_ns;
    assert_true(is_near(regions + outside, report->profiled_ns));
}

static void check_stacks(const struct lp_line_report *report)
{
    struct lp_line_stacks *stacks;
    uint64_t total = 0;
    assert_int_equal(lp__line_stacks(report, &stacks, NULL), LP_OK);
    for (uint32_t i = 0; i < stacks->count; i++) {
        assert_true(stacks->at[i].parent == UINT32_MAX || stacks->at[i].parent < i);
        total += stacks->at[i].self_ns;
    }
    assert_int_equal(total, stacks->total_ns);
    assert_true(fabs((double)total - report->profiled_ns) <= 1);
    lp__line_stacks_free(stacks);
}

static void everything_adds_up(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct built built;
        random_image(&built.image, seed);
        build(&built);
        check_sums(&built);
        check_stacks(built.report);
        release(&built);
    }
}

/* -- call paths -------------------------------------------------------------------------------------------------- */

/* Two callers, 3 : 1; the callee's time is theirs in that proportion. */
static void a_function_with_two_callers_is_divided(void **state)
{
    struct built built;
    struct lp_line_stacks *stacks;
    (void)state;
    image_init(&built.image);
    struct image *image = &built.image;
    lp_ref a = code_in(image, "/p/a.py", "a", 10), b = code_in(image, "/p/a.py", "b", 20);
    lp_ref shared = code_in(image, "/p/a.py", "shared", 30);
    lp_ref of_a = line_table(image, a, 0), of_b = line_table(image, b, 0), of_shared = line_table(image, shared, 0);
    line_add(image, of_a, 0, 1, 1000);
    line_add(image, of_b, 0, 1, 2000);
    line_add(image, of_shared, 0, 4, 80000);
    (void)line_call(image, of_a, 0, shared, 1, 60000);
    (void)line_call(image, of_b, 0, shared, 3, 20000);
    line_calls(image, of_a, 1, 61000);
    line_calls(image, of_b, 1, 22000);
    line_calls(image, of_shared, 4, 80000);
    build(&built);
    assert_int_equal(lp__line_stacks(built.report, &stacks, NULL), LP_OK);
    assert_int_equal(stacks->count, 4);
    const char *const names[] = {"a", "shared", "b", "shared"};
    static const uint64_t selfs[] = {500, 30000, 1000, 10000};
    uint64_t found[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        const struct lp_line_function *function = &built.report->functions[stacks->at[i].function];
        bool is_shared = strcmp(function->name.bytes, "shared") == 0;
        assert_int_equal(stacks->at[i].shared, is_shared);
        assert_true(is_shared == (stacks->at[i].parent != UINT32_MAX));
        for (size_t n = 0; n < 4; n++)
            if (strcmp(names[n], function->name.bytes) == 0 && stacks->at[i].self_ns == selfs[n]) found[n]++;
    }
    for (size_t n = 0; n < 4; n++)
        assert_int_equal(found[n], 1);
    assert_int_equal(stacks->total_ns, 41500);
    lp__line_stacks_free(stacks);
    release(&built);
}

static void recursion_is_one_frame(void **state)
{
    struct built built;
    struct lp_line_stacks *stacks;
    (void)state;
    build_recursion(&built);
    assert_int_equal(lp__line_stacks(built.report, &stacks, NULL), LP_OK);
    assert_int_equal(stacks->count, 1);
    assert_int_equal(stacks->total_ns, 5075);
    lp__line_stacks_free(stacks);
    release(&built);
}

/* -- texts ------------------------------------------------------------------------------------------------------- */

static void check_line(const struct lp_line_file *file, uint32_t line, const char *wanted)
{
    struct lp_text text;
    assert_true(lp__line_text(file, line, &text));
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.bytes, wanted, text.len);
}

static void lines_end_as_python_ends_them(void **state)
{
    struct built built;
    struct lp_text text;
    (void)state;
    image_init(&built.image);
    lp_ref file = line_file(&built.image, "/p/a.py", "\xEF\xBB\xBFone\r\ntwo\rthree\n\nlast", 1);
    (void)line_table(&built.image, line_code(&built.image, file, "f", 10, lines_10, 0), 0);
    build(&built);
    const struct lp_line_file *found = &built.report->files[0];
    assert_int_equal(found->line_count, 5);
    check_line(found, 1, "one");
    check_line(found, 2, "two");
    check_line(found, 3, "three");
    check_line(found, 4, "");
    check_line(found, 5, "last");
    assert_false(lp__line_text(found, 0, &text));
    assert_false(lp__line_text(found, 6, &text));
    release(&built);
}

static void a_run_without_lines_is_an_empty_report(void **state)
{
    struct built built;
    struct lp_line_report *report;
    struct lp_run *run;
    (void)state;
    image_init(&built.image);
    image_usual(&built.image, "a1", "actor", 0);
    build(&built);
    assert_int_equal(built.report->function_count, 0);
    assert_int_equal(built.report->hot_count, 0);
    check_stacks(built.report);
    assert_int_equal(lp__run_load_image(built.image.bytes, built.image.len, &run, NULL), LP_OK);
    assert_int_equal(lp__lines_build(run, &report, NULL), LP_OK); /* lines were not even asked for */
    assert_int_equal(report->function_count, 0);
    lp__lines_free(report);
    lp__run_free(run);
    release(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_hold_hits_and_times),
        cmocka_unit_test(the_entry_belongs_to_the_first_line_that_ran),
        cmocka_unit_test(a_function_whose_lines_never_ran_keeps_its_time),
        cmocka_unit_test(executions_come_from_the_sums),
        cmocka_unit_test(a_region_shows_what_the_whole_run_proved),
        cmocka_unit_test(what_began_before_shows_no_execution),
        cmocka_unit_test(without_sums_there_are_line_events),
        cmocka_unit_test(code_objects_of_one_identity_are_one_function),
        cmocka_unit_test(calls_stand_at_both_ends),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(the_cost_of_events_is_taken_off),
        cmocka_unit_test(nothing_is_corrected_below_zero),
        cmocka_unit_test(an_unknown_cost_takes_nothing_off),
        cmocka_unit_test(regions_hold_those_inside_them),
        cmocka_unit_test(everything_adds_up),
        cmocka_unit_test(a_function_with_two_callers_is_divided),
        cmocka_unit_test(recursion_is_one_frame),
        cmocka_unit_test(lines_end_as_python_ends_them),
        cmocka_unit_test(a_run_without_lines_is_an_empty_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
