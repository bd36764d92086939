/* Facts about the machine.  Each is read on its own, and what cannot be read stays absent.  `root` is "" except in
 * tests, which bring their own /proc and /sys. */
// SPDX-License-Identifier: MIT
#include "os/host.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fmt.h"
#include "os/cgroup.h"
#include "os/cpuid.h"
#include "os/file.h"

enum { FILE_CEILING = 64 * 1024 };

/* Reads root + path; false when that is not possible.  The caller releases `buf` in either case. */
static bool read_below(const char *root, const char *path, struct lp_buf *buf)
{
    char whole[4096];
    lp__buf_init(buf, FILE_CEILING);
    if ((size_t)snprintf(whole, sizeof whole, "%s%s", root, path) >= sizeof whole) return false;
    return !lp__slurp(whole, buf, NULL) && buf->len;
}

static int64_t read_number(const char *root, const char *path)
{
    struct lp_buf buf;
    char *end;
    int64_t value = -1;
    if (read_below(root, path, &buf)) {
        value = strtoll(buf.data, &end, 10);
        if (end == buf.data) value = -1;
    }
    lp__buf_release(&buf);
    return value;
}

/* The value of "key<spaces>: value" in the style of /proc/cpuinfo; `cap` 0 never happens. */
static bool find_value(const char *text, const char *key, char *out, size_t cap)
{
    size_t key_len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, key_len)) continue;
        const char *at = line + key_len + strspn(line + key_len, " \t");
        if (*at != ':') continue;
        at += 1 + strspn(at + 1, " \t");
        snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
        return true;
    }
    return false;
}

static void read_cpu_model(const char *root, char *out, size_t cap)
{
    struct lp_buf buf;
    char implementer[16], part[16];
    if (!*root && lp__cpuid_brand(out, cap)) return;
    if (read_below(root, "/proc/cpuinfo", &buf) && !find_value(buf.data, "model name", out, cap) &&
        find_value(buf.data, "CPU implementer", implementer, sizeof implementer) &&
        find_value(buf.data, "CPU part", part, sizeof part))
        snprintf(out, cap, "arm implementer %s part %s", implementer, part);
    lp__buf_release(&buf);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_boot_id(const char *root, uint8_t out[16])
{
    struct lp_buf buf;
    uint8_t id[16] = {0};
    size_t digits = 0;
    if (read_below(root, "/proc/sys/kernel/random/boot_id", &buf))
        for (const char *at = buf.data; *at && digits < 32; at++) {
            int value = hex_value(*at);
            if (value < 0) continue;
            id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
            digits++;
        }
    if (digits == 32) memcpy(out, id, sizeof id);
    lp__buf_release(&buf);
}

/* Walks a list like "0-3,8,10-11"; calls `each` for every number.  Returns how many there were, -1 for bad text. */
static int64_t walk_list(const char *text, void (*each)(int64_t cpu, void *arg), void *arg)
{
    int64_t count = 0;
    for (const char *at = text; *at >= '0' && *at <= '9';) {
        char *end;
        long long first = strtoll(at, &end, 10), last = first;
        if (*end == '-') last = strtoll(end + 1, &end, 10);
        if (last < first || last > 1 << 20) return -1;
        for (long long cpu = first; each && cpu <= last; cpu++)
            each(cpu, arg);
        count += last - first + 1;
        at = *end == ',' ? end + 1 : end;
    }
    return count ? count : -1;
}

struct core_count {
    const char *root;
    int64_t cores;
    bool failed;
};

/* A core is counted at the first of its threads. */
static void count_core(int64_t cpu, void *arg)
{
    struct core_count *count = arg;
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%lld/topology/thread_siblings_list", (long long)cpu);
    int64_t first = read_number(count->root, path);
    count->failed |= first < 0;
    count->cores += first == cpu;
}

static void read_cpu_counts(const char *root, struct lp_host_facts *out)
{
    struct lp_buf buf;
    struct core_count count = {.root = root};
    bool known = read_below(root, "/sys/devices/system/cpu/online", &buf);
    out->threads = known ? walk_list(buf.data, NULL, NULL) : -1;
    if (out->threads < 0 && !*root) out->threads = sysconf(_SC_NPROCESSORS_ONLN);
    if (read_number(root, "/sys/devices/system/cpu/smt/active") == 0)
        out->cores = out->threads; /* spares a file per processor */
    else if (known && walk_list(buf.data, count_core, &count) > 0 && !count.failed)
        out->cores = count.cores;
    lp__buf_release(&buf);
}

static int64_t read_affinity(void)
{
    int64_t bits = -1;
    for (size_t cpus = 1024; cpus <= 1 << 18; cpus *= 4) { /* the kernel refuses a mask shorter than its own */
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        if (!set) break;
        int rc = sched_getaffinity(0, size, set);
        if (!rc) bits = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (!rc || errno != EINVAL) break;
    }
    return bits;
}

static int64_t read_ram(const char *root)
{
    struct lp_buf buf;
    char value[32];
    int64_t bytes = -1;
    if (read_below(root, "/proc/meminfo", &buf) && find_value(buf.data, "MemTotal", value, sizeof value))
        bytes = strtoll(value, NULL, 10) * 1024;
    lp__buf_release(&buf);
    return bytes > 0 ? bytes : -1;
}

static void read_name(char *out, size_t cap)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1)) return;
    snprintf(out, cap, "%.*s", (int)strcspn(host, "."), host);
    for (char *at = out; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        if (!plain && *at != '-' && *at != '_') *at = '_';
    }
}

static uint64_t read_pid_namespace(const char *root)
{
    char path[4096];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/proc/self/ns/pid", root) >= sizeof path || stat(path, &st)) return 0;
    return st.st_ino;
}

void lp__host_facts_at(const char *root, struct lp_host_facts *out)
{
    int saved = errno;
    struct utsname system;
    *out = (struct lp_host_facts){.cores = -1, .threads = -1, .quota_cores = LP_NAN, .memory_limit_bytes = -1};
    read_name(out->name, sizeof out->name);
    read_cpu_model(root, out->cpu_model, sizeof out->cpu_model);
    read_boot_id(root, out->boot_id);
    out->pid_namespace = read_pid_namespace(root);
    read_cpu_counts(root, out);
    out->affinity = read_affinity();
    out->ram_bytes = read_ram(root);
    lp__cgroup_limits(root, &out->quota_cores, &out->memory_limit_bytes);
    if (!uname(&system)) snprintf(out->kernel, sizeof out->kernel, "%.63s", system.release);
    errno = saved;
}

void lp__host_identity(uint8_t boot_id[16], uint64_t *pid_namespace)
{
    int saved = errno;
    memset(boot_id, 0, 16);
    read_boot_id("", boot_id);
    *pid_namespace = read_pid_namespace("");
    errno = saved;
}

void lp__host_facts(struct lp_host_facts *out)
{
    lp__host_facts_at("", out);
}
