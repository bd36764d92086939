/* Selections are short texts from a command line: "0-3,5" and "a,b". */
// SPDX-License-Identifier: MIT
#include "merge/select.h"

#include <stdlib.h>
#include <string.h>

static bool parse_number(const char **at, int64_t *out)
{
    int64_t number = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (number > (INT64_MAX - 9) / 10) return false;
        number = number * 10 + (**at - '0');
    }
    *out = number;
    return *at != start;
}

static int parse_ranks(struct lp_selection *selection, const char *text, struct lp_error *err)
{
    const char *at = text;
    do {
        if (selection->rank_count == LP_SELECT_RANGES)
            return lp__fail(err, LP_ERR_USAGE, 0, "more than %d ranges of ranks", LP_SELECT_RANGES);
        struct lp_rank_range range = {0, 0};
        bool good = parse_number(&at, &range.first);
        range.last = range.first;
        if (good && *at == '-') {
            at++;
            good = parse_number(&at, &range.last);
        }
        if (!good || range.last < range.first || (*at && *at != ','))
            return lp__fail(err, LP_ERR_USAGE, 0, "ranks \"%.100s\": expected something like 0-3,5", text);
        selection->ranks[selection->rank_count++] = range;
    } while (*at++);
    return LP_OK;
}

static int parse_names(struct lp_name_choices *choices, const char *what, const char *text, struct lp_error *err)
{
    for (const char *at = text;;) {
        size_t len = strcspn(at, ",");
        if (!len) return lp__fail(err, LP_ERR_USAGE, 0, "%s \"%.100s\": a name is empty", what, text);
        if (choices->count == LP_SELECT_NAMES)
            return lp__fail(err, LP_ERR_USAGE, 0, "more than %d %s", LP_SELECT_NAMES, what);
        choices->at[choices->count++] = (struct lp_name_choice){.text = at, .len = len};
        at += len;
        if (!*at++) return LP_OK;
    }
}

int lp__selection_parse(struct lp_selection *selection, const struct lp_run_options *options, struct lp_error *err)
{
    *selection = (struct lp_selection){.rank_count = 0};
    int rc = options->ranks ? parse_ranks(selection, options->ranks, err) : LP_OK;
    if (!rc && options->roles) rc = parse_names(&selection->roles, "roles", options->roles, err);
    if (!rc && options->hosts) rc = parse_names(&selection->hosts, "hosts", options->hosts, err);
    return rc;
}

bool lp__selection_has_rank(const struct lp_selection *selection, int64_t rank)
{
    if (rank < 0) rank = 0;
    for (size_t i = 0; i < selection->rank_count; i++)
        if (rank >= selection->ranks[i].first && rank <= selection->ranks[i].last) return true;
    return !selection->rank_count;
}

static bool meets(struct lp_name_choices *choices, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < choices->count; i++) {
        struct lp_name_choice *choice = &choices->at[i];
        if (choice->len != len || memcmp(choice->text, name, len) != 0) continue;
        choice->met = true;
        return true;
    }
    return !choices->count;
}

bool lp__selection_has(struct lp_selection *selection, const struct lp_run_process *process)
{
    bool role = meets(&selection->roles, process->role);
    bool host = meets(&selection->hosts, process->host);
    return role && host && lp__selection_has_rank(selection, process->rank);
}

static const char *role_of(const struct lp_run_process *process)
{
    return process->role;
}

static const char *host_of(const struct lp_run_process *process)
{
    return process->host;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a, b, c" of the distinct names there are, as many as fit. */
static void list_names(char *out, size_t cap, const struct lp_run_process *seen, size_t count,
                       const char *(*name_of)(const struct lp_run_process *))
{
    const char **names = lp__calloc(count ? count : 1, sizeof *names);
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; names && i < count; i++)
        names[i] = name_of(&seen[i]);
    if (names) qsort(names, count, sizeof *names, compare_texts);
    for (size_t i = 0; names && i < count; i++) {
        size_t add = strlen(names[i]);
        if (i && !strcmp(names[i], names[i - 1])) continue;
        if (len + add + 3 > cap) break;
        if (len) memcpy(out + len, ", ", 2);
        len += len ? 2 : 0;
        memcpy(out + len, names[i], add + 1);
        len += add;
    }
    lp__free(names);
}

static int check_names(const struct lp_name_choices *choices, const char *what, const struct lp_run_process *seen,
                       size_t count, const char *(*name_of)(const struct lp_run_process *), struct lp_error *err)
{
    char list[128];
    for (size_t i = 0; i < choices->count; i++) {
        const struct lp_name_choice *choice = &choices->at[i];
        if (choice->met) continue;
        list_names(list, sizeof list, seen, count, name_of);
        int len = choice->len < 80 ? (int)choice->len : 80;
        return lp__fail(err, LP_ERR_USAGE, 0, "no process has the %s \"%.*s\"; there are: %s", what, len, choice->text,
                        list);
    }
    return LP_OK;
}

int lp__selection_check(const struct lp_selection *selection, const struct lp_run_process *seen, size_t count,
                        struct lp_error *err)
{
    int rc = check_names(&selection->roles, "role", seen, count, role_of, err);
    return rc ? rc : check_names(&selection->hosts, "host", seen, count, host_of, err);
}
