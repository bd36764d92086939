/* Chooses the attempt id.  Processes that were started together must come to the same answer without talking to each
 * other, and a second launch into the same directory to another one. */
// SPDX-License-Identifier: MIT
#include "collect/attempt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/map.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/host.h"
#include "os/launch.h"
#include "store/reader.h"
#include "store/rundir.h"

/* USER_HZ: what /proc counts in, 100 on every architecture we know. */
#define LP_CLOCK_TICKS_PER_S 100u

#define FILES_MAX     4096
#define FILE_HEAD     16384
#define ARENA_CEILING ((size_t)16 << 20)
#define HEARD_LATELY  10000000000u /* ns */
#define ATTEMPTS_MAX  10000u

/* -- a launcher's id that may come again -------------------------------------------------------------------------- */

struct crowd {
    unsigned newest; /* number of the newest attempt of this id; 0 none */
    bool runs;       /* one of its processes is alive, or was heard lately */
    bool has_rank;   /* ours */
};

/* "<id>.<pid>.<hex>.lpw" or "<id>~<n>.<pid>…": n (1 for the first form), or 0 when the file is of another id. */
static unsigned number_of(const char *path, const char *safe)
{
    const char *name = strrchr(path, '/');
    size_t len = strlen(safe);
    unsigned long n;
    char *end;
    name = name ? name + 1 : path;
    if (strncmp(name, safe, len) != 0) return 0;
    if (name[len] == '.') return 1;
    if (name[len] != '_' || name[len + 1] < '0' || name[len + 1] > '9') return 0;
    n = strtoul(name + len + 1, &end, 10);
    return *end == '.' && n <= ATTEMPTS_MAX ? (unsigned)n : 0;
}

static bool is_alive(const struct lp_file_header *header, uint64_t now_real)
{
    if (header->state != LP_STATE_RUNNING) return false;
    return now_real - header->heartbeat_real_ns < HEARD_LATELY || header->heartbeat_real_ns > now_real;
}

static void look_at(struct crowd *crowd, int directory, const char *path, int64_t rank, struct lp_arena *arena)
{
    struct lp_image image;
    struct lp_text text;
    void *head = lp__arena_alloc(arena, FILE_HEAD);
    int fd = head ? lp__open_regular_at(directory, path, NULL, NULL, NULL) : -1;
    int64_t got = fd >= 0 ? lp__pread_full(fd, head, FILE_HEAD, 0) : 0;
    lp__close_fd(fd);
    if (got <= 0 || lp__image_index(&image, head, (uint64_t)got, arena, NULL)) return;
    crowd->runs |= is_alive(&image.header, lp__real_ns());
    if (lp__image_fact(&image, "rank", &text)) crowd->has_rank |= strtoll(text.bytes, NULL, 10) == rank;
}

static void read_crowd(struct crowd *crowd, const char *run_dir, const char *safe, int64_t rank)
{
    struct lp_rundir_list list;
    struct lp_arena arena;
    int directory = -1;
    size_t i;
    lp__arena_init(&arena, ARENA_CEILING);
    if (lp__rundir_list(run_dir, false, &arena, &list, &directory, NULL) == 0) {
        for (i = 0; i < list.count; i++) {
            unsigned number = number_of(list.files[i].path, safe);
            if (number > crowd->newest) crowd->newest = number;
        }
        for (i = 0; i < list.count && i < FILES_MAX; i++)
            if (crowd->newest && number_of(list.files[i].path, safe) == crowd->newest)
                look_at(crowd, directory, list.files[i].path, rank, &arena);
    }
    lp__close_fd(directory);
    lp__arena_release(&arena);
}

static void launchers(struct lp_attempt *out, const char *run_dir, const struct lp_launch *launch)
{
    struct crowd crowd = {0};
    char safe[104];
    unsigned number;
    snprintf(out->id, sizeof out->id, "%s", launch->attempt);
    out->source = "launcher";
    if (!launch->attempt_is_weak) return;
    lp__rundir_safe_name(safe, launch->attempt);
    safe[90] = '\0'; /* room for the number */
    read_crowd(&crowd, run_dir, safe, launch->rank);
    number = crowd.newest ? crowd.newest : 1;
    if (crowd.newest && (!crowd.runs || crowd.has_rank)) number++;
    if (number > 1)
        snprintf(out->id, sizeof out->id, "%s_%u", safe, number);
    else
        snprintf(out->id, sizeof out->id, "%s", safe);
}

/* -- a family ----------------------------------------------------------------------------------------------------- */

/* Looks like a fresh id, but comes out the same in all children: from the parent's start time and number. */
static bool family(struct lp_attempt *out, pid_t parent)
{
    uint64_t start = parent > 0 ? lp__process_start(parent) : 0, hash;
    struct timespec boot, real;
    time_t when;
    struct tm tm;
    char day[32];
    if (start == 0 || clock_gettime(CLOCK_BOOTTIME, &boot) || clock_gettime(CLOCK_REALTIME, &real)) return false;
    /* to the minute: the wall clock may have been set between two children's looks */
    when = real.tv_sec - boot.tv_sec + (time_t)(start / LP_CLOCK_TICKS_PER_S);
    when -= when % 60;
    if (localtime_r(&when, &tm) == NULL || strftime(day, sizeof day, "%Y%m%dT%H%M%S", &tm) == 0) return false;
    hash = lp__hash_u64(start * 4194304u + (uint64_t)parent);
    snprintf(out->id, sizeof out->id, "%s-%06" PRIx64, day, hash & 0xFFFFFFu);
    out->source = "family";
    return true;
}

void lp__attempt_choose(struct lp_attempt *out, const char *run_dir, const char *given, pid_t family_of)
{
    const char *inherited = secure_getenv("LINEPROFILER_RUN_ID");
    struct lp_launch launch;
    int saved = errno;
    if (given || (inherited && inherited[0])) {
        snprintf(out->id, sizeof out->id, "%s", given ? given : inherited);
        out->source = given ? "given" : "own";
        return;
    }
    lp__launch_read_environment(&launch);
    if (launch.attempt[0]) {
        launchers(out, run_dir, &launch);
    } else if (!family(out, family_of)) {
        char fresh[32];
        lp__rundir_fresh_attempt(fresh);
        snprintf(out->id, sizeof out->id, "%s", fresh);
        out->source = "fresh";
    }
    errno = saved;
}
