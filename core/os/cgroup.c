/* A limit set on any ancestor binds, so each group from ours up to the root of the mount is asked.
 *
 *   /proc/self/cgroup      0::/a/b            version 2      4:cpu,cpuacct:/a/b     version 1, one line per hierarchy
 *   /proc/self/mountinfo   … ROOT MOUNTPOINT … - cgroup2 …   … - cgroup SOURCE rw,cpu,cpuacct
 *
 * Where a container binds its own group to the mount point, ROOT is what /proc/self/cgroup starts with and has to be
 * cut off; where even that does not fit, missing files are passed over and the mount's root still answers. */
// SPDX-License-Identifier: MIT
#include "os/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "os/file.h"

enum { PATH_CAP = 4096, PROC_CEILING = 1 << 20 };

struct limits {
    double cores;
    int64_t memory_bytes;
};

/* One hierarchy: where it is mounted, and our group in it. */
struct hierarchy {
    char folder[PATH_CAP]; /* of our group, on disk */
    size_t mount_len;      /* the walk up ends when `folder` is no longer than this */
};

static bool read_file(const char *folder, const char *name, char *out, size_t cap)
{
    char path[PATH_CAP + 64];
    struct lp_buf buf;
    lp__buf_init(&buf, cap - 1);
    out[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    bool ok = !lp__slurp(path, &buf, NULL) && buf.len;
    if (ok) snprintf(out, cap, "%s", buf.data);
    lp__buf_release(&buf);
    return ok;
}

static void lower_cores(struct limits *limits, double quota_us, double period_us)
{
    if (!(quota_us > 0) || !(period_us > 0)) return;
    double cores = quota_us / period_us;
    if (isnan(limits->cores) || cores < limits->cores) limits->cores = cores;
}

static void lower_memory(struct limits *limits, const char *text)
{
    char *end;
    long long bytes = strtoll(text, &end, 10);
    /* Version 1 writes "no limit" as the largest multiple of the page size. */
    if (end == text || bytes < 0 || bytes >= INT64_MAX / 2) return;
    if (limits->memory_bytes < 0 || bytes < limits->memory_bytes) limits->memory_bytes = bytes;
}

static void ask_v2(const char *folder, struct limits *limits)
{
    char text[64], *end;
    if (read_file(folder, "cpu.max", text, sizeof text) && strncmp(text, "max", 3)) {
        double quota = strtod(text, &end);
        lower_cores(limits, quota, strtod(end, NULL));
    }
    if (read_file(folder, "memory.max", text, sizeof text)) lower_memory(limits, text);
}

static void ask_v1(const char *folder, struct limits *limits)
{
    char quota[64], period[64];
    if (read_file(folder, "cpu.cfs_quota_us", quota, sizeof quota) &&
        read_file(folder, "cpu.cfs_period_us", period, sizeof period))
        lower_cores(limits, strtod(quota, NULL), strtod(period, NULL));
    if (read_file(folder, "memory.limit_in_bytes", quota, sizeof quota)) lower_memory(limits, quota);
}

static void walk_up(struct hierarchy *h, void (*ask)(const char *, struct limits *), struct limits *limits)
{
    for (;;) {
        ask(h->folder, limits);
        char *slash = strrchr(h->folder, '/');
        if (!slash || (size_t)(slash - h->folder) < h->mount_len) return;
        *slash = '\0';
    }
}

/* Is `word` an item of the comma-separated list that ends at a separator or at the end of the line? */
static bool lists(const char *list, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    for (size_t at = 0; at + word_len <= len; at += strcspn(list + at, ",") + 1) {
        char after = at + word_len < len ? list[at + word_len] : ',';
        if (!strncmp(list + at, word, word_len) && after == ',') return true;
        if (!memchr(list + at, ',', len - at)) return false;
    }
    return false;
}

/* The n-th space-separated field of a line, from 0; NULL past the end. */
static const char *field(const char *line, size_t n, size_t *len)
{
    for (; n; n--) {
        line += strcspn(line, " \n");
        if (*line != ' ') return NULL;
        line++;
    }
    *len = strcspn(line, " \n");
    return line;
}

/* Finds the mount of the hierarchy (controller NULL: version 2) and its root inside the hierarchy. */
static bool find_mount(const char *mountinfo, const char *controller, const char **root, size_t *root_len,
                       const char **point, size_t *point_len)
{
    for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t end = strcspn(line, "\n"), type_len = 0, options_len = 0; /* gcc at -O3 does not see it set */
        const char *dash = strstr(line, " - ");
        if (!dash || dash > line + end) continue;
        const char *type = field(dash + 3, 0, &type_len), *options = field(dash + 3, 2, &options_len);
        bool is_v2 = type_len == 7 && !strncmp(type, "cgroup2", 7);
        bool is_v1 = type_len == 6 && !strncmp(type, "cgroup", 6);
        if (controller ? !is_v1 || !options || !lists(options, options_len, controller) : !is_v2) continue;
        *root = field(line, 3, root_len);
        *point = field(line, 4, point_len);
        return *root && *point;
    }
    return false;
}

/* Our group in the hierarchy, from /proc/self/cgroup. */
static const char *find_group(const char *cgroup, const char *controller, size_t *len)
{
    for (const char *line = cgroup; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t end = strcspn(line, "\n");
        const char *names = memchr(line, ':', end);
        const char *path = names ? memchr(names + 1, ':', end - (size_t)(names + 1 - line)) : NULL;
        if (!path) continue;
        size_t names_len = (size_t)(path - names - 1);
        if (controller ? !lists(names + 1, names_len, controller) : names_len || line[0] != '0') continue;
        *len = end - (size_t)(path + 1 - line);
        return path + 1;
    }
    return NULL;
}

static bool locate(const char *prefix, const char *mountinfo, const char *cgroup, const char *controller,
                   struct hierarchy *out)
{
    const char *root, *point;
    size_t root_len, point_len, group_len;
    const char *group = find_group(cgroup, controller, &group_len);
    if (!group || !find_mount(mountinfo, controller, &root, &root_len, &point, &point_len)) return false;
    if (root_len > 1 && group_len >= root_len && !strncmp(group, root, root_len)) {
        group += root_len;
        group_len -= root_len;
    }
    while (group_len && group[group_len - 1] == '/')
        group_len--;
    if (strlen(prefix) + point_len + group_len >= sizeof out->folder) return false;
    out->mount_len = strlen(prefix) + point_len;
    snprintf(out->folder, sizeof out->folder, "%s%.*s%.*s", prefix, (int)point_len, point, (int)group_len, group);
    return true;
}

static bool read_proc(const char *prefix, const char *path, struct lp_buf *buf)
{
    char whole[PATH_CAP];
    lp__buf_init(buf, PROC_CEILING);
    if ((size_t)snprintf(whole, sizeof whole, "%s%s", prefix, path) >= sizeof whole) return false;
    return !lp__slurp(whole, buf, NULL) && buf->len;
}

void lp__cgroup_limits(const char *root, double *quota_cores, int64_t *memory_limit_bytes)
{
    static const char *const controllers[] = {NULL, "cpu", "memory"};
    struct limits limits = {.cores = LP_NAN, .memory_bytes = -1};
    struct lp_buf cgroup, mountinfo;
    bool have = read_proc(root, "/proc/self/cgroup", &cgroup);
    have &= read_proc(root, "/proc/self/mountinfo", &mountinfo);
    for (size_t i = 0; have && i < sizeof controllers / sizeof *controllers; i++) {
        struct hierarchy h;
        if (locate(root, mountinfo.data, cgroup.data, controllers[i], &h))
            walk_up(&h, controllers[i] ? ask_v1 : ask_v2, &limits);
    }
    lp__buf_release(&cgroup);
    lp__buf_release(&mountinfo);
    *quota_cores = limits.cores;
    *memory_limit_bytes = limits.memory_bytes;
}
