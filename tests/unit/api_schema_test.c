/* SPDX-License-Identifier: BSD-3-Clause */
/* Attribute schemas from files. */
#include "maestro/api/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/maestro_schema_test.XXXXXX";

#define HEAD "schema-name: s\nschema-version: 1\nschema-namespace: .my.space.\n"
#define LIST HEAD "maestro-attributes:\n"

static void write_file(const char *name, const char *text)
{
    char file[256];
    (void)snprintf(file, sizeof file, "%s/%s", directory, name);
    FILE *stream = fopen(file, "we");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static void remove_file(const char *name)
{
    char file[256];
    (void)snprintf(file, sizeof file, "%s/%s", directory, name);
    (void)unlink(file);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_file("one.yaml");
    remove_file("two.yaml");
    return rmdir(directory);
}

static void test_core(void **state)
{
    (void)state;
    struct schema_set *set = NULL;
    assert_int_equal(schema_load(NULL, NULL, &set, NULL), MSTRO_OK);
    assert_int_equal(schema_find(set, MSTRO_ATTR_CORE_CDO_NAME)->type,
                     MSTRO_CDO_ATTR_VALUE_cstring);
    assert_int_equal(schema_find(set, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE)->type,
                     MSTRO_CDO_ATTR_VALUE_uint64);
    assert_int_equal(schema_find(set, MSTRO_ATTR_CORE_CDO_RAW_PTR)->type,
                     MSTRO_CDO_ATTR_VALUE_pointer);
    assert_null(schema_find(set, ".my.space.a"));
    assert_null(schema_find(set, ""));
    schema_free(set);
    schema_free(NULL);
}

static void test_types(void **state)
{
    (void)state;
    write_file("one.yaml", LIST "  - key: i\n    type: int()\n    required: true\n"
                                "    documentation: >\n      several\n      lines\n"
                                "  - key: u\n    type: uint()\n    required: false\n"
                                "  - key: s\n    type: \"str()\"\n"
                                "  - key: deep.er\n    type: timestamp()\n"
                                "  - key: .other.space.full\n    type: bool()\n"
                                "  - {key: d, type: double()}\n  - {key: f, type: float()}\n"
                                "  - {key: p, type: pointer()}\n");
    write_file("two.yaml", "schema-name: t\nschema-version: 1.2\nschema-namespace: .two\n"
                           "maestro-attributes: [{key: a, type: int()}]\n");
    struct schema_set *set = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    char path[256];
    (void)snprintf(path, sizeof path, "/no/such/place;;%s", directory);
    assert_int_equal(schema_load(";one;two.yaml;one", path, &set, &err), MSTRO_OK);
    assert_int_equal(schema_find(set, ".my.space.i")->type, MSTRO_CDO_ATTR_VALUE_int64);
    assert_true(schema_find(set, ".my.space.i")->required);
    assert_int_equal(schema_find(set, ".my.space.u")->type, MSTRO_CDO_ATTR_VALUE_uint64);
    assert_false(schema_find(set, ".my.space.u")->required);
    assert_int_equal(schema_find(set, ".my.space.s")->type, MSTRO_CDO_ATTR_VALUE_cstring);
    assert_int_equal(schema_find(set, ".my.space.deep.er")->type, MSTRO_CDO_ATTR_VALUE_timestamp);
    assert_int_equal(schema_find(set, ".other.space.full")->type, MSTRO_CDO_ATTR_VALUE_bool);
    assert_int_equal(schema_find(set, ".my.space.d")->type, MSTRO_CDO_ATTR_VALUE_double);
    assert_int_equal(schema_find(set, ".my.space.f")->type, MSTRO_CDO_ATTR_VALUE_float);
    assert_int_equal(schema_find(set, ".my.space.p")->type, MSTRO_CDO_ATTR_VALUE_pointer);
    assert_non_null(schema_find(set, ".two.a")); /* the namespace gets its '.' */
    schema_free(set);
    /* A path of its own needs no search. */
    (void)snprintf(path, sizeof path, "%s/one.yaml", directory);
    assert_int_equal(schema_load(path, "/no/such/place", &set, &err), MSTRO_OK);
    schema_free(set);
}

struct wrong {
    const char *text, *place, *what;
};

static const struct wrong wrongs[] = {
    {"", "one.yaml:1", "mapping"},
    {"- a\n- b\n", "one.yaml:1", "mapping"},
    {"a: [\n", "one.yaml:2", ""},
    {"\xff\xfe\xfd", "one.yaml:", ""},
    {"schema-name: s\nschema-nmaespace: .x.\n", "one.yaml:1", "schema-namespace"},
    {"schema-version: 1\nschema-namespace: .x.\n", "one.yaml:1", "schema-name"},
    {"schema-name: s\nmaestro-attributes: []\n", "one.yaml:1", "schema-namespace"},
    {"schema-name: s\nschema-namespace: x\nmaestro-attributes: []\n", "one.yaml:2", "'.'"},
    {HEAD, "one.yaml:1", "maestro-attributes"},
    {HEAD "maestro-attributes: 7\n", "one.yaml:4", "no list"},
};

static void test_wrong_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct schema_set *set = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        write_file("one.yaml", wrongs[i].text);
        mstro_status status = schema_load("one", directory, &set, &err);
        if (status != MSTRO_INVARG || strstr(err.text, wrongs[i].place) == NULL ||
            strstr(err.text, wrongs[i].what) == NULL) {
            fail_msg("row %zu: status %d, \"%s\", expected \"%s\" and \"%s\"", i, (int)status,
                     err.text, wrongs[i].place, wrongs[i].what);
        }
        assert_null(set);
    }
}

/* What another Maestro may understand is left out, and said; the rest is there. */
static const struct wrong left_out[] = {
    {LIST "  - just a text\n", "one.yaml:5", "mapping"},
    {LIST "  - key: a\n", "one.yaml:5", "int()"},
    {LIST "  - key: a\n    type: integer()\n", "one.yaml:6", "\"integer()\""},
    {LIST "  - key: a\n    type: int\n", "one.yaml:6", "\"int\""},
    {LIST "  - key: a\n    type: [int()]\n", "one.yaml:6", "int()"},
    {LIST "  - type: int()\n", "one.yaml:5", "\"key\""},
    {LIST "  - key: ''\n    type: int()\n", "one.yaml:5", "\"key\""},
    {LIST "  - key: a b\n    type: int()\n", "one.yaml:5", "blanks"},
    {LIST "  - key: a\n    type: int()\n    requird: true\n", "one.yaml:7", "requird"},
    {LIST "  - key: a\n    type: int()\n    required: maybe\n", "one.yaml:7", "true or false"},
    {LIST "  - {key: a, type: int()}\n  - {key: a, type: str()}\n", "one.yaml:6", "another type"},
    {"schema-name: s\nschema-namespace: .maestro.core.cdo.\nmaestro-attributes:\n"
     "  - {key: name, type: int()}\n",
     "one.yaml:4", "another type"},
    {"schema-author: me\n" LIST, "one.yaml:1", "schema-author"},
    {LIST "  - key: a\n    type: enum('x', 'y')\n", "one.yaml:6", "\"enum('x', 'y')\""},
};

static void test_what_is_left_out(void **state)
{
    (void)state;
    char said[4096], path[256];
    (void)snprintf(path, sizeof path, "%s/stderr", directory);
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        struct schema_set *set = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        char text[1024];
        (void)snprintf(text, sizeof text, "%s  - {key: last, type: int(min=0)}\n",
                       left_out[i].text);
        write_file("one.yaml", text);
        FILE *file = freopen(path, "w+e", stderr);
        assert_non_null(file);
        assert_int_equal(schema_load("one", directory, &set, &err), MSTRO_OK);
        rewind(file);
        said[fread(said, 1, sizeof said - 1, file)] = '\0';
        if (strstr(said, left_out[i].place) == NULL || strstr(said, left_out[i].what) == NULL ||
            strstr(said, "left out") == NULL) {
            fail_msg("row %zu: \"%s\", expected \"%s\" and \"%s\"", i, said, left_out[i].place,
                     left_out[i].what);
        }
        const bool is_core = strstr(text, ".maestro.core.cdo.") != NULL;
        assert_non_null(schema_find(set, is_core ? ".maestro.core.cdo.last" : ".my.space.last"));
        assert_int_equal(schema_find(set, MSTRO_ATTR_CORE_CDO_NAME)->type,
                         MSTRO_CDO_ATTR_VALUE_cstring);
        schema_free(set);
    }
    (void)unlink(path);
}

static void test_not_found(void **state)
{
    (void)state;
    struct schema_set *set = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(schema_load("nowhere", directory, &set, &err), MSTRO_INVARG);
    assert_non_null(strstr(err.text, "\"nowhere\""));
    assert_non_null(strstr(err.text, directory));
    assert_int_equal(schema_load("/", directory, &set, &err), MSTRO_INVARG); /* no file */
    assert_null(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core),        cmocka_unit_test(test_types),
        cmocka_unit_test(test_wrong_files), cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_not_found),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
