/* SPDX-License-Identifier: BSD-3-Clause */
/* What is pending at the end of a bucket, since when, and what of it is uncertain. */
#include "tests/unit/stats_pair.h"

static void start_with(uint64_t max_pending)
{
    struct vamp_stats_options options = collect_options();
    options.sets = VAMP_SET_IN_FLIGHT;
    options.max_pending = max_pending;
    pair_start(&options);
}

static int start(void **state)
{
    (void)state;
    start_with(1000);
    return 0;
}

static void a_demand_ages_until_it_is_satisfied(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 600 * MS, PRODUCTS, 8));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 1500 * MS, 1, 7, PRODUCTS, MODEL));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 2500 * MS, 2, 8, PRODUCTS, MODEL));
    vamp_stats_tick(run.stats, 5 * SECOND);
    assert_int_equal(run.count, 4);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").value, 2);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").min, 0);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").max, 2);
    assert_int_equal(GAUGE(1, DEMANDS_PENDING, "Products 1").value, 1);
    assert_int_equal(GAUGE(1, DEMANDS_PENDING, "Products 1").max, 2);
    assert_int_equal(GAUGE(2, DEMANDS_PENDING, "Products 1").value, 0);
    assert_int_equal(GAUGE(3, DEMANDS_PENDING, "Products 1").max, 0);
    assert_int_equal(GAUGE(0, DEMAND_OLDEST_NS, "Products 1").value, 600 * MS);
    assert_int_equal(GAUGE(0, DEMAND_OLDEST_NS, "Products 1").min, 600 * MS);
    assert_int_equal(GAUGE(1, DEMAND_OLDEST_NS, "Products 1").value, 1400 * MS);
    assert_int_equal(GAUGE(2, DEMAND_OLDEST_NS, "Products 1").value, VAMP_GAUGE_NONE);
    assert_int_equal(GAUGE(3, DEMAND_OLDEST_NS, "Products 1").max, VAMP_GAUGE_NONE);
}

static void in_a_silence_the_clock_goes_on(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    vamp_stats_tick(run.stats, 9 * SECOND);
    assert_int_equal(run.count, 8);
    for (size_t b = 0; b < run.count; b++) {
        const int64_t age_ns = (int64_t)(b + 1) * SECOND - 400 * MS;
        assert_int_equal(GAUGE(b, DEMAND_OLDEST_NS, "Products 1").value, age_ns);
    }
    /* Whatever operates in the bucket is not silent. */
    assert_int_equal(GAUGE(0, COMPONENT_SILENT_NS, "Products 1").value, VAMP_GAUGE_NONE);
    assert_int_equal(GAUGE(1, COMPONENT_SILENT_NS, "Products 1").value, 1600 * MS);
    assert_int_equal(GAUGE(1, COMPONENT_SILENT_NS, "IFS -- 0").value, 1999 * MS);
}

static void a_withdraw_ages_from_its_before_event(void **state)
{
    (void)state;
    FEED(event_before(event_cdo(VAMP_EVENT_WITHDRAW, 300 * MS, MODEL, 7)));
    FEED(event_before(event_cdo(VAMP_EVENT_OFFER, 310 * MS, MODEL, 9)));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 1300 * MS, MODEL, 7));
    vamp_stats_tick(run.stats, 4 * SECOND);
    assert_int_equal(GAUGE(0, WITHDRAWS_PENDING, "IFS -- 0").value, 1);
    assert_int_equal(GAUGE(0, WITHDRAW_OLDEST_NS, "IFS -- 0").value, 700 * MS);
    assert_int_equal(GAUGE(1, WITHDRAWS_PENDING, "IFS -- 0").value, 0);
    assert_int_equal(GAUGE(1, WITHDRAW_OLDEST_NS, "IFS -- 0").value, VAMP_GAUGE_NONE);
}

static void a_transport_ages_at_its_sink(void **state)
{
    (void)state;
    FEED(
        event_with_tier(event_transport(VAMP_EVENT_TRANSPORT_INIT, 200 * MS, 1, 7, PRODUCTS, MODEL),
                        VAMP_TIER_OFI));
    vamp_stats_tick(run.stats, 2 * SECOND);
    assert_int_equal(GAUGE(0, TRANSPORTS_PENDING, "Products 1|OFI").value, 1);
    assert_int_equal(GAUGE(0, TRANSPORT_OLDEST_NS, "Products 1").value, 800 * MS);
}

static void nothing_of_a_component_that_left_is_pending(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    FEED(event_leave(500 * MS, PRODUCTS, VAMP_LEAVE_VANISHED));
    vamp_stats_tick(run.stats, 4 * SECOND);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").value, 0);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").max, 1);
    assert_int_equal(GAUGE(0, DEMAND_OLDEST_NS, "Products 1").value, VAMP_GAUGE_NONE);
    assert_int_equal(GAUGE(1, COMPONENT_SILENT_NS, "Products 1").value, VAMP_GAUGE_NONE);
}

static void what_began_before_a_loss_is_uncertain(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    FEED(event_lost(500 * MS, VAMP_LOSS_RING, 3));
    vamp_stats_tick(run.stats, 1 * SECOND);
    FEED(event_cdo(VAMP_EVENT_DEMAND, 1400 * MS, PRODUCTS, 8));
    vamp_stats_tick(run.stats, 2 * SECOND);
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 2500 * MS, 1, 7, PRODUCTS, MODEL));
    vamp_stats_tick(run.stats, 4 * SECOND);
    /* Its demand and its silence; then its demand alone; then nothing that began before. */
    assert_int_equal(GAUGE(0, IN_FLIGHT_UNCERTAIN, "Products 1").value, 2);
    assert_int_equal(GAUGE(0, DEMAND_OLDEST_NS, "Products 1").value, 600 * MS);
    assert_int_equal(GAUGE(1, IN_FLIGHT_UNCERTAIN, "Products 1").value, 1);
    assert_int_equal(GAUGE(2, IN_FLIGHT_UNCERTAIN, "Products 1").value, 0);
    assert_int_equal(GAUGE(2, DEMAND_OLDEST_NS, "Products 1").value, 1600 * MS);
}

static void at_the_bound_ages_are_uncertain(void **state)
{
    (void)state;
    collect_end(&run);
    start_with(2);
    for (uint64_t i = 0; i < 3; i++) {
        FEED(event_cdo(VAMP_EVENT_DEMAND, (int64_t)(100 + i) * MS, PRODUCTS, i));
    }
    vamp_stats_tick(run.stats, 2 * SECOND);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").value, 2);
    assert_true(GAUGE(0, IN_FLIGHT_UNCERTAIN, "Products 1").value > 0);
}

static void the_end_of_the_stream_ends_no_bucket_early(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    FEED(event_of(VAMP_EVENT_SUBSCRIBE, 700 * MS, MODEL));
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 1);
    assert_int_equal(GAUGE(0, DEMAND_OLDEST_NS, "Products 1").value, 300 * MS);
}

static void a_name_that_comes_late_has_what_is_pending(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, 9, 7));
    vamp_stats_tick(run.stats, 1 * SECOND);
    FEED(event_join(1500 * MS, 9, "Late"));
    vamp_stats_tick(run.stats, 4 * SECOND);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "unknown").value, 1);
    assert_int_equal(GAUGE(1, DEMANDS_PENDING, "unknown").value, 0);
    assert_int_equal(GAUGE(1, DEMANDS_PENDING, "Late").value, 1);
    assert_int_equal(GAUGE(1, DEMAND_OLDEST_NS, "Late").value, 1600 * MS);
}

static void when_the_pool_is_gone_nothing_is_pending(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 450 * MS, 1, 7, PRODUCTS, MODEL));
    FEED((struct vamp_event){.kind = VAMP_EVENT_GONE, .time_ns = 500 * MS});
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_int_equal(GAUGE(0, DEMANDS_PENDING, "Products 1").value, 0);
    assert_int_equal(GAUGE(0, TRANSPORTS_PENDING, "Products 1|unknown").value, 0);
    assert_int_equal(GAUGE(1, TRANSPORT_OLDEST_NS, "Products 1").value, VAMP_GAUGE_NONE);
    assert_int_equal(GAUGE(1, COMPONENT_SILENT_NS, "Products 1").value, VAMP_GAUGE_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(a_demand_ages_until_it_is_satisfied),
        TEST(in_a_silence_the_clock_goes_on),
        TEST(a_withdraw_ages_from_its_before_event),
        TEST(a_transport_ages_at_its_sink),
        TEST(nothing_of_a_component_that_left_is_pending),
        TEST(what_began_before_a_loss_is_uncertain),
        TEST(at_the_bound_ages_are_uncertain),
        TEST(the_end_of_the_stream_ends_no_bucket_early),
        TEST(a_name_that_comes_late_has_what_is_pending),
        TEST(when_the_pool_is_gone_nothing_is_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
