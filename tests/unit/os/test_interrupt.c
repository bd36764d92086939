/* Signals while a run is read, and all as before afterwards. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/console.h"
#include "os/interrupt.h"

static int host_calls;

static void host_handler(int number)
{
    (void)number;
    host_calls++;
}

static void *handler_of(int number)
{
    struct sigaction action;
    sigaction(number, NULL, &action);
    return (void *)(uintptr_t)action.sa_handler;
}

static void test_the_host_s_handlers_come_back(void **state)
{
    struct lp_interrupt saved;
    static const int numbers[] = {SIGINT, SIGPIPE, SIGTERM, SIGHUP};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        signal(numbers[i], host_handler);
    lp__interrupt_begin(&saved);
    lp__interrupt_screen(&saved);
    assert_false(lp__interrupted());
    raise(SIGTERM);
    assert_true(lp__interrupted());
    assert_int_equal(lp__interrupt_signal(), SIGTERM);
    lp__interrupt_end(&saved);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(handler_of(numbers[i]), (void *)(uintptr_t)host_handler);
    raise(SIGINT);
    assert_int_equal(host_calls, 1);
    lp__interrupt_begin(&saved); /* a new call starts clean */
    assert_false(lp__interrupted());
    lp__interrupt_end(&saved);
}

static void test_an_ignored_interrupt_stays_ignored(void **state)
{
    struct lp_interrupt saved;
    (void)state;
    signal(SIGINT, SIG_IGN);
    lp__interrupt_begin(&saved);
    raise(SIGINT);
    assert_false(lp__interrupted());
    lp__interrupt_end(&saved);
    signal(SIGINT, SIG_DFL);
}

static void test_a_second_one_kills(void **state)
{
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct lp_interrupt saved;
        lp__interrupt_begin(&saved);
        raise(SIGINT);
        raise(SIGINT);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
}

static void test_a_reader_that_has_gone_is_an_error(void **state)
{
    struct lp_interrupt saved;
    int ends[2], sys_errno;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    lp__interrupt_begin(&saved);
    assert_int_equal(lp__console_write(ends[1], "x", 1, lp__interrupted, &sys_errno), LP_ERR_IO);
    assert_int_equal(sys_errno, EPIPE);
    lp__interrupt_end(&saved);
    close(ends[1]);
}

static void test_a_write_stops_when_interrupted(void **state)
{
    struct lp_interrupt saved;
    static char much[1 << 20];
    int ends[2], sys_errno;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    lp__interrupt_begin(&saved);
    raise(SIGINT);
    assert_int_equal(lp__console_write(ends[1], much, 10, lp__interrupted, &sys_errno), LP_ERR_INTERRUPTED);
    lp__interrupt_end(&saved);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_host_s_handlers_come_back),
        cmocka_unit_test(test_an_ignored_interrupt_stays_ignored),
        cmocka_unit_test(test_a_second_one_kills),
        cmocka_unit_test(test_a_reader_that_has_gone_is_an_error),
        cmocka_unit_test(test_a_write_stops_when_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
