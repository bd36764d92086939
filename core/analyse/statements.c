/* The pass over one code object:
 *
 *   1  take apart the units and the code object, draw its graph               statement_units, code_shape, _flow
 *   2  say which of the possible scopes the code object is                     lp__scope_fit
 *   3  give each instruction to a unit                                         statement_place
 *   4  for each unit that owns its row: how often it was executed              statement_entry, statement_count
 *   5  for each other row that has code: how often control came to it          statement_visit
 *   6  mark what cannot be proved, and write down the rest
 *
 * A mark is worth more than a guess: a row without one must be right. */
// SPDX-License-Identifier: MIT
#include "analyse/statements.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/statement_pass.h"

/* A row on its way out. */
struct row {
    uint32_t line;
    uint32_t unit; /* whose row it is */
    bool starts;   /* the unit starts there */
    enum lp_row_mark mark;
    struct lp_count sum;
};

struct rows {
    struct row *rows;
    uint32_t count;
};

/* -- 1, 2 -------------------------------------------------------------------------------------------------------- */

static uint32_t choose_scope(const struct lp_statement_pass *pass, const struct lp_statements_input *input)
{
    uint32_t best = UINT32_MAX, best_fit = 0, best_units = 0;
    for (uint32_t i = 0; i < input->scope_count; i++) {
        uint32_t scope = input->scopes[i];
        struct lp_unit_view view;
        if (scope >= pass->units.scope_count) continue;
        lp__unit_view(&pass->units, scope, &view);
        uint32_t fit = lp__scope_fit(&pass->units, scope, &pass->shape), size = view.end - view.first;
        if (best != UINT32_MAX && (fit < best_fit || (fit == best_fit && size >= best_units))) continue;
        best = scope;
        best_fit = fit;
        best_units = size;
    }
    return best;
}

static int open_pass(struct lp_statement_pass *pass, const struct lp_statements_input *input, struct lp_error *err)
{
    int rc = lp__units_open(input->units, input->units_bytes, &pass->units, err);
    if (!rc) rc = lp__code_shape(&input->code, input->opcodes, &pass->shape, err);
    if (!rc) rc = lp__flow_build(&pass->shape, input->opcodes, &pass->flow, err);
    if (!rc)
        rc = lp__counts_open(&pass->flow, input->slots, input->slot_count, input->branches, input->branch_count,
                             &pass->counts, err);
    return rc;
}

static void close_pass(struct lp_statement_pass *pass)
{
    lp__counts_release(&pass->counts);
    lp__flow_release(&pass->flow);
    lp__code_shape_release(&pass->shape);
    lp__units_release(&pass->units);
}

static void view_scope(struct lp_statement_pass *pass, uint32_t scope)
{
    const struct lp_unit_scope *record = &pass->units.scopes[scope];
    lp__unit_view(&pass->units, scope, &pass->view);
    lp__unit_view(&pass->units, record->logical, &pass->owners);
    if (record->kind == LP_SCOPE_CLASS) pass->header_line = record->line;
}

/* -- 4 ----------------------------------------------------------------------------------------------------------- */

static bool has_slot(const struct lp_statement_pass *pass, uint32_t instr)
{
    return pass->flow.reached[instr] && pass->counts.slot_of[instr] != UINT32_MAX;
}

static bool is_heard(const struct lp_statement_pass *pass, uint32_t line)
{
    for (uint32_t i = 0; i < pass->shape.count; i++)
        if (pass->shape.instrs[i].line == line && has_slot(pass, i)) return true;
    return false;
}

/* A call in a test may raise: the test began then, but nobody sees it end. */
static bool test_calls(const struct lp_statement_pass *pass, uint32_t unit)
{
    struct lp_members members = lp__pass_members(pass, unit);
    for (uint32_t i = 0; i < members.count; i++)
        if (pass->shape.instrs[members.instrs[i]].classes & LP_OP_CALL) return true;
    return false;
}

static bool is_beyond_proof(const struct lp_statement_pass *pass, uint32_t index)
{
    const struct lp_unit *unit = &pass->units.units[index];
    bool one_line = (unit->kind & LP_UNIT_ONE_LINE) != 0;
    switch (LP_UNIT_KIND(unit)) {
    case LP_UNIT_ASYNC_FOR:
        return one_line;
    case LP_UNIT_COMP_ASYNC:
        return true;
    case LP_UNIT_WHILE:
        return one_line && (test_calls(pass, index) || (!pass->has_columns && unit->kind & LP_UNIT_BRANCHING_TEST));
    default:
        return false;
    }
}

/* A header may come without code (`try: x()`, `if True: x()`, `while True: x()` on one row): then the first statement
 * of its body on the same row says how often it was reached. */
static uint32_t with_code(const struct lp_statement_pass *pass, uint32_t unit)
{
    const struct lp_unit *units = pass->units.units;
    for (uint32_t i = unit; i < pass->units.ends[unit] && units[i].line == units[unit].line; i++) {
        bool statement = !lp__unit_is_part(&units[i]) && LP_UNIT_KIND(&units[i]) != LP_UNIT_LAMBDA;
        if (!statement || units[i].scope != units[unit].scope || (i != unit && units[i].parent != unit)) continue;
        if (lp__pass_members(pass, i).count) return i;
        unit = i;
    }
    return LP_NO_UNIT;
}

/* Without columns the loop of a comprehension looks like the statement's own. */
static bool is_blurred(const struct lp_statement_pass *pass, uint32_t unit)
{
    const struct lp_unit *units = pass->units.units;
    struct lp_members members = lp__pass_members(pass, unit);
    bool loops = false, parts = false;
    if (pass->has_columns) return false;
    for (uint32_t i = 0; i < members.count && !loops; i++)
        loops = (pass->shape.instrs[members.instrs[i]].classes & LP_OP_FOR_ITER) != 0;
    for (uint32_t i = unit + 1; loops && i < pass->units.unit_count && !parts; i++) {
        if (i >= pass->units.ends[unit] && units[i].line > units[unit].line) break;
        parts = lp__unit_is_part(&units[i]) && (units[i].parent == unit || units[i].line == units[unit].line);
    }
    return parts;
}

static void sum_of_owner(struct lp_statement_pass *pass, struct row *row)
{
    uint32_t inner = lp__unit_is_part(&pass->units.units[row->unit]) ? row->unit : with_code(pass, row->unit);
    if (inner != LP_NO_UNIT) row->unit = inner;
    const struct lp_unit *unit = &pass->units.units[row->unit];
    row->sum = lp__pass_executions(pass, row->unit);
    bool empty = row->sum.known && row->sum.term_count == 0 && is_heard(pass, row->line);
    /* The iterable of a generator expression is evaluated by the code around it, the loop is not its own. */
    if (empty && LP_UNIT_KIND(unit) == LP_UNIT_COMP_FOR)
        row->mark = LP_ROW_PART;
    else if (empty || is_beyond_proof(pass, row->unit) || is_blurred(pass, row->unit))
        row->mark = LP_ROW_EVENTS;
}

/* -- 5 ----------------------------------------------------------------------------------------------------------- */

static int sum_of_rest(struct lp_statement_pass *pass, struct row *rows, uint32_t count, struct lp_error *err)
{
    uint32_t *lines = lp__arena_alloc(&pass->counts.arena, count * sizeof *lines);
    struct lp_count *sums = lp__arena_alloc(&pass->counts.arena, count * sizeof *sums);
    if (!lines || !sums) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%u rows", count);
    for (uint32_t i = 0; i < count; i++)
        lines[i] = rows[i].line;
    int rc = lp__pass_visits(pass, rows->unit, lines, sums, count, err);
    for (uint32_t i = 0; i < count && !rc; i++) {
        rows[i].sum = sums[i];
        rows[i].mark = LP_ROW_PART;
    }
    return rc;
}

/* -- the rows ---------------------------------------------------------------------------------------------------- */

/* Whose row a line is: who starts there, else who is around its first token. */
static bool find_owner(const struct lp_statement_pass *pass, uint32_t line, struct row *row)
{
    uint32_t unit = lp__unit_starting(&pass->owners, line);
    *row = (struct row){.line = line, .starts = unit != LP_NO_UNIT};
    if (unit == LP_NO_UNIT && line - 1 < pass->units.row_count)
        unit = lp__unit_around(&pass->owners, line, pass->units.rows[line - 1].token, 0, 0);
    row->unit = unit;
    return unit != LP_NO_UNIT && unit >= pass->view.first && unit < pass->view.end && line != pass->header_line &&
           !(pass->view.parts_only && !lp__unit_is_part(&pass->units.units[unit]));
}

static int compare_lines(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_rows_by_unit(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->starts != y->starts) return x->starts ? -1 : 1;
    if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int compare_rows_by_line(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

/* A lambda's body may be a constant, which has no place of its own. */
static bool is_lambda(const struct lp_statement_pass *pass)
{
    return pass->view.first < pass->units.unit_count &&
           LP_UNIT_KIND(&pass->units.units[pass->view.first]) == LP_UNIT_LAMBDA;
}

/* The rows that have code, and those on which a unit with code starts. */
static uint32_t list_lines(const struct lp_statement_pass *pass, uint32_t *lines)
{
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < pass->shape.count; i++) {
        const uint32_t units[2] = {pass->unit_of[i], pass->home_of[i]};
        if (has_slot(pass, i)) lines[count++] = pass->shape.instrs[i].line;
        for (int j = 0; j < 2; j++)
            if (units[j] != LP_NO_UNIT) lines[count++] = pass->units.units[units[j]].line;
    }
    if (is_lambda(pass)) lines[count++] = pass->units.units[pass->view.first].line;
    qsort(lines, count, sizeof *lines, compare_lines);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || lines[i] != lines[i - 1]) lines[kept++] = lines[i];
    return kept;
}

static int list_rows(struct lp_statement_pass *pass, struct rows *out, struct lp_error *err)
{
    size_t room = 3 * (size_t)pass->shape.count + 1;
    uint32_t *lines = lp__arena_alloc(&pass->counts.arena, room * sizeof *lines);
    if (!lines) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu rows", room);
    uint32_t count = list_lines(pass, lines);
    out->rows = lp__arena_alloc(&pass->counts.arena, (count + 1) * sizeof *out->rows);
    if (!out->rows) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%u rows", count);
    for (uint32_t i = 0; i < count; i++)
        out->count += find_owner(pass, lines[i], &out->rows[out->count]);
    return 0;
}

/* Without columns nobody can tell apart what shares a row.  A statement that starts there is entered from elsewhere all
 * the same; parts of comprehensions and rows in between are not proved beside another start or end. */
static bool is_crowded(const struct lp_statement_pass *pass, const struct row *row)
{
    uint32_t found = 0, line = row->line;
    if (row->starts && !lp__unit_is_part(&pass->units.units[row->unit])) return false;
    for (uint32_t i = pass->owners.first; i < pass->owners.end; i++) {
        const struct lp_unit *unit = &pass->units.units[i];
        if (unit->line > line) break;
        if (unit->scope != pass->owners.scope) continue;
        bool leaf = LP_UNIT_KIND(unit) == LP_UNIT_SIMPLE || lp__unit_is_part(unit);
        found += unit->line == line || (leaf && unit->end_line == line);
    }
    return found > 1;
}

static int sum_rows(struct lp_statement_pass *pass, struct rows *rows, struct lp_error *err)
{
    int rc = 0;
    if (rows->count == 0) return 0;
    qsort(rows->rows, rows->count, sizeof *rows->rows, compare_rows_by_unit);
    for (uint32_t i = 0, end; i < rows->count && !rc; i = end) {
        struct row *row = &rows->rows[i];
        end = i + 1;
        if (row->starts) {
            sum_of_owner(pass, row);
            continue;
        }
        while (end < rows->count && rows->rows[end].unit == row->unit)
            end++;
        rc = sum_of_rest(pass, row, end - i, err);
    }
    for (uint32_t i = 0; i < rows->count; i++)
        if (!rows->rows[i].sum.known || (!pass->has_columns && is_crowded(pass, &rows->rows[i])))
            rows->rows[i].mark = LP_ROW_EVENTS;
    qsort(rows->rows, rows->count, sizeof *rows->rows, compare_rows_by_line);
    return rc;
}

/* -- 6 ----------------------------------------------------------------------------------------------------------- */

static int write_down(const struct rows *rows, struct lp_statement_sums *out, struct lp_error *err)
{
    size_t terms = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->rows[i].mark != LP_ROW_EVENTS) terms += rows->rows[i].sum.term_count;
    out->rows = lp__alloc(rows->count * sizeof *out->rows + terms * sizeof *out->terms);
    if (!out->rows) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%u rows", rows->count);
    out->terms = (struct lp_sums_term *)(out->rows + rows->count);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->rows[i];
        uint32_t count = row->mark == LP_ROW_EVENTS ? 0 : row->sum.term_count;
        out->rows[out->row_count++] =
            (struct lp_sums_row){.line = row->line, .mark = (uint16_t)row->mark, .term_count = (uint16_t)count};
        if (count) memcpy(out->terms + out->term_count, row->sum.terms, count * sizeof *out->terms);
        out->term_count += count;
    }
    return 0;
}

static int run(struct lp_statement_pass *pass, uint32_t scope, struct lp_statement_sums *out, struct lp_error *err)
{
    struct rows rows = {0};
    view_scope(pass, scope);
    int rc = lp__pass_place(pass, err);
    if (!rc) rc = list_rows(pass, &rows, err);
    if (!rc) rc = sum_rows(pass, &rows, err);
    if (!rc && pass->counts.failed) rc = lp__fail(err, LP_ERR_LIMIT, 0, "sums of %u instructions", pass->shape.count);
    if (!rc) rc = write_down(&rows, out, err);
    out->wants_branch = pass->counts.wants_branch;
    return rc;
}

int lp__statement_sums(const struct lp_statements_input *input, struct lp_statement_sums *out, struct lp_error *err)
{
    struct lp_statement_pass pass = {0};
    memset(out, 0, sizeof *out);
    lp__arena_init(&pass.counts.arena, 0);
    int rc = open_pass(&pass, input, err);
    if (!rc) {
        uint32_t scope = choose_scope(&pass, input);
        if (scope != UINT32_MAX) rc = run(&pass, scope, out, err);
    }
    close_pass(&pass);
    if (rc) lp__statement_sums_release(out);
    return rc;
}

void lp__statement_sums_release(struct lp_statement_sums *sums)
{
    lp__free(sums->rows);
    memset(sums, 0, sizeof *sums);
}
