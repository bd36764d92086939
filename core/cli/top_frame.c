/* Draws the header, a table of phases per role and the workers that need a look.  Figures come from the report as they
 * are; only the rate since the frame before is made here. */
// SPDX-License-Identifier: MIT
#include "cli/top_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/step.h"
#include "render/escape.h"

#define WORKERS_SHOWN  8u
#define PATH_CAP       4096u
#define FIGURE_COLUMNS 62u /* " ENTRIES … NOW" */

struct drawing {
    const struct lp_report *report;
    const struct lp_top_frame *frame;
    struct lp_buf *out;
    struct lp_map now; /* entries by phase */
    unsigned lines;
};

static const char *dash(const struct drawing *drawing)
{
    return drawing->frame->utf8 ? " \xc2\xb7 " : " - ";
}

static void style(struct drawing *drawing, const char *code)
{
    if (drawing->frame->color) lp__buf_addf(drawing->out, "\x1b[%sm", code);
}

static void end_line(struct drawing *drawing)
{
    lp__buf_addc(drawing->out, '\n');
    drawing->lines++;
}

/* Is there room for `lines` more, the hint at the bottom left free? */
static bool fits(const struct drawing *drawing, unsigned lines)
{
    unsigned bottom = drawing->frame->hint ? 2 : 0;
    return !drawing->frame->rows || drawing->lines + lines + bottom <= drawing->frame->rows;
}

/* -- header ------------------------------------------------------------------------------------------------------ */

static void draw_head(struct drawing *drawing)
{
    const struct lp_report_header *header = &drawing->report->header;
    struct lp_buf *out = drawing->out;
    char span[LP_FMT_CAP], count[LP_FMT_CAP];
    const char *lead = ": ";
    style(drawing, "1");
    lp__escape_label(out, header->directory, strlen(header->directory), 40, drawing->frame->utf8);
    style(drawing, "0");
    lp__buf_adds(out, dash(drawing));
    lp__escape_label(out, header->attempt, strlen(header->attempt), 40, drawing->frame->utf8);
    lp__buf_addf(out, "%s%s", dash(drawing), lp__fmt_duration(span, sizeof span, header->span_ns));
    end_line(drawing);
    lp__buf_addf(out, "%s worker%s", lp__fmt_count(count, sizeof count, header->processes),
                 header->processes == 1 ? "" : "s");
    for (unsigned i = 0; i < LP_REPORT_VERDICTS; i++) {
        if (!header->verdicts[i]) continue;
        lp__buf_addf(out, "%s%u %s", lead, header->verdicts[i], lp__verdict_words((enum lp_verdict)i));
        lead = ", ";
    }
    lp__buf_addf(out, "%s%s entries", dash(drawing), lp__fmt_count(count, sizeof count, header->entries));
    if (!isnan(header->cost_share))
        lp__buf_addf(out, "%smeasuring cost %s", dash(drawing), lp__fmt_pct(count, sizeof count, header->cost_share));
    end_line(drawing);
}

/* -- phases ------------------------------------------------------------------------------------------------------ */

/* Names the same phase in every frame, whatever its index. */
static uint64_t phase_key(const struct lp_report_role *role, uint32_t index)
{
    const struct lp_report_phase *phases = role->tree.phases;
    uint64_t key = lp__hash_bytes(role->name, strlen(role->name));
    for (unsigned guard = 0; index != 0 && guard < LP_MAX_DEPTH; index = phases[index].parent, guard++)
        key = lp__hash_u64(key * 31 + lp__hash_bytes(phases[index].name.bytes, phases[index].name.len));
    return key;
}

/* "a/b/c", of a deep path the last part that fits. */
static size_t phase_path(const struct lp_report_tree *tree, uint32_t index, char out[PATH_CAP])
{
    size_t at = PATH_CAP;
    for (; index != 0; index = tree->phases[index].parent) {
        struct lp_text name = tree->phases[index].name;
        if (at != PATH_CAP) out[--at] = '/';
        at = lp__step_put_before(out, at, name.bytes, name.len);
        if (!at) break;
    }
    memmove(out, out + at, PATH_CAP - at);
    return PATH_CAP - at;
}

static void draw_rate(struct drawing *drawing, const struct lp_report_role *role, uint32_t index)
{
    const struct lp_report_phase *phase = &role->tree.phases[index];
    uint64_t key = phase_key(role, index), before = 0;
    char rate[LP_FMT_CAP] = "";
    if (!drawing->frame->before) return;
    if (drawing->frame->since_ns > 0 && lp__map_get(drawing->frame->before, key, &before) && phase->entries >= before)
        lp__fmt_rate(rate, sizeof rate, (double)(phase->entries - before) / (drawing->frame->since_ns / 1e9));
    if (lp__map_put(&drawing->now, key, phase->entries) != LP_OK) return; /* no rate next time, which is no loss */
    lp__buf_addf(drawing->out, " %13s", rate);
}

static void draw_phase(struct drawing *drawing, const struct lp_report_role *role, uint32_t index, unsigned columns)
{
    const struct lp_report_phase *phase = &role->tree.phases[index];
    char path[PATH_CAP];
    char entries[LP_FMT_CAP], self[LP_FMT_CAP], share[LP_FMT_CAP], wait[LP_FMT_CAP], p50[LP_FMT_CAP], p99[LP_FMT_CAP];
    size_t len = phase_path(&role->tree, index, path);
    lp__buf_adds(drawing->out, phase->open ? "> " : "  ");
    size_t taken = lp__escape_label(drawing->out, path, len, columns - 2, drawing->frame->utf8);
    lp__buf_pad(drawing->out, ' ', columns - 2 - taken);
    lp__buf_addf(drawing->out, " %12s %9s %6s %6s %9s %9s", lp__fmt_count(entries, sizeof entries, phase->entries),
                 lp__fmt_duration(self, sizeof self, phase->self_ns),
                 lp__fmt_pct(share, sizeof share, role->phase_ns > 0 ? phase->self_ns / role->phase_ns : LP_NAN),
                 lp__fmt_pct(wait, sizeof wait, phase->wait_share), lp__fmt_duration(p50, sizeof p50, phase->p50_ns),
                 lp__fmt_duration(p99, sizeof p99, phase->p99_ns));
    draw_rate(drawing, role, index);
    end_line(drawing);
}

static void draw_role(struct drawing *drawing, const struct lp_report_role *role, unsigned columns)
{
    struct lp_buf *out = drawing->out;
    char head[64];
    int n = snprintf(head, sizeof head, " (%u process%s)", role->processes, role->processes == 1 ? "" : "es");
    size_t rest = columns - (n > 0 ? (size_t)n : 0);
    end_line(drawing);
    style(drawing, "1");
    size_t taken = lp__escape_label(out, role->name, strlen(role->name), rest, drawing->frame->utf8);
    lp__buf_adds(out, head);
    lp__buf_pad(out, ' ', rest - taken);
    lp__buf_addf(out, " %12s %9s %6s %6s %9s %9s", "ENTRIES", "SELF", "SHARE", "WAIT", "P50", "P99");
    if (drawing->frame->before) lp__buf_addf(out, " %13s", "NOW");
    style(drawing, "0");
    end_line(drawing);
    for (size_t i = 0; i < role->shown && fits(drawing, 1); i++)
        draw_phase(drawing, role, role->tree.order[i], columns);
    if (role->tree.order_count == 0 && fits(drawing, 1)) {
        lp__buf_adds(out, "  no phase yet");
        end_line(drawing);
    }
}

/* -- workers ----------------------------------------------------------------------------------------------------- */

static bool needs_a_look(const struct lp_run_process *process, int pass)
{
    bool lost = process->verdict == LP_VERDICT_KILLED || process->verdict == LP_VERDICT_STALE;
    return pass == 0 ? lost : process->verdict == LP_VERDICT_RUNNING;
}

static void draw_worker(struct drawing *drawing, const struct lp_run_process *process)
{
    struct lp_buf *out = drawing->out;
    double now = drawing->report->options.now_real_ns;
    char name[256], ago[LP_FMT_CAP], entries[LP_FMT_CAP];
    bool lost = process->verdict != LP_VERDICT_RUNNING;
    lp__worker_name(name, sizeof name, process);
    lp__buf_adds(out, "  ");
    size_t taken = lp__escape_label(out, name, strlen(name), 30, drawing->frame->utf8);
    lp__buf_pad(out, ' ', 30 - taken);
    style(drawing, lost ? "31" : "32");
    lp__buf_addf(out, " %-8s", lp__verdict_name(process->verdict));
    style(drawing, "0");
    lp__buf_addf(out, " %12s  ", lp__fmt_count(entries, sizeof entries, process->entries));
    if (lost && now > process->last_real_ns)
        lp__buf_addf(out, "last seen %s ago ", lp__fmt_duration(ago, sizeof ago, now - process->last_real_ns));
    if (process->killed_in[0]) {
        lp__buf_adds(out, "in ");
        lp__escape_label(out, process->killed_in, strlen(process->killed_in), 30, drawing->frame->utf8);
    }
    end_line(drawing);
}

static void draw_workers(struct drawing *drawing)
{
    const struct lp_report *report = drawing->report;
    unsigned shown = 0;
    size_t all = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < report->worker_count; i++) {
            const struct lp_run_process *process = report->workers[i].process;
            if (!needs_a_look(process, pass)) continue;
            all++;
            if (shown == WORKERS_SHOWN || !fits(drawing, shown ? 1 : 3)) continue;
            if (shown++ == 0) {
                end_line(drawing);
                style(drawing, "1");
                lp__buf_addf(drawing->out, "  %-30s %-8s %12s", "WORKERS", "", "ENTRIES");
                style(drawing, "0");
                end_line(drawing);
            }
            draw_worker(drawing, process);
        }
    }
    if (shown && all > shown && fits(drawing, 1)) {
        lp__buf_addf(drawing->out, "  and %zu more", all - shown);
        end_line(drawing);
    }
}

void lp__top_frame(const struct lp_report *report, const struct lp_top_frame *frame, struct lp_buf *out)
{
    struct drawing drawing = {.report = report, .frame = frame, .out = out};
    unsigned figures = FIGURE_COLUMNS - 5 + (frame->before ? 14 : 0);
    unsigned columns = frame->width > figures + 20 ? frame->width - figures : 20;
    lp__map_init(&drawing.now);
    draw_head(&drawing);
    for (size_t i = 0; i < report->role_count && fits(&drawing, 3); i++)
        draw_role(&drawing, &report->roles[i], columns);
    if (report->role_count == 0) {
        end_line(&drawing);
        lp__buf_adds(out, "nothing could be read here yet (info says more)");
        end_line(&drawing);
    }
    draw_workers(&drawing);
    if (frame->hint) {
        end_line(&drawing);
        lp__buf_adds(out, frame->hint);
    }
    if (!frame->before) return;
    lp__map_release(frame->before);
    *frame->before = drawing.now;
}
