/* SPDX-License-Identifier: BSD-3-Clause */
/* What a component waited for: the parts of a wait, which add up to it. */
#include "tests/unit/stats_pair.h"

#define PART(labels) sum_of(VAMP_METRIC_DEMAND_WAIT_PART_NS, labels)

static void start_at(unsigned level, uint64_t max_series)
{
    struct vamp_stats_options options = collect_options();
    options.level = level;
    options.max_series = max_series;
    pair_start(&options);
}

static int start(void **state)
{
    (void)state;
    start_at(VAMP_LEVEL_COMPONENT, 1000);
    return 0;
}

/* The sum of the only value of a series; -1: it has none. */
static int64_t sum_of(enum vamp_metric_id id, const char *labels)
{
    int64_t sum = -1;
    for (size_t b = 0; b < run.count; b++) {
        const struct vamp_bucket_histogram *histogram = collect_histogram(&run, b, id, labels);
        if (histogram != NULL) {
            assert_int_equal(sum, -1);
            assert_int_equal(histogram->count, 1);
            sum = (int64_t)histogram->sum;
        }
    }
    return sum;
}

static void transport(int64_t start_ns, int64_t end_ns, uint64_t number)
{
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, start_ns, number, 7, PRODUCTS, MODEL));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, end_ns, number, 7, PRODUCTS, MODEL));
}

static void expect_unknown(int64_t ns, const char *labels)
{
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_PART_NS), 1);
    assert_int_equal(PART(labels), ns);
}

static void expect_no_anomaly(void)
{
    for (size_t b = 0; b < run.count; b++) {
        assert_int_equal(
            collect_counter(&run, b, VAMP_METRIC_ANOMALIES, "Products 1|demand_never_satisfied"),
            0);
    }
}

static void a_demand_before_the_offer_waits_for_it(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    FEED(event_cdo(VAMP_EVENT_OFFER, 14 * MS, MODEL, 7));
    transport(15 * MS, 21 * MS, 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(PART("Products 1|IFS -- 0|for_offer"), 4 * MS);
    assert_int_equal(PART("Products 1|IFS -- 0|for_start"), 1 * MS);
    assert_int_equal(PART("Products 1|IFS -- 0|moving"), 6 * MS);
    assert_int_equal(PART("Products 1|IFS -- 0|unknown"), -1);
    assert_int_equal(sum_of(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|unknown"), 11 * MS);
}

static void a_demand_after_the_offer_does_not_wait_for_it(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    transport(15 * MS, 21 * MS, 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(PART("Products 1|IFS -- 0|for_offer"), 0);
    assert_int_equal(PART("Products 1|IFS -- 0|for_start"), 5 * MS);
    assert_int_equal(PART("Products 1|IFS -- 0|moving"), 6 * MS);
}

static void a_transport_tried_again_started_the_second_time(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 11 * MS, 1, 7, PRODUCTS, MODEL));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_FAILED, 13 * MS, 1, 7, PRODUCTS, MODEL));
    transport(15 * MS, 21 * MS, 2);
    vamp_stats_finish(run.stats);
    assert_int_equal(PART("Products 1|IFS -- 0|for_start"), 5 * MS);
    assert_int_equal(PART("Products 1|IFS -- 0|moving"), 6 * MS);
}

static void a_wait_whose_start_was_lost_is_unknown(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 21 * MS, 1, 7, PRODUCTS, MODEL));
    expect_unknown(11 * MS, "Products 1|IFS -- 0|unknown");
}

static void a_wait_for_an_offer_that_was_lost_is_unknown(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    transport(15 * MS, 21 * MS, 1);
    expect_unknown(11 * MS, "Products 1|unknown|unknown");
}

static void a_demand_after_the_start_waits_for_the_rest(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 9 * MS, 1, 7, PRODUCTS, MODEL));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 21 * MS, 1, 7, PRODUCTS, MODEL));
    vamp_stats_finish(run.stats);
    assert_int_equal(PART("Products 1|IFS -- 0|for_offer"), 0);
    assert_int_equal(PART("Products 1|IFS -- 0|for_start"), 0);
    assert_int_equal(PART("Products 1|IFS -- 0|moving"), 11 * MS);
    assert_int_equal(PART("Products 1|IFS -- 0|unknown"), -1);
}

/* The whole of a wait whose data were there before it, if it is measured. */
static void a_demand_that_finds_its_data_waits_for_its_handling(void **state)
{
    (void)state;
    struct vamp_event received = event_cdo(VAMP_EVENT_DEMAND, 20 * MS, PRODUCTS, 7);
    received.phase = VAMP_PHASE_BEFORE;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_REQUIRE, 9 * MS, PRODUCTS, 7));
    transport(10 * MS, 12 * MS, 1);
    FEED(received);
    FEED(event_cdo(VAMP_EVENT_DEMAND, 23 * MS, PRODUCTS, 7));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 30 * MS, PRODUCTS, 7));
    expect_unknown(3 * MS, "Products 1|IFS -- 0|unknown");
    assert_int_equal(sum_of(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|unknown"), 3 * MS);
    expect_no_anomaly();
}

/* The *after* event of a demand may come after the data: it begins no other wait. */
static void data_between_both_events_of_a_demand_end_it(void **state)
{
    (void)state;
    struct vamp_event received = event_cdo(VAMP_EVENT_DEMAND, 9 * MS, PRODUCTS, 7);
    received.phase = VAMP_PHASE_BEFORE;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(received);
    transport(10 * MS, 12 * MS, 1);
    FEED(event_cdo(VAMP_EVENT_DEMAND, 13 * MS, PRODUCTS, 7));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 30 * MS, PRODUCTS, 7));
    vamp_stats_finish(run.stats);
    assert_int_equal(sum_of(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|unknown"), 3 * MS);
    expect_no_anomaly();
}

static void the_start_of_another_cdo_says_nothing(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 8));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 9 * MS, PRODUCTS, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 10 * MS, 1, 8, PRODUCTS, MODEL));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 21 * MS, 1, 7, PRODUCTS, MODEL));
    expect_unknown(12 * MS, "Products 1|IFS -- 0|unknown");
}

static void times_out_of_order_are_unknown(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 12 * MS, PRODUCTS, 7));
    transport(11 * MS, 21 * MS, 1); /* started after the demand, says the stream */
    expect_unknown(9 * MS, "Products 1|IFS -- 0|unknown");
}

static void a_wait_that_was_not_measured_has_no_parts(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 30 * MS, PRODUCTS, 7));
    transport(11 * MS, 21 * MS, 1);
    transport(40 * MS, 50 * MS, 2); /* without a demand */
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_NS), 0);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_PART_NS), 0);
}

static void exclude_waits(void *context, const struct vamp_event *event,
                          bool excluded[static VAMP_METRICS_MAX])
{
    (void)context;
    (void)event;
    excluded[VAMP_METRIC_DEMAND_WAIT_NS] = true;
}

static void the_filter_of_the_whole_is_that_of_the_parts(void **state)
{
    (void)state;
    vamp_stats_exclude(run.stats, exclude_waits, NULL);
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    transport(15 * MS, 21 * MS, 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_PART_NS), 0);
}

/* Room for 7 series that keep all labels, (other) included, and for one more that does not: two
 * waits keep their producer, and the third gives it up with all its parts. */
static void the_parts_of_a_wait_give_up_the_same_labels(void **state)
{
    (void)state;
    start_at(VAMP_LEVEL_COMPONENT, 12);
    for (uint64_t i = 0; i < 4; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "Maker %llu", (unsigned long long)i);
        FEED(event_join(3 * MS, 10 + i, name));
        FEED(event_cdo(VAMP_EVENT_OFFER, 4 * MS, 10 + i, 70 + i));
        FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 70 + i));
        FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 12 * MS, i, 70 + i, PRODUCTS, 10 + i));
        FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 20 * MS, i, 70 + i, PRODUCTS, 10 + i));
    }
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_PART_NS), 12);
    unsigned whole = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned parts = 0;
        for (unsigned part = 0; part < VAMP_WAIT_UNKNOWN; part++) {
            char labels[60];
            (void)snprintf(labels, sizeof labels, "Products 1|Maker %u|%s", i,
                           vamp_wait_part_name(part));
            parts += PART(labels) >= 0;
        }
        assert_true(parts == 0 || parts == VAMP_WAIT_UNKNOWN);
        whole += parts == VAMP_WAIT_UNKNOWN;
    }
    assert_in_range(whole, 1, 3);
}

static void at_level_workflow_only_the_part_is_left(void **state)
{
    (void)state;
    start_at(VAMP_LEVEL_WORKFLOW, 1000);
    FEED(event_cdo(VAMP_EVENT_OFFER, 8 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7));
    transport(15 * MS, 21 * MS, 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(PART("moving"), 6 * MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(a_demand_before_the_offer_waits_for_it),
        TEST(a_demand_after_the_offer_does_not_wait_for_it),
        TEST(a_transport_tried_again_started_the_second_time),
        TEST(a_wait_whose_start_was_lost_is_unknown),
        TEST(a_wait_for_an_offer_that_was_lost_is_unknown),
        TEST(a_demand_after_the_start_waits_for_the_rest),
        TEST(a_demand_that_finds_its_data_waits_for_its_handling),
        TEST(data_between_both_events_of_a_demand_end_it),
        TEST(the_start_of_another_cdo_says_nothing),
        TEST(times_out_of_order_are_unknown),
        TEST(a_wait_that_was_not_measured_has_no_parts),
        TEST(the_filter_of_the_whole_is_that_of_the_parts),
        cmocka_unit_test_teardown(the_parts_of_a_wait_give_up_the_same_labels, pair_end),
        cmocka_unit_test_teardown(at_level_workflow_only_the_part_is_left, pair_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
