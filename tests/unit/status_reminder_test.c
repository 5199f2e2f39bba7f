/* SPDX-License-Identifier: BSD-3-Clause */
/* A state that lasts is said once, then at growing intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/run/status.h"
#include "vampire/core/clock.h"

#define STEP_NS (VAMP_NS_PER_SECOND / 2)

/* How often a message every STEP_NS is printed within [from_s, to_s). */
static unsigned printed(struct vamp_reminder *reminder, const char *text, int from_s, int to_s)
{
    unsigned count = 0;
    for (int64_t ns = from_s * VAMP_NS_PER_SECOND; ns < to_s * VAMP_NS_PER_SECOND; ns += STEP_NS) {
        count += vamp_reminder_take_due(reminder, text, ns);
    }
    return count;
}

static void once_then_at_growing_intervals(void **state)
{
    (void)state;
    struct vamp_reminder reminder = {0};
    assert_int_equal(printed(&reminder, "no server", 0, 10), 1);
    assert_int_equal(printed(&reminder, "no server", 10, 30), 1); /* at 10 s */
    assert_int_equal(printed(&reminder, "no server", 30, 70), 1); /* 20 s later, at 30 s */
    assert_int_equal(printed(&reminder, "no server", 70, 150), 1);
    assert_int_equal(printed(&reminder, "no server", 150, 86400), 145); /* in the end every 600 s */
}

static void another_message_is_news(void **state)
{
    (void)state;
    struct vamp_reminder reminder = {0};
    assert_true(vamp_reminder_take_due(&reminder, "sent 1000 bytes: refused", 0));
    assert_false(vamp_reminder_take_due(&reminder, "sent 20 bytes: refused", STEP_NS));
    assert_true(vamp_reminder_take_due(&reminder, "sent 20 bytes: no answer", STEP_NS));
}

static void what_is_over_is_news_again(void **state)
{
    (void)state;
    struct vamp_reminder reminder = {0};
    assert_true(vamp_reminder_take_due(&reminder, "no server", 0));
    vamp_reminder_end(&reminder);
    assert_true(vamp_reminder_take_due(&reminder, "no server", STEP_NS));
    assert_false(vamp_reminder_take_due(&reminder, "no server", 2 * STEP_NS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_then_at_growing_intervals),
        cmocka_unit_test(another_message_is_news),
        cmocka_unit_test(what_is_over_is_news_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
