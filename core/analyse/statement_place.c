/* Which unit each instruction belongs to: the innermost one around its span, and the exceptions to that.
 *
 * The span of a FOR_ITER differs by version; the store of the target behind it tells whose it is.  Without columns the
 * row's owner has to do. */
// SPDX-License-Identifier: MIT
#include "analyse/statement_pass.h"

#include <stdlib.h>
#include <string.h>

static uint32_t unit_by_span(const struct lp_statement_pass *pass, const struct lp_code_instr *instr)
{
    if (instr->column != LP_NO_COLUMN)
        return lp__unit_around(&pass->view, instr->line, instr->column, instr->end_line, instr->end_column);
    uint32_t owner = lp__unit_starting(&pass->view, instr->line);
    return owner != LP_NO_UNIT ? owner : lp__unit_by_rows(&pass->view, instr->line, instr->end_line);
}

static bool is_loop(const struct lp_statement_pass *pass, uint32_t unit)
{
    if (unit == LP_NO_UNIT) return false;
    enum lp_unit_kind kind = LP_UNIT_KIND(&pass->units.units[unit]);
    return kind == LP_UNIT_FOR || kind == LP_UNIT_COMP_FOR;
}

/* From the instruction that stores the target up to the loop whose target it is. */
static uint32_t loop_of(const struct lp_statement_pass *pass, uint32_t instr)
{
    const struct lp_code_instr *instrs = pass->shape.instrs;
    uint32_t next = instr + 1, own = pass->unit_of[instr];
    while (next < pass->shape.count && instrs[next].classes & LP_OP_GLUE)
        next++;
    uint32_t unit = next < pass->shape.count ? pass->unit_of[next] : LP_NO_UNIT;
    if (is_loop(pass, unit)) return unit;
    return is_loop(pass, own) ? own : unit;
}

/* A jump behind a part of a comprehension is about the part's value, whatever its own span: that of the element behind
 * an `if`, that of all the comprehension. */
static bool tests_part(const struct lp_statement_pass *pass, uint32_t unit, uint32_t last)
{
    const struct lp_unit *units = pass->units.units;
    if (!lp__unit_is_part(&units[last])) return false;
    if (unit == LP_NO_UNIT || lp__unit_within(&pass->units, last, unit)) return true;
    return LP_UNIT_KIND(&units[unit]) == LP_UNIT_ELEMENT && LP_UNIT_KIND(&units[last]) == LP_UNIT_COMP_IF;
}

static void correct(struct lp_statement_pass *pass)
{
    for (uint32_t i = 0; i < pass->shape.count; i++) {
        const struct lp_code_instr *instr = &pass->shape.instrs[i];
        uint32_t unit = pass->unit_of[i], last = i ? pass->unit_of[i - 1] : LP_NO_UNIT;
        if (instr->classes & LP_OP_FOR_ITER) {
            pass->unit_of[i] = loop_of(pass, i);
        } else if (last != LP_NO_UNIT && instr->target != LP_NO_INSTR && tests_part(pass, unit, last)) {
            pass->unit_of[i] = last;
        }
    }
}

/* A part's statement, where the code object executes that too; else the outermost part around it. */
static uint32_t home_of(const struct lp_statement_pass *pass, uint32_t unit)
{
    const struct lp_unit *units = pass->units.units;
    while (unit != LP_NO_UNIT && lp__unit_is_part(&units[unit])) {
        uint32_t parent = units[unit].parent;
        bool outside = parent == LP_NO_UNIT || parent < pass->view.first || units[parent].scope != pass->view.scope ||
                       (pass->view.parts_only && !lp__unit_is_part(&units[parent]));
        if (outside) break;
        unit = parent;
    }
    return unit;
}

struct keyed {
    uint32_t key, instr;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->instr > y->instr) - (x->instr < y->instr);
}

static void sort_by(const uint32_t *keys, uint32_t count, struct keyed *scratch, uint32_t *sorted)
{
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = (struct keyed){.key = keys[i], .instr = i};
    qsort(scratch, count, sizeof *scratch, compare_keyed);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = scratch[i].instr;
}

int lp__pass_place(struct lp_statement_pass *pass, struct lp_error *err)
{
    size_t count = pass->shape.count;
    uint32_t *memory = lp__arena_alloc(&pass->counts.arena, 5 * count * sizeof *memory);
    struct keyed *scratch = lp__arena_alloc(&pass->counts.arena, count * sizeof *scratch);
    if (!memory || !scratch) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu instructions", count);
    pass->unit_of = memory;
    pass->home_of = memory + count;
    pass->by_unit = memory + 2 * count;
    pass->by_home = memory + 3 * count;
    pass->seen = memory + 4 * count;
    for (uint32_t i = 0; i < count; i++)
        pass->has_columns |= pass->shape.instrs[i].column != LP_NO_COLUMN;
    for (uint32_t i = 0; i < count; i++) {
        const struct lp_code_instr *instr = &pass->shape.instrs[i];
        bool own = lp__pass_is_nobodys(pass, i) || i < pass->flow.start ||
                   (i == pass->flow.start && instr->classes & LP_OP_RESUME);
        pass->unit_of[i] = own ? LP_NO_UNIT : unit_by_span(pass, instr);
    }
    correct(pass);
    for (uint32_t i = 0; i < count; i++)
        pass->home_of[i] = home_of(pass, pass->unit_of[i]);
    sort_by(pass->unit_of, (uint32_t)count, scratch, pass->by_unit);
    sort_by(pass->home_of, (uint32_t)count, scratch, pass->by_home);
    return 0;
}

/* The compiler's own: without a line, or without columns where others have them. */
bool lp__pass_is_nobodys(const struct lp_statement_pass *pass, uint32_t instr)
{
    const struct lp_code_instr *record = &pass->shape.instrs[instr];
    return !record->line || (pass->has_columns && record->column == LP_NO_COLUMN);
}

/* -- members ----------------------------------------------------------------------------------------------------- */

static uint32_t first_of(const uint32_t *sorted, const uint32_t *keys, uint32_t count, uint32_t key)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (keys[sorted[middle]] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct lp_members lp__pass_members(const struct lp_statement_pass *pass, uint32_t unit)
{
    bool part = lp__unit_is_part(&pass->units.units[unit]);
    const uint32_t *sorted = part ? pass->by_unit : pass->by_home, *keys = part ? pass->unit_of : pass->home_of;
    uint32_t first = first_of(sorted, keys, pass->shape.count, unit);
    uint32_t end = first_of(sorted, keys, pass->shape.count, unit + 1);
    return (struct lp_members){.instrs = sorted + first, .count = end - first};
}

bool lp__pass_is_member(const struct lp_statement_pass *pass, uint32_t instr, uint32_t unit)
{
    bool part = lp__unit_is_part(&pass->units.units[unit]);
    return (part ? pass->unit_of : pass->home_of)[instr] == unit;
}
