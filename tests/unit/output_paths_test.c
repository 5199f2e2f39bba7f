/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of files for the summary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "writers/output/output.h"

struct seen {
    size_t count;
    char first[16], last[16];
};

static void look(void *context, const char *path)
{
    struct seen *seen = context;
    if (seen->count++ == 0) {
        (void)snprintf(seen->first, sizeof seen->first, "%s", path);
    }
    (void)snprintf(seen->last, sizeof seen->last, "%s", path);
}

static void add(struct vamp_paths *paths, unsigned from, unsigned to)
{
    for (unsigned number = from; number <= to; number++) {
        char path[16];
        (void)snprintf(path, sizeof path, "%u", number);
        vamp_paths_add(paths, path);
    }
}

static void all_are_kept_up_to_the_bound(void **state)
{
    (void)state;
    struct vamp_paths paths = {.items = NULL};
    struct seen seen = {0};
    assert_int_equal(vamp_paths_each(&paths, look, &seen), 0);
    add(&paths, 1, VAMP_PATHS_MAX);
    assert_int_equal(vamp_paths_each(&paths, look, &seen), VAMP_PATHS_MAX);
    assert_int_equal(seen.count, VAMP_PATHS_MAX);
    vamp_paths_done(&paths);
}

static void beyond_it_the_first_and_the_newest(void **state)
{
    (void)state;
    struct vamp_paths paths = {.items = NULL};
    struct seen seen = {0};
    add(&paths, 1, 1000);
    assert_int_equal(vamp_paths_each(&paths, look, &seen), 1000);
    assert_int_equal(seen.count, VAMP_PATHS_MAX);
    assert_string_equal(seen.first, "1");
    assert_string_equal(seen.last, "1000");
    vamp_paths_done(&paths);
}

static void one_written_again_is_listed_once(void **state)
{
    (void)state;
    struct vamp_paths paths = {.items = NULL};
    struct seen seen = {0};
    add(&paths, 1, 2);
    add(&paths, 2, 2);
    add(&paths, 2, 3);
    assert_int_equal(vamp_paths_each(&paths, look, &seen), 3);
    assert_string_equal(seen.last, "3");
    vamp_paths_done(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_kept_up_to_the_bound),
        cmocka_unit_test(beyond_it_the_first_and_the_newest),
        cmocka_unit_test(one_written_again_is_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
