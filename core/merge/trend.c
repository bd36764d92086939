/* Tenths of a node's entries.  The marks and the node's own sums are points of one growing line, straight between two
 * of them: 0 entries, each mark, all entries.  A record may be damaged, or newer than the node it belongs to when the
 * writer is at work: marks beyond the node's sums are left out, and a line that falls is none. */
// SPDX-License-Identifier: MIT
#include "merge/trend.h"

#include <string.h>

struct line {
    struct lp_trend_record record;
    uint32_t marks; /* those that can be believed */
    double entries, wall;
};

static double wall_at_mark(const struct line *line, uint32_t mark)
{
    return (double)((uint64_t)line->record.mark[mark] << line->record.shift);
}

/* Wall after the first `entries` entries. */
static double wall_after(const struct line *line, double entries)
{
    double from = 0, from_wall = 0, to = line->entries, to_wall = line->wall;
    for (uint32_t i = 0; i < line->marks; i++) {
        double at = (double)line->record.stride * (i + 1), wall = wall_at_mark(line, i);
        if (at > entries) {
            to = at;
            to_wall = wall;
            break;
        }
        from = at;
        from_wall = wall;
    }
    return to > from ? from_wall + (to_wall - from_wall) * (entries - from) / (to - from) : to_wall;
}

static bool is_possible(const struct lp_trend_record *record)
{
    if (!record->stride || record->count > LP_TREND_MARKS || record->shift > 32) return false;
    for (uint32_t i = 1; i < record->count; i++)
        if (record->mark[i] < record->mark[i - 1]) return false;
    return true;
}

static uint32_t believable_marks(const struct line *line)
{
    uint32_t marks = line->record.count;
    while (marks && ((double)line->record.stride * marks > line->entries || wall_at_mark(line, marks - 1) > line->wall))
        marks--;
    return marks;
}

bool lp__trend_tenths(const struct lp_image *image, const struct lp_node_record *node, struct lp_tenths *out)
{
    struct line line = {.entries = (double)node->calls, .wall = (double)node->wall};
    const void *record = lp__image_record(image, node->trend, LP_SEGMENT_HIST, sizeof line.record);
    if (!record) return false;
    memcpy(&line.record, record, sizeof line.record);
    if (!is_possible(&line.record)) return false;
    line.marks = believable_marks(&line);
    if (line.marks < LP_TREND_LEAST_MARKS) return false;
    double tenth = line.entries / 10;
    out->first = wall_after(&line, tenth);
    out->last = line.wall - wall_after(&line, line.entries - tenth);
    return true;
}
