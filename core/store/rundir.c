/* The rules of a run directory: who may own what, what a worker file is called, what is refused before it is opened.
 *
 * Creating: each folder is made by mkdir relative to the one above and opened without following links; one that
 * somebody else owns is not written to.  Listing: names are judged by their pattern, entries by lstat; whether a file
 * still is what the listing saw is the opener's business.
 */
// SPDX-License-Identifier: MIT
#include "store/rundir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/host.h"
#include "store/layout.h"

/* Ceilings of a listing: far above any run, low enough that a hostile directory cannot fill the memory. */
enum { MAX_FILES = 100000, MAX_COPIES = 1000, MAX_ENTRIES = 2000000, MAX_PATH = 1024 };

#define WORKERS     "workers"
#define USER_PREFIX "user-"

/* -- names ------------------------------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
}

void lp__rundir_safe_name(char out[104], const char *attempt)
{
    size_t i = 0;
    for (; i < 100 && attempt[i]; i++)
        out[i] = is_name_char(attempt[i]) ? attempt[i] : '_';
    if (!i) out[i++] = '_';
    out[i] = '\0';
}

void lp__rundir_fresh_attempt(char out[32])
{
    uint8_t random[3];
    lp__random_bytes(random, sizeof random);
    time_t now = (time_t)(lp__real_ns() / 1000000000u);
    struct tm utc = {.tm_mday = 1, .tm_year = 70};
    (void)gmtime_r(&now, &utc);
    char when[24];
    if (!strftime(when, sizeof when, "%Y%m%dT%H%M%S", &utc)) when[0] = '\0';
    (void)snprintf(out, 32, "%s-%02x%02x%02x", when, random[0], random[1], random[2]);
}

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))) return false;
    return true;
}

/* Read from the end. */
bool lp__rundir_is_worker_name(const char *name)
{
    size_t suffix = strlen(LP_FILE_SUFFIX), len = strlen(name);
    if (len < suffix + 12 || name[0] == '.' || strcmp(name + len - suffix, LP_FILE_SUFFIX) != 0) return false;
    len -= suffix + 8;
    if (!is_hex(name + len, 8) || name[--len] != '.') return false;
    size_t digits = 0;
    for (; len && name[len - 1] >= '0' && name[len - 1] <= '9'; len--)
        digits++;
    return digits && digits <= 10 && len > 1 && name[len - 1] == '.';
}

uint32_t lp__rundir_pid_of(const char *name)
{
    const char *at = name + strlen(name) - strlen(LP_FILE_SUFFIX) - 9;
    while (at[-1] != '.')
        at--;
    return (uint32_t)strtoul(at, NULL, 10);
}

/* w_<anything>.json: a worker of with-line-profiler. */
static bool is_foreign_worker_name(const char *name)
{
    size_t len = strlen(name);
    return len > 7 && !strncmp(name, "w_", 2) && !strcmp(name + len - 5, ".json");
}

/* -- making ------------------------------------------------------------------------------------------------------ */

struct making {
    mode_t mode; /* of folders */
    uid_t user;
    struct lp_error *err;
};

/* Everything above the run directory itself is made as mkdir -p would. */
static int make_parents(const char *run_dir, struct lp_error *err)
{
    const char *end = run_dir + strlen(run_dir);
    while (end > run_dir && end[-1] == '/')
        end--;
    while (end > run_dir && end[-1] != '/')
        end--;
    while (end > run_dir && end[-1] == '/')
        end--;
    if (end == run_dir) return LP_OK;
    char *parent = lp__strndup(run_dir, (size_t)(end - run_dir));
    if (!parent) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "no memory to make %s", run_dir);
    int rc = lp__make_dirs(parent, 0777, err);
    lp__free(parent);
    return rc;
}

/* A link is followed only if its maker is trusted: ourselves or root.  In a directory that everybody may write to,
 * anybody could otherwise choose where our files go. */
static int open_given(const char *run_dir, const struct making *making)
{
    struct lp_file_facts facts;
    size_t len = strlen(run_dir);
    bool link = lp__file_facts_at(LP_DIR_CWD, run_dir, &facts) && facts.kind == LP_FILE_LINK;
    bool follow = (link && (facts.owner == making->user || facts.owner == 0)) || (len && run_dir[len - 1] == '/');
    return lp__dir_open_at(LP_DIR_CWD, run_dir, follow, making->err);
}

/* Makes or opens the run directory.  A new one is ours alone and tells git to ignore all of it. */
static int open_run_dir(const char *run_dir, const struct making *making)
{
    if (!run_dir[0]) return lp__fail(making->err, LP_ERR_USAGE, 0, "the run directory has an empty name");
    int made = lp__dir_make_at(LP_DIR_CWD, run_dir, making->mode, making->err);
    if (made == LP_ERR_NOT_FOUND) {
        int rc = make_parents(run_dir, making->err);
        if (rc) return rc;
        made = lp__dir_make_at(LP_DIR_CWD, run_dir, making->mode, making->err);
    }
    if (made < 0) return made;
    int fd = open_given(run_dir, making);
    if (fd >= 0 && made) {
        /* Without this file git shows the directory; nothing else is lost, so a failure is no failure. */
        int ignored = lp__file_create_at(fd, ".gitignore", 0600, "*\n", 2, NULL);
        (void)ignored;
    }
    return fd;
}

/* Makes and opens a folder of ours below `parent_fd`, which is closed. */
static int descend(int parent_fd, const char *name, const struct making *making)
{
    if (parent_fd < 0) return parent_fd;
    struct lp_file_facts facts;
    int fd = lp__dir_make_at(parent_fd, name, making->mode, making->err);
    if (fd >= 0) fd = lp__dir_open_at(parent_fd, name, false, making->err);
    lp__close_fd(parent_fd);
    if (fd < 0) return fd;
    if (lp__file_facts(fd, &facts) && facts.owner == making->user) return fd;
    lp__close_fd(fd);
    return lp__fail(making->err, LP_ERR_DENIED, 0, "%s in the run directory belongs to another user", name);
}

int lp__rundir_open_workers(const char *run_dir, const char *host, bool share_group, bool *own_folder,
                            struct lp_error *err)
{
    struct making making = {.mode = share_group ? 0770 : 0700, .user = lp__effective_user(), .err = err};
    struct lp_file_facts facts;
    char folder[104];
    int fd = open_run_dir(run_dir, &making);
    if (fd < 0) return fd;
    bool foreign = !lp__file_facts(fd, &facts) || facts.owner != making.user;
    if (own_folder) *own_folder = foreign;
    if (foreign) {
        (void)snprintf(folder, sizeof folder, USER_PREFIX "%lu", (unsigned long)making.user);
        fd = descend(fd, folder, &making);
    }
    fd = descend(fd, WORKERS, &making);
    lp__rundir_safe_name(folder, host);
    return descend(fd, folder, &making);
}

/* -- listing ----------------------------------------------------------------------------------------------------- */

struct listing {
    struct lp_arena *arena;
    struct lp_rundir_list *out;
    size_t cap, copy_cap;
    size_t entries; /* looked at so far */
    uid_t user;
    bool any_owner;
    bool foreign;          /* a file of with-line-profiler was seen */
    int dir_fd;            /* of the folder that is being visited */
    const char *host;      /* its name */
    char prefix[MAX_PATH]; /* its path */
};

/* Room for one more. */
static int grow(struct listing *list, struct lp_rundir_file **files, size_t count, size_t *cap)
{
    if (count < *cap) return LP_OK;
    size_t larger = *cap ? *cap * 2 : 64;
    struct lp_rundir_file *fresh = lp__arena_alloc(list->arena, larger * sizeof *fresh);
    if (!fresh) return LP_ERR_NO_MEMORY;
    if (count) memcpy(fresh, *files, count * sizeof *fresh);
    *files = fresh;
    *cap = larger;
    return LP_OK;
}

static enum lp_err judge(const struct listing *list, const struct lp_file_facts *facts)
{
    if (facts->kind != LP_FILE_REGULAR) return LP_ERR_DENIED;
    bool trusted = facts->owner == list->user || facts->owner == list->out->owner;
    if (!trusted && !list->any_owner) return LP_ERR_DENIED;
    return facts->bytes > LP_MAX_FILE_BYTES ? LP_ERR_LIMIT : LP_OK;
}

static int describe(struct listing *list, const char *name, const struct lp_file_facts *facts,
                    struct lp_rundir_file *out)
{
    char full[2 * MAX_PATH];
    int len = snprintf(full, sizeof full, "%s%s%s", list->prefix, list->prefix[0] ? "/" : "", name);
    char *path = len < 0 ? NULL : lp__arena_copy(list->arena, full, strlen(full));
    if (!path) return LP_ERR_NO_MEMORY;
    *out = (struct lp_rundir_file){
        .path = path,
        .host = list->host ? list->host : "",
        .bytes = facts->bytes,
        .mtime_ns = facts->mtime_ns,
        .device = facts->device,
        .inode = facts->inode,
        .owner = facts->owner,
        .refused = judge(list, facts),
    };
    return LP_OK;
}

static int add_file(struct listing *list, const char *name, const struct lp_file_facts *facts)
{
    struct lp_rundir_list *out = list->out;
    if (out->count == MAX_FILES) {
        out->truncated = true;
        return LP_OK;
    }
    if (grow(list, &out->files, out->count, &list->cap)) return LP_ERR_NO_MEMORY;
    int rc = describe(list, name, facts, &out->files[out->count]);
    out->count += !rc;
    return rc;
}

static int add_copy(struct listing *list, const char *name, const struct lp_file_facts *facts)
{
    struct lp_rundir_list *out = list->out;
    if (out->copy_count == MAX_COPIES) return LP_OK;
    if (grow(list, &out->copies, out->copy_count, &list->copy_cap)) return LP_ERR_NO_MEMORY;
    int rc = describe(list, name, facts, &out->copies[out->copy_count]);
    out->copy_count += !rc;
    return rc;
}

static int visit_file(const char *name, void *arg)
{
    struct listing *list = arg;
    struct lp_file_facts facts;
    if (++list->entries > MAX_ENTRIES) {
        list->out->truncated = true;
        return 1;
    }
    if (is_foreign_worker_name(name)) list->foreign = true;
    bool copy = name[0] == '.';
    if (!lp__rundir_is_worker_name(name + copy) || !lp__file_facts_at(list->dir_fd, name, &facts)) return LP_OK;
    return copy ? add_copy(list, name, &facts) : add_file(list, name, &facts);
}

/* A folder that may not be read is named like a file; what is no folder is passed over. */
static int note_closed_folder(struct listing *list, const char *name)
{
    struct lp_file_facts facts;
    if (!lp__file_facts_at(list->dir_fd, name, &facts) || facts.kind != LP_FILE_DIRECTORY) return LP_OK;
    return add_file(list, name, &facts);
}

/* Runs `visit` over the folder `name` of the one being visited. */
static int enter(struct listing *list, const char *name, int (*visit)(const char *name, void *arg))
{
    size_t old = strlen(list->prefix), len = strlen(name);
    int above = list->dir_fd;
    if (old + len + 2 > sizeof list->prefix) return LP_OK;
    int fd = lp__dir_open_at(above, name, false, NULL);
    if (fd < 0) return note_closed_folder(list, name);
    if (old) list->prefix[old] = '/';
    memcpy(list->prefix + old + (old ? 1 : 0), name, len + 1);
    list->dir_fd = fd;
    int rc = lp__dir_each(fd, visit, list);
    list->dir_fd = above;
    list->prefix[old] = '\0';
    lp__close_fd(fd);
    return rc == LP_ERR_NO_MEMORY ? rc : LP_OK;
}

static int visit_host(const char *name, void *arg)
{
    struct listing *list = arg;
    if (++list->entries > MAX_ENTRIES) {
        list->out->truncated = true;
        return 1;
    }
    list->host = lp__arena_copy(list->arena, name, strlen(name));
    if (!list->host) return LP_ERR_NO_MEMORY;
    return enter(list, name, visit_file);
}

static int visit_user_entry(const char *name, void *arg)
{
    return strcmp(name, WORKERS) == 0 ? enter(arg, name, visit_host) : LP_OK;
}

static int visit_top(const char *name, void *arg)
{
    struct listing *list = arg;
    struct lp_file_facts facts;
    if (++list->entries > MAX_ENTRIES) {
        list->out->truncated = true;
        return 1;
    }
    if (!strcmp(name, "metadata.json") && lp__file_facts_at(list->dir_fd, name, &facts))
        list->foreign |= facts.kind == LP_FILE_REGULAR;
    if (!strcmp(name, WORKERS)) return enter(list, name, visit_host);
    if (!strncmp(name, USER_PREFIX, strlen(USER_PREFIX))) return enter(list, name, visit_user_entry);
    return LP_OK;
}

static int compare_paths(const void *a, const void *b)
{
    const struct lp_rundir_file *left = a, *right = b;
    return strcmp(left->path, right->path);
}

static int list_into(struct listing *list, const char *run_dir, struct lp_error *err)
{
    int rc = lp__dir_each(list->dir_fd, visit_top, list);
    if (rc == LP_ERR_NO_MEMORY) return lp__fail(err, rc, 0, "too many files in %s", run_dir);
    if (rc < 0) return lp__fail(err, rc, 0, "cannot list %s", run_dir);
    struct lp_rundir_list *out = list->out;
    if (out->count) {
        qsort(out->files, out->count, sizeof *out->files, compare_paths);
        return LP_OK;
    }
    out->foreign = list->foreign;
    if (list->foreign)
        return lp__fail(err, LP_ERR_FOREIGN_RUN, 0, "%s was written by with-line-profiler; read it with that tool",
                        run_dir);
    return lp__fail(err, LP_ERR_NO_RUN, 0, "%s holds no worker file; was the program run with LINEPROFILER_PROFILE=1?",
                    run_dir);
}

int lp__rundir_list(const char *run_dir, bool any_owner, struct lp_arena *arena, struct lp_rundir_list *out,
                    int *dir_fd, struct lp_error *err)
{
    struct lp_file_facts facts;
    *out = (struct lp_rundir_list){0};
    if (dir_fd) *dir_fd = -1;
    int fd = lp__dir_open_at(LP_DIR_CWD, run_dir, true, err);
    if (fd < 0) return fd;
    struct listing list = {.arena = arena, .out = out, .user = lp__effective_user(), .any_owner = any_owner};
    out->owner = lp__file_facts(fd, &facts) ? facts.owner : list.user;
    list.dir_fd = fd;
    int rc = list_into(&list, run_dir, err);
    if (!rc && dir_fd)
        *dir_fd = fd;
    else
        lp__close_fd(fd);
    return rc;
}
