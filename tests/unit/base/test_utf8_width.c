/* Terminal columns by example, one or more from each group of characters, and over the whole range never anything but
 * 0, 1 or 2. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "base/utf8.h"

static void test_examples(void **state)
{
    (void)state;
    static const struct {
        uint32_t code_point;
        int width;
    } cases[] = {
        {0, 0},       {'\t', 0},    {0x7F, 0},    {0x9B, 0},    {'a', 1},     {0xA0, 1},    {0xAD, 1},
        {0xE9, 1},    {0x301, 0},   {0x5B0, 0},   {0x5D0, 1},   {0x600, 1},   {0x64B, 0},   {0x905, 1},
        {0x94D, 0},   {0xE31, 0},   {0x1100, 2},  {0x1160, 0},  {0x11A8, 0},  {0x200B, 0},  {0x200D, 0},
        {0x2026, 1},  {0x20AC, 1},  {0x20D0, 0},  {0x231A, 2},  {0x2500, 1},  {0x3042, 2},  {0x303F, 1},
        {0x3099, 0},  {0x4E2D, 2},  {0xAC00, 2},  {0xFE0F, 0},  {0xFF21, 2},  {0xFF71, 1},  {0xFFFD, 1},
        {0x110BD, 1}, {0x1F1E6, 1}, {0x1F600, 2}, {0x20000, 2}, {0x2FFFD, 2}, {0xE0101, 0}, {0x10FFFF, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lp__utf8_width(cases[i].code_point), cases[i].width);
}

static void test_whole_range(void **state)
{
    (void)state;
    size_t count[3] = {0};
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        int width = lp__utf8_width(c);
        assert_in_range(width, 0, 2);
        count[width]++;
    }
    assert_in_range(count[0], 2000, 8000);     /* with unassigned ones in between */
    assert_in_range(count[2], 180000, 200000); /* most of planes 2 and 3 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_whole_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
