/* Sums of counters on graphs made by hand. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyse/statements.h"
#include "collect/code_slots.h"
#include "support/code_builder.h"
#include "support/unit_builder.h"

/* A code object, its source, and what the pass says of the two. */
struct worked {
    struct code code;
    struct source source;
    struct lp_code_opcodes opcodes;
    struct lp_code_slots slots;
    struct lp_statements_input input;
    struct lp_statement_sums sums;
};

static const uint32_t module_scope[] = {0};

static void prepare(struct worked *worked)
{
    source_pack(&worked->source);
    code_opcodes(&worked->opcodes);
    assert_int_equal(lp__code_slots(&worked->code.raw, &worked->opcodes, &worked->slots, NULL), LP_OK);
    worked->input = (struct lp_statements_input){.code = worked->code.raw,
                                                 .opcodes = &worked->opcodes,
                                                 .slots = worked->slots.slots,
                                                 .branches = worked->slots.branch_places,
                                                 .slot_count = worked->slots.slot_count,
                                                 .branch_count = worked->slots.branch_count,
                                                 .units = worked->source.packed,
                                                 .units_bytes = worked->source.bytes,
                                                 .scopes = module_scope,
                                                 .scope_count = 1};
}

static void work_out(struct worked *worked)
{
    prepare(worked);
    assert_int_equal(lp__statement_sums(&worked->input, &worked->sums, NULL), LP_OK);
}

static void forget(struct worked *worked)
{
    lp__statement_sums_release(&worked->sums);
    lp__code_slots_release(&worked->slots);
}

static const struct lp_sums_row *row_of(const struct worked *worked, uint32_t line, const struct lp_sums_term **terms)
{
    *terms = worked->sums.terms;
    for (uint32_t i = 0; i < worked->sums.row_count; i++) {
        if (worked->sums.rows[i].line == line) return &worked->sums.rows[i];
        *terms += worked->sums.rows[i].term_count;
    }
    fail_msg("no row %u", line);
    return NULL;
}

/* The factor of the line events at a code unit in a row's sum; 0 where it is no part of it. */
static int factor_of_unit(const struct worked *worked, uint32_t line, uint32_t unit)
{
    const struct lp_sums_term *terms;
    const struct lp_sums_row *row = row_of(worked, line, &terms);
    for (uint32_t i = 0; i < row->term_count; i++)
        if (terms[i].counter == worked->slots.slot_of[unit]) return terms[i].factor;
    return 0;
}

static int factor_of_counter(const struct worked *worked, uint32_t line, uint32_t counter)
{
    const struct lp_sums_term *terms;
    const struct lp_sums_row *row = row_of(worked, line, &terms);
    for (uint32_t i = 0; i < row->term_count; i++)
        if (terms[i].counter == counter) return terms[i].factor;
    return 0;
}

static void expect_row(const struct worked *worked, uint32_t line, enum lp_row_mark mark, uint32_t terms)
{
    const struct lp_sums_term *first;
    const struct lp_sums_row *row = row_of(worked, line, &first);
    assert_int_equal(row->mark, mark);
    assert_int_equal(row->term_count, terms);
}

/* Row 2: for i in x:   row 3: the body. */
static void build_loop(struct worked *worked, uint32_t body_line)
{
    memset(worked, 0, sizeof *worked);
    code_init(&worked->code);
    code_add(&worked->code, OP_RESUME, 0, 0);
    code_add_at(&worked->code, OP_WORK, 0, 2, 13, 14);                        /* 1: x */
    code_add_at(&worked->code, OP_FOR, 3, 2, 13, 14);                         /* 2, 3: to 7 */
    code_add_at(&worked->code, OP_STORE, 0, 2, 8, 9);                         /* 4: i */
    code_add_at(&worked->code, OP_WORK, 0, body_line, 20, 30);                /* 5 */
    code_add_at(&worked->code, OP_BACK, 5, body_line, 20, 30);                /* 6: to 2 */
    code_add_at(&worked->code, OP_RETURN, 0, 2, 4, body_line == 2 ? 30 : 12); /* 7 */
    source_init(&worked->source, 4);
    uint32_t flags = LP_UNIT_FOR | (body_line == 2 ? (uint32_t)LP_UNIT_ONE_LINE : 0);
    uint32_t loop = source_unit(&worked->source, flags, 2, 4, body_line, 30, LP_NO_UNIT);
    source_unit(&worked->source, LP_UNIT_SIMPLE, body_line, 20, body_line, 30, loop);
}

static void a_loop_over_two_rows(void **state)
{
    struct worked worked;
    (void)state;
    build_loop(&worked, 3);
    work_out(&worked);
    expect_row(&worked, 2, LP_ROW_EXACT, 2); /* begun, and asked again: not what follows the loop */
    assert_int_equal(factor_of_unit(&worked, 2, 1), 1);
    assert_int_equal(factor_of_unit(&worked, 2, 2), 1);
    expect_row(&worked, 3, LP_ROW_EXACT, 1);
    assert_int_equal(factor_of_unit(&worked, 3, 5), 1);
    assert_false(worked.sums.wants_branch);
    forget(&worked);
}

static void a_loop_on_one_row_needs_its_branch(void **state)
{
    struct worked worked;
    (void)state;
    build_loop(&worked, 2);
    work_out(&worked);
    uint32_t calls = worked.slots.slot_count;
    assert_int_equal(worked.slots.branch_count, 1);
    expect_row(&worked, 2, LP_ROW_EXACT, 2);
    assert_int_equal(factor_of_counter(&worked, 2, calls + 1), 1);
    assert_int_equal(factor_of_counter(&worked, 2, calls + 2), 1);
    lp__statement_sums_release(&worked.sums);

    worked.input.branch_count = 0; /* nobody counted it */
    assert_int_equal(lp__statement_sums(&worked.input, &worked.sums, NULL), LP_OK);
    expect_row(&worked, 2, LP_ROW_EVENTS, 0);
    forget(&worked);
}

/* Row 2: call(   row 3: an argument)   and back to row 2 for the call. */
static void build_call(struct worked *worked)
{
    memset(worked, 0, sizeof *worked);
    code_init(&worked->code);
    code_add(&worked->code, OP_RESUME, 0, 0);
    code_add_at(&worked->code, OP_WORK, 0, 2, 4, 8);
    code_add_at(&worked->code, OP_WORK, 0, 3, 4, 9);
    code_add_at(&worked->code, OP_WORK, 0, 2, 4, 10);
    code_add_at(&worked->code, OP_WORK, 0, 3, 4, 9);
    code_add_at(&worked->code, OP_RETURN, 0, 4, 4, 10);
    source_init(&worked->source, 5);
    source_unit(&worked->source, LP_UNIT_SIMPLE, 2, 4, 3, 10, LP_NO_UNIT);
    source_unit(&worked->source, LP_UNIT_SIMPLE, 4, 4, 4, 10, LP_NO_UNIT);
}

static void coming_back_to_a_row_is_no_execution(void **state)
{
    struct worked worked;
    (void)state;
    build_call(&worked);
    work_out(&worked);
    expect_row(&worked, 2, LP_ROW_EXACT, 1);
    assert_int_equal(factor_of_unit(&worked, 2, 1), 1);
    expect_row(&worked, 3, LP_ROW_PART, 1);
    assert_int_equal(factor_of_unit(&worked, 3, 2), 1);
    assert_int_equal(factor_of_unit(&worked, 3, 4), 0);
    expect_row(&worked, 4, LP_ROW_EXACT, 1);
    forget(&worked);
}

/* Row 2: try: row 3, row 4: except, row 5; what cleans up carries row 5 and goes on raising. */
static void what_cleans_up_is_no_execution(void **state)
{
    struct worked worked;
    (void)state;
    memset(&worked, 0, sizeof worked);
    code_init(&worked.code);
    code_add(&worked.code, OP_RESUME, 0, 0);
    code_add_at(&worked.code, OP_NOP, 0, 2, 4, 30);    /* 1 */
    code_add_at(&worked.code, OP_WORK, 0, 3, 8, 20);   /* 2 */
    code_add_at(&worked.code, OP_RETURN, 0, 3, 8, 20); /* 3 */
    code_add(&worked.code, OP_CATCH, 0, 0);            /* 4 */
    code_add_at(&worked.code, OP_WORK, 0, 4, 11, 20);  /* 5 */
    code_add_at(&worked.code, OP_WORK, 0, 5, 8, 20);   /* 6 */
    code_add_at(&worked.code, OP_RETURN, 0, 5, 8, 20); /* 7 */
    code_add_at(&worked.code, OP_WORK, 0, 5, 8, 20);   /* 8: cleans up */
    code_add_at(&worked.code, OP_RETURN, 0, 5, 8, 20); /* 9 */
    code_protect(&worked.code, 2, 1, 4);
    code_protect(&worked.code, 5, 2, 8);
    source_init(&worked.source, 6);
    uint32_t attempt = source_unit(&worked.source, LP_UNIT_COMPOUND, 2, 4, 5, 20, LP_NO_UNIT);
    source_unit(&worked.source, LP_UNIT_SIMPLE, 3, 8, 3, 20, attempt);
    uint32_t handler = source_unit(&worked.source, LP_UNIT_HANDLER, 4, 4, 5, 20, attempt);
    source_unit(&worked.source, LP_UNIT_SIMPLE, 5, 8, 5, 20, handler);
    work_out(&worked);
    expect_row(&worked, 2, LP_ROW_EXACT, 1);
    expect_row(&worked, 4, LP_ROW_EXACT, 1);
    assert_int_equal(factor_of_unit(&worked, 4, 5), 1);
    expect_row(&worked, 5, LP_ROW_EXACT, 1);
    assert_int_equal(factor_of_unit(&worked, 5, 6), 1);
    forget(&worked);
}

/* Row 2: while True: work, all on the row: nothing counts its rounds. */
static void what_depends_on_itself_is_marked(void **state)
{
    struct worked worked;
    (void)state;
    memset(&worked, 0, sizeof worked);
    code_init(&worked.code);
    code_add(&worked.code, OP_RESUME, 0, 0);
    code_add_at(&worked.code, OP_WORK, 0, 2, 16, 24);
    code_add_at(&worked.code, OP_BACK, 2, 2, 16, 24);
    source_init(&worked.source, 3);
    uint32_t loop = source_unit(&worked.source, LP_UNIT_WHILE | (uint32_t)LP_UNIT_ONE_LINE, 2, 4, 2, 24, LP_NO_UNIT);
    source_unit(&worked.source, LP_UNIT_SIMPLE, 2, 16, 2, 24, loop);
    work_out(&worked);
    expect_row(&worked, 2, LP_ROW_EVENTS, 0);
    forget(&worked);
}

/* The same on an interpreter that sends an event for each jump back. */
static void a_loud_jump_back_counts_rounds(void **state)
{
    struct worked worked;
    (void)state;
    memset(&worked, 0, sizeof worked);
    code_init(&worked.code);
    code_add(&worked.code, OP_RESUME, 0, 0);
    code_add_at(&worked.code, OP_WORK, 0, 2, 16, 24);
    code_add_at(&worked.code, OP_BACK, 2, 2, 16, 24);
    source_init(&worked.source, 3);
    uint32_t loop = source_unit(&worked.source, LP_UNIT_WHILE | (uint32_t)LP_UNIT_ONE_LINE, 2, 4, 2, 24, LP_NO_UNIT);
    source_unit(&worked.source, LP_UNIT_SIMPLE, 2, 16, 2, 24, loop);
    prepare(&worked);
    worked.opcodes.backward_loud = 1;
    assert_int_equal(lp__statement_sums(&worked.input, &worked.sums, NULL), LP_OK);
    expect_row(&worked, 2, LP_ROW_EXACT, 1);
    assert_int_equal(factor_of_unit(&worked, 2, 1), 1);
    forget(&worked);
}

static void the_scope_that_fits_is_taken(void **state)
{
    static const uint32_t both[] = {1, 2};
    struct worked worked;
    (void)state;
    build_call(&worked);
    worked.source.scope_count = 3; /* two scopes that begin alike; the second holds the code */
    worked.source.scopes[1] = (struct lp_unit_scope){0, 1, 0, 0, 2, 4, 2, 5};
    worked.source.scopes[2] = (struct lp_unit_scope){0, 0, 0, 1, 2, 0, 9, 0};
    prepare(&worked);
    worked.input.scopes = both;
    worked.input.scope_count = 2;
    assert_int_equal(lp__statement_sums(&worked.input, &worked.sums, NULL), LP_OK);
    expect_row(&worked, 2, LP_ROW_EXACT, 1);
    forget(&worked);
}

static void no_scope_no_rows(void **state)
{
    static const uint32_t wrong[] = {77};
    struct worked worked;
    (void)state;
    build_call(&worked);
    prepare(&worked);
    worked.input.scopes = wrong;
    assert_int_equal(lp__statement_sums(&worked.input, &worked.sums, NULL), LP_OK);
    assert_int_equal(worked.sums.row_count, 0);
    worked.input.scope_count = 0;
    assert_int_equal(lp__statement_sums(&worked.input, &worked.sums, NULL), LP_OK);
    assert_int_equal(worked.sums.row_count, 0);
    forget(&worked);
}

static void refuse(struct worked *worked, int error)
{
    struct lp_error err = {0};
    assert_int_equal(lp__statement_sums(&worked->input, &worked->sums, &err), error);
    assert_int_equal(err.code, error);
    assert_null(worked->sums.rows);
}

static void units_that_are_none(void **state)
{
    struct worked worked;
    (void)state;
    build_call(&worked);
    prepare(&worked);
    worked.input.units_bytes--;
    refuse(&worked, LP_ERR_FORMAT);
    worked.input.units_bytes = 3;
    refuse(&worked, LP_ERR_FORMAT);
    worked.input.units_bytes = worked.source.bytes;
    worked.source.packed[0]++; /* magic */
    refuse(&worked, LP_ERR_FORMAT);
    worked.source.packed[0]--;
    worked.source.packed[1] = UINT32_MAX; /* units */
    refuse(&worked, LP_ERR_LIMIT);
    worked.source.packed[1] = worked.source.unit_count;
    worked.source.packed[4 + 7 + 4] = 1; /* a unit that is its own parent */
    refuse(&worked, LP_ERR_FORMAT);
    worked.source.packed[4 + 7 + 4] = LP_NO_UNIT;
    worked.source.packed[4 + 5] = 9; /* no such scope */
    refuse(&worked, LP_ERR_FORMAT);
    worked.source.packed[4 + 5] = 0;
    worked.source.packed[4 + 6] = LP_UNIT_KIND_COUNT;
    refuse(&worked, LP_ERR_FORMAT);
    worked.source.packed[4 + 6] = 0;
    worked.source.packed[4] = 9; /* not in the order they start */
    refuse(&worked, LP_ERR_FORMAT);
    worked.source.packed[4] = 2;
    worked.source.packed[4 + 14] = 9; /* no such kind of scope */
    refuse(&worked, LP_ERR_FORMAT);
    forget(&worked);
}

static void another_version_is_refused(void **state)
{
    struct worked worked;
    (void)state;
    build_call(&worked);
    prepare(&worked);
    worked.input.code.python = 0x030C00F0;
    refuse(&worked, LP_ERR_VERSION);
    forget(&worked);
}

static void without_memory_nothing_is_left(void **state)
{
    struct worked worked;
    long successes = 0;
    (void)state;
    build_call(&worked);
    prepare(&worked);
    for (int rc = LP_ERR_NO_MEMORY; rc; successes++) {
        lp__mem_fail_after(successes);
        rc = lp__statement_sums(&worked.input, &worked.sums, NULL);
        lp__mem_fail_after(-1);
        if (rc) assert_null(worked.sums.rows);
        if (rc) assert_true(rc == LP_ERR_NO_MEMORY || rc == LP_ERR_LIMIT);
    }
    assert_true(successes > 6);
    forget(&worked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_over_two_rows),
        cmocka_unit_test(a_loop_on_one_row_needs_its_branch),
        cmocka_unit_test(coming_back_to_a_row_is_no_execution),
        cmocka_unit_test(what_cleans_up_is_no_execution),
        cmocka_unit_test(what_depends_on_itself_is_marked),
        cmocka_unit_test(a_loud_jump_back_counts_rounds),
        cmocka_unit_test(the_scope_that_fits_is_taken),
        cmocka_unit_test(no_scope_no_rows),
        cmocka_unit_test(units_that_are_none),
        cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
