/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz target of the collector demands, on its seeds and mutants of them. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): the target is what is tested. */
#include "tests/fuzz/collect_fuzz.c"

#include "tests/fuzz/replay.h"

static void a_message_is_collected_or_refused(void **state)
{
    (void)state;
    replay_seeds("collect", 11, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_message_is_collected_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
