/* The machine's facts: sane on the real one, right on a made-up one, absent where nothing can be read. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <math.h>

#include "os/host.h"
#include "scratch.h"

static struct lp_host_facts facts;

static void test_this_machine(void **state)
{
    (void)state;
    lp__host_facts(&facts);
    assert_true(facts.name[0] && !strchr(facts.name, '.') && !strchr(facts.name, '/'));
    assert_true(facts.threads >= 1);
    assert_true(facts.cores == -1 || (facts.cores >= 1 && facts.cores <= facts.threads));
    assert_true(facts.affinity >= 1);
    assert_true(facts.ram_bytes > 1 << 20);
    assert_true(facts.pid_namespace > 0);
    assert_true(facts.kernel[0] != '\0');
}

static void test_made_up_machine(void **state)
{
    (void)state;
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast CPU @ 3GHz\nflags\t\t: fpu\n");
    put("proc/meminfo", "MemFree:  5 kB\nMemTotal:       16384 kB\n");
    put("proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n");
    put("sys/devices/system/cpu/online", "0-3,8\n");
    put("sys/devices/system/cpu/smt/active", "1\n");
    put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
    put("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n");
    put("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
    put("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "1,3\n");
    put("sys/devices/system/cpu/cpu8/topology/thread_siblings_list", "8\n");
    lp__host_facts_at(scratch, &facts);
    assert_string_equal(facts.cpu_model, "Fast CPU @ 3GHz");
    assert_int_equal(facts.ram_bytes, 16384 * 1024);
    assert_int_equal(facts.threads, 5);
    assert_int_equal(facts.cores, 3);
    assert_memory_equal(facts.boot_id, "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
    assert_true(isnan(facts.quota_cores));
}

static void test_arm_and_no_siblings(void **state)
{
    (void)state;
    put("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
    put("sys/devices/system/cpu/online", "0-63\n");
    put("sys/devices/system/cpu/smt/active", "0\n");
    lp__host_facts_at(scratch, &facts);
    assert_string_equal(facts.cpu_model, "arm implementer 0x41 part 0xd0c");
    assert_int_equal(facts.threads, 64);
    assert_int_equal(facts.cores, 64);
}

static void test_nothing_readable(void **state)
{
    (void)state;
    static const uint8_t zeros[16];
    put("sys/devices/system/cpu/online", "99-1\n");
    put("proc/sys/kernel/random/boot_id", "short\n");
    lp__host_facts_at(scratch, &facts);
    assert_string_equal(facts.cpu_model, "");
    assert_memory_equal(facts.boot_id, zeros, 16);
    assert_int_equal(facts.pid_namespace, 0);
    assert_int_equal(facts.cores, -1);
    assert_int_equal(facts.threads, -1);
    assert_int_equal(facts.ram_bytes, -1);
    assert_int_equal(facts.memory_limit_bytes, -1);
    assert_true(isnan(facts.quota_cores));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_this_machine),
        TEST(test_made_up_machine),
        TEST(test_arm_and_no_siblings),
        TEST(test_nothing_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
