/* The top of the text report: how long, who, which run, what is missing from it, and what measuring it cost. */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "os/clock.h"
#include "render/text.h"

#define MOST_HOSTS  4u
#define MOST_ROLES  8u
#define MOST_RANGES 10u

static void roles(struct lp_page *page)
{
    const struct lp_report *report = page->report;
    char label[LP_LABEL_CAP], count[LP_FMT_CAP];
    for (size_t i = 0; i < report->role_count && i < MOST_ROLES; i++)
        lp__page_flow(page, i ? ", " : "   ", "%s%s x%s", i ? "" : "Roles ",
                      lp__page_label(page, label, sizeof label,
                                     report->roles[i].name[0] ? report->roles[i].name : "(unknown)", 24),
                      lp__fmt_count(count, sizeof count, report->roles[i].processes));
    if (report->role_count > MOST_ROLES) lp__page_flow(page, ", ", "+%zu more", report->role_count - MOST_ROLES);
}

static void hosts(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    char label[LP_LABEL_CAP];
    for (size_t i = 0; i < header->host_count && i < MOST_HOSTS; i++)
        lp__page_flow(page, i ? ", " : "", "%s%s",
                      i                        ? ""
                      : header->host_count > 1 ? "Hosts "
                                               : "Host ",
                      lp__page_label(page, label, sizeof label, header->hosts[i], 24));
    if (header->host_count > MOST_HOSTS) lp__page_flow(page, " ", "+%zu more", header->host_count - MOST_HOSTS);
    if (header->host_count > 1) lp__page_flow(page, " ", "(%zu nodes)", header->host_count);
}

static void run_name(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    char label[LP_LABEL_CAP];
    if (header->shown_attempts > 1)
        lp__page_flow(page, "   ", "Run all %zu attempts, added up", header->shown_attempts);
    else if (header->attempt[0])
        lp__page_flow(page, "   ", "Run %s", lp__page_label(page, label, sizeof label, header->attempt, 40));
}

static void source(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    char revision[LP_LABEL_CAP], branch[LP_LABEL_CAP];
    if (!header->revision[0]) return;
    (void)snprintf(branch, sizeof branch, "%.8s", header->revision);
    lp__page_label(page, revision, sizeof revision, branch, 8);
    if (header->branch[0])
        lp__page_flow(page, "   ", "Source %s (%s)", revision,
                      lp__page_label(page, branch, sizeof branch, header->branch, 24));
    else
        lp__page_flow(page, "   ", "Source %s", revision);
    if (header->revisions > 1) lp__page_flow(page, " ", "and %zu other revisions", header->revisions - 1);
}

static void verdicts(struct lp_page *page)
{
    static const enum lp_verdict order[] = {LP_VERDICT_FINISHED, LP_VERDICT_RUNNING, LP_VERDICT_KILLED,
                                            LP_VERDICT_ENDED,    LP_VERDICT_STALE,   LP_VERDICT_NOTHING};
    const struct lp_report_header *header = &page->report->header;
    bool first = true;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!header->verdicts[order[i]]) continue;
        lp__page_flow(page, first ? "" : ", ", "%s%u %s", first ? "Workers " : "", header->verdicts[order[i]],
                      lp__verdict_words(order[i]));
        first = false;
    }
    if (header->processes > 1) {
        char longest[LP_FMT_CAP];
        lp__page_flow(page, "   ", "Longest worker %s", lp__fmt_duration(longest, sizeof longest, header->longest_ns));
    }
}

static void cost_text(char *out, size_t cap, double ns)
{
    char number[LP_FMT_CAP];
    if (isnan(ns))
        (void)snprintf(out, cap, "cost not measured");
    else
        (void)snprintf(out, cap, "%s a read", lp__fmt_duration(number, sizeof number, ns));
}

static void clocks(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    for (size_t i = 0; i < header->clock_count && i < 3; i++) {
        const struct lp_report_clock *clock = &header->clocks[i];
        char wall[48], cpu[48], share[32] = "";
        cost_text(wall, sizeof wall, clock->wall_cost_ns);
        cost_text(cpu, sizeof cpu, clock->cpu_cost_ns);
        if (header->clock_count > 1) (void)snprintf(share, sizeof share, " x%u", clock->processes);
        lp__page_flow(page, i ? "; " : "", "%s%s (%s)", i ? "" : "Clock ",
                      lp__wall_clock_name((enum lp_wall_clock)clock->wall), wall);
        if (clock->cpu == LP_CPU_NONE)
            lp__page_flow(page, "   ", "CPU clock none%s", share);
        else
            lp__page_flow(page, "   ", "CPU clock %s (%s)%s", lp__cpu_clock_name((enum lp_cpu_clock)clock->cpu), cpu,
                          share);
    }
}

static void cost(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    char entries[LP_FMT_CAP], ns[LP_FMT_CAP], pct[LP_FMT_CAP];
    lp__fmt_count(entries, sizeof entries, header->entries);
    if (isnan(header->cost_ns)) {
        lp__page_flow(page, "", "Measuring %s entries, cost not measured", entries);
        return;
    }
    if (header->cost_share < 0.0005)
        (void)snprintf(pct, sizeof pct, "under 0.1%%");
    else
        lp__fmt_pct(pct, sizeof pct, header->cost_share);
    lp__page_flow(page, "", "Measuring %s entries took about %s, %s of thread time", entries,
                  lp__fmt_duration(ns, sizeof ns, header->cost_ns), pct);
    if (header->cost_processes < header->processes)
        lp__page_flow(page, " ", "(in the %zu processes that measured it)", header->cost_processes);
}

/* -- what is not here -------------------------------------------------------------------------------------------- */

/* Ranks in order, runs of them as "3-7"; at most MOST_RANGES. */
static void rank_ranges(const struct lp_run *run, char *out, size_t cap)
{
    size_t used = 0, ranges = 0;
    out[0] = 0;
    for (size_t i = 0; i < run->missing_count && used < cap;) {
        size_t last = i;
        while (last + 1 < run->missing_count && run->missing_ranks[last + 1] == run->missing_ranks[last] + 1)
            last++;
        if (ranges++ == MOST_RANGES) {
            (void)snprintf(out + used, cap - used, ", ...");
            return;
        }
        int wrote = last == i
                        ? snprintf(out + used, cap - used, "%s%lld", used ? ", " : "", (long long)run->missing_ranks[i])
                        : snprintf(out + used, cap - used, "%s%lld-%lld", used ? ", " : "",
                                   (long long)run->missing_ranks[i], (long long)run->missing_ranks[last]);
        used += (size_t)wrote;
        i = last + 1;
    }
}

static void missing_ranks(struct lp_page *page)
{
    const struct lp_run *run = page->report->run;
    char ranges[320], world[LP_FMT_CAP];
    if (!run->missing_count) return;
    rank_ranges(run, ranges, sizeof ranges);
    lp__page_sentence(page, 0, "", LP_INK_WARN, "WARNING: rank%s %s of %s left no file: missing from all figures",
                      page->report->header.missing_ranks == 1 ? "" : "s", ranges,
                      lp__fmt_count(world, sizeof world, (uint64_t)run->world_size));
}

static void other_attempts(struct lp_page *page)
{
    const struct lp_run *run = page->report->run;
    uint64_t files = 0, others = 0;
    for (size_t i = 0; i < run->attempt_count; i++) {
        if (run->attempts[i].chosen) continue;
        files += run->attempts[i].files;
        others++;
    }
    if (!others) return;
    lp__page_sentence(page, 0, "", files > page->report->header.processes ? LP_INK_WARN : LP_INK_PLAIN,
                      "%s%llu other attempt%s here with %llu file%s not shown: --attempt list",
                      files > page->report->header.processes ? "WARNING: " : "", (unsigned long long)others,
                      others == 1 ? "" : "s", (unsigned long long)files, files == 1 ? "" : "s");
}

static void span(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    if (!header->processes) return;
    if (isnan(header->span_ns))
        lp__page_sentence(page, 0, "", LP_INK_WARN,
                          "WARNING: the run's start and end make no duration (a clock was set back); times of phases "
                          "come from another clock and are right");
    else if (header->span_across_hosts && header->host_count > 1)
        lp__page_sentence(
            page, 0, "", LP_INK_FAINT,
            "The runtime is taken from the wall clocks of several hosts; all other times are of one host");
}

static void bad_files(struct lp_page *page)
{
    size_t bad = page->report->run->bad_count;
    if (!bad) return;
    lp__page_sentence(page, 0, "", LP_INK_WARN, "WARNING: %zu file%s not read and in no figure; named under CAVEATS",
                      bad, bad == 1 ? "" : "s");
}

static void emptiness(struct lp_page *page)
{
    const struct lp_report *report = page->report;
    size_t nothing = report->header.verdicts[LP_VERDICT_NOTHING];
    if (!report->header.processes)
        lp__page_sentence(page, 0, "", LP_INK_WARN, "Nothing to report: no worker file of %.300s could be read.",
                          report->header.directory);
    else if (nothing == report->header.processes)
        lp__page_sentence(page, 0, "", LP_INK_WARN,
                          "Nothing to report: %zu process%s started and recorded no phase and no counter.", nothing,
                          nothing == 1 ? "" : "es");
}

void lp__page_header(struct lp_page *page)
{
    const struct lp_report_header *header = &page->report->header;
    char runtime[LP_FMT_CAP], processes[LP_FMT_CAP];
    lp__page_block(page);
    emptiness(page);
    lp__page_flow(page, "", "Runtime %s", lp__fmt_duration(runtime, sizeof runtime, header->span_ns));
    lp__page_flow(page, "   ", "Processes %s", lp__fmt_count(processes, sizeof processes, header->processes));
    roles(page);
    lp__page_flow_end(page);
    hosts(page);
    run_name(page);
    source(page);
    lp__page_flow_end(page);
    verdicts(page);
    lp__page_flow_end(page);
    clocks(page);
    lp__page_flow_end(page);
    if (header->processes) cost(page);
    lp__page_flow_end(page);
    span(page);
    missing_ranks(page);
    bad_files(page);
    other_attempts(page);
}
