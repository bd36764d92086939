/* Processes: start time and parent through a hostile name, mapped files, our own arguments, random bytes. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "os/host.h"
#include "scratch.h"

/* A child that waits for its end of a pipe to close. */
static pid_t start_child(int *hold, const char *name)
{
    int ends[2], ready[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        prctl(PR_SET_NAME, name);
        close(ends[1]);
        close(ready[1]);
        _exit(read(ends[0], &byte, 1) ? 1 : 0);
    }
    close(ends[0]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* until it has its name */
    close(ready[0]);
    *hold = ends[1];
    return pid;
}

static void test_start_and_parent_despite_the_name(void **state)
{
    (void)state;
    int hold;
    uint64_t own = lp__process_start(getpid());
    assert_true(own > 0);
    pid_t pid = start_child(&hold, "a) R 1 (b 7");
    assert_true(lp__process_start(pid) >= own);
    assert_int_equal(lp__process_parent(pid), getpid());
    close(hold);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    errno = 77;
    assert_int_equal(lp__process_start(pid), 0);
    assert_int_equal(lp__process_parent(pid), 0);
    assert_int_equal(errno, 77);
}

static int wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 1;
    return WEXITSTATUS(status);
}

static void test_ancestors_are_found_by_name(void **state)
{
    (void)state;
    uint64_t start = 1;
    pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_NAME, "proxy of many");
        pid_t proxy = getpid();
        pid_t between = fork();
        if (between) _exit(wait_for(between));
        uint64_t proxy_start = lp__process_start(proxy); /* read from outside: an emulator makes up one's own */
        prctl(PR_SET_NAME, "a wrapper");
        pid_t rank = fork();
        if (rank) _exit(wait_for(rank));
        prctl(PR_SET_NAME, "a rank");
        _exit(lp__process_ancestor("proxy of many", &start) != proxy || start != proxy_start);
    }
    assert_int_equal(wait_for(pid), 0);
    assert_int_equal(lp__process_ancestor("no such name", &start), 0);
    assert_int_equal(start, 0);
}

static void test_mapped_files_are_found(void **state)
{
    (void)state;
    struct stat st;
    put("file", "something to map");
    int fd = open(at("file"), O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(lp__process_maps_file(getpid(), st.st_dev, st.st_ino), 0);
    void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_not_equal(lp__process_maps_file(getpid(), st.st_dev, st.st_ino), 0); /* -1 on layered file systems */
    assert_int_equal(lp__process_maps_file(getpid(), st.st_dev + 1, st.st_ino), -1);
    munmap(map, 4096);
    assert_int_equal(lp__process_maps_file(getpid(), st.st_dev, st.st_ino), 0);
    close(fd);
}

static void test_a_dead_process_maps_nothing(void **state)
{
    (void)state;
    int hold;
    pid_t pid = start_child(&hold, "child");
    close(hold);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(lp__process_maps_file(pid, 1, 1), 0);
}

static void test_own_arguments(void **state)
{
    (void)state;
    struct lp_buf buf;
    lp__buf_init(&buf, 4096);
    lp__process_argv(&buf);
    assert_true(buf.len > 0);
    assert_non_null(strstr(buf.data, "test_process"));
    lp__buf_release(&buf);
}

static void test_random_bytes_differ(void **state)
{
    (void)state;
    unsigned char a[16] = {0}, b[16] = {0}, guard[20] = {0};
    lp__random_bytes(a, sizeof a);
    lp__random_bytes(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    lp__random_bytes(guard, 5);
    assert_memory_equal(guard + 5, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_start_and_parent_despite_the_name),
        TEST(test_ancestors_are_found_by_name),
        TEST(test_mapped_files_are_found),
        TEST(test_a_dead_process_maps_nothing),
        TEST(test_own_arguments),
        TEST(test_random_bytes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
