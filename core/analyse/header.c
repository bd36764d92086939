/* Facts about the run as a whole: how long, on what, by which clocks, and what measuring it cost. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>
#include <string.h>

#include "base/fmt.h"

/* Two processes of one boot of one machine share a monotonic clock; zeros are an unknown boot. */
static bool one_clock(const struct lp_run *run)
{
    static const uint8_t unknown[16];
    for (size_t i = 0; i < run->process_count; i++) {
        if (memcmp(run->processes[i].boot_id, unknown, 16) == 0 && run->process_count > 1) return false;
        if (memcmp(run->processes[i].boot_id, run->processes[0].boot_id, 16) != 0) return false;
    }
    return true;
}

static double usable(double ns)
{
    return isfinite(ns) && ns >= 0 ? ns : LP_NAN;
}

static double mono_span(const struct lp_run *run)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct lp_run_process *process = &run->processes[i];
        if (process->started_mono_ns < first) first = process->started_mono_ns;
        if (process->last_mono_ns > last) last = process->last_mono_ns;
    }
    return usable((double)last - (double)first);
}

static void fill_times(const struct lp_run *run, struct lp_report_header *header)
{
    double first = LP_NAN, last = LP_NAN;
    header->longest_ns = LP_NAN;
    header->span_ns = LP_NAN;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct lp_run_process *process = &run->processes[i];
        if (isfinite(process->started_real_ns)) first = fmin(first, process->started_real_ns); /* fmin skips NaN */
        if (isfinite(process->last_real_ns)) last = fmax(last, process->last_real_ns);
        header->longest_ns = fmax(header->longest_ns, lp__report_process_span(process));
    }
    header->started_real_ns = first;
    header->ended_real_ns = last;
    if (!run->process_count) return;
    header->span_across_hosts = !one_clock(run);
    header->span_ns = header->span_across_hosts ? usable(last - first) : mono_span(run);
}

static void fill_counts(const struct lp_run *run, struct lp_report_header *header)
{
    double sum = 0, max = 0;
    header->processes = run->process_count;
    header->world_size = run->world_size;
    header->missing_ranks = run->missing_total > 0 ? (uint64_t)run->missing_total : 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct lp_run_process *process = &run->processes[i];
        if (process->verdict < LP_REPORT_VERDICTS) header->verdicts[process->verdict]++;
        header->entries += process->entries;
        header->threads += process->threads;
        header->elapsed_ns += process->elapsed_ns;
        sum += process->top_wall_ns;
        max = fmax(max, process->top_wall_ns);
    }
    header->imbalance = sum > 0 ? max * (double)run->process_count / sum : 1;
}

/* Only processes that measured the cost of an entry can say what measuring cost them. */
static void fill_cost(const struct lp_run *run, struct lp_report_header *header)
{
    double cost = 0, elapsed = 0;
    header->cost_ns = header->cost_share = LP_NAN;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct lp_run_process *process = &run->processes[i];
        if (!(process->entry_cost_ns >= 0)) continue;
        cost += (double)process->entries * process->entry_cost_ns;
        elapsed += process->elapsed_ns;
        header->cost_processes++;
    }
    if (!header->cost_processes) return;
    header->cost_ns = cost;
    if (elapsed > 0) header->cost_share = fmin(1, cost / elapsed);
}

/* The first worker's revision stands for the run; how many there are says whether it may. */
static int fill_source(struct lp_report *report, struct lp_report_header *header)
{
    struct lp_intern seen;
    int rc = LP_OK;
    header->revision = header->branch = "";
    lp__intern_init(&seen, &report->arena);
    for (size_t i = 0; i < report->run->process_count && !rc; i++) {
        const struct lp_run_process *process = &report->run->processes[i];
        uint32_t id;
        if (!process->revision[0]) continue;
        if (!header->revision[0]) {
            header->revision = process->revision;
            header->branch = process->branch;
        }
        rc = lp__intern_add(&seen, process->revision, strlen(process->revision), &id);
    }
    header->revisions = seen.count;
    lp__intern_release(&seen);
    return rc;
}

static int fill_hosts(struct lp_report *report, struct lp_report_header *header)
{
    const struct lp_run *run = report->run;
    struct lp_intern seen;
    int rc = LP_ERR_NO_MEMORY;
    lp__intern_init(&seen, &report->arena);
    header->hosts = lp__arena_alloc(&report->arena, (run->process_count + 1) * sizeof *header->hosts);
    if (!header->hosts) goto done;
    for (size_t i = 0; i < run->process_count; i++) {
        uint32_t id;
        const char *host = run->processes[i].host;
        rc = lp__intern_add(&seen, host, strlen(host), &id);
        if (rc) goto done;
        if (id == header->host_count) header->hosts[header->host_count++] = host;
    }
    rc = LP_OK;
done:
    lp__intern_release(&seen);
    return rc;
}

static struct lp_report_clock *clock_of(struct lp_report_header *header, const struct lp_run_process *process)
{
    for (size_t i = 0; i < header->clock_count; i++)
        if (header->clocks[i].wall == process->wall_clock && header->clocks[i].cpu == process->cpu_clock)
            return &header->clocks[i];
    return NULL;
}

/* A handful of pairs exist, so a hostile run cannot grow this list past the ceiling by inventing numbers. */
#define MOST_CLOCK_PAIRS 16

static int fill_clocks(struct lp_report *report, struct lp_report_header *header)
{
    const struct lp_run *run = report->run;
    header->clocks = lp__arena_alloc(&report->arena, MOST_CLOCK_PAIRS * sizeof *header->clocks);
    if (!header->clocks) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct lp_run_process *process = &run->processes[i];
        struct lp_report_clock *clock = clock_of(header, process);
        if (!clock) {
            if (header->clock_count == MOST_CLOCK_PAIRS) continue;
            clock = &header->clocks[header->clock_count++];
            *clock = (struct lp_report_clock){process->wall_clock, process->cpu_clock, 0, LP_NAN, LP_NAN, LP_NAN};
        }
        clock->processes++;
        clock->wall_cost_ns = fmax(clock->wall_cost_ns, process->wall_cost_ns);
        clock->cpu_cost_ns = fmax(clock->cpu_cost_ns, process->cpu_cost_ns);
        clock->entry_cost_ns = fmax(clock->entry_cost_ns, process->entry_cost_ns);
    }
    return LP_OK;
}

static void fill_attempts(const struct lp_run *run, struct lp_report_header *header)
{
    header->attempt = "";
    for (size_t i = 0; i < run->attempt_count; i++) {
        if (!run->attempts[i].chosen) continue;
        header->attempt = header->shown_attempts++ ? "all" : run->attempts[i].id;
    }
}

int lp__report_header(struct lp_report *report)
{
    struct lp_report_header *header = &report->header;
    header->directory = report->run->directory ? report->run->directory : "";
    fill_attempts(report->run, header);
    fill_times(report->run, header);
    fill_counts(report->run, header);
    fill_cost(report->run, header);
    int rc = fill_hosts(report, header);
    if (!rc) rc = fill_source(report, header);
    return rc ? rc : fill_clocks(report, header);
}
