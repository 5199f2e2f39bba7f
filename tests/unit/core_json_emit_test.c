/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/json_emit.h"
#include "vampire/core/utf8.h"

static void expect_text(const char *text, const char *json_text)
{
    struct vamp_json json = {.bytes = NULL};
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "{\"t\":\"%s\"}\n", json_text);
    vamp_json_line_begin(&json);
    vamp_json_text(&json, "t", text);
    vamp_json_line_end(&json);
    assert_int_equal(json.used, strlen(wanted));
    assert_memory_equal(json.bytes, wanted, json.used);
    vamp_json_done(&json);
}

#define BAD VAMP_UTF8_REPLACEMENT

static void test_escaping(void **state)
{
    (void)state;
    expect_text("", "");
    expect_text("IFS -- 0", "IFS -- 0");
    expect_text("a\"b\\c/d", "a\\\"b\\\\c/d");
    expect_text("\b\f\n\r\t", "\\b\\f\\n\\r\\t");
    expect_text("\x01\x1F\x7F", "\\u0001\\u001f\\u007f");
    expect_text("Gr\xC3\xB6\xC3\x9F"
                "e \xF0\x9F\x8C\x8D",
                "Gr\xC3\xB6\xC3\x9F"
                "e \xF0\x9F\x8C\x8D");
}

/* Eight characters are looked at together: wherever one stands that cannot stay, it is found. */
static void test_every_byte_at_every_place(void **state)
{
    (void)state;
    for (unsigned byte = 1; byte < 256; byte++) {
        const char alone[2] = {(char)byte, '\0'};
        struct vamp_json json = {.bytes = NULL};
        vamp_json_text(&json, NULL, alone);
        char escaped[16];
        (void)snprintf(escaped, sizeof escaped, "%.*s", (int)json.used - 2, json.bytes + 1);
        vamp_json_done(&json);
        for (unsigned place = 0; place < 20; place++) {
            char text[64], wanted[128];
            (void)snprintf(text, sizeof text, "%.*s%s%.*s", (int)place, "abcdefghijklmnopqrst",
                           alone, (int)(20 - place), "ABCDEFGHIJKLMNOPQRST");
            (void)snprintf(wanted, sizeof wanted, "%.*s%s%.*s", (int)place, "abcdefghijklmnopqrst",
                           escaped, (int)(20 - place), "ABCDEFGHIJKLMNOPQRST");
            expect_text(text, wanted);
        }
    }
}

static void test_bad_utf8_is_replaced(void **state)
{
    (void)state;
    expect_text("\xFF", BAD);
    expect_text("a\x80"
                "b",
                "a" BAD "b");
    expect_text("\xC3", BAD);                            /* cut short */
    expect_text("\xE2\x82", BAD BAD);                    /* cut short */
    expect_text("\xC0\xAF", BAD BAD);                    /* overlong */
    expect_text("\xE0\x80\xAF", BAD BAD BAD);            /* overlong */
    expect_text("\xED\xA0\x80", BAD BAD BAD);            /* surrogate */
    expect_text("\xF4\x90\x80\x80", BAD BAD BAD BAD);    /* beyond U+10FFFF */
    expect_text("\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"); /* the last one */
}

static void test_numbers_and_nesting(void **state)
{
    (void)state;
    struct vamp_json json = {.bytes = NULL};
    vamp_json_line_begin(&json);
    vamp_json_unsigned(&json, "a", UINT64_MAX);
    vamp_json_unsigned(&json, "b", 0);
    vamp_json_signed(&json, "c", INT64_MIN);
    vamp_json_open(&json, "d", '[');
    vamp_json_open(&json, NULL, '[');
    vamp_json_close(&json, ']');
    vamp_json_bool(&json, NULL, true);
    vamp_json_open(&json, NULL, '{');
    vamp_json_null(&json, "e");
    vamp_json_close(&json, '}');
    vamp_json_close(&json, ']');
    vamp_json_time(&json, "f", INT64_MIN);
    vamp_json_time(&json, "g", 1500000000);
    vamp_json_line_end(&json);
    const char wanted[] = "{\"a\":18446744073709551615,\"b\":0,\"c\":-9223372036854775808,"
                          "\"d\":[[],true,{\"e\":null}],\"f\":null,"
                          "\"g\":\"1970-01-01T00:00:01.500000000Z\"}\n";
    assert_int_equal(json.used, sizeof wanted - 1);
    assert_memory_equal(json.bytes, wanted, json.used);
    vamp_json_done(&json);
}

static void test_long_text_is_cut_and_says_so(void **state)
{
    (void)state;
    struct vamp_json json = {.bytes = NULL};
    char *text = malloc(100001);
    memset(text, '\x01', 100000); /* six bytes each */
    text[100000] = '\0';
    vamp_json_line_begin(&json);
    vamp_json_text(&json, "t", text);
    vamp_json_line_end(&json);
    assert_true(json.used <= VAMP_JSON_TEXT_BYTES + 32);
    assert_memory_equal(json.bytes + json.used - 14, "\",\"cut\":true}\n", 14);
    assert_memory_equal(json.bytes + json.used - 17, "\xE2\x80\xA6", 3);
    vamp_json_line_begin(&json); /* the next line is not cut */
    vamp_json_line_end(&json);
    assert_memory_equal(json.bytes + json.used - 3, "{}\n", 3);
    vamp_json_done(&json);
    free(text);
}

/* Longer than a line may be; of the caller. */
enum { TOO_LONG = 70000 };
static char *too_long(void)
{
    char *text = calloc(1, TOO_LONG + 1);
    memset(text, 'x', TOO_LONG);
    return text;
}

static void write_line(struct vamp_json *json)
{
    vamp_json_line_begin(json);
    vamp_json_unsigned(json, "n", 1);
    vamp_json_line_end(json);
}

static void test_oversized_line_is_dropped_and_counted(void **state)
{
    (void)state;
    struct vamp_json json = {.bytes = NULL};
    char *text = too_long();
    write_line(&json);
    const size_t before = json.used;
    vamp_json_line_begin(&json);
    vamp_json_long_text(&json, "t", text, TOO_LONG);
    vamp_json_line_end(&json);
    assert_int_equal(json.used, before);
    assert_int_equal(json.oversized, 1);
    vamp_json_done(&json);
    free(text);
}

static void test_numbers_of_every_length(void **state)
{
    (void)state;
    struct vamp_json json = {.bytes = NULL};
    for (uint64_t value = 1; value < UINT64_MAX / 10; value *= 10) {
        for (unsigned step = 0; step < 3; step++) { /* 99, 100, 101 */
            char wanted[96];
            const uint64_t number = value - 1 + step;
            const int length =
                snprintf(wanted, sizeof wanted, "{\"a\":%" PRIu64 ",\"b\":-%" PRIu64 "}\n", number,
                         number + 1);
            vamp_json_clear(&json);
            vamp_json_line_begin(&json);
            vamp_json_unsigned(&json, "a", number);
            vamp_json_signed(&json, "b", -(int64_t)number - 1);
            vamp_json_line_end(&json);
            assert_int_equal(json.used, length);
            assert_memory_equal(json.bytes, wanted, json.used);
        }
    }
    vamp_json_done(&json);
}

/* As an earlier line, even if that one was dropped. */
static void test_reals_are_exact_and_finite(void **state)
{
    (void)state;
    struct vamp_json json = {.bytes = NULL};
    vamp_json_line_begin(&json);
    vamp_json_real(&json, "a", 0.1);
    vamp_json_real(&json, "b", 1.0 / 3);
    vamp_json_real(&json, "c", -34000000000.0);
    vamp_json_real(&json, "d", (double)NAN);
    vamp_json_real(&json, "e", (double)INFINITY);
    vamp_json_line_end(&json);
    static const char wanted[] =
        "{\"a\":0.1,\"b\":0.33333333333333331,\"c\":-34000000000,\"d\":null,\"e\":null}\n";
    assert_int_equal(json.used, strlen(wanted));
    assert_memory_equal(json.bytes, wanted, json.used);
    vamp_json_done(&json);
}

static void test_microseconds_are_exact(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0.000"},
        {7, "0.007"},
        {1000, "1.000"},
        {1234567, "1234.567"},
        {-1, "-0.001"},
        {-1500, "-1.500"},
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vamp_json json = {.bytes = NULL};
        vamp_json_micros(&json, NULL, cases[i].ns);
        assert_int_equal(json.used, strlen(cases[i].text));
        assert_memory_equal(json.bytes, cases[i].text, json.used);
        vamp_json_done(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_every_byte_at_every_place),
        cmocka_unit_test(test_bad_utf8_is_replaced),
        cmocka_unit_test(test_numbers_and_nesting),
        cmocka_unit_test(test_long_text_is_cut_and_says_so),
        cmocka_unit_test(test_oversized_line_is_dropped_and_counted),
        cmocka_unit_test(test_numbers_of_every_length),
        cmocka_unit_test(test_reals_are_exact_and_finite),
        cmocka_unit_test(test_microseconds_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
