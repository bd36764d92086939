/* What the header of every page shows of a run: command, time, place, processes, and the facts behind a click. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "analyse/report.h"
#include "base/fmt.h"
#include "render/json.h"
#include "render/page.h"

enum { MOST_DISTINCT = 8 };

/* Whose facts: a page of lines is about the processes that recorded lines. */
struct told {
    const struct lp_run_process *processes;
    size_t count;
};

static struct told told_of(const struct lp_run *run)
{
    if (run->line_process_count) return (struct told){run->line_processes, run->line_process_count};
    return (struct told){run->processes, run->process_count};
}

typedef const char *text_of(const struct lp_run_process *process);

static const char *host_of(const struct lp_run_process *process)
{
    return process->host;
}

static const char *python_of(const struct lp_run_process *process)
{
    return process->python;
}

static const char *version_of(const struct lp_run_process *process)
{
    return process->version;
}

static const char *argv_of(const struct lp_run_process *process)
{
    return process->argv;
}

static const char *revision_of(const struct lp_run_process *process)
{
    return process->revision;
}

static const char *cpu_of(const struct lp_run_process *process)
{
    return process->cpu_model;
}

static const char *folder_of(const struct lp_run_process *process)
{
    return process->cwd;
}

/* "key": the distinct values that are known, in order of appearance, a handful at most. */
static void put_distinct(struct lp_page_data *data, struct told told, const char *key, text_of *text)
{
    const char *seen[MOST_DISTINCT];
    size_t count = 0;
    lp__put_open(&data->json, key, '[');
    for (size_t i = 0; i < told.count && count < MOST_DISTINCT; i++) {
        const char *value = text(&told.processes[i]);
        size_t known = 0;
        if (!value || !value[0]) continue;
        while (known < count && strcmp(seen[known], value) != 0)
            known++;
        if (known < count) continue;
        seen[count++] = value;
        lp__json_text(&data->json, value);
    }
    lp__json_close(&data->json, ']');
}

static void put_span(struct lp_page_data *data, struct told told)
{
    double start = LP_NAN, end = LP_NAN;
    for (size_t i = 0; i < told.count; i++) {
        start = fmin(start, told.processes[i].started_real_ns); /* fmin and fmax leave NaN aside */
        end = fmax(end, told.processes[i].last_real_ns);
    }
    lp__put_seconds(&data->json, "started_s", start);
    lp__put_ns(&data->json, "span_ns", end >= start ? end - start : LP_NAN);
}

static void put_verdicts(struct lp_page_data *data, struct told told)
{
    uint64_t counts[LP_REPORT_VERDICTS] = {0};
    for (size_t i = 0; i < told.count; i++)
        counts[told.processes[i].verdict]++;
    lp__put_open(&data->json, "verdicts", '[');
    for (unsigned i = 0; i < LP_REPORT_VERDICTS; i++) {
        if (!counts[i]) continue;
        lp__json_open(&data->json, '[');
        lp__json_text(&data->json, lp__verdict_words((enum lp_verdict)i));
        lp__json_u64(&data->json, counts[i]);
        lp__json_close(&data->json, ']');
    }
    lp__json_close(&data->json, ']');
}

void lp__page_run(struct lp_page_data *data, const struct lp_run *run, const char *title)
{
    struct told told = told_of(run);
    lp__put_open(&data->json, "run", '{');
    lp__put_text(&data->json, "title", title);
    lp__put_text(&data->json, "made_by", "lineprofiler " LP_VERSION);
    lp__put_text_or_null(&data->json, "directory", run->directory);
    put_span(data, told);
    lp__put_u64(&data->json, "processes", told.count);
    put_verdicts(data, told);
    put_distinct(data, told, "commands", argv_of);
    put_distinct(data, told, "folders", folder_of);
    put_distinct(data, told, "hosts", host_of);
    put_distinct(data, told, "pythons", python_of);
    put_distinct(data, told, "versions", version_of);
    put_distinct(data, told, "revisions", revision_of);
    put_distinct(data, told, "cpus", cpu_of);
    lp__put_u64(&data->json, "missing_ranks", (uint64_t)(run->missing_total > 0 ? run->missing_total : 0));
    lp__put_open(&data->json, "unreadable", '[');
    for (size_t i = 0; i < run->bad_count; i++)
        lp__json_text(&data->json, run->bad[i].path);
    lp__json_close(&data->json, ']');
    lp__json_close(&data->json, '}');
}
