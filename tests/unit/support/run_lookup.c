/* See the header. */
// SPDX-License-Identifier: MIT
#include "run_lookup.h"

#include <string.h>

const struct lp_run_phase *run_phase(const struct lp_run *run, const struct lp_run_tree *tree, const char *path)
{
    uint32_t at = 0, name;
    while (path) {
        const char *end = strchr(path, '/');
        size_t len = end ? (size_t)(end - path) : strlen(path);
        if (!lp__intern_find(&run->names, path, len, &name)) return NULL;
        at = lp__run_tree_child(tree, at, name);
        if (at == UINT32_MAX) return NULL;
        path = end ? end + 1 : NULL;
    }
    return &tree->phases[at];
}

const struct lp_run_phase *run_child_with(const struct lp_run_tree *tree, uint32_t parent, uint32_t flag)
{
    for (size_t i = 1; i < tree->count; i++)
        if (tree->phases[i].parent == parent && tree->phases[i].flags & flag) return &tree->phases[i];
    return NULL;
}

const struct lp_run_counter *run_counter(const struct lp_run *run, const struct lp_run_phase *phase, const char *name)
{
    for (const struct lp_run_counter *counter = phase->counters; counter; counter = counter->next) {
        const struct lp_text *text = &run->names.texts[counter->name];
        if (text->len == strlen(name) && !memcmp(text->bytes, name, text->len)) return counter;
    }
    return NULL;
}

const struct lp_run_role *run_role(const struct lp_run *run, const char *name)
{
    for (size_t i = 0; i < run->role_count; i++)
        if (!strcmp(run->roles[i].name, name)) return &run->roles[i];
    return NULL;
}
