/* Which places of a code object are counted. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collect/code_slots.h"
#include "support/code_builder.h"

static void find(const struct code *code, struct lp_code_slots *slots)
{
    struct lp_code_opcodes opcodes;
    code_opcodes(&opcodes);
    assert_int_equal(lp__code_slots(&code->raw, &opcodes, slots, NULL), LP_OK);
}

/* RESUME; FOR over rows 2 and 3; return. */
static void build_loop(struct code *code, uint32_t body_line)
{
    code_init(code);
    code_add(code, OP_RESUME, 0, 1);
    code_add(code, OP_WORK, 0, 2);
    code_add(code, OP_FOR, 4, 2); /* 2, 3 */
    code_add(code, OP_STORE, 0, 2);
    code_add(code, OP_PREFIX, 0, body_line);
    code_add(code, OP_WORK, 0, body_line);
    code_add(code, OP_BACK, 6, body_line);
    code_add(code, OP_NOP, 0, 2); /* 8: skipped by the loop's end */
    code_add(code, OP_RETURN, 0, 2);
}

static void slots_are_where_a_line_may_begin(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    (void)state;
    build_loop(&code, 3);
    find(&code, &slots);
    assert_int_equal(slots.unit_count, 10);
    assert_int_equal(slots.slot_of[0], LP_NO_SLOT); /* RESUME is silent */
    assert_int_equal(slots.slot_of[1], 0);
    assert_int_equal(slots.slot_of[2], 1); /* target of the jump back */
    assert_int_equal(slots.slot_of[4], LP_NO_SLOT);
    assert_int_equal(slots.slot_of[5], 2); /* the prefix, and what it is of */
    assert_int_equal(slots.slot_of[6], 2);
    assert_int_equal(slots.slot_of[7], LP_NO_SLOT);
    assert_int_equal(slots.slot_of[8], 3);
    assert_int_equal(slots.slot_of[9], 4); /* where the loop's end may land */
    assert_int_equal(slots.slot_count, 5);
    assert_int_equal(slots.slots[2].offset, 5);
    assert_int_equal(slots.slots[2].line, 3);
    assert_int_equal(slots.branch_count, 0);
    assert_null(slots.branch_of);
    lp__code_slots_release(&slots);
}

static void a_loop_on_one_line_has_its_branches_counted(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    (void)state;
    build_loop(&code, 2);
    find(&code, &slots);
    assert_int_equal(slots.branch_count, 1);
    assert_int_equal(slots.branch_of[2], 0);
    assert_int_equal(slots.branch_of[3], LP_NO_SLOT);
    assert_int_equal(slots.branch_places[0].offset, 2);
    assert_int_equal(slots.branches[0].next, 4);
    assert_int_equal(slots.branches[0].target, 8);
    assert_int_equal(lp__branch_side(&slots.branches[0], 4), 0);
    assert_int_equal(lp__branch_side(&slots.branches[0], 8), 1);
    assert_int_equal(lp__branch_side(&slots.branches[0], 10), 1); /* past what the end skips */
    lp__code_slots_release(&slots);
}

/* A test on one row: one side goes on there, the other begins the next round. */
static void a_test_that_begins_the_next_round(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    (void)state;
    code_init(&code);
    code_add(&code, OP_RESUME, 0, 1);
    code_add(&code, OP_FOR, 6, 2);    /* 1, 2 */
    code_add(&code, OP_WORK, 0, 3);   /* 3 */
    code_add(&code, OP_BRANCH, 1, 4); /* 4: to 6 */
    code_add(&code, OP_BACK, 5, 4);   /* 5 */
    code_add(&code, OP_WORK, 0, 4);   /* 6 */
    code_add(&code, OP_BACK, 7, 4);   /* 7 */
    code_add(&code, OP_NOP, 0, 2);
    code_add(&code, OP_RETURN, 0, 2);
    find(&code, &slots);
    assert_int_equal(slots.branch_count, 2);
    lp__code_slots_release(&slots);
}

static void a_branch_on_one_line_without_a_loop_is_not_counted(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    (void)state;
    code_init(&code);
    code_add(&code, OP_RESUME, 0, 1);
    code_add(&code, OP_BRANCH, 1, 2);
    code_add(&code, OP_WORK, 0, 2);
    code_add(&code, OP_RETURN, 0, 2);
    find(&code, &slots);
    assert_int_equal(slots.branch_count, 0);
    lp__code_slots_release(&slots);
}

static void the_loop_of_an_await_is_none(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    (void)state;
    code_init(&code);
    code_add(&code, OP_RESUME, 0, 1);
    code_add(&code, OP_SEND, 2, 2);
    code_add(&code, OP_WORK, 0, 2);
    code_add(&code, OP_SEND_BACK, 3, 2);
    code_add(&code, OP_RETURN, 0, 2);
    find(&code, &slots);
    assert_int_equal(slots.branch_count, 0);
    lp__code_slots_release(&slots);
}

static void handlers_have_slots(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    (void)state;
    code_init(&code);
    code_add(&code, OP_WORK, 0, 2);
    code_add(&code, OP_RETURN, 0, 2);
    code_add(&code, OP_CATCH, 0, 2);
    code_add(&code, OP_RETURN, 0, 2);
    code_protect(&code, 0, 2, 2);
    find(&code, &slots);
    assert_int_equal(slots.slot_of[1], LP_NO_SLOT);
    assert_int_not_equal(slots.slot_of[2], LP_NO_SLOT);
    lp__code_slots_release(&slots);
}

static void failures_leave_nothing(void **state)
{
    struct code code;
    struct lp_code_slots slots;
    struct lp_code_opcodes opcodes;
    (void)state;
    code_opcodes(&opcodes);
    build_loop(&code, 2);
    for (long successes = 0; successes < 3; successes++) {
        lp__mem_fail_after(successes);
        assert_int_equal(lp__code_slots(&code.raw, &opcodes, &slots, NULL), LP_ERR_NO_MEMORY);
        assert_null(slots.memory);
    }
    lp__mem_fail_after(-1);
    code.code[0] = 200;
    assert_int_equal(lp__code_slots(&code.raw, &opcodes, &slots, NULL), LP_ERR_FORMAT);
    assert_null(slots.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_where_a_line_may_begin),
        cmocka_unit_test(a_loop_on_one_line_has_its_branches_counted),
        cmocka_unit_test(a_test_that_begins_the_next_round),
        cmocka_unit_test(a_branch_on_one_line_without_a_loop_is_not_counted),
        cmocka_unit_test(the_loop_of_an_await_is_none),
        cmocka_unit_test(handlers_have_slots),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
