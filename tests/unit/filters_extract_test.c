/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes from the names of CDOs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "filters/extract.h"

static struct vamp_extract *extract;

static int start(void **state)
{
    (void)state;
    return vamp_extract_create(&extract, NULL);
}

static int end(void **state)
{
    (void)state;
    vamp_extract_free(extract);
    return 0;
}

/* The value of the one attribute in the text; "-": there is none. */
static const char *value_of(const char *text, size_t length)
{
    static char value[100];
    const char *begin = NULL;
    size_t bytes = 0;
    if (!vamp_extract_find(extract, 0, text, length, &begin, &bytes)) {
        return "-";
    }
    assert_true(begin >= text && begin + bytes <= text + length);
    (void)snprintf(value, sizeof value, "%.*s", (int)bytes, begin);
    return value;
}

static void expect(const char *text, const char *value)
{
    assert_string_equal(value_of(text, strlen(text)), value);
}

static void a_name_alone_is_a_key_of_a_list(void **state)
{
    (void)state;
    assert_int_equal(vamp_extract_add(extract, "param", NULL), 0);
    expect("class:rd,param:130,step:6", "130");
    expect("param=t,step:6", "t");
    expect("param:2t", "2t");
    expect("xparam:130,paramx:1", "-");
    expect("param:,step:6", "");
    expect("", "-");
    expect("a:param:3", "-");
    expect("param:1,param:2", "1");
}

static void a_group_of_a_pattern_is_the_value(void **state)
{
    (void)state;
    assert_int_equal(vamp_extract_add(extract, "step=^[a-z]+_(?:s|step)([0-9]+)", NULL), 0);
    expect("ifs_step12_t", "12");
    expect("ifs_s7", "7");
    expect("IFS_s7", "-");
    unsigned count = 0;
    assert_string_equal(vamp_extract_names(extract, &count)[0], "step");
    assert_int_equal(count, 1);
}

static void a_group_that_takes_no_part_is_no_value(void **state)
{
    (void)state;
    assert_int_equal(vamp_extract_add(extract, "kind=^(?:flux|wave(.*))$", NULL), 0);
    expect("wave7", "7");
    expect("flux", "-");
}

static void bytes_that_are_no_text_match_nothing(void **state)
{
    (void)state;
    assert_int_equal(vamp_extract_add(extract, "param", NULL), 0);
    expect("x\xff,param:130,y\xff", "130");
    assert_string_equal(value_of("a,param:1\0x", 11),
                        "1"); /* as text; the value has the rest, too */
}

static void mistakes_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } mistakes[] = {
        {"step=[0-9]+", "a pattern with 0 groups: expected one"},
        {"step=([0-9]+)_([a-z])", "a pattern with 2 groups: expected one"},
        {"step=([0-9", "missing terminating ]"},
        {"step=", "a pattern with 0 groups"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(vamp_extract_add(extract, mistakes[i].text, &err), -EINVAL);
        assert_non_null(strstr(err.text, mistakes[i].wrong));
    }
    unsigned count = 0;
    assert_string_equal(vamp_extract_names(extract, &count)[3], "step");
    assert_int_equal(count, 4);
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    memcpy(longer, "a=(", 3);
    assert_int_equal(vamp_extract_add(extract, longer, NULL), -E2BIG);
}

static void a_search_without_end_is_cut_and_counted(void **state)
{
    (void)state;
    assert_int_equal(vamp_extract_add(extract, "p=(*NO_START_OPT)^(?:(?:a+)+)+(b)$", NULL), 0);
    char text[400];
    memset(text, 'a', sizeof text);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(value_of(text, sizeof text), "-");
    }
    assert_int_equal(vamp_extract_cut(extract), 3);
    expect("aab", "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_alone_is_a_key_of_a_list, start, end),
        cmocka_unit_test_setup_teardown(a_group_of_a_pattern_is_the_value, start, end),
        cmocka_unit_test_setup_teardown(a_group_that_takes_no_part_is_no_value, start, end),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_text_match_nothing, start, end),
        cmocka_unit_test_setup_teardown(mistakes_say_what_is_wrong, start, end),
        cmocka_unit_test_setup_teardown(a_search_without_end_is_cut_and_counted, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
