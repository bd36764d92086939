/* `top`: a run as it goes, by reading its directory again and again.  The terminal is put right whatever ends it. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "analyse/report.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/term.h"
#include "cli/top_frame.h"
#include "os/clock.h"
#include "os/console.h"
#include "os/interrupt.h"

#define SCREEN_BEGIN "\x1b[?1049h\x1b[?25l" /* the alternate screen, no cursor */
#define SCREEN_END   "\x1b[?25h\x1b[?1049l"

struct top {
    struct lp_cli *cli;
    bool once;
    bool screen; /* drawn in place on a terminal */
    bool keys;
    double interval;
    uint64_t drawn_ns;
    struct lp_map before;
    struct lp_buf text;
};

/* -- one frame --------------------------------------------------------------------------------------------------- */

static void frame_options(struct top *top, struct lp_top_frame *frame)
{
    struct lp_cli *cli = top->cli;
    uint64_t now = lp__mono_ns();
    unsigned columns;
    memset(frame, 0, sizeof *frame);
    lp__term_size(LP_STDOUT, lp__term_env, NULL, &columns, &frame->rows);
    frame->width = lp__args_count(&cli->args, LP_OPT_WIDTH, columns ? columns : 80);
    if (!top->screen) frame->rows = 0;
    frame->color =
        lp__term_color(cli->args.value[LP_OPT_COLOR], lp__console_is_terminal(LP_STDOUT), lp__term_env, NULL);
    frame->utf8 = cli->utf8;
    if (top->screen) frame->hint = top->keys ? "q quits" : "Ctrl-C quits";
    if (top->once) return;
    frame->before = &top->before;
    frame->since_ns = top->drawn_ns ? (double)(now - top->drawn_ns) : 0;
    top->drawn_ns = now;
}

static int build(struct top *top, const struct lp_run *run)
{
    const struct lp_args *args = &top->cli->args;
    struct lp_report_options options = {0};
    struct lp_top_frame frame;
    struct lp_report *report = NULL;
    struct lp_error err = {0};
    options.top = lp__args_count(args, LP_OPT_TOP, LP_REPORT_TOP_DEFAULT);
    if (args->value[LP_OPT_SORT] && !lp__report_sort_parse(args->value[LP_OPT_SORT], &options.sort))
        return LP_EXIT_USAGE;
    options.role = args->value[LP_OPT_ROLE];
    options.now_real_ns = (double)lp__real_ns();
    if (lp__report_build(run, &options, &report, &err) != LP_OK) return lp__say_error(top->cli, &err);
    frame_options(top, &frame);
    lp__buf_clear(&top->text);
    lp__top_frame(report, &frame, &top->text);
    lp__report_free(report);
    return LP_EXIT_OK;
}

/* On a screen each line wipes what stood there before. */
static int show(struct top *top)
{
    if (!top->screen) return lp__emit(top->cli, NULL, &top->text);
    struct lp_buf out;
    lp__buf_init(&out, LP_OUTPUT_CEILING);
    lp__buf_adds(&out, "\x1b[H");
    for (size_t i = 0; i < top->text.len; i++) {
        if (top->text.data[i] == '\n') lp__buf_adds(&out, "\x1b[K");
        lp__buf_addc(&out, top->text.data[i]);
    }
    lp__buf_adds(&out, "\x1b[K\x1b[J");
    int status = lp__emit(top->cli, NULL, &out);
    lp__buf_release(&out);
    return status;
}

static int draw(struct top *top)
{
    struct lp_run_options options;
    struct lp_run *run = NULL;
    lp__run_options(top->cli, &options);
    options.read_only = true;
    int status = lp__cli_load(top->cli, lp__run_dir(top->cli), &options, &run);
    if (status != LP_EXIT_OK) return status;
    status = build(top, run);
    lp__run_free(run);
    return status == LP_EXIT_OK ? show(top) : status;
}

/* -- the loop ---------------------------------------------------------------------------------------------------- */

/* True to go on: time is up, or the window has a new size. */
static bool wait(struct top *top)
{
    int key = lp__console_wait(top->keys, top->interval);
    if (lp__interrupted() || key == 'q' || key == 'Q' || key == 4 /* Ctrl-D */) return false;
    return true;
}

static void screen_end(struct top *top)
{
    int sys_errno;
    if (top->keys) lp__console_keys_end();
    if (top->screen && lp__console_write(LP_STDOUT, SCREEN_END, strlen(SCREEN_END), NULL, &sys_errno) != LP_OK)
        lp__log("the terminal has gone");
    top->screen = top->keys = false;
}

static int screen_begin(struct top *top)
{
    int sys_errno;
    if (top->once || !lp__console_is_terminal(LP_STDOUT)) return LP_EXIT_OK;
    lp__interrupt_screen(top->cli->interrupt);
    if (lp__console_write(LP_STDOUT, SCREEN_BEGIN, strlen(SCREEN_BEGIN), NULL, &sys_errno) != LP_OK)
        return LP_EXIT_PIPE;
    top->screen = true;
    top->keys = lp__console_keys_begin();
    return LP_EXIT_OK;
}

static int loop(struct top *top)
{
    int status = draw(top); /* the first frame before the screen, so that a wrong directory is said in its place */
    if (status == LP_EXIT_OK) status = screen_begin(top);
    if (status == LP_EXIT_OK && top->screen) status = draw(top);
    while (status == LP_EXIT_OK && !top->once && wait(top))
        status = draw(top);
    screen_end(top);
    if (lp__interrupted()) return 128 + lp__interrupt_signal();
    return status;
}

static int run_top(struct lp_cli *cli)
{
    struct top top = {.cli = cli, .once = lp__args_has(&cli->args, LP_OPT_ONCE)};
    top.interval = lp__args_seconds(&cli->args, LP_OPT_INTERVAL, 2.0);
    cli->quiet = true;
    lp__map_init(&top.before);
    lp__buf_init(&top.text, LP_OUTPUT_CEILING);
    int status = loop(&top);
    lp__buf_release(&top.text);
    lp__map_release(&top.before);
    return status;
}

static const enum lp_option_id options[] = {LP_OPT_ONCE,  LP_OPT_INTERVAL,  LP_OPT_ATTEMPT, LP_OPT_RANKS, LP_OPT_ROLES,
                                            LP_OPT_HOSTS, LP_OPT_ROLE,      LP_OPT_TOP,     LP_OPT_SORT,  LP_OPT_COLOR,
                                            LP_OPT_WIDTH, LP_OPT_ANY_OWNER, LP_OPT_NONE};

const struct lp_command lp__command_top = {
    .name = "top",
    .summary = "a run while it goes, refreshed",
    .operands = "[RUN_DIR]",
    .operand_max = 1,
    .about =
        "Shows a run while it goes, with the same figures as report at that moment and the rate since the last frame. "
        "A "
        "phase marked > is open somewhere. On a terminal q quits; elsewhere frames follow one another. Nothing needs "
        "to be running: a finished run is shown as it is.",
    .options = options,
    .run = run_top,
};
