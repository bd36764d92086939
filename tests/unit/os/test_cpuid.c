/* What CPUID says must be what the kernel read from it. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <string.h>

#include "os/cpuid.h"
#include "os/file.h"

static void read_cpuinfo(struct lp_buf *buf)
{
    lp__buf_init(buf, 4096); /* the first processor */
    assert_int_equal(lp__slurp("/proc/cpuinfo", buf, NULL), LP_OK);
}

static void test_invariant_tsc(void **state)
{
    (void)state;
    struct lp_buf buf;
    read_cpuinfo(&buf);
#if defined(__x86_64__)
    bool listed = strstr(buf.data, " constant_tsc") && strstr(buf.data, " nonstop_tsc");
    assert_int_equal(lp__cpuid_invariant_tsc(), listed);
#else
    assert_false(lp__cpuid_invariant_tsc());
#endif
    lp__buf_release(&buf);
}

static void test_brand(void **state)
{
    (void)state;
    struct lp_buf buf;
    char brand[64] = "", tiny[4] = "";
    read_cpuinfo(&buf);
    if (lp__cpuid_brand(brand, sizeof brand)) {
        assert_non_null(strstr(buf.data, brand));
        assert_true(lp__cpuid_brand(tiny, sizeof tiny));
        assert_true(strlen(tiny) <= 3);
    }
    lp__buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invariant_tsc),
        cmocka_unit_test(test_brand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
