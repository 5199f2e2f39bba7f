/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "maestro/wire/info.h"

static struct info example(void)
{
    struct info info = {.session = UINT64_C(0xfeedfacecafef00d), .address_length = 16};
    (void)snprintf(info.provider, sizeof info.provider, "tcp;ofi_rxm");
    (void)snprintf(info.workflow, sizeof info.workflow, "A workflow; with, \"odd\" signs \xc3\xa9");
    for (size_t i = 0; i < info.address_length; i++) {
        info.address[i] = (uint8_t)(i * 17);
    }
    info.keyed = true;
    for (size_t i = 0; i < sizeof info.key.bytes; i++) {
        info.key.bytes[i] = (uint8_t)(i * 31);
    }
    return info;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct info in = example();
    for (size_t length = 1; length <= STREAM_ADDRESS_BYTES; length += 5) {
        in.address_length = length;
        char text[INFO_TEXT_BYTES];
        struct info out;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(0, info_print(&in, text, &err));
        for (const char *at = text; *at != '\0'; at++) {
            assert_true(isgraph((unsigned char)*at) && *at != ';');
        }
        assert_int_equal(0, info_parse(text, &out, &err));
        assert_true(out.session == in.session);
        assert_int_equal(out.address_length, length);
        assert_memory_equal(out.address, in.address, length);
        assert_string_equal(out.provider, in.provider);
        assert_string_equal(out.workflow, in.workflow);
    }
}

static void test_key(void **state)
{
    (void)state;
    struct info in = example();
    char text[INFO_TEXT_BYTES];
    struct info out;
    assert_int_equal(0, info_print(&in, text, NULL));
    assert_int_equal(0, info_parse(text, &out, NULL));
    assert_true(out.keyed && !out.munge);
    assert_memory_equal(out.key.bytes, in.key.bytes, sizeof in.key.bytes);
    in.munge = true;
    assert_int_equal(0, info_print(&in, text, NULL));
    assert_int_equal(0, info_parse(text, &out, NULL));
    assert_true(out.keyed && out.munge);
    in.keyed = false; /* a pool manager that is open */
    assert_int_equal(0, info_print(&in, text, NULL));
    assert_int_equal(0, info_parse(text, &out, NULL));
    assert_true(!out.keyed && !out.munge);
    assert_memory_equal(out.key.bytes, secure_open_key.bytes, sizeof out.key.bytes);
}

static void test_whole_line(void **state)
{
    (void)state;
    struct info in = example();
    char text[INFO_TEXT_BYTES];
    char line[INFO_TEXT_BYTES + 100];
    struct info out;
    assert_int_equal(0, info_print(&in, text, NULL));
    (void)snprintf(line, sizeof line, " MSTRO_POOL_MANAGER_INFO;%s;\n", text);
    assert_int_equal(0, info_parse(line, &out, NULL));
    assert_true(out.session == in.session);
}

static void refused(const char *text, const char *word)
{
    struct info info;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(-EINVAL, info_parse(text, &info, &err));
    if (strstr(err.text, word) == NULL) {
        fail_msg("\"%s\" does not speak of \"%s\"", err.text, word);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    refused("", "empty");
    refused(" \n", "empty");
    refused("CAESC3RjcDtvZmlfcnhtGhACAK5H", "begins with");
    refused("embedded-maestro-3:", "damaged");
    refused("embedded-maestro-3:@@@@", "damaged");
    refused("embedded-maestro-3:QUJD", "damaged");
    refused("embedded-maestro-1:CAESC3RjcDtvZmlfcnht", "another release");
    refused("embedded-maestro-2:CAISC3RjcDtvZmlfcnht", "another release");
    struct info in = example();
    char text[INFO_TEXT_BYTES];
    assert_int_equal(0, info_print(&in, text, NULL));
    size_t length = strlen(text);
    for (size_t cut = 20; cut < length; cut++) { /* any shorter text is damaged */
        char shorter[INFO_TEXT_BYTES];
        memcpy(shorter, text, cut);
        shorter[cut] = '\0';
        refused(shorter, "damaged");
    }
    for (size_t at = 19; at + 4 < length;
         at++) { /* any other letter, too, or it is another version */
        char other[INFO_TEXT_BYTES];
        memcpy(other, text, length + 1);
        other[at] = other[at] == 'A' ? 'B' : 'A';
        struct info out;
        assert_int_equal(-EINVAL, info_parse(other, &out, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_whole_line),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
