/* Launchers as a table, innermost first: the first one that applies gives rank, size and identity.  One further down
 * with a smaller size launched the launcher (srun starting one torchrun per node), which is no disagreement; the same
 * or a larger size with another answer is.  Numbers are digits only: " 3", "+3" and "3x" are not ranks. */
// SPDX-License-Identifier: MIT
#include "os/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "os/host.h"

struct env {
    lp_env_lookup *lookup;
    void *arg;
};

/* What a launcher's variables say about which launch this is. */
struct identity {
    char id[512]; /* "" when nothing does */
    bool is_weak;
    char job[96];
};

struct launcher {
    const char *name;
    const char *rank[3]; /* the first that is set counts */
    const char *size[3];
    const char *local[3];
    bool needs_size; /* a variable as common as RANK means nothing alone */
    bool (*applies)(const struct env *env);
    void (*identify)(const struct env *env, struct identity *out);
};

static const char *get(const struct env *env, const char *name)
{
    const char *value = env->lookup(name, env->arg);
    return value && *value ? value : NULL;
}

static int64_t number(const char *text)
{
    int64_t value = 0;
    size_t len = text ? strlen(text) : 0;
    if (!len || len > 9) return -1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

static const char *first_set(const struct env *env, const char *const names[3])
{
    for (int i = 0; i < 3 && names[i]; i++)
        if (get(env, names[i])) return names[i];
    return NULL;
}

static int64_t first_number(const struct env *env, const char *const names[3])
{
    const char *name = first_set(env, names);
    return name ? number(get(env, name)) : -1;
}

static bool always(const struct env *env)
{
    (void)env;
    return true;
}

static bool is_torchrun(const struct env *env)
{
    return get(env, "TORCHELASTIC_RUN_ID") || get(env, "TORCHELASTIC_RESTART_COUNT");
}

static bool is_ray_worker(const struct env *env)
{
    return get(env, "RAY_RAYLET_PID") != NULL;
}

/* The batch script of an allocation carries SLURM_PROCID=0 too, but is no rank of anything. */
static bool is_in_slurm_step(const struct env *env)
{
    return number(get(env, "SLURM_STEP_ID")) >= 0 && get(env, "SLURM_JOB_ID");
}

/* Task 1 is the job script itself; pbsdsh numbers what it starts from 2. */
static bool is_pbs_task(const struct env *env)
{
    return get(env, "PBS_JOBID") && number(get(env, "PBS_TASKNUM")) > 1;
}

static void add_restart(const struct env *env, const char *name, struct identity *out)
{
    int64_t restart = number(get(env, name));
    size_t len = strlen(out->id);
    if (len && restart > 0) snprintf(out->id + len, sizeof out->id - len, "-restart%lld", (long long)restart);
}

static void identify_ranks(const struct env *env, struct identity *out)
{
    const char *address = get(env, "MASTER_ADDR"), *port = get(env, "MASTER_PORT");
    if (!address || !port) return;
    snprintf(out->id, sizeof out->id, "torch-%s-%s-of%s", address, port, get(env, "WORLD_SIZE"));
    out->is_weak = true; /* the port is 29500 for everyone who did not choose one */
}

/* On one node, the folder where the agent collects its workers' errors is new for every launch:
 * …/RUN_RANDOM/attempt_N/LOCAL_RANK/error.json.  Gives the part RUN_RANDOM. */
static bool find_agent_folder(const struct env *env, const char **folder, size_t *len)
{
    const char *path = get(env, "TORCHELASTIC_ERROR_FILE"), *end = path ? strstr(path, "/attempt_") : NULL;
    if (!end || number(get(env, "GROUP_WORLD_SIZE")) != 1) return false;
    *folder = end;
    while (*folder > path && (*folder)[-1] != '/')
        --*folder;
    *len = (size_t)(end - *folder);
    return *len > 0;
}

static void identify_torchrun(const struct env *env, struct identity *out)
{
    const char *run = get(env, "TORCHELASTIC_RUN_ID"), *port = get(env, "MASTER_PORT"), *folder;
    bool is_named = run && strcmp(run, "none");
    size_t len;
    if (is_named) snprintf(out->job, sizeof out->job, "torchrun %.80s", run);
    if (find_agent_folder(env, &folder, &len))
        snprintf(out->id, sizeof out->id, "torch-%.*s", (int)len, folder);
    else if (is_named)
        snprintf(out->id, sizeof out->id, "torch-%s-%s", run, port ? port : "0");
    else
        identify_ranks(env, out);
    add_restart(env, "TORCHELASTIC_RESTART_COUNT", out);
}

static void identify_ray(const struct env *env, struct identity *out)
{
    const char *job = get(env, "RAY_JOB_ID");
    if (!job) return;
    snprintf(out->id, sizeof out->id, "ray-%s", job);
    snprintf(out->job, sizeof out->job, "ray %.80s", job);
    out->is_weak = true; /* every cluster numbers its jobs from 1 */
}

static void identify_pmix(const struct env *env, struct identity *out)
{
    const char *space = get(env, "PMIX_NAMESPACE");
    if (space) snprintf(out->id, sizeof out->id, "pmix-%s", space);
}

static void identify_openmpi(const struct env *env, struct identity *out)
{
    const char *base = get(env, "OMPI_MCA_ess_base_jobid");
    identify_pmix(env, out);
    if (!out->id[0] && base) snprintf(out->id, sizeof out->id, "openmpi-%s", base);
}

static void identify_pmi(const struct env *env, struct identity *out)
{
    const char *job = get(env, "PMI_JOBID"), *port = get(env, "PMI_PORT");
    identify_pmix(env, out);
    if (out->id[0] || (!job && !port)) return;
    snprintf(out->id, sizeof out->id, "pmi-%s", job ? job : port);
    out->is_weak = !job; /* a port may be used again */
}

static void identify_slurm(const struct env *env, struct identity *out)
{
    const char *job = get(env, "SLURM_JOB_ID"), *step = get(env, "SLURM_STEP_ID");
    snprintf(out->id, sizeof out->id, "slurm-%s.%s", job, step);
    snprintf(out->job, sizeof out->job, "slurm %.60s.%.20s", job, step);
    add_restart(env, "SLURM_RESTART_COUNT", out);
}

static void identify_flux(const struct env *env, struct identity *out)
{
    const char *job = get(env, "FLUX_JOB_ID");
    if (!job) return;
    snprintf(out->id, sizeof out->id, "flux-%s", job);
    snprintf(out->job, sizeof out->job, "flux %.80s", job);
}

static void identify_lsf(const struct env *env, struct identity *out)
{
    const char *job = get(env, "LSB_JOBID"), *index = get(env, "LSB_JOBINDEX"), *space = get(env, "JSM_NAMESPACE_ID");
    if (!job) return;
    snprintf(out->id, sizeof out->id, "lsf-%s.%s.%s", job, index ? index : "0", space ? space : "0");
    snprintf(out->job, sizeof out->job, "lsf %.80s", job);
    out->is_weak = !space; /* a job may call jsrun more than once */
}

static void identify_pbs(const struct env *env, struct identity *out)
{
    const char *job = get(env, "PBS_JOBID");
    snprintf(out->id, sizeof out->id, "pbs-%s", job);
    snprintf(out->job, sizeof out->job, "pbs %.80s", job);
    out->is_weak = true; /* a job may call pbsdsh more than once */
}

/* The pods of an indexed job are called JOB-INDEX. */
static void identify_kubernetes(const struct env *env, struct identity *out)
{
    const char *host = get(env, "HOSTNAME"), *index = get(env, "JOB_COMPLETION_INDEX");
    size_t host_len = host ? strlen(host) : 0, index_len = strlen(index);
    if (host_len < index_len + 2 || host_len > 253) return;
    size_t name_len = host_len - index_len - 1;
    if (host[name_len] != '-' || strcmp(host + name_len + 1, index)) return;
    snprintf(out->id, sizeof out->id, "kubernetes-%.*s", (int)name_len, host);
    snprintf(out->job, sizeof out->job, "kubernetes %.*s", name_len > 80 ? 80 : (int)name_len, host);
    out->is_weak = true; /* a job of the same name may be created again */
}

static const struct launcher launchers[] = {
    {"torchrun", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, true, is_torchrun, identify_torchrun},
    {"env", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, true, always, identify_ranks},
    {"ray", {NULL}, {NULL}, {NULL}, false, is_ray_worker, identify_ray},
    {"openmpi",
     {"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_RANK"},
     false,
     always,
     identify_openmpi},
    {"pmi",
     {"PMI_RANK", "PMI_ID", "PMIX_RANK"},
     {"PMI_SIZE"},
     {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
     false,
     always,
     identify_pmi},
    {"slurm",
     {"SLURM_PROCID"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     {"SLURM_LOCALID"},
     false,
     is_in_slurm_step,
     identify_slurm},
    {"lsf", {"JSM_NAMESPACE_RANK"}, {"JSM_NAMESPACE_SIZE"}, {"JSM_NAMESPACE_LOCAL_RANK"}, false, always, identify_lsf},
    {"flux", {"FLUX_TASK_RANK"}, {"FLUX_JOB_SIZE"}, {"FLUX_TASK_LOCAL_ID"}, false, always, identify_flux},
    {"pbs", {"PBS_VNODENUM"}, {NULL}, {NULL}, false, is_pbs_task, identify_pbs},
    {"kubernetes", {"JOB_COMPLETION_INDEX"}, {NULL}, {NULL}, false, always, identify_kubernetes},
};

enum { LAUNCHER_COUNT = sizeof launchers / sizeof *launchers };

/* Does this launcher name a rank here?  The Ray worker's is unknown, which still ends the search: the rank of the
 * Slurm step that started the Ray node is not the worker's. */
static bool is_present(const struct env *env, const struct launcher *launcher)
{
    if (!launcher->applies(env)) return false;
    if (!launcher->rank[0]) return true;
    if (launcher->needs_size && first_number(env, launcher->size) < 1) return false;
    return first_number(env, launcher->rank) >= 0;
}

static bool has_item(const char *list, const char *item, size_t len)
{
    for (const char *at = list; (at = strstr(at, item)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return true;
    return false;
}

static void add_conflict(const struct env *env, const char *name, struct lp_launch *out)
{
    char item[96];
    size_t at = strlen(out->conflicts), len = name ? strlen(name) + 1 : 0;
    if (!name || len > 50) return;
    snprintf(item, sizeof item, "%s=%.40s", name, get(env, name));
    len = strlen(item);
    if (has_item(out->conflicts, item, len) || at + len + 2 > sizeof out->conflicts) return;
    snprintf(out->conflicts + at, sizeof out->conflicts - at, "%s%s", at ? " " : "", item);
}

/* Variables of a launcher that applies but whose value is no number. */
static void list_malformed(const struct env *env, const struct launcher *launcher, struct lp_launch *out)
{
    const char *const *groups[] = {launcher->rank, launcher->size, launcher->local};
    if (!launcher->applies(env) || (launcher->needs_size && !first_set(env, launcher->size))) return;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const char *name = first_set(env, groups[i]);
        if (name && number(get(env, name)) < 0) add_conflict(env, name, out);
    }
}

static void compare(const struct env *env, const struct launcher *chosen, const struct launcher *other,
                    struct lp_launch *out)
{
    int64_t rank = first_number(env, other->rank), size = first_number(env, other->size);
    bool is_outer = !other->size[0] || (size >= 0 && out->world_size > size);
    if (is_outer || out->rank < 0) return;
    if (rank != out->rank) {
        add_conflict(env, first_set(env, chosen->rank), out);
        add_conflict(env, first_set(env, other->rank), out);
    }
    if (size >= 0 && out->world_size >= 0 && size != out->world_size) {
        add_conflict(env, first_set(env, chosen->size), out);
        add_conflict(env, first_set(env, other->size), out);
    }
}

static void take(const struct env *env, const struct launcher *chosen, struct lp_launch *out)
{
    snprintf(out->launcher, sizeof out->launcher, "%s", chosen->name);
    out->rank = first_number(env, chosen->rank);
    out->world_size = first_number(env, chosen->size);
    out->local_rank = first_number(env, chosen->local);
    if (out->world_size < 0 || out->rank < out->world_size) return;
    add_conflict(env, first_set(env, chosen->rank), out);
    add_conflict(env, first_set(env, chosen->size), out);
    out->world_size = -1; /* a size that its own rank contradicts is not known */
}

/* The id becomes part of file names: anything unusual or long is replaced, and a hash keeps different ids apart. */
static void make_attempt(const struct identity *identity, struct lp_launch *out)
{
    enum { KEPT = 96 };
    bool changed = false;
    size_t at = 0;
    for (const char *from = identity->id; *from; from++) {
        char c = *from;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
        changed |= (!plain && c != '_') || at == KEPT;
        if (at < KEPT) out->attempt[at++] = plain ? c : '_';
    }
    out->attempt[at] = '\0';
    unsigned long long hash = lp__hash_bytes(identity->id, strlen(identity->id));
    if (changed) snprintf(out->attempt + at, sizeof out->attempt - at, "-%016llx", hash);
    out->attempt_is_weak = identity->is_weak;
}

/* The identity of the innermost launcher that has one.  A weak one is made longer by a strong one further out, but
 * stays weak: a step may call torchrun twice. */
static void identify(const struct env *env, size_t chosen, struct lp_launch *out)
{
    struct identity best = {.id = ""};
    for (size_t i = chosen; i < LAUNCHER_COUNT; i++) {
        struct identity here = {.id = ""};
        if (!is_present(env, &launchers[i])) continue;
        launchers[i].identify(env, &here);
        if (!out->job[0]) snprintf(out->job, sizeof out->job, "%s", here.job);
        if (!here.id[0] || (best.id[0] && here.is_weak)) continue;
        size_t len = strlen(here.id);
        if (best.id[0]) snprintf(here.id + len, sizeof here.id - len, "-%s", best.id);
        here.is_weak |= best.id[0] != '\0';
        best = here;
        if (!here.is_weak || len < strlen(here.id)) break;
    }
    make_attempt(&best, out);
}

/* An allocation without a step is no launch, but worth naming in the report. */
static void name_allocation(const struct env *env, struct lp_launch *out)
{
    static const char *const variables[][2] = {
        {"slurm", "SLURM_JOB_ID"}, {"lsf", "LSB_JOBID"}, {"flux", "FLUX_JOB_ID"}, {"pbs", "PBS_JOBID"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !out->job[0]; i++) {
        const char *id = get(env, variables[i][1]);
        if (id) snprintf(out->job, sizeof out->job, "%s %.80s", variables[i][0], id);
    }
}

void lp__launch_read(struct lp_launch *out, lp_env_lookup *lookup, void *arg)
{
    struct env env = {lookup, arg};
    size_t chosen = LAUNCHER_COUNT;
    *out = (struct lp_launch){.rank = -1, .world_size = -1, .local_rank = -1};
    for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
        list_malformed(&env, &launchers[i], out);
        if (!is_present(&env, &launchers[i])) continue;
        if (chosen == LAUNCHER_COUNT) {
            chosen = i;
            take(&env, &launchers[i], out);
        } else {
            compare(&env, &launchers[chosen], &launchers[i], out);
        }
        if (!launchers[i].rank[0]) break;
    }
    if (chosen < LAUNCHER_COUNT) identify(&env, chosen, out);
    name_allocation(&env, out);
}

static const char *environment(const char *name, void *arg)
{
    (void)arg;
    return secure_getenv(name);
}

/* MPICH and Intel MPI name no job, but all ranks of a node descend from one proxy. */
static void identify_by_proxy(struct lp_launch *out)
{
    const struct env env = {environment, NULL};
    uint64_t start;
    pid_t proxy = lp__process_ancestor("hydra_pmi_proxy", &start);
    if (proxy && number(get(&env, "MPI_LOCALNRANKS")) == out->world_size)
        snprintf(out->attempt, sizeof out->attempt, "pmi-%lld.%llu", (long long)proxy, (unsigned long long)start);
}

void lp__launch_read_environment(struct lp_launch *out)
{
    lp__launch_read(out, environment, NULL);
    if (!strcmp(out->launcher, "pmi") && !out->attempt[0]) identify_by_proxy(out);
}
