/* Roles and phases of the report's JSON document. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "render/json.h"

/* Deep trees recurse as deep as LP_MAX_DEPTH, which a stack holds easily. */
static void put_path_names(struct lp_json *json, const struct lp_report_tree *tree, uint32_t phase)
{
    if (!phase) return;
    put_path_names(json, tree, tree->phases[phase].parent);
    lp__json_str(json, tree->phases[phase].name.bytes, tree->phases[phase].name.len);
}

static void join(struct lp_buf *out, const struct lp_report_tree *tree, uint32_t phase)
{
    uint32_t parent = tree->phases[phase].parent;
    if (!phase) return;
    join(out, tree, parent);
    if (parent) lp__buf_addc(out, '/');
    lp__buf_add(out, tree->phases[phase].name.bytes, tree->phases[phase].name.len);
}

/* "phase": the joined path, for reading; "path": the names, for programs. */
static void put_path(struct lp_json *json, const struct lp_report_tree *tree, uint32_t phase)
{
    struct lp_buf joined;
    lp__buf_init(&joined, (size_t)16 << 20);
    join(&joined, tree, phase);
    if (joined.failed) json->out->failed = joined.failed;
    lp__json_key(json, "phase");
    lp__json_str(json, joined.data ? joined.data : "", joined.len);
    lp__buf_release(&joined);
    lp__put_open(json, "path", '[');
    put_path_names(json, tree, phase);
    lp__json_close(json, ']');
}

static void put_counters(struct lp_json *json, const struct lp_report_phase *phase)
{
    lp__put_open(json, "counters", '{');
    for (size_t i = 0; i < phase->counter_count; i++) {
        lp__put_name_key(json, phase->counters[i].name);
        lp__json_i128(json, phase->counters[i].total_high, phase->counters[i].total_low);
    }
    lp__json_close(json, '}');
    lp__put_open(json, "counter_details", '[');
    for (size_t i = 0; i < phase->counter_count; i++) {
        const struct lp_report_counter *counter = &phase->counters[i];
        lp__json_open(json, '{');
        lp__json_key(json, "name");
        lp__json_str(json, counter->name.bytes, counter->name.len);
        lp__json_key(json, "total");
        lp__json_i128(json, counter->total_high, counter->total_low);
        lp__put_u64(json, "adds", counter->adds);
        lp__json_key(json, "min");
        lp__json_i64(json, counter->min);
        lp__json_key(json, "max");
        lp__json_i64(json, counter->max);
        lp__put_double(json, "mean", counter->mean, 6);
        lp__put_double(json, "p50", counter->p50, 3);
        lp__put_double(json, "p95", counter->p95, 3);
        lp__put_double(json, "per_s", counter->per_s, 6);
        lp__put_double(json, "each_ns", counter->each_ns, 3);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void put_times(struct lp_json *json, const struct lp_report_phase *phase)
{
    bool untimed = phase->untimed;
    lp__put_ns(json, "wall_ns", untimed ? LP_NAN : phase->wall_ns);
    lp__put_ns(json, "active_ns", untimed ? LP_NAN : phase->active_ns);
    lp__put_ns(json, "suspended_ns", untimed || phase->unmeasured ? LP_NAN : phase->suspended_ns);
    lp__put_ns(json, "cpu_ns", phase->cpu_ns);
    lp__put_ns(json, "self_ns", untimed ? LP_NAN : phase->self_ns);
    lp__put_ns(json, "wait_ns", phase->wait_ns);
    lp__put_double(json, "wait_share", phase->wait_share, 6);
    lp__put_double(json, "mean_ns", phase->mean_ns, 3);
    lp__put_double(json, "stddev_ns", phase->stddev_ns, 3);
    lp__put_double(json, "min_ns", phase->min_ns, 3);
    lp__put_double(json, "p50_ns", phase->p50_ns, 3);
    lp__put_double(json, "p95_ns", phase->p95_ns, 3);
    lp__put_double(json, "p99_ns", phase->p99_ns, 3);
    lp__put_double(json, "max_ns", phase->max_ns, 3);
}

static void put_sampling(struct lp_json *json, const struct lp_report_phase *phase)
{
    lp__json_key(json, "sampled");
    if (phase->scale == 1 && !phase->skipped) {
        lp__json_null(json);
        return;
    }
    lp__json_open(json, '{');
    lp__put_double(json, "scale", phase->scale, 6);
    lp__put_u64(json, "skipped", phase->skipped);
    lp__put_bool(json, "calls_estimated", phase->entries_estimated);
    lp__json_close(json, '}');
}

static void put_flags(struct lp_json *json, const struct lp_report_phase *phase)
{
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {
        {LP_NODE_THREAD, "thread"}, {LP_NODE_FOLDED, "folded"},   {LP_NODE_IO, "io"},          {LP_NODE_SYNC, "sync"},
        {LP_NODE_ASYNC, "async"},   {LP_NODE_SAMPLED, "sampled"}, {LP_RUN_DAMAGED, "damaged"},
    };
    lp__put_open(json, "flags", '[');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (phase->flags & words[i].flag) lp__json_text(json, words[i].word);
    lp__json_close(json, ']');
}

static void put_phase(struct lp_json *json, const struct lp_report_tree *tree, uint32_t index)
{
    const struct lp_report_phase *phase = &tree->phases[index];
    lp__json_open(json, '{');
    put_path(json, tree, index);
    lp__put_u64(json, "calls", phase->entries);
    lp__put_u64(json, "measured", phase->measured);
    lp__put_u64(json, "open", phase->open);
    lp__put_ns(json, "open_ns", phase->open_ns);
    put_times(json, phase);
    put_sampling(json, phase);
    lp__put_bool(json, "self_estimated", phase->self_estimated);
    lp__put_u64(json, "unmeasured", phase->unmeasured);
    lp__put_u64(json, "async_entries", phase->async_entries);
    lp__put_u64(json, "processes", phase->processes);
    put_flags(json, phase);
    put_counters(json, phase);
    lp__json_close(json, '}');
}

void lp__json_phases(struct lp_json *json, const struct lp_report_tree *tree)
{
    lp__put_open(json, "phases", '[');
    for (size_t i = 0; i < tree->order_count; i++)
        put_phase(json, tree, tree->order[i]);
    lp__json_close(json, ']');
}

static void put_breakdown(struct lp_json *json, const struct lp_report_role *role)
{
    const struct lp_report_breakdown *parts = &role->breakdown;
    lp__put_open(json, "breakdown", '{');
    lp__put_open(json, "of", '[');
    if (role->tree.count) put_path_names(json, &role->tree, parts->parent);
    lp__json_close(json, ']');
    lp__put_ns(json, "base_ns", parts->base_ns);
    lp__put_open(json, "rows", '[');
    for (size_t i = 0; i < parts->count; i++) {
        lp__json_open(json, '{');
        put_path(json, &role->tree, parts->rows[i].phase);
        lp__put_ns(json, "active_ns", parts->rows[i].ns);
        lp__put_double(json, "share", parts->rows[i].share, 6);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
    lp__put_ns(json, "other_ns", parts->other_ns);
    lp__put_double(json, "other_share", parts->other_share, 6);
    lp__json_close(json, '}');
}

static void put_trend(struct lp_json *json, const struct lp_report_iterations *iterations)
{
    lp__json_key(json, "trend");
    if (!iterations->trend_calls) {
        lp__json_null(json);
        return;
    }
    lp__json_open(json, '{');
    lp__put_u64(json, "calls", iterations->trend_calls);
    lp__put_double(json, "first_tenth_ns", iterations->first_tenth_ns, 3);
    lp__put_double(json, "last_tenth_ns", iterations->last_tenth_ns, 3);
    lp__put_double(json, "change", iterations->change, 6);
    lp__json_close(json, '}');
}

static void put_iterations(struct lp_json *json, const struct lp_report_role *role)
{
    lp__json_key(json, "iterations");
    if (!role->iterations.phase) {
        lp__json_null(json);
        return;
    }
    const struct lp_report_phase *phase = &role->tree.phases[role->iterations.phase];
    lp__json_open(json, '{');
    put_path(json, &role->tree, role->iterations.phase);
    lp__put_u64(json, "calls", phase->entries);
    lp__put_double(json, "share", role->iterations.share, 6);
    lp__put_double(json, "mean_ns", phase->mean_ns, 3);
    lp__put_double(json, "p50_ns", phase->p50_ns, 3);
    lp__put_double(json, "p95_ns", phase->p95_ns, 3);
    lp__put_double(json, "p99_ns", phase->p99_ns, 3);
    put_trend(json, &role->iterations);
    lp__json_close(json, '}');
}

static void put_outside(struct lp_json *json, const struct lp_report_role *role)
{
    static const struct lp_report_phase nothing;
    lp__put_open(json, "outside", '{');
    lp__put_ns(json, "ns", role->outside_ns);
    lp__put_double(json, "share", role->outside_share, 6);
    lp__put_bool(json, "estimated", role->outside_estimated);
    put_counters(json, role->tree.count ? &role->tree.phases[0] : &nothing);
    lp__json_close(json, '}');
}

/* Which entries of "workers" are the slowest, the median and the fastest. */
static void put_spread(struct lp_json *json, const struct lp_report_spread *spread)
{
    lp__put_open(json, "spread", '{');
    lp__put_known(json, "slowest", spread->slowest == SIZE_MAX ? -1 : (int64_t)spread->slowest);
    lp__put_known(json, "median", spread->median == SIZE_MAX ? -1 : (int64_t)spread->median);
    lp__put_known(json, "fastest", spread->fastest == SIZE_MAX ? -1 : (int64_t)spread->fastest);
    lp__json_close(json, '}');
}

void lp__json_roles(struct lp_json *json, const struct lp_report *report)
{
    lp__put_open(json, "roles", '[');
    for (size_t i = 0; i < report->role_count; i++) {
        const struct lp_report_role *role = &report->roles[i];
        lp__json_open(json, '{');
        lp__put_text(json, "role", role->name);
        lp__put_u64(json, "processes", role->processes);
        lp__put_double(json, "imbalance", role->imbalance, 6);
        lp__put_ns(json, "elapsed_ns", role->elapsed_ns);
        lp__put_ns(json, "phase_ns", role->phase_ns);
        put_outside(json, role);
        put_breakdown(json, role);
        lp__json_phases(json, &role->tree);
        put_iterations(json, role);
        put_spread(json, &role->spread);
        lp__json_drops(json, role->drops);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}
