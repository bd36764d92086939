/* spend COMMAND ARGUMENT...: runs it with its output thrown away and prints `STATUS WALL_S CPU_S PEAK_KB` as the kernel
 * accounts them.  A program of its own because the kernel hands the peak memory of whoever starts a program down to it:
 * an interpreter would never measure less than itself. */
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double seconds(struct timeval tv)
{
    return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static void become(char **command)
{
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++)
        dup2(nowhere, fd);
    execv(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    double start = now_s();
    int status;
    pid_t child;
    if (argc < 2 || (child = fork()) < 0) return 2;
    if (child == 0) become(argv + 1);
    if (wait4(child, &status, 0, &usage) != child) return 2;
    printf("%d %.6f %.6f %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), now_s() - start,
           seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
    return 0;
}
