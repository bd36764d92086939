/* File systems by name: those every machine has. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "os/file.h"
#include "scratch.h"

static enum lp_fs_kind kind_of(const char *path, const char **name)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum lp_fs_kind kind = lp__fs_kind(fd, name);
    if (fd >= 0) close(fd);
    return kind;
}

static void test_known_and_unknown(void **state)
{
    (void)state;
    const char *name = NULL;
    struct stat st;
    assert_int_equal(kind_of("/proc", &name), LP_FS_UNKNOWN);
    assert_string_equal(name, "unknown");
    assert_int_equal(kind_of("/does/not/exist", &name), LP_FS_UNKNOWN);
    assert_string_equal(name, "unknown");
    if (!stat("/dev/shm", &st)) {
        assert_int_equal(kind_of("/dev/shm", &name), LP_FS_MAPPABLE);
        assert_string_equal(name, "tmpfs");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_and_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
