/* SPDX-License-Identifier: BSD-3-Clause */
/* Option tables: values and their bounds, defaults, near misses, and every allocation failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault.h"
#include "vampire/core/options/options.h"

struct sample {
    bool flag;
    uint64_t count;
    int64_t time_ns, unset_ns;
    uint64_t bytes;
    char *text;
    unsigned colour;
    uint64_t fruits;
    struct vamp_strings names;
};

static const char *const colours[] = {"red", "green", "blue", NULL};
static const char *const fruits[] = {"apple", "banana", "cherry", NULL};

static const struct vamp_opt table[] = {
    {.key = "flag",
     .type = VAMP_OPT_BOOL,
     .preset = "true",
     .offset = offsetof(struct sample, flag)},
    {.key = "count",
     .type = VAMP_OPT_UINT,
     .preset = "7",
     .min = 2,
     .max = 100,
     .offset = offsetof(struct sample, count)},
    {.key = "time",
     .type = VAMP_OPT_DURATION,
     .preset = "1s",
     .min = 1000000,
     .max = 60000000000,
     .offset = offsetof(struct sample, time_ns)},
    {.key = "unset", .type = VAMP_OPT_DURATION, .offset = offsetof(struct sample, unset_ns)},
    {.key = "bytes",
     .type = VAMP_OPT_SIZE,
     .preset = "64KiB",
     .max = 1 << 20,
     .offset = offsetof(struct sample, bytes)},
    {.key = "text",
     .type = VAMP_OPT_STRING,
     .preset = "hello",
     .max = 10,
     .offset = offsetof(struct sample, text)},
    {.key = "colour",
     .type = VAMP_OPT_ENUM,
     .preset = "green",
     .choices = colours,
     .offset = offsetof(struct sample, colour)},
    {.key = "fruits",
     .type = VAMP_OPT_SET,
     .preset = "apple cherry",
     .choices = fruits,
     .offset = offsetof(struct sample, fruits)},
    {.key = "names",
     .type = VAMP_OPT_STRINGS,
     .preset = "one two",
     .max = 10,
     .offset = offsetof(struct sample, names)},
    {.key = NULL},
};

static int set(struct sample *sample, const char *key, const char *text)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int code = vamp_opt_set(vamp_opt_find(table, key), sample, text, &err);
    assert_int_equal(code, err.code);
    assert_true(code == 0 || err.text[0] != '\0');
    return code;
}

static void defaults_are_set_and_freed(void **state)
{
    (void)state;
    struct sample sample;
    memset(&sample, 0xa5, sizeof sample); /* may hold anything */
    assert_int_equal(vamp_opt_presets(table, &sample, NULL), 0);
    assert_true(sample.flag);
    assert_int_equal(sample.count, 7);
    assert_int_equal(sample.time_ns, 1000000000);
    assert_int_equal(sample.unset_ns, -1);
    assert_int_equal(sample.bytes, 65536);
    assert_string_equal(sample.text, "hello");
    assert_int_equal(sample.colour, 1);
    assert_int_equal(sample.fruits, 5);
    assert_int_equal(sample.names.count, 2);
    assert_string_equal(sample.names.items[1], "two");
    vamp_opt_done(table, &sample);
    assert_null(sample.text);
    assert_int_equal(sample.names.count, 0);
    vamp_opt_done(table, &sample); /* twice is fine */
}

static void a_wrong_default_is_reported_with_its_option(void **state)
{
    (void)state;
    static const struct vamp_opt wrong[] = {
        {.key = "text",
         .type = VAMP_OPT_STRING,
         .preset = "kept",
         .offset = offsetof(struct sample, text)},
        {.key = "time",
         .type = VAMP_OPT_DURATION,
         .preset = "soon",
         .offset = offsetof(struct sample, time_ns)},
        {.key = NULL},
    };
    struct sample sample;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_opt_presets(wrong, &sample, &err), -EINVAL);
    assert_non_null(strstr(err.text, "option time"));
    assert_null(sample.text);
}

static void values_replace_and_failures_keep(void **state)
{
    (void)state;
    struct sample sample;
    assert_int_equal(vamp_opt_presets(table, &sample, NULL), 0);
    assert_int_equal(set(&sample, "flag", "false"), 0);
    assert_int_equal(set(&sample, "flag", "yes"), -EINVAL);
    assert_false(sample.flag);
    assert_int_equal(set(&sample, "count", "100"), 0);
    assert_int_equal(set(&sample, "count", "101"), -ERANGE);
    assert_int_equal(set(&sample, "count", "1"), -ERANGE);
    assert_int_equal(set(&sample, "count", "99999999999999999999999"), -ERANGE);
    static const char *const no_numbers[] = {"", "-5", "+5", " 5", "5 ", "0x10", "1e2", "5.0"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof no_numbers[0]; i++) {
        assert_int_equal(set(&sample, "count", no_numbers[i]), -EINVAL);
    }
    assert_int_equal(sample.count, 100);
    assert_int_equal(set(&sample, "time", "1ms"), 0);
    assert_int_equal(set(&sample, "time", "999us"), -ERANGE);
    assert_int_equal(set(&sample, "time", "61s"), -ERANGE);
    assert_int_equal(sample.time_ns, 1000000);
    assert_int_equal(set(&sample, "bytes", "1MiB"), 0);
    assert_int_equal(set(&sample, "bytes", "1048577"), -ERANGE);
    assert_int_equal(sample.bytes, 1 << 20);
    assert_int_equal(set(&sample, "text", "0123456789"), 0);
    assert_int_equal(set(&sample, "text", "0123456789a"), -ERANGE);
    assert_int_equal(set(&sample, "text", "a\x01"), -EINVAL);
    assert_string_equal(sample.text, "0123456789");
    assert_int_equal(set(&sample, "text", ""), 0);
    assert_null(sample.text);
    assert_int_equal(set(&sample, "colour", "blue"), 0);
    assert_int_equal(set(&sample, "colour", "Blue"), -EINVAL);
    assert_int_equal(sample.colour, 2);
    vamp_opt_done(table, &sample);
}

/* What a configuration writes as a number; a size is in bytes then. */
static void numbers_need_no_unit(void **state)
{
    (void)state;
    static const char *const widths[] = {"4", "8", "16", NULL};
    const struct vamp_opt width = {.key = "width",
                                   .type = VAMP_OPT_ENUM,
                                   .choices = widths,
                                   .offset = offsetof(struct sample, colour)};
    struct sample sample;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_opt_presets(table, &sample, NULL), 0);
    const struct vamp_opt *count = vamp_opt_find(table, "count");
    const struct vamp_opt *bytes = vamp_opt_find(table, "bytes");
    assert_int_equal(vamp_opt_set(count, &sample, "99", &err), 0);
    assert_int_equal(vamp_opt_set(count, &sample, "101", &err), -ERANGE);
    assert_string_equal(err.text, "\"101\" is too large");
    assert_int_equal(vamp_opt_set(count, &sample, "1", &err), -ERANGE);
    assert_int_equal(sample.count, 99);
    assert_int_equal(vamp_opt_set(bytes, &sample, "1048576", &err), 0);
    assert_int_equal(vamp_opt_set(bytes, &sample, "18446744073709551615", &err), -ERANGE);
    assert_int_equal(sample.bytes, 1 << 20);
    assert_int_equal(vamp_opt_set(&width, &sample, "16", &err), 0);
    assert_int_equal(sample.colour, 2);
    assert_int_equal(vamp_opt_set(&width, &sample, "5", &err), -EINVAL);
    assert_int_equal(sample.colour, 2);
    assert_int_equal(set(&sample, "flag", "false"), 0);
    assert_false(sample.flag);
    assert_true(vamp_opt_is_number(count) && vamp_opt_is_number(bytes) &&
                vamp_opt_is_number(&width));
    assert_false(vamp_opt_is_number(vamp_opt_find(table, "colour")) ||
                 vamp_opt_is_number(vamp_opt_find(table, "time")));
    vamp_opt_done(table, &sample);
}

static void lists_add_up_until_cleared(void **state)
{
    (void)state;
    struct sample sample;
    assert_int_equal(vamp_opt_presets(table, &sample, NULL), 0);
    assert_int_equal(set(&sample, "fruits", "banana"), 0);
    assert_int_equal(sample.fruits, 7);
    vamp_opt_clear(vamp_opt_find(table, "fruits"), &sample);
    assert_int_equal(sample.fruits, 0);
    assert_int_equal(set(&sample, "fruits", "all"), 0);
    assert_int_equal(sample.fruits, 7);
    assert_int_equal(set(&sample, "fruits", "plum"), -EINVAL);
    assert_int_equal(sample.fruits, 7);
    vamp_opt_clear(vamp_opt_find(table, "names"), &sample);
    assert_int_equal(sample.names.count, 0);
    assert_int_equal(set(&sample, "names", ""), -EINVAL);
    for (int i = 0; i < VAMP_STRINGS_MAX; i++) {
        assert_int_equal(set(&sample, "names", "x"), 0);
    }
    assert_int_equal(set(&sample, "names", "x"), -ERANGE);
    assert_int_equal(sample.names.count, VAMP_STRINGS_MAX);
    vamp_opt_done(table, &sample);
}

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        int64_t ns;
        const char *printed;
    } cases[] = {
        {"1s", 0, 1000000000, "1s"},
        {"1500ms", 0, 1500000000, "1500ms"},
        {"1.5s", 0, 1500000000, "1500ms"},
        {"0.001s", 0, 1000000, "1ms"},
        {"90s", 0, 90000000000, "90s"},
        {"60s", 0, 60000000000, "1min"},
        {"24h", 0, 86400000000000, "1d"},
        {" 2 h", 0, 7200000000000, "2h"},
        {"0", 0, 0, "0s"},
        {"0ns", 0, 0, "0s"},
        {"0.000", 0, 0, "0s"},
        {"7us", 0, 7000, "7us"},
        {"9223372036854775807ns", 0, INT64_MAX, "9223372036854775807ns"},
        {"9223372036854775808ns", -ERANGE, 0, NULL},
        {"106752d", -ERANGE, 0, NULL},
        {"99999999999999999999s", -EINVAL, 0, NULL},
        {"0.5ns", -EINVAL, 0, NULL},
        {"5", -EINVAL, 0, NULL},
        {"", -EINVAL, 0, NULL},
        {"s", -EINVAL, 0, NULL},
        {"-1s", -EINVAL, 0, NULL},
        {"1.s", -EINVAL, 0, NULL},
        {".5s", -EINVAL, 0, NULL},
        {"1S", -EINVAL, 0, NULL},
        {"1sec", -EINVAL, 0, NULL},
        {"1h30min", -EINVAL, 0, NULL},
        {"1.0000000000000001s", -EINVAL, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = -7;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(vamp_duration_parse(cases[i].text, &ns, &err), cases[i].code);
        if (cases[i].code != 0) {
            assert_int_equal(ns, -7);
            assert_non_null(strstr(err.text, cases[i].text));
            continue;
        }
        assert_int_equal(ns, cases[i].ns);
        char text[VAMP_QUANTITY_TEXT_BYTES];
        vamp_duration_text(ns, text, sizeof text);
        assert_string_equal(text, cases[i].printed);
    }
    char text[VAMP_QUANTITY_TEXT_BYTES];
    vamp_duration_text(-1500000000, text, sizeof text);
    assert_string_equal(text, "-1500ms");
    vamp_duration_text(INT64_MIN, text, sizeof text);
    assert_string_equal(text, "-9223372036854775808ns");
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        uint64_t bytes;
        const char *printed;
    } cases[] = {
        {"64KiB", 0, 65536, "64KiB"},
        {"65536", 0, 65536, "64KiB"},
        {"1.5MiB", 0, 1572864, "1536KiB"},
        {"1kB", 0, 1000, "1000B"},
        {"2 TB", 0, 2000000000000, "1953125000KiB"},
        {"0B", 0, 0, "0B"},
        {"1TiB", 0, UINT64_C(1) << 40, "1TiB"},
        {"18446744073709551615B", 0, UINT64_MAX, "18446744073709551615B"},
        {"18446744073709551616B", -EINVAL, 0, NULL},
        {"16777216TiB", -ERANGE, 0, NULL},
        {"0.3B", -EINVAL, 0, NULL},
        {"1KB", -EINVAL, 0, NULL},
        {"1K", -EINVAL, 0, NULL},
        {"", -EINVAL, 0, NULL},
        {"-1B", -EINVAL, 0, NULL},
        {"1 MiB ", -EINVAL, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 7;
        assert_int_equal(vamp_size_parse(cases[i].text, &bytes, NULL), cases[i].code);
        if (cases[i].code == 0) {
            char text[VAMP_QUANTITY_TEXT_BYTES];
            vamp_size_text(bytes, text, sizeof text);
            assert_int_equal(bytes, cases[i].bytes);
            assert_string_equal(text, cases[i].printed);
        }
    }
}

/* What is printed is read as the same value, whatever it is. */
static void quantities_survive_the_way_there_and_back(void **state)
{
    (void)state;
    uint64_t value = 1;
    for (int i = 0; i < 20000; i++) {
        value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t wanted = value >> (i % 60);
        char text[VAMP_QUANTITY_TEXT_BYTES];
        uint64_t bytes = 0;
        vamp_size_text(wanted, text, sizeof text);
        assert_int_equal(vamp_size_parse(text, &bytes, NULL), 0);
        assert_int_equal(bytes, wanted);
        int64_t ns = 0;
        vamp_duration_text((int64_t)(wanted >> 1), text, sizeof text);
        assert_int_equal(vamp_duration_parse(text, &ns, NULL), 0);
        assert_int_equal(ns, wanted >> 1);
    }
}

static void near_misses(void **state)
{
    (void)state;
    static const char *const words[] = {"bucket", "lateness", "max_series", "max_components",
                                        "level",  "all",      NULL};
    static const struct {
        const char *word, *near;
    } cases[] = {
        {"buket", "bucket"},
        {"bukcet", "bucket"},
        {"Bucket", "bucket"},
        {"LEVEL", "level"},
        {"series", "max_series"},
        {"max_component", "max_components"},
        {"al", "all"},
        {"lat", "lateness"},
        {"levle", "level"},
        {"bckt", NULL},
        {"", NULL},
        {"zzz", NULL},
        {"xy", NULL},
        {"queue", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *near = vamp_opt_near_choice(words, cases[i].word);
        if (cases[i].near == NULL) {
            assert_null(near);
        } else {
            assert_non_null(near);
            assert_string_equal(near, cases[i].near);
        }
    }
    char long_word[1000];
    memset(long_word, 'b', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_null(vamp_opt_near_choice(words, long_word));
    assert_null(vamp_opt_near_choice(NULL, "x"));
    assert_string_equal(vamp_opt_near_key(table, "colours"), "colour");
    assert_string_equal(vamp_opt_near_key(table, "color"), "colour");
}

static void what_is_allowed(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "true or false",
        "a whole number, from 2 to 100",
        "a duration such as \"1s\" or \"500ms\", from 1ms to 1min",
        "a duration such as \"1s\" or \"500ms\"",
        "a size such as \"64KiB\", from 0B to 1MiB",
        "a text of at most 10 bytes",
        "one of red, green, blue",
        "a list of words from apple, banana, cherry, or \"all\"",
        "a list of at most 256 texts of at most 10 bytes",
    };
    for (size_t i = 0; table[i].key != NULL; i++) {
        char text[VAMP_OPT_ALLOWED_BYTES];
        vamp_opt_allowed(&table[i], text);
        assert_string_equal(text, expected[i]);
    }
    const char *many[101] = {NULL};
    for (size_t i = 0; i < 100; i++) {
        many[i] = "some-longer-word";
    }
    const struct vamp_opt long_one = {.type = VAMP_OPT_ENUM, .choices = many};
    char text[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_allowed(&long_one, text);
    assert_int_equal(strlen(text), VAMP_OPT_ALLOWED_BYTES - 1);
    assert_string_equal(text + VAMP_OPT_ALLOWED_BYTES - 4, "...");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    unsigned n = 1;
    for (;; n++) {
        struct sample sample;
        fault_alloc_fail_at(n);
        int code = vamp_opt_presets(table, &sample, NULL);
        if (!fault_alloc_end()) {
            assert_int_equal(code, 0);
            vamp_opt_done(table, &sample);
            break;
        }
        assert_int_equal(code, -ENOMEM);
        assert_null(sample.text);
        assert_null(sample.names.items);
    }
    assert_true(n > 5);
}

/* Bit 0: count is even, bit 1: the text is empty, bit 2: there are names. */
static uint32_t conditions_of_sample(const void *context)
{
    const struct sample *sample = context;
    return (sample->count % 2 == 0 ? 1 : 0) | (sample->text == NULL ? 2 : 0) |
           (sample->names.count > 0 ? 4 : 0);
}

static void effects_depend_on_other_options(void **state)
{
    (void)state;
    static const char *const words[] = {"an even count", "no text", "names", NULL};
    static const struct vamp_opt_conditions conditions = {words, conditions_of_sample};
    const struct vamp_opt always = {.key = "always"};
    const struct vamp_opt one = {.key = "one", .only_with = 4};
    const struct vamp_opt two = {.key = "two", .only_with = 3};
    const struct vamp_opt any = {.key = "any", .only_with = 7};
    const struct sample sample = {.count = 2, .text = (char[]){"x"}};
    const uint32_t holding = vamp_opt_holding(&conditions, &sample);
    assert_int_equal(holding, 1);
    assert_true(vamp_opt_has_effect(&always, 0));
    assert_true(vamp_opt_has_effect(&two, holding));
    assert_false(vamp_opt_has_effect(&one, holding));
    assert_true(vamp_opt_has_effect(&one, vamp_opt_holding(NULL, &sample)));
    char text[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_only_with(&always, &conditions, text);
    assert_string_equal(text, "");
    vamp_opt_only_with(&one, NULL, text);
    assert_string_equal(text, "");
    vamp_opt_only_with(&one, &conditions, text);
    assert_string_equal(text, "only with names");
    vamp_opt_only_with(&two, &conditions, text);
    assert_string_equal(text, "only with an even count or no text");
    vamp_opt_only_with(&any, &conditions, text);
    assert_string_equal(text, "only with an even count, no text or names");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_set_and_freed),
        cmocka_unit_test(a_wrong_default_is_reported_with_its_option),
        cmocka_unit_test(numbers_need_no_unit),
        cmocka_unit_test(values_replace_and_failures_keep),
        cmocka_unit_test(lists_add_up_until_cleared),
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(quantities_survive_the_way_there_and_back),
        cmocka_unit_test(near_misses),
        cmocka_unit_test(what_is_allowed),
        cmocka_unit_test(effects_depend_on_other_options),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
