/* The pages' HTML, style and script, as tools/embed makes them from web/ at build time: the pieces of one page between
 * the places that a renderer fills.  Inside render only. */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_PAGE_PARTS_H
#define LP_RENDER_PAGE_PARTS_H

#include <stddef.h>

#define LP_PAGE_PARTS                                                                                                  \
    5 /* before the title, the tables for readers without scripts, the data's form, the data; the end */

struct lp_page_part {
    const unsigned char *bytes;
    size_t len;
};

extern const struct lp_page_part lp__page_parts[LP_PAGE_PARTS];

#endif
