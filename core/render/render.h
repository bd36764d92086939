/* From a finished report, or a run, to bytes.
 *
 * Renderers decide nothing: every figure stands in the report.  They append to a buffer and never fail by themselves;
 * memory and the buffer's ceiling are checked once by the caller through `out->failed`.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_RENDER_H
#define LP_RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/report.h"
#include "base/buf.h"
#include "merge/run.h"

#define LP_TEXT_WIDTH_DEFAULT 80u
#define LP_TEXT_WIDTH_MIN     72u
#define LP_TEXT_WIDTH_WIDE    100u /* least width of a wide report */

struct lp_text_options {
    unsigned width; /* columns; 0: LP_TEXT_WIDTH_DEFAULT, less than LP_TEXT_WIDTH_MIN (or _WIDE): that */
    bool color;     /* ANSI colours and heat bars: only for a terminal */
    bool utf8;      /* false: pure ASCII */
    bool wide;      /* more columns: p95, max, suspended, spread of counters, full paths */
};

/* The text report, ending in a newline.  No line is wider than `width` unless a count in it is long. */
void lp__render_text(const struct lp_report *report, const struct lp_text_options *options, struct lp_buf *out);

/* The JSON document that docs/report.schema.json describes, ending in a newline.  Phases of workers are there when the
 * report was built with options.workers over a run that kept process trees. */
void lp__render_json(const struct lp_report *report, struct lp_buf *out);

/* The whole run without analysis, for programs (Python's merge_run): one line of JSON.
 *
 *   {schema: 1, directory, attempt, attempts: [{id, files, started_at, written_at, chosen}],
 *    roles: [{role, processes, wall_ns, max_wall_ns, elapsed_ns, outside_ns, tree: TREE}],
 *    workers: [{the facts of a worker in the report's document, tree: TREE | null}],
 *    caveats: {unreadable: [{file, error, detail}], missing_ranks: [...], missing_count, world_size}}
 *   TREE = [{path: [names], calls, open, skipped, unmeasured, async_entries, processes, flags: [words], wall_ns,
 *            open_wall_ns, suspended_ns, inner_ns, cpu_ns | null, min_ns | null, max_ns | null,
 *            hist: [[low_ns, width_ns, count], ...],
 *            counters: {name: {total, adds, min, max, hist, hist_negative}}}]   root first, parents before children
 *
 * Counts and totals are exact integers of any size; a histogram of a counter whose amounts were all equal is []. */
void lp__render_run_json(const struct lp_run *run, struct lp_buf *out);

#endif
