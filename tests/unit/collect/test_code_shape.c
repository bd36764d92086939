/* Decoding code objects: instructions, lines, jumps, handlers, and what is none of these. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/code_builder.h"

static void decode(const struct code *code, struct lp_code_shape *shape)
{
    struct lp_code_opcodes opcodes;
    code_opcodes(&opcodes);
    assert_int_equal(lp__code_shape(&code->raw, &opcodes, shape, NULL), LP_OK);
}

static void refuse(const struct code *code, int error)
{
    struct lp_code_opcodes opcodes;
    struct lp_code_shape shape;
    struct lp_error err = {0};
    code_opcodes(&opcodes);
    assert_int_equal(lp__code_shape(&code->raw, &opcodes, &shape, &err), error);
    assert_int_equal(err.code, error);
    assert_null(shape.memory);
}

static void caches_and_prefixes_belong_to_their_instruction(void **state)
{
    struct code code;
    struct lp_code_shape shape;
    (void)state;
    code_init(&code);
    code_add(&code, OP_RESUME, 0, 1);
    code_add(&code, OP_PREFIX, 1, 2);
    code_add(&code, OP_CACHED, 3, 2);
    code_add(&code, OP_RETURN, 0, 3);
    decode(&code, &shape);
    assert_int_equal(shape.count, 3);
    assert_int_equal(shape.unit_count, 6);
    assert_int_equal(shape.instrs[1].offset, 1);
    assert_int_equal(shape.instrs[1].own, 2);
    assert_int_equal(shape.instrs[1].next, 5);
    for (uint32_t unit = 1; unit < 5; unit++)
        assert_int_equal(shape.at[unit], 1);
    assert_int_equal(shape.at[6], 3);
    lp__code_shape_release(&shape);
}

static void lines_and_columns(void **state)
{
    struct code code;
    struct lp_code_shape shape;
    (void)state;
    code_init(&code);
    code_add_at(&code, OP_RESUME, 0, 1, 0, 0);
    code_add_at(&code, OP_WORK, 0, 300, 70, 200);
    code_add_at(&code, OP_WORK, 0, 0, 0, 0);
    code_add_at(&code, OP_RETURN, 0, 2, 8, 9);
    decode(&code, &shape);
    assert_int_equal(shape.instrs[1].line, 300);
    assert_int_equal(shape.instrs[1].end_line, 300);
    assert_int_equal(shape.instrs[1].column, 70);
    assert_int_equal(shape.instrs[1].end_column, 200);
    assert_int_equal(shape.instrs[2].line, 0);
    assert_int_equal(shape.instrs[3].line, 2);
    lp__code_shape_release(&shape);
}

/* {short form, one line on, no columns}, as the interpreter writes them. */
static void short_forms_of_locations(void **state)
{
    static const uint8_t lines[] = {0x80 | 2 << 3, 0x43, 0x80 | 11 << 3, 7, 9, 0x80 | 13 << 3, 5};
    struct code code;
    struct lp_code_shape shape;
    (void)state;
    code_init(&code);
    for (int i = 0; i < 3; i++)
        code_add(&code, i < 2 ? OP_WORK : OP_RETURN, 0, 1);
    memcpy(code.lines, lines, sizeof lines);
    code.raw.lines_bytes = sizeof lines;
    code.raw.first_line = 10;
    decode(&code, &shape);
    assert_int_equal(shape.instrs[0].line, 10);
    assert_int_equal(shape.instrs[0].column, 2 << 3 | 4);
    assert_int_equal(shape.instrs[0].end_column, (2 << 3 | 4) + 3);
    assert_int_equal(shape.instrs[1].line, 11);
    assert_int_equal(shape.instrs[1].column, 7);
    assert_int_equal(shape.instrs[1].end_column, 9);
    assert_int_equal(shape.instrs[2].line, 9);
    assert_int_equal(shape.instrs[2].column, LP_NO_COLUMN);
    lp__code_shape_release(&shape);
}

static void jumps_count_from_behind_the_caches(void **state)
{
    struct code code;
    struct lp_code_shape shape;
    (void)state;
    code_init(&code);
    code_add(&code, OP_FOR, 2, 1);   /* 0, cache 1: to 4 */
    code_add(&code, OP_STORE, 0, 1); /* 2 */
    code_add(&code, OP_BACK, 4, 1);  /* 3: to 0 */
    code_add(&code, OP_RETURN, 0, 1);
    decode(&code, &shape);
    assert_int_equal(shape.instrs[0].target, 3);
    assert_int_equal(shape.instrs[1].target, LP_NO_INSTR);
    assert_int_equal(shape.instrs[2].target, 0);
    lp__code_shape_release(&shape);
}

static void handlers_of_ranges(void **state)
{
    struct code code;
    struct lp_code_shape shape;
    (void)state;
    code_init(&code);
    code_add(&code, OP_WORK, 0, 1);
    code_add(&code, OP_WORK, 0, 2);
    code_add(&code, OP_RETURN, 0, 2);
    code_add(&code, OP_CATCH, 0, 3);
    code_add(&code, OP_RETURN, 0, 3);
    code_protect(&code, 1, 2, 3);
    decode(&code, &shape);
    assert_int_equal(shape.instrs[0].handler, LP_NO_INSTR);
    assert_int_equal(shape.instrs[1].handler, 3);
    assert_int_equal(shape.instrs[2].handler, 3);
    assert_int_equal(shape.instrs[3].handler, LP_NO_INSTR);
    lp__code_shape_release(&shape);
}

static void handlers_that_are_set_up(void **state)
{
    struct code code;
    struct lp_code_opcodes opcodes;
    struct lp_code_shape shape;
    (void)state;
    code_opcodes_old(&opcodes);
    code_init(&code);
    code_add_old(&code, OP_SETUP, 7, 1);     /* 0: handler at 8 */
    code_add_old(&code, OP_SETUP, 4, 2);     /* 1: handler at 6 */
    code_add_old(&code, OP_WORK, 0, 3);      /* 2 */
    code_add_old(&code, OP_POP_BLOCK, 0, 3); /* 3 */
    code_add_old(&code, OP_WORK, 0, 0);      /* 4 */
    code_add_old(&code, OP_RETURN, 0, 4);    /* 5 */
    code_add_old(&code, OP_WORK, 0, 5);      /* 6: inner handler */
    code_add_old(&code, OP_RETURN, 0, 5);    /* 7 */
    code_add_old(&code, OP_POP_CATCH, 0, 6); /* 8: outer handler */
    code_add_old(&code, OP_WORK, 0, 7);      /* 9 */
    code_add_old(&code, OP_RETURN, 0, 7);    /* 10 */
    assert_int_equal(lp__code_shape(&code.raw, &opcodes, &shape, NULL), LP_OK);
    assert_int_equal(shape.instrs[1].handler, 8);
    assert_int_equal(shape.instrs[2].handler, 6);
    assert_int_equal(shape.instrs[4].handler, 8);
    assert_int_equal(shape.instrs[6].handler, 8);
    assert_int_equal(shape.instrs[9].handler, LP_NO_INSTR);
    assert_int_equal(shape.instrs[3].line, 3);
    assert_int_equal(shape.instrs[4].line, 0);
    assert_int_equal(shape.instrs[10].line, 7);
    lp__code_shape_release(&shape);
}

static void bytes_that_are_no_code(void **state)
{
    struct code code;
    (void)state;
    code_init(&code);
    refuse(&code, LP_ERR_FORMAT);
    code_add(&code, OP_RETURN, 0, 1);
    code.raw.code_bytes = 1;
    refuse(&code, LP_ERR_FORMAT);
    code.raw.code_bytes = 2;
    code.code[0] = 200; /* no such instruction */
    refuse(&code, LP_ERR_FORMAT);
    code.code[0] = OP_CACHED; /* its caches are missing */
    refuse(&code, LP_ERR_FORMAT);
    code.code[0] = OP_PREFIX; /* of nothing */
    refuse(&code, LP_ERR_FORMAT);
    code.code[0] = OP_FORWARD; /* behind the end */
    refuse(&code, LP_ERR_FORMAT);
    code.code[0] = OP_RETURN;
    code.raw.python = 0x030D00F0;
    refuse(&code, LP_ERR_VERSION);
    code.raw.python = CODE_PYTHON;
    code.raw.code_bytes = 2 * (LP_CODE_MAX_UNITS + 1);
    refuse(&code, LP_ERR_LIMIT);
}

static void tables_that_end_early(void **state)
{
    struct code code;
    (void)state;
    code_init(&code);
    code_add(&code, OP_RETURN, 0, 1);
    code.raw.lines_bytes--;
    refuse(&code, LP_ERR_FORMAT);
    code.raw.lines_bytes++;
    code.lines[0] = 0; /* no beginning of an entry */
    refuse(&code, LP_ERR_FORMAT);
    code_init(&code);
    code_add(&code, OP_RETURN, 0, 1);
    code_protect(&code, 0, 1, 9); /* no such instruction */
    refuse(&code, LP_ERR_FORMAT);
    code_init(&code);
    code_add(&code, OP_RETURN, 0, 1);
    code_protect(&code, 0, 5, 0); /* longer than the code */
    refuse(&code, LP_ERR_FORMAT);
    code.raw.handlers_bytes = 2;
    refuse(&code, LP_ERR_FORMAT);
}

static void no_memory(void **state)
{
    struct code code;
    (void)state;
    code_init(&code);
    code_add(&code, OP_RETURN, 0, 1);
    lp__mem_fail_after(0);
    refuse(&code, LP_ERR_NO_MEMORY);
    lp__mem_fail_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_and_prefixes_belong_to_their_instruction),
        cmocka_unit_test(lines_and_columns),
        cmocka_unit_test(short_forms_of_locations),
        cmocka_unit_test(jumps_count_from_behind_the_caches),
        cmocka_unit_test(handlers_of_ranges),
        cmocka_unit_test(handlers_that_are_set_up),
        cmocka_unit_test(bytes_that_are_no_code),
        cmocka_unit_test(tables_that_end_early),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
