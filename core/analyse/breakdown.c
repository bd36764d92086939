/* Where a role's time divides: down from the root as long as a level has exactly one phase. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>

#define OTHER_WORTH_A_ROW 0.001

static size_t children_of(const struct lp_report_tree *tree, uint32_t parent, uint32_t *last)
{
    size_t count = 0;
    for (uint32_t i = parent + 1; i < tree->count; i++) {
        if (tree->phases[i].parent != parent) continue;
        *last = i;
        count++;
    }
    return count;
}

/* The parent of the first level that divides, or of the last level there is.  `count` receives the level's size.  Each
 * step starts behind the phase it came from, so the whole descent reads the tree about once. */
static uint32_t branching_parent(const struct lp_report_tree *tree, size_t *count)
{
    uint32_t parent = 0, child = 0, below = 0;
    *count = children_of(tree, 0, &child);
    while (*count == 1) {
        size_t deeper = children_of(tree, child, &below);
        if (!deeper) break;
        parent = child;
        child = below;
        *count = deeper;
    }
    return parent;
}

static void collect_keys(const struct lp_report_tree *tree, uint32_t parent, struct lp_report_key *keys)
{
    size_t at = 0;
    for (uint32_t i = parent + 1; i < tree->count; i++)
        if (tree->phases[i].parent == parent) keys[at++] = (struct lp_report_key){tree->phases[i].active_ns, i};
}

static void fill_rows(const struct lp_report_tree *tree, const struct lp_report_key *keys,
                      struct lp_report_breakdown *out)
{
    out->other_ns = out->parent ? tree->phases[out->parent].self_ns : 0;
    out->base_ns = out->other_ns;
    for (size_t i = 0; i < out->count; i++)
        out->base_ns += keys[i].key;
    for (size_t i = 0; i < out->count; i++) {
        double share = out->base_ns > 0 ? keys[i].key / out->base_ns : 0;
        out->rows[i] = (struct lp_report_share){(uint32_t)keys[i].index, keys[i].key, share};
    }
    out->other_share = out->base_ns > 0 ? out->other_ns / out->base_ns : 0;
    out->has_other = out->other_share > OTHER_WORTH_A_ROW;
}

int lp__report_breakdown(struct lp_report *report, const struct lp_report_tree *tree, struct lp_report_breakdown *out)
{
    *out = (struct lp_report_breakdown){0};
    if (tree->count < 2) return LP_OK;
    out->parent = branching_parent(tree, &out->count);
    struct lp_report_key *keys = lp__calloc(out->count + 1, sizeof *keys);
    out->rows = lp__arena_alloc(&report->arena, (out->count + 1) * sizeof *out->rows);
    if (!keys || !out->rows) {
        lp__free(keys);
        return LP_ERR_NO_MEMORY;
    }
    collect_keys(tree, out->parent, keys);
    lp__report_sort(keys, out->count);
    fill_rows(tree, keys, out);
    lp__free(keys);
    return LP_OK;
}
