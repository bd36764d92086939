/* Files: whole reads and writes through every kind of file, errno kept, no descriptor left, interruption survived. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "os/file.h"
#include "scratch.h"

static int descriptors;

static int set_up(void **state)
{
    descriptors = open_descriptors();
    return scratch_make(state);
}

static int tear_down(void **state)
{
    assert_int_equal(open_descriptors(), descriptors);
    return scratch_remove(state);
}

static void assert_content(const char *path, const char *expected)
{
    struct lp_buf buf;
    lp__buf_init(&buf, 1 << 20);
    assert_int_equal(lp__slurp(path, &buf, NULL), LP_OK);
    assert_int_equal(buf.len, strlen(expected));
    if (buf.len) assert_string_equal(buf.data, expected);
    lp__buf_release(&buf);
}

static void test_slurp_reads_whole_and_leaves_the_rest(void **state)
{
    (void)state;
    struct lp_buf buf;
    char text[9001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    put("big", text);
    lp__buf_init(&buf, 1 << 20);
    errno = 77;
    assert_int_equal(lp__slurp(at("big"), &buf, NULL), LP_OK);
    assert_int_equal(errno, 77);
    assert_int_equal(buf.len, 9000);
    lp__buf_release(&buf);
    lp__buf_init(&buf, 4100);
    assert_int_equal(lp__slurp(at("big"), &buf, NULL), LP_OK);
    assert_int_equal(buf.len, 4100);
    lp__buf_release(&buf);
}

static void test_slurp_reads_proc(void **state)
{
    (void)state;
    struct lp_buf buf;
    lp__buf_init(&buf, 1 << 20);
    assert_int_equal(lp__slurp("/proc/self/stat", &buf, NULL), LP_OK);
    assert_true(buf.len > 20);
    lp__buf_release(&buf);
}

static void test_slurp_refuses_what_is_no_file(void **state)
{
    (void)state;
    struct lp_buf buf;
    struct lp_error err;
    lp__buf_init(&buf, 100);
    assert_int_equal(lp__slurp(at("missing"), &buf, &err), LP_ERR_NOT_FOUND);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_non_null(strstr(err.detail, "missing"));
    assert_int_equal(lp__slurp(scratch, &buf, &err), LP_ERR_DENIED);
    assert_int_equal(mkfifo(at("fifo"), 0600), 0); /* must not wait for a writer */
    assert_int_equal(lp__slurp(at("fifo"), &buf, &err), LP_ERR_DENIED);
    assert_int_equal(lp__slurp("/dev/zero", &buf, &err), LP_ERR_DENIED);
    assert_int_equal(buf.len, 0);
    lp__mem_fail_after(0);
    put("file", "text");
    assert_int_equal(lp__slurp(at("file"), &buf, &err), LP_ERR_NO_MEMORY);
    lp__mem_fail_after(-1);
    lp__buf_release(&buf);
}

static void test_open_regular_only(void **state)
{
    (void)state;
    struct lp_error err;
    uint64_t size = 0;
    uid_t owner = 12345;
    put("file", "12345");
    assert_int_equal(symlink("file", at("link")), 0);
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    int dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = lp__open_regular_at(dir, "file", &size, &owner, &err);
    assert_true(fd >= 0);
    assert_int_equal(size, 5);
    assert_int_equal(owner, geteuid());
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    assert_int_equal(lp__open_regular_at(dir, "link", NULL, NULL, &err), LP_ERR_DENIED);
    assert_non_null(strstr(err.detail, "link"));
    assert_int_equal(lp__open_regular_at(dir, "dangling", NULL, NULL, NULL), LP_ERR_DENIED);
    assert_int_equal(lp__open_regular_at(dir, "fifo", NULL, NULL, NULL), LP_ERR_DENIED);
    assert_int_equal(lp__open_regular_at(dir, ".", NULL, NULL, NULL), LP_ERR_DENIED);
    assert_int_equal(lp__open_regular_at(dir, "none", NULL, NULL, NULL), LP_ERR_NOT_FOUND);
    close(dir);
}

static void test_pread_is_short_only_at_the_end(void **state)
{
    (void)state;
    char bytes[16];
    put("file", "0123456789");
    int fd = lp__open_regular_at(AT_FDCWD, at("file"), NULL, NULL, NULL);
    assert_int_equal(lp__pread_full(fd, bytes, 4, 3), 4);
    assert_memory_equal(bytes, "3456", 4);
    assert_int_equal(lp__pread_full(fd, bytes, 16, 5), 5);
    assert_int_equal(lp__pread_full(fd, bytes, 16, 10), 0);
    assert_int_equal(lp__pread_full(fd, bytes, 16, 1000), 0);
    assert_int_equal(lp__pread_full(fd, bytes, 16, UINT64_MAX), 0);
    assert_int_equal(lp__pread_full(fd, bytes, 0, 0), 0);
    close(fd);
    assert_true(lp__pread_full(-1, bytes, 1, 0) < 0);
}

struct reader {
    int fd;
    size_t got;
    pthread_t writer;
};

static atomic_int signals_seen;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_seen, 1);
}

static void interrupt(pthread_t thread)
{
    int before = atomic_load(&signals_seen);
    pthread_kill(thread, SIGUSR1);
    while (atomic_load(&signals_seen) == before)
        sched_yield();
}

/* Takes a few bytes at a time.  The writer, blocked in front of the full pipe, is interrupted three times before each:
 * once in the middle of a write, which comes back short, and then with nothing written. */
static void *read_slowly(void *arg)
{
    struct reader *reader = arg;
    char bytes[7777];
    ssize_t got;
    do {
        for (int i = 0; i < 3; i++)
            interrupt(reader->writer);
        got = read(reader->fd, bytes, sizeof bytes);
        if (got > 0) reader->got += (size_t)got;
    } while (got > 0);
    return NULL;
}

static void write_through_pipe(bool non_blocking)
{
    static char bytes[300000];
    int ends[2];
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_signal}, old; /* no SA_RESTART: calls come back with EINTR */
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    if (non_blocking) assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    struct reader reader = {.fd = ends[0], .writer = pthread_self()};
    assert_int_equal(pthread_create(&thread, NULL, read_slowly, &reader), 0);
    assert_int_equal(lp__write_full(ends[1], bytes, sizeof bytes, NULL), LP_OK);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    sigaction(SIGUSR1, &old, NULL);
    assert_int_equal(reader.got, sizeof bytes);
}

static void test_write_survives_interruption_and_short_writes(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the sanitizer holds signals back until a write returns, and this one waits for the signal */
#endif
    write_through_pipe(false);
    write_through_pipe(true);
}

static void test_write_errors_are_told(void **state)
{
    (void)state;
    struct lp_error err;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full >= 0) assert_int_equal(lp__write_full(full, "x", 1, &err), LP_ERR_NO_SPACE);
    close(full);
    assert_int_equal(lp__write_full(-1, "x", 1, &err), LP_ERR_IO);
    assert_int_equal(err.sys_errno, EBADF);
}

static size_t entries(void)
{
    size_t count = 0;
    char command[600];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", scratch);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%zu", &count), 1);
    pclose(pipe);
    return count;
}

static void test_atomic_write_creates_and_replaces(void **state)
{
    (void)state;
    struct stat st;
    errno = 77;
    assert_int_equal(lp__write_atomic(at("out"), "one", 3, false, NULL), LP_OK);
    assert_int_equal(errno, 77);
    assert_content(at("out"), "one");
    assert_int_equal(chmod(at("out"), 0640), 0);
    assert_int_equal(link(at("out"), at("old")), 0);
    assert_int_equal(lp__write_atomic(at("out"), "second", 6, false, NULL), LP_OK);
    assert_content(at("out"), "second");
    assert_content(at("old"), "one"); /* replaced, not overwritten */
    assert_int_equal(stat(at("out"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(lp__write_atomic(at("empty"), "", 0, false, NULL), LP_OK);
    assert_content(at("empty"), "");
    assert_int_equal(entries(), 3); /* no temporary file stays */
}

static void test_atomic_write_makes_parents_only_when_asked(void **state)
{
    (void)state;
    assert_int_equal(lp__write_atomic(at("a/b/c"), "x", 1, false, NULL), LP_ERR_NOT_FOUND);
    assert_int_equal(lp__write_atomic(at("a/b/c"), "x", 1, true, NULL), LP_OK);
    assert_content(at("a/b/c"), "x");
}

static void test_atomic_write_refuses_links_and_folders(void **state)
{
    (void)state;
    struct lp_error err;
    put("target", "untouched");
    assert_int_equal(symlink("target", at("link")), 0);
    assert_int_equal(lp__write_atomic(at("link"), "x", 1, false, &err), LP_ERR_DENIED);
    assert_content(at("target"), "untouched");
    assert_int_equal(lp__write_atomic(scratch, "x", 1, false, &err), LP_ERR_USAGE);
    assert_int_equal(lp__write_atomic(at("new/"), "x", 1, true, &err), LP_ERR_USAGE);
    assert_int_equal(lp__write_atomic("", "x", 1, false, &err), LP_ERR_USAGE);
}

static void *read_all(void *arg)
{
    char *into = arg;
    int fd = open(at("fifo"), O_RDONLY | O_CLOEXEC);
    size_t got = 0;
    ssize_t more;
    while ((more = read(fd, into + got, 63 - got)) > 0)
        got += (size_t)more;
    close(fd);
    return NULL;
}

static void test_atomic_write_goes_through_pipes_and_devices(void **state)
{
    (void)state;
    struct stat st;
    char read_back[64] = "";
    pthread_t thread;
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, read_back), 0);
    assert_int_equal(lp__write_atomic(at("fifo"), "through", 7, false, NULL), LP_OK);
    pthread_join(thread, NULL);
    assert_string_equal(read_back, "through");
    assert_int_equal(lstat(at("fifo"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(lp__write_atomic("/dev/null", "x", 1, false, NULL), LP_OK);
    assert_int_equal(lstat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

static void test_atomic_write_to_a_descriptor(void **state)
{
    (void)state;
    char path[32], bytes[8] = "";
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(lp__write_atomic(path, "word", 4, false, NULL), LP_OK);
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 4);
    assert_string_equal(bytes, "word");
    close(ends[0]);
    close(ends[1]);
}

static void test_atomic_write_keeps_the_old_on_failure(void **state)
{
    (void)state;
    put("out", "old");
    for (long successes = 0; successes < 3; successes++) {
        lp__mem_fail_after(successes);
        int rc = lp__write_atomic(at("out"), "new", 3, false, NULL);
        lp__mem_fail_after(-1);
        assert_content(at("out"), rc ? "old" : "new");
    }
    assert_int_equal(entries(), 1);
}

static void test_full_disk_leaves_no_debris(void **state)
{
    (void)state;
    struct lp_error err;
    struct rlimit old, tiny;
    put("out", "old");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tiny = (struct rlimit){.rlim_cur = 4, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    int rc = lp__write_atomic(at("out"), "longer than four", 16, false, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, LP_ERR_NO_SPACE);
    assert_content(at("out"), "old");
    assert_int_equal(entries(), 1);
}

static void test_make_dirs(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(lp__make_dirs(at("a//b/./c/"), 0700, NULL), LP_OK);
    assert_int_equal(stat(at("a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(lp__make_dirs(at("a/b"), 0700, NULL), LP_OK);
    assert_int_equal(lp__make_dirs("/", 0700, NULL), LP_OK);
    put("file", "");
    struct lp_error err;
    assert_true(lp__make_dirs(at("file"), 0700, &err) < 0);
    assert_true(lp__make_dirs(at("file/below"), 0700, &err) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_slurp_reads_whole_and_leaves_the_rest),
        TEST(test_slurp_reads_proc),
        TEST(test_slurp_refuses_what_is_no_file),
        TEST(test_open_regular_only),
        TEST(test_pread_is_short_only_at_the_end),
        TEST(test_write_survives_interruption_and_short_writes),
        TEST(test_write_errors_are_told),
        TEST(test_atomic_write_creates_and_replaces),
        TEST(test_atomic_write_makes_parents_only_when_asked),
        TEST(test_atomic_write_refuses_links_and_folders),
        TEST(test_atomic_write_goes_through_pipes_and_devices),
        TEST(test_atomic_write_to_a_descriptor),
        TEST(test_atomic_write_keeps_the_old_on_failure),
        TEST(test_full_disk_leaves_no_debris),
        TEST(test_make_dirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
