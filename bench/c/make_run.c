/* make_run RUN_DIR PROCESSES PATHS: a run as that many workers leave it, for measuring stores and reports.
 *
 * Every worker is a child of its own with a rank, an environment and a file, recorded through the core as any program's
 * is; only the clock is made up, as of a process that began ten minutes earlier, so that durations spread over the
 * histogram as real ones do (a median of its own for each path, between 1 us and 0.1 s, and mostly a factor of two
 * either way).  Paths hang in groups of ten below one phase. Every tenth path has a counter.  Each 97th worker leaves
 * without closing. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc.h"
#include "bench.h"
#include "collect/internal.h"

#define ENTRIES 40
#define AT_ONCE 4
#define AGO_NS  UINT64_C(600000000000)

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static uint64_t duration(unsigned path)
{
    double median_ns = 1000.0 * pow(10.0, (double)(path % 51) / 10.0);
    double spread = exp(0.7 * (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7);
    return (uint64_t)(median_ns * spread * lp__clock.ticks_per_ns);
}

static struct lp_scope *begin(struct lp_thread *thread, const char *prefix, unsigned number, uint64_t now)
{
    struct lp_tree_node *node = lp__tree_child(thread, thread->top->node, bench_name(prefix, number));
    return lp__scope_push(thread, node, 0, now, (struct lp_cpu_time){0, (int64_t)now});
}

static void end(struct lp_thread *thread, struct lp_scope *scope, uint64_t now)
{
    lp__scope_pop(thread, scope, now, (struct lp_cpu_time){0, (int64_t)now});
}

/* One round over all paths; the time at its end. */
static uint64_t iterate(struct lp_thread *thread, unsigned paths, uint64_t now)
{
    struct lp_scope *group = NULL;
    unsigned groups = 0;
    for (unsigned path = 0; path + groups < paths; path++) {
        if (path % 10 == 0) {
            if (group) end(thread, group, now);
            group = begin(thread, "group", groups++, now);
            if (path + groups >= paths) break;
        }
        struct lp_scope *scope = begin(thread, "phase", path, now);
        if (path % 10 == 3) lp__count(thread, bench_name("items", 0), (int64_t)(uniform() * 100));
        now += duration(path);
        end(thread, scope, now);
    }
    if (group) end(thread, group, now);
    return now;
}

/* Sets back the start of the process and of its thread, so that what is recorded had the time to happen. */
static uint64_t began_earlier(struct lp_recording *recording, struct lp_thread *thread)
{
    struct lp_file_header *header = lp__store_header(&recording->store);
    uint64_t ago = (uint64_t)((double)AGO_NS * lp__clock.ticks_per_ns);
    header->created_ticks -= ago;
    header->created_mono_ns -= AGO_NS;
    header->created_real_ns -= AGO_NS;
    header->check = lp__crc32c(lp__crc32c(0, &header->version, 8), &header->pid, LP_FILE_CHECKED_END - 20);
    thread->record->attached_ticks -= ago;
    return thread->record->attached_ticks;
}

static void work(const char *run_dir, unsigned rank, unsigned processes, unsigned paths)
{
    struct lp_recording *recording;
    struct lp_thread *thread;
    char text[16];
    uint64_t now;
    snprintf(text, sizeof text, "%u", rank);
    setenv("RANK", text, 1);
    snprintf(text, sizeof text, "%u", processes);
    setenv("WORLD_SIZE", text, 1);
    seed = rank * 2654435761u + 1;
    recording = bench_open(run_dir, LP_STORE_RUN_DIR);
    thread = lp__thread_of(recording);
    if (thread == NULL) _exit(1);
    now = began_earlier(recording, thread);
    for (unsigned i = 0; i < ENTRIES; i++)
        now = iterate(thread, paths, now);
    if (rank % 97 != 96) lp__recording_close(recording);
    _exit(lp__recording_write_failures(recording) != 0);
}

int main(int argc, char **argv)
{
    unsigned processes, paths, rank, running = 0;
    int status, failed = 0;
    if (argc < 4) return 2;
    processes = (unsigned)atoi(argv[2]);
    paths = (unsigned)atoi(argv[3]);
    setenv("LINEPROFILER_RUN_ID", "bench", 1);
    for (rank = 0; rank < processes || running > 0;) {
        if (rank < processes && running < AT_ONCE) {
            if (fork() == 0) work(argv[1], rank, processes, paths);
            rank++;
            running++;
            continue;
        }
        if (wait(&status) > 0 && status) failed = 1;
        running--;
    }
    return failed;
}
