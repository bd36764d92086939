/* Terminal, stdout and log file of a reading program.  Keeps the terminal's mode while keys are read. */
// SPDX-License-Identifier: MIT
#include "os/console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"

static struct termios cooked; /* valid between keys_begin and keys_end */

bool lp__console_is_terminal(int fd)
{
    int saved = errno;
    bool yes = isatty(fd) == 1;
    errno = saved;
    return yes;
}

void lp__console_size(int fd, unsigned *columns, unsigned *rows)
{
    struct winsize size;
    *columns = *rows = 0;
    if (!lp__console_is_terminal(fd) || ioctl(fd, TIOCGWINSZ, &size)) return;
    *columns = size.ws_col;
    *rows = size.ws_row;
}

int lp__console_write(int fd, const char *bytes, size_t len, bool (*stop)(void), int *sys_errno)
{
    *sys_errno = 0;
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, bytes + at, len - at);
        int failed = n < 0 ? errno : 0;
        if (n > 0) at += (size_t)n;
        if (stop && stop()) return LP_ERR_INTERRUPTED;
        if (failed == EAGAIN) { /* somebody made the descriptor non-blocking: wait as a blocking one would */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            (void)poll(&ready, 1, 1000);
        } else if (failed && failed != EINTR) {
            *sys_errno = failed;
            return LP_ERR_IO;
        }
    }
    return LP_OK;
}

bool lp__console_keys_begin(void)
{
    if (!lp__console_is_terminal(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &cooked)) return false;
    struct termios keys = cooked;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C is a signal, as everywhere */
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

void lp__console_keys_end(void)
{
    int saved = errno;
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
    errno = saved;
}

int lp__console_wait(bool keys, double seconds)
{
    uint64_t until = lp__mono_ns() + (uint64_t)(seconds * 1e9);
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    for (uint64_t now; (now = lp__mono_ns()) < until;) {
        int n = poll(&ready, keys ? 1 : 0, (int)((until - now) / 1000000) + 1);
        unsigned char key;
        if (n < 0) return -1; /* EINTR: a signal, or the window has a new size */
        if (n == 0) continue;
        return read(STDIN_FILENO, &key, 1) == 1 ? key : -1;
    }
    return 0;
}

void lp__append(const char *path, const char *bytes, size_t len)
{
    int saved = errno;
    struct stat is;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0) {
        if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) {
            int rc = lp__write_full(fd, bytes, len, NULL);
            (void)rc; /* diagnostics never stop a program */
        }
        close(fd);
    }
    errno = saved;
}

int lp__process_id(void)
{
    return (int)getpid();
}
