/* The line report as one JSON document: docs/lines.schema.json describes it. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>

#include "base/fmt.h"
#include "render/json.h"
#include "render/lines.h"

static const char *source_word(enum lp_source_state state)
{
    static const char *const words[] = {"ok", "missing", "changed", "none"};
    return words[state];
}

static const char *mark_word(enum lp_row_mark mark)
{
    return mark == LP_ROW_EVENTS ? "events" : mark == LP_ROW_PART ? "part" : "exact";
}

/* A time that is an estimate by the measured cost; null where that is not known. */
static void put_corrected(struct lp_json *json, const struct lp_line_report *report, const char *key, double ns)
{
    lp__put_ns(json, key, isnan(report->event_cost_ns) ? LP_NAN : ns);
}

static void put_name(struct lp_json *json, const char *key, struct lp_text name)
{
    lp__json_key(json, key);
    lp__json_str(json, name.bytes, name.len);
}

/* -- files ------------------------------------------------------------------------------------------------------- */

static void put_files(struct lp_json *json, const struct lp_line_report *report)
{
    lp__put_open(json, "files", '[');
    for (size_t i = 0; i < report->file_count; i++) {
        const struct lp_line_file *file = &report->files[i];
        lp__json_open(json, '{');
        lp__put_text(json, "path", file->path);
        lp__put_text(json, "source", source_word(file->source));
        lp__put_u64(json, "lines", file->line_count);
        lp__put_ns(json, "self_ns", file->self_ns);
        lp__put_u64(json, "hits", file->hits);
        lp__put_open(json, "functions", '[');
        for (size_t f = 0; f < file->function_count; f++)
            lp__json_u64(json, file->functions[f]);
        lp__json_close(json, ']');
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

/* -- functions --------------------------------------------------------------------------------------------------- */

static void put_row(struct lp_json *json, const struct lp_line_report *report, const struct lp_line_file *file,
                    const struct lp_line_row *row)
{
    struct lp_text text;
    lp__json_open(json, '{');
    lp__put_u64(json, "line", row->line);
    lp__put_u64(json, "hits", row->hits);
    lp__put_text(json, "mark", mark_word(row->mark));
    lp__put_u64(json, "events", row->events);
    lp__put_ns(json, "self_ns", row->self_ns);
    lp__put_ns(json, "inclusive_ns", row->inclusive_ns);
    lp__put_ns(json, "suspended_ns", row->suspended_ns);
    put_corrected(json, report, "corrected_self_ns", row->corrected_self_ns);
    put_corrected(json, report, "corrected_inclusive_ns", row->corrected_inclusive_ns);
    if (lp__line_text(file, row->line, &text))
        put_name(json, "source", text);
    else
        lp__put_text_or_null(json, "source", NULL);
    lp__json_close(json, '}');
}

static void put_calls(struct lp_json *json, const char *key, const struct lp_line_call *calls, size_t count)
{
    lp__put_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        lp__json_open(json, '{');
        lp__put_u64(json, "function", calls[i].function);
        lp__put_u64(json, "line", calls[i].line);
        lp__put_u64(json, "calls", calls[i].calls);
        lp__put_ns(json, "inclusive_ns", calls[i].inclusive_ns);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void put_function(struct lp_json *json, const struct lp_line_report *report,
                         const struct lp_line_function *function)
{
    lp__json_open(json, '{');
    lp__put_u64(json, "file", function->file);
    put_name(json, "name", function->name);
    lp__put_u64(json, "first_line", function->first_line);
    lp__put_u64(json, "last_line", function->last_line);
    lp__put_u64(json, "flags", function->flags);
    lp__put_u64(json, "calls", function->calls);
    lp__put_u64(json, "active", function->active);
    lp__put_ns(json, "self_ns", function->self_ns);
    lp__put_ns(json, "total_ns", function->total_ns);
    lp__put_ns(json, "suspended_ns", function->suspended_ns);
    put_corrected(json, report, "corrected_self_ns", function->corrected_self_ns);
    put_corrected(json, report, "corrected_total_ns", function->corrected_total_ns);
    lp__put_open(json, "code_lines", '[');
    for (size_t i = 0; i < function->code_line_count; i++)
        lp__json_u64(json, function->code_lines[i]);
    lp__json_close(json, ']');
    lp__put_open(json, "rows", '[');
    for (size_t i = 0; i < function->row_count; i++)
        put_row(json, report, &report->files[function->file], &function->rows[i]);
    lp__json_close(json, ']');
    put_calls(json, "callers", function->callers, function->caller_count);
    put_calls(json, "callees", function->callees, function->callee_count);
    lp__json_close(json, '}');
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static void put_region_row(struct lp_json *json, const struct lp_line_report *report,
                           const struct lp_line_region_row *row)
{
    lp__json_open(json, '{');
    lp__put_u64(json, "function", row->function);
    lp__put_u64(json, "line", row->line);
    lp__put_u64(json, "hits", row->hits);
    lp__put_text(json, "mark", mark_word(row->mark));
    lp__put_u64(json, "events", row->events);
    lp__put_ns(json, "self_ns", row->self_ns);
    lp__put_ns(json, "inclusive_ns", row->inclusive_ns);
    put_corrected(json, report, "corrected_self_ns", row->corrected_self_ns);
    put_corrected(json, report, "corrected_inclusive_ns", row->corrected_inclusive_ns);
    lp__json_close(json, '}');
}

static void put_regions(struct lp_json *json, const struct lp_line_report *report)
{
    lp__put_open(json, "regions", '[');
    for (size_t i = 0; i < report->region_count; i++) {
        const struct lp_line_region *region = &report->regions[i];
        lp__json_open(json, '{');
        put_name(json, "name", region->name);
        lp__put_known(json, "parent", region->parent == UINT32_MAX ? -1 : (int64_t)region->parent);
        lp__put_u64(json, "entries", region->entries);
        lp__put_ns(json, "wall_ns", region->wall_ns);
        lp__put_ns(json, "self_ns", region->self_ns);
        put_corrected(json, report, "corrected_self_ns", region->corrected_self_ns);
        lp__put_double(json, "share", region->share, 6);
        lp__put_open(json, "rows", '[');
        for (size_t r = 0; r < region->row_count; r++)
            put_region_row(json, report, &region->rows[r]);
        lp__json_close(json, ']');
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

/* -- the whole --------------------------------------------------------------------------------------------------- */

static void put_python(struct lp_json *json, uint32_t version)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u.%u", version >> 24, version >> 16 & 0xFF);
    lp__put_text_or_null(json, "unresolved_python", version ? text : NULL);
}

static void put_texts(struct lp_json *json, const struct lp_line_report *report)
{
    lp__put_open(json, "notes", '[');
    for (size_t i = 0; i < report->note_count; i++)
        lp__json_text(json, report->notes[i]);
    lp__json_close(json, ']');
    lp__put_open(json, "outside", '[');
    for (size_t i = 0; i < report->outside_count; i++) {
        lp__json_open(json, '{');
        lp__put_text(json, "path", report->outside[i].path);
        lp__put_u64(json, "calls", report->outside[i].calls);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

void lp__json_lines(struct lp_json *json, const struct lp_line_report *report)
{
    lp__json_open(json, '{');
    lp__put_u64(json, "schema", 1);
    lp__put_text_or_null(json, "mechanism", report->mechanism);
    lp__put_u64(json, "processes", report->processes);
    lp__put_u64(json, "threads", report->threads);
    lp__put_u64(json, "unobserved_threads", report->unobserved_threads);
    lp__put_ns(json, "profiled_ns", report->profiled_ns);
    put_corrected(json, report, "corrected_ns", report->corrected_ns);
    lp__put_u64(json, "events", report->events);
    lp__put_double(json, "event_cost_ns", report->event_cost_ns, 3);
    put_python(json, report->python);
    lp__put_open(json, "dropped", '{');
    lp__put_u64(json, "no_space", report->dropped[0]);
    lp__put_u64(json, "lost", report->dropped[1]);
    lp__put_u64(json, "damaged", report->damaged);
    lp__json_close(json, '}');
    put_texts(json, report);
    put_files(json, report);
    lp__put_open(json, "functions", '[');
    for (size_t i = 0; i < report->function_count; i++)
        put_function(json, report, &report->functions[i]);
    lp__json_close(json, ']');
    put_regions(json, report);
    lp__json_close(json, '}');
}

void lp__render_lines_json(const struct lp_line_report *report, struct lp_buf *out)
{
    struct lp_json json;
    lp__json_init(&json, out, 0);
    lp__json_lines(&json, report);
    lp__buf_addc(out, '\n');
}
