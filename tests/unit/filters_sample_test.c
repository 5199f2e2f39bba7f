/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling: what passes, and how many events it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/event_filter.h"
#include "tests/lib/random_filter.h"
#include "vampire/core/clock.h"

static struct vamp_event offer(uint64_t cdo, int64_t time_ns)
{
    return (struct vamp_event){.kind = VAMP_EVENT_OFFER,
                               .time_ns = time_ns,
                               .cdo_id = {0, cdo},
                               .present = VAMP_HAS_CDO_ID};
}

/* Marks, JOIN and LEAVE pass, however little is wanted. */
static void what_others_need_always_passes(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {VAMP_EVENT_LOST, VAMP_EVENT_REJECTED, VAMP_EVENT_GONE,
                                    VAMP_EVENT_JOIN, VAMP_EVENT_LEAVE};
    for (size_t k = 0; k < 1000 * sizeof kinds; k++) {
        const struct vamp_event event = {
            .kind = kinds[k % sizeof kinds], .cdo_id = {k, k}, .present = VAMP_HAS_CDO_ID};
        assert_true(vamp_sample_passes(1, &event));
    }
}

/* All events of a CDO share its fate. */
static void fraction_keeps_cdos_whole(void **state)
{
    (void)state;
    for (uint64_t cdo = 0; cdo < 5000; cdo++) {
        struct vamp_event event = offer(cdo, 0);
        bool passes = vamp_sample_passes(250000, &event);
        for (unsigned kind = VAMP_EVENT_DECLARE; kind <= VAMP_EVENT_TRANSPORT_FAILED; kind++) {
            event.kind = (uint8_t)kind;
            event.time_ns += 1000;
            event.app_id = kind;
            assert_int_equal(vamp_sample_passes(250000, &event), passes);
        }
    }
    struct vamp_event anonymous = {.kind = VAMP_EVENT_OFFER};
    assert_true(vamp_sample_passes(1, &anonymous));
}

/* Whatever the ids look like, the weighted count is near the truth: within 5 standard deviations.
 */
static void assert_fraction(uint64_t per_million, unsigned pattern)
{
    enum { CDOS = 200000 };
    uint64_t seed = 17;
    uint64_t passed = 0;
    for (uint64_t i = 0; i < CDOS; i++) {
        struct vamp_event event = offer(i, 0);
        if (pattern == 1) {
            event.cdo_id.high = i << 32, event.cdo_id.low = 0;
        } else if (pattern == 2) {
            event.cdo_id.high = random_next(&seed), event.cdo_id.low = random_next(&seed);
        }
        passed += vamp_sample_passes(per_million, &event);
    }
    double p = (double)per_million / 1e6, expected = p * CDOS;
    double difference = (double)passed - expected;
    assert_true(difference * difference <= 25 * (expected * (1 - p) + 1));
    assert_true(per_million != VAMP_SAMPLE_ALL || passed == CDOS);
}

static void fraction_is_fair(void **state)
{
    (void)state;
    static const uint64_t fractions[] = {1, 1000, 10000, 250000, 500000, 999999, 1000000};
    for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
        for (unsigned pattern = 0; pattern < 3; pattern++) {
            assert_fraction(fractions[i], pattern);
        }
    }
}

/* A smaller fraction watches a part of what a larger one watches. */
static void fractions_nest(void **state)
{
    (void)state;
    for (uint64_t cdo = 0; cdo < 20000; cdo++) {
        struct vamp_event event = offer(cdo, 0);
        bool in_few = vamp_sample_passes(1000, &event);
        bool in_many = vamp_sample_passes(100000, &event);
        assert_true(!in_few || in_many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_need_always_passes),
        cmocka_unit_test(fraction_keeps_cdos_whole),
        cmocka_unit_test(fraction_is_fair),
        cmocka_unit_test(fractions_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
