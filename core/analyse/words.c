/* The words for enumerators: identifiers for machines, phrases for readers.  Text, JSON and pages take them here. */
// SPDX-License-Identifier: MIT
#include "analyse/report.h"

#include <stddef.h>

const char *lp__verdict_words(enum lp_verdict verdict)
{
    switch (verdict) {
    case LP_VERDICT_FINISHED:
        return "clean";
    case LP_VERDICT_RUNNING:
        return "running";
    case LP_VERDICT_STALE:
        return "stale";
    case LP_VERDICT_KILLED:
        return "killed";
    case LP_VERDICT_ENDED:
        return "ended without closing";
    case LP_VERDICT_NOTHING:
        return "recorded nothing";
    }
    return "unknown";
}

const char *lp__verdict_name(enum lp_verdict verdict)
{
    static const char *const names[] = {"finished", "running", "stale", "killed", "ended", "nothing"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}

const char *lp__note_kind_name(enum lp_note_kind kind)
{
    static const char *const names[] = {
        "unreadable", "damaged", "superseded", "missing_rank", "killed", "stale",       "write_failures", "drop",
        "clock",      "store",   "torn",       "launch",       "owner",  "suspensions", "nothing",
    };
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *lp__drop_name(enum lp_drop drop)
{
    switch (drop) {
    case LP_DROP_END_WITHOUT_BEGIN:
        return "end_without_begin";
    case LP_DROP_END_OUT_OF_ORDER:
        return "end_out_of_order";
    case LP_DROP_END_INHERITED:
        return "end_inherited";
    case LP_DROP_END_FOREIGN:
        return "end_foreign";
    case LP_DROP_LEFT_OPEN:
        return "left_open";
    case LP_DROP_STALE_OWNER:
        return "stale_owner";
    case LP_DROP_FOLDED:
        return "folded";
    case LP_DROP_NO_SPACE:
        return "no_space";
    case LP_DROP_COUNTER_NO_SPACE:
        return "counter_no_space";
    case LP_DROP_HIST_NO_SPACE:
        return "hist_no_space";
    case LP_DROP_WARNING:
        return "warning";
    case LP_DROP_HOOK:
        return "hook";
    case LP_DROP_LINES_NO_SPACE:
        return "lines_no_space";
    case LP_DROP_LINES_LOST:
        return "lines_lost";
    case LP_DROP_COUNT:
        break;
    }
    return NULL;
}
