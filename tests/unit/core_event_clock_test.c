/* SPDX-License-Identifier: BSD-3-Clause */
/* What time it is in the stream while no event comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vampire/core/clock.h"

#define SECOND VAMP_NS_PER_SECOND

static void unknown_before_the_first_event(void **state)
{
    (void)state;
    struct vamp_event_clock clock = {0};
    int64_t now = 7;
    assert_false(vamp_event_clock_now(&clock, SECOND, &now));
    assert_int_equal(now, 7);
}

static void runs_on_from_the_fastest_delivery(void **state)
{
    (void)state;
    struct vamp_event_clock clock = {0};
    vamp_event_clock_observe(&clock, 1000 * SECOND, 10 * SECOND);
    vamp_event_clock_observe(&clock, 1001 * SECOND, 13 * SECOND); /* two seconds late */
    int64_t now = 0;
    assert_true(vamp_event_clock_now(&clock, 14 * SECOND, &now));
    assert_int_equal(now, 1004 * SECOND);
}

static void forgets_a_clock_that_was_stepped_back(void **state)
{
    (void)state;
    struct vamp_event_clock clock = {0};
    vamp_event_clock_observe(&clock, 5000 * SECOND, 10 * SECOND);
    for (int64_t second = 11; second < 40; second++) {
        vamp_event_clock_observe(&clock, (1000 + second) * SECOND, second * SECOND);
    }
    int64_t now = 0;
    assert_true(vamp_event_clock_now(&clock, 40 * SECOND, &now));
    assert_int_equal(now, 1040 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_before_the_first_event),
        cmocka_unit_test(runs_on_from_the_fastest_delivery),
        cmocka_unit_test(forgets_a_clock_that_was_stepped_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
