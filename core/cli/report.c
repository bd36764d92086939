/* `report`: where the time of a run went, as text or JSON; and the list of a directory's attempts. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "analyse/report.h"
#include "base/fmt.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/term.h"
#include "os/clock.h"
#include "os/console.h"
#include "render/escape.h"
#include "render/lines.h"

static bool wants_json(const struct lp_cli *cli)
{
    const char *format = cli->args.value[LP_OPT_FORMAT];
    return lp__args_has(&cli->args, LP_OPT_JSON) || (format && strcmp(format, "json") == 0);
}

static bool goes_to_stdout(const struct lp_cli *cli)
{
    const char *path = cli->args.value[LP_OPT_OUTPUT];
    return !path || strcmp(path, "-") == 0;
}

static void text_options(const struct lp_cli *cli, struct lp_text_options *options)
{
    unsigned columns = 0, rows = 0;
    if (goes_to_stdout(cli)) lp__term_size(LP_STDOUT, lp__term_env, NULL, &columns, &rows);
    memset(options, 0, sizeof *options);
    options->width = lp__args_count(&cli->args, LP_OPT_WIDTH, columns);
    options->color = lp__term_color(cli->args.value[LP_OPT_COLOR],
                                    goes_to_stdout(cli) && lp__console_is_terminal(LP_STDOUT), lp__term_env, NULL);
    options->utf8 = cli->utf8;
    options->wide = lp__args_has(&cli->args, LP_OPT_WIDE);
}

/* -- --attempt list ---------------------------------------------------------------------------------------------- */

static void list_text(const struct lp_cli *cli, const struct lp_run *run, struct lp_buf *out)
{
    char started[32], written[32], files[LP_FMT_CAP];
    lp__buf_addf(out, "  %-24s %6s  %-19s  %s\n", "ATTEMPT", "FILES", "STARTED", "LAST WRITE");
    for (size_t i = 0; i < run->attempt_count; i++) {
        const struct lp_run_attempt *attempt = &run->attempts[i];
        lp__buf_adds(out, attempt->chosen ? "* " : "  ");
        size_t columns = lp__escape_label(out, attempt->id, strlen(attempt->id), 60, cli->utf8);
        lp__buf_pad(out, ' ', columns < 24 ? 24 - columns : 0);
        lp__buf_addf(out, " %6s  %-19s  %s\n", lp__fmt_count(files, sizeof files, attempt->files),
                     lp__when(started, attempt->started_real_ns), lp__when(written, attempt->last_real_ns));
    }
    lp__buf_adds(out, "\n* is what report shows; another one: --attempt ID\n");
}

static void list_json(const struct lp_run *run, struct lp_buf *out)
{
    struct lp_json json;
    lp__json_init(&json, out, 2);
    lp__json_open(&json, '{');
    lp__json_key(&json, "schema");
    lp__json_u64(&json, 1);
    lp__json_key(&json, "attempts");
    lp__json_open(&json, '[');
    for (size_t i = 0; i < run->attempt_count; i++) {
        const struct lp_run_attempt *attempt = &run->attempts[i];
        lp__json_open(&json, '{');
        lp__json_key(&json, "id");
        lp__json_text(&json, attempt->id);
        lp__json_key(&json, "files");
        lp__json_u64(&json, attempt->files);
        lp__json_key(&json, "started_at");
        lp__json_double(&json, attempt->started_real_ns / 1e9, 3);
        lp__json_key(&json, "written_at");
        lp__json_double(&json, attempt->last_real_ns / 1e9, 3);
        lp__json_key(&json, "chosen");
        lp__json_bool(&json, attempt->chosen);
        lp__json_close(&json, '}');
    }
    lp__json_close(&json, ']');
    lp__json_close(&json, '}');
    lp__buf_addc(out, '\n');
}

/* -- the report -------------------------------------------------------------------------------------------------- */

static int print_report(struct lp_cli *cli, const struct lp_run *run, struct lp_buf *out)
{
    const struct lp_args *args = &cli->args;
    struct lp_report_options options = {0};
    struct lp_report *report = NULL;
    struct lp_line_report *lines = NULL;
    struct lp_error err = {0};
    options.top = lp__args_count(args, LP_OPT_TOP, LP_REPORT_TOP_DEFAULT);
    if (args->value[LP_OPT_SORT] && !lp__report_sort_parse(args->value[LP_OPT_SORT], &options.sort))
        return LP_EXIT_USAGE; /* the parser lets none through */
    options.role = args->value[LP_OPT_ROLE];
    options.workers = lp__args_has(args, LP_OPT_WORKERS);
    options.now_real_ns = (double)lp__real_ns();
    int rc = lp__report_build(run, &options, &report, &err);
    if (!rc) rc = lp__lines_build(run, &lines, &err);
    if (!rc && wants_json(cli))
        lp__render_json_with(report, lines, out);
    else if (!rc) {
        struct lp_text_options text;
        text_options(cli, &text);
        lp__render_text_with(report, lines, &text, out);
    }
    lp__lines_free(lines);
    lp__report_free(report);
    return rc ? lp__say_error(cli, &err) : LP_EXIT_OK;
}

static int run_report(struct lp_cli *cli)
{
    struct lp_run_options options;
    struct lp_run *run = NULL;
    struct lp_buf out;
    lp__run_options(cli, &options);
    bool list = options.attempt && strcmp(options.attempt, "list") == 0;
    if (list) options.attempt = NULL;
    options.lines = !list;
    options.keep_process_trees = lp__args_has(&cli->args, LP_OPT_WORKERS) && wants_json(cli);
    int status = lp__cli_load(cli, lp__run_dir(cli), &options, &run);
    if (status != LP_EXIT_OK) return status;
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    if (!list)
        status = print_report(cli, run, &out);
    else if (wants_json(cli))
        list_json(run, &out);
    else
        list_text(cli, run, &out);
    if (status == LP_EXIT_OK) status = lp__emit(cli, cli->args.value[LP_OPT_OUTPUT], &out);
    lp__buf_release(&out);
    lp__run_free(run);
    return status;
}

static const enum lp_option_id options[] = {
    LP_OPT_FORMAT, LP_OPT_OUTPUT, LP_OPT_ATTEMPT,   LP_OPT_RANKS,     LP_OPT_ROLES,      LP_OPT_HOSTS,
    LP_OPT_ROLE,   LP_OPT_TOP,    LP_OPT_SORT,      LP_OPT_WIDE,      LP_OPT_WORKERS,    LP_OPT_COLOR,
    LP_OPT_WIDTH,  LP_OPT_JSON,   LP_OPT_ANY_OWNER, LP_OPT_READ_ONLY, LP_OPT_NO_SAMPLES, LP_OPT_NONE};

const struct lp_command lp__command_report = {
    .name = "report",
    .summary = "where the time of a run went, and who was slow",
    .operands = "[RUN_DIR]",
    .operand_max = 1,
    .about =
        "Prints the report of a run: per role the phases that took the time, counters, iterations and workers. The "
        "run may be finished, still running or killed. Without RUN_DIR it is LINEPROFILER_RUN_DIR, else ./profile.",
    .options = options,
    .run = run_report,
};
