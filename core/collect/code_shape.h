/* A code object taken apart: instructions with their lines, jumps and handlers, decoded from the raw tables.
 *
 *   co_code            units of two bytes {opcode, argument}; prefixes extend an argument; caches follow their opcode
 *   co_linetable       3.10: pairs {bytes, line delta}; 3.11+: entries {code, units, line, columns}
 *   co_exceptiontable  3.11+: {start, units, target}; before, handlers are the targets of set-up instructions
 *
 * Nothing here knows a version: the host fills a table with what each opcode of its interpreter is (struct
 * lp_code_opcodes).  Bytes may be hostile: every index is checked.  No state; any thread.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_CODE_SHAPE_H
#define LP_COLLECT_CODE_SHAPE_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/* The tables of one code object, borrowed. */
struct lp_code_raw {
    const uint8_t *code, *lines, *handlers; /* co_code, co_linetable, co_exceptiontable (3.10: none) */
    uint32_t code_bytes, lines_bytes, handlers_bytes;
    uint32_t first_line, flags; /* co_firstlineno, co_flags */
    uint32_t python;            /* PY_VERSION_HEX */
};

enum lp_opcode_class {
    LP_OP_PREFIX = 1 << 0,       /* extends the argument of the next */
    LP_OP_JUMP_FORWARD = 1 << 1, /* the argument counts from the next instruction */
    LP_OP_JUMP_BACK = 1 << 2,
    LP_OP_JUMP_TO = 1 << 3,     /* the argument is the target */
    LP_OP_CONDITIONAL = 1 << 4, /* falls through or jumps, as a branch event tells */
    LP_OP_ENDS = 1 << 5,        /* nothing falls through: return, raise, unconditional jump */
    LP_OP_FOR_ITER = 1 << 6,
    LP_OP_SILENT = 1 << 7,     /* never carries a line event */
    LP_OP_RESUME = 1 << 8,     /* what follows is always heard */
    LP_OP_SEND = 1 << 9,       /* the loop of await and yield from */
    LP_OP_HANDLER = 1 << 10,   /* its target is the handler of what follows (3.10) */
    LP_OP_BLOCK_END = 1 << 11, /* takes that handler off again */
    LP_OP_CATCH_END = 1 << 12, /* leaves a handler */
    LP_OP_GLUE = 1 << 13,      /* does the compiler's work, starts no part of a comprehension */
    LP_OP_STEADY = 1 << 14,    /* cannot raise */
    LP_OP_INVALID = 1 << 15,
    LP_OP_CATCH = 1 << 16,   /* begins a handler of the program's; other handlers only clean up (3.11 and later) */
    LP_OP_RERAISE = 1 << 17, /* raises on what a handler of the compiler caught: no statement begins so */
    LP_OP_CALL = 1 << 18     /* runs other code, which may raise */
};

/* What the opcodes of one Python version are.  Filled by the host from the running interpreter. */
struct lp_code_opcodes {
    uint32_t python;        /* PY_VERSION_HEX; major and minor count */
    uint8_t loop_exit_skip; /* instructions that the end of a FOR_ITER passes over at its target */
    uint8_t backward_loud;  /* 1: a backward jump always sends a line event (3.10, 3.11) */
    uint8_t pad[2];
    uint32_t classes[256]; /* enum lp_opcode_class */
    uint8_t caches[256];   /* cache units behind the opcode */
};

#define LP_NO_INSTR  UINT32_MAX
#define LP_NO_COLUMN UINT32_MAX

struct lp_code_instr {
    uint32_t offset;                       /* code units; of the first prefix */
    uint32_t own;                          /* of the opcode itself */
    uint32_t next;                         /* behind its caches */
    uint32_t line;                         /* 0: none */
    uint32_t end_line, column, end_column; /* columns in UTF-8 bytes, LP_NO_COLUMN: not known */
    uint32_t target;                       /* where it jumps (instruction index), LP_NO_INSTR: nowhere */
    uint32_t handler;                      /* where an exception goes, LP_NO_INSTR: out of the frame */
    uint32_t classes;                      /* enum lp_opcode_class */
};

struct lp_code_shape {
    struct lp_code_instr *instrs;
    uint32_t count, unit_count;
    uint32_t *at; /* [unit_count + 1] index of the instruction at a unit, its prefixes and caches included */
    void *memory;
};

#define LP_CODE_MAX_UNITS (1u << 20) /* bigger code objects are refused: LP_ERR_LIMIT */

/* LP_ERR_FORMAT: the bytes are none of this; LP_ERR_VERSION: `opcodes` is another version's; LP_ERR_LIMIT;
 * LP_ERR_NO_MEMORY.  `out` is empty then. */
LP_WARN_UNUSED int lp__code_shape(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes,
                                  struct lp_code_shape *out, struct lp_error *err);
void lp__code_shape_release(struct lp_code_shape *shape);

#endif
