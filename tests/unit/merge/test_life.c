/* Finished, running, killed, ended, stale: judged on real children of this test. */
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge/run.h"
#include "os/clock.h"
#include "os/host.h"
#include "support/image_builder.h"
#include "support/run_lookup.h"
#include "support/temp_dir.h"

#define FILE_NAME "workers/node1/a1.1.00000001.lpw"

struct fixture {
    struct temp_dir dir;
    struct image image;
    lp_ref work, thread;
    pid_t child; /* 0: none */
    int let_go;  /* closing it ends the child */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || temp_dir_make(&f->dir)) return -1;
    f->let_go = -1;
    image_init(&f->image);
    image_fact(&f->image, "attempt", "a1");
    image_fact(&f->image, "role", "main");
    f->work = image_node(&f->image, image_root(&f->image, 0), "work", 1, 1000);
    f->thread = image_thread(&f->image, 0);
    return 0;
}

static void reap(struct fixture *f)
{
    if (f->let_go >= 0) close(f->let_go);
    if (f->child) (void)waitpid(f->child, NULL, 0);
    f->let_go = -1;
    f->child = 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    reap(f);
    image_release(&f->image);
    int rc = temp_dir_remove(&f->dir);
    free(f);
    return rc;
}

/* Maps the file if told to, says so, and waits to be let go or killed. */
static void be_child(const char *map_path, int ready, int wait_for)
{
    char byte = 0;
    if (map_path) {
        int fd = open(map_path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) _exit(1);
        close(fd);
    }
    if (write(ready, "r", 1) != 1) _exit(1);
    while (read(wait_for, &byte, 1) < 0)
        ;
    _exit(0);
}

static void start_child(struct fixture *f, bool maps_file)
{
    int ready[2], wait_for[2];
    char byte, path[200];
    (void)snprintf(path, sizeof path, "%s/%s", f->dir.path, FILE_NAME);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(wait_for), 0);
    f->child = fork();
    assert_true(f->child >= 0);
    if (!f->child) {
        close(wait_for[1]);
        close(ready[0]);
        be_child(maps_file ? path : NULL, ready[1], wait_for[0]);
    }
    close(ready[1]);
    close(wait_for[0]);
    f->let_go = wait_for[1];
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
}

static void put(struct fixture *f)
{
    image_seal(&f->image);
    assert_int_equal(temp_dir_put(&f->dir, FILE_NAME, f->image.bytes, f->image.len), 0);
}

/* Writes the header of a process of this machine that began 5 s ago, its last heartbeat 2 s ago. */
static void be_here(struct fixture *f, pid_t pid, enum lp_store_place place)
{
    struct lp_host_facts facts;
    struct lp_file_header *header = image_header(&f->image);
    lp__host_facts(&facts);
    uint64_t mono = lp__mono_ns(), real = lp__real_ns();
    memcpy(header->boot_id, facts.boot_id, sizeof header->boot_id);
    header->pid_namespace = facts.pid_namespace;
    header->pid = (uint32_t)pid;
    header->pid_start = lp__process_start(pid);
    header->state = LP_STATE_RUNNING;
    header->place = place;
    header->wall_clock = LP_WALL_MONOTONIC;
    header->created_ticks = header->created_mono_ns = mono - 5000000000;
    header->created_real_ns = real - 5000000000;
    header->heartbeat_ticks = header->heartbeat_mono_ns = mono - 2000000000;
    header->heartbeat_real_ns = real - 2000000000;
    header->closed_ticks = 0;
    struct lp_thread_record *thread = image_at(&f->image, f->thread);
    thread->attached_ticks = header->created_ticks;
    thread->last_ticks = header->created_ticks + 1000;
    image_segment_header(&f->image, f->image.current[LP_SEGMENT_CLOCK])->used = 0;
    put(f);
}

static struct lp_run *load(struct fixture *f)
{
    struct lp_run *run = NULL;
    assert_int_equal(lp__run_load(f->dir.path, NULL, &run, NULL), LP_OK);
    assert_int_equal(run->process_count, 1);
    return run;
}

static enum lp_verdict verdict(struct fixture *f)
{
    struct lp_run *run = load(f);
    enum lp_verdict found = run->processes[0].verdict;
    lp__run_free(run);
    return found;
}

static double open_ns(struct fixture *f)
{
    struct lp_run *run = load(f);
    double ns = run_phase(run, &run->roles[0].tree, "work")->open_wall_ns;
    lp__run_free(run);
    return ns;
}

static void open_since_the_start(struct fixture *f)
{
    image_open(&f->image, f->work, image_header(&f->image)->created_ticks);
    put(f);
}

static void the_mark_says_finished(void **state)
{
    struct fixture *f = *state;
    put(f);
    assert_int_equal(verdict(f), LP_VERDICT_FINISHED);
}

static void a_live_process_is_running_and_its_time_goes_on(void **state)
{
    struct fixture *f = *state;
    start_child(f, false);
    be_here(f, f->child, LP_PLACE_SHM);
    open_since_the_start(f);
    assert_int_equal(verdict(f), LP_VERDICT_RUNNING);
    assert_true(open_ns(f) >= 5e9);
    struct lp_run *run = load(f);
    assert_true(run->processes[0].elapsed_ns >= 5e9);
    lp__run_free(run);
}

static void a_killed_one_is_killed_where_it_was(void **state)
{
    struct fixture *f = *state;
    start_child(f, false);
    be_here(f, f->child, LP_PLACE_SHM);
    open_since_the_start(f);
    siginfo_t info;
    assert_int_equal(kill(f->child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)f->child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(verdict(f), LP_VERDICT_KILLED); /* as a zombie */
    reap(f);
    struct lp_run *run = load(f);
    assert_int_equal(run->processes[0].verdict, LP_VERDICT_KILLED);
    assert_string_equal(run->processes[0].killed_in, "work");
    lp__run_free(run);
    assert_true(fabs(open_ns(f) - 3e9) < 1e6); /* to its last heartbeat */
}

static void one_that_left_with_nothing_open_has_ended(void **state)
{
    struct fixture *f = *state;
    start_child(f, false);
    be_here(f, f->child, LP_PLACE_SHM);
    reap(f);
    assert_int_equal(verdict(f), LP_VERDICT_ENDED);
}

static void another_process_of_its_pid_is_not_it(void **state)
{
    struct fixture *f = *state;
    start_child(f, false);
    be_here(f, f->child, LP_PLACE_SHM);
    image_header(&f->image)->pid_start--;
    put(f);
    assert_int_equal(verdict(f), LP_VERDICT_ENDED);
}

static void exec_ends_the_record(void **state)
{
    struct fixture *f = *state;
    put(f);
    start_child(f, true);
    be_here(f, f->child, LP_PLACE_RUN_DIR); /* rewrites the same file */
    assert_int_equal(verdict(f), LP_VERDICT_RUNNING);
    reap(f);
    start_child(f, false);
    be_here(f, f->child, LP_PLACE_RUN_DIR);
    open_since_the_start(f);
    assert_int_equal(verdict(f), LP_VERDICT_ENDED);
}

static void elsewhere_only_the_heartbeat_speaks(void **state)
{
    struct fixture *f = *state;
    be_here(f, getpid(), LP_PLACE_SHM);
    struct lp_file_header *header = image_header(&f->image);
    header->boot_id[3] ^= 1;
    open_since_the_start(f);
    assert_int_equal(verdict(f), LP_VERDICT_RUNNING);
    header->heartbeat_real_ns -= 20000000000;
    put(f);
    assert_int_equal(verdict(f), LP_VERDICT_STALE);
    header->copy_interval_ms = 10000; /* what is copied every 10 s may look that old */
    put(f);
    assert_int_equal(verdict(f), LP_VERDICT_RUNNING);
    header->boot_id[3] ^= 1; /* another container of this machine: its clock is ours */
    header->pid_namespace ^= 1;
    header->copy_interval_ms = 0;
    put(f);
    assert_int_equal(verdict(f), LP_VERDICT_RUNNING);
    header->heartbeat_mono_ns -= 20000000000;
    put(f);
    assert_int_equal(verdict(f), LP_VERDICT_STALE);
}

static void a_heartbeat_that_contradicts_itself_is_ignored(void **state)
{
    struct fixture *f = *state;
    be_here(f, getpid(), LP_PLACE_SHM);
    struct lp_file_header *header = image_header(&f->image);
    header->boot_id[3] ^= 1;
    header->heartbeat_ticks += (uint64_t)1 << 50;
    open_since_the_start(f);
    assert_true(open_ns(f) < 1e9);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_mark_says_finished),
        TEST(a_live_process_is_running_and_its_time_goes_on),
        TEST(a_killed_one_is_killed_where_it_was),
        TEST(one_that_left_with_nothing_open_has_ended),
        TEST(another_process_of_its_pid_is_not_it),
        TEST(exec_ends_the_record),
        TEST(elsewhere_only_the_heartbeat_speaks),
        TEST(a_heartbeat_that_contradicts_itself_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
