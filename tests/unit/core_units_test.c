/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vampire/core/units.h"

static void counts_are_grouped(void **state)
{
    (void)state;
    char text[VAMP_UNIT_TEXT_BYTES];
    assert_string_equal(vamp_count_people(0, text), "0");
    assert_string_equal(vamp_count_people(999, text), "999");
    assert_string_equal(vamp_count_people(1000, text), "1,000");
    assert_string_equal(vamp_count_people(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void bytes_have_three_digits_and_a_unit(void **state)
{
    (void)state;
    char text[VAMP_UNIT_TEXT_BYTES];
    assert_string_equal(vamp_share_people(55, 100, text), "55.0 %");
    assert_string_equal(vamp_share_people(1, 100000, text), "less than 0.1 %");
    assert_string_equal(vamp_share_people(99999, 100000, text), "more than 99.9 %");
    assert_string_equal(vamp_share_people(0, 0, text), "100.0 %");
    assert_string_equal(vamp_bytes_people(0, text), "0 B");
    assert_string_equal(vamp_bytes_people(823, text), "823 B");
    assert_string_equal(vamp_bytes_people(1536, text), "1.50 KiB");
    assert_string_equal(vamp_bytes_people(340.0 * 1024 * 1024, text), "340 MiB");
    assert_string_equal(vamp_bytes_people(3e16, text), "26.6 PiB");
}

static void durations_have_three_digits_and_a_unit(void **state)
{
    (void)state;
    char text[VAMP_UNIT_TEXT_BYTES];
    assert_string_equal(vamp_duration_people(0, text), "0 ns");
    assert_string_equal(vamp_duration_people(1234567, text), "1.23 ms");
    assert_string_equal(vamp_duration_people(15200000000U, text), "15.2 s");
    assert_string_equal(vamp_duration_people(7200000000000U, text), "2.00 h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(bytes_have_three_digits_and_a_unit),
        cmocka_unit_test(durations_have_three_digits_and_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
