/* Workers: each process of the run, and who is slow.  A worker's time is its phase time (depth 1, open included); its
 * ratio is to the median worker of its role, because one slow worker moves a mean and hides itself. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>
#include <stdio.h>

#include "base/fmt.h"

char *lp__worker_name(char *out, size_t cap, const struct lp_run_process *process)
{
    const char *host = process->host && process->host[0] ? process->host : "?";
    if (process->rank >= 0)
        (void)snprintf(out, cap, "rank %lld %.200s:%u", (long long)process->rank, host, process->pid);
    else
        (void)snprintf(out, cap, "%.200s:%u", host, process->pid);
    return out;
}

double lp__report_process_span(const struct lp_run_process *process)
{
    if (process->last_mono_ns < process->started_mono_ns) return LP_NAN;
    double span = (double)process->last_mono_ns - (double)process->started_mono_ns;
    return isfinite(span) ? span : LP_NAN;
}

static int build_worker(struct lp_report *report, const struct lp_run_process *process, uint32_t role,
                        struct lp_report_worker *out)
{
    *out = (struct lp_report_worker){process, role, LP_NAN, lp__report_process_span(process), NULL};
    if (!report->options.workers || !process->tree) return LP_OK;
    out->tree = lp__arena_alloc(&report->arena, sizeof *out->tree);
    if (!out->tree) return LP_ERR_NO_MEMORY;
    return lp__report_tree_build(report, process->tree, process->cpu_clock != 0, out->tree);
}

/* Fills keys with the role's workers that recorded anything. */
static size_t comparable(const struct lp_report *report, uint32_t role, struct lp_report_key *keys)
{
    size_t count = 0;
    for (size_t i = 0; i < report->worker_count; i++) {
        const struct lp_report_worker *worker = &report->workers[i];
        if (worker->role != role || worker->process->verdict == LP_VERDICT_NOTHING) continue;
        keys[count++] = (struct lp_report_key){worker->process->top_wall_ns, i};
    }
    return count;
}

static void compare_role(struct lp_report *report, uint32_t role, struct lp_report_key *keys)
{
    struct lp_report_spread *spread = &report->roles[role].spread;
    size_t count = comparable(report, role, keys);
    *spread = (struct lp_report_spread){SIZE_MAX, SIZE_MAX, SIZE_MAX};
    if (!count) return;
    lp__report_sort(keys, count);
    *spread = (struct lp_report_spread){keys[0].index, keys[count / 2].index, keys[count - 1].index};
    double median = keys[count / 2].key;
    for (size_t i = 0; i < count && median > 0; i++)
        report->workers[keys[i].index].ratio = keys[i].key / median;
}

int lp__report_workers(struct lp_report *report)
{
    const struct lp_run *run = report->run;
    int rc = LP_ERR_NO_MEMORY;
    struct lp_report_key *keys = lp__calloc(run->process_count + 1, sizeof *keys);
    report->workers = lp__arena_alloc(&report->arena, (run->process_count + 1) * sizeof *report->workers);
    if (!keys || !report->workers) goto done;
    for (size_t i = 0; i < run->process_count; i++) {
        uint32_t role = lp__report_role_of(report, &run->processes[i]);
        if (role == UINT32_MAX) continue;
        rc = build_worker(report, &run->processes[i], role, &report->workers[report->worker_count]);
        if (rc) goto done;
        report->worker_count++;
    }
    for (uint32_t role = 0; role < report->role_count; role++)
        compare_role(report, role, keys);
    rc = LP_OK;
done:
    lp__free(keys);
    return rc;
}
