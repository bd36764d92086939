/* Removing what was looked at and nothing else. */
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/dir.h"
#include "os/remove.h"

static char base[512];
static int base_fd;
static struct lp_error err;

static int set_up(void **state)
{
    (void)state;
    if (lp__temp_dir_make(base, sizeof base, &err)) return -1;
    base_fd = lp__dir_open_at(LP_DIR_CWD, base, false, &err);
    return base_fd < 0;
}

static int tear_down(void **state)
{
    (void)state;
    lp__close_fd(base_fd);
    lp__temp_dir_remove(base);
    return access(base, F_OK) == 0;
}

static struct lp_file_facts put(const char *name)
{
    struct lp_file_facts facts;
    int fd = openat(base_fd, name, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_true(lp__file_facts_at(base_fd, name, &facts));
    return facts;
}

static bool there(const char *name)
{
    struct lp_file_facts facts;
    return lp__file_facts_at(base_fd, name, &facts);
}

static int remove_it(const char *name, const struct lp_file_facts *facts)
{
    return lp__remove_file_at(base_fd, name, facts->device, facts->inode, &err);
}

static void test_removes_the_file(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(base_fd, "a", 0700), 0);
    assert_int_equal(mkdirat(base_fd, "a/b", 0700), 0);
    struct lp_file_facts facts = put("a/b/file");
    put("a/other");
    assert_int_equal(remove_it("a/b/file", &facts), LP_OK);
    assert_false(there("a/b/file"));
    lp__remove_empty_parents_at(base_fd, "a/b/file");
    assert_false(there("a/b"));
    assert_true(there("a/other")); /* a is not empty, so it stays */
    assert_int_equal(remove_it("a/b/file", &facts), LP_ERR_NOT_FOUND);
}

static void test_another_file_stays(void **state)
{
    (void)state;
    struct lp_file_facts facts = put("file");
    put("second");
    assert_int_equal(renameat(base_fd, "second", base_fd, "file"), 0);
    assert_int_equal(remove_it("file", &facts), LP_ERR_DENIED);
    assert_true(there("file"));
}

static void test_links_lead_nowhere(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(base_fd, "real", 0700), 0);
    struct lp_file_facts facts = put("real/file");
    assert_int_equal(symlinkat("real", base_fd, "link"), 0);
    assert_int_equal(remove_it("link/file", &facts), LP_ERR_DENIED);
    assert_int_equal(symlinkat("real/file", base_fd, "leaf"), 0);
    assert_int_equal(remove_it("leaf", &facts), LP_ERR_DENIED);
    assert_int_equal(remove_it("real/../real/file", &facts), LP_ERR_DENIED);
    assert_int_equal(remove_it("real//file", &facts), LP_ERR_DENIED);
    assert_true(there("real/file"));
    assert_true(there("leaf"));
    lp__remove_empty_parents_at(base_fd, "link/x");
    assert_true(there("link"));
}

static void test_folders_are_no_files(void **state)
{
    struct lp_file_facts facts;
    (void)state;
    assert_int_equal(mkdirat(base_fd, "folder", 0700), 0);
    assert_true(lp__file_facts_at(base_fd, "folder", &facts));
    assert_int_equal(remove_it("folder", &facts), LP_ERR_DENIED);
    assert_true(there("folder"));
}

static void test_temp_dir_follows_no_link(void **state)
{
    char inner[256], outside[600];
    (void)state;
    assert_int_equal(lp__temp_dir_make(inner, sizeof inner, &err), LP_OK);
    struct stat is;
    assert_int_equal(stat(inner, &is), 0);
    assert_int_equal(is.st_mode & 07777, 0700);
    put("kept");
    snprintf(outside, sizeof outside, "%s/out", inner);
    assert_int_equal(symlink(base, outside), 0);
    lp__temp_dir_remove(inner);
    assert_int_equal(access(inner, F_OK), -1);
    assert_true(there("kept"));
    assert_int_equal(lp__temp_dir_make(inner, 8, &err), LP_ERR_IO);
}

static void test_temp_dir_without_a_place(void **state)
{
    char inner[256];
    (void)state;
    setenv("TMPDIR", "/proc/nowhere", 1);
    assert_int_equal(lp__temp_dir_make(inner, sizeof inner, &err), LP_ERR_IO);
    unsetenv("TMPDIR");
    assert_non_null(strstr(err.detail, "/proc/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_removes_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_file_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_lead_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders_are_no_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_temp_dir_follows_no_link, set_up, tear_down),
        cmocka_unit_test(test_temp_dir_without_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
