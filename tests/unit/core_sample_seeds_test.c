/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz target of the line protocol demands, on its seeds and mutants of them. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): the target is what is tested. */
#include "tests/fuzz/sample_fuzz.c"

#include "tests/fuzz/replay.h"

static void each_sample_is_read_again(void **state)
{
    (void)state;
    replay_seeds("sample", 6, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_sample_is_read_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
