/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors, clock and the names of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/event_kinds.h"
#include "tests/lib/fake_clock.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

static void an_error_gathers_context(void **state)
{
    (void)state;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_err_set_errno(&err, ENOSPC, "reserve %d KiB", 64), -ENOSPC);
    assert_int_equal(vamp_err_wrap(&err, "open %s", "a.h5"), -ENOSPC);
    assert_string_equal(err.text, "open a.h5: reserve 64 KiB: No space left on device");
    assert_int_equal(vamp_err_set(NULL, -EINVAL, "nobody listens"), -EINVAL);
}

static void a_long_error_is_cut_not_overrun(void **state)
{
    (void)state;
    char long_text[2 * VAMP_ERR_TEXT_BYTES];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_err_set_errno(&err, EIO, "%s", long_text), -EIO);
    assert_int_equal(strlen(err.text), VAMP_ERR_TEXT_BYTES - 1);
    assert_int_equal(vamp_err_wrap(&err, "%s", long_text), -EIO);
    assert_int_equal(strlen(err.text), VAMP_ERR_TEXT_BYTES - 1);
}

static void time_is_written_in_utc(void **state)
{
    (void)state;
    char text[VAMP_TIME_TEXT_BYTES];
    vamp_time_text(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000000000Z");
    vamp_time_text(INT64_C(1795232640000000001), text);
    assert_string_equal(text, "2026-11-21T03:44:00.000000001Z");
    vamp_time_text(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999999999Z");
}

static void the_fake_clock_moves_on_request(void **state)
{
    (void)state;
    struct vamp_fake_clock fake;
    vamp_fake_clock_init(&fake, 1000);
    vamp_fake_clock_advance(&fake, 5);
    assert_int_equal(vamp_clock_utc_ns(&fake.clock), 1005);
    assert_int_equal(vamp_clock_monotonic_ns(&fake.clock), 5);
}

static void every_kind_has_a_name_that_leads_back(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        assert_int_equal(event_kind_from_name(vamp_event_kind_name(kind)), kind);
        assert_string_not_equal(vamp_event_kind_help(kind), "unknown");
    }
    assert_int_equal(event_kind_from_name("offers"), VAMP_EVENT_NONE);
    assert_string_equal(vamp_event_kind_name(99), "unknown");
    assert_string_equal(vamp_tier_name(99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_gathers_context),
        cmocka_unit_test(a_long_error_is_cut_not_overrun),
        cmocka_unit_test(time_is_written_in_utc),
        cmocka_unit_test(the_fake_clock_moves_on_request),
        cmocka_unit_test(every_kind_has_a_name_that_leads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
