/* Orders: of phases by what the reader asked for, of anything by a key. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const sort_names[LP_SORT_COUNT] = {"self", "wall", "wait", "entries", "p99"};

const char *lp__report_sort_name(enum lp_report_sort sort)
{
    return sort < LP_SORT_COUNT ? sort_names[sort] : "self";
}

bool lp__report_sort_parse(const char *text, enum lp_report_sort *sort)
{
    for (unsigned i = 0; i < LP_SORT_COUNT; i++) {
        if (strcmp(text, sort_names[i]) != 0) continue;
        *sort = (enum lp_report_sort)i;
        return true;
    }
    return false;
}

static int compare_keys(const void *left, const void *right)
{
    const struct lp_report_key *a = left, *b = right;
    if (isnan(a->key) != isnan(b->key)) return isnan(a->key) ? 1 : -1;
    if (a->key > b->key) return -1;
    if (a->key < b->key) return 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

void lp__report_sort(struct lp_report_key *keys, size_t count)
{
    if (count > 1) qsort(keys, count, sizeof *keys, compare_keys);
}

static double key_of(const struct lp_report_phase *phase, enum lp_report_sort sort)
{
    switch (sort) {
    case LP_SORT_WALL:
        return phase->wall_ns;
    case LP_SORT_WAIT:
        return phase->wait_ns;
    case LP_SORT_ENTRIES:
        return (double)phase->entries;
    case LP_SORT_P99:
        return phase->p99_ns;
    case LP_SORT_SELF:
    case LP_SORT_COUNT:
        break;
    }
    return phase->self_ns;
}

int lp__report_order(struct lp_report *report, struct lp_report_tree *tree)
{
    size_t count = tree->count ? tree->count - 1 : 0;
    if (!count) return LP_OK;
    struct lp_report_key *keys = lp__calloc(count, sizeof *keys);
    tree->order = lp__arena_alloc(&report->arena, count * sizeof *tree->order);
    if (!keys || !tree->order) {
        lp__free(keys);
        return LP_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct lp_report_key){key_of(&tree->phases[i + 1], report->options.sort), i + 1};
    lp__report_sort(keys, count);
    for (size_t i = 0; i < count; i++)
        tree->order[i] = (uint32_t)keys[i].index;
    tree->order_count = count;
    lp__free(keys);
    return LP_OK;
}
