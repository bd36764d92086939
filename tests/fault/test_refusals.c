/* The system refuses descriptors, maps, threads or a directory: the program notices nothing, the report says it. */
// SPDX-License-Identifier: MIT
#include "sums.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* -- shims: the program's own definitions come before the C library's -------------------------------------------- */

static atomic_bool no_shared_maps, no_threads;
static atomic_int refused;

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
    if ((flags & MAP_SHARED) && atomic_load(&no_shared_maps)) {
        atomic_fetch_add(&refused, 1);
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (atomic_load(&no_threads)) {
        atomic_fetch_add(&refused, 1);
        return EAGAIN;
    }
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, body, arg);
}

static atomic_bool empty_promises;

/* As on a file system that says yes and reserves nothing. */
int posix_fallocate(int fd, off_t at, off_t len)
{
    static int (*real)(int, off_t, off_t);
    if (atomic_load(&empty_promises)) return ftruncate(fd, at + len) ? errno : 0;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate64");
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate");
    return real(fd, at, len);
}

static void record(struct lp_recording *recording, const char *prefix, int count)
{
    char name[32];
    int i;
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s %d", prefix, i);
        entry_in(recording, name);
    }
}

/* -- maps -------------------------------------------------------------------------------------------------------- */

static void test_no_maps_of_files_at_all(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    atomic_store(&no_shared_maps, true);
    record(stage.recording, "p", 500);
    atomic_store(&no_shared_maps, false);
    assert_true(atomic_exchange(&refused, 0) >= 2); /* run directory and tmpfs */
    stage_read(&stage, &rb);
    assert_int_equal(assert_sums(&rb), 500);
    assert_int_equal(rb.image.header.place, LP_PLACE_MEMORY);
    readback_release(&rb);
    lp__recording_close(stage.recording);
    assert_int_equal(lp__recording_write_failures(stage.recording), 0);
    assert_int_equal(readback_file(&rb, lp__recording_path(stage.recording)), 0);
    assert_int_equal(assert_sums(&rb), 500);
    readback_release(&rb);
    assert_true(report_says(stage.run, "refuse"));
    stage_close(&stage);
}

static void test_a_map_that_is_refused_later(void **state)
{
    struct stage stage;
    struct readback rb;
    struct stat st;
    uint64_t calls;
    (void)state;
    stage_open(&stage);
    record(stage.recording, "early", 10);
    atomic_store(&no_shared_maps, true);
    record(stage.recording, "p", 2000);
    atomic_store(&no_shared_maps, false);
    assert_true(atomic_exchange(&refused, 0) >= 1);
    record(stage.recording, "early", 10);
    stage_read(&stage, &rb);
    calls = assert_sums(&rb);
    assert_int_equal(calls + drops_of(&rb, LP_DROP_NO_SPACE), 2020);
    assert_int_equal(phase_at(&rb, "early 3").calls, 2);
    assert_int_equal(rb.image.header.grow_errno, ENOMEM);
    assert_int_equal(stat(lp__recording_path(stage.recording), &st), 0);
    assert_int_equal(st.st_size, rb.image.header.file_bytes); /* what was reserved in vain was given back */
    readback_release(&rb);
    stage_close(&stage);
}

static void test_blocks_that_are_promised_but_not_reserved(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    atomic_store(&empty_promises, true);
    record(stage.recording, "p", 500);
    atomic_store(&empty_promises, false);
    stage_read(&stage, &rb);
    assert_int_equal(assert_sums(&rb), 500);
    assert_int_equal(rb.image.header.place, LP_PLACE_MEMORY);
    assert_string_equal(stage.recording->store.why_not_run_dir, "its file system does not reserve blocks for maps");
    readback_release(&rb);
    stage_close(&stage);
}

/* -- threads ----------------------------------------------------------------------------------------------------- */

static void test_no_background_thread(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    atomic_store(&no_threads, true);
    record(stage.recording, "p", 10);
    lp__recording_snapshot(stage.recording);
    lp__recording_close(stage.recording);
    atomic_store(&no_threads, false);
    assert_true(atomic_exchange(&refused, 0) >= 1);
    assert_int_equal(readback_file(&rb, lp__recording_path(stage.recording)), 0);
    assert_int_equal(assert_sums(&rb), 10);
    assert_int_equal(rb.image.header.state, LP_STATE_FINISHED);
    readback_release(&rb);
    stage_close(&stage);
}

/* -- descriptors ------------------------------------------------------------------------------------------------- */

/* In a child: every descriptor above the standard three is refused. */
static int starved_from_the_start(void *arg)
{
    struct stage *stage = arg;
    struct rlimit before, none;
    struct readback rb;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    if (setrlimit(RLIMIT_NOFILE, &none)) return 2;
    record(stage->recording, "p", 500);
    lp__recording_snapshot(stage->recording);
    stage_read(stage, &rb);
    assert_int_equal(assert_sums(&rb), 500);
    assert_int_equal(rb.image.header.place, LP_PLACE_MEMORY);
    assert_true(rb.image.header.write_failures >= 1);
    readback_release(&rb);
    if (setrlimit(RLIMIT_NOFILE, &before)) return 3;
    lp__recording_close(stage->recording); /* the last copy has descriptors again */
    if (readback_file(&rb, lp__recording_path(stage->recording))) return 4;
    assert_int_equal(assert_sums(&rb), 500);
    readback_release(&rb);
    return 0;
}

static int starved_later(void *arg)
{
    struct stage *stage = arg;
    struct rlimit before, none;
    struct readback rb;
    record(stage->recording, "early", 10);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    if (setrlimit(RLIMIT_NOFILE, &none)) return 2;
    record(stage->recording, "p", 1000);
    if (setrlimit(RLIMIT_NOFILE, &before)) return 3;
    stage_read(stage, &rb);
    assert_int_equal(assert_sums(&rb) + drops_of(&rb, LP_DROP_NO_SPACE), 1010);
    assert_true(drops_of(&rb, LP_DROP_NO_SPACE) > 0);
    assert_int_equal(rb.image.header.grow_errno, EMFILE);
    readback_release(&rb);
    stage->recording->store.grow_refused_at = 0;
    record(stage->recording, "p", 1000);
    stage_read(stage, &rb);
    assert_int_equal(phase_at(&rb, "p 999").calls, 1);
    assert_sums(&rb);
    readback_release(&rb);
    lp__recording_close(stage->recording);
    return 0;
}

static void test_no_descriptor_left(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    assert_int_equal(in_child(starved_from_the_start, &stage), 0);
    assert_int_equal(in_child(starved_later, &stage), 0);
    stage_close(&stage);
}

/* A daemon closes everything it did not open: nothing of ours may be among it, and growth goes on. */
static int close_them_all(void *arg)
{
    struct stage *stage = arg;
    struct readback rb;
    int fd;
    record(stage->recording, "early", 10);
    for (fd = 3; fd < 256; fd++)
        close(fd);
    fd = open("/dev/null", O_RDWR);
    record(stage->recording, "p", 1000);
    lp__recording_close(stage->recording);
    if (readback_file(&rb, lp__recording_path(stage->recording))) return 2;
    assert_int_equal(assert_sums(&rb), 1010);
    assert_int_equal(drops_of(&rb, LP_DROP_NO_SPACE), 0);
    readback_release(&rb);
    return fd < 0;
}

static void test_a_daemon_that_closes_every_descriptor(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    assert_int_equal(in_child(close_them_all, &stage), 0);
    stage_close(&stage);
}

/* -- addresses --------------------------------------------------------------------------------------------------- */

static int few_addresses(void *arg)
{
    struct stage *stage = arg;
    struct rlimit limit;
    struct readback rb;
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) return 2;
    fclose(file);
    limit.rlim_cur = limit.rlim_max = (rlim_t)pages * 4096 + ((rlim_t)24 << 20);
    if (setrlimit(RLIMIT_AS, &limit)) return 3;
    record(stage->recording, "p", 500);
    assert_true(stage->recording->store.reserved <= (uint64_t)16 << 20);
    stage_read(stage, &rb);
    assert_int_equal(assert_sums(&rb) + drops_of(&rb, LP_DROP_NO_SPACE), 500);
    assert_true(assert_sums(&rb) > 0);
    readback_release(&rb);
    return 0;
}

static void test_few_addresses(void **state)
{
    struct stage stage;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers' own maps are larger than any limit */
#endif
    stage_open(&stage);
    assert_int_equal(in_child(few_addresses, &stage), 0);
    stage_close(&stage);
}

/* -- the directory ----------------------------------------------------------------------------------------------- */

static void test_the_directory_is_removed_under_way(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    record(stage.recording, "early", 10);
    assert_int_equal(temp_dir_remove(&stage.dir), 0);
    record(stage.recording, "p", 1000);
    record(stage.recording, "early", 10);
    stage_read(&stage, &rb);
    assert_int_equal(assert_sums(&rb) + drops_of(&rb, LP_DROP_NO_SPACE), 1020);
    assert_int_equal(phase_at(&rb, "early 3").calls, 2);
    assert_int_equal(rb.image.header.grow_errno, ENOENT);
    readback_release(&rb);
    lp__recording_close(stage.recording);
    lp__recording_release(stage.recording);
}

/* Somebody puts another file of the same name there: it is not ours to write to. */
static void test_the_file_is_exchanged_under_way(void **state)
{
    static const char other[] = "somebody else's";
    struct stage stage;
    struct readback rb;
    struct lp_buf bytes;
    char path[PATH_MAX];
    (void)state;
    stage_open(&stage);
    record(stage.recording, "early", 10);
    snprintf(path, sizeof path, "%s", lp__recording_path(stage.recording));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(temp_dir_put(&stage.dir, path + strlen(stage.dir.path) + 1, other, sizeof other), 0);
    record(stage.recording, "p", 1000);
    stage_read(&stage, &rb);
    assert_true(drops_of(&rb, LP_DROP_NO_SPACE) > 0);
    assert_int_equal(rb.image.header.grow_errno, ESTALE);
    readback_release(&rb);
    lp__buf_init(&bytes, 4096);
    assert_int_equal(lp__slurp(path, &bytes, NULL), 0);
    assert_int_equal(bytes.len, sizeof other);
    lp__buf_release(&bytes);
    stage_close(&stage);
}

static int record_where_nothing_may_be_written(void *arg)
{
    struct stage *stage = arg;
    struct readback rb;
    if (geteuid() == 0 && setresuid(54326, 54326, 54326)) return 2; /* root may write anywhere */
    record(stage->recording, "p", 100);
    stage_read(stage, &rb);
    assert_int_equal(assert_sums(&rb), 100);
    assert_int_not_equal(rb.image.header.place, LP_PLACE_RUN_DIR);
    readback_release(&rb);
    assert_true(stage->recording->store.why_not_run_dir[0] != '\0');
    lp__recording_close(stage->recording);
    assert_true(lp__recording_write_failures(stage->recording) >= 1);
    (void)unlink(stage->recording->store.live_path);
    (void)rmdir("/dev/shm/lineprofiler-54326");
    return 0;
}

static void test_a_directory_that_may_not_be_written(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    assert_int_equal(mkdir(stage.run, 0555), 0);
    assert_int_equal(chmod(stage.dir.path, 0755), 0);
    assert_int_equal(in_child(record_where_nothing_may_be_written, &stage), 0);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_maps_of_files_at_all),
        cmocka_unit_test(test_a_map_that_is_refused_later),
        cmocka_unit_test(test_blocks_that_are_promised_but_not_reserved),
        cmocka_unit_test(test_no_background_thread),
        cmocka_unit_test(test_no_descriptor_left),
        cmocka_unit_test(test_a_daemon_that_closes_every_descriptor),
        cmocka_unit_test(test_few_addresses),
        cmocka_unit_test(test_the_directory_is_removed_under_way),
        cmocka_unit_test(test_the_file_is_exchanged_under_way),
        cmocka_unit_test(test_a_directory_that_may_not_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
