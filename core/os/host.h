/* What the machine and the process are: read from /proc, /sys and uname, never required.  A fact that cannot be read
 * is absent ("" or a negative number), never zero. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_HOST_H
#define LP_OS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct lp_host_facts {
    char name[64]; /* first label of the host name, made safe for a file name */
    char cpu_model[96];
    uint8_t boot_id[16];    /* zeros when unknown */
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0 unknown */
    int64_t cores;          /* physical, -1 unknown */
    int64_t threads;        /* logical, online */
    int64_t affinity;       /* bits in this process's mask */
    double quota_cores;     /* cgroup v1/v2 cpu quota over the whole path up to the root; NaN: none or unknown */
    int64_t ram_bytes;
    int64_t memory_limit_bytes; /* the lowest cgroup limit above us; -1: none or unknown */
    char kernel[64];
};
void lp__host_facts(struct lp_host_facts *out);
void lp__host_facts_at(const char *root,
                       struct lp_host_facts *out); /* `root` stands before /proc and /sys: for tests */

/* Only what tells whether a pid of another record means a process that we can see: cheap. */
void lp__host_identity(uint8_t boot_id[16], uint64_t *pid_namespace);

/* Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat, found from the *last* parenthesis);
 * 0 when there is no such process (a zombie is none) or /proc is hidden. */
uint64_t lp__process_start(pid_t pid);
pid_t lp__process_parent(pid_t pid); /* 0 unknown */
/* The nearest ancestor with this command name (at most 15 characters) and its start time; 0 when there is none. */
pid_t lp__process_ancestor(const char *name, uint64_t *start);

/* Does a live process still map the file with this device and inode?  1 yes, 0 no, -1 cannot know. */
int lp__process_maps_file(pid_t pid, dev_t device, ino_t inode);

/* The command line, NUL-separated in /proc, as separate arguments: appended to `out` separated by NUL, each argument
 * that follows a name like --token, --secret, --password, --key (or NAME=value of such a name) replaced by ***. */
void lp__process_argv(struct lp_buf *out);
void lp__redact_argv(const char *args, size_t len, struct lp_buf *out); /* the same over given arguments */

/* 128 random bits (getrandom, else a mix of clocks and pid). */
void lp__random_bytes(void *into, size_t len);

/* The revision of the source tree around `start_dir`, read from .git without running anything: 40 or 64 hex digits (""
 * on a branch without a commit) and the branch ("" when detached).  false when there is no repository. */
bool lp__git_revision(const char *start_dir, char revision[65], char branch[128]);

#endif
