/* Space that is refused: a full disk, a limit on file size, our own ceiling. The program goes on, what is missing is
 * counted and said, and what was recorded before stays right. */
// SPDX-License-Identifier: MIT
#include "sums.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* `count` entries of paths of their own below `outer`, each with a counter. */
static void record_paths(struct lp_recording *recording, const char *prefix, int count)
{
    char name[32];
    int i;
    for (i = 0; i < count; i++) {
        struct entry outer = begin_in(recording, "outer");
        snprintf(name, sizeof name, "%s %d", prefix, i);
        entry_in(recording, name);
        count_in(recording, name, i);
        end_of(outer);
    }
}

/* A refusal is not asked about again within a second: as if that had passed. */
static void let_a_second_pass(struct lp_recording *recording)
{
    recording->store.grow_refused_at = 0;
}

static void test_our_own_ceiling(void **state)
{
    struct lp_recording_options options = {.max_paths = 100000};
    struct stage stage;
    struct readback rb;
    uint64_t calls, dropped;
    (void)state;
    stage_open_with(&stage, &options);
    record_paths(stage.recording, "before", 10);
    stage.recording->store.reserved = 512 * 1024; /* the file may grow so far */
    record_paths(stage.recording, "p", 5000);
    record_paths(stage.recording, "before", 10); /* what has its place goes on */
    stage_read(&stage, &rb);
    calls = assert_sums(&rb);
    dropped = drops_of(&rb, LP_DROP_NO_SPACE);
    assert_int_equal(calls + dropped, 2 * 5020);
    assert_int_equal(phase_at(&rb, "outer").calls, 5020);
    assert_int_equal(phase_at(&rb, "outer/before 3").calls, 2);
    assert_int_equal(phase_at(&rb, "outer/p 10").calls, 1);
    assert_true(dropped > 3000);
    assert_true(drops_of(&rb, LP_DROP_COUNTER_NO_SPACE) > 3000);
    assert_int_equal(rb.image.header.grow_errno, EFBIG);
    assert_true(rb.image.header.write_failures >= 1);
    assert_int_equal(rb.image.header.file_bytes, 512 * 1024);
    assert_true(rb.image.header.tiled_bytes + 2 * LP_SEGMENT_ALIGN > 512 * 1024); /* all of it is used */
    readback_release(&rb);
    lp__recording_close(stage.recording);
    assert_true(report_says(stage.run, "entries NOT recorded: the store could not grow"));
    assert_true(report_says(stage.run, "counts NOT recorded"));
    stage.recording->store.reserved = (uint64_t)256 << 20;
    stage_close(&stage);
}

/* Takes all there is, so that only what segments hold already is left. */
static void exhaust(struct lp_recording *recording)
{
    recording->store.reserved = recording->store.mapped;
    while (lp__store_segment(&recording->store, LP_SEGMENT_NODES, 1, 384, 8)) {
    }
}

static void test_below_a_phase_without_a_place_nothing_has_one(void **state)
{
    static char lengthy[5000];
    struct stage stage;
    struct readback rb;
    struct lp_thread *thread;
    struct lp_scope *unplaced, *known;
    size_t bytes;
    int i;
    (void)state;
    memset(lengthy, 'l', sizeof lengthy);
    stage_open(&stage);
    entry_in(stage.recording, "known"); /* its name is in the store, and the segment of nodes has room */
    exhaust(stage.recording);
    thread = lp__thread_of(stage.recording);
    unplaced = lp__begin(thread, lp__name_register(lengthy, sizeof lengthy), NULL, 0);
    known = lp__begin(thread, named("known"), NULL, 0);
    assert_true(unplaced->flags & known->flags & LP_SCOPE_DROPPED);
    lp__end(thread, unplaced); /* out of order, too */
    lp__end(thread, known);
    bytes = stage.recording->arena.bytes;
    for (i = 0; i < 5000; i++)
        lp__count(thread, lp__name_register(lengthy, sizeof lengthy), 1);
    assert_int_equal(stage.recording->arena.bytes, bytes);
    stage_read(&stage, &rb);
    assert_int_equal(node_count(&rb), 2);
    assert_int_equal(phase_at(&rb, "known").calls, 1);
    assert_int_equal(drops_of(&rb, LP_DROP_NO_SPACE), 2);
    assert_int_equal(drops_of(&rb, LP_DROP_COUNTER_NO_SPACE), 5000);
    assert_sums(&rb);
    readback_release(&rb);
    stage.recording->store.reserved = (uint64_t)256 << 20;
    stage_close(&stage);
}

static void test_dropped_and_recorded_phases_end_in_any_order(void **state)
{
    static char lengthy[5000];
    struct stage stage;
    struct readback rb;
    struct lp_thread *thread;
    struct lp_scope *scopes[4];
    lp_name_id names[4];
    int i, first;
    (void)state;
    memset(lengthy, 'm', sizeof lengthy);
    stage_open(&stage);
    entry_in(stage.recording, "a");
    exhaust(stage.recording);
    thread = lp__thread_of(stage.recording);
    for (i = 0; i < 4; i++)
        names[i] = i ? lp__name_register(lengthy, sizeof lengthy - (size_t)i) : named("a");
    for (first = 0; first < 4; first++) {
        for (i = 0; i < 4; i++)
            scopes[i] = lp__begin(thread, names[i], NULL, 0);
        for (i = 0; i < 4; i++)
            lp__end(thread, scopes[(first + i) % 4]);
    }
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 5);
    assert_int_equal(phase_at(&rb, "a").inner, 0); /* the time of what was dropped stays its own */
    assert_int_equal(drops_of(&rb, LP_DROP_NO_SPACE), 12);
    assert_sums(&rb);
    readback_release(&rb);
    stage.recording->store.reserved = (uint64_t)256 << 20;
    stage_close(&stage);
}

static void *record_without_a_place(void *arg)
{
    struct lp_recording *recording = arg;
    int i;
    for (i = 0; i < 1000; i++) {
        entry_in(recording, "p");
        if (lp__thread_find(recording)) fail_msg("a state without a place in the store");
    }
    return NULL;
}

/* A thread that comes when the store is full records nothing; that is counted, and costs no memory each time. */
static void test_a_thread_that_comes_too_late(void **state)
{
    struct stage stage;
    struct readback rb;
    pthread_t thread;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "early");
    exhaust(stage.recording);
    assert_int_equal(pthread_create(&thread, NULL, record_without_a_place, stage.recording), 0);
    pthread_join(thread, NULL);
    assert_int_equal(lp__thread_slab_count(stage.recording), 1);
    entry_in(stage.recording, "early");
    lp__recording_close(stage.recording);
    stage_read(&stage, &rb);
    assert_int_equal(phase_at(&rb, "early").calls, 2);
    assert_true(drops_of(&rb, LP_DROP_NO_SPACE) >= 1000);
    assert_int_equal(threads_of(&rb).records, 1);
    readback_release(&rb);
    assert_true(report_says(stage.run, "entries NOT recorded"));
    stage.recording->store.reserved = (uint64_t)256 << 20;
    stage_close(&stage);
}

/* -- a full disk ------------------------------------------------------------------------------------------------- */

/* A tmpfs of so many bytes over the stage's folder, in a name space of the test's own; false without the right to. */
static bool mount_small(const char *path, const char *options)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS)) return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) return false;
    return mount("lineprofiler-test", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

static bool fill(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    char block[4096] = "";
    if (fd < 0) return false;
    while (write(fd, block, sizeof block) > 0) {
    }
    return close(fd) == 0;
}

enum { NOT_ALLOWED = 77 };

static struct stage disk_stage(const char *dir)
{
    struct stage stage;
    struct lp_recording_options options = {.attempt = "disk"};
    snprintf(stage.run, sizeof stage.run, "%.63s/run", dir);
    options.run_dir = stage.run;
    if (lp__recording_open(&options, &stage.recording, NULL)) _exit(2);
    return stage;
}

static int fill_while_recording(void *arg)
{
    const struct temp_dir *dir = arg;
    char ballast[80];
    struct stage stage;
    struct readback rb;
    uint64_t before;
    if (!mount_small(dir->path, "size=8m")) return NOT_ALLOWED;
    stage = disk_stage(dir->path);
    record_paths(stage.recording, "early", 20);
    snprintf(ballast, sizeof ballast, "%.63s/ballast", dir->path);
    if (!fill(ballast)) return 3;
    record_paths(stage.recording, "late", 9000); /* a store into an unreserved page would end the process here */
    stage_read(&stage, &rb);
    before = assert_sums(&rb);
    assert_int_equal(before + drops_of(&rb, LP_DROP_NO_SPACE), 2 * 9020);
    assert_int_equal(rb.image.header.grow_errno, ENOSPC);
    assert_int_equal(rb.image.header.place, LP_PLACE_RUN_DIR);
    readback_release(&rb);
    /* When there is room again, what had none before is recorded too. */
    unlink(ballast);
    let_a_second_pass(stage.recording);
    record_paths(stage.recording, "late", 9000);
    stage_read(&stage, &rb);
    assert_true(assert_sums(&rb) > before + 9000);
    assert_int_equal(phase_at(&rb, "outer").calls, 18020);
    assert_true(phase_at(&rb, "outer/late 8999").calls == 1);
    readback_release(&rb);
    lp__recording_close(stage.recording);
    return report_says(stage.run, "entries NOT recorded") ? 0 : 4;
}

static int start_on_a_full_disk(void *arg)
{
    const struct temp_dir *dir = arg;
    char ballast[80];
    struct stage stage;
    struct readback rb;
    if (!mount_small(dir->path, "size=256k")) return NOT_ALLOWED;
    snprintf(ballast, sizeof ballast, "%.63s/ballast", dir->path);
    if (!fill(ballast)) return 3;
    stage = disk_stage(dir->path);
    record_paths(stage.recording, "p", 10);
    stage_read(&stage, &rb);
    assert_int_equal(assert_sums(&rb), 20);
    assert_int_not_equal(rb.image.header.place, LP_PLACE_RUN_DIR);
    assert_string_equal(stage.recording->store.why_not_run_dir, "the system refuses it space");
    readback_release(&rb);
    lp__recording_snapshot(stage.recording); /* no room for a copy either */
    assert_true(lp__recording_write_failures(stage.recording) >= 1);
    unlink(ballast);
    lp__recording_close(stage.recording);
    return report_says(stage.run, "outer") && report_says(stage.run, "refuse") ? 0 : 4;
}

static void on_small_disk(int (*body)(void *arg))
{
    struct temp_dir dir;
    int rc;
    assert_int_equal(temp_dir_make(&dir), 0);
    rc = in_child(body, &dir);
    assert_int_equal(temp_dir_remove(&dir), 0);
    if (rc == NOT_ALLOWED) skip();
    assert_int_equal(rc, 0);
}

static void test_a_disk_that_fills_up(void **state)
{
    (void)state;
    on_small_disk(fill_while_recording);
}

static void test_a_disk_that_is_full(void **state)
{
    (void)state;
    on_small_disk(start_on_a_full_disk);
}

/* -- a limit on the size of files -------------------------------------------------------------------------------- */

static int limit_file_size(struct stage *stage, enum lp_store_place place, rlim_t limit_bytes)
{
    struct rlimit limit = {limit_bytes, limit_bytes};
    struct readback rb;
    uint64_t calls;
    if (setrlimit(RLIMIT_FSIZE, &limit)) return 2; /* SIGXFSZ would end the process */
    record_paths(stage->recording, "p", 3000);
    lp__recording_snapshot(stage->recording);
    stage_read(stage, &rb);
    calls = assert_sums(&rb);
    assert_int_equal(rb.image.header.place, place);
    assert_true(rb.image.header.write_failures >= 1);
    assert_int_equal(rb.image.header.grow_errno, EFBIG);
    assert_int_equal(calls + drops_of(&rb, LP_DROP_NO_SPACE), 6000);
    readback_release(&rb);
    lp__recording_close(stage->recording);
    return calls > 0 ? 0 : 3;
}

static int limit_the_live_file(void *arg)
{
    return limit_file_size(arg, LP_PLACE_RUN_DIR, 128 * 1024);
}

static int limit_the_copies(void *arg)
{
    return limit_file_size(arg, LP_PLACE_MEMORY, 1000);
}

static int limit_everything(void *arg)
{
    return limit_file_size(arg, LP_PLACE_MEMORY, 100); /* not even the first bytes of a file */
}

static void with_limit(int (*body)(void *arg), enum lp_store_choice store)
{
    struct lp_recording_options options = {.store = store};
    struct stage stage;
    stage_open_with(&stage, &options);
    assert_int_equal(in_child(body, &stage), 0);
    stage_close(&stage);
}

static void test_a_limit_on_file_size(void **state)
{
    (void)state;
    with_limit(limit_the_live_file, LP_STORE_AUTO);
    with_limit(limit_the_copies, LP_STORE_MEMORY);
    with_limit(limit_everything, LP_STORE_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_own_ceiling),
        cmocka_unit_test(test_below_a_phase_without_a_place_nothing_has_one),
        cmocka_unit_test(test_dropped_and_recorded_phases_end_in_any_order),
        cmocka_unit_test(test_a_thread_that_comes_too_late),
        cmocka_unit_test(test_a_disk_that_fills_up),
        cmocka_unit_test(test_a_disk_that_is_full),
        cmocka_unit_test(test_a_limit_on_file_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
