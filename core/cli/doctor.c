/* `doctor`: what this machine measures with and how well, and a self-test of each collector. */
// SPDX-License-Identifier: MIT
#include "cli/doctor.h"

#include <stdio.h>
#include <string.h>

#include "cli/load.h"
#include "cli/output.h"
#include "cli/term.h"
#include "cli/wrap.h"
#include "os/clock.h"
#include "os/console.h"
#include "render/escape.h"

#define NAME_COLUMNS  18u
#define VALUE_COLUMN  (2u + NAME_COLUMNS + 1u)
#define VALUE_COLUMNS 400u

/* -- lines ------------------------------------------------------------------------------------------------------- */

void lp__doctor_section(struct lp_doctor *doctor, const char *title)
{
    lp__buf_addf(&doctor->out, "%s%s%s%s\n", doctor->out.len ? "\n" : "", doctor->color ? "\x1b[1m" : "", title,
                 doctor->color ? "\x1b[0m" : "");
}

static void add_safe(struct lp_doctor *doctor, const char *text, size_t columns_before)
{
    struct lp_buf safe;
    lp__buf_init(&safe, 1 << 16);
    lp__escape_head(&safe, text, strlen(text), VALUE_COLUMNS, doctor->cli->utf8);
    lp__wrap(&doctor->out, safe.data ? safe.data : "", columns_before, VALUE_COLUMN);
    lp__buf_release(&safe);
}

static void line(struct lp_doctor *doctor, const char *name, const char *mark, const char *value, const char *meaning)
{
    lp__buf_adds(&doctor->out, "  ");
    size_t taken = lp__escape_label(&doctor->out, name, strlen(name), NAME_COLUMNS, doctor->cli->utf8);
    lp__buf_pad(&doctor->out, ' ', NAME_COLUMNS - taken + 1);
    lp__buf_adds(&doctor->out, mark);
    add_safe(doctor, value, VALUE_COLUMN + (mark[0] ? 8 : 0));
    if (!meaning[0]) return;
    lp__buf_pad(&doctor->out, ' ', VALUE_COLUMN);
    if (doctor->color) lp__buf_adds(&doctor->out, "\x1b[2m");
    add_safe(doctor, meaning, VALUE_COLUMN);
    if (doctor->color) lp__buf_adds(&doctor->out, "\x1b[0m");
}

void lp__doctor_fact(struct lp_doctor *doctor, const char *name, const char *value, const char *meaning)
{
    line(doctor, name, "", value, meaning);
}

void lp__doctor_check(struct lp_doctor *doctor, const char *name, bool passed, const char *value, const char *meaning)
{
    const char *mark = passed ? (doctor->color ? "\x1b[32mok\x1b[0m      " : "ok      ")
                              : (doctor->color ? "\x1b[31mBROKEN\x1b[0m  " : "BROKEN  ");
    doctor->checks++;
    line(doctor, name, mark, value, meaning);
    if (passed) return;
    doctor->broken++;
    size_t len = strlen(doctor->broken_names);
    (void)snprintf(doctor->broken_names + len, sizeof doctor->broken_names - len, "%s%s", len ? ", " : "", name);
}

/* -- sections ---------------------------------------------------------------------------------------------------- */

static void add_host_line(void *sink, const struct lp_cli_line *host_line)
{
    const char *meaning = host_line->meaning ? host_line->meaning : "";
    if (host_line->passed < 0)
        lp__doctor_fact(sink, host_line->name, host_line->value, meaning);
    else
        lp__doctor_check(sink, host_line->name, host_line->passed != 0, host_line->value, meaning);
}

static void host(struct lp_doctor *doctor)
{
    const struct lp_cli_host *who = doctor->cli->host;
    if (!who || !who->doctor_lines) {
        lp__doctor_section(doctor, "Python");
        lp__doctor_fact(doctor, "interpreter", "none: this is the native program",
                        "python -m lineprofiler doctor tells about an interpreter and its package");
        return;
    }
    lp__doctor_section(doctor, who->name);
    who->doctor_lines(who->arg, add_host_line, doctor);
}

static void selftests(struct lp_doctor *doctor, const struct lp_selftest_parts *parts)
{
    struct lp_selftest_result results[LP_SELFTEST_COUNT];
    struct lp_error err = {0};
    lp__doctor_section(doctor, "Self-test");
    if (lp__selftest(parts, results, &err) != LP_OK) {
        lp__doctor_check(doctor, "temporary folder", false, err.detail, "no collector could be tried (set TMPDIR)");
        return;
    }
    for (size_t i = 0; i < LP_SELFTEST_COUNT; i++) {
        const struct lp_selftest_result *result = &results[i];
        if (result->outcome == LP_SELFTEST_UNMEASURED)
            lp__doctor_fact(doctor, result->name, result->detail, "");
        else
            lp__doctor_check(doctor, result->name, result->outcome == LP_SELFTEST_PASSED, result->detail,
                             result->outcome == LP_SELFTEST_PASSED ? result->meaning
                                                                   : "its figures cannot be trusted here");
    }
}

int lp__doctor_run(struct lp_cli *cli, const struct lp_selftest_parts *parts)
{
    struct lp_doctor doctor = {.cli = cli};
    doctor.color =
        lp__term_color(cli->args.value[LP_OPT_COLOR], lp__console_is_terminal(LP_STDOUT), lp__term_env, NULL);
    lp__buf_init(&doctor.out, LP_OUTPUT_CEILING);
    lp__clock_init(false);
    lp__doctor_clocks(&doctor);
    lp__doctor_store(&doctor, lp__run_dir(cli));
    lp__doctor_machine(&doctor);
    lp__doctor_environment(&doctor);
    host(&doctor);
    selftests(&doctor, parts);
    if (doctor.broken == 0) lp__buf_addf(&doctor.out, "\nAll %u checks passed.\n", doctor.checks);
    int status = lp__emit(cli, NULL, &doctor.out);
    lp__buf_release(&doctor.out);
    if (status == LP_EXIT_OK && doctor.broken) {
        lp__say(cli, "doctor: broken here: %s (do not trust what it measures; please report this output)",
                doctor.broken_names);
        status = LP_EXIT_FAILED;
    }
    return status;
}

static int run_doctor(struct lp_cli *cli)
{
    return lp__doctor_run(cli, &lp__selftest_parts);
}

static const enum lp_option_id options[] = {LP_OPT_COLOR, LP_OPT_NONE};

const struct lp_command lp__command_doctor = {
    .name = "doctor",
    .summary = "what is measured here, with what, and whether it works",
    .operands = "[RUN_DIR]",
    .operand_max = 1,
    .about =
        "Shows the clocks and their cost, where the worker files of RUN_DIR would live, the limits of the machine, and "
        "the Python that runs it; then lets each collector record something known and reads it back. Each line says "
        "what it means for the numbers. Exit status 1 when a collector is broken.",
    .options = options,
    .run = run_doctor,
};
