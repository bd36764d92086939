/* The source revision from hand-made .git folders: loose and packed refs, detached, work trees, and hostile content. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "os/host.h"
#include "scratch.h"

#define HASH  "0123456789abcdef0123456789abcdef01234567"
#define OTHER "fedcba9876543210fedcba9876543210fedcba98"

static char revision[65], branch[128];

static bool read_at(const char *name)
{
    return lp__git_revision(at(name), revision, branch);
}

static void test_loose_ref_from_a_folder_below(void **state)
{
    (void)state;
    put("r/.git/HEAD", "ref: refs/heads/feature/x\n");
    put("r/.git/refs/heads/feature/x", HASH "\n");
    put("r/src/deep/file", "");
    assert_true(read_at("r/src/deep"));
    assert_string_equal(revision, HASH);
    assert_string_equal(branch, "feature/x");
}

static void test_packed_ref(void **state)
{
    (void)state;
    put("r/.git/HEAD", "ref: refs/heads/main\n");
    put("r/.git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" OTHER " refs/heads/maintenance\n" HASH
                              " refs/heads/main\n^" OTHER "\n");
    assert_true(read_at("r"));
    assert_string_equal(revision, HASH);
    assert_string_equal(branch, "main");
    put("r/.git/refs/heads/main", OTHER "\n"); /* a loose ref is newer */
    assert_true(read_at("r"));
    assert_string_equal(revision, OTHER);
}

static void test_detached(void **state)
{
    (void)state;
    put("r/.git/HEAD", HASH "\n");
    assert_true(read_at("r"));
    assert_string_equal(revision, HASH);
    assert_string_equal(branch, "");
}

static void test_branch_without_commit(void **state)
{
    (void)state;
    put("r/.git/HEAD", "ref: refs/heads/main\n");
    assert_true(read_at("r"));
    assert_string_equal(revision, "");
    assert_string_equal(branch, "main");
}

static void test_work_tree(void **state)
{
    (void)state;
    put("r/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
    put("r/.git/worktrees/w/commondir", "../..\n");
    put("r/.git/refs/heads/side", HASH "\n");
    put("w/.git", "gitdir: ../r/.git/worktrees/w\n");
    assert_true(read_at("w"));
    assert_string_equal(revision, HASH);
    assert_string_equal(branch, "side");
}

static void test_no_repository(void **state)
{
    (void)state;
    put("plain/file", "");
    assert_false(read_at("plain")); /* the scratch folder itself must lie outside a work tree */
    assert_false(read_at("missing"));
    assert_string_equal(revision, "");
}

static void test_hostile_content(void **state)
{
    (void)state;
    put("r/.git/HEAD", "ref: refs/heads/../../../secret\n");
    put("r/secret", HASH "\n");
    put("r/.git/refs/heads/x", HASH "\n"); /* so that the path above could be walked */
    assert_true(read_at("r"));
    assert_string_equal(revision, "");
    put("r/.git/HEAD", "ref: /etc/hostname\n");
    assert_true(read_at("r"));
    assert_string_equal(revision, "");
    put("r/.git/HEAD", "ref: refs/heads/loop\n");
    put("r/.git/refs/heads/loop", "ref: refs/heads/loop\n");
    assert_true(read_at("r"));
    assert_string_equal(revision, "");
    put("r/.git/refs/heads/loop", "0123456789ABCDEF0123456789ABCDEF01234567\n"); /* not how git writes it */
    assert_true(read_at("r"));
    assert_string_equal(revision, "");
    assert_int_equal(remove(at("r/.git/HEAD")), 0);
    assert_int_equal(mkfifo(at("r/.git/HEAD"), 0600), 0);
    assert_false(read_at("r"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loose_ref_from_a_folder_below),
        TEST(test_packed_ref),
        TEST(test_detached),
        TEST(test_branch_without_commit),
        TEST(test_work_tree),
        TEST(test_no_repository),
        TEST(test_hostile_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
