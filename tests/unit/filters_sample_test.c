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

#include "filters/sample.h"
#include "tests/lib/random_filter.h"
#include "vampire/core/clock.h"

static struct vamp_sampler sampler_of(enum vamp_sampling how, uint64_t number)
{
    struct vamp_sampler sampler;
    vamp_sampler_init(&sampler, how, number);
    return sampler;
}

static struct vamp_event offer(uint64_t cdo, int64_t time_ns)
{
    return (struct vamp_event){.kind = VAMP_EVENT_OFFER,
                               .time_ns = time_ns,
                               .cdo_id = {0, cdo},
                               .present = VAMP_HAS_CDO_ID};
}

/* Marks, JOIN and LEAVE pass, however little is wanted, and change nothing for what follows. */
static void what_others_need_always_passes(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {VAMP_EVENT_LOST, VAMP_EVENT_REJECTED, VAMP_EVENT_GONE,
                                    VAMP_EVENT_JOIN, VAMP_EVENT_LEAVE};
    static const struct {
        enum vamp_sampling how;
        uint64_t number;
    } least[] = {{VAMP_SAMPLE_FRACTION, 1}, {VAMP_SAMPLE_EVERY, 1000000000}, {VAMP_SAMPLE_RATE, 1}};
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++) {
        struct vamp_sampler sampler = sampler_of(least[i].how, least[i].number);
        const struct vamp_sampler before = sampler;
        for (size_t k = 0; k < 1000 * sizeof kinds; k++) {
            const struct vamp_event event = {
                .kind = kinds[k % sizeof kinds], .cdo_id = {k, k}, .present = VAMP_HAS_CDO_ID};
            assert_true(vamp_sampler_passes(&sampler, &event));
        }
        assert_memory_equal(&sampler, &before, sizeof sampler);
        assert_true(strlen(vamp_sampling_name(least[i].how)) > 3);
    }
}

static void every_nth_passes(void **state)
{
    (void)state;
    struct vamp_sampler sampler = sampler_of(VAMP_SAMPLE_EVERY, 7);
    struct vamp_event join = {.kind = VAMP_EVENT_JOIN}, leave = {.kind = VAMP_EVENT_LEAVE};
    unsigned passed = 0;
    for (uint64_t i = 0; i < 700; i++) {
        struct vamp_event event = offer(i, 0);
        const bool passes = vamp_sampler_passes(&sampler, &event);
        assert_int_equal(passes, i % 7 == 0);
        passed += passes;
        assert_true(vamp_sampler_passes(&sampler, &join));
        assert_true(vamp_sampler_passes(&sampler, &leave));
    }
    assert_int_equal(passed, 100);
    assert_true(vamp_sampler_weight(&sampler) == 7.0);
}

static void every_first_passes_all(void **state)
{
    (void)state;
    struct vamp_sampler sampler = sampler_of(VAMP_SAMPLE_EVERY, 1);
    for (uint64_t i = 0; i < 100; i++) {
        struct vamp_event event = offer(i, 0);
        assert_true(vamp_sampler_passes(&sampler, &event));
    }
}

/* All events of a CDO share its fate, also in another instance. */
static void fraction_keeps_cdos_whole(void **state)
{
    (void)state;
    struct vamp_sampler one = sampler_of(VAMP_SAMPLE_FRACTION, 250000);
    struct vamp_sampler two = sampler_of(VAMP_SAMPLE_FRACTION, 250000);
    for (uint64_t cdo = 0; cdo < 5000; cdo++) {
        struct vamp_event event = offer(cdo, 0);
        bool passes = vamp_sampler_passes(&one, &event);
        for (unsigned kind = VAMP_EVENT_DECLARE; kind <= VAMP_EVENT_TRANSPORT_FAILED; kind++) {
            event.kind = (uint8_t)kind;
            event.time_ns += 1000;
            event.app_id = kind;
            assert_int_equal(vamp_sampler_passes(&one, &event), passes);
            assert_int_equal(vamp_sampler_passes(&two, &event), passes);
        }
    }
    struct vamp_event anonymous = {.kind = VAMP_EVENT_OFFER};
    assert_true(vamp_sampler_passes(&one, &anonymous));
}

/* Whatever the ids look like, the weighted count is near the truth: within 5 standard deviations.
 */
static void assert_fraction(uint64_t per_million, unsigned pattern)
{
    enum { CDOS = 200000 };
    struct vamp_sampler sampler = sampler_of(VAMP_SAMPLE_FRACTION, per_million);
    uint64_t seed = 17;
    uint64_t passed = 0;
    for (uint64_t i = 0; i < CDOS; i++) {
        struct vamp_event event = offer(i, 0);
        if (pattern == 1) {
            event.cdo_id.high = i << 32, event.cdo_id.low = 0;
        } else if (pattern == 2) {
            event.cdo_id.high = random_next(&seed), event.cdo_id.low = random_next(&seed);
        }
        passed += vamp_sampler_passes(&sampler, &event);
    }
    double p = (double)per_million / 1e6, expected = p * CDOS;
    double difference = (double)passed - expected;
    assert_true(difference * difference <= 25 * (expected * (1 - p) + 1));
    double estimate = (double)passed * vamp_sampler_weight(&sampler);
    assert_true(per_million != 1000000 || estimate == CDOS);
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
    struct vamp_sampler few = sampler_of(VAMP_SAMPLE_FRACTION, 1000);
    struct vamp_sampler many = sampler_of(VAMP_SAMPLE_FRACTION, 100000);
    for (uint64_t cdo = 0; cdo < 20000; cdo++) {
        struct vamp_event event = offer(cdo, 0);
        bool in_few = vamp_sampler_passes(&few, &event);
        bool in_many = vamp_sampler_passes(&many, &event);
        assert_true(!in_few || in_many);
    }
}

static unsigned passes_at(struct vamp_sampler *sampler, int64_t time_ns, unsigned events)
{
    unsigned passed = 0;
    for (unsigned i = 0; i < events; i++) {
        struct vamp_event event = offer(i, time_ns);
        passed += vamp_sampler_passes(sampler, &event);
    }
    return passed;
}

static void rate_is_per_second_of_event_time(void **state)
{
    (void)state;
    const int64_t s = VAMP_NS_PER_SECOND;
    struct vamp_sampler sampler = sampler_of(VAMP_SAMPLE_RATE, 10);
    assert_int_equal(passes_at(&sampler, 100 * s, 6), 6);
    assert_int_equal(passes_at(&sampler, 100 * s + s - 1, 6), 4);
    assert_int_equal(passes_at(&sampler, 101 * s, 100), 10);
    /* A little late: counts in the current second, which is full. */
    assert_int_equal(passes_at(&sampler, 100 * s, 5), 0);
    assert_int_equal(passes_at(&sampler, 102 * s, 1), 1);
    assert_int_equal(passes_at(&sampler, 101 * s, 20), 9);
    /* One wrong time in the far future does not silence what follows. */
    assert_int_equal(passes_at(&sampler, INT64_MAX, 11), 10);
    assert_int_equal(passes_at(&sampler, 103 * s, 11), 10);
    assert_int_equal(passes_at(&sampler, INT64_MIN, 11), 10);
    assert_int_equal(passes_at(&sampler, -1, 11), 10);
    assert_int_equal(passes_at(&sampler, 0, 11), 10);
    assert_true(vamp_sampler_weight(&sampler) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_need_always_passes),
        cmocka_unit_test(every_nth_passes),
        cmocka_unit_test(every_first_passes_all),
        cmocka_unit_test(fraction_keeps_cdos_whole),
        cmocka_unit_test(fraction_is_fair),
        cmocka_unit_test(fractions_nest),
        cmocka_unit_test(rate_is_per_second_of_event_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
