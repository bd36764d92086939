/* Half-written copies: which are left by a writer that is gone, and that nothing else goes. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/host.h"
#include "store/layout.h"
#include "store/sweep.h"
#include "support/temp_dir.h"

struct fixture {
    struct temp_dir dir;
    char run[80], folder[260];
    pid_t gone; /* of a process that has ended */
    uint64_t gone_start;
};

/* A pid that was, and when its process started. */
static void end_a_process(struct fixture *f)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    f->gone = fork();
    assert_true(f->gone >= 0);
    if (f->gone == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0);
    }
    close(ends[0]);
    f->gone_start = lp__process_start(f->gone);
    close(ends[1]);
    assert_int_equal(waitpid(f->gone, NULL, 0), f->gone);
    assert_true(f->gone_start != 0);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct lp_host_facts host;
    char name[104];
    int fd;
    memset(&fixture, 0, sizeof fixture);
    if (temp_dir_make(&fixture.dir)) return -1;
    lp__host_facts(&host);
    lp__rundir_safe_name(name, host.name);
    snprintf(fixture.run, sizeof fixture.run, "%.63s/run", fixture.dir.path);
    snprintf(fixture.folder, sizeof fixture.folder, "%s/workers/%s", fixture.run, name);
    fd = lp__rundir_open_workers(fixture.run, host.name, false, NULL, NULL);
    if (fd < 0) return -1;
    close(fd);
    end_a_process(&fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    return temp_dir_remove(&f->dir);
}

struct copy {
    pid_t pid;
    uint64_t pid_start;
    size_t bytes; /* of it, that were written */
    int64_t age_s;
    bool other_boot;
};

/* `name` is in front of ".<pid>.00000000.lpw". */
static void make_copy(struct fixture *f, const char *name, const struct copy *copy, char path[400])
{
    struct lp_file_header header = {.magic = LP_FILE_MAGIC, .version = LP_FILE_VERSION, .header_bytes = sizeof header};
    uint8_t bytes[4096] = {0};
    struct timespec times[2];
    int fd;
    header.pid = (uint32_t)copy->pid;
    header.pid_start = copy->pid_start;
    lp__host_identity(header.boot_id, &header.pid_namespace);
    if (copy->other_boot) header.boot_id[0] ^= 1;
    header.state = LP_STATE_RUNNING;
    header.check = lp__crc32c(lp__crc32c(0, &header.version, 8), &header.pid, LP_FILE_CHECKED_END - 20);
    memcpy(bytes, &header, sizeof header);
    snprintf(path, 400, "%s/%s.%d.00000000.lpw", f->folder, name, (int)copy->pid);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, copy->bytes), copy->bytes);
    times[0].tv_sec = times[1].tv_sec = (time_t)((int64_t)(lp__real_ns() / 1000000000u) - copy->age_s);
    times[0].tv_nsec = times[1].tv_nsec = 0;
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static size_t sweep(struct fixture *f, bool dry)
{
    struct lp_arena arena;
    struct lp_rundir_list list;
    int dir_fd = -1;
    lp__arena_init(&arena, 1 << 20);
    assert_int_equal(lp__rundir_list(f->run, false, &arena, &list, &dir_fd, NULL), LP_OK);
    size_t swept = lp__sweep_copies(dir_fd, &list, dry);
    lp__close_fd(dir_fd);
    lp__arena_release(&arena);
    return swept;
}

static void keep_one_worker(struct fixture *f, char path[400])
{
    struct copy whole = {.pid = f->gone, .pid_start = f->gone_start, .bytes = 4096, .age_s = 100000};
    make_copy(f, "attempt", &whole, path); /* without it there is no run */
}

static void goes(struct fixture *f, const char *name, struct copy copy, bool expected)
{
    char path[400];
    make_copy(f, name, &copy, path);
    assert_int_equal(sweep(f, true), expected);
    assert_int_equal(access(path, F_OK), 0); /* dry */
    assert_int_equal(sweep(f, false), expected);
    assert_int_equal(access(path, F_OK), expected ? -1 : 0);
    (void)unlink(path);
}

static void test_the_copy_of_a_dead_writer_goes(void **state)
{
    struct fixture *f = *state;
    char worker[400];
    keep_one_worker(f, worker);
    goes(f, ".attempt", (struct copy){f->gone, f->gone_start, 4096, 0, false}, true);
    goes(f, ".attempt", (struct copy){f->gone, f->gone_start, sizeof(struct lp_file_header), 0, false}, true);
    goes(f, ".attempt", (struct copy){getpid(), 1, 4096, 0, false}, true); /* the pid was used again */
    assert_int_equal(access(worker, F_OK), 0);
}

static void test_the_copy_of_a_live_writer_stays(void **state)
{
    struct fixture *f = *state;
    char worker[400];
    uint64_t start = lp__process_start(getpid());
    keep_one_worker(f, worker);
    goes(f, ".attempt", (struct copy){getpid(), start, 4096, 0, false}, false);
    goes(f, ".attempt", (struct copy){getpid(), start, 4096, 120, false}, false);
    goes(f, ".attempt", (struct copy){getpid(), start, 0, 120, false}, false);
}

static void test_where_nobody_can_be_asked_age_decides(void **state)
{
    struct fixture *f = *state;
    char worker[400];
    keep_one_worker(f, worker);
    goes(f, ".attempt", (struct copy){f->gone, f->gone_start, 4096, 120, true}, false);
    goes(f, ".attempt", (struct copy){f->gone, f->gone_start, 4096, 3700, true}, true);
    goes(f, ".attempt", (struct copy){f->gone, f->gone_start, 100, 0, false}, false); /* it may have just begun */
    goes(f, ".attempt", (struct copy){f->gone, f->gone_start, 100, 120, false}, true);
}

static void test_nothing_else_goes(void **state)
{
    struct fixture *f = *state;
    char worker[400], other[400], target[400];
    keep_one_worker(f, worker);
    goes(f, "attempt2", (struct copy){f->gone, f->gone_start, 4096, 100000, false}, false); /* complete */
    goes(f, "..attempt", (struct copy){f->gone, f->gone_start, 4096, 100000, false}, false);
    snprintf(other, sizeof other, "%s/.attempt.%d.00000000.lpw.tmp", f->folder, (int)f->gone);
    snprintf(target, sizeof target, "%s/.attempt.%d.00000001.lpw", f->folder, (int)f->gone);
    assert_int_equal(symlink(worker, target), 0);
    assert_int_equal(close(open(other, O_CREAT | O_EXCL | O_WRONLY, 0600)), 0);
    assert_int_equal(sweep(f, false), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(access(target, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_copy_of_a_dead_writer_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_copy_of_a_live_writer_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_nobody_can_be_asked_age_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_else_goes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
