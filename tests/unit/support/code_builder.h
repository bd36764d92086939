/* Code objects and units made by hand, in an instruction set of the test's own: the decoder knows no version. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_CODE_BUILDER_H
#define LP_TEST_CODE_BUILDER_H

#include <stdint.h>
#include <string.h>

#include "collect/code_shape.h"

#define CODE_PYTHON 0x030E00F0u

enum code_op {
    OP_NOP = 1,
    OP_WORK, /* may raise */
    OP_STORE,
    OP_BACK,
    OP_BRANCH,
    OP_FORWARD,
    OP_FOR,    /* one cache unit */
    OP_CACHED, /* two cache units */
    OP_RESUME,
    OP_RETURN,
    OP_PREFIX,
    OP_SETUP,
    OP_POP_BLOCK,
    OP_CATCH,
    OP_POP_CATCH,
    OP_SEND,
    OP_SEND_BACK
};

static inline void code_opcodes(struct lp_code_opcodes *out)
{
    memset(out, 0, sizeof *out);
    out->python = CODE_PYTHON;
    for (int i = 0; i < 256; i++)
        out->classes[i] = LP_OP_INVALID;
    out->classes[OP_NOP] = LP_OP_STEADY;
    out->classes[OP_WORK] = 0;
    out->classes[OP_STORE] = LP_OP_STEADY;
    out->classes[OP_BACK] = LP_OP_JUMP_BACK | LP_OP_ENDS | LP_OP_STEADY | LP_OP_GLUE;
    out->classes[OP_BRANCH] = LP_OP_JUMP_FORWARD | LP_OP_CONDITIONAL | LP_OP_GLUE;
    out->classes[OP_FORWARD] = LP_OP_JUMP_FORWARD | LP_OP_ENDS | LP_OP_STEADY | LP_OP_GLUE;
    out->classes[OP_FOR] = LP_OP_JUMP_FORWARD | LP_OP_CONDITIONAL | LP_OP_FOR_ITER | LP_OP_GLUE;
    out->caches[OP_FOR] = 1;
    out->classes[OP_CACHED] = 0;
    out->caches[OP_CACHED] = 2;
    out->classes[OP_RESUME] = LP_OP_RESUME | LP_OP_SILENT | LP_OP_STEADY;
    out->classes[OP_RETURN] = LP_OP_ENDS | LP_OP_STEADY;
    out->classes[OP_PREFIX] = LP_OP_PREFIX;
    out->classes[OP_CATCH] = LP_OP_CATCH | LP_OP_STEADY | LP_OP_GLUE;
    out->classes[OP_SEND] = LP_OP_JUMP_FORWARD | LP_OP_SEND | LP_OP_GLUE;
    out->classes[OP_SEND_BACK] = LP_OP_JUMP_BACK | LP_OP_SEND | LP_OP_ENDS | LP_OP_STEADY | LP_OP_GLUE;
}

/* The older way: handlers set up as the code runs, line tables in pairs. */
static inline void code_opcodes_old(struct lp_code_opcodes *out)
{
    code_opcodes(out);
    out->backward_loud = 1;
    out->classes[OP_CATCH] = LP_OP_INVALID;
    out->classes[OP_SETUP] = LP_OP_JUMP_FORWARD | LP_OP_HANDLER | LP_OP_STEADY;
    out->classes[OP_POP_BLOCK] = LP_OP_BLOCK_END | LP_OP_STEADY;
    out->classes[OP_POP_CATCH] = LP_OP_CATCH_END | LP_OP_STEADY;
}

struct code {
    uint8_t code[512], lines[1024], handlers[128];
    struct lp_code_raw raw;
    int32_t line; /* so far */
};

static inline void code_init(struct code *code)
{
    memset(code, 0, sizeof *code);
    code->line = 1;
    code->raw = (struct lp_code_raw){
        .code = code->code, .lines = code->lines, .handlers = code->handlers, .first_line = 1, .python = CODE_PYTHON};
}

static inline void code_byte(uint8_t *table, uint32_t *len, unsigned byte)
{
    table[(*len)++] = (uint8_t)byte;
}

static inline void code_number(struct code *code, unsigned value)
{
    for (; value > 63; value >>= 6)
        code_byte(code->lines, &code->raw.lines_bytes, 0x40 | (value & 63));
    code_byte(code->lines, &code->raw.lines_bytes, value);
}

/* One instruction with its caches and where it stands; line 0: nowhere. Columns from `column` to `end`. */
static inline void code_add_at(struct code *code, enum code_op op, unsigned argument, uint32_t line, uint32_t column,
                               uint32_t end)
{
    unsigned units = 1u + (op == OP_FOR ? 1u : 0u) + (op == OP_CACHED ? 2u : 0u);
    int32_t delta = (int32_t)line - code->line;
    code_byte(code->code, &code->raw.code_bytes, op);
    code_byte(code->code, &code->raw.code_bytes, argument);
    for (unsigned i = 2; i < 2 * units; i++)
        code_byte(code->code, &code->raw.code_bytes, 0);
    code_byte(code->lines, &code->raw.lines_bytes, 0x80 | (line ? 14u : 15u) << 3 | (units - 1));
    if (!line) return;
    code_number(code, delta < 0 ? (unsigned)(-delta) << 1 | 1 : (unsigned)delta << 1);
    code_number(code, 0);
    code_number(code, column + 1);
    code_number(code, end + 1);
    code->line = (int32_t)line;
}

static inline void code_add(struct code *code, enum code_op op, unsigned argument, uint32_t line)
{
    code_add_at(code, op, argument, line, 4, 20);
}

/* The older line table: one pair per instruction without caches. */
static inline void code_add_old(struct code *code, enum code_op op, unsigned argument, uint32_t line)
{
    code_byte(code->code, &code->raw.code_bytes, op);
    code_byte(code->code, &code->raw.code_bytes, argument);
    code_byte(code->lines, &code->raw.lines_bytes, 2);
    code_byte(code->lines, &code->raw.lines_bytes, line ? (unsigned)((int32_t)line - code->line) : 0x80u);
    if (line) code->line = (int32_t)line;
}

/* Units [start, start + length) are protected by the handler at unit `target`; each number below 64. */
static inline void code_protect(struct code *code, unsigned start, unsigned length, unsigned target)
{
    code_byte(code->handlers, &code->raw.handlers_bytes, 0x80 | start);
    code_byte(code->handlers, &code->raw.handlers_bytes, length);
    code_byte(code->handlers, &code->raw.handlers_bytes, target);
    code_byte(code->handlers, &code->raw.handlers_bytes, 0);
}

#endif
