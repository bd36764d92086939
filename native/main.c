/* The native program: hands its arguments to the command line of the core. */
// SPDX-License-Identifier: MIT
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return lp_cli_main(argc, (const char *const *)argv);
}
