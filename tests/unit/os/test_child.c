/* Children of the self-test: how they end and what is said about it. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/child.h"

static struct lp_error err;

static int write_pid(void *arg)
{
    *(volatile pid_t *)arg = getpid();
    return 0;
}

static int refuse(void *arg)
{
    (void)arg;
    return 1;
}

static int die(void *arg)
{
    (void)arg;
    raise(SIGKILL);
    return 0;
}

static void test_work_is_done_elsewhere(void **state)
{
    (void)state;
    volatile pid_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (enum lp_child_end end = LP_CHILD_KILL; end <= LP_CHILD_LEAVE; end++) {
        *shared = 0;
        assert_int_equal(lp__child_run(write_pid, (void *)(uintptr_t)shared, end, &err), LP_OK);
        assert_int_not_equal(*shared, 0);
        assert_int_not_equal(*shared, getpid());
        /* Gone and waited for. */
        assert_int_equal(waitpid(*shared, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
    }
    munmap((void *)(uintptr_t)shared, 4096);
}

static void test_failures_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(lp__child_run(refuse, NULL, LP_CHILD_KILL, &err), LP_ERR_IO);
    assert_string_equal(err.detail, "the child could not record");
    assert_int_equal(lp__child_run(die, NULL, LP_CHILD_LEAVE, &err), LP_ERR_IO);
    assert_string_equal(err.detail, "the child died or hung");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_is_done_elsewhere),
        cmocka_unit_test(test_failures_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
