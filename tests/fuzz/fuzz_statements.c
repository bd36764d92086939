/* The static pass on hostile bytes: code, line table, exception table and packed units all come from the input.
 *
 *   input   {code bytes / 2, lines bytes, handlers bytes, scope} one byte each, then the three tables, then units
 *
 * The instruction set is the unit tests' own.  The mutator starts from a small program that means something. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "analyse/statements.h"
#include "collect/code_slots.h"
#include "support/code_builder.h"
#include "support/unit_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static void require(int truth)
{
    if (!truth) abort();
}

static void check_sums(const struct lp_statement_sums *sums, uint32_t counters)
{
    uint32_t terms = 0;
    for (uint32_t i = 0; i < sums->row_count; i++) {
        require(i == 0 || sums->rows[i].line > sums->rows[i - 1].line);
        require(sums->rows[i].mark <= LP_ROW_PART);
        require(sums->rows[i].mark != LP_ROW_EVENTS || sums->rows[i].term_count == 0);
        terms += sums->rows[i].term_count;
    }
    require(terms == sums->term_count);
    for (uint32_t i = 0; i < terms; i++)
        require(sums->terms[i].factor != 0 && sums->terms[i].counter < counters);
}

static void check_slots(const struct lp_code_slots *slots)
{
    for (uint32_t i = 0; i < slots->slot_count; i++) {
        require(slots->slots[i].offset < slots->unit_count && slots->slots[i].line);
        require(slots->slot_of[slots->slots[i].offset] == i);
    }
    for (uint32_t i = 0; i < slots->branch_count; i++)
        require(slots->branches[i].target < slots->unit_count && slots->branches[i].next <= slots->unit_count);
}

static void run(struct lp_statements_input *input, const struct lp_code_opcodes *opcodes)
{
    struct lp_code_slots slots;
    struct lp_statement_sums sums;
    input->opcodes = opcodes;
    if (lp__code_slots(&input->code, opcodes, &slots, NULL)) return;
    check_slots(&slots);
    input->slots = slots.slots, input->slot_count = slots.slot_count;
    input->branches = slots.branch_places, input->branch_count = slots.branch_count;
    if (!lp__statement_sums(input, &sums, NULL)) {
        check_sums(&sums, slots.slot_count + 1 + 2 * slots.branch_count);
        lp__statement_sums_release(&sums);
    }
    lp__code_slots_release(&slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lp_code_opcodes opcodes;
    if (size < 4) return 0;
    size_t code = 2u * data[0], lines = data[1], handlers = data[2];
    uint32_t scopes[2] = {data[3], 0};
    if (size - 4 < code + lines + handlers) return 0;
    size_t units = size - 4 - code - lines - handlers;
    uint8_t *copy = malloc(size); /* its end is watched */
    if (!copy) return 0;
    memcpy(copy, data + 4, size - 4);
    struct lp_statements_input input = {.code = {.code = copy,
                                                 .code_bytes = (uint32_t)code,
                                                 .lines = copy + code,
                                                 .lines_bytes = (uint32_t)lines,
                                                 .handlers = copy + code + lines,
                                                 .handlers_bytes = (uint32_t)handlers,
                                                 .first_line = 1,
                                                 .python = CODE_PYTHON},
                                        .units = copy + code + lines + handlers,
                                        .units_bytes = units,
                                        .scopes = scopes,
                                        .scope_count = 2};
    code_opcodes(&opcodes);
    run(&input, &opcodes);
    code_opcodes_old(&opcodes);
    run(&input, &opcodes);
    free(copy);
    return 0;
}

/* -- the mutator ------------------------------------------------------------------------------------------------- */

static void build(struct code *code, struct source *source)
{
    code_init(code);
    code_add(code, OP_RESUME, 0, 1);
    code_add_at(code, OP_WORK, 0, 2, 13, 14);
    code_add_at(code, OP_FOR, 5, 2, 13, 14);
    code_add_at(code, OP_STORE, 0, 2, 8, 9);
    code_add_at(code, OP_BRANCH, 1, 3, 8, 20);
    code_add_at(code, OP_WORK, 0, 3, 22, 30);
    code_add_at(code, OP_WORK, 0, 4, 8, 12);
    code_add_at(code, OP_BACK, 7, 4, 8, 12);
    code_add_at(code, OP_RETURN, 0, 2, 4, 12);
    code_add(code, OP_CATCH, 0, 0);
    code_add_at(code, OP_RETURN, 0, 5, 8, 12);
    code_protect(code, 4, 4, 10);
    source_init(source, 6);
    uint32_t loop = source_unit(source, LP_UNIT_FOR, 2, 4, 4, 12, LP_NO_UNIT);
    uint32_t test = source_unit(source, LP_UNIT_COMPOUND, 3, 8, 4, 12, loop);
    source_unit(source, LP_UNIT_SIMPLE, 3, 22, 4, 12, test);
    source_unit(source, LP_UNIT_ELEMENT, 4, 8, 4, 12, test);
    source_pack(source);
}

static size_t start_afresh(uint8_t *data, size_t max_size)
{
    static struct code code;
    static struct source source;
    build(&code, &source);
    size_t parts[4] = {code.raw.code_bytes, code.raw.lines_bytes, code.raw.handlers_bytes, source.bytes}, at = 4;
    const void *bytes[4] = {code.code, code.lines, code.handlers, source.packed};
    if (max_size < 4 + parts[0] + parts[1] + parts[2] + parts[3]) return 0;
    data[0] = (uint8_t)(parts[0] / 2), data[1] = (uint8_t)parts[1], data[2] = (uint8_t)parts[2], data[3] = 0;
    for (int i = 0; i < 4; i++) {
        memcpy(data + at, bytes[i], parts[i]);
        at += parts[i];
    }
    return at;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    if (size < 64 || seed % 32 == 0) {
        size_t made = start_afresh(data, max_size);
        if (made) size = made;
    }
    if (seed % 3 == 0 && size > 4) data[4 + seed / 3 % (size - 4)] = (uint8_t)(seed >> 16); /* lengths stay right */
    if (seed % 3 == 0) return size;
    return LLVMFuzzerMutate(data, size, max_size);
}
