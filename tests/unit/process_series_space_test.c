/* SPDX-License-Identifier: BSD-3-Clause */
/* The name space of the ids of series: the UUIDs that any other program computes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/run/process.h"

static void write_key(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Python: uuid.uuid5(uuid.UUID("5b0e7a52-3d0c-5f6e-9b8a-6f1a2c94d7e3"), "forecast"), and with the
 * key uuid.uuid5 of that and the key. */
static void the_workflow_and_the_key_make_it(void **state)
{
    (void)state;
    char plain[UUID_STR_LEN], other[UUID_STR_LEN], keyed[UUID_STR_LEN];
    assert_int_equal(vamp_series_space("forecast", NULL, plain, NULL), 0);
    assert_string_equal(plain, "d69d707c-7f57-5f6c-868c-d10e021c7b49");
    assert_int_equal(vamp_series_space("analysis", NULL, other, NULL), 0);
    assert_string_not_equal(plain, other);
    char path[] = "/tmp/series-key-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    write_key(path, "0123456789abcdef \n");
    assert_int_equal(vamp_series_space("forecast", path, keyed, NULL), 0);
    assert_string_equal(keyed, "e15cb19d-f817-533a-a749-1d5563b1e35c");
    write_key(path, "0123456789abcde\n");
    assert_int_equal(vamp_series_space("forecast", path, keyed, NULL), -EINVAL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vamp_series_space("forecast", path, keyed, NULL), -ENOENT);
    assert_int_equal(vamp_series_space("forecast", "/", keyed, NULL), -EISDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_workflow_and_the_key_make_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
