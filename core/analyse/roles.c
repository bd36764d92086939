/* One block per role: its tree, what is outside any phase, how even its processes are, what was dropped. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "os/clock.h"

bool lp__report_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    if (!list || strcmp(list, name) == 0) return true; /* a role's own name may hold commas */
    for (const char *at = list; *at;) {
        size_t item = strcspn(at, ",");
        if (item == len && memcmp(at, name, len) == 0) return true;
        at += item + (at[item] == ',');
    }
    return false;
}

uint32_t lp__report_role_of(const struct lp_report *report, const struct lp_run_process *process)
{
    uint32_t at = 0;
    if (process->role_index >= report->run->role_count) return UINT32_MAX;
    for (uint32_t i = 0; i < process->role_index; i++)
        at += lp__report_listed(report->options.role, report->run->roles[i].name);
    return lp__report_listed(report->options.role, report->run->roles[process->role_index].name) ? at : UINT32_MAX;
}

bool lp__role_has_cpu(const struct lp_run *run, uint32_t role)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i].role_index == role && run->processes[i].cpu_clock == LP_CPU_NONE &&
            run->processes[i].entries)
            return false;
    return true;
}

static void add_drops(const struct lp_run *run, uint32_t role, struct lp_report_role *out)
{
    for (size_t i = 0; i < run->process_count; i++) {
        if (run->processes[i].role_index != role) continue;
        for (unsigned k = 0; k < LP_DROP_COUNT; k++)
            out->drops[k] += run->processes[i].drops[k];
    }
}

/* The first phase of a thread, whether or not threads' names are nested above. */
static bool is_outermost(const struct lp_report_tree *tree, const struct lp_report_phase *phase)
{
    return !(phase->flags & LP_NODE_THREAD) && (!phase->parent || tree->phases[phase->parent].flags & LP_NODE_THREAD);
}

/* What a sampled phase of the first level left out was elapsed time outside any phase for the recorder; it is taken
 * from there, so that phases and outside still add up to the elapsed time. */
static void fill_outside(const struct lp_run_role *from, struct lp_report_role *out)
{
    double beyond = 0;
    for (size_t i = 1; i < out->tree.count; i++) {
        const struct lp_report_phase *phase = &out->tree.phases[i];
        if (!is_outermost(&out->tree, phase)) continue;
        out->phase_ns += phase->active_ns;
        if (phase->scale > 1) beyond += phase->active_ns * (1 - 1 / phase->scale);
    }
    out->elapsed_ns = from->elapsed_ns;
    out->outside_ns = out->outside_share = LP_NAN;
    if (!(from->elapsed_ns > 0)) return;
    out->outside_estimated = beyond > 0;
    out->outside_ns = fmin(fmax(0, from->outside_ns - beyond), from->elapsed_ns);
    out->outside_share = out->outside_ns / from->elapsed_ns;
}

static double imbalance_of(double max_ns, double sum_ns, uint64_t processes)
{
    return processes > 1 && sum_ns > 0 ? max_ns * (double)processes / sum_ns : 1;
}

static size_t shown_of(const struct lp_report *report, const struct lp_report_tree *tree)
{
    size_t top = report->options.top ? report->options.top : LP_REPORT_TOP_DEFAULT;
    return top < tree->order_count ? top : tree->order_count;
}

static int build_role(struct lp_report *report, uint32_t index, struct lp_report_role *out)
{
    const struct lp_run_role *from = &report->run->roles[index];
    out->name = from->name;
    out->processes = from->processes;
    out->imbalance = imbalance_of(from->max_top_wall_ns, from->top_wall_ns, from->processes);
    int rc = lp__report_tree_build(report, &from->tree, lp__role_has_cpu(report->run, index), &out->tree);
    if (rc) return rc;
    add_drops(report->run, index, out);
    fill_outside(from, out);
    out->shown = shown_of(report, &out->tree);
    lp__report_iterations(out, &out->iterations);
    return lp__report_breakdown(report, &out->tree, &out->breakdown);
}

static int no_such_role(const struct lp_report *report, struct lp_error *err)
{
    char list[160] = "none";
    int used = 0;
    for (size_t i = 0; i < report->run->role_count && used < (int)sizeof list - 1; i++)
        used +=
            snprintf(list + used, sizeof list - (size_t)used, "%s%.60s", used ? ", " : "", report->run->roles[i].name);
    return lp__fail(err, LP_ERR_USAGE, 0, "no role \"%.60s\" in this run; it has: %s", report->options.role, list);
}

int lp__report_roles(struct lp_report *report, struct lp_error *err)
{
    const struct lp_run *run = report->run;
    report->roles = lp__arena_alloc(&report->arena, (run->role_count + 1) * sizeof *report->roles);
    if (!report->roles) return LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < run->role_count; i++) {
        if (!lp__report_listed(report->options.role, run->roles[i].name)) continue;
        int rc = build_role(report, i, &report->roles[report->role_count++]);
        if (rc) return rc;
    }
    if (!report->role_count && report->options.role) return no_such_role(report, err);
    return LP_OK;
}
