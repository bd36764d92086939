/* `info`: what is in a run directory, file by file, and which of it a report would use. */
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "analyse/report.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/inventory.h"
#include "cli/load.h"
#include "cli/output.h"
#include "os/dir.h"
#include "os/file.h"
#include "render/escape.h"
#include "store/layout.h"

#define FILES_SHOWN   20u
#define LABEL_COLUMNS 200u

static void label(const struct lp_cli *cli, struct lp_buf *out, const char *text, size_t columns)
{
    size_t taken = lp__escape_label(out, text, strlen(text), LABEL_COLUMNS, cli->utf8);
    lp__buf_pad(out, ' ', taken < columns ? columns - taken : 0);
}

static const char *store_words(enum lp_fs_kind kind)
{
    switch (kind) {
    case LP_FS_MAPPABLE:
        return "worker files can be mapped there, so a kill costs nothing";
    case LP_FS_NETWORK:
        return "a network file system: workers keep their data elsewhere and copy them here";
    case LP_FS_COPY_ON_WRITE:
        return "copy on write: workers keep their data elsewhere and copy them here";
    case LP_FS_UNKNOWN:
        break;
    }
    return "not known to reserve space: workers keep their data elsewhere and copy them here";
}

/* -- text -------------------------------------------------------------------------------------------------------- */

static void text_head(const struct lp_cli *cli, const struct lp_inventory *inventory, struct lp_buf *out)
{
    char files[LP_FMT_CAP], bytes[LP_FMT_CAP];
    const char *fs_name = "unknown";
    enum lp_fs_kind kind = lp__fs_kind(inventory->dir_fd, &fs_name);
    lp__buf_adds(out, "Run directory  ");
    label(cli, out, inventory->dir, 0);
    lp__buf_addf(out, "\nFile system    %s: %s\n", fs_name, store_words(kind));
    lp__buf_addf(out, "Owner          uid %u%s\n", (unsigned)inventory->list.owner,
                 inventory->list.owner == lp__effective_user() ? " (you)" : "");
    lp__buf_addf(out, "Worker files   %s, %s, format %u\n", lp__fmt_count(files, sizeof files, inventory->list.count),
                 lp__fmt_bytes(bytes, sizeof bytes, (double)inventory->bytes), LP_FILE_VERSION);
    if (inventory->list.truncated) lp__buf_adds(out, "               there are more files than are looked at\n");
}

static void text_verdicts(const struct lp_inventory *inventory, const char *attempt, struct lp_buf *out)
{
    uint32_t counts[LP_REPORT_VERDICTS];
    const char *lead = "";
    lp__inventory_verdicts(inventory, attempt, counts);
    for (unsigned i = 0; i < LP_REPORT_VERDICTS; i++) {
        if (!counts[i]) continue;
        lp__buf_addf(out, "%s%u %s", lead, counts[i], lp__verdict_words((enum lp_verdict)i));
        lead = ", ";
    }
}

static void text_attempts(const struct lp_cli *cli, const struct lp_inventory *inventory, struct lp_buf *out)
{
    const struct lp_run *run = inventory->run;
    char when[32], ran[LP_FMT_CAP];
    lp__buf_addf(out, "\n  %-24s %6s  %-19s %8s  %s\n", "ATTEMPT", "FILES", "STARTED", "RAN", "WORKERS");
    for (size_t i = 0; i < run->attempt_count; i++) {
        const struct lp_run_attempt *attempt = &run->attempts[i];
        lp__buf_adds(out, i + 1 == run->attempt_count ? "* " : "  ");
        label(cli, out, attempt->id, 24);
        lp__buf_addf(out, " %6u  %-19s", attempt->files, lp__when(when, attempt->started_real_ns));
        lp__buf_addf(out, " %8s  ",
                     lp__fmt_duration(ran, sizeof ran, attempt->last_real_ns - attempt->started_real_ns));
        text_verdicts(inventory, attempt->id, out);
        lp__buf_addc(out, '\n');
    }
    if (run->attempt_count > 1) lp__buf_adds(out, "* is what report shows; another one: report --attempt ID\n");
}

static void text_file(const struct lp_cli *cli, const struct lp_inventory *inventory, size_t index, struct lp_buf *out)
{
    const struct lp_rundir_file *file = &inventory->list.files[index];
    const struct lp_run_process *process = lp__inventory_process(inventory, file);
    char bytes[LP_FMT_CAP], rank[32] = "-";
    if (!process) return; /* it stands among those that were not read */
    const char *python = process->python[0] ? process->python : process->verdict == LP_VERDICT_NOTHING ? "-" : "C";
    if (process->rank >= 0) lp__fmt_count(rank, sizeof rank, (uint64_t)process->rank);
    lp__buf_addf(out, "  %9s  %-9s %4s %8u  %-8s ", lp__fmt_bytes(bytes, sizeof bytes, (double)file->bytes),
                 lp__verdict_name(process->verdict), rank, process->pid, python);
    label(cli, out, process->role, 12);
    lp__buf_addc(out, ' ');
    label(cli, out, file->path, 0);
    lp__buf_addc(out, '\n');
}

static void text_files(const struct lp_cli *cli, const struct lp_inventory *inventory, struct lp_buf *out)
{
    size_t count = inventory->list.count;
    size_t shown = lp__args_has(&cli->args, LP_OPT_FILES) || count <= FILES_SHOWN ? count : FILES_SHOWN;
    char rest[LP_FMT_CAP];
    if (inventory->run->process_count == 0) return;
    lp__buf_addf(out, "\n  %9s  %-9s %4s %8s  %-8s %-12s %s\n", "SIZE", "WORKER", "RANK", "PID", "PYTHON", "ROLE",
                 "FILE");
    for (size_t i = 0; i < shown; i++)
        text_file(cli, inventory, i, out);
    if (shown < count)
        lp__buf_addf(out, "  and %s more (--files lists all)\n", lp__fmt_count(rest, sizeof rest, count - shown));
}

static void text_bad(const struct lp_cli *cli, const struct lp_inventory *inventory, struct lp_buf *out)
{
    const struct lp_run *run = inventory->run;
    if (run->bad_count) lp__buf_adds(out, "\n  NOT READ\n");
    for (size_t i = 0; i < run->bad_count; i++) {
        const struct lp_run_bad_file *bad = &run->bad[i];
        const char *detail = bad->detail ? bad->detail : "";
        lp__buf_adds(out, "  ");
        label(cli, out, bad->path, 0);
        lp__buf_addf(out, ": %s%s", lp__err_message(bad->code), *detail ? ": " : "");
        lp__escape_head(out, detail, strlen(detail), LABEL_COLUMNS, cli->utf8);
        lp__buf_addc(out, '\n');
    }
}

static void text(const struct lp_cli *cli, const struct lp_inventory *inventory, struct lp_buf *out)
{
    text_head(cli, inventory, out);
    if (inventory->run->attempt_count) text_attempts(cli, inventory, out);
    text_files(cli, inventory, out);
    text_bad(cli, inventory, out);
}

/* -- JSON -------------------------------------------------------------------------------------------------------- */

static void pair_text(struct lp_json *json, const char *key, const char *value)
{
    lp__json_key(json, key);
    lp__json_text(json, value);
}

static void pair_u64(struct lp_json *json, const char *key, uint64_t value)
{
    lp__json_key(json, key);
    lp__json_u64(json, value);
}

/* Negative: not known, which is null. */
static void pair_known(struct lp_json *json, const char *key, int64_t value)
{
    lp__json_key(json, key);
    if (value < 0)
        lp__json_null(json);
    else
        lp__json_i64(json, value);
}

static void pair_time(struct lp_json *json, const char *key, double real_ns)
{
    lp__json_key(json, key);
    lp__json_double(json, real_ns > 0 ? real_ns / 1e9 : LP_NAN, 3);
}

static void json_attempts(struct lp_json *json, const struct lp_run *run)
{
    lp__json_key(json, "attempts");
    lp__json_open(json, '[');
    for (size_t i = 0; i < run->attempt_count; i++) {
        const struct lp_run_attempt *attempt = &run->attempts[i];
        lp__json_open(json, '{');
        pair_text(json, "id", attempt->id);
        pair_u64(json, "files", attempt->files);
        pair_time(json, "started_at", attempt->started_real_ns);
        pair_time(json, "written_at", attempt->last_real_ns);
        lp__json_key(json, "newest");
        lp__json_bool(json, i + 1 == run->attempt_count);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void json_files(struct lp_json *json, const struct lp_inventory *inventory)
{
    lp__json_key(json, "files");
    lp__json_open(json, '[');
    for (size_t i = 0; i < inventory->list.count; i++) {
        const struct lp_rundir_file *file = &inventory->list.files[i];
        const struct lp_run_process *process = lp__inventory_process(inventory, file);
        if (!process) continue;
        lp__json_open(json, '{');
        pair_text(json, "file", file->path);
        pair_u64(json, "bytes", file->bytes);
        pair_text(json, "attempt", process->attempt);
        pair_text(json, "verdict", lp__verdict_name(process->verdict));
        pair_text(json, "host", process->host);
        pair_text(json, "role", process->role);
        pair_known(json, "rank", process->rank);
        pair_u64(json, "pid", process->pid);
        pair_text(json, "python", process->python[0] ? process->python : NULL);
        pair_u64(json, "entries", process->entries);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void json_bad(struct lp_json *json, const struct lp_run *run)
{
    lp__json_key(json, "unreadable");
    lp__json_open(json, '[');
    for (size_t i = 0; i < run->bad_count; i++) {
        lp__json_open(json, '{');
        pair_text(json, "file", run->bad[i].path);
        pair_text(json, "error", lp__err_slug(run->bad[i].code));
        pair_text(json, "detail", run->bad[i].detail ? run->bad[i].detail : "");
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
}

static void json(const struct lp_inventory *inventory, struct lp_buf *out)
{
    struct lp_json json;
    const char *fs_name = "unknown";
    enum lp_fs_kind kind = lp__fs_kind(inventory->dir_fd, &fs_name);
    lp__json_init(&json, out, 2);
    lp__json_open(&json, '{');
    pair_u64(&json, "schema", 1);
    pair_text(&json, "directory", inventory->dir);
    pair_text(&json, "file_system", fs_name);
    lp__json_key(&json, "mappable");
    lp__json_bool(&json, kind == LP_FS_MAPPABLE);
    pair_u64(&json, "owner", inventory->list.owner);
    pair_u64(&json, "format", LP_FILE_VERSION);
    pair_u64(&json, "bytes", inventory->bytes);
    json_attempts(&json, inventory->run);
    json_files(&json, inventory);
    json_bad(&json, inventory->run);
    lp__json_close(&json, '}');
    lp__buf_addc(out, '\n');
}

/* -- the command ------------------------------------------------------------------------------------------------- */

static int run_info(struct lp_cli *cli)
{
    struct lp_inventory inventory;
    struct lp_run_options selection;
    struct lp_buf out;
    const char *format = cli->args.value[LP_OPT_FORMAT];
    lp__run_options(cli, &selection);
    int status = lp__inventory_open(cli, &selection, &inventory);
    if (status != LP_EXIT_OK) return status;
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    if (lp__args_has(&cli->args, LP_OPT_JSON) || (format && strcmp(format, "json") == 0))
        json(&inventory, &out);
    else
        text(cli, &inventory, &out);
    status = lp__emit(cli, cli->args.value[LP_OPT_OUTPUT], &out);
    lp__buf_release(&out);
    lp__inventory_close(&inventory);
    return status;
}

static const enum lp_option_id options[] = {LP_OPT_FORMAT, LP_OPT_OUTPUT, LP_OPT_FILES,     LP_OPT_RANKS, LP_OPT_ROLES,
                                            LP_OPT_HOSTS,  LP_OPT_JSON,   LP_OPT_ANY_OWNER, LP_OPT_NONE};

const struct lp_command lp__command_info = {
    .name = "info",
    .summary = "what is in a run directory: attempts, workers, files",
    .operands = "[RUN_DIR]",
    .operand_max = 1,
    .about =
        "Lists what is in a run directory: its attempts, the file of each worker with its size and how the worker "
        "ended, and the files that cannot be read, with the reason. Without RUN_DIR it is LINEPROFILER_RUN_DIR, else "
        "./profile.",
    .options = options,
    .run = run_info,
};
