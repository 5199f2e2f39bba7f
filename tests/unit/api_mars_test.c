/* SPDX-License-Identifier: BSD-3-Clause */
/* The MARS keywords, which need no configuration, and the texts given for those of another type. */
#include "tests/unit/api_alone.h"

#include <sys/mman.h>

#define KEY(keyword) ".maestro.ecmwf." keyword

static int begin_plainly(void **state)
{
    (void)state;
    (void)unsetenv(MSTRO_ENV_POOL_INFO);
    (void)unsetenv(MSTRO_ENV_SCHEMA_LIST);
    (void)unsetenv(MSTRO_ENV_SCHEMA_PATH);
    (void)unsetenv(MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES);
    return mstro_init("workflow", "component", 0) == MSTRO_OK ? 0 : -1;
}

static mstro_status set_text(mstro_cdo cdo, const char *key, const char *text)
{
    return mstro_cdo_attribute_set(cdo, key, (void *)&text, true, false);
}

static const void *get(mstro_cdo cdo, const char *key, enum mstro_cdo_attr_value_type expected)
{
    enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
    const void *value = NULL;
    ASSERT_OK(mstro_cdo_attribute_get(cdo, key, &type, &value));
    assert_int_equal(type, expected);
    return value;
}

static void keywords_need_no_configuration(void **state)
{
    (void)state;
    mstro_cdo cdo = declare("field");
    ASSERT_OK(set_text(cdo, KEY("class"), "rd"));
    int64_t param = 260048;
    ASSERT_OK(mstro_cdo_attribute_set(cdo, KEY("param"), &param, true, false));
    uint64_t time = 1200;
    ASSERT_OK(mstro_cdo_attribute_set(cdo, KEY("time"), &time, true, false));
    mstro_timestamp date = {.sec = 1732233600};
    ASSERT_OK(mstro_cdo_attribute_set(cdo, KEY("date"), &date, true, false));
    assert_int_equal(*(const int64_t *)get(cdo, KEY("param"), MSTRO_CDO_ATTR_VALUE_int64), param);
    assert_int_equal(*(const uint64_t *)get(cdo, KEY("time"), MSTRO_CDO_ATTR_VALUE_uint64), 1200);
    const mstro_timestamp *there = get(cdo, KEY("date"), MSTRO_CDO_ATTR_VALUE_timestamp);
    assert_int_equal(there->sec, date.sec);
    assert_int_equal(set_text(cdo, KEY("no-keyword"), "x"), MSTRO_NOENT);
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

static void a_text_that_converts_is_taken(void **state)
{
    (void)state;
    mstro_cdo cdo = declare("field");
    ASSERT_OK(set_text(cdo, KEY("date"), "tomorrow"));
    static const char *const dates[] = {"20241122", "2024-11-22", "2024-11-22T00:00:00Z",
                                        "2024-11-22T00:00:00"};
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        ASSERT_OK(set_text(cdo, KEY("date"), dates[i]));
        ASSERT_OK(set_text(cdo, KEY("hdate"), dates[i]));
        const mstro_timestamp *date = get(cdo, KEY("hdate"), MSTRO_CDO_ATTR_VALUE_timestamp);
        assert_int_equal(date->sec, 1732233600);
        assert_int_equal(date->nsec, 0);
        const char *const *text = get(cdo, KEY("date"), MSTRO_CDO_ATTR_VALUE_cstring);
        assert_string_equal(*text, dates[i]);
    }
    ASSERT_OK(set_text(cdo, KEY("time"), "0600"));
    assert_string_equal(*(const char *const *)get(cdo, KEY("time"), MSTRO_CDO_ATTR_VALUE_cstring),
                        "0600");
    ASSERT_OK(set_text(cdo, KEY("frequency"), ""));
    assert_string_equal(
        *(const char *const *)get(cdo, KEY("frequency"), MSTRO_CDO_ATTR_VALUE_cstring), "");
    ASSERT_OK(set_text(cdo, KEY("levelist"), "-50"));
    assert_int_equal(*(const int64_t *)get(cdo, KEY("levelist"), MSTRO_CDO_ATTR_VALUE_int64), -50);
    /* Given to the library: it frees it. */
    char *given = strdup("24");
    assert_non_null(given);
    ASSERT_OK(mstro_cdo_attribute_set(cdo, KEY("step"), &given, false, false));
    assert_int_equal(*(const int64_t *)get(cdo, KEY("step"), MSTRO_CDO_ATTR_VALUE_int64), 24);
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

static void refuse(mstro_cdo cdo, const char *key, const char *text, const char *type)
{
    assert_int_equal(set_text(cdo, key, text), MSTRO_NOMATCH);
    assert_non_null(strstr(mstro_last_error(), key));
    assert_non_null(strstr(mstro_last_error(), text));
    assert_non_null(strstr(mstro_last_error(), type));
    assert_int_equal(mstro_cdo_attribute_get(cdo, key, NULL, NULL), MSTRO_NOENT);
}

static void a_text_that_does_not_is_refused(void **state)
{
    (void)state;
    mstro_cdo cdo = declare("field");
    refuse(cdo, KEY("hdate"), "tomorrow", "timestamp()");
    refuse(cdo, KEY("hdate"), "20240230", "timestamp()");
    refuse(cdo, KEY("step"), "0-24", "int()");
    refuse(cdo, KEY("step"), "99999999999999999999", "int()");
    char text[4096];
    memset(text, '7', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(set_text(cdo, KEY("step"), text), MSTRO_NOMATCH);
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

/* Numbers that are addresses of something else than a text stay numbers; the memory after a text
 * may be unreadable. */
static void addresses_do_no_harm(void **state)
{
    (void)state;
    mstro_cdo cdo = declare("field");
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    memcpy(pages + page - 3, "24", 3);
    ASSERT_OK(set_text(cdo, KEY("step"), pages + page - 3));
    assert_int_equal(*(const int64_t *)get(cdo, KEY("step"), MSTRO_CDO_ATTR_VALUE_int64), 24);
    const int64_t numbers[] = {0,
                               -1,
                               INT64_MIN,
                               INT64_MAX,
                               65536,
                               0x7fffffff0000,
                               (int64_t)(uintptr_t)(pages + page),
                               (int64_t)(uintptr_t)pages};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t number = numbers[i];
        ASSERT_OK(mstro_cdo_attribute_set(cdo, KEY("step"), &number, true, false));
        assert_int_equal(*(const int64_t *)get(cdo, KEY("step"), MSTRO_CDO_ATTR_VALUE_int64),
                         number);
    }
    ASSERT_OK(mstro_cdo_dispose(cdo));
    assert_int_equal(munmap(pages, 2 * page), 0);
}

static void a_schema_replaces_a_keyword(void **state)
{
    (void)state;
    char file[128];
    assert_non_null(mkdtemp(schema_directory));
    (void)snprintf(file, sizeof file, "%s/all.yaml", schema_directory);
    FILE *stream = fopen(file, "we");
    assert_non_null(stream);
    (void)fputs("schema-name: all\nschema-version: 1\nschema-namespace: .maestro.ecmwf.\n"
                "maestro-attributes:\n  - {key: date, type: str()}\n  - {key: own, type: int()}\n",
                stream);
    assert_int_equal(fclose(stream), 0);
    (void)setenv(MSTRO_ENV_SCHEMA_LIST, file, 1);
    ASSERT_OK(mstro_init("workflow", "component", 0));
    mstro_cdo cdo = declare("field");
    ASSERT_OK(set_text(cdo, KEY("date"), "tomorrow"));
    (void)get(cdo, KEY("date"), MSTRO_CDO_ATTR_VALUE_cstring);
    int64_t own = 7;
    ASSERT_OK(mstro_cdo_attribute_set(cdo, KEY("own"), &own, true, false));
    ASSERT_OK(set_text(cdo, KEY("time"), "1200")); /* the others are there as well */
    ASSERT_OK(mstro_cdo_attributes_print(cdo));
    ASSERT_OK(mstro_cdo_dispose(cdo));
    ASSERT_OK(mstro_finalize());
    (void)unlink(file);
    (void)rmdir(schema_directory);
}

static void a_dropped_attribute_reads_as_not_set(void **state)
{
    (void)state;
    (void)unsetenv(MSTRO_ENV_SCHEMA_LIST);
    (void)setenv(MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES, "1", 1);
    ASSERT_OK(mstro_init("workflow", "component", 0));
    mstro_cdo cdo = declare("field");
    int64_t number = 7;
    ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.nobody.key", &number, true, false));
    const void *value = &number;
    assert_int_equal(mstro_cdo_attribute_get(cdo, ".maestro.nobody.key", NULL, &value),
                     MSTRO_NOENT);
    assert_ptr_equal(value, &number);
    assert_non_null(strstr(mstro_last_error(), MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES));
    ASSERT_OK(mstro_cdo_dispose(cdo));
    ASSERT_OK(mstro_finalize());
    (void)unsetenv(MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES);
}

#define PLAIN(function) cmocka_unit_test_setup_teardown(function, begin_plainly, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(keywords_need_no_configuration),
        PLAIN(a_text_that_converts_is_taken),
        PLAIN(a_text_that_does_not_is_refused),
        PLAIN(addresses_do_no_harm),
        cmocka_unit_test(a_schema_replaces_a_keyword),
        cmocka_unit_test(a_dropped_attribute_reads_as_not_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
