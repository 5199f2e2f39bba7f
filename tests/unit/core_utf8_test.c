/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/utf8.h"

static bool is_character(uint32_t point)
{
    return point < 0xD800 || (point >= 0xE000 && point < 0x110000);
}

static void every_character_is_written_and_read(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x110000; point++) {
        if (!is_character(point)) {
            continue;
        }
        char text[VAMP_UTF8_BYTES_MAX] = {0};
        const size_t bytes = vamp_utf8_write(text, point);
        uint32_t read = UINT32_MAX;
        assert_int_equal(vamp_utf8_read(text, bytes, &read), bytes);
        assert_int_equal(read, point);
        for (size_t cut = 0; cut < bytes; cut++) {
            assert_int_equal(vamp_utf8_read(text, cut, NULL), 0);
        }
    }
}

/* As many well-formed texts of up to three bytes as there are characters of that length. */
static void nothing_else_is_read(void **state)
{
    (void)state;
    unsigned found[VAMP_UTF8_BYTES_MAX + 1] = {0};
    for (uint32_t three = 0; three < 1U << 24; three++) {
        const char text[] = {(char)(three >> 16), (char)(three >> 8), (char)three};
        found[vamp_utf8_read(text, sizeof text, NULL)]++;
    }
    assert_int_equal(found[1], 0x80 << 16);
    assert_int_equal(found[2], (0x800 - 0x80) << 8);
    assert_int_equal(found[3], 0x10000 - 0x800 - 0x800 /* surrogates */);
    assert_int_equal(found[4], 0);
}

static void four_bytes_keep_their_limits(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                                      "\xF0\x90\x80", "\xF0\x90\x80z"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(vamp_utf8_read(bad[i], VAMP_UTF8_BYTES_MAX, NULL), 0);
        assert_false(vamp_utf8_is_valid(bad[i]));
    }
    assert_true(vamp_utf8_is_valid("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
    assert_true(vamp_utf8_is_valid(""));
    assert_false(vamp_utf8_is_valid("Temperatur \xFC"
                                    "ber Null"));
}

static void a_cut_is_at_the_border_of_a_character(void **state)
{
    (void)state;
    const char text[] = "ab\xE2\x82\xAC"
                        "c"; /* ab, a euro sign, c */
    static const size_t kept[] = {0, 1, 2, 2, 2, 5, 6, 6};
    for (size_t most = 0; most < sizeof kept / sizeof kept[0]; most++) {
        assert_int_equal(vamp_utf8_cut(text, sizeof text - 1, most), kept[most]);
    }
    assert_int_equal(vamp_utf8_cut("\x80\x80\x80", 3, 2), 0);
}

static void a_copy_of_any_two_bytes_is_well_formed(void **state)
{
    (void)state;
    for (unsigned first = 1; first < 256; first++) {
        for (unsigned second = 1; second < 256; second++) {
            const char text[] = {(char)first, (char)second, 0};
            char out[16];
            assert_in_range(vamp_utf8_copy(out, sizeof out, text), 2, 6);
            assert_true(vamp_utf8_is_valid(out));
        }
    }
}

static void a_copy_is_cut_at_a_character(void **state)
{
    (void)state;
    char out[5];
    assert_int_equal(vamp_utf8_copy(out, sizeof out, "abc\xC3\xB6"), 5);
    assert_int_equal(vamp_utf8_copy(out, sizeof out, "abcd\xC3\xB6"), 4);
    assert_int_equal(out[4], 0);
    assert_int_equal(vamp_utf8_copy(out, sizeof out, "abc\xFF"), 3);
    assert_int_equal(vamp_utf8_copy(out, 0, "abc"), 0);
}

static void nothing_that_controls_a_terminal_is_shown(void **state)
{
    (void)state;
    char text[] = "a\x1B[2J\nb\x7F\xC2\x9B"
                  "c\xE2\x80\xA8"
                  "d\xE2\x80\xAE"
                  "e\xE2\x81\xA6\xFF\xC3\xB6\xE2\x82";
    vamp_utf8_clean(text);
    assert_string_equal(text, "a?[2J?b??c?d?e??\xC3\xB6??");
    for (unsigned first = 1; first < 256; first++) {
        for (unsigned second = 1; second < 256; second++) {
            char pair[] = {(char)first, (char)second, 0};
            vamp_utf8_clean(pair);
            assert_true(vamp_utf8_is_valid(pair));
            for (const char *c = pair; *c != '\0'; c++) {
                assert_true((unsigned char)*c >= ' ' && *c != '\x7F');
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_written_and_read),
        cmocka_unit_test(nothing_else_is_read),
        cmocka_unit_test(four_bytes_keep_their_limits),
        cmocka_unit_test(a_cut_is_at_the_border_of_a_character),
        cmocka_unit_test(a_copy_of_any_two_bytes_is_well_formed),
        cmocka_unit_test(a_copy_is_cut_at_a_character),
        cmocka_unit_test(nothing_that_controls_a_terminal_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
