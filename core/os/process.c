/* Facts about processes from /proc, and the few random bytes that names need. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"

enum { MAPS_CEILING = 64 << 20, STAT_CEILING = 4096 };

/* Field `n` (as proc(5) numbers them, 4 and up) of /proc/PID/stat; 0 when it cannot be read, or when only the entry of
 * a dead process is left, which its parent has not fetched yet (state Z, X).  A process may be called "a) R 1", so
 * fields are counted from the last parenthesis. */
static uint64_t stat_field(pid_t pid, int n)
{
    int saved = errno;
    char path[64];
    struct lp_buf buf;
    uint64_t value = 0;
    lp__buf_init(&buf, STAT_CEILING);
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    const char *at = !lp__slurp(path, &buf, NULL) && buf.data ? strrchr(buf.data, ')') : NULL;
    if (at && at[1] && strchr("ZXx", at[2])) at = NULL;
    for (int field = 2; at && field < n; field++)
        at = strchr(at + 1, ' ');
    if (at) value = strtoull(at, NULL, 10);
    lp__buf_release(&buf);
    errno = saved;
    return value;
}

uint64_t lp__process_start(pid_t pid)
{
    return stat_field(pid, 22);
}

pid_t lp__process_parent(pid_t pid)
{
    return (pid_t)stat_field(pid, 4);
}

static bool is_called(pid_t pid, const char *name)
{
    char path[64];
    struct lp_buf buf;
    lp__buf_init(&buf, 64);
    snprintf(path, sizeof path, "/proc/%lld/comm", (long long)pid);
    bool same = !lp__slurp(path, &buf, NULL) && buf.len == strlen(name) + 1 && !strncmp(buf.data, name, strlen(name));
    lp__buf_release(&buf);
    return same;
}

pid_t lp__process_ancestor(const char *name, uint64_t *start)
{
    int saved = errno;
    pid_t pid = getppid();
    for (int steps = 0; pid > 1 && steps < 32 && !is_called(pid, name); steps++)
        pid = lp__process_parent(pid);
    if (pid <= 1 || !is_called(pid, name)) pid = 0;
    *start = pid ? lp__process_start(pid) : 0;
    errno = saved;
    return pid;
}

/* Looks for device and inode in one line of maps, "range perms offset major:minor inode path". */
static int line_maps_file(const char *line, dev_t device, ino_t inode)
{
    unsigned device_major, device_minor;
    uint64_t line_inode;
    if (sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &device_major, &device_minor, &line_inode) != 3) return 0;
    if (line_inode != inode) return 0;
    /* Layered file systems show another device here than fstat does, so the inode alone leaves it open. */
    return makedev(device_major, device_minor) == device ? 1 : -1;
}

int lp__process_maps_file(pid_t pid, dev_t device, ino_t inode)
{
    int saved = errno, answer = 0;
    char path[64];
    struct lp_buf buf;
    struct lp_error err;
    lp__buf_init(&buf, MAPS_CEILING);
    snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
    if (lp__slurp(path, &buf, &err))
        answer = err.code == LP_ERR_NOT_FOUND || err.sys_errno == ESRCH ? 0 : -1;
    else if (buf.len == MAPS_CEILING)
        answer = -1;
    for (char *line = buf.data; line && *line && answer != 1;) {
        char *end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        int found = line_maps_file(line, device, inode);
        if (found) answer = found;
        line = next;
    }
    lp__buf_release(&buf);
    errno = saved;
    return answer;
}

void lp__process_argv(struct lp_buf *out)
{
    int saved = errno;
    struct lp_buf raw;
    lp__buf_init(&raw, out->ceiling);
    if (!lp__slurp("/proc/self/cmdline", &raw, NULL) && raw.len) lp__redact_argv(raw.data, raw.len, out);
    lp__buf_release(&raw);
    errno = saved;
}

/* Not secret, but different every time: clocks, pid, an address and a counter, well mixed. */
static void mix_bytes(unsigned char *into, size_t len)
{
    static uint64_t counter;
    uint64_t state = lp__hash_u64(lp__real_ns()) ^ lp__hash_u64(lp__mono_ns() + (uint64_t)getpid());
    state ^= lp__hash_u64((uint64_t)(uintptr_t)&state + __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
    for (size_t i = 0; i < len; i++) {
        if (i % 8 == 0) state = lp__hash_u64(state + UINT64_C(0x9E3779B97F4A7C15));
        into[i] = (unsigned char)(state >> (i % 8 * 8));
    }
}

void lp__random_bytes(void *into, size_t len)
{
    int saved = errno;
    size_t done = 0;
    while (done < len) {
        ssize_t got = getrandom((char *)into + done, len - done, GRND_NONBLOCK);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    if (done < len) mix_bytes((unsigned char *)into + done, len - done);
    errno = saved;
}
