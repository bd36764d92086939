/* The figures of a function's lines: slots are added up by line, and executions worked out by the sums that somebody
 * has proved for the code object.
 *
 * The time of a function's entry, and of places that have no line, goes to the first line of it that ran, so that rows
 * add up to all of the function's time.
 */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "analyse/lines_parts.h"

#define NONE UINT32_MAX

/* -- counters ---------------------------------------------------------------------------------------------------- */

/* Counters of one code object over some tables, numbered as lp_sums_term has them. */
static void add_counters(const struct lp_lines_code *code, const struct lp_lines_table *table, uint64_t *counters)
{
    for (uint32_t i = 0; i < code->slot_count; i++)
        counters[i] += table->slots[i].events;
    counters[code->slot_count] += table->calls;
    for (size_t i = 0; i < (size_t)code->branch_count * 2; i++)
        counters[code->slot_count + 1 + i] += table->branches[i];
}

/* Modulo 2^64, as the counters are; what no count can be, in a snapshot or a damaged file, is 0. */
static uint64_t value_of(const struct lp_sums_term *terms, uint32_t count, const uint64_t *counters)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += (uint64_t)(int64_t)terms[i].factor * counters[terms[i].counter];
    return sum <= INT64_MAX ? sum : 0;
}

/* A statement that sends events and yet adds up to nothing was not understood.  Unless all activations ran before they
 * were watched, as that of `with profiler:` itself: there it began before, and shows no execution. */
static enum lp_row_mark judge(enum lp_row_mark mark, uint64_t value, uint64_t events, uint64_t calls)
{
    if (mark != LP_ROW_EXACT || value || !events) return mark;
    return calls ? LP_ROW_EVENTS : LP_ROW_PART;
}

static void add_row(struct lp_line_sum *sum, enum lp_row_mark mark, uint64_t value)
{
    if (mark == LP_ROW_EVENTS) {
        sum->by_events = true;
        sum->hits += sum->code_events;
    } else {
        sum->exact |= mark == LP_ROW_EXACT;
        sum->part |= mark != LP_ROW_EXACT;
        sum->hits += value;
    }
    sum->code_events = 0; /* of two rows on one line only the first may fall back on them */
}

/* A line that sends events but owns no execution, such as a closing bracket, shows none. */
static void add_worked_out(struct lp_lines_work *work, const struct lp_line_function_work *function, uint32_t index,
                           const uint64_t *counters, bool whole, struct lp_line_sum *sums)
{
    const struct lp_lines_code *code = &work->lines->codes[index];
    const struct lp_sums_term *terms = code->terms;
    uint64_t calls = counters[code->slot_count];
    for (uint32_t i = 0; i < code->row_count; i++) {
        const struct lp_sums_row *row = &code->rows[i];
        uint32_t at = work->row_of_sum[index][i];
        uint64_t value = value_of(terms, row->term_count, counters);
        enum lp_row_mark mark = (enum lp_row_mark)row->mark;
        terms += row->term_count;
        if (at == NONE) continue;
        if (whole)
            mark = judge(mark, value, sums[at].code_events, calls);
        else if (function->by_events[at]) /* a part shows what the whole shows */
            mark = LP_ROW_EVENTS;
        add_row(&sums[at], mark, value);
    }
    for (uint32_t i = 0; i < function->line_count; i++)
        sums[i].part |= sums[i].code_events > 0;
}

static void add_raw(const struct lp_line_function_work *function, struct lp_line_sum *sums)
{
    for (uint32_t i = 0; i < function->line_count; i++) {
        sums[i].hits += sums[i].code_events;
        sums[i].by_events |= sums[i].code_events > 0;
    }
}

/* -- slots ------------------------------------------------------------------------------------------------------- */

static void add_time(struct lp_line_sum *sum, const struct lp_lines_slot *slot)
{
    sum->self_ns += slot->self_ns;
    sum->inclusive_ns += slot->self_ns + slot->below_ns;
    sum->suspended_ns += slot->suspended_ns;
}

static void add_slots(struct lp_lines_work *work, const struct lp_lines_table *table, struct lp_line_sum *sums,
                      struct lp_line_sum *entry)
{
    const uint32_t *rows = work->row_of_slot[table->code];
    uint32_t count = work->lines->codes[table->code].slot_count;
    for (uint32_t i = 0; i <= count; i++) {
        struct lp_line_sum *sum = rows[i] == NONE ? entry : &sums[rows[i]];
        add_time(sum, &table->slots[i]);
        sum->events += table->slots[i].events;
        sum->code_events += table->slots[i].events;
    }
}

/* Tables of one code object. */
static int sum_code(struct lp_lines_work *work, struct lp_line_function_work *function, const uint32_t *tables,
                    size_t count, bool whole, struct lp_line_sum *sums, struct lp_line_sum *entry)
{
    uint32_t index = work->lines->tables[tables[0]].code;
    const struct lp_lines_code *code = &work->lines->codes[index];
    uint64_t *counters = lp__calloc((size_t)code->slot_count + 1 + (size_t)code->branch_count * 2, sizeof *counters);
    if (!counters) return LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < function->line_count; i++)
        sums[i].code_events = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lp_lines_table *table = &work->lines->tables[tables[i]];
        add_slots(work, table, sums, entry);
        add_counters(code, table, counters);
    }
    if (code->rows)
        add_worked_out(work, function, index, counters, whole, sums);
    else
        add_raw(function, sums);
    lp__free(counters);
    return LP_OK;
}

/* What parts of the run take over from the whole. */
static void judge_lines(struct lp_line_function_work *function, const struct lp_line_sum *sums)
{
    for (uint32_t i = 0; i < function->line_count; i++)
        function->by_events[i] = sums[i].by_events;
    for (function->entry = 0; function->entry < function->line_count; function->entry++)
        if (sums[function->entry].events) return;
    function->entry = 0;
}

int lp__lines_sum(struct lp_lines_work *work, struct lp_line_function_work *function, const uint32_t *tables,
                  size_t count, bool whole, struct lp_line_sum *sums)
{
    struct lp_line_sum entry = {0};
    memset(sums, 0, function->line_count * sizeof *sums);
    for (size_t from = 0, to; from < count; from = to) {
        uint32_t code = work->lines->tables[tables[from]].code;
        for (to = from + 1; to < count && work->lines->tables[tables[to]].code == code;)
            to++;
        int rc = sum_code(work, function, tables + from, to - from, whole, sums, &entry);
        if (rc) return rc;
    }
    if (whole) judge_lines(function, sums);
    struct lp_line_sum *first = &sums[function->entry];
    first->self_ns += entry.self_ns;
    first->inclusive_ns += entry.inclusive_ns;
    first->suspended_ns += entry.suspended_ns;
    return LP_OK;
}

uint64_t lp__line_sum_hits(const struct lp_line_sum *sum)
{
    return sum->hits;
}

enum lp_row_mark lp__line_sum_mark(const struct lp_line_sum *sum)
{
    if (sum->by_events) return LP_ROW_EVENTS;
    return sum->part && !sum->exact ? LP_ROW_PART : LP_ROW_EXACT;
}

/* -- functions --------------------------------------------------------------------------------------------------- */

static bool is_worth_a_row(const struct lp_line_sum *sum)
{
    return sum->events || sum->hits || sum->inclusive_ns > 0 || sum->suspended_ns > 0;
}

static void add_tables(struct lp_lines_work *work, struct lp_line_function *done, const uint32_t *tables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lp_lines_table *table = &work->lines->tables[tables[i]];
        done->calls += table->calls;
        done->active += table->active;
        done->total_ns += table->wall_ns;
    }
}

/* Calls that still run are in the rows before they are in the total. */
static void finish_function(struct lp_line_function *done)
{
    for (size_t i = 0; i < done->row_count; i++) {
        struct lp_line_row *row = &done->rows[i];
        done->self_ns += row->self_ns;
        done->suspended_ns += row->suspended_ns;
        done->total_ns = fmax(done->total_ns, row->inclusive_ns);
    }
    done->total_ns = fmax(done->total_ns, done->self_ns);
}

static int keep_rows(struct lp_lines_work *work, struct lp_line_function_work *function, const struct lp_line_sum *sums)
{
    struct lp_line_function *done = &function->done;
    size_t count = 0;
    for (uint32_t i = 0; i < function->line_count; i++)
        count += is_worth_a_row(&sums[i]);
    done->rows = lp__arena_alloc(&work->report->arena, (count ? count : 1) * sizeof *done->rows);
    if (!done->rows) return LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < function->line_count; i++) {
        const struct lp_line_sum *sum = &sums[i];
        function->events += sum->events;
        if (!is_worth_a_row(sum)) continue;
        done->rows[done->row_count++] = (struct lp_line_row){
            .line = function->lines[i],
            .mark = lp__line_sum_mark(sum),
            .hits = lp__line_sum_hits(sum),
            .events = sum->events,
            .self_ns = sum->self_ns,
            .inclusive_ns = sum->inclusive_ns,
            .suspended_ns = sum->suspended_ns,
        };
    }
    finish_function(done);
    return LP_OK;
}

static int keep_code_lines(struct lp_lines_work *work, struct lp_line_function_work *function)
{
    size_t bytes = function->line_count * sizeof *function->lines;
    function->done.code_lines = lp__arena_alloc(&work->report->arena, bytes);
    if (!function->done.code_lines) return LP_ERR_NO_MEMORY;
    memcpy(function->done.code_lines, function->lines, bytes);
    function->done.code_line_count = function->line_count;
    return LP_OK;
}

/* The tables of a function's code objects, one code object after the other. */
static uint32_t *tables_of(struct lp_lines_work *work, const struct lp_line_function_work *function, size_t *count)
{
    size_t all = 0;
    for (uint32_t code = function->first_code; code != NONE; code = work->next_code[code])
        all += work->table_start[code + 1] - work->table_start[code];
    uint32_t *tables = lp__calloc(all ? all : 1, sizeof *tables);
    *count = 0;
    for (uint32_t code = function->first_code; tables && code != NONE; code = work->next_code[code])
        for (uint32_t i = work->table_start[code]; i < work->table_start[code + 1]; i++)
            tables[(*count)++] = work->by_code[i];
    return tables;
}

static int make_rows(struct lp_lines_work *work, struct lp_line_function_work *function)
{
    struct lp_line_sum *sums = lp__calloc(function->line_count, sizeof *sums);
    size_t count;
    uint32_t *tables = tables_of(work, function, &count);
    int rc = sums && tables ? lp__lines_sum(work, function, tables, count, true, sums) : LP_ERR_NO_MEMORY;
    if (!rc) add_tables(work, &function->done, tables, count);
    if (!rc) rc = keep_rows(work, function, sums);
    if (!rc) rc = keep_code_lines(work, function);
    lp__free(tables);
    lp__free(sums);
    return rc;
}

int lp__lines_rows(struct lp_lines_work *work)
{
    int rc = LP_OK;
    for (size_t i = 0; i < work->function_count && !rc; i++)
        rc = make_rows(work, &work->functions[i]);
    return rc;
}
