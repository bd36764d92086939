/* A run as it was merged, without analysis, in one line of JSON: what programs build their own figures from. */
// SPDX-License-Identifier: MIT
#include "base/fmt.h"
#include "os/clock.h"
#include "render/json.h"

static void put_hist(struct lp_json *json, const char *key, const struct lp_hist *hist)
{
    lp__put_open(json, key, '[');
    for (unsigned slot = 0; hist && slot < LP_HIST_SLOT_COUNT; slot++) {
        const uint64_t *block = hist->blocks[slot];
        for (unsigned sub = 0; block && sub < LP_HIST_SUB_COUNT; sub++) {
            if (!block[sub]) continue;
            lp__json_open(json, '[');
            lp__json_u64(json, lp__hist_low(slot, sub));
            lp__json_u64(json, lp__hist_width(slot));
            lp__json_u64(json, block[sub]);
            lp__json_close(json, ']');
        }
    }
    lp__json_close(json, ']');
}

static void put_counters(struct lp_json *json, const struct lp_run *run, const struct lp_run_phase *phase)
{
    lp__put_open(json, "counters", '{');
    for (const struct lp_run_counter *counter = phase->counters; counter; counter = counter->next) {
        if (counter->name >= run->names.count) continue;
        lp__put_name_key(json, run->names.texts[counter->name]);
        lp__json_open(json, '{');
        lp__json_key(json, "total");
        lp__json_i128(json, counter->total_high, counter->total_low);
        lp__put_u64(json, "adds", counter->adds);
        lp__json_key(json, "min");
        lp__json_i64(json, counter->min);
        lp__json_key(json, "max");
        lp__json_i64(json, counter->max);
        put_hist(json, "hist", counter->hist);
        put_hist(json, "hist_negative", counter->hist_negative);
        lp__json_close(json, '}');
    }
    lp__json_close(json, '}');
}

static void put_names(struct lp_json *json, const struct lp_run *run, const struct lp_run_tree *tree, uint32_t phase)
{
    uint32_t name = tree->phases[phase].name;
    if (!phase) return;
    put_names(json, run, tree, tree->phases[phase].parent);
    if (name < run->names.count)
        lp__json_str(json, run->names.texts[name].bytes, run->names.texts[name].len);
    else
        lp__json_text(json, "");
}

static void put_flags(struct lp_json *json, uint32_t flags)
{
    static const char *const words[] = {"root", "thread", "folded", "io", "sync", "async", "sampled"};
    lp__put_open(json, "flags", '[');
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (flags & 1u << i) lp__json_text(json, words[i]);
    if (flags & LP_RUN_DAMAGED) lp__json_text(json, "damaged");
    lp__json_close(json, ']');
}

static void put_phase(struct lp_json *json, const struct lp_run *run, const struct lp_run_tree *tree, bool has_cpu,
                      uint32_t index)
{
    const struct lp_run_phase *phase = &tree->phases[index];
    double no_entry = phase->calls ? 0 : LP_NAN;
    lp__json_open(json, '{');
    lp__put_open(json, "path", '[');
    put_names(json, run, tree, index);
    lp__json_close(json, ']');
    lp__put_u64(json, "calls", phase->calls);
    lp__put_u64(json, "open", phase->open);
    lp__put_u64(json, "skipped", phase->skipped);
    lp__put_u64(json, "unmeasured", phase->unmeasured);
    lp__put_u64(json, "async_entries", phase->async_entries);
    lp__put_u64(json, "processes", phase->processes);
    put_flags(json, phase->flags);
    lp__put_ns(json, "wall_ns", phase->wall_ns);
    lp__put_ns(json, "open_wall_ns", phase->open_wall_ns);
    lp__put_ns(json, "suspended_ns", phase->suspended_ns);
    lp__put_ns(json, "inner_ns", phase->inner_ns);
    lp__put_ns(json, "cpu_ns", has_cpu ? phase->cpu_ns : LP_NAN);
    lp__put_ns(json, "min_ns", phase->min_ns + no_entry);
    lp__put_ns(json, "max_ns", phase->max_ns + no_entry);
    put_hist(json, "hist", phase->hist);
    put_counters(json, run, phase);
    lp__json_close(json, '}');
}

static void put_tree(struct lp_json *json, const struct lp_run *run, const struct lp_run_tree *tree, bool has_cpu)
{
    lp__put_open(json, "tree", '[');
    for (size_t i = 0; i < tree->count; i++)
        put_phase(json, run, tree, has_cpu, (uint32_t)i);
    lp__json_close(json, ']');
}

static void put_roles(struct lp_json *json, const struct lp_run *run)
{
    lp__put_open(json, "roles", '[');
    for (size_t i = 0; i < run->role_count; i++) {
        const struct lp_run_role *role = &run->roles[i];
        lp__json_open(json, '{');
        lp__put_text(json, "role", role->name);
        lp__put_u64(json, "processes", role->processes);
        lp__put_ns(json, "wall_ns", role->top_wall_ns);
        lp__put_ns(json, "max_wall_ns", role->max_top_wall_ns);
        lp__put_ns(json, "elapsed_ns", role->elapsed_ns);
        lp__put_ns(json, "outside_ns", role->outside_ns);
        put_tree(json, run, &role->tree, lp__role_has_cpu(run, (uint32_t)i));
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void put_workers(struct lp_json *json, const struct lp_run *run)
{
    lp__put_open(json, "workers", '[');
    for (size_t i = 0; i < run->process_count; i++) {
        const struct lp_run_process *process = &run->processes[i];
        lp__json_open(json, '{');
        lp__json_process(json, process);
        if (process->tree)
            put_tree(json, run, process->tree, process->cpu_clock != LP_CPU_NONE);
        else {
            lp__json_key(json, "tree");
            lp__json_null(json);
        }
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void put_caveats(struct lp_json *json, const struct lp_run *run)
{
    lp__put_open(json, "caveats", '{');
    lp__put_open(json, "unreadable", '[');
    for (size_t i = 0; i < run->bad_count; i++) {
        lp__json_open(json, '{');
        lp__put_text(json, "file", run->bad[i].path);
        lp__put_text(json, "error", lp__err_slug(run->bad[i].code));
        lp__put_text(json, "detail", run->bad[i].detail);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
    lp__put_open(json, "missing_ranks", '[');
    for (size_t i = 0; i < run->missing_count; i++)
        lp__json_i64(json, run->missing_ranks[i]);
    lp__json_close(json, ']');
    lp__put_u64(json, "missing_count", (uint64_t)run->missing_total);
    lp__put_known(json, "world_size", run->world_size);
    lp__json_close(json, '}');
}

static const char *chosen_attempt(const struct lp_run *run)
{
    const char *id = "";
    for (size_t i = 0; i < run->attempt_count; i++)
        if (run->attempts[i].chosen) id = id[0] ? "all" : run->attempts[i].id;
    return id;
}

void lp__render_run_json(const struct lp_run *run, struct lp_buf *out)
{
    struct lp_json json;
    lp__json_init(&json, out, 0);
    lp__json_open(&json, '{');
    lp__put_u64(&json, "schema", 1);
    lp__put_text(&json, "directory", run->directory);
    lp__put_text(&json, "attempt", chosen_attempt(run));
    lp__json_attempts(&json, run);
    put_roles(&json, run);
    put_workers(&json, run);
    put_caveats(&json, run);
    lp__json_close(&json, '}');
    lp__buf_addc(out, '\n');
}
