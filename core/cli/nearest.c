/* Edit distance over two short words, and the choice among candidates.  Pure. */
// SPDX-License-Identifier: MIT
#include "cli/nearest.h"

#include <stdint.h>
#include <string.h>

static size_t least(size_t a, size_t b, size_t c)
{
    size_t least_of_two = a < b ? a : b;
    return least_of_two < c ? least_of_two : c;
}

size_t lp__edit_distance(const char *a, const char *b)
{
    size_t rows[3][LP_NEAREST_MAX + 1]; /* of the table: two before, one before, this one */
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > LP_NEAREST_MAX || b_len > LP_NEAREST_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *before_that = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            now[j] = least(before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before_that[j - 2] + 1, SIZE_MAX);
        }
    }
    return rows[a_len % 3][b_len];
}

void lp__nearest_offer(struct lp_nearest *nearest, const char *word, const char *candidate)
{
    size_t len = strlen(word);
    size_t distance = lp__edit_distance(word, candidate);
    /* A beginning is as good as one slip: "comp" means "completion", whatever the letters that are still to come. */
    if (len >= 2 && strncmp(word, candidate, len) == 0) distance = 1;
    size_t tolerated = len < 5 ? 1 : len < 9 ? 2 : 3;
    if (distance > tolerated) return;
    if (nearest->best && nearest->distance <= distance) return;
    nearest->best = candidate;
    nearest->distance = distance;
}
