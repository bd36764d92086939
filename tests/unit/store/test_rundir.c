/* Run directories: made safely, listed with distrust. */
// SPDX-License-Identifier: MIT
#include "store/rundir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/temp_dir.h"

struct fixture {
    struct temp_dir top;
    char run[80]; /* not there yet */
    struct lp_arena arena;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    if (temp_dir_make(&f->top)) return -1;
    (void)snprintf(f->run, sizeof f->run, "%s/a/run", f->top.path);
    lp__arena_init(&f->arena, (size_t)1 << 24);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    lp__arena_release(&f->arena);
    int rc = temp_dir_remove(&f->top);
    free(f);
    return rc;
}

static char *in_run(const struct fixture *f, const char *name)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", f->run, name);
    return path;
}

static void put(const struct fixture *f, const char *name, const char *text)
{
    char path[300];
    (void)snprintf(path, sizeof path, "a/run/%s", name);
    assert_int_equal(temp_dir_put(&f->top, path, text, strlen(text)), 0);
}

static void make_workers(const struct fixture *f)
{
    int fd = lp__rundir_open_workers(f->run, "node1", false, NULL, NULL);
    assert_true(fd >= 0);
    close(fd);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

/* -- making ------------------------------------------------------------------------------------------------------ */

static void a_new_directory_is_private_and_ignored_by_git(void **state)
{
    struct fixture *f = *state;
    bool own = true;
    char text[8] = "";
    mode_t old = umask(0077);
    int fd = lp__rundir_open_workers(f->run, "node1", false, &own, NULL);
    umask(old);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    assert_false(own);
    assert_int_equal(mode_of(f->run), 0700);
    assert_int_equal(mode_of(in_run(f, "workers/node1")), 0700);
    fd = open(in_run(f, ".gitignore"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text), 2);
    assert_string_equal(text, "*\n");
    close(fd);
}

static void a_shared_one_is_open_to_its_group_whatever_the_umask(void **state)
{
    struct fixture *f = *state;
    mode_t old = umask(0077);
    int fd = lp__rundir_open_workers(f->run, "node1", true, NULL, NULL);
    umask(old);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(mode_of(f->run), 0770);
    assert_int_equal(mode_of(in_run(f, "workers")), 0770);
}

static void one_that_is_there_is_used_as_it_is(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(temp_dir_put(&f->top, "a/other", "", 0), 0);
    assert_int_equal(mkdir(f->run, 0755), 0);
    make_workers(f);
    make_workers(f);
    assert_int_equal(mode_of(f->run), 0755);
    assert_int_equal(access(in_run(f, ".gitignore"), F_OK), -1);
}

static void links_inside_are_not_followed(void **state)
{
    struct fixture *f = *state;
    struct lp_error err = {.code = LP_OK};
    make_workers(f);
    assert_int_equal(rmdir(in_run(f, "workers/node1")), 0);
    assert_int_equal(symlink(f->top.path, in_run(f, "workers/node1")), 0);
    assert_int_equal(lp__rundir_open_workers(f->run, "node1", false, NULL, &err), LP_ERR_DENIED);
    assert_int_equal(err.code, LP_ERR_DENIED);
    assert_true(strstr(err.detail, "node1") != NULL);
}

static void a_link_of_our_own_leads_to_the_run(void **state)
{
    struct fixture *f = *state;
    char link[100];
    make_workers(f);
    (void)snprintf(link, sizeof link, "%s/link", f->top.path);
    assert_int_equal(symlink(f->run, link), 0);
    int fd = lp__rundir_open_workers(link, "node2", false, NULL, NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(access(in_run(f, "workers/node2"), F_OK), 0);
}

static void a_file_in_the_way_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct lp_error err = {.code = LP_OK};
    make_workers(f);
    put(f, "file", "");
    assert_int_equal(lp__rundir_open_workers(in_run(f, "file"), "h", false, NULL, &err), LP_ERR_NOT_FOUND);
    assert_int_equal(lp__rundir_open_workers("", "h", false, NULL, &err), LP_ERR_USAGE);
}

/* Another user's directory: only root can make one, so elsewhere the test is skipped. */
static void another_users_directory_gets_a_folder_of_our_own(void **state)
{
    struct fixture *f = *state;
    struct lp_rundir_list list;
    bool own = false;
    char folder[64];
    if (geteuid() != 0) skip();
    make_workers(f);
    assert_int_equal(chown(f->run, 12345, 12345), 0);
    int fd = lp__rundir_open_workers(f->run, "node1", false, &own, NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_true(own);
    (void)snprintf(folder, sizeof folder, "user-%lu/workers/node1", (unsigned long)geteuid());
    assert_int_equal(access(in_run(f, folder), F_OK), 0);
    put(f, "user-0/workers/node1/a.1.0123abcd.lpw", "");
    put(f, "workers/node1/a.2.0123abcd.lpw", "");
    put(f, "workers/node1/a.3.0123abcd.lpw", "");
    assert_int_equal(chown(in_run(f, "workers/node1/a.2.0123abcd.lpw"), 54321, 54321), 0);
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, NULL), LP_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.owner, 12345);
    assert_string_equal(list.files[0].path, "user-0/workers/node1/a.1.0123abcd.lpw");
    assert_int_equal(list.files[0].refused, LP_OK);
    assert_int_equal(list.files[1].refused, LP_ERR_DENIED);
    assert_int_equal(list.files[2].refused, LP_OK);
    assert_int_equal(lp__rundir_list(f->run, true, &f->arena, &list, NULL, NULL), LP_OK);
    assert_int_equal(list.files[1].refused, LP_OK);
    assert_int_equal(chown(in_run(f, "user-0/workers/node1"), 54321, 54321), 0);
    assert_int_equal(lp__rundir_open_workers(f->run, "node1", false, &own, NULL), LP_ERR_DENIED);
}

static void names_are_safe_and_fresh_ones_differ(void **state)
{
    (void)state;
    char out[104], again[32], attempt[32], long_text[300];
    lp__rundir_safe_name(out, "slurm 12/3.0-a_b\n");
    assert_string_equal(out, "slurm_12_3_0-a_b_");
    lp__rundir_safe_name(out, "");
    assert_string_equal(out, "_");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    lp__rundir_safe_name(out, long_text);
    assert_int_equal(strlen(out), 100);
    lp__rundir_fresh_attempt(attempt);
    lp__rundir_fresh_attempt(again);
    assert_int_equal(strlen(attempt), 22);
    assert_int_equal(attempt[8], 'T');
    assert_int_equal(attempt[15], '-');
    assert_string_not_equal(attempt, again);
    lp__rundir_safe_name(out, attempt);
    assert_string_equal(out, attempt);
}

/* -- listing ----------------------------------------------------------------------------------------------------- */

static void only_our_pattern_is_listed_in_order(void **state)
{
    struct fixture *f = *state;
    struct lp_rundir_list list;
    int dir_fd = -1;
    make_workers(f);
    put(f, "workers/node1/b.22.0123abcd.lpw", "12345");
    put(f, "workers/node1/a.1.ffffffff.lpw", "");
    static const char *const others[] = {
        "workers/node1/a.1.fffffff.lpw", "workers/node1/a.1.FFFFFFFF.lpw",  "workers/node1/a.x.ffffffff.lpw",
        "workers/node1/.1.ffffffff.lpw", "workers/node1/.a.1.ffffffff.lpw", "workers/node1/a.1.ffffffff.lpw.tmp",
        "workers/node1/1.ffffffff.lpw",  "workers/a.1.ffffffff.lpw",        "a.1.ffffffff.lpw"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        put(f, others[i], "");
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, &dir_fd, NULL), LP_OK);
    assert_true(dir_fd >= 0);
    close(dir_fd);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.files[0].path, "workers/node1/a.1.ffffffff.lpw");
    assert_string_equal(list.files[1].path, "workers/node1/b.22.0123abcd.lpw");
    assert_string_equal(list.files[1].host, "node1");
    assert_int_equal(list.files[1].bytes, 5);
    assert_int_equal(list.files[1].owner, geteuid());
    assert_true(list.files[1].mtime_ns > 0);
    assert_false(list.truncated);
}

static void what_is_no_regular_file_is_named_and_refused(void **state)
{
    struct fixture *f = *state;
    struct lp_rundir_list list;
    make_workers(f);
    assert_int_equal(mkfifo(in_run(f, "workers/node1/a.1.00000001.lpw"), 0600), 0);
    assert_int_equal(symlink("/dev/zero", in_run(f, "workers/node1/a.2.00000002.lpw")), 0);
    assert_int_equal(mkdir(in_run(f, "workers/node1/a.3.00000003.lpw"), 0700), 0);
    put(f, "workers/node1/a.4.00000004.lpw", "");
    put(f, "workers/node1/a.5.00000005.lpw", "");
    assert_int_equal(truncate(in_run(f, "workers/node1/a.5.00000005.lpw"), ((off_t)1 << 30) + 1), 0);
    assert_int_equal(symlink("/proc", in_run(f, "workers/elsewhere")), 0);
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, NULL), LP_OK);
    assert_int_equal(list.count, 5);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(list.files[i].refused, LP_ERR_DENIED);
    assert_int_equal(list.files[3].refused, LP_OK);
    assert_int_equal(list.files[4].refused, LP_ERR_LIMIT);
}

static void what_is_no_run_is_told_apart(void **state)
{
    struct fixture *f = *state;
    struct lp_rundir_list list;
    struct lp_error err = {.code = LP_OK};
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, &err), LP_ERR_NOT_FOUND);
    make_workers(f);
    assert_int_equal(lp__rundir_list(in_run(f, ".gitignore"), false, &f->arena, &list, NULL, &err), LP_ERR_NOT_FOUND);
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, &err), LP_ERR_NO_RUN);
    assert_true(strstr(err.detail, f->run) != NULL);
    put(f, "workers/node1/w_abc_1_0123abcd.json", "{}");
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, &err), LP_ERR_FOREIGN_RUN);
    assert_true(strstr(err.detail, "with-line-profiler") != NULL);
    put(f, "workers/node1/a.1.00000001.lpw", "");
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, &err), LP_OK);
    assert_false(list.foreign);
}

static void metadata_alone_is_enough_to_know_the_other_tool(void **state)
{
    struct fixture *f = *state;
    struct lp_rundir_list list;
    make_workers(f);
    put(f, "metadata.json", "{}");
    assert_int_equal(lp__rundir_list(f->run, false, &f->arena, &list, NULL, NULL), LP_ERR_FOREIGN_RUN);
    assert_true(list.foreign);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_directory_is_private_and_ignored_by_git),
        TEST(a_shared_one_is_open_to_its_group_whatever_the_umask),
        TEST(one_that_is_there_is_used_as_it_is),
        TEST(links_inside_are_not_followed),
        TEST(a_link_of_our_own_leads_to_the_run),
        TEST(a_file_in_the_way_is_an_error),
        TEST(another_users_directory_gets_a_folder_of_our_own),
        TEST(names_are_safe_and_fresh_ones_differ),
        TEST(only_our_pattern_is_listed_in_order),
        TEST(what_is_no_regular_file_is_named_and_refused),
        TEST(what_is_no_run_is_told_apart),
        TEST(metadata_alone_is_enough_to_know_the_other_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
