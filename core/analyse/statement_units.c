/* Reading packed units, and finding the one that a place in the source belongs to. */
// SPDX-License-Identifier: MIT
#include "analyse/statement_units.h"

#include <string.h>

struct header {
    uint32_t magic, units, scopes, rows;
};

/* -- reading ----------------------------------------------------------------------------------------------------- */

static bool before(uint32_t line, uint32_t column, uint32_t other_line, uint32_t other_column)
{
    return line < other_line || (line == other_line && column < other_column);
}

static bool unit_is_sound(const struct lp_units *units, uint32_t index)
{
    const struct lp_unit *unit = &units->units[index];
    if ((unit->kind & 0xFF) >= LP_UNIT_KIND_COUNT || unit->scope >= units->scope_count) return false;
    if (unit->parent != LP_NO_UNIT && unit->parent >= index) return false;
    if (index == 0) return true;
    const struct lp_unit *last = &units->units[index - 1];
    return !before(unit->line, unit->column, last->line, last->column);
}

static bool scope_is_sound(const struct lp_units *units, const struct lp_unit_scope *scope)
{
    bool whole = scope->first == LP_NO_UNIT && scope->last == LP_NO_UNIT;
    if (scope->kind > LP_SCOPE_CLASS || scope->logical >= units->scope_count) return false;
    return whole || (scope->first <= scope->last && scope->last < units->unit_count);
}

/* A unit ends where the next one begins that does not lie inside it.  Parents stand before their children, so going
 * backwards each one knows its own end before it hands it up. */
static void find_ends(struct lp_units *units)
{
    for (uint32_t i = 0; i < units->unit_count; i++)
        units->ends[i] = i + 1;
    for (uint32_t i = units->unit_count; i-- > 0;) {
        uint32_t parent = units->units[i].parent;
        if (parent != LP_NO_UNIT && units->ends[parent] < units->ends[i]) units->ends[parent] = units->ends[i];
    }
}

static int check(struct lp_units *units, struct lp_error *err)
{
    for (uint32_t i = 0; i < units->unit_count; i++)
        if (!unit_is_sound(units, i)) return lp__fail(err, LP_ERR_FORMAT, 0, "unit %u is broken", i);
    for (uint32_t i = 0; i < units->scope_count; i++)
        if (!scope_is_sound(units, &units->scopes[i])) return lp__fail(err, LP_ERR_FORMAT, 0, "scope %u is broken", i);
    find_ends(units);
    return 0;
}

int lp__units_open(const void *bytes, size_t size, struct lp_units *out, struct lp_error *err)
{
    struct header header;
    memset(out, 0, sizeof *out);
    if (size < sizeof header) return lp__fail(err, LP_ERR_FORMAT, 0, "units of %zu bytes", size);
    memcpy(&header, bytes, sizeof header);
    if (header.magic != LP_UNITS_MAGIC) return lp__fail(err, LP_ERR_FORMAT, 0, "these are no units");
    if (header.units > LP_UNITS_MAX || header.scopes > LP_UNITS_MAX || header.rows > LP_UNITS_MAX)
        return lp__fail(err, LP_ERR_LIMIT, 0, "%u units", header.units);
    size_t payload =
        header.units * sizeof *out->units + header.scopes * sizeof *out->scopes + header.rows * sizeof *out->rows;
    if (size - sizeof header != payload) return lp__fail(err, LP_ERR_FORMAT, 0, "units of %zu bytes", size);
    out->memory = lp__alloc(payload + header.units * sizeof *out->ends);
    if (!out->memory) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%u units", header.units);
    memcpy(out->memory, (const uint8_t *)bytes + sizeof header, payload);
    out->units = out->memory;
    out->scopes = (struct lp_unit_scope *)(out->units + header.units);
    out->rows = (struct lp_unit_row *)(out->scopes + header.scopes);
    out->ends = (uint32_t *)(out->rows + header.rows);
    out->unit_count = header.units;
    out->scope_count = header.scopes;
    out->row_count = header.rows;
    int rc = check(out, err);
    if (rc) lp__units_release(out);
    return rc;
}

void lp__units_release(struct lp_units *units)
{
    lp__free(units->memory);
    memset(units, 0, sizeof *units);
}

/* -- finding ----------------------------------------------------------------------------------------------------- */

void lp__unit_view(const struct lp_units *units, uint32_t scope, struct lp_unit_view *out)
{
    const struct lp_unit_scope *record = &units->scopes[scope];
    bool whole = record->first == LP_NO_UNIT;
    *out = (struct lp_unit_view){.units = units,
                                 .scope = record->logical,
                                 .first = whole ? 0 : record->first,
                                 .end = whole ? units->unit_count : units->ends[record->last],
                                 .parts_only = record->kind == LP_SCOPE_COMPREHENSION};
}

uint32_t lp__scope_fit(const struct lp_units *units, uint32_t scope, const struct lp_code_shape *shape)
{
    const struct lp_unit_scope *span = &units->scopes[scope];
    uint32_t fit = 0;
    for (uint32_t i = 0; i < shape->count; i++) {
        const struct lp_code_instr *instr = &shape->instrs[i];
        bool columns = instr->column != LP_NO_COLUMN;
        if (!instr->line) continue;
        if (before(instr->line, columns ? instr->column : UINT32_MAX, span->line, span->column)) continue;
        if (before(span->end_line, span->end_column, instr->end_line, columns ? instr->end_column : 0)) continue;
        fit++;
    }
    return fit;
}

static bool is_visible(const struct lp_unit_view *view, uint32_t index)
{
    const struct lp_unit *unit = &view->units->units[index];
    return index >= view->first && index < view->end && unit->scope == view->scope &&
           (!view->parts_only || lp__unit_is_part(unit));
}

/* How many units of the file start before a place, or at it. */
static uint32_t started(const struct lp_units *units, uint32_t line, uint32_t column)
{
    uint32_t low = 0, high = units->unit_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (before(line, column, units->units[middle].line, units->units[middle].column))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* From a unit up to the innermost visible one that ends at or behind the place. */
static uint32_t climb(const struct lp_unit_view *view, uint32_t index, uint32_t line, uint32_t column)
{
    for (; index != LP_NO_UNIT; index = view->units->units[index].parent) {
        const struct lp_unit *unit = &view->units->units[index];
        if (is_visible(view, index) && !before(unit->end_line, unit->end_column, line, column)) return index;
    }
    return LP_NO_UNIT;
}

uint32_t lp__unit_around(const struct lp_unit_view *view, uint32_t line, uint32_t column, uint32_t end_line,
                         uint32_t end_column)
{
    uint32_t behind = started(view->units, line, column);
    if (behind == 0) return LP_NO_UNIT;
    if (end_line == 0) return climb(view, behind - 1, line, column + 1);
    return climb(view, behind - 1, end_line, end_column);
}

uint32_t lp__unit_by_rows(const struct lp_unit_view *view, uint32_t line, uint32_t end_line)
{
    uint32_t behind = started(view->units, line, UINT32_MAX);
    return behind ? climb(view, behind - 1, end_line, 0) : LP_NO_UNIT;
}

uint32_t lp__unit_starting(const struct lp_unit_view *view, uint32_t line)
{
    const struct lp_units *units = view->units;
    struct lp_unit_row row = {UINT32_MAX, 0};
    if (line - 1 < units->row_count) row = units->rows[line - 1];
    uint32_t silent = LP_NO_UNIT, part = LP_NO_UNIT;
    uint32_t i = line ? started(units, line - 1, UINT32_MAX) : units->unit_count;
    for (; i < units->unit_count && units->units[i].line == line; i++) {
        const struct lp_unit *unit = &units->units[i];
        if (!is_visible(view, i)) continue;
        if (lp__unit_is_part(unit)) {
            if (part == LP_NO_UNIT && unit->column >= row.column && unit->column <= row.token) part = i;
        } else if (!(unit->kind & LP_UNIT_NO_CODE)) {
            return i;
        } else if (silent == LP_NO_UNIT) {
            silent = i;
        }
    }
    return silent != LP_NO_UNIT ? silent : part;
}
