/* The report as one JSON document: docs/report.schema.json describes it.  Parts that come later are there as null, so
 * that a reader may rely on every key. */
// SPDX-License-Identifier: MIT
#include <math.h>

#include "os/clock.h"
#include "render/json.h"
#include "render/lines.h"

static void put_verdicts(struct lp_json *json, const struct lp_report_header *header)
{
    lp__put_open(json, "verdicts", '{');
    for (unsigned i = 0; i < LP_REPORT_VERDICTS; i++)
        lp__put_u64(json, lp__verdict_name((enum lp_verdict)i), header->verdicts[i]);
    lp__json_close(json, '}');
}

static void put_clocks(struct lp_json *json, const struct lp_report_header *header)
{
    lp__put_open(json, "clocks", '[');
    for (size_t i = 0; i < header->clock_count; i++) {
        const struct lp_report_clock *clock = &header->clocks[i];
        lp__json_open(json, '{');
        lp__put_text(json, "wall", lp__wall_clock_name((enum lp_wall_clock)clock->wall));
        lp__put_text_or_null(json, "cpu",
                             clock->cpu == LP_CPU_NONE ? NULL : lp__cpu_clock_name((enum lp_cpu_clock)clock->cpu));
        lp__put_u64(json, "processes", clock->processes);
        lp__put_double(json, "wall_cost_ns", clock->wall_cost_ns, 2);
        lp__put_double(json, "cpu_cost_ns", clock->cpu_cost_ns, 2);
        lp__put_double(json, "entry_cost_ns", clock->entry_cost_ns, 2);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void put_measuring(struct lp_json *json, const struct lp_report_header *header)
{
    lp__put_open(json, "measuring", '{');
    lp__put_u64(json, "entries", header->entries);
    lp__put_ns(json, "cost_ns", header->cost_ns);
    lp__put_double(json, "share", header->cost_share, 6);
    lp__put_u64(json, "processes", header->cost_processes);
    lp__json_close(json, '}');
}

static void put_names(struct lp_json *json, const struct lp_report *report)
{
    lp__put_open(json, "hosts", '[');
    for (size_t i = 0; i < report->header.host_count; i++)
        lp__json_text(json, report->header.hosts[i]);
    lp__json_close(json, ']');
    lp__put_u64(json, "processes", report->header.processes);
    lp__put_open(json, "roles", '[');
    for (size_t i = 0; i < report->role_count; i++)
        lp__json_text(json, report->roles[i].name);
    lp__json_close(json, ']');
}

void lp__json_header(struct lp_json *json, const struct lp_report *report)
{
    const struct lp_report_header *header = &report->header;
    lp__put_open(json, "run", '{');
    lp__put_text_or_null(json, "run_id", header->attempt);
    lp__put_text(json, "directory", header->directory);
    lp__put_open(json, "source", '{');
    lp__put_text_or_null(json, "revision", header->revision);
    lp__put_text_or_null(json, "branch", header->branch);
    lp__put_u64(json, "revisions", header->revisions);
    lp__json_close(json, '}');
    put_names(json, report);
    lp__put_seconds(json, "runtime_s", header->span_ns);
    lp__put_bool(json, "runtime_across_hosts", header->span_across_hosts);
    lp__put_seconds(json, "longest_worker_s", header->longest_ns);
    lp__put_seconds(json, "started_at", header->started_real_ns);
    lp__put_seconds(json, "ended_at", header->ended_real_ns);
    lp__put_double(json, "imbalance", header->imbalance, 6);
    lp__put_known(json, "world_size", header->world_size);
    lp__put_u64(json, "threads", header->threads);
    lp__put_ns(json, "elapsed_ns", header->elapsed_ns);
    put_verdicts(json, header);
    lp__json_attempts(json, report->run);
    put_clocks(json, header);
    put_measuring(json, header);
    lp__json_close(json, '}');
}

void lp__json_workers(struct lp_json *json, const struct lp_report *report)
{
    lp__put_open(json, "workers", '[');
    for (size_t i = 0; i < report->worker_count; i++) {
        const struct lp_report_worker *worker = &report->workers[i];
        lp__json_open(json, '{');
        lp__json_process(json, worker->process);
        lp__put_double(json, "ratio", worker->ratio, 6);
        lp__put_ns(json, "span_ns", worker->span_ns);
        if (worker->tree)
            lp__json_phases(json, worker->tree);
        else {
            lp__json_key(json, "phases");
            lp__json_null(json);
        }
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

/* -- caveats ----------------------------------------------------------------------------------------------------- */

static void put_about(struct lp_json *json, const struct lp_report *report, const char *key, enum lp_note_kind kind)
{
    lp__put_open(json, key, '[');
    for (size_t i = 0; i < report->note_count; i++)
        if (report->notes[i].kind == kind) lp__json_text(json, report->notes[i].about);
    lp__json_close(json, ']');
}

static void put_note(struct lp_json *json, const struct lp_report *report, const struct lp_report_note *note)
{
    lp__json_open(json, '{');
    lp__put_text(json, "kind", lp__note_kind_name(note->kind));
    lp__put_text_or_null(json, "role", note->role < report->role_count ? report->roles[note->role].name : NULL);
    lp__put_text_or_null(json, "about", note->about);
    lp__put_u64(json, "count", note->count);
    lp__put_text(json, "text", note->text);
    lp__json_close(json, '}');
}

void lp__json_caveats(struct lp_json *json, const struct lp_report *report)
{
    lp__put_open(json, "caveats", '{');
    put_about(json, report, "unreadable", LP_NOTE_UNREADABLE);
    put_about(json, report, "superseded", LP_NOTE_SUPERSEDED);
    put_about(json, report, "stale", LP_NOTE_STALE);
    put_about(json, report, "killed", LP_NOTE_KILLED);
    lp__put_open(json, "missing_ranks", '[');
    for (size_t i = 0; i < report->run->missing_count; i++)
        lp__json_i64(json, report->run->missing_ranks[i]);
    lp__json_close(json, ']');
    lp__put_u64(json, "missing_count", report->header.missing_ranks);
    lp__put_open(json, "notes", '[');
    for (size_t i = 0; i < report->note_count; i++)
        put_note(json, report, &report->notes[i]);
    lp__json_close(json, ']');
    lp__json_close(json, '}');
}

static const char *emptiness(const struct lp_report *report, const struct lp_line_report *lines)
{
    if (lines && lines->function_count) return NULL;
    if (!report->header.processes) return "no_readable_worker_files";
    return report->header.verdicts[LP_VERDICT_NOTHING] == report->header.processes ? "nothing_recorded" : NULL;
}

static void put_later(struct lp_json *json, const char *key)
{
    lp__json_key(json, key);
    lp__json_null(json);
}

void lp__render_json(const struct lp_report *report, struct lp_buf *out)
{
    lp__render_json_with(report, NULL, out);
}

void lp__render_json_with(const struct lp_report *report, const struct lp_line_report *lines, struct lp_buf *out)
{
    struct lp_json json;
    lp__json_init(&json, out, 2);
    lp__json_open(&json, '{');
    lp__put_u64(&json, "schema", 1);
    lp__put_text_or_null(&json, "empty", emptiness(report, lines));
    lp__put_text(&json, "sort", lp__report_sort_name(report->options.sort));
    lp__json_header(&json, report);
    lp__json_roles(&json, report);
    lp__json_workers(&json, report);
    lp__json_caveats(&json, report);
    lp__json_key(&json, "lines");
    if (lines && lines->function_count)
        lp__json_lines(&json, lines);
    else
        lp__json_null(&json);
    put_later(&json, "findings");
    put_later(&json, "resources");
    put_later(&json, "machine");
    lp__json_close(&json, '}');
    lp__buf_addc(out, '\n');
}
