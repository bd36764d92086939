/* `run`: its place in help, completion and docs.  It starts a Python program, so the Python entry point does the work
 * and never comes here; the native program says where to find it. */
// SPDX-License-Identifier: MIT
#include "cli/command.h"
#include "cli/output.h"

static int run_elsewhere(struct lp_cli *cli)
{
    lp__say(cli, "run starts a Python program and comes with the Python package: python -m lineprofiler run ...");
    return LP_EXIT_USAGE;
}

static const enum lp_option_id options[] = {
    LP_OPT_LINES_TOP,  LP_OPT_LINES_FUNCTIONS, LP_OPT_LINES_REGIONS, LP_OPT_LINES_SELF,  LP_OPT_LINES_HTML,
    LP_OPT_LINES_JSON, LP_OPT_OUTPUT_UNIT,     LP_OPT_CHILDREN,      LP_OPT_NO_CHILDREN, LP_OPT_EXPLAIN_SCOPE,
    LP_OPT_PROJECT,    LP_OPT_INCLUDE,         LP_OPT_EXCLUDE,       LP_OPT_RUN_DIR,     LP_OPT_NONE};

const struct lp_command lp__command_run = {
    .name = "run",
    .summary = "run a Python program and show its lines",
    .operands = "[options] SCRIPT|-m MODULE|-c CODE|- [ARGUMENT ...]",
    .operand_choices = "",
    .operand_max = 1,
    .about = "Runs a program exactly as Python does and records hits and times of the lines of its project. The tables "
             "go to stderr when it has ended; its output and its exit status are its own. Options stand before the "
             "program, what follows belongs to it; -- ends the options.",
    .options = options,
    .words_are_theirs = true,
    .run = run_elsewhere,
};
