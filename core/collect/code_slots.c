/* Slots and counted branches of a code object.
 *
 * An instruction sends a line event when control reaches it from another line.  Control comes from the instruction
 * before it, by a jump, or by an exception; so the slots are the instructions whose line differs from the one before
 * in layout, and the targets.  What follows a silent instruction is a slot in any case: interpreters differ in what
 * they compare it with. */
// SPDX-License-Identifier: MIT
#include "collect/code_slots.h"

#include <string.h>

enum mark { MARK_SLOT = 1, MARK_BRANCH = 2 };

static void mark_slot(const struct lp_code_shape *shape, uint8_t *marks, uint32_t index)
{
    if (index >= shape->count) return;
    const struct lp_code_instr *instr = &shape->instrs[index];
    if (instr->line && !(instr->classes & LP_OP_SILENT)) marks[index] |= MARK_SLOT;
}

/* The end of a loop passes over up to two instructions at its target. */
static void mark_target(const struct lp_code_shape *shape, uint8_t *marks, const struct lp_code_instr *from)
{
    uint32_t last = from->target + (from->classes & (LP_OP_FOR_ITER | LP_OP_SEND) ? 2 : 0);
    for (uint32_t i = from->target; i <= last; i++)
        mark_slot(shape, marks, i);
}

static void mark_slots(const struct lp_code_shape *shape, uint8_t *marks)
{
    uint32_t before = 0; /* line, 0 where nothing can be said */
    for (uint32_t i = 0; i < shape->count; i++) {
        const struct lp_code_instr *instr = &shape->instrs[i];
        if (instr->line != before || before == 0) mark_slot(shape, marks, i);
        before = instr->classes & LP_OP_SILENT ? 0 : instr->line;
        if (instr->target != LP_NO_INSTR) mark_target(shape, marks, instr);
        if (instr->handler != LP_NO_INSTR) mark_slot(shape, marks, instr->handler);
    }
}

static bool is_on(const struct lp_code_shape *shape, uint32_t index, uint32_t line)
{
    return index < shape->count && shape->instrs[index].line == line;
}

/* Whether nothing happens from here on but a jump back. */
static bool goes_back(const struct lp_code_shape *shape, uint32_t index)
{
    const struct lp_code_instr *instr = &shape->instrs[index];
    while (index + 1 < shape->count && instr->classes & LP_OP_GLUE && !(instr->classes & LP_OP_ENDS) &&
           instr->target == LP_NO_INSTR)
        instr = &shape->instrs[++index];
    return instr->classes & LP_OP_ENDS && instr->target <= index;
}

/* A loop whose rounds line events cannot tell apart: a jump back to its own line, or a test on one line of which one
 * side goes on there and the other begins the next round. */
static bool is_one_line_loop(const struct lp_code_shape *shape, uint32_t index)
{
    const struct lp_code_instr *instr = &shape->instrs[index];
    if (instr->target == LP_NO_INSTR || !instr->line || instr->classes & LP_OP_SEND) return false;
    if (instr->target <= index) return is_on(shape, instr->target, instr->line);
    return instr->classes & LP_OP_CONDITIONAL && is_on(shape, index + 1, instr->line) &&
           is_on(shape, instr->target, instr->line) && (goes_back(shape, index + 1) || goes_back(shape, instr->target));
}

static bool has_one_line_loop(const struct lp_code_shape *shape)
{
    for (uint32_t i = 0; i < shape->count; i++)
        if (is_one_line_loop(shape, i)) return true;
    return false;
}

static void mark_branches(const struct lp_code_shape *shape, uint8_t *marks)
{
    for (uint32_t i = 0; i < shape->count; i++)
        if (shape->instrs[i].classes & LP_OP_CONDITIONAL && shape->instrs[i].target != LP_NO_INSTR)
            marks[i] |= MARK_BRANCH;
}

static uint32_t count_marks(const struct lp_code_shape *shape, const uint8_t *marks, uint8_t mark)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->count; i++)
        count += (marks[i] & mark) != 0;
    return count;
}

static int reserve(struct lp_code_slots *out, struct lp_error *err)
{
    size_t places = (size_t)out->slot_count + out->branch_count;
    size_t maps = (size_t)out->unit_count * (out->branch_count ? 2 : 1);
    size_t bytes =
        places * sizeof *out->slots + out->branch_count * sizeof *out->branches + maps * sizeof *out->slot_of;
    if (out->slot_count >= LP_NO_SLOT || out->branch_count >= LP_NO_SLOT)
        return lp__fail(err, LP_ERR_LIMIT, 0, "%u places in one function", out->slot_count + out->branch_count);
    out->memory = lp__alloc(bytes);
    if (!out->memory) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu places", places);
    out->slots = out->memory;
    out->branch_places = out->slots + out->slot_count;
    out->branches = (struct lp_code_branch *)(out->branch_places + out->branch_count);
    out->slot_of = (uint16_t *)(out->branches + out->branch_count);
    if (out->branch_count) out->branch_of = out->slot_of + out->unit_count;
    memset(out->slot_of, 0xFF, maps * sizeof *out->slot_of);
    return 0;
}

static void map_units(uint16_t *map, const struct lp_code_instr *instr, uint32_t place)
{
    for (uint32_t unit = instr->offset; unit <= instr->own; unit++)
        map[unit] = (uint16_t)place;
}

static void fill(const struct lp_code_shape *shape, const uint8_t *marks, struct lp_code_slots *out)
{
    uint32_t slot = 0, branch = 0;
    for (uint32_t i = 0; i < shape->count; i++) {
        const struct lp_code_instr *instr = &shape->instrs[i];
        struct lp_place place = {.offset = instr->offset, .line = instr->line};
        if (marks[i] & MARK_SLOT) {
            map_units(out->slot_of, instr, slot);
            out->slots[slot++] = place;
        }
        if (marks[i] & MARK_BRANCH) {
            map_units(out->branch_of, instr, branch);
            out->branches[branch] = (struct lp_code_branch){
                .place = instr->offset, .next = instr->next, .target = shape->instrs[instr->target].offset};
            out->branch_places[branch++] = place;
        }
    }
}

int lp__code_slots(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes, struct lp_code_slots *out,
                   struct lp_error *err)
{
    struct lp_code_shape shape;
    memset(out, 0, sizeof *out);
    int rc = lp__code_shape(raw, opcodes, &shape, err);
    if (rc) return rc;
    uint8_t *marks = lp__calloc(shape.count, 1);
    if (!marks) {
        rc = lp__fail(err, LP_ERR_NO_MEMORY, 0, "%u instructions", shape.count);
        goto done;
    }
    mark_slots(&shape, marks);
    if (has_one_line_loop(&shape)) mark_branches(&shape, marks);
    out->unit_count = shape.unit_count;
    out->slot_count = count_marks(&shape, marks, MARK_SLOT);
    out->branch_count = count_marks(&shape, marks, MARK_BRANCH);
    rc = reserve(out, err);
    if (!rc) fill(&shape, marks, out);
done:
    lp__free(marks);
    lp__code_shape_release(&shape);
    if (rc) lp__code_slots_release(out);
    return rc;
}

void lp__code_slots_release(struct lp_code_slots *slots)
{
    lp__free(slots->memory);
    memset(slots, 0, sizeof *slots);
}
