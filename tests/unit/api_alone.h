/* SPDX-License-Identifier: BSD-3-Clause */
/* A component that runs alone, with a schema of its own, for tests of the public interface. */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "maestro/maestro.h"

#define ASSERT_OK(call) assert_int_equal((call), MSTRO_OK)

static char schema_directory[] = "/tmp/maestro_api_test.XXXXXX";

static inline int make_schema(void **state)
{
    (void)state;
    if (mkdtemp(schema_directory) == NULL) {
        return -1;
    }
    char file[128];
    (void)snprintf(file, sizeof file, "%s/all.yaml", schema_directory);
    FILE *stream = fopen(file, "we");
    if (stream == NULL) {
        return -1;
    }
    (void)fputs("schema-name: all\n"
                "schema-version: 1\n"
                "schema-namespace: .maestro.all.\n"
                "maestro-attributes:\n",
                stream);
    static const char *const types[] = {"int",  "uint",      "str",     "double", "float",
                                        "bool", "timestamp", "pointer", "int32",  "uint32"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        (void)fprintf(stream, "  - {key: a-%s, type: %s()}\n", types[i], types[i]);
    }
    return fclose(stream);
}

static inline int remove_schema(void **state)
{
    (void)state;
    char file[128];
    (void)snprintf(file, sizeof file, "%s/all.yaml", schema_directory);
    (void)unlink(file);
    return rmdir(schema_directory);
}

static inline int begin(void **state)
{
    (void)state;
    (void)unsetenv(MSTRO_ENV_POOL_INFO);
    (void)unsetenv(MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES);
    (void)setenv(MSTRO_ENV_SCHEMA_LIST, "all", 1);
    (void)setenv(MSTRO_ENV_SCHEMA_PATH, schema_directory, 1);
    return mstro_init("workflow", "component", 0) == MSTRO_OK ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    return mstro_finalize() == MSTRO_OK ? 0 : -1;
}

static inline mstro_cdo declare(const char *name)
{
    mstro_cdo cdo = NULL;
    ASSERT_OK(mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &cdo));
    assert_non_null(cdo);
    return cdo;
}

static inline void give_data(mstro_cdo cdo, void *data, uint64_t bytes, bool copy)
{
    ASSERT_OK(mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, data, copy, true));
    ASSERT_OK(
        mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &bytes, true, false));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
