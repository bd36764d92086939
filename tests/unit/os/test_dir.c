/* Directories by descriptor: no links, no surprises, errno untouched. */
// SPDX-License-Identifier: MIT
#include "os/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[32];
static int fd;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof top, "/tmp/lp-dir-XXXXXX");
    if (!mkdtemp(top)) return -1;
    fd = lp__dir_open_at(LP_DIR_CWD, top, false, NULL);
    return fd < 0;
}

static int remove_entry(const char *name, void *arg)
{
    (void)arg;
    return unlinkat(fd, name, 0) && unlinkat(fd, name, AT_REMOVEDIR) ? 1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    int rc = lp__dir_each(fd, remove_entry, NULL);
    lp__close_fd(fd);
    return rc || rmdir(top);
}

static void a_directory_is_made_once_with_its_mode(void **state)
{
    (void)state;
    struct lp_file_facts facts;
    mode_t old = umask(0077);
    errno = 4711;
    assert_int_equal(lp__dir_make_at(fd, "new", 0770, NULL), 1);
    assert_int_equal(lp__dir_make_at(fd, "new", 0700, NULL), 0);
    assert_int_equal(errno, 4711);
    umask(old);
    assert_true(lp__file_facts_at(fd, "new", &facts));
    assert_int_equal(facts.kind, LP_FILE_DIRECTORY);
    assert_int_equal(facts.mode, 0770);
    assert_int_equal(facts.owner, lp__effective_user());
    assert_int_equal(lp__dir_make_at(fd, "missing/new", 0700, NULL), LP_ERR_NOT_FOUND);
}

static void a_link_is_a_link(void **state)
{
    (void)state;
    struct lp_file_facts facts;
    struct lp_error err = {.code = LP_OK};
    assert_int_equal(symlinkat("/", fd, "link"), 0);
    assert_true(lp__file_facts_at(fd, "link", &facts));
    assert_int_equal(facts.kind, LP_FILE_LINK);
    assert_int_equal(lp__dir_open_at(fd, "link", false, &err), LP_ERR_DENIED);
    assert_true(strstr(err.detail, "link") != NULL);
    int root = lp__dir_open_at(fd, "link", true, NULL);
    assert_true(root >= 0);
    assert_true(lp__file_facts(root, &facts));
    assert_int_equal(facts.kind, LP_FILE_DIRECTORY);
    lp__close_fd(root);
}

static void a_new_file_is_new(void **state)
{
    (void)state;
    struct lp_file_facts facts;
    assert_int_equal(lp__file_create_at(fd, "file", 0600, "abc", 3, NULL), LP_OK);
    assert_true(lp__file_create_at(fd, "file", 0600, "x", 1, NULL) < 0);
    assert_true(lp__file_facts_at(fd, "file", &facts));
    assert_int_equal(facts.kind, LP_FILE_REGULAR);
    assert_int_equal(facts.bytes, 3);
    assert_true(facts.mtime_ns > 0);
    assert_int_equal(lp__dir_open_at(fd, "file", true, NULL), LP_ERR_NOT_FOUND);
    assert_int_equal(symlinkat("elsewhere", fd, "dangling"), 0);
    assert_true(lp__file_create_at(fd, "dangling", 0600, "x", 1, NULL) < 0);
    assert_false(lp__file_facts_at(fd, "elsewhere", &facts));
    assert_false(lp__file_facts(-1, &facts));
}

static int count_to_two(const char *name, void *arg)
{
    int *count = arg;
    assert_string_not_equal(name, ".");
    assert_string_not_equal(name, "..");
    return ++*count == 2 ? 42 : 0;
}

static void a_visit_may_end_early(void **state)
{
    (void)state;
    int count = 0;
    assert_int_equal(lp__dir_each(fd, count_to_two, &count), 0);
    for (char name[2] = "a"; name[0] <= 'd'; name[0]++)
        assert_int_equal(lp__file_create_at(fd, name, 0600, "", 0, NULL), LP_OK);
    assert_int_equal(lp__dir_each(fd, count_to_two, &count), 42);
    assert_int_equal(count, 2);
    assert_int_equal(lp__dir_each(-1, count_to_two, &count), LP_ERR_IO);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_directory_is_made_once_with_its_mode),
        TEST(a_link_is_a_link),
        TEST(a_new_file_is_new),
        TEST(a_visit_may_end_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
