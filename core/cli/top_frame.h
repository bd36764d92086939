/* One frame of `top`, from the same report that `report` prints.  Pure. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_TOP_FRAME_H
#define LP_CLI_TOP_FRAME_H

#include <stdbool.h>

#include "analyse/report.h"
#include "base/buf.h"
#include "base/map.h"

struct lp_top_frame {
    unsigned width; /* columns */
    unsigned rows;  /* lines at most, 0: as many as there are */
    bool color, utf8;
    const char *hint;      /* last line, "q quits"; NULL none */
    double since_ns;       /* since the frame before; 0: this is the first, no rates */
    struct lp_map *before; /* entries by phase at the frame before; replaced by those of this frame; NULL: no rates */
};

void lp__top_frame(const struct lp_report *report, const struct lp_top_frame *frame, struct lp_buf *out);

#endif
