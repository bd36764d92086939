/* Facts about the process as key and value: read by the report, never by the hot path. */
// SPDX-License-Identifier: MIT
#include "collect/facts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/cost.h"
#include "os/clock.h"
#include "os/launch.h"

static void fact(struct lp_recording *recording, const char *key, const char *value)
{
    if (value && value[0]) lp__store_fact(&recording->store, key, value, strlen(value));
}

__attribute__((format(printf, 3, 4))) static void factf(struct lp_recording *recording, const char *key,
                                                        const char *format, ...)
{
    char value[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    fact(recording, key, value);
}

static void number(struct lp_recording *recording, const char *key, int64_t value)
{
    if (value >= 0) factf(recording, key, "%" PRId64, value);
}

/* The launcher's variables are read again here, a microsecond after all: a worker function may set its rank between the
 * start, which chose the attempt, and the first record, and the child of a fork after it. */
static void identity(struct lp_recording *recording)
{
    struct lp_launch launch;
    lp__launch_read_environment(&launch);
    lp__store_fact(&recording->store, "role", recording->role, recording->role_len);
    fact(recording, "attempt", recording->attempt);
    fact(recording, "attempt.source", recording->attempt_source);
    fact(recording, "host", recording->host);
    number(recording, "pid", getpid());
    number(recording, "ppid", getppid());
    number(recording, "rank", launch.rank);
    number(recording, "world_size", launch.world_size);
    number(recording, "local_rank", launch.local_rank);
    fact(recording, "launcher", launch.launcher);
    fact(recording, "job", launch.job);
    fact(recording, "conflicts", launch.conflicts);
    fact(recording, "python", recording->python);
    fact(recording, "version", LP_VERSION);
}

static const char *known_fact(const struct lp_recording *recording, const char *key)
{
    for (size_t i = 0; i < recording->fact_count; i++)
        if (recording->facts[i].value && strcmp(recording->facts[i].key, key) == 0) return recording->facts[i].value;
    return NULL;
}

/* Of the program's own tree where the host names it; a tool that was installed elsewhere has none, and works on the
 * tree around it. */
static void revision(struct lp_recording *recording, const char *cwd)
{
    char hash[65], branch[128];
    const char *folder = known_fact(recording, "source.folder");
    if (!(folder && lp__git_revision(folder, hash, branch)) && !lp__git_revision(cwd, hash, branch)) return;
    fact(recording, "source.revision", hash);
    fact(recording, "source.branch", branch);
}

static void program(struct lp_recording *recording)
{
    struct lp_buf argv;
    char path[4096];
    ssize_t len;
    lp__buf_init(&argv, 2048);
    lp__process_argv(&argv);
    if (argv.len) lp__store_fact(&recording->store, "argv", argv.data, argv.len);
    lp__buf_release(&argv);
    len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len > 0) lp__store_fact(&recording->store, "exe", path, (size_t)len);
    if (getcwd(path, sizeof path) == NULL) return;
    fact(recording, "cwd", path);
    revision(recording, path);
}

static void machine(struct lp_recording *recording, const struct lp_host_facts *host)
{
    fact(recording, "cpu_model", host->cpu_model);
    fact(recording, "kernel", host->kernel);
    number(recording, "cores", host->cores);
    number(recording, "threads", host->threads);
    number(recording, "affinity", host->affinity);
    if (host->quota_cores > 0) factf(recording, "quota_cores", "%.4f", host->quota_cores);
    number(recording, "ram_bytes", host->ram_bytes);
    number(recording, "memory_limit_bytes", host->memory_limit_bytes);
}

static void clocks(struct lp_recording *recording)
{
    struct lp_clock_costs costs = lp__clock_costs();
    uint64_t entry_ps = lp__entry_cost_ps() + recording->host_entry_ps;
    fact(recording, "cpu_clock.refused", lp__clock.cpu_refused);
    fact(recording, "wall_clock.refused", lp__clock.wall_refused);
    factf(recording, "cost.wall_ns", "%.1f", costs.wall_ns);
    factf(recording, "cost.cpu_ns", "%.1f", costs.cpu_ns);
    factf(recording, "cost.entry_ns", "%" PRIu64 ".%" PRIu64, entry_ps / 1000, entry_ps % 1000 / 100);
}

void lp__facts_write(struct lp_recording *recording, const struct lp_host_facts *host)
{
    size_t i;
    identity(recording);
    program(recording);
    machine(recording, host);
    clocks(recording);
    fact(recording, "store.why_not_run_dir", recording->store.why_not_run_dir);
    for (i = 0; i < recording->fact_count; i++)
        if (recording->facts[i].value)
            lp__store_fact(&recording->store, recording->facts[i].key, recording->facts[i].value,
                           recording->facts[i].len);
}
