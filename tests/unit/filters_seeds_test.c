/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the seeds of the fuzz target in tests/fuzz/seeds/filter/ as a plain test. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): the target is what is tested. */
#include "tests/fuzz/filter_fuzz.c"

#define SEED_BYTES_MAX 70000

static void seeds_do_no_harm(void **state)
{
    (void)state;
    const char *tests = getenv("VAMP_TESTS");
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/fuzz/seeds/filter", tests != NULL ? tests : "tests");
    DIR *folder = opendir(path);
    if (folder == NULL) {
        fail_msg("no folder %s: start at the repository root or set VAMP_TESTS", path);
        return;
    }
    uint8_t *data = malloc(SEED_BYTES_MAX);
    assert_non_null(data);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/fuzz/seeds/filter/%s",
                       tests != NULL ? tests : "tests", entry->d_name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        size_t size = fread(data, 1, SEED_BYTES_MAX, file);
        (void)fclose(file);
        (void)LLVMFuzzerTestOneInput(data, size);
        count++;
    }
    (void)closedir(folder);
    free(data);
    assert_true(count >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
