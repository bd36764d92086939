/* The facts that `doctor` tells: clocks, file system, machine, variables, each with its consequence. */
// SPDX-License-Identifier: MIT
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "cli/doctor.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/host.h"

/* -- clocks ------------------------------------------------------------------------------------------------------ */

static const char *wall_meaning(void)
{
    if (lp__clock.wall == LP_WALL_MONOTONIC)
        return "the system's clock: right, but each reading costs more than the processor's own counter would";
    return "the processor's counter, converted by the reader; two readings an entry";
}

static const char *cpu_meaning(void)
{
    switch (lp__clock.cpu) {
    case LP_CPU_RSEQ:
        return "CPU time is exact and read from the system only after a switch of threads";
    case LP_CPU_AGE:
        return "read from the system when the last reading is older than 20 us: a switch inside a shorter stretch can "
               "be "
               "charged as CPU, 20 us at most each";
    case LP_CPU_SYSCALL:
        return "CPU time is exact, and each reading is a system call";
    case LP_CPU_NONE:
        break;
    }
    return "CPU and wait columns stay empty";
}

static void refused(struct lp_doctor *doctor, const char *name, const char *why)
{
    if (why[0]) lp__doctor_fact(doctor, name, why, "");
}

static void cost(char *out, size_t cap, const char *clock, double ns)
{
    char figure[LP_FMT_CAP];
    if (isnan(ns) || ns <= 0)
        snprintf(out, cap, "%s", clock);
    else
        snprintf(out, cap, "%s, %s ns a reading", clock, lp__fmt_fixed(figure, sizeof figure, ns, 1));
}

void lp__doctor_clocks(struct lp_doctor *doctor)
{
    struct lp_clock_costs costs = lp__clock_costs();
    char value[200], figure[LP_FMT_CAP];
    lp__doctor_section(doctor, "Clocks");
    cost(value, sizeof value, lp__wall_clock_name(lp__clock.wall), costs.wall_ns);
    lp__doctor_fact(doctor, "wall clock", value, wall_meaning());
    refused(doctor, "not taken", lp__clock.wall_refused);
    cost(value, sizeof value, lp__cpu_clock_name(lp__clock.cpu), costs.cpu_ns);
    lp__doctor_fact(doctor, "CPU clock", value, cpu_meaning());
    refused(doctor, "not taken", lp__clock.cpu_refused);
    snprintf(value, sizeof value, "%s ns", lp__fmt_fixed(figure, sizeof figure, costs.cpu_real_ns, 0));
    lp__doctor_fact(doctor, "system's CPU clock", value, "what one reading of it costs, for comparison");
}

/* -- store ------------------------------------------------------------------------------------------------------- */

/* Opens `dir` or the nearest folder above it that exists; `*exists` says which. */
static int open_nearest(const char *dir, char folder[PATH_MAX], bool *exists)
{
    int fd = -1;
    *exists = true;
    if (snprintf(folder, PATH_MAX, "%s", dir) >= PATH_MAX) return -1;
    while ((fd = lp__dir_open_at(LP_DIR_CWD, folder, true, NULL)) < 0) {
        char *slash = strrchr(folder, '/');
        *exists = false;
        if (slash == folder && folder[1])
            folder[1] = '\0';
        else if (slash && slash != folder)
            *slash = '\0';
        else if (!slash && strcmp(folder, ".") != 0)
            memcpy(folder, ".", 2);
        else
            return -1;
    }
    return fd;
}

static const char *store_meaning(enum lp_fs_kind kind)
{
    if (kind == LP_FS_MAPPABLE) return "worker files are mapped there: a killed worker loses nothing";
    return "worker files cannot be mapped there: live data are in shared memory or memory and copied there, so a kill "
           "can "
           "cost what was recorded since the last copy";
}

void lp__doctor_store(struct lp_doctor *doctor, const char *run_dir)
{
    char folder[PATH_MAX], value[PATH_MAX + 80];
    const char *fs_name = "unknown";
    bool exists;
    int fd = open_nearest(run_dir, folder, &exists);
    lp__doctor_section(doctor, "Store");
    snprintf(value, sizeof value, "%s%s", run_dir, exists ? "" : " (not there yet; the first record makes it)");
    lp__doctor_fact(doctor, "run directory", value, "");
    if (fd < 0) {
        lp__doctor_fact(doctor, "file system", "not known: the folder cannot be opened", "");
        return;
    }
    enum lp_fs_kind kind = lp__fs_kind(fd, &fs_name);
    lp__doctor_fact(doctor, "file system", fs_name, store_meaning(kind));
    lp__close_fd(fd);
}

/* -- machine ----------------------------------------------------------------------------------------------------- */

static void machine_cpus(struct lp_doctor *doctor, const struct lp_host_facts *host)
{
    char value[200], figure[LP_FMT_CAP];
    int at = 0;
    value[0] = '\0';
    if (host->threads > 0) at += snprintf(value, sizeof value, "%lld logical", (long long)host->threads);
    if (host->cores > 0 && at < (int)sizeof value)
        at += snprintf(value + at, sizeof value - (size_t)at, "%s%lld cores", at ? ", " : "", (long long)host->cores);
    if (host->affinity > 0 && at < (int)sizeof value)
        snprintf(value + at, sizeof value - (size_t)at, "%s%lld usable by this process", at ? ", " : "",
                 (long long)host->affinity);
    lp__doctor_fact(doctor, "processors", value[0] ? value : "not known",
                    host->affinity > 0 && host->threads > host->affinity
                        ? "more busy workers than usable processors wait for each other, and wait shows it"
                        : "");
    if (isnan(host->quota_cores))
        lp__doctor_fact(doctor, "CPU quota", "none", "");
    else {
        snprintf(value, sizeof value, "%s cores (cgroup)", lp__fmt_fixed(figure, sizeof figure, host->quota_cores, 2));
        lp__doctor_fact(doctor, "CPU quota", value, "beyond it the kernel stops the workers, and wait shows it");
    }
}

void lp__doctor_machine(struct lp_doctor *doctor)
{
    struct lp_host_facts host;
    char bytes[LP_FMT_CAP];
    lp__host_facts(&host);
    lp__doctor_section(doctor, "Machine");
    lp__doctor_fact(doctor, "processor", host.cpu_model[0] ? host.cpu_model : "not known", "");
    machine_cpus(doctor, &host);
    lp__doctor_fact(doctor, "memory",
                    host.ram_bytes > 0 ? lp__fmt_bytes(bytes, sizeof bytes, (double)host.ram_bytes) : "not known", "");
    lp__doctor_fact(doctor, "memory limit",
                    host.memory_limit_bytes >= 0 ? lp__fmt_bytes(bytes, sizeof bytes, (double)host.memory_limit_bytes)
                                                 : "none",
                    host.memory_limit_bytes >= 0 ? "a worker beyond it is killed; what it recorded stays" : "");
    lp__doctor_fact(doctor, "kernel", host.kernel[0] ? host.kernel : "not known", "");
    lp__doctor_fact(doctor, "GPU", "not looked at",
                    "comes with the part on resources; phases that wait for one are timed as wait");
}

/* -- environment ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *meaning;
} variables[] = {
    {"LINEPROFILER_PROFILE", "switches recording on (1, true, on, yes) or off (0, false, off, no)"},
    {"LINEPROFILER_RUN_DIR", "where programs record and report reads when nothing else is said"},
    {"LINEPROFILER_RUN_ID", "programs started now join this attempt"},
    {"LINEPROFILER_ROLE", "the role of programs that name none"},
    {"LINEPROFILER_CLOCK", "asks for this wall clock"},
    {"LINEPROFILER_CPU_CLOCK", "asks for this CPU clock"},
    {"LINEPROFILER_EXACT_ASYNC", "asks for exact suspended time on Python 3.11, where it costs calls"},
    {"LINEPROFILER_LOG", "this program's diagnostics go there"},
};

void lp__doctor_environment(struct lp_doctor *doctor)
{
    char value[600];
    size_t set = 0;
    lp__doctor_section(doctor, "Environment");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = secure_getenv(variables[i].name);
        if (!text) continue;
        set++;
        snprintf(value, sizeof value, "%s=%.500s", variables[i].name, text);
        lp__doctor_fact(doctor, "set", value, variables[i].meaning);
    }
    if (!set) lp__doctor_fact(doctor, "set", "none of ours", "recording is on only where a program says so itself");
}
