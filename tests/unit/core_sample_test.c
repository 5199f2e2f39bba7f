/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of InfluxDB's protocol: what collectors send, and what is refused where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/event/sample.h"

/* "SERIES FIELD=VALUE" of each field, with a newline after it. */
static void read_all(const char *text, char *out, size_t bytes)
{
    struct vamp_sample_line line;
    struct vamp_err err = VAMP_ERR_NONE;
    const char *field = NULL;
    size_t length = 0;
    if (vamp_sample_line_read(text, strlen(text), &line, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    out[0] = '\0';
    while (vamp_sample_line_next(&line, &field, &length)) {
        const size_t used = strlen(out);
        (void)snprintf(out + used, bytes - used, "%.*s %.*s\n", (int)line.series_length, line.text,
                       (int)length, field);
    }
}

static void what_collectors_send_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *line, *samples;
    } cases[] = {
        {"memory,host=vm,type=memory,type_instance=used value=1474859008.000000 1795406414480",
         "memory,host=vm,type=memory,type_instance=used value=1474859008.000000\n"},
        {"flops_any,hostname=e1208,type=core,type-id=23 value=1203.3 1740027951",
         "flops_any,hostname=e1208,type=core,type-id=23 value=1203.3\n"},
        {"lustre2,jobid=J,name=OST0001 jobstats_open=5u,jobstats_read_bytes=4096u",
         "lustre2,jobid=J,name=OST0001 jobstats_open=5u\n"
         "lustre2,jobid=J,name=OST0001 jobstats_read_bytes=4096u\n"},
        {"ifs,component=IFS\\ --\\ 0 step=12i\r", "ifs,component=IFS\\ --\\ 0 step=12i\n"},
        {"a text=\"a, \\\"b\\\" c=5\",up=true,x=1e-3  17", "a up=true\na x=1e-3\n"},
        {"job,function=stop only=\"text\"", ""},
        {"m,a=x\\,\\=\\ y,b=\\\\z c=1", "m,a=x\\,\\=\\ y,b=\\\\z c=1\n"},
        {"m a=9223372036854775807i 1795406414480000000", "m a=9223372036854775807i\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char samples[512];
        read_all(cases[i].line, samples, sizeof samples);
        assert_string_equal(samples, cases[i].samples);
    }
}

static void what_is_wrong_is_said_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"garbage here now", "column 9: expected a field, NAME=VALUE"},
        {",a=b c=1", "column 1: a measurement is missing"},
        {"m", "column 2: fields are missing after a blank"},
        {"m,tag c=1", "column 3: expected a tag, NAME=VALUE"},
        {"m,tag= c=1", "column 7: the tag's value is missing"},
        {"m,a=x,a=y c=1", "column 7: duplicate tag"},
        {"m,b=x,a=x,b=x c=1", "column 11: duplicate tag"},
        {"m,a=C:\\,b=y c=1", "column 10: \"=\" in a tag value must be escaped (\\=)"},
        {"m,a=x\\ c=1", "column 9: \"=\" in a tag value must be escaped (\\=)"},
        {"m,a=x\\\\ c=1", "column 10: \"=\" in a tag value must be escaped (\\=)"},
        {"m,a=x\\\\,b=y c=1", "column 10: \"=\" in a tag value must be escaped (\\=)"},
        {"m,a=b=c c=1", "column 6: \"=\" in a tag value must be escaped (\\=)"},
        {"job,function=stop_job event={...} 5", "column 29: expected a number"},
        {"m a=1,", "column 7: expected a field, NAME=VALUE"},
        {"m a=0x10", "column 5: expected a number"},
        {"m a=inf", "column 5: expected a number"},
        {"m a=9223372036854775808i", "column 5: expected a number"},
        {"m a=-1u", "column 5: expected a number"},
        {"m a=1.5i", "column 5: expected a number"},
        {"m a=\"text", "column 5: the quotation mark is never closed"},
        {"m a=\"text\"b", "column 11: expected a comma or a blank"},
        {"m a=1 now", "column 7: expected a time, a whole number"},
        {"m a=1 1.5", "column 7: expected a time, a whole number"},
        {"m a=1 99999999999999999999", "column 7: expected a time, a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vamp_sample_line line;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(vamp_sample_line_read(cases[i].line, strlen(cases[i].line), &line, &err),
                         -EINVAL);
        if (strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0) {
            fail_msg("%s: %s", cases[i].line, err.text);
        }
    }
    struct vamp_sample_line line;
    char many[4096] = "m";
    for (size_t i = 0; i <= 256; i++) {
        const size_t used = strlen(many);
        (void)snprintf(many + used, sizeof many - used, ",t%zu=x", i);
    }
    (void)snprintf(many + strlen(many), sizeof many - strlen(many), " c=1");
    assert_int_equal(vamp_sample_line_read(many, strlen(many), &line, NULL), -EINVAL);
    assert_int_equal(vamp_sample_line_read("m a=1\0", 6, &line, NULL), -EINVAL);
    assert_int_equal(vamp_sample_line_read("", 0, &line, NULL), -ENODATA);
    assert_int_equal(vamp_sample_line_read("# m a=1", 7, &line, NULL), -ENODATA);
}

static struct vamp_sample sample_of(const char *text)
{
    struct vamp_sample sample;
    if (!vamp_sample_read(text, strlen(text), &sample)) {
        fail_msg("%s is no sample", text);
    }
    return sample;
}

/* Read by hand where that is exact: the values are those of the C library, of every length. */
static void numbers_are_exact(void **state)
{
    (void)state;
    static const char *const wholes[] = {"9223372036854775807",
                                         "-9223372036854775807",
                                         "-9223372036854775808",
                                         "0",
                                         "-0",
                                         "1000000000000000000",
                                         "007"};
    static const char *const wrong[] = {"9223372036854775808i",
                                        "18446744073709551616u",
                                        "-1u",
                                        "1.5i",
                                        "5.i",
                                        ".i",
                                        "-i",
                                        "-",
                                        ".",
                                        "1.2.3",
                                        "--1",
                                        "i",
                                        ""};
    char text[64];
    struct vamp_sample sample;
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        (void)snprintf(text, sizeof text, "m a=%si", wholes[i]);
        assert_true(vamp_sample_read(text, strlen(text), &sample));
        assert_true(sample.value == (long double)strtoll(wholes[i], NULL, 10));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(text, sizeof text, "m a=%s", wrong[i]);
        assert_false(vamp_sample_read(text, strlen(text), &sample));
    }
    assert_true(vamp_sample_read("m a=18446744073709551615u", 25, &sample) &&
                sample.value == (long double)UINT64_MAX);
    uint64_t seed = 7;
    for (unsigned i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int digits = 1 + (int)(seed >> 60) + (int)(seed >> 3 & 3);
        (void)snprintf(text, sizeof text, "m a=%s%.*s.%.*s", (seed & 1) != 0 ? "-" : "",
                       (int)(seed >> 56 & 7), "1234567890", digits, "98765432109876543210");
        assert_true(vamp_sample_read(text, strlen(text), &sample));
        assert_true(sample.value == (long double)strtod(text + 4, NULL));
    }
}

static void a_sample_is_taken_apart(void **state)
{
    (void)state;
    char text[64];
    struct vamp_sample sample =
        sample_of("i\\,o,host=n1,path=/a\\ b\\=c re\\=ad=18446744073709551615u");
    assert_true(sample.value == (long double)UINT64_MAX);
    assert_true(vamp_sample_name(&sample, text, sizeof text));
    assert_string_equal(text, "i,o.re=ad");
    assert_true(vamp_sample_tag(&sample, "path", text, sizeof text));
    assert_string_equal(text, "/a b=c");
    assert_true(vamp_sample_tag(&sample, "host", text, sizeof text));
    assert_string_equal(text, "n1");
    assert_false(vamp_sample_tag(&sample, "hos", text, sizeof text));
    assert_string_equal(text, "");
    assert_false(vamp_sample_tag(&sample, "path", text, 4));
    assert_false(vamp_sample_name(&sample, text, 4));
    /* A backslash does not escape a backslash, so these are the values of different series. */
    sample = sample_of("m,a=\\z,b=\\\\z,c=\\\\\\,z v=1");
    assert_true(vamp_sample_tag(&sample, "a", text, sizeof text));
    assert_string_equal(text, "\\z");
    assert_true(vamp_sample_tag(&sample, "b", text, sizeof text));
    assert_string_equal(text, "\\\\z");
    assert_true(vamp_sample_tag(&sample, "c", text, sizeof text));
    assert_string_equal(text, "\\\\,z");
    assert_true(sample_of("m a=-9223372036854775808i").value == (long double)INT64_MIN);
    assert_true(sample_of("m a=TRUE").value == 1);
    assert_true(sample_of("m a=false").value == 0);
    assert_false(vamp_sample_read("m a=b", 5, &sample));
    assert_false(vamp_sample_read("m=1", 3, &sample));
    assert_false(vamp_sample_read("", 0, &sample));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_collectors_send_is_read),
        cmocka_unit_test(what_is_wrong_is_said_with_its_column),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(a_sample_is_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
