/* What the reader of a number must know, as sentences: files not read, workers that died, things not recorded.  One
 * note per file, worker or reason; renderers bound how many they show and say how many more there are. */
// SPDX-License-Identifier: MIT
#include "analyse/parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "os/clock.h"

struct writer {
    struct lp_report *report;
    size_t cap;
    bool failed;
};

static const char *keep(struct writer *writer, const char *text)
{
    const char *copy = lp__arena_copy(&writer->report->arena, text, strlen(text));
    if (!copy) writer->failed = true;
    return copy ? copy : "";
}

static bool grow(struct writer *writer)
{
    struct lp_report *report = writer->report;
    size_t cap = writer->cap ? writer->cap * 2 : 32;
    struct lp_report_note *notes = lp__arena_alloc(&report->arena, cap * sizeof *notes);
    writer->failed |= !notes;
    if (!notes) return false;
    if (report->note_count) memcpy(notes, report->notes, report->note_count * sizeof *notes);
    report->notes = notes;
    writer->cap = cap;
    return true;
}

__attribute__((format(printf, 6, 7))) static void note(struct writer *writer, enum lp_note_kind kind, uint32_t role,
                                                       const char *about, uint64_t count, const char *format, ...)
{
    char text[512];
    va_list args;
    if (writer->report->note_count == writer->cap && !grow(writer)) return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    writer->report->notes[writer->report->note_count++] =
        (struct lp_report_note){kind, role, keep(writer, about), count, keep(writer, text)};
}

static void note_files(struct writer *writer)
{
    const struct lp_run *run = writer->report->run;
    for (size_t i = 0; i < run->bad_count; i++) {
        const struct lp_run_bad_file *bad = &run->bad[i];
        const char *detail = bad->detail ? bad->detail : "";
        note(writer, LP_NOTE_UNREADABLE, UINT32_MAX, bad->path, 0, "not read: %.200s (%s%s%.200s)", bad->path,
             lp__err_message(bad->code), detail[0] ? ": " : "", detail);
    }
    if (run->listing_truncated)
        note(writer, LP_NOTE_UNREADABLE, UINT32_MAX, "", 0, "not all files were looked at: there are too many");
    if (run->own_folders)
        note(writer, LP_NOTE_OWNER, UINT32_MAX, "", 0,
             "some workers belong to users who do not own the directory; they are recorded below user-<uid>");
}

static void note_attempts(struct writer *writer)
{
    const struct lp_run *run = writer->report->run;
    for (size_t i = 0; i < run->attempt_count; i++) {
        const struct lp_run_attempt *attempt = &run->attempts[i];
        if (attempt->chosen) continue;
        note(writer, LP_NOTE_SUPERSEDED, UINT32_MAX, attempt->id, attempt->files,
             "attempt %.120s (%u file%s) is not shown; --attempt %.120s shows it, --attempt all shows every one",
             attempt->id, attempt->files, attempt->files == 1 ? "" : "s", attempt->id);
    }
}

static void note_ranks(struct writer *writer)
{
    const struct lp_run *run = writer->report->run;
    for (size_t i = 0; i < run->missing_count; i++) {
        char rank[24];
        (void)snprintf(rank, sizeof rank, "%lld", (long long)run->missing_ranks[i]);
        note(writer, LP_NOTE_MISSING_RANK, UINT32_MAX, rank, 0, "rank %s of %lld left no file", rank,
             (long long)run->world_size);
    }
}

static const char *last_seen(char *out, size_t cap, double ago_ns)
{
    char duration[LP_FMT_CAP];
    if (!(ago_ns > 0 && ago_ns < 1e18)) return "long ago"; /* now is not known, or the clocks disagree */
    (void)snprintf(out, cap, "%s ago", lp__fmt_duration(duration, sizeof duration, ago_ns));
    return out;
}

static void note_death(struct writer *writer, const struct lp_report_worker *worker, const char *name)
{
    const struct lp_run_process *process = worker->process;
    const char *in = process->killed_in && process->killed_in[0] ? process->killed_in : NULL;
    char ago[LP_FMT_CAP + 8];
    if (process->verdict == LP_VERDICT_KILLED)
        note(writer, LP_NOTE_KILLED, worker->role, name, 0, "%s was killed%s%.200s", name, in ? " in " : "",
             in ? in : "");
    if (process->verdict == LP_VERDICT_NOTHING)
        note(writer, LP_NOTE_NOTHING, worker->role, name, 0, "%s started and recorded nothing: %.200s is empty", name,
             process->path);
    if (process->verdict == LP_VERDICT_STALE)
        note(writer, LP_NOTE_STALE, worker->role, name, 0,
             "%s was last heard of %s and cannot be asked; it may have died%s%.200s", name,
             last_seen(ago, sizeof ago, writer->report->options.now_real_ns - process->last_real_ns), in ? " in " : "",
             in ? in : "");
}

static const char *refusal(int32_t number, char *out, size_t cap)
{
    switch (number) {
    case ENOSPC:
        return "no space left on the device";
    case EDQUOT:
        return "the quota is used up";
    case EFBIG:
        return "the limit on file sizes";
    case ENOMEM:
        return "no memory";
    default:
        (void)snprintf(out, cap, "errno %d", number);
        return out;
    }
}

static void note_store(struct writer *writer, const struct lp_report_worker *worker, const char *name)
{
    const struct lp_run_process *process = worker->process;
    char number[32];
    if (process->write_failures)
        note(writer, LP_NOTE_WRITES, worker->role, name, process->write_failures,
             "%s: %llu failed write%s; what it recorded after the last good one may be missing", name,
             (unsigned long long)process->write_failures, process->write_failures == 1 ? "" : "s");
    if (process->grow_errno)
        note(writer, LP_NOTE_WRITES, worker->role, name, 0, "%s: its store was refused more space: %s", name,
             refusal(process->grow_errno, number, sizeof number));
    if (process->clock_stepped)
        note(writer, LP_NOTE_CLOCK, worker->role, name, 0,
             "%s: its clock jumped (suspend or migration); times across the jump are off", name);
    if (process->conflicts && process->conflicts[0])
        note(writer, LP_NOTE_LAUNCH, worker->role, name, 0, "%s: launcher variables disagree: %.200s", name,
             process->conflicts);
}

static void note_damage(struct writer *writer, const struct lp_report_worker *worker, const char *name)
{
    const struct lp_run_process *process = worker->process;
    if (process->damaged || process->truncated)
        note(writer, LP_NOTE_DAMAGED, worker->role, process->path, process->damaged_segments,
             "%.200s is %s; its figures are what could be read", process->path,
             process->truncated ? "cut short" : "damaged");
    if (process->damaged_nodes)
        note(writer, LP_NOTE_DAMAGED, worker->role, process->path, process->damaged_nodes,
             "%.200s: %llu phase%s lost their place or their numbers; what is left of them is below (damaged)",
             process->path, (unsigned long long)process->damaged_nodes, process->damaged_nodes == 1 ? "" : "s");
    if (process->newer_segments)
        note(writer, LP_NOTE_DAMAGED, worker->role, process->path, process->newer_segments,
             "%.200s holds parts that a newer version wrote; they are left out", process->path);
    if (process->torn_threads)
        note(writer, LP_NOTE_TORN, worker->role, name, process->torn_threads,
             "%s died while booking an entry on %u thread%s; that entry is missing or half there", name,
             process->torn_threads, process->torn_threads == 1 ? "" : "s");
}

static void note_workers(struct writer *writer)
{
    const struct lp_report *report = writer->report;
    for (size_t i = 0; i < report->worker_count; i++) {
        char name[256];
        lp__worker_name(name, sizeof name, report->workers[i].process);
        note_death(writer, &report->workers[i], name);
        note_store(writer, &report->workers[i], name);
        note_damage(writer, &report->workers[i], name);
    }
}

/* Facts that most workers share are told once, with how many share them. */
enum { SHARE_WALL_REFUSED, SHARE_CPU_REFUSED, SHARE_CPU_NONE, SHARE_GUESSED, SHARE_PLACE, SHARE_INFERRED, SHARE_KINDS };

static const enum lp_note_kind share_notes[SHARE_KINDS] = {
    LP_NOTE_CLOCK, LP_NOTE_CLOCK, LP_NOTE_CLOCK, LP_NOTE_CLOCK, LP_NOTE_STORE, LP_NOTE_SUSPENSIONS,
};

/* Why the stops were inferred follows from the interpreter. */
static const char *exact_remedy(const char *python)
{
    if (strncmp(python, "3.11", 4) == 0 && !(python[4] >= '0' && python[4] <= '9'))
        return "LINEPROFILER_EXACT_ASYNC=1 measures them, and makes calls up to a third slower";
    if (strncmp(python, "3.10", 4) == 0) return "another tool's frame hook stood in the way";
    return "other tools held the numbers 3 to 5 of sys.monitoring, of which one must be free";
}

static void place_text(const struct lp_run_process *process, char *out, size_t cap)
{
    const char *why = process->why_not_run_dir ? process->why_not_run_dir : "";
    char seconds[LP_FMT_CAP];
    (void)snprintf(
        out, cap, "recorded in %s and copied to the run directory every %s s, so a kill loses what is newer%s%.120s",
        process->place == LP_PLACE_SHM ? "shared memory" : "memory",
        lp__fmt_fixed(seconds, sizeof seconds, process->copy_interval_ms / 1000.0, 1), why[0] ? "; " : "", why);
}

static size_t shared_text(const struct lp_run_process *process, int kind, char *out, size_t cap)
{
    bool recorded = process->verdict != LP_VERDICT_NOTHING;
    out[0] = 0;
    if (!recorded) return 0;
    if (kind == SHARE_WALL_REFUSED && process->wall_refused && process->wall_refused[0])
        (void)snprintf(out, cap, "a faster wall clock was refused: %.200s", process->wall_refused);
    if (kind == SHARE_CPU_REFUSED && process->cpu_refused && process->cpu_refused[0])
        (void)snprintf(out, cap, "a faster CPU clock was refused: %.200s", process->cpu_refused);
    if (kind == SHARE_CPU_NONE && process->cpu_clock == LP_CPU_NONE)
        (void)snprintf(out, cap, "no CPU time was measured, so wait is not known");
    if (kind == SHARE_GUESSED && process->clock_guessed)
        (void)snprintf(out, cap, "ended before its clock could be compared; its times may be a little off");
    if (kind == SHARE_INFERRED && strcmp(process->suspensions, "inferred") == 0)
        (void)snprintf(out, cap,
                       "it was only inferred when coroutines and generators stop, so CPU, wait and suspended time of "
                       "phases in them are not measured; %s",
                       exact_remedy(process->python));
    if (kind == SHARE_PLACE && process->place != LP_PLACE_RUN_DIR) place_text(process, out, cap);
    return strlen(out);
}

static void note_shared(struct writer *writer, int kind)
{
    struct lp_report *report = writer->report;
    struct lp_intern seen;
    uint64_t counts[8] = {0};
    lp__intern_init(&seen, &report->arena);
    for (size_t i = 0; i < report->worker_count; i++) {
        char text[400];
        uint32_t id = 0;
        size_t len = shared_text(report->workers[i].process, kind, text, sizeof text);
        if (!len) continue;
        if (seen.count >= 8 && !lp__intern_find(&seen, text, len, &id)) continue;
        if (lp__intern_add(&seen, text, len, &id) != LP_OK) writer->failed = true;
        if (!writer->failed) counts[id]++;
    }
    for (size_t id = 0; id < seen.count; id++)
        note(writer, share_notes[kind], UINT32_MAX, "", counts[id], "%llu of %zu process%s: %s",
             (unsigned long long)counts[id], report->worker_count, report->worker_count == 1 ? "" : "es",
             seen.texts[id].bytes);
    lp__intern_release(&seen);
}

/* Each says first what happened, then what it means for the figures above it. */
static const char *drop_words(unsigned drop)
{
    static const char *const words[LP_DROP_COUNT] = {
        [LP_DROP_END_WITHOUT_BEGIN] = "ends without an open entry, ignored",
        [LP_DROP_END_OUT_OF_ORDER] = "entries ended before later ones did; their times are right",
        [LP_DROP_END_INHERITED] = "entries of the parent process ended in a forked child, ignored there",
        [LP_DROP_END_FOREIGN] = "entries ended by another thread than began them; timed, without CPU time",
        [LP_DROP_LEFT_OPEN] = "entries never ended; they end where their object died",
        [LP_DROP_STALE_OWNER] = "suspended frames vanished with entries open; time kept, place uncertain",
        [LP_DROP_FOLDED] = "entries beyond the ceiling on paths; they are in (folded)",
        [LP_DROP_NO_SPACE] = "entries NOT recorded: the store could not grow; their time is in the parent's self",
        [LP_DROP_COUNTER_NO_SPACE] = "counts NOT recorded: the store could not grow; totals are too low by them",
        [LP_DROP_HIST_NO_SPACE] = "entries missing from the percentiles only: the store could not grow",
        [LP_DROP_WARNING] = "warnings that the program turns into errors, swallowed",
        [LP_DROP_HOOK] = "interpreter hooks failed and were disarmed; suspended time after that is not known",
        [LP_DROP_LINES_NO_SPACE] = "calls whose lines were NOT recorded: the store could not grow",
        [LP_DROP_LINES_LOST] = "line events NOT counted: their frame had no place",
    };
    return words[drop];
}

static void note_drops(struct writer *writer)
{
    const struct lp_report *report = writer->report;
    for (uint32_t role = 0; role < report->role_count; role++) {
        for (unsigned k = 0; k < LP_DROP_COUNT; k++) {
            char count[LP_FMT_CAP];
            uint64_t n = report->roles[role].drops[k];
            const char *name = lp__drop_name((enum lp_drop)k);
            if (!n) continue;
            note(writer, LP_NOTE_DROP, role, name ? name : "unknown", n, "%s %s", lp__fmt_count(count, sizeof count, n),
                 drop_words(k) ? drop_words(k) : "drops of a kind that this version does not know");
        }
    }
}

int lp__report_notes(struct lp_report *report)
{
    struct writer writer = {report, 0, false};
    note_files(&writer);
    note_attempts(&writer);
    note_ranks(&writer);
    note_workers(&writer);
    for (int kind = 0; kind < SHARE_KINDS; kind++)
        note_shared(&writer, kind);
    note_drops(&writer);
    return writer.failed ? LP_ERR_NO_MEMORY : LP_OK;
}
