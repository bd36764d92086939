/* Members that the JSON documents share: plain values, facts of processes, attempts, drops. */
// SPDX-License-Identifier: MIT
#include "render/json.h"

#include <stdio.h>
#include <string.h>

#include "os/clock.h"

void lp__put_text(struct lp_json *json, const char *key, const char *text)
{
    lp__json_key(json, key);
    lp__json_text(json, text ? text : "");
}

void lp__put_text_or_null(struct lp_json *json, const char *key, const char *text)
{
    lp__json_key(json, key);
    lp__json_text(json, text && text[0] ? text : NULL);
}

void lp__put_u64(struct lp_json *json, const char *key, uint64_t value)
{
    lp__json_key(json, key);
    lp__json_u64(json, value);
}

void lp__put_known(struct lp_json *json, const char *key, int64_t value)
{
    lp__json_key(json, key);
    if (value < 0)
        lp__json_null(json);
    else
        lp__json_i64(json, value);
}

void lp__put_double(struct lp_json *json, const char *key, double value, int digits)
{
    lp__json_key(json, key);
    lp__json_double(json, value, digits);
}

void lp__put_ns(struct lp_json *json, const char *key, double ns)
{
    lp__put_double(json, key, ns, 0);
}

void lp__put_seconds(struct lp_json *json, const char *key, double ns)
{
    lp__put_double(json, key, ns / 1e9, 6);
}

void lp__put_bool(struct lp_json *json, const char *key, bool value)
{
    lp__json_key(json, key);
    lp__json_bool(json, value);
}

void lp__put_open(struct lp_json *json, const char *key, char bracket)
{
    lp__json_key(json, key);
    lp__json_open(json, bracket);
}

void lp__put_name_key(struct lp_json *json, struct lp_text name)
{
    lp__json_str(json, name.bytes, name.len);
    lp__buf_adds(json->out, ": ");
    json->after_key = true;
}

static void put_clock(struct lp_json *json, const struct lp_run_process *process)
{
    lp__put_open(json, "clock", '{');
    lp__put_text(json, "wall", lp__wall_clock_name((enum lp_wall_clock)process->wall_clock));
    lp__put_text_or_null(json, "cpu",
                         process->cpu_clock == LP_CPU_NONE ? NULL
                                                           : lp__cpu_clock_name((enum lp_cpu_clock)process->cpu_clock));
    lp__put_text(json, "wall_refused", process->wall_refused);
    lp__put_text(json, "cpu_refused", process->cpu_refused);
    lp__put_double(json, "wall_cost_ns", process->wall_cost_ns, 2);
    lp__put_double(json, "cpu_cost_ns", process->cpu_cost_ns, 2);
    lp__put_double(json, "entry_cost_ns", process->entry_cost_ns, 2);
    lp__put_bool(json, "stepped", process->clock_stepped);
    lp__put_bool(json, "guessed", process->clock_guessed);
    lp__json_close(json, '}');
}

static void put_store(struct lp_json *json, const struct lp_run_process *process)
{
    static const char *const places[] = {"run_dir", "shm", "memory"};
    lp__put_open(json, "store", '{');
    lp__put_text(json, "place", process->place < 3 ? places[process->place] : "unknown");
    lp__put_double(json, "copy_interval_s", process->copy_interval_ms / 1000.0, 3);
    lp__put_text(json, "why_not_run_dir", process->why_not_run_dir);
    lp__put_bool(json, "damaged", process->damaged);
    lp__put_bool(json, "truncated", process->truncated);
    lp__put_u64(json, "torn_threads", process->torn_threads);
    lp__json_close(json, '}');
}

void lp__json_process(struct lp_json *json, const struct lp_run_process *process)
{
    lp__put_u64(json, "pid", process->pid);
    lp__put_u64(json, "parent_pid", process->parent_pid);
    lp__put_text(json, "role", process->role);
    lp__put_text(json, "host", process->host);
    lp__put_text(json, "path", process->path);
    lp__put_known(json, "rank", process->rank);
    lp__put_known(json, "local_rank", process->local_rank);
    lp__put_known(json, "world_size", process->world_size);
    lp__put_text(json, "attempt", process->attempt);
    lp__put_text(json, "launcher", process->launcher);
    lp__put_text(json, "job", process->job);
    lp__put_text(json, "launcher_conflicts", process->conflicts);
    lp__put_text(json, "python", process->python);
    lp__put_bool(json, "suspensions_inferred", strcmp(process->suspensions, "inferred") == 0);
    lp__put_text(json, "argv", process->argv);
    lp__put_seconds(json, "started_at", process->started_real_ns);
    lp__put_seconds(json, "written_at", process->last_real_ns);
    lp__put_text(json, "verdict", lp__verdict_name(process->verdict));
    lp__put_text(json, "killed_in", process->killed_in);
    lp__put_ns(json, "wall_ns", process->top_wall_ns);
    lp__put_ns(json, "elapsed_ns", process->elapsed_ns);
    lp__put_ns(json, "outside_ns", process->outside_ns);
    lp__put_u64(json, "entries", process->entries);
    lp__put_u64(json, "threads", process->threads);
    lp__put_u64(json, "write_failures", process->write_failures);
    lp__json_drops(json, process->drops);
    put_clock(json, process);
    put_store(json, process);
}

void lp__json_attempts(struct lp_json *json, const struct lp_run *run)
{
    lp__put_open(json, "attempts", '[');
    for (size_t i = 0; i < run->attempt_count; i++) {
        const struct lp_run_attempt *attempt = &run->attempts[i];
        lp__json_open(json, '{');
        lp__put_text(json, "id", attempt->id);
        lp__put_u64(json, "files", attempt->files);
        lp__put_seconds(json, "started_at", attempt->started_real_ns);
        lp__put_seconds(json, "written_at", attempt->last_real_ns);
        lp__put_bool(json, "chosen", attempt->chosen);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

void lp__json_drops(struct lp_json *json, const uint64_t drops[LP_DROP_COUNT])
{
    uint64_t unknown = 0;
    lp__put_open(json, "drops", '{');
    for (unsigned k = 0; k < LP_DROP_COUNT; k++) {
        const char *name = lp__drop_name((enum lp_drop)k);
        if (name)
            lp__put_u64(json, name, drops[k]);
        else
            unknown += drops[k];
    }
    lp__put_u64(json, "unknown", unknown);
    lp__json_close(json, '}');
}
