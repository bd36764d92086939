/* Attempts: a file belongs to the one its fact "attempt" names.  A file that lost the fact goes where its name says,
 * which holds the same id with the unusual characters replaced. */
// SPDX-License-Identifier: MIT
#include "merge/attempt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

void lp__attempts_release(struct lp_attempts *attempts)
{
    lp__free(attempts->at);
    lp__free(attempts->prefixes);
    lp__free(attempts->stated);
    lp__map_release(&attempts->by_id);
    lp__map_release(&attempts->by_prefix);
    *attempts = (struct lp_attempts){.arena = attempts->arena};
}

struct lp_text lp__attempt_prefix(const struct lp_rundir_file *file)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    return (struct lp_text){name, strcspn(name, ".")};
}

static bool same_text(const struct lp_text *a, const struct lp_text *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

bool lp__attempts_look_single(const struct lp_rundir_list *list)
{
    if (!list->count) return true;
    struct lp_text first = lp__attempt_prefix(&list->files[0]);
    for (size_t i = 1; i < list->count; i++) {
        struct lp_text prefix = lp__attempt_prefix(&list->files[i]);
        if (!same_text(&first, &prefix)) return false;
    }
    return true;
}

/* -- finding ----------------------------------------------------------------------------------------------------- */

static int grow(struct lp_attempts *attempts)
{
    size_t cap = attempts->cap ? attempts->cap * 2 : 8;
    struct lp_run_attempt *at = lp__realloc(attempts->at, cap * sizeof *at);
    if (!at) return LP_ERR_NO_MEMORY;
    attempts->at = at;
    struct lp_text *prefixes = lp__realloc(attempts->prefixes, cap * sizeof *prefixes);
    if (!prefixes) return LP_ERR_NO_MEMORY;
    attempts->prefixes = prefixes;
    bool *stated = lp__realloc(attempts->stated, cap * sizeof *stated);
    if (!stated) return LP_ERR_NO_MEMORY;
    attempts->stated = stated;
    attempts->cap = cap;
    return LP_OK;
}

static bool has_id(const struct lp_attempts *attempts, size_t i, const struct lp_text *id)
{
    struct lp_text own = {attempts->at[i].id, strlen(attempts->at[i].id)};
    return attempts->stated[i] && same_text(&own, id);
}

/* Two texts of one hash would be taken for one attempt only after a look at the texts, and be two otherwise. */
static bool find_by_id(const struct lp_attempts *attempts, const struct lp_text *id, size_t *index)
{
    uint64_t found;
    if (!lp__map_get(&attempts->by_id, lp__hash_bytes(id->bytes, id->len), &found)) return false;
    *index = (size_t)found;
    return has_id(attempts, *index, id);
}

static bool find_by_prefix(const struct lp_attempts *attempts, const struct lp_text *prefix, size_t *index)
{
    uint64_t found;
    if (!lp__map_get(&attempts->by_prefix, lp__hash_bytes(prefix->bytes, prefix->len), &found)) return false;
    *index = (size_t)found;
    return same_text(&attempts->prefixes[*index], prefix);
}

static int state_id(struct lp_attempts *attempts, size_t i, const struct lp_text *id)
{
    char *copy = lp__arena_copy(attempts->arena, id->bytes, id->len);
    if (!copy) return LP_ERR_NO_MEMORY;
    attempts->at[i].id = copy;
    attempts->stated[i] = true;
    return lp__map_put(&attempts->by_id, lp__hash_bytes(id->bytes, id->len), i);
}

static int add(struct lp_attempts *attempts, const struct lp_text *prefix, size_t *index)
{
    if (attempts->count == attempts->cap && grow(attempts)) return LP_ERR_NO_MEMORY;
    char *copy = lp__arena_copy(attempts->arena, prefix->bytes, prefix->len);
    if (!copy) return LP_ERR_NO_MEMORY;
    *index = attempts->count++;
    attempts->at[*index] = (struct lp_run_attempt){.id = copy, .started_real_ns = LP_NAN, .last_real_ns = LP_NAN};
    attempts->prefixes[*index] = (struct lp_text){copy, prefix->len};
    attempts->stated[*index] = false;
    return lp__map_put(&attempts->by_prefix, lp__hash_bytes(prefix->bytes, prefix->len), *index);
}

static void widen(struct lp_run_attempt *attempt, const struct lp_rundir_file *file,
                  const struct lp_file_header *header)
{
    double start = (double)header->created_real_ns, last = (double)header->heartbeat_real_ns;
    if (!header->created_real_ns) start = file->mtime_ns ? (double)file->mtime_ns : LP_NAN;
    if (!(last > start)) last = start;
    attempt->files++;
    attempt->started_real_ns = fmin(attempt->started_real_ns, start);
    attempt->last_real_ns = fmax(attempt->last_real_ns, last);
}

int lp__attempt_note(struct lp_attempts *attempts, const struct lp_text *id, const struct lp_rundir_file *file,
                     const struct lp_file_header *header, size_t *index)
{
    struct lp_text prefix = lp__attempt_prefix(file);
    size_t i;
    bool found = id->len && find_by_id(attempts, id, &i);
    if (!found) found = find_by_prefix(attempts, &prefix, &i) && (!id->len || !attempts->stated[i]);
    int rc = found ? LP_OK : add(attempts, &prefix, &i);
    if (!rc && id->len && !attempts->stated[i]) rc = state_id(attempts, i, id);
    if (rc) return rc;
    widen(&attempts->at[i], file, header);
    *index = i;
    return LP_OK;
}

/* -- choosing ---------------------------------------------------------------------------------------------------- */

static bool is_newer(const struct lp_run_attempt *a, const struct lp_run_attempt *b)
{
    if (isnan(b->started_real_ns)) return true;
    if (a->started_real_ns > b->started_real_ns || a->started_real_ns < b->started_real_ns)
        return a->started_real_ns > b->started_real_ns;
    return strcmp(a->id, b->id) > 0;
}

static int choose_latest(struct lp_attempts *attempts)
{
    size_t newest = 0;
    for (size_t i = 1; i < attempts->count; i++)
        if (is_newer(&attempts->at[i], &attempts->at[newest])) newest = i;
    if (attempts->count) attempts->at[newest].chosen = true;
    return LP_OK;
}

static int refuse(const struct lp_attempts *attempts, const char *wanted, struct lp_error *err)
{
    char list[160];
    size_t len = 0;
    list[0] = '\0';
    for (size_t i = 0; i < attempts->count; i++) {
        size_t add_len = strlen(attempts->at[i].id);
        if (len + add_len + 3 > sizeof list) break;
        int put = snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "", attempts->at[i].id);
        len += put > 0 ? (size_t)put : 0;
    }
    return lp__fail(err, LP_ERR_USAGE, 0, "no attempt \"%.60s\"; there are: %s", wanted, list);
}

int lp__attempts_choose(struct lp_attempts *attempts, const char *wanted, struct lp_error *err)
{
    if (!wanted || !strcmp(wanted, "latest")) return choose_latest(attempts);
    bool all = !strcmp(wanted, "all"), any = all;
    for (size_t i = 0; i < attempts->count; i++) {
        attempts->at[i].chosen = all || !strcmp(attempts->at[i].id, wanted);
        any |= attempts->at[i].chosen;
    }
    return any ? LP_OK : refuse(attempts, wanted, err);
}

/* One whose start is unknown stands first. */
static int compare_attempts(const void *a, const void *b)
{
    const struct lp_run_attempt *left = a, *right = b;
    double l = isnan(left->started_real_ns) ? 0 : left->started_real_ns;
    double r = isnan(right->started_real_ns) ? 0 : right->started_real_ns;
    if (l < r || l > r) return l < r ? -1 : 1;
    return strcmp(left->id, right->id);
}

int lp__attempts_finish(struct lp_attempts *attempts, struct lp_run *run)
{
    if (!attempts->count) return LP_OK;
    run->attempts = lp__arena_alloc(&run->arena, attempts->count * sizeof *run->attempts);
    if (!run->attempts) return LP_ERR_NO_MEMORY;
    memcpy(run->attempts, attempts->at, attempts->count * sizeof *run->attempts);
    run->attempt_count = attempts->count;
    qsort(run->attempts, run->attempt_count, sizeof *run->attempts, compare_attempts);
    return LP_OK;
}
