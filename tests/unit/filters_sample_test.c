/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter table and the sampling filters in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/filter.h"
#include "tests/lib/random_filter.h"
#include "vampire/core/clock.h"

#define OPTIONS_BYTES_MAX 256

/* An instance with one option set. */
static void *created(const struct vamp_filter_ops *ops, const char *key, const char *value)
{
    _Alignas(max_align_t) unsigned char options[OPTIONS_BYTES_MAX];
    const struct vamp_filter_context context = {.place = VAMP_FILTER_INSIDE};
    struct vamp_err err = VAMP_ERR_NONE;
    void *self = NULL;
    assert_true(ops->options_bytes <= sizeof(options));
    assert_int_equal(vamp_opt_presets(ops->options, options, &err), 0);
    if (key != NULL && vamp_opt_set(vamp_opt_find(ops->options, key), options, value, &err) != 0) {
        fail_msg("%s = %s: %s", key, value, err.text);
    }
    if (ops->create(options, &context, &self, &err) != 0) {
        fail_msg("%s", err.text);
    }
    vamp_opt_done(ops->options, options);
    return self;
}

static struct vamp_event offer(uint64_t cdo, int64_t time_ns)
{
    return (struct vamp_event){.kind = VAMP_EVENT_OFFER,
                               .time_ns = time_ns,
                               .cdo_id = {0, cdo},
                               .present = VAMP_HAS_CDO_ID};
}

static struct vamp_filter_counts counts_of(const struct vamp_filter_ops *ops, const void *self)
{
    struct vamp_filter_counts counts;
    ops->counts(self, &counts);
    assert_int_equal(counts.seen, counts.passed + counts.dropped + counts.exempt);
    return counts;
}

/* What the table promises of every filter. */
static void every_filter_keeps_the_contract(void **state)
{
    (void)state;
    size_t count = 0;
    for (; vamp_filters[count] != NULL; count++) {
        const struct vamp_filter_ops *ops = vamp_filters[count];
        for (size_t i = 0; i < count; i++) {
            assert_string_not_equal(vamp_filters[i]->name, ops->name);
        }
        assert_true(strlen(ops->summary) > 10);
        void *self = created(ops, NULL, NULL);
        struct vamp_event lost = {.kind = VAMP_EVENT_LOST, .count = 3};
        struct vamp_event rejected = {.kind = VAMP_EVENT_REJECTED, .count = 3};
        for (int i = 0; i < 1000; i++) {
            assert_true(ops->match(self, &lost));
            assert_true(ops->match(self, &rejected));
        }
        assert_int_equal(counts_of(ops, self).exempt, 2000);
        assert_int_equal(ops->kinds(self), VAMP_EVENT_KINDS_ALL);
        assert_null(ops->selector(self));
        char *text = ops->print(self);
        assert_true(text != NULL && text[0] != '\0');
        free(text);
        ops->free(self);
        ops->free(NULL);
    }
    assert_int_equal(count, 4);
}

static void expression_counts_and_refuses(void **state)
{
    (void)state;
    const struct vamp_filter_ops *ops = &vamp_filter_expression;
    void *self = created(ops, "text", "(.event.kind = offer)");
    struct vamp_event event = offer(1, 0);
    assert_true(ops->match(self, &event));
    event.kind = VAMP_EVENT_DEMAND;
    assert_false(ops->match(self, &event));
    struct vamp_filter_counts counts = counts_of(ops, self);
    assert_int_equal(counts.passed, 1);
    assert_int_equal(counts.dropped, 1);
    assert_true(counts.weight == 1.0);
    char *text = ops->print(self);
    assert_string_equal(text, "(.event.kind = \"offer\")");
    free(text);
    ops->free(self);

    char bad[] = "(.event.kind = ofer)", *chosen = bad;
    const struct vamp_filter_context context = {.place = VAMP_FILTER_INSIDE};
    struct vamp_err err = VAMP_ERR_NONE;
    void *none = NULL;
    assert_int_equal(ops->create(&chosen, &context, &none, &err), -EINVAL);
    assert_null(none);
    assert_non_null(strstr(err.text, "line 1, column 16"));
}

static void every_nth_passes(void **state)
{
    (void)state;
    const struct vamp_filter_ops *ops = &vamp_filter_every;
    void *self = created(ops, "n", "7");
    struct vamp_event join = {.kind = VAMP_EVENT_JOIN}, leave = {.kind = VAMP_EVENT_LEAVE};
    for (uint64_t i = 0; i < 700; i++) {
        struct vamp_event event = offer(i, 0);
        assert_int_equal(ops->match(self, &event), i % 7 == 0);
        assert_true(ops->match(self, &join));
        assert_true(ops->match(self, &leave));
    }
    struct vamp_filter_counts counts = counts_of(ops, self);
    assert_int_equal(counts.passed, 100);
    assert_int_equal(counts.dropped, 600);
    assert_int_equal(counts.exempt, 1400);
    assert_true(counts.weight == 7.0);
    ops->free(self);
}

static void every_first_passes_all(void **state)
{
    (void)state;
    const struct vamp_filter_ops *ops = &vamp_filter_every;
    void *self = created(ops, "n", "1");
    for (uint64_t i = 0; i < 100; i++) {
        struct vamp_event event = offer(i, 0);
        assert_true(ops->match(self, &event));
    }
    ops->free(self);
}

/* All events of a CDO share its fate, also in another instance. */
static void fraction_keeps_cdos_whole(void **state)
{
    (void)state;
    const struct vamp_filter_ops *ops = &vamp_filter_fraction;
    void *one = created(ops, "per_million", "250000"), *two = created(ops, "per_million", "250000");
    for (uint64_t cdo = 0; cdo < 5000; cdo++) {
        struct vamp_event event = offer(cdo, 0);
        bool passes = ops->match(one, &event);
        for (unsigned kind = VAMP_EVENT_DECLARE; kind <= VAMP_EVENT_TRANSPORT_FAILED; kind++) {
            event.kind = (uint8_t)kind;
            event.time_ns += 1000;
            event.app_id = kind;
            assert_int_equal(ops->match(one, &event), passes);
            assert_int_equal(ops->match(two, &event), passes);
        }
    }
    struct vamp_event anonymous = {.kind = VAMP_EVENT_OFFER};
    assert_true(ops->match(one, &anonymous));
    assert_int_equal(counts_of(ops, one).exempt, 1);
    ops->free(one);
    ops->free(two);
}

/* Whatever the ids look like, the weighted count is near the truth: within 5 standard deviations.
 */
static void assert_fraction(uint64_t per_million, unsigned pattern)
{
    enum { CDOS = 200000 };
    const struct vamp_filter_ops *ops = &vamp_filter_fraction;
    char text[32];
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)per_million);
    void *self = created(ops, "per_million", text);
    uint64_t seed = 17;
    for (uint64_t i = 0; i < CDOS; i++) {
        struct vamp_event event = offer(i, 0);
        if (pattern == 1) {
            event.cdo_id.high = i << 32, event.cdo_id.low = 0;
        } else if (pattern == 2) {
            event.cdo_id.high = random_next(&seed), event.cdo_id.low = random_next(&seed);
        }
        (void)ops->match(self, &event);
    }
    struct vamp_filter_counts counts = counts_of(ops, self);
    double p = (double)per_million / 1e6, expected = p * CDOS;
    double difference = (double)counts.passed - expected;
    assert_true(difference * difference <= 25 * (expected * (1 - p) + 1));
    double estimate = (double)counts.passed * counts.weight;
    assert_true(per_million != 1000000 || estimate == CDOS);
    ops->free(self);
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
    const struct vamp_filter_ops *ops = &vamp_filter_fraction;
    void *few = created(ops, "per_million", "1000"), *many = created(ops, "per_million", "100000");
    for (uint64_t cdo = 0; cdo < 20000; cdo++) {
        struct vamp_event event = offer(cdo, 0);
        bool in_few = ops->match(few, &event), in_many = ops->match(many, &event);
        assert_true(!in_few || in_many);
    }
    ops->free(few);
    ops->free(many);
}

static unsigned passes_at(void *self, int64_t time_ns, unsigned events)
{
    unsigned passed = 0;
    for (unsigned i = 0; i < events; i++) {
        struct vamp_event event = offer(i, time_ns);
        passed += vamp_filter_rate.match(self, &event);
    }
    return passed;
}

static void rate_is_per_second_of_event_time(void **state)
{
    (void)state;
    const int64_t s = VAMP_NS_PER_SECOND;
    const struct vamp_filter_ops *ops = &vamp_filter_rate;
    void *self = created(ops, "per_second", "10");
    assert_int_equal(passes_at(self, 100 * s, 6), 6);
    assert_int_equal(passes_at(self, 100 * s + s - 1, 6), 4);
    assert_int_equal(passes_at(self, 101 * s, 100), 10);
    /* A little late: counts in the current second, which is full. */
    assert_int_equal(passes_at(self, 100 * s, 5), 0);
    assert_int_equal(passes_at(self, 102 * s, 1), 1);
    assert_int_equal(passes_at(self, 101 * s, 20), 9);
    /* One wrong time in the far future does not silence what follows. */
    assert_int_equal(passes_at(self, INT64_MAX, 11), 10);
    assert_int_equal(passes_at(self, 103 * s, 11), 10);
    assert_int_equal(passes_at(self, INT64_MIN, 11), 10);
    assert_int_equal(passes_at(self, -1, 11), 10);
    assert_int_equal(passes_at(self, 0, 11), 10);
    struct vamp_filter_counts counts = counts_of(ops, self);
    assert_true(counts.weight == 0.0);
    assert_true(counts.dropped > 0);
    ops->free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_keeps_the_contract),
        cmocka_unit_test(expression_counts_and_refuses),
        cmocka_unit_test(every_nth_passes),
        cmocka_unit_test(every_first_passes_all),
        cmocka_unit_test(fraction_keeps_cdos_whole),
        cmocka_unit_test(fraction_is_fair),
        cmocka_unit_test(fractions_nest),
        cmocka_unit_test(rate_is_per_second_of_event_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
