/* Which known word was probably meant. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_NEAREST_H
#define LP_CLI_NEAREST_H

#include <stddef.h>

#define LP_NEAREST_MAX 32u /* longer words are never near */

/* Insertions, deletions, substitutions and swaps of neighbours between two words of at most LP_NEAREST_MAX bytes;
 * SIZE_MAX for longer ones. */
size_t lp__edit_distance(const char *a, const char *b);

/* A running search for the nearest word: start with {0}, offer each candidate, read `best` (NULL: none is near). */
struct lp_nearest {
    const char *best;
    size_t distance;
};
void lp__nearest_offer(struct lp_nearest *nearest, const char *word, const char *candidate);

#endif
