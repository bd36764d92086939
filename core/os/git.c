/* The revision of a source tree, read from the files of .git: no process is started and nothing of the repository's
 * configuration is obeyed.  Work trees and submodules (a .git file that points elsewhere) and packed refs are
 * followed; a repository that keeps its refs in the reftable format has no revision here. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/host.h"

enum { REF_CEILING = 4096, PACKED_CEILING = 16 << 20, DEEPEST = 64, MOST_LINKS = 5 };

struct repository {
    char own[PATH_MAX];    /* of this work tree: HEAD */
    char common[PATH_MAX]; /* shared by all work trees: refs */
};

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
    if (name[0] == '/') folder = "";
    const char *slash = name[0] == '/' ? "" : "/";
    return snprintf(out, PATH_MAX, "%s%s%s", folder, slash, name) < PATH_MAX;
}

/* The first line of a small file, without its end. */
static bool read_first_line(const char *folder, const char *name, char *out, size_t cap)
{
    char path[PATH_MAX];
    struct lp_buf buf;
    lp__buf_init(&buf, REF_CEILING);
    bool ok = join(path, folder, name) && !lp__slurp(path, &buf, NULL) && buf.data;
    if (ok) {
        size_t len = strcspn(buf.data, "\r\n");
        ok = len && len < cap;
        if (ok) snprintf(out, cap, "%.*s", (int)len, buf.data);
    }
    lp__buf_release(&buf);
    return ok;
}

static bool is_hash(const char *text, size_t len)
{
    return (len == 40 || len == 64) && strspn(text, "0123456789abcdef") >= len;
}

/* Is `folder`/.git a repository?  Fills `out`. */
static bool open_repository(const char *folder, struct repository *out)
{
    static const char pointer[] = "gitdir: ";
    char dot_git[PATH_MAX], line[PATH_MAX];
    struct stat st;
    if (!join(dot_git, folder, ".git") || stat(dot_git, &st)) return false;
    if (S_ISDIR(st.st_mode)) {
        memcpy(out->own, dot_git, sizeof dot_git);
    } else {
        if (!read_first_line(folder, ".git", line, sizeof line)) return false;
        if (strncmp(line, pointer, sizeof pointer - 1)) return false;
        if (!join(out->own, folder, line + sizeof pointer - 1)) return false;
    }
    if (!read_first_line(out->own, "commondir", line, sizeof line)) {
        memcpy(out->common, out->own, sizeof out->own);
        return true;
    }
    return join(out->common, out->own, line);
}

static bool find_repository(const char *start_dir, struct repository *out)
{
    char folder[PATH_MAX];
    if (!realpath(start_dir, folder)) return false;
    for (int depth = 0; depth < DEEPEST; depth++) {
        if (open_repository(folder, out)) return true;
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder) return false;
        *slash = '\0';
    }
    return false;
}

/* Lines "hash ref"; comments and peeled tags start with other characters. */
static bool find_packed(const struct repository *repo, const char *ref, char revision[65])
{
    char path[PATH_MAX];
    struct lp_buf buf;
    bool found = false;
    size_t ref_len = strlen(ref);
    lp__buf_init(&buf, PACKED_CEILING);
    if (!join(path, repo->common, "packed-refs") || lp__slurp(path, &buf, NULL) || !buf.data) goto done;
    for (const char *line = buf.data; *line && !found; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t hash_len = strcspn(line, " \n");
        const char *name = line + hash_len + (line[hash_len] == ' ');
        found = is_hash(line, hash_len) && strcspn(name, "\r\n") == ref_len && !strncmp(name, ref, ref_len);
        if (found) snprintf(revision, 65, "%.*s", (int)hash_len, line);
    }
done:
    lp__buf_release(&buf);
    return found;
}

static bool is_plain_ref(const char *ref)
{
    return !strncmp(ref, "refs/", 5) && !strstr(ref, "..");
}

/* Follows "ref: …" from HEAD to a hash. */
static void resolve(const struct repository *repo, const char *head, char revision[65])
{
    char line[REF_CEILING];
    snprintf(line, sizeof line, "%s", head);
    for (int links = 0; links < MOST_LINKS && !strncmp(line, "ref: ", 5); links++) {
        char ref[REF_CEILING];
        snprintf(ref, sizeof ref, "%s", line + 5);
        if (!is_plain_ref(ref)) return;
        if (read_first_line(repo->own, ref, line, sizeof line)) continue;
        if (read_first_line(repo->common, ref, line, sizeof line)) continue;
        find_packed(repo, ref, revision);
        return;
    }
    if (is_hash(line, strlen(line))) snprintf(revision, 65, "%.64s", line);
}

bool lp__git_revision(const char *start_dir, char revision[65], char branch[128])
{
    static const char heads[] = "ref: refs/heads/";
    int saved = errno;
    char head[REF_CEILING];
    struct repository repo;
    revision[0] = branch[0] = '\0';
    bool found = find_repository(start_dir, &repo) && read_first_line(repo.own, "HEAD", head, sizeof head);
    if (found) {
        if (!strncmp(head, heads, sizeof heads - 1)) snprintf(branch, 128, "%.127s", head + sizeof heads - 1);
        resolve(&repo, head, revision);
    }
    errno = saved;
    return found;
}
