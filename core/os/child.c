/* Fork, a byte over a pipe when the work is done, and the end.  The child runs C code only and never returns to the
 * host, so an interpreter around us notices nothing. */
// SPDX-License-Identifier: MIT
#include "os/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_LIMIT_MS 10000

static _Noreturn void be_child(int pipe_fd, int (*work)(void *arg), void *arg, enum lp_child_end end)
{
    char done = work(arg) == 0 ? 'y' : 'n';
    ssize_t n = write(pipe_fd, &done, 1);
    if (n == 1 && end == LP_CHILD_KILL)
        for (;;)
            pause();
    _exit(0); // lint-allow: the end of our own child
}

static char wait_done(int pipe_fd)
{
    struct pollfd ready = {.fd = pipe_fd, .events = POLLIN};
    char done = '\0';
    while (poll(&ready, 1, CHILD_LIMIT_MS) < 0 && errno == EINTR)
        continue;
    /* Non-blocking: after the limit, or when the child died before its word, there is nothing to read. */
    return read(pipe_fd, &done, 1) == 1 ? done : '\0';
}

int lp__child_run(int (*work)(void *arg), void *arg, enum lp_child_end end, struct lp_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return lp__fail(err, LP_ERR_IO, errno, "no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) be_child(ends[1], work, arg, end);
    int sys_errno = errno;
    close(ends[1]);
    char done = pid > 0 ? wait_done(ends[0]) : '\0';
    close(ends[0]);
    if (pid < 0) return lp__fail(err, LP_ERR_IO, sys_errno, "no child process: %s", strerror(sys_errno));
    if (end == LP_CHILD_KILL || done == '\0') kill(pid, SIGKILL);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (done == 'y') return LP_OK;
    return lp__fail(err, LP_ERR_IO, 0, "%s", done ? "the child could not record" : "the child died or hung");
}
