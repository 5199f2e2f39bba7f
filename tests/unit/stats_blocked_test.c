/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocked time: each instant is divided equally among the pending demands of a component. */
#include "tests/unit/stats_pair.h"

#define OTHER_MODEL 3
#define ON(bucket, labels) collect_counter(&run, bucket, VAMP_METRIC_BLOCKED_ON_NS, labels)
#define BEFORE(bucket, labels)                                                                     \
    collect_counter(&run, bucket, VAMP_METRIC_BLOCKED_ON_BEFORE_NS, labels)
#define BLOCKED(bucket) collect_counter(&run, bucket, VAMP_METRIC_BLOCKED_NS, "Products 1")
#define HELD(labels) collect_counter(&run, run.count - 1, VAMP_METRIC_HELD_BACK_NS, labels)
#define CDO(kind, ms, component, cdo) FEED(event_cdo(VAMP_EVENT_##kind, (ms)*MS, component, cdo))
#define RECEIVED(kind, ms, component, cdo)                                                         \
    FEED(event_before(event_cdo(VAMP_EVENT_##kind, (ms)*MS, component, cdo)))

static void start_with(uint64_t max_pending, uint64_t max_components)
{
    struct vamp_stats_options options = collect_options();
    options.max_pending = max_pending;
    options.max_components = max_components;
    pair_start(&options);
}

static int start(void **state)
{
    (void)state;
    start_with(1000, collect_options().max_components);
    FEED(event_join(3 * MS, OTHER_MODEL, "IFS -- 1"));
    return 0;
}

static void transport(int64_t from_ms, int64_t to_ms, uint64_t cdo, uint64_t source)
{
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, from_ms * MS, cdo, cdo, PRODUCTS, source));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, to_ms * MS, cdo, cdo, PRODUCTS, source));
}

static uint64_t sum_of(enum vamp_metric_id id)
{
    const struct vamp_bucket *last = run.buckets[run.count - 1];
    const int metric = collect_metric(&run, id);
    uint64_t sum = 0;
    for (unsigned i = 0; i < last->values[metric].count; i++) {
        sum += last->values[metric].counters[i].value;
    }
    return sum;
}

static void a_late_producer_pays_the_additional_wait(void **state)
{
    (void)state;
    CDO(DEMAND, 10, PRODUCTS, 7);
    CDO(DEMAND, 10, PRODUCTS, 8);
    CDO(OFFER, 20, MODEL, 7);
    transport(22, 30, 7, MODEL);
    CDO(OFFER, 110, OTHER_MODEL, 8);
    transport(111, 114, 8, OTHER_MODEL);
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(0), 104 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|for_offer"), 5 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|for_start"), 1 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|moving"), 4 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 1|for_offer"), 90 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 1|for_start"), 1 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 1|moving"), 3 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_BEFORE_NS), 0);
}

static void blocked_time_is_counted_in_the_bucket_in_which_it_elapses(void **state)
{
    (void)state;
    CDO(DEMAND, 500, PRODUCTS, 7);
    vamp_stats_tick(run.stats, 20 * SECOND); /* silence */
    for (size_t bucket = 0; bucket < 18; bucket++) {
        assert_int_equal(BLOCKED(bucket), (int64_t)bucket * SECOND + 500 * MS);
    }
    CDO(OFFER, 44500, MODEL, 7);
    transport(44600, 46100, 7, MODEL);
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(45) - BLOCKED(44), SECOND);
    assert_int_equal(BLOCKED(46), 45600 * MS);
    assert_int_equal(ON(43, "Products 1|IFS -- 0|for_offer"), 0);
    assert_int_equal(ON(44, "Products 1|IFS -- 0|for_offer"), 44 * SECOND);
    assert_int_equal(BEFORE(44, "Products 1|IFS -- 0|for_offer"), 43500 * MS);
    assert_int_equal(ON(46, "Products 1|IFS -- 0|moving"), 1500 * MS);
    assert_int_equal(BEFORE(46, "Products 1|IFS -- 0|moving"), 1400 * MS);
    assert_int_equal(BEFORE(46, "Products 1|IFS -- 0|for_start"), 100 * MS);
}

static void the_clock_does_not_run_back_for_late_events(void **state)
{
    (void)state;
    CDO(DEMAND, 1500, PRODUCTS, 7);
    CDO(DECLARE, 2100, MODEL, 9);
    CDO(OFFER, 1700, MODEL, 7); /* its bucket is still open */
    transport(1800, 1900, 7, MODEL);
    CDO(DEMAND, 1950, PRODUCTS, 8); /* blocked from 2,000 ms */
    CDO(RETRACT, 2300, PRODUCTS, 8);
    vamp_stats_finish(run.stats);
    assert_int_equal(ON(1, "Products 1|IFS -- 0|for_offer"), 500 * MS);
    assert_int_equal(BLOCKED(1), 500 * MS);
    assert_int_equal(BLOCKED(2), 800 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_NS), 500 * MS);
}

static void a_leap_is_in_no_bucket(void **state)
{
    (void)state;
    CDO(DEMAND, 500, PRODUCTS, 7);
    CDO(OFFER, 5000500, MODEL, 7);
    transport(5000500, 5000500, 7, MODEL);
    vamp_stats_finish(run.stats);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_NS), 500 * MS + 500 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_NS), 500 * MS + 500 * MS);
}

static void the_clock_of_the_events_may_be_set_back(void **state)
{
    (void)state;
    CDO(DEMAND, 100500, PRODUCTS, 7);
    for (int64_t i = 0; i < VAMP_LATE_RUN_MAX; i++) {
        FEED(event_cdo(VAMP_EVENT_DECLARE, 5 * SECOND + i, MODEL, (uint64_t)i + 100));
    }
    CDO(OFFER, 5250, MODEL, 7);
    transport(5250, 5250, 7, MODEL);
    vamp_stats_finish(run.stats);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_NS), sum_of(VAMP_METRIC_BLOCKED_ON_NS));
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_NS), 250 * MS);
}

static void only_the_first_offer_counts(void **state)
{
    (void)state;
    CDO(DEMAND, 10, PRODUCTS, 7);
    for (int64_t ms = 20; ms < 100; ms += 10) {
        CDO(OFFER, ms, MODEL, 7);
        CDO(WITHDRAW, ms + 1, MODEL, 7);
    }
    CDO(OFFER, 100, MODEL, 7);
    transport(110, 120, 7, MODEL);
    vamp_stats_finish(run.stats);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|for_offer"), 10 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|for_start"), 90 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|moving"), 10 * MS);
}

static void a_component_is_not_blocked_on_itself(void **state)
{
    (void)state;
    CDO(DECLARE, 5, PRODUCTS, 7); /* the consumer declares it before the producer */
    CDO(DEMAND, 10, PRODUCTS, 7);
    CDO(DEMAND, 10, PRODUCTS, 8);
    CDO(OFFER, 20, PRODUCTS, 8); /* its own */
    transport(20, 30, 8, PRODUCTS);
    transport(40, 50, 7, MODEL); /* its OFFER was not observed */
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(0), 40 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_NS), 0);
}

static void the_start_may_be_unknown(void **state)
{
    (void)state;
    CDO(DEMAND, 10, PRODUCTS, 7);
    CDO(OFFER, 20, MODEL, 7);
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 50 * MS, 1, 7, PRODUCTS, MODEL));
    vamp_stats_finish(run.stats);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|for_offer"), 10 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|unknown"), 30 * MS);
}

static void a_component_that_leaves_is_no_longer_blocked(void **state)
{
    (void)state;
    CDO(DEMAND, 10, PRODUCTS, 7);
    CDO(DEMAND, 10, PRODUCTS, 8);
    FEED(event_leave(50 * MS, PRODUCTS, VAMP_LEAVE_FINALIZED));
    CDO(OFFER, 70, MODEL, 7);
    vamp_stats_tick(run.stats, 3 * SECOND);
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(run.count - 1), 40 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_NS), 0);
}

static void an_evicted_demand_ends(void **state)
{
    (void)state;
    start_with(1, 100);
    CDO(DEMAND, 10, PRODUCTS, 7);
    CDO(DEMAND, 30, PRODUCTS, 8); /* evicts the first one */
    CDO(OFFER, 40, MODEL, 7);
    CDO(OFFER, 50, MODEL, 8);
    transport(50, 60, 8, MODEL);
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(0), 50 * MS);
    assert_int_equal(ON(0, "Products 1|IFS -- 0|for_offer"), 20 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_NS), 30 * MS);
}

static void shares_add_up_to_the_blocked_time(void **state)
{
    (void)state;
    const uint64_t demands = 1000;
    for (uint64_t i = 0; i < demands; i++) {
        FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS + (int64_t)(i * i % 7 + 13 * i), PRODUCTS, i));
    }
    for (uint64_t i = 0; i < demands; i++) {
        const uint64_t cdo = i * 7 % demands;
        const int64_t ns = 20 * MS + (int64_t)(i * 3001);
        FEED(event_cdo(VAMP_EVENT_OFFER, ns, i % 2 == 0 ? MODEL : OTHER_MODEL, cdo));
        FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, ns + 11, cdo, cdo, PRODUCTS, MODEL));
        FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, ns + 18, cdo, cdo, PRODUCTS, MODEL));
    }
    vamp_stats_finish(run.stats);
    const uint64_t blocked = sum_of(VAMP_METRIC_BLOCKED_NS);
    assert_in_range(sum_of(VAMP_METRIC_BLOCKED_ON_NS), blocked - 1, blocked);
}

static void components_that_are_not_distinguished_have_no_blocked_time(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, 0, 7));
    CDO(OFFER, 20, MODEL, 7);
    vamp_stats_finish(run.stats);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_NS), 0);
    assert_int_equal(sum_of(VAMP_METRIC_BLOCKED_ON_NS), 0);
}

static void other_statistics_continue_the_totals(void **state)
{
    (void)state;
    CDO(DEMAND, 10, PRODUCTS, 7);
    CDO(OFFER, 20, MODEL, 7);
    CDO(DECLARE, 50, MODEL, 9);
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(0), 40 * MS);
    struct vamp_stats *before = run.stats;
    const struct vamp_stats_options options = collect_options();
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_stats_create(&options, COLLECT_RUN_ID, run.components, collect_emit, &run,
                                       &run.stats, &err),
                     0);
    vamp_stats_inherit(run.stats, before);
    transport(1010, 1020, 7, MODEL); /* its demand is not continued */
    CDO(DEMAND, 1030, PRODUCTS, 8);
    CDO(OFFER, 1040, MODEL, 8);
    vamp_stats_finish(run.stats);
    assert_int_equal(BLOCKED(1), 50 * MS);
    assert_int_equal(ON(1, "Products 1|IFS -- 0|for_offer"), 20 * MS);
    for (size_t i = 0; i < run.count; i++) {
        vamp_bucket_release(run.buckets[i]);
    }
    run.count = 0;
    vamp_stats_free(before);
}

static void a_withdraw_is_held_back_by_the_last_consumer(void **state)
{
    (void)state;
    CDO(OFFER, 5, MODEL, 7);
    CDO(OFFER, 5, MODEL, 8);
    CDO(DEMAND, 6, PRODUCTS, 7);
    CDO(DEMAND, 6, OTHER_MODEL, 7);
    RECEIVED(WITHDRAW, 10, MODEL, 7);
    RECEIVED(WITHDRAW, 10, MODEL, 8);
    CDO(WITHDRAW, 20, MODEL, 8); /* no consumer held it back */
    CDO(RETRACT, 25, OTHER_MODEL, 7);
    transport(30, 40, 7, MODEL);
    CDO(WITHDRAW, 41, MODEL, 7);
    vamp_stats_finish(run.stats);
    assert_int_equal(HELD("IFS -- 0|Products 1"), 26 * MS);
    assert_int_equal(sum_of(VAMP_METRIC_HELD_BACK_NS), 26 * MS);
}

static void a_leave_is_held_back_by_the_last_consumer(void **state)
{
    (void)state;
    CDO(OFFER, 5, MODEL, 7);
    CDO(DEMAND, 6, PRODUCTS, 7);
    FEED(event_before(event_leave(10 * MS, MODEL, VAMP_LEAVE_FINALIZED)));
    FEED(event_leave(30 * MS, PRODUCTS, VAMP_LEAVE_FINALIZED));
    FEED(event_leave(31 * MS, MODEL, VAMP_LEAVE_FINALIZED));
    vamp_stats_finish(run.stats);
    assert_int_equal(HELD("IFS -- 0|Products 1"), 21 * MS);
}

static void metrics_are_absent_without_their_data(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.unknown = VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_PHASES);
    pair_start(&options);
    assert_int_equal(collect_metric(&run, VAMP_METRIC_HELD_BACK_NS), -1);
    assert_non_null(
        vamp_coverage_find(vamp_stats_schema(run.stats)->coverage, VAMP_METRIC_HELD_BACK_NS));
    assert_true(collect_metric(&run, VAMP_METRIC_BLOCKED_NS) >= 0);
}

#define STARTED(name) cmocka_unit_test_setup_teardown(name, start, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STARTED(a_late_producer_pays_the_additional_wait),
        STARTED(blocked_time_is_counted_in_the_bucket_in_which_it_elapses),
        STARTED(the_clock_does_not_run_back_for_late_events),
        STARTED(a_leap_is_in_no_bucket),
        STARTED(the_clock_of_the_events_may_be_set_back),
        STARTED(only_the_first_offer_counts),
        STARTED(a_component_is_not_blocked_on_itself),
        STARTED(the_start_may_be_unknown),
        STARTED(a_component_that_leaves_is_no_longer_blocked),
        cmocka_unit_test_teardown(an_evicted_demand_ends, pair_end),
        STARTED(shares_add_up_to_the_blocked_time),
        STARTED(components_that_are_not_distinguished_have_no_blocked_time),
        STARTED(other_statistics_continue_the_totals),
        STARTED(a_withdraw_is_held_back_by_the_last_consumer),
        STARTED(a_leave_is_held_back_by_the_last_consumer),
        cmocka_unit_test_teardown(metrics_are_absent_without_their_data, pair_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
