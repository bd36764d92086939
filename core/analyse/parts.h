/* The blocks that lp__report_build puts together, one file each.  Inside analyse only. */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_PARTS_H
#define LP_ANALYSE_PARTS_H

#include "analyse/report.h"

/* Phases of one tree with everything derived; `cpu_measured` false: no entry of it has CPU time. */
LP_WARN_UNUSED int lp__report_tree_build(struct lp_report *report, const struct lp_run_tree *from, bool cpu_measured,
                                         struct lp_report_tree *out);
/* Fills tree->order by the report's options. */
LP_WARN_UNUSED int lp__report_order(struct lp_report *report, struct lp_report_tree *tree);
/* Counters of one phase, whose scale and active time are known. */
LP_WARN_UNUSED int lp__report_counters(struct lp_report *report, const struct lp_run_phase *from,
                                       struct lp_report_phase *phase);
LP_WARN_UNUSED int lp__report_breakdown(struct lp_report *report, const struct lp_report_tree *tree,
                                        struct lp_report_breakdown *out);
void lp__report_iterations(const struct lp_report_role *role, struct lp_report_iterations *out);
LP_WARN_UNUSED int lp__report_roles(struct lp_report *report, struct lp_error *err);
LP_WARN_UNUSED int lp__report_workers(struct lp_report *report);
LP_WARN_UNUSED int lp__report_header(struct lp_report *report);
LP_WARN_UNUSED int lp__report_notes(struct lp_report *report);

/* Index in report->roles of a run's role, UINT32_MAX when it is left out. */
uint32_t lp__report_role_of(const struct lp_report *report, const struct lp_run_process *process);
/* Is `name` one of the comma-separated `list`?  NULL lists everything. */
bool lp__report_listed(const char *list, const char *name);
/* One process's last write minus its start; NaN when that is no duration. */
double lp__report_process_span(const struct lp_run_process *process);

/* A key to sort by and what it stands for: largest key first, NaN last, then by index. */
struct lp_report_key {
    double key;
    size_t index;
};
void lp__report_sort(struct lp_report_key *keys, size_t count);

#endif
