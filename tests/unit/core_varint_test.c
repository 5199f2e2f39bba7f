/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/protobuf/wire.h"

static const struct {
    uint64_t value;
    size_t bytes;
} numbers[] = {
    {0, 1},           {1, 1},         {0x7f, 1},
    {0x80, 2},        {0x3fff, 2},    {0x4000, 3},
    {UINT32_MAX, 5},  {INT64_MAX, 9}, {UINT64_C(1) << 63, 10},
    {UINT64_MAX, 10},
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static void what_is_written_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUMBERS; i++) {
        uint8_t bytes[VAMP_VARINT_BYTES_MAX + 1];
        memset(bytes, 0xa5, sizeof bytes);
        const uint8_t *end = vamp_varint_write(bytes, numbers[i].value);
        assert_int_equal(end - bytes, numbers[i].bytes);
        assert_int_equal(*end, 0xa5);
        uint64_t value = 0;
        const uint8_t *after =
            vamp_varint_read(bytes, bytes + sizeof bytes, VAMP_VARINT_BYTES_MAX, &value);
        assert_ptr_equal(after, end);
        assert_true(value == numbers[i].value);
    }
}

static void a_number_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUMBERS; i++) {
        uint8_t bytes[VAMP_VARINT_BYTES_MAX];
        const uint8_t *end = vamp_varint_write(bytes, numbers[i].value);
        uint64_t value = 42;
        assert_null(vamp_varint_read(bytes, end - 1, VAMP_VARINT_BYTES_MAX, &value));
        if (numbers[i].bytes > 1) {
            assert_null(vamp_varint_read(bytes, end, numbers[i].bytes - 1, &value));
        }
        assert_true(value == 42);
    }
}

/* As protobuf-c does it. */
static void bits_above_the_64th_are_dropped(void **state)
{
    (void)state;
    uint8_t bytes[VAMP_VARINT_BYTES_MAX + 2];
    memset(bytes, 0xff, sizeof bytes);
    uint64_t value = 42;
    bytes[9] = 0x02;
    assert_ptr_equal(vamp_varint_read(bytes, bytes + 10, VAMP_VARINT_BYTES_MAX, &value),
                     bytes + 10);
    assert_true(value == INT64_MAX);
    value = 42;
    bytes[9] = 0x81;
    bytes[10] = 0x00;
    assert_null(vamp_varint_read(bytes, bytes + 11, VAMP_VARINT_BYTES_MAX, &value));
    assert_true(value == 42);
}

/* Protocol Buffers allow a number with more bytes than it needs. */
static void zeros_at_the_end_are_allowed(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x85, 0x80, 0x80, 0x00};
    uint64_t value = 0;
    assert_ptr_equal(vamp_varint_read(bytes, bytes + 4, VAMP_VARINT_BYTES_MAX, &value), bytes + 4);
    assert_true(value == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_number_that_is_cut_off_is_refused),
        cmocka_unit_test(bits_above_the_64th_are_dropped),
        cmocka_unit_test(zeros_at_the_end_are_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
