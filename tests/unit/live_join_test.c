/* SPDX-License-Identifier: BSD-3-Clause */
/* How the live source finds its pool manager: info texts and files, trying again, giving up. */
#include <unistd.h>

#include "tests/unit/live_scripted.h"
#include "vampire/live/session.h"

/* ------------------------------------------------------------------ joining */

static void tries_again_and_says_so(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.wait_ns = VAMP_NS_PER_SECOND; /* of a clock that stands still */
    script.init_results[0] = MSTRO_NO_PM;
    script.init_results[1] = MSTRO_REFUSED;
    open_source(fixture);
    assert_int_equal(script.inits, 3);
    assert_int_equal(fixture->said_count, 1);
    assert_non_null(strstr(fixture->said, "no pool manager"));
    close_source(fixture);
}

static void gives_up_in_time_or_when_stopped(void **state)
{
    struct fixture *fixture = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    script.init_results[0] = MSTRO_NO_PM;
    assert_int_equal(try_open(fixture, &err), -ETIMEDOUT); /* wait 0: one attempt */
    assert_int_equal(script.inits, 1);
    script.init_results[1] = MSTRO_NOT_TWICE;
    fixture->options.wait_ns = VAMP_NS_PER_SECOND;
    assert_int_equal(try_open(fixture, &err), -EINVAL); /* no use in trying that again */
    atomic_store(&fixture->stop, 1);
    assert_int_equal(try_open(fixture, &err), -ECANCELED);
    assert_int_equal(script.finalizes, 0);
}

static void info_is_found(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int result;
        const char *info;
    } cases[] = {
        {"MSTRO_POOL_MANAGER_INFO;abc;", 0, "abc"},
        {"MSTRO_POOL_MANAGER_INFO;abc;\n", 0, "abc"},
        {"starting\nMSTRO_POOL_MANAGER_INFO;YWJj+/==;\nready\n", 0, "YWJj+/=="},
        {"abc", 0, "abc"},
        {"  abc\n", 0, "abc"},
        {"", -EAGAIN, NULL},
        {"\n", -EAGAIN, NULL},
        {"MSTRO_POOL", -EAGAIN, NULL},
        {"MSTRO_POOL_MANAGER_INFO;", -EAGAIN, NULL},
        {"MSTRO_POOL_MANAGER_INFO;ab", -EAGAIN, NULL},
        {"MSTRO_POOL_MANAGER_INFO;;", -EAGAIN, NULL},
        {"two words", -EINVAL, NULL},
        {"a;b", -EINVAL, NULL},
        {"\x01", -EINVAL, NULL},
        {"MSTRO_POOL_MANAGER_INFO;a b;", -EINVAL, NULL},
        {"muchtoolong-muchtoolong-muchtoolong", -EINVAL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char info[32];
        assert_int_equal(vamp_maestro_info_parse(cases[i].text, info, sizeof info),
                         cases[i].result);
        if (cases[i].info != NULL) {
            assert_string_equal(info, cases[i].info);
        }
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void info_file_is_read_and_needed(void **state)
{
    struct fixture *fixture = *state;
    char folder[] = "/tmp/vampire-source-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/pm.info", folder);
    fixture->options.info = NULL;
    fixture->options.info_file = path;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(try_open(fixture, &err), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "does not exist yet"));
    write_file(path, "MSTRO_POOL_MANAGER_INFO;hal");
    assert_int_equal(try_open(fixture, &err), -ETIMEDOUT);
    assert_int_equal(script.inits, 0);
    write_file(path, "some log\nMSTRO_POOL_MANAGER_INFO;whole;\n");
    open_source(fixture);
    assert_string_equal(script.info, "whole");
    close_source(fixture);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void without_info_it_says_what_to_set(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.info = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(unsetenv(MSTRO_ENV_POOL_INFO), 0);
    assert_int_equal(try_open(fixture, &err), -EINVAL); /* never alone by accident */
    assert_non_null(strstr(err.text, "MSTRO_POOL_MANAGER_INFO"));
    assert_int_equal(script.inits, 0);
    fixture->options.alone = true;
    open_source(fixture);
    assert_string_equal(script.info, "(none)");
    close_source(fixture);
}

#define SOURCE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOURCE_TEST(tries_again_and_says_so),
        SOURCE_TEST(gives_up_in_time_or_when_stopped),
        SOURCE_TEST(info_is_found),
        SOURCE_TEST(info_file_is_read_and_needed),
        SOURCE_TEST(without_info_it_says_what_to_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
