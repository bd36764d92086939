/* Limits of control groups from made-up /proc and /sys trees: both versions, containers, and every level of the path.
 */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <math.h>

#include "os/cgroup.h"
#include "scratch.h"

static double cores;
static int64_t memory;

static void ask(void)
{
    lp__cgroup_limits(scratch, &cores, &memory);
}

#define V2_MOUNT "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                                                      \
    "31 25 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"                                      \
    "32 25 0:28 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset\n"                                      \
    "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct\n"

static void test_nothing_there(void **state)
{
    (void)state;
    ask();
    assert_true(isnan(cores));
    assert_int_equal(memory, -1);
}

static void test_v2_takes_the_lowest_of_the_path(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/a/b/c\n");
    put("proc/self/mountinfo", V2_MOUNT);
    put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "400000 100000\n");
    put("sys/fs/cgroup/a/b/c/memory.max", "8589934592\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/memory.max", "1073741824\n");
    ask();
    assert_true(cores == 1.5);
    assert_int_equal(memory, 1073741824);
}

static void test_v2_without_limits(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    put("proc/self/mountinfo", V2_MOUNT);
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    ask();
    assert_true(isnan(cores));
    assert_int_equal(memory, -1);
}

static void test_v1_hierarchies_are_told_apart(void **state)
{
    (void)state;
    put("proc/self/cgroup", "5:cpuset:/elsewhere\n4:cpu,cpuacct:/job\n3:memory:/job/mem\n1:name=systemd:/x\n");
    put("proc/self/mountinfo", V1_MOUNTS);
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpuset/elsewhere/cpu.cfs_quota_us", "1\n");
    put("sys/fs/cgroup/cpuset/elsewhere/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/memory/job/mem/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    ask();
    assert_true(cores == 0.5);
    assert_int_equal(memory, INT64_C(2147483648));
}

/* Docker with version 1 binds the container's own group to the mount point. */
static void test_v1_in_a_container(void **state)
{
    (void)state;
    put("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n");
    put("proc/self/mountinfo", "33 25 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
                               "31 25 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
    ask();
    assert_true(cores == 2.5);
    assert_int_equal(memory, 1048576);
}

/* A group inside the container: the mount's root has to be cut off its path. */
static void test_group_below_the_container(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/pods/abc/inner\n");
    put("proc/self/mountinfo", "30 24 0:26 /pods/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/inner/cpu.max", "50000 100000\n");
    put("sys/fs/cgroup/cpu.max", "200000 100000\n");
    ask();
    assert_true(cores == 0.5);
}

/* The path lies outside the namespace: what is mounted at the root still answers. */
static void test_path_that_does_not_exist(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/../../gone/x\n");
    put("proc/self/mountinfo", V2_MOUNT);
    put("sys/fs/cgroup/cpu.max", "200000 100000\n");
    ask();
    assert_true(cores == 2.0);
}

static void test_hybrid(void **state)
{
    (void)state;
    put("proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/user.slice\n");
    put("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1_MOUNTS);
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/unified/user.slice/memory.max", "4096\n");
    ask();
    assert_true(cores == 3.0);
    assert_int_equal(memory, 4096);
}

static void test_garbage(void **state)
{
    (void)state;
    put("proc/self/cgroup", "nonsense\n::\n0:\n\n0::/a\n");
    put("proc/self/mountinfo", "x\n - cgroup2\n1 2 - cgroup\n" V2_MOUNT);
    put("sys/fs/cgroup/a/cpu.max", "-5 100000\n");
    put("sys/fs/cgroup/cpu.max", "100000 0\n");
    put("sys/fs/cgroup/a/memory.max", "-1\n");
    put("sys/fs/cgroup/memory.max", "many\n");
    ask();
    assert_true(isnan(cores));
    assert_int_equal(memory, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_there),
        TEST(test_v2_takes_the_lowest_of_the_path),
        TEST(test_v2_without_limits),
        TEST(test_v1_hierarchies_are_told_apart),
        TEST(test_v1_in_a_container),
        TEST(test_group_below_the_container),
        TEST(test_path_that_does_not_exist),
        TEST(test_hybrid),
        TEST(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
