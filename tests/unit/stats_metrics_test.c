/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams written by hand, and what each metric must make of them. */
#include "tests/unit/stats_collect.h"

#define MS INT64_C(1000000)
#define MIB (UINT64_C(1) << 20)
#define MODEL 1
#define PRODUCTS 2
#define OTHERS 3

#define COUNTER(metric, labels) collect_counter(&run, run.count - 1, VAMP_METRIC_##metric, labels)
#define GAUGE(metric, labels) collect_gauge(&run, run.count - 1, VAMP_METRIC_##metric, labels)
#define RECORDED(metric) collect_recorded(&run, VAMP_METRIC_##metric)
#define FEED(...) collect_feed(&run, __VA_ARGS__)

static struct collect run;

static int start(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    collect_start(&run, &options);
    FEED(event_join(1 * MS, MODEL, "IFS -- 0"));
    FEED(event_join(2 * MS, PRODUCTS, "Products 1"));
    FEED(event_join(3 * MS, OTHERS, "Products 2"));
    return 0;
}

static int end(void **state)
{
    (void)state;
    collect_end(&run);
    return 0;
}

static void finish(void)
{
    vamp_stats_finish(run.stats);
    assert_true(run.count > 0);
}

static void expect_one(enum vamp_metric_id id, const char *labels, uint64_t value)
{
    uint64_t count = 0;
    for (size_t b = 0; b < run.count; b++) {
        const struct vamp_bucket_histogram *histogram = collect_histogram(&run, b, id, labels);
        if (histogram != NULL) {
            count += histogram->count;
            assert_int_equal(histogram->sum, value);
            assert_int_equal(histogram->min, value);
            assert_int_equal(histogram->max, value);
            assert_int_equal(histogram->bin_count, 1);
            assert_int_equal(histogram->bins[0].bin, vamp_bin_index(3, value));
            assert_int_equal(histogram->bins[0].count, 1);
        }
    }
    if (count != 1) {
        fail_msg("%s of %s: %llu values instead of one", vamp_metrics[id].name, labels,
                 (unsigned long long)count);
    }
}

/* The life of one CDO of 1 MiB, from 10 ms on, its demand answered after 7 ms. */
static void whole_life(void)
{
    FEED(event_cdo(VAMP_EVENT_DECLARE, 10 * MS, MODEL, 7));
    FEED(event_with_size(event_cdo(VAMP_EVENT_SEAL, 12 * MS, MODEL, 7), MIB));
    FEED(event_cdo(VAMP_EVENT_OFFER, 15 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DECLARE, 20 * MS, PRODUCTS, 7));
    FEED(event_cdo(VAMP_EVENT_REQUIRE, 21 * MS, PRODUCTS, 7));
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, 22 * MS, PRODUCTS, 7)));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 23 * MS, PRODUCTS, 7));
    FEED(event_with_cause(
        event_with_tier(event_transport(VAMP_EVENT_TRANSPORT_INIT, 24 * MS, 99, 7, PRODUCTS, MODEL),
                        VAMP_TIER_OFI),
        VAMP_CAUSE_DEMAND));
    FEED(event_before(event_cdo(VAMP_EVENT_WITHDRAW, 25 * MS, MODEL, 7)));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 29 * MS, 99, 7, PRODUCTS, MODEL));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 31 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 32 * MS, PRODUCTS, 7));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 33 * MS, MODEL, 7));
}

static void a_whole_life_fills_every_metric(void **state)
{
    (void)state;
    whole_life();
    FEED(event_before(event_of(VAMP_EVENT_LEAVE, 40 * MS, PRODUCTS)));
    FEED(event_leave(43 * MS, PRODUCTS, VAMP_LEAVE_FINALIZED));
    finish();
    assert_int_equal(COUNTER(POOL_OPERATIONS, "IFS -- 0|declare"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "Products 1|demand"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "Products 1|transport_completed"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "Products 1|leave"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "(other)|(other)"), 0);
    assert_int_equal(COUNTER(CDOS_CREATED, "IFS -- 0|[1MiB,2MiB)"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED_BYTES, "IFS -- 0|[1MiB,2MiB)"), MIB);
    assert_int_equal(COUNTER(CDOS_CREATED, "Products 1|unknown"), 0);
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, "").value, 2);
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, "").max, 3);
    assert_int_equal(GAUGE(POOL_CDOS, "").value, 0);
    assert_int_equal(GAUGE(POOL_CDOS, "").max, 1);
    assert_int_equal(GAUGE(POOL_BYTES, "").max, MIB);
    assert_int_equal(COUNTER(PRODUCED_BYTES, "IFS -- 0"), MIB);
    assert_int_equal(COUNTER(CONSUMED_BYTES, "Products 1"), MIB);
    expect_one(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|[1MiB,2MiB)", 7 * MS);
    expect_one(VAMP_METRIC_WITHDRAW_WAIT_NS, "IFS -- 0|[1MiB,2MiB)", 6 * MS);
    expect_one(VAMP_METRIC_LEAVE_WAIT_NS, "Products 1", 3 * MS);
    expect_one(VAMP_METRIC_HANDLING_NS, "demand", 1 * MS);
    expect_one(VAMP_METRIC_HANDLING_NS, "withdraw", 6 * MS);
    expect_one(VAMP_METRIC_HANDLING_NS, "leave", 3 * MS);
    assert_int_equal(RECORDED(HANDLING_NS), 3);
    expect_one(VAMP_METRIC_COMPONENT_ASSOCIATION_NS, "", 41 * MS);
    expect_one(VAMP_METRIC_DECLARE_TO_OFFER_NS, "IFS -- 0|[1MiB,2MiB)", 5 * MS);
    expect_one(VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS, "IFS -- 0|[1MiB,2MiB)", 8 * MS);
    expect_one(VAMP_METRIC_OFFER_TO_WITHDRAW_NS, "IFS -- 0|[1MiB,2MiB)", 16 * MS);
    expect_one(VAMP_METRIC_CDO_LIFETIME_NS, "IFS -- 0|[1MiB,2MiB)", 23 * MS);
    expect_one(VAMP_METRIC_DEMANDS_PER_CDO, "IFS -- 0", 1);
    expect_one(VAMP_METRIC_TRANSPORT_NS, "IFS -- 0|Products 1|[1MiB,2MiB)|OFI", 5 * MS);
    assert_int_equal(COUNTER(TRANSPORTS, "IFS -- 0|Products 1|[1MiB,2MiB)|OFI|demand"), 1);
    assert_int_equal(COUNTER(TRANSPORT_BYTES, "IFS -- 0|Products 1|[1MiB,2MiB)|OFI|demand"), MIB);
    expect_one(VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND, "[1MiB,2MiB)|OFI", MIB * 200);
    assert_int_equal(GAUGE(TRANSPORTS_ACTIVE, "OFI").value, 0);
    assert_int_equal(GAUGE(TRANSPORTS_ACTIVE, "OFI").max, 1);
    assert_int_equal(GAUGE(VAMPIRE_TRACKED_CDOS, "").value, 0);
    assert_int_equal(GAUGE(VAMPIRE_TRACKED_CDOS, "").max, 1);
    assert_int_equal(COUNTER(VAMPIRE_COUNTED, ""), 18);
    for (unsigned a = 0; a < VAMP_ANOMALY_COUNT; a++) {
        char labels[100];
        for (unsigned c = 0; c < 3; c++) {
            static const char *const names[] = {"IFS -- 0", "Products 1", "Products 2"};
            (void)snprintf(labels, sizeof labels, "%s|%s", names[c], vamp_anomaly_name(a));
            assert_int_equal(COUNTER(ANOMALIES, labels), 0);
        }
    }
}

static void without_before_events_a_demand_waits_from_its_acknowledgement(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 23 * MS, PRODUCTS, 7));
    FEED(event_with_size(
        event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 29 * MS, 1, 7, PRODUCTS, MODEL), 300));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 31 * MS, MODEL, 7));
    finish();
    expect_one(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|[256,512)", 6 * MS);
    assert_int_equal(RECORDED(WITHDRAW_WAIT_NS), 0);
    assert_int_equal(RECORDED(HANDLING_NS), 0);
    assert_int_equal(RECORDED(TRANSPORT_NS), 0);
    assert_int_equal(COUNTER(TRANSPORTS, "IFS -- 0|Products 1|[256,512)|unknown|unknown"), 1);
    assert_int_equal(COUNTER(CONSUMED_BYTES, "Products 1"), 300);
    /* The CDO existed before vampire joined: its creation was not seen. */
    assert_int_equal(GAUGE(POOL_CDOS, "").min, 0);
}

static void a_refused_demand_does_not_lengthen_the_next(void **state)
{
    (void)state;
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 7)));
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, 20 * MS, PRODUCTS, 7)));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 21 * MS, PRODUCTS, 7));
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, 25 * MS, PRODUCTS, 7)));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 26 * MS, PRODUCTS, 7));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 29 * MS, 1, 7, PRODUCTS, MODEL));
    finish();
    expect_one(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|unknown", 9 * MS);
}

static void a_cdo_is_created_once_when_its_size_is_known(void **state)
{
    (void)state;
    /* A consumer's handle came first. */
    FEED(event_cdo(VAMP_EVENT_DECLARE, 10 * MS, PRODUCTS, 1));
    FEED(event_cdo(VAMP_EVENT_DECLARE, 11 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_SEAL, 12 * MS, PRODUCTS, 1));
    FEED(event_cdo(VAMP_EVENT_REQUIRE, 13 * MS, PRODUCTS, 1));
    FEED(event_with_size(event_cdo(VAMP_EVENT_SEAL, 14 * MS, MODEL, 1), 0));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 15 * MS, MODEL, 1), 0));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 16 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 17 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 18 * MS, PRODUCTS, 1));
    /* Never any size: disposed of, at leave, at the end. */
    FEED(event_cdo(VAMP_EVENT_DECLARE, 20 * MS, MODEL, 2));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 21 * MS, MODEL, 2));
    FEED(event_cdo(VAMP_EVENT_DECLARE, 22 * MS, OTHERS, 3));
    FEED(event_leave(23 * MS, OTHERS, VAMP_LEAVE_VANISHED));
    FEED(event_cdo(VAMP_EVENT_DECLARE, 24 * MS, PRODUCTS, 4));
    /* Only required: its creation was not seen. */
    FEED(event_cdo(VAMP_EVENT_DECLARE, 25 * MS, PRODUCTS, 5));
    FEED(event_cdo(VAMP_EVENT_REQUIRE, 26 * MS, PRODUCTS, 5));
    finish();
    assert_int_equal(COUNTER(CDOS_CREATED, "IFS -- 0|[0,256)"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED, "IFS -- 0|unknown"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED, "Products 2|unknown"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED, "Products 1|unknown"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED, "Products 1|[0,256)"), 0);
    expect_one(VAMP_METRIC_DECLARE_TO_OFFER_NS, "IFS -- 0|[0,256)", 4 * MS);
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|offer_never_demanded"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "Products 2|not_disposed_at_leave"), 1);
}

static void who_leaves_takes_its_cdos_along(void **state)
{
    (void)state;
    for (uint64_t cdo = 1; cdo <= 3; cdo++) {
        FEED(event_cdo(VAMP_EVENT_DECLARE, 10 * MS, MODEL, cdo));
        FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 11 * MS, MODEL, cdo), 100));
    }
    FEED(event_cdo(VAMP_EVENT_DEMAND, 12 * MS, PRODUCTS, 50));
    FEED(event_leave(2 * SECOND, MODEL, VAMP_LEAVE_VANISHED));
    FEED(event_leave(2 * SECOND + 1, PRODUCTS, VAMP_LEAVE_FINALIZED));
    /* The same name again, by a new component. */
    FEED(event_join(2 * SECOND + 2, 9, "IFS -- 0"));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 2 * SECOND + 3, 9, 1), 70));
    FEED(event_leave(2 * SECOND + 4, MODEL, VAMP_LEAVE_VANISHED));
    finish();
    assert_int_equal(collect_gauge(&run, 0, VAMP_METRIC_POOL_BYTES, "").value, 300);
    assert_int_equal(GAUGE(POOL_CDOS, "").value, 1);
    assert_int_equal(GAUGE(POOL_CDOS, "").min, 0);
    assert_int_equal(GAUGE(POOL_CDOS, "").max, 3);
    assert_int_equal(GAUGE(POOL_BYTES, "").value, 70);
    assert_int_equal(GAUGE(VAMPIRE_TRACKED_CDOS, "").value, 1);
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|not_withdrawn_at_leave"), 3);
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|not_disposed_at_leave"), 3);
    assert_int_equal(COUNTER(ANOMALIES, "Products 1|demand_never_satisfied"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|operation_out_of_order"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED, "IFS -- 0|[0,256)"), 4);
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, "").value, 2);
}

static void an_event_before_its_partner_is_an_anomaly(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DECLARE, 20 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_OFFER, 19 * MS, MODEL, 1));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 30 * MS, 5, 1, PRODUCTS, MODEL));
    FEED(event_with_size(
        event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 29 * MS, 5, 1, PRODUCTS, MODEL), 9));
    finish();
    assert_int_equal(RECORDED(DECLARE_TO_OFFER_NS), 0);
    assert_int_equal(RECORDED(TRANSPORT_NS), 0);
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|negative_interval"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "Products 1|negative_interval"), 1);
    assert_int_equal(COUNTER(TRANSPORTS, "IFS -- 0|Products 1|[0,256)|unknown|unknown"), 1);
}

static void out_of_order_operations_are_reported(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DECLARE, 20 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 21 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_OFFER, 22 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_OFFER, 23 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 24 * MS, MODEL, 1));
    FEED(event_cdo(VAMP_EVENT_SEAL, 25 * MS, 77, 3));
    FEED(event_cdo(VAMP_EVENT_SEAL, 26 * MS, 77, 4));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_FAILED, 27 * MS, 5, 1, PRODUCTS, MODEL));
    finish();
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|operation_out_of_order"), 2);
    assert_int_equal(COUNTER(ANOMALIES, "unknown|unknown_component"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "Products 1|transport_failed"), 1);
    expect_one(VAMP_METRIC_OFFER_TO_WITHDRAW_NS, "IFS -- 0|unknown", 2 * MS);
    assert_int_equal(GAUGE(POOL_CDOS, "").value, 0);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "unknown|seal"), 2);
}

static void without_ids_names_are_paired(void **state)
{
    (void)state;
    static const char *const name = "class:rd,date:20240101,levelist:500,param:130,step:6";
    const enum vamp_event_kind kinds[] = {VAMP_EVENT_DECLARE, VAMP_EVENT_OFFER,
                                          VAMP_EVENT_WITHDRAW};
    for (int i = 0; i < 3; i++) {
        FEED(event_with_name(event_of(kinds[i], (10 + i) * MS, MODEL), name));
        FEED(event_with_name(event_of(kinds[i], (10 + 2 * i) * MS, OTHERS), name + 1));
    }
    FEED(event_with_name(event_of(VAMP_EVENT_TRANSPORT_INIT, 30 * MS, PRODUCTS), name));
    FEED(event_with_name(event_of(VAMP_EVENT_TRANSPORT_COMPLETED, 34 * MS, PRODUCTS), name));
    finish();
    expect_one(VAMP_METRIC_DECLARE_TO_OFFER_NS, "IFS -- 0|unknown", 1 * MS);
    expect_one(VAMP_METRIC_OFFER_TO_WITHDRAW_NS, "Products 2|unknown", 2 * MS);
    expect_one(VAMP_METRIC_TRANSPORT_NS, "unknown|Products 1|unknown|unknown", 4 * MS);
}

static void an_event_without_component_is_unknown(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 20 * MS, 0, 1));
    finish();
    assert_int_equal(COUNTER(POOL_OPERATIONS, "unknown|offer"), 1);
    assert_int_equal(GAUGE(POOL_CDOS, "").value, 1);
}

static void a_size_learned_late_counts_in_the_pool(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_OFFER, 20 * MS, MODEL, 1));
    FEED(event_with_size(event_cdo(VAMP_EVENT_DEMAND, 21 * MS, PRODUCTS, 1), 4096));
    finish();
    assert_int_equal(GAUGE(POOL_BYTES, "").value, 4096);
    assert_int_equal(COUNTER(PRODUCED_BYTES, "IFS -- 0"), 0);
    assert_int_equal(COUNTER(CDOS_CREATED, "IFS -- 0|[4KiB,8KiB)"), 1);
}

static void a_consumers_events_may_have_the_size(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DECLARE, 10 * MS, PRODUCTS, 1));
    FEED(event_cdo(VAMP_EVENT_DECLARE, 11 * MS, MODEL, 1));
    FEED(event_with_size(event_cdo(VAMP_EVENT_SEAL, 12 * MS, MODEL, 1), 600));
    FEED(event_with_size(event_cdo(VAMP_EVENT_SEAL, 13 * MS, PRODUCTS, 1), 600));
    FEED(event_with_size(event_cdo(VAMP_EVENT_REQUIRE, 14 * MS, PRODUCTS, 1), 600));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 15 * MS, MODEL, 1), 600));
    /* A CDO that was there before we came. */
    FEED(event_with_size(event_cdo(VAMP_EVENT_DECLARE, 20 * MS, PRODUCTS, 2), 700));
    finish();
    assert_int_equal(COUNTER(CDOS_CREATED, "IFS -- 0|[512,1KiB)"), 1);
    assert_int_equal(COUNTER(CDOS_CREATED, "Products 1|[512,1KiB)"), 0);
    expect_one(VAMP_METRIC_DECLARE_TO_OFFER_NS, "IFS -- 0|[512,1KiB)", 4 * MS);
}

static void a_cdo_of_two_offers_is_in_the_pool_once(void **state)
{
    (void)state;
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 10 * MS, MODEL, 1), 600));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 12 * MS, OTHERS, 1), 600));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 14 * MS, OTHERS, 1));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 19 * MS, MODEL, 1));
    finish();
    assert_int_equal(GAUGE(POOL_CDOS, "").max, 1);
    assert_int_equal(GAUGE(POOL_BYTES, "").value, 0);
    assert_int_equal(COUNTER(PRODUCED_BYTES, "Products 2"), 600);
    assert_int_equal(COUNTER(CDOS_CREATED, "Products 2|[512,1KiB)"), 0);
    expect_one(VAMP_METRIC_OFFER_TO_WITHDRAW_NS, "IFS -- 0|[512,1KiB)", 9 * MS);
}

static void a_declare_is_paired_by_name_before_it_has_an_id(void **state)
{
    (void)state;
    FEED(event_before(event_with_name(event_of(VAMP_EVENT_DECLARE, 10 * MS, MODEL), "x")));
    FEED(event_with_name(event_cdo(VAMP_EVENT_DECLARE, 13 * MS, MODEL, 1), "x"));
    FEED(event_before(event_join(14 * MS, 0, "new")));
    FEED(event_join(16 * MS, 12, "new"));
    finish();
    expect_one(VAMP_METRIC_HANDLING_NS, "declare", 3 * MS);
    expect_one(VAMP_METRIC_HANDLING_NS, "join", 2 * MS);
}

static void who_vanished_did_not_wait(void **state)
{
    (void)state;
    FEED(event_before(event_leave(10 * MS, MODEL, VAMP_LEAVE_VANISHED)));
    FEED(event_leave(11 * MS, MODEL, VAMP_LEAVE_VANISHED));
    finish();
    assert_int_equal(RECORDED(LEAVE_WAIT_NS), 0);
    assert_int_equal(RECORDED(HANDLING_NS), 0);
    assert_int_equal(RECORDED(COMPONENT_ASSOCIATION_NS), 1);
}

static void a_demand_that_failed_starts_again(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 10 * MS, PRODUCTS, 1));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_FAILED, 15 * MS, 1, 1, PRODUCTS, MODEL));
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, 20 * MS, PRODUCTS, 1)));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 21 * MS, PRODUCTS, 1));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 30 * MS, 2, 1, PRODUCTS, MODEL));
    finish();
    expect_one(VAMP_METRIC_DEMAND_WAIT_NS, "Products 1|unknown", 10 * MS);
    assert_int_equal(COUNTER(ANOMALIES, "Products 1|demand_never_satisfied"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "Products 1|transport_failed"), 1);
}

/* 2^64 - 1 bytes in 1 ns: beyond 64 bits a second. */
static void a_bandwidth_beyond_range_is_the_largest(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX / 1000000000,
                                     UINT64_MAX / 1000000000 + 1};
    for (uint64_t i = 0; i < 3; i++) {
        FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 10 * MS, i, 1 + i, PRODUCTS, MODEL));
        FEED(event_with_size(
            event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 10 * MS + 1, i, 1 + i, PRODUCTS, MODEL),
            sizes[i]));
    }
    /* No time passed: there is no rate. */
    FEED(event_transport(VAMP_EVENT_TRANSPORT_INIT, 20 * MS, 9, 9, PRODUCTS, MODEL));
    FEED(event_with_size(
        event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 20 * MS, 9, 9, PRODUCTS, MODEL), 5));
    finish();
    const struct vamp_bucket_histogram *rates = collect_histogram(
        &run, run.count - 1, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND, "[1GiB,inf)|unknown");
    assert_non_null(rates);
    assert_int_equal(rates->count, 3);
    assert_int_equal(rates->max, UINT64_MAX);
    assert_int_equal(rates->min, UINT64_MAX / 1000000000 * 1000000000);
    assert_int_equal(rates->bin_count, 1);
    assert_int_equal(rates->bins[0].bin, vamp_bin_index(3, UINT64_MAX));
    assert_int_equal(RECORDED(TRANSPORT_NS), 4);
}

static void totals_agree(void **state)
{
    (void)state;
    whole_life();
    struct vamp_totals totals;
    vamp_stats_totals(run.stats, &totals);
    assert_int_equal(totals.operations[VAMP_EVENT_DECLARE], 2);
    assert_int_equal(totals.produced_bytes, MIB);
    assert_int_equal(totals.consumed_bytes, MIB);
    assert_int_equal(totals.transports, 1);
    assert_int_equal(totals.transport_bytes, MIB);
    assert_int_equal(totals.pool_cdos, 0);
    assert_int_equal(totals.transport_ns->sum, 5 * MS);
    assert_int_equal(totals.demand_wait_ns->count, 1);
    assert_int_equal(totals.accounting.counted, 16);
    finish();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(a_whole_life_fills_every_metric),
        TEST(without_before_events_a_demand_waits_from_its_acknowledgement),
        TEST(a_refused_demand_does_not_lengthen_the_next),
        TEST(a_cdo_is_created_once_when_its_size_is_known),
        TEST(who_leaves_takes_its_cdos_along),
        TEST(an_event_before_its_partner_is_an_anomaly),
        TEST(out_of_order_operations_are_reported),
        TEST(without_ids_names_are_paired),
        TEST(an_event_without_component_is_unknown),
        TEST(a_size_learned_late_counts_in_the_pool),
        TEST(a_consumers_events_may_have_the_size),
        TEST(a_cdo_of_two_offers_is_in_the_pool_once),
        TEST(a_declare_is_paired_by_name_before_it_has_an_id),
        TEST(who_vanished_did_not_wait),
        TEST(a_demand_that_failed_starts_again),
        TEST(a_bandwidth_beyond_range_is_the_largest),
        TEST(totals_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
