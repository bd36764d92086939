/* Ctrl-C and closed pipes, for a program that reads runs.  Never used in a recorded program. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_INTERRUPT_H
#define LP_OS_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* What was set before; one at a time in a process. */
struct lp_interrupt {
    struct sigaction old[4];
    bool screen;
};

/* From here on the first SIGINT sets a flag, and a system call that waits comes back with EINTR; a second one ends the
 * process as if we were not there.  SIGPIPE becomes EPIPE.  A SIGINT that was ignored stays ignored. */
void lp__interrupt_begin(struct lp_interrupt *saved);
/* SIGTERM and SIGHUP set the flag too, so that a terminal can be put right first. */
void lp__interrupt_screen(struct lp_interrupt *saved);
/* All as it was before. */
void lp__interrupt_end(struct lp_interrupt *saved);

bool lp__interrupted(void);
int lp__interrupt_signal(void); /* the signal that was caught; 0 none */

#endif
