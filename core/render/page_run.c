/* What the header of every page shows of a run: command, time, place, processes, and the facts behind a click. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "analyse/report.h"
#include "base/fmt.h"
#include "render/json.h"
#include "render/page.h"

enum { MOST_DISTINCT = 8 };

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
static void put_distinct(struct lp_page_data *data, const struct lp_run *run, const char *key, text_of *text)
{
    const char *seen[MOST_DISTINCT];
    size_t count = 0;
    lp__put_open(&data->json, key, '[');
    for (size_t i = 0; i < run->process_count && count < MOST_DISTINCT; i++) {
        const char *value = text(&run->processes[i]);
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

static void put_span(struct lp_page_data *data, const struct lp_run *run)
{
    double start = LP_NAN, end = LP_NAN;
    for (size_t i = 0; i < run->process_count; i++) {
        start = fmin(start, run->processes[i].started_real_ns); /* fmin and fmax leave NaN aside */
        end = fmax(end, run->processes[i].last_real_ns);
    }
    lp__put_seconds(&data->json, "started_s", start);
    lp__put_ns(&data->json, "span_ns", end >= start ? end - start : LP_NAN);
}

static void put_verdicts(struct lp_page_data *data, const struct lp_run *run)
{
    uint64_t counts[LP_REPORT_VERDICTS] = {0};
    for (size_t i = 0; i < run->process_count; i++)
        counts[run->processes[i].verdict]++;
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
    lp__put_open(&data->json, "run", '{');
    lp__put_text(&data->json, "title", title);
    lp__put_text(&data->json, "made_by", "lineprofiler " LP_VERSION);
    lp__put_text_or_null(&data->json, "directory", run->directory);
    put_span(data, run);
    lp__put_u64(&data->json, "processes", run->process_count);
    put_verdicts(data, run);
    put_distinct(data, run, "commands", argv_of);
    put_distinct(data, run, "folders", folder_of);
    put_distinct(data, run, "hosts", host_of);
    put_distinct(data, run, "pythons", python_of);
    put_distinct(data, run, "versions", version_of);
    put_distinct(data, run, "revisions", revision_of);
    put_distinct(data, run, "cpus", cpu_of);
    lp__put_u64(&data->json, "missing_ranks", (uint64_t)(run->missing_total > 0 ? run->missing_total : 0));
    lp__put_open(&data->json, "unreadable", '[');
    for (size_t i = 0; i < run->bad_count; i++)
        lp__json_text(&data->json, run->bad[i].path);
    lp__json_close(&data->json, ']');
    lp__json_close(&data->json, '}');
}
