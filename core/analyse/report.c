/* The order in which a report comes about: each block needs the ones before it. */
// SPDX-License-Identifier: MIT
#include "analyse/report.h"

#include "analyse/parts.h"

/* A report is a few hundred bytes per path and worker; this is far above any run that fits the readers' ceilings. */
#define REPORT_CEILING ((size_t)2 << 30)

int lp__report_build(const struct lp_run *run, const struct lp_report_options *options, struct lp_report **out,
                     struct lp_error *err)
{
    struct lp_report *report = lp__calloc(1, sizeof *report);
    *out = NULL;
    if (!report) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "while building the report");
    lp__arena_init(&report->arena, REPORT_CEILING);
    report->run = run;
    if (options) report->options = *options;
    int rc = lp__report_roles(report, err);
    if (!rc) rc = lp__report_workers(report);
    if (!rc) rc = lp__report_header(report);
    if (!rc) rc = lp__report_notes(report);
    if (rc) {
        lp__report_free(report);
        return rc == LP_ERR_USAGE ? rc : lp__fail(err, LP_ERR_NO_MEMORY, 0, "while building the report");
    }
    *out = report;
    return LP_OK;
}

void lp__report_free(struct lp_report *report)
{
    if (!report) return;
    lp__arena_release(&report->arena);
    lp__free(report);
}
