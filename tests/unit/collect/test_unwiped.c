/* Forks where the kernel says that it wipes pages in the child and does not, as an emulator of another processor does:
 * the fork handler alone makes the child a new process. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "collect/lines.h"

static unsigned claims; /* wipes that were promised and not done */

/* Before the C library's. */
int madvise(void *address, size_t len, int advice)
{
    if (advice == MADV_WIPEONFORK) {
        claims++;
        return 0;
    }
    return (int)syscall(SYS_madvise, address, len, advice);
}

static int record_in_child(void *arg)
{
    struct stage *stage = arg;
    struct readback rb;
    entry_in(stage->recording, "child");
    if (readback_recording(&rb, stage->recording)) return 1;
    return rb.image.header.pid == (uint32_t)getpid() && phase_at(&rb, "child").calls == 1 &&
                   phase_at(&rb, "before").nodes == 0
               ? 0
               : 2;
}

static int end_in_child(void *arg)
{
    struct entry *inherited = arg;
    return end_of(*inherited) ? 1 : 0;
}

static void test_a_child_is_a_new_process(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry open;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "before");
    open = begin_in(stage.recording, "open");
    assert_true(claims >= 2); /* the page that tells of a fork, and the thread states */
    assert_int_equal(in_child(record_in_child, &stage), 0);
    assert_int_equal(in_child(end_in_child, &open), 0);
    assert_true(end_of(open));
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "child").nodes, 0);
    assert_int_equal(phase_at(&rb, "open").calls, 1);
    readback_release(&rb);
    stage_close(&stage);
}

static const void *no_caller(const void *frame)
{
    (void)frame;
    return NULL;
}

static int has_lines_of_its_own(void *arg)
{
    const struct lp_line_thread *parents = arg, *own = lp__lines_here();
    return own && own != parents ? 0 : 1;
}

/* Else the child would go on in its parent's tables. */
static void test_a_child_has_line_tables_of_its_own(void **state)
{
    static const struct lp_line_host host = {no_caller};
    struct stage stage;
    struct lp_line_session *session;
    (void)state;
    stage_open(&stage);
    session = lp__line_session_new(stage.recording, &host, NULL);
    assert_non_null(session);
    lp__line_session_start(session);
    assert_int_equal(in_child(has_lines_of_its_own, lp__lines_here()), 0);
    lp__line_session_free(session);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_is_a_new_process),
        cmocka_unit_test(test_a_child_has_line_tables_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
