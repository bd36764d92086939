/* How a node's entries changed while it ran, from the marks of its trend record. */
// SPDX-License-Identifier: MIT
#ifndef LP_MERGE_TREND_H
#define LP_MERGE_TREND_H

#include "store/reader.h"

/* The wall of the first and of the last tenth of a node's finished entries, in ticks.  Fewer marks than this make no
 * tenths. */
#define LP_TREND_LEAST_MARKS 7u
struct lp_tenths {
    double first, last;
};

/* False where there is no trend: too few entries, a file of an older version, or a record that cannot be right. */
bool lp__trend_tenths(const struct lp_image *image, const struct lp_node_record *node, struct lp_tenths *out);

#endif
