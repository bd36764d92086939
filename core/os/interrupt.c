/* Signal handlers of a reading program.  The number of the signal that was caught is the only global state. */
// SPDX-License-Identifier: MIT
#include "os/interrupt.h"

#include <stddef.h>
#include <string.h>

static volatile sig_atomic_t caught;

enum { OLD_INT, OLD_PIPE, OLD_TERM, OLD_HUP };

static void on_signal(int number)
{
    if (caught) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when this handler returns */
        return;
    }
    caught = number;
}

static void set_handler(int number, struct sigaction *old)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* no SA_RESTART: a wait must end */
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, old);
}

void lp__interrupt_begin(struct lp_interrupt *saved)
{
    struct sigaction ignore;
    memset(saved, 0, sizeof *saved);
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    caught = 0;
    sigaction(SIGINT, NULL, &saved->old[OLD_INT]);
    /* A program that was started with SIGINT ignored (nohup, a shell's background job) keeps it so. */
    if (saved->old[OLD_INT].sa_handler != SIG_IGN) set_handler(SIGINT, &saved->old[OLD_INT]);
    sigaction(SIGPIPE, &ignore, &saved->old[OLD_PIPE]);
}

void lp__interrupt_screen(struct lp_interrupt *saved)
{
    set_handler(SIGTERM, &saved->old[OLD_TERM]);
    set_handler(SIGHUP, &saved->old[OLD_HUP]);
    saved->screen = true;
}

void lp__interrupt_end(struct lp_interrupt *saved)
{
    sigaction(SIGINT, &saved->old[OLD_INT], NULL);
    sigaction(SIGPIPE, &saved->old[OLD_PIPE], NULL);
    if (!saved->screen) return;
    sigaction(SIGTERM, &saved->old[OLD_TERM], NULL);
    sigaction(SIGHUP, &saved->old[OLD_HUP], NULL);
    saved->screen = false;
}

bool lp__interrupted(void)
{
    return caught != 0;
}

int lp__interrupt_signal(void)
{
    return caught;
}
