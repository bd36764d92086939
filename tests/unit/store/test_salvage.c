/* Salvage: what a killed process left in tmpfs comes home, once, and nothing else does. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/host.h"
#include "store/backing.h"
#include "store/reader.h"
#include "store/salvage.h"
#include "store/writer.h"
#include "support/temp_dir.h"

struct fixture {
    struct temp_dir dir;
    char run[80];
    struct lp_host_facts host;
    char live[PATH_MAX], home[PATH_MAX];
};

static void set_up(struct fixture *f)
{
    assert_int_equal(temp_dir_make(&f->dir), 0);
    snprintf(f->run, sizeof f->run, "%.63s/run", f->dir.path);
    lp__clock_init(false);
    lp__host_facts(&f->host);
}

static void tear_down(struct fixture *f)
{
    (void)unlink(f->live);
    assert_int_equal(temp_dir_remove(&f->dir), 0);
}

/* -- processes that are killed ----------------------------------------------------------------------------------- */

struct story {
    struct fixture *fixture;
    bool copies;      /* once, before the last name */
    bool finishes;    /* without being able to copy */
    int64_t older_ns; /* than the clock says */
    bool other_boot, other_namespace, damaged, nothing;
};

struct names {
    char live[PATH_MAX], path[PATH_MAX];
};

static void tamper(const struct story *story, struct lp_store *store)
{
    struct lp_file_header *header = lp__store_header(store);
    header->created_real_ns -= (uint64_t)story->older_ns;
    if (story->other_boot) header->boot_id[0] ^= 1;
    if (story->other_namespace) header->pid_namespace++;
    header->check = lp__crc32c(lp__crc32c(0, &header->version, 8), &header->pid, LP_FILE_CHECKED_END - 20);
    if (story->damaged) header->check ^= 1;
    if (story->nothing) memset(store->base, 0, store->mapped);
    if (story->finishes) header->state = LP_STATE_FINISHED;
}

static void live_and_wait(const struct story *story, int out)
{
    struct fixture *f = story->fixture;
    struct lp_store store;
    struct names names;
    struct lp_store_options options = {.run_dir = f->run,
                                       .host = f->host.name,
                                       .attempt = "attempt",
                                       .choice = LP_STORE_SHM,
                                       .pid = (uint32_t)getpid(),
                                       .pid_start = lp__process_start(getpid())};
    lp__host_identity(options.boot_id, &options.pid_namespace);
    if (lp__store_open(&store, &options, NULL) || store.place != LP_PLACE_SHM) _exit(1);
    if (!lp__store_name(&store, "early", 5)) _exit(2);
    if (story->copies && lp__store_copy_out(&store)) _exit(3);
    if (!lp__store_name(&store, "late", 4)) _exit(4);
    tamper(story, &store);
    memcpy(names.live, store.live_path, sizeof names.live);
    memcpy(names.path, store.path, sizeof names.path);
    if (write(out, &names, sizeof names) != sizeof names) _exit(5);
    for (;;)
        pause();
}

static pid_t start(const struct story *story)
{
    struct fixture *f = story->fixture;
    struct names names;
    size_t got = 0;
    int ends[2];
    pid_t pid;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        live_and_wait(story, ends[1]);
    }
    close(ends[1]);
    while (got < sizeof names) {
        ssize_t more = read(ends[0], (char *)&names + got, sizeof names - got);
        if (more <= 0) fail_msg("the child ended early");
        got += (size_t)more;
    }
    close(ends[0]);
    memcpy(f->live, names.live, sizeof f->live);
    memcpy(f->home, names.path, sizeof f->home);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void kill_one(const struct story *story)
{
    end(start(story));
}

/* -- what is found ----------------------------------------------------------------------------------------------- */

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Does the file hold the name that was recorded last? */
static bool has_name(const char *path, const char *name)
{
    struct lp_buf bytes;
    bool found;
    lp__buf_init(&bytes, (size_t)1 << 20);
    found = !lp__slurp(path, &bytes, NULL) && memmem(bytes.data, bytes.len, name, strlen(name)) != NULL;
    lp__buf_release(&bytes);
    return found;
}

static void test_what_was_recorded_last_comes_home(void **state)
{
    struct fixture f;
    struct stat st;
    (void)state;
    set_up(&f);
    kill_one(&(struct story){.fixture = &f, .copies = true});
    assert_true(exists(f.live) && has_name(f.home, "early") && !has_name(f.home, "late"));
    errno = 42;
    assert_int_equal(lp__salvage(f.run, true), 1);
    assert_int_equal(errno, 42);
    assert_true(has_name(f.home, "late"));
    assert_int_equal(stat(f.home, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_false(exists(f.live));
    assert_int_equal(lp__salvage(f.run, true), 0);
    tear_down(&f);
}

static void test_a_process_killed_before_its_first_copy(void **state)
{
    struct fixture f;
    struct lp_buf bytes;
    struct lp_arena arena;
    struct lp_image image;
    (void)state;
    set_up(&f);
    kill_one(&(struct story){.fixture = &f});
    assert_false(exists(f.home));
    assert_int_equal(lp__salvage(f.run, false), 1); /* the next start does it too */
    lp__buf_init(&bytes, (size_t)1 << 20);
    lp__arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(lp__slurp(f.home, &bytes, NULL), 0);
    assert_int_equal(lp__image_index(&image, bytes.data, bytes.len, &arena, NULL), 0);
    assert_int_equal(bytes.len, image.header.tiled_bytes); /* the used part */
    assert_false(image.header_damaged || image.truncated);
    lp__buf_release(&bytes);
    lp__arena_release(&arena);
    tear_down(&f);
}

static void test_a_process_that_lives_keeps_its_file(void **state)
{
    struct fixture f;
    pid_t pid;
    (void)state;
    set_up(&f);
    pid = start(&(struct story){.fixture = &f});
    assert_int_equal(lp__salvage(f.run, true), 0);
    assert_true(exists(f.live) && !exists(f.home));
    end(pid);
    assert_int_equal(lp__salvage(f.run, true), 1);
    tear_down(&f);
}

static void test_one_that_could_not_make_its_last_copy(void **state)
{
    struct fixture f;
    pid_t pid;
    (void)state;
    set_up(&f);
    pid = start(&(struct story){.fixture = &f, .finishes = true});
    assert_int_equal(lp__salvage(f.run, true), 1); /* alive, but done with it */
    assert_true(has_name(f.home, "late"));
    end(pid);
    tear_down(&f);
}

static void assert_left(const struct story *story)
{
    struct fixture *f = story->fixture;
    set_up(f);
    kill_one(story);
    assert_int_equal(lp__salvage(f->run, true), 0);
    assert_true(exists(f->live));
    assert_false(exists(f->home));
    tear_down(f);
}

static void test_what_cannot_be_judged_stays(void **state)
{
    struct fixture f;
    (void)state;
    assert_left(&(struct story){.fixture = &f, .other_boot = true});
    assert_left(&(struct story){.fixture = &f, .other_namespace = true});
    assert_left(&(struct story){.fixture = &f, .damaged = true});
}

static void test_what_holds_nothing_is_removed(void **state)
{
    struct fixture f;
    pid_t pid;
    (void)state;
    set_up(&f);
    pid = start(&(struct story){.fixture = &f, .nothing = true});
    assert_int_equal(lp__salvage(f.run, true), 0);
    assert_true(exists(f.live)); /* it may be about to begin */
    end(pid);
    assert_int_equal(lp__salvage(f.run, true), 0);
    assert_false(exists(f.live) || exists(f.home));
    tear_down(&f);
}

static void test_a_directory_made_later_gets_nothing_of_an_older_one(void **state)
{
    struct fixture f;
    int fd;
    (void)state;
    set_up(&f);
    kill_one(&(struct story){.fixture = &f, .older_ns = INT64_C(3600) * 1000000000});
    fd = open(f.run, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    if (lp__file_birth_ns(fd) == 0) { /* this file system does not say */
        close(fd);
        tear_down(&f);
        skip();
    }
    close(fd);
    assert_int_equal(lp__salvage(f.run, true), 0);
    assert_false(exists(f.live) || exists(f.home));
    tear_down(&f);
}

static void test_another_directorys_files_stay(void **state)
{
    struct fixture f, other;
    (void)state;
    set_up(&f);
    set_up(&other);
    assert_int_equal(mkdir(other.run, 0700), 0);
    kill_one(&(struct story){.fixture = &f});
    assert_int_equal(lp__salvage(other.run, true), 0);
    assert_int_equal(lp__salvage("/nowhere at all", true), 0);
    assert_true(exists(f.live) && !exists(f.home));
    other.live[0] = '\0';
    tear_down(&other);
    tear_down(&f);
}

static void test_odd_entries_are_passed_over(void **state)
{
    static const char *const names[] = {"odd", "0123456789abcdef", "0123456789abcdef.x.lpw",
                                        "0123456789abcdef.a.1.00000000.lpw.x"};
    struct fixture f;
    char folder[64], prefix[18], name[200];
    size_t i;
    int at, fd;
    (void)state;
    set_up(&f);
    kill_one(&(struct story){.fixture = &f});
    at = lp__backing_shm_directory(folder, false);
    assert_true(at >= 0);
    assert_true(lp__backing_shm_prefix(f.run, prefix));
    for (i = 0; i < 4; i++) {
        fd = openat(at, names[i], O_CREAT | O_EXCL | O_WRONLY, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    snprintf(name, sizeof name, "%sa.1.00000000.lpw", prefix); /* a link, a FIFO and an empty file of our pattern */
    assert_int_equal(symlinkat("/dev/zero", at, name), 0);
    snprintf(name, sizeof name, "%sa.1.00000001.lpw", prefix);
    assert_int_equal(mkfifoat(at, name, 0600), 0);
    snprintf(name, sizeof name, "%sa.1.00000002.lpw", prefix);
    fd = openat(at, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(lp__salvage(f.run, true), 1);
    assert_true(has_name(f.home, "late"));
    for (i = 0; i < 4; i++)
        assert_int_equal(unlinkat(at, names[i], 0), 0);
    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%sa.1.0000000%zu.lpw", prefix, i);
        assert_int_equal(unlinkat(at, name, 0), 0);
    }
    close(at);
    tear_down(&f);
}

static void test_two_at_once_share_the_work(void **state)
{
    struct fixture f;
    int i, status, all = 0;
    (void)state;
    set_up(&f);
    for (i = 0; i < 8; i++)
        kill_one(&(struct story){.fixture = &f});
    for (i = 0; i < 3; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) _exit((int)lp__salvage(f.run, true));
    }
    while (wait(&status) > 0)
        all += WEXITSTATUS(status);
    assert_int_equal(all, 8);
    tear_down(&f);
}

/* A reader who does not own the directory changes nothing in it; a start of that user comes below user-<uid>. */
static void test_a_reader_changes_nothing_in_anothers_directory(void **state)
{
    struct fixture f;
    int status;
    pid_t pid;
    (void)state;
    if (geteuid() != 0) skip();
    set_up(&f);
    assert_int_equal(mkdir(f.run, 0777), 0);
    assert_int_equal(chmod(f.run, 0777) | chmod(f.dir.path, 0755), 0); /* root's, open to all */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setresuid(54325, 54325, 54325)) _exit(9);
        kill_one(&(struct story){.fixture = &f});
        if (lp__salvage(f.run, true) != 0 || !exists(f.live)) _exit(1);
        if (lp__salvage(f.run, false) != 1 || exists(f.live) || !has_name(f.home, "late")) _exit(2);
        _exit(strstr(f.home, "/user-54325/workers/") ? 0 : 3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)rmdir("/dev/shm/lineprofiler-54325");
    f.live[0] = '\0';
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_recorded_last_comes_home),
        cmocka_unit_test(test_a_process_killed_before_its_first_copy),
        cmocka_unit_test(test_a_process_that_lives_keeps_its_file),
        cmocka_unit_test(test_one_that_could_not_make_its_last_copy),
        cmocka_unit_test(test_what_cannot_be_judged_stays),
        cmocka_unit_test(test_what_holds_nothing_is_removed),
        cmocka_unit_test(test_a_directory_made_later_gets_nothing_of_an_older_one),
        cmocka_unit_test(test_another_directorys_files_stay),
        cmocka_unit_test(test_odd_entries_are_passed_over),
        cmocka_unit_test(test_two_at_once_share_the_work),
        cmocka_unit_test(test_a_reader_changes_nothing_in_anothers_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
