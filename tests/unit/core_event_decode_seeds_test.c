/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz target of the event codec demands, on its seeds and mutants of them. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): the target is what is tested. */
#include "tests/fuzz/event_decode_fuzz.c"

#include "tests/fuzz/replay.h"

static void both_readers_agree(void **state)
{
    (void)state;
    replay_seeds("event_decode", 17, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_readers_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
