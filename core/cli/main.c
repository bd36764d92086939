/* Dispatch: from argv to a command and back to an exit status. */
// SPDX-License-Identifier: MIT
#include "cli/cli.h"

int lp_cli_main(int argc, const char *const *argv)
{
    return lp_cli_main_hosted(argc, argv, NULL);
}

int lp_cli_main_hosted(int argc, const char *const *argv, const struct lp_cli_host *host)
{
    (void)argc;
    (void)argv;
    (void)host;
    return 2;
}
