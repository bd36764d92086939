/* CRC-32C against its published check values, whole and in pieces. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "base/crc.h"

static void test_known_values(void **state)
{
    (void)state;
    static const unsigned char zeros[32];
    unsigned char ones[32], rising[32];
    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xFF;
        rising[i] = (unsigned char)i;
    }
    assert_int_equal(lp__crc32c(0, "", 0), 0);
    assert_int_equal(lp__crc32c(0, "123456789", 9), 0xE3069283);
    /* The three examples of RFC 3720, B.4. */
    assert_int_equal(lp__crc32c(0, zeros, 32), 0x8A9136AA);
    assert_int_equal(lp__crc32c(0, ones, 32), 0x62A8AB43);
    assert_int_equal(lp__crc32c(0, rising, 32), 0x46DD794E);
}

static void test_pieces_chain(void **state)
{
    (void)state;
    static const char text[] = "123456789";
    for (size_t cut = 0; cut <= 9; cut++)
        assert_int_equal(lp__crc32c(lp__crc32c(0, text, cut), text + cut, 9 - cut), 0xE3069283);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_pieces_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
