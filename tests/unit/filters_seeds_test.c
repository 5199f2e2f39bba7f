/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the seeds of the fuzz target in tests/fuzz/seeds/filter/, and mutants of them. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): the target is what is tested. */
#include "tests/fuzz/filter_fuzz.c"

#define REPLAY_WITH_ANY_BYTES
#include "tests/fuzz/replay.h"

static void seeds_do_no_harm(void **state)
{
    (void)state;
    replay_seeds("filter", 50, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
