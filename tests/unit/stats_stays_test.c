/* SPDX-License-Identifier: BSD-3-Clause */
/* The stay of a component in the pool: when it begins and ends, under which name, and what the
 * component holds when it ends. */
#include "tests/unit/stats_collect.h"

#define MS INT64_C(1000000)
#define MODEL 1
#define PRODUCTS 2

#define COUNTER(metric, labels) collect_counter(&run, run.count - 1, VAMP_METRIC_##metric, labels)
#define GAUGE(metric, labels) collect_gauge(&run, run.count - 1, VAMP_METRIC_##metric, labels).value
#define RECORDED(metric) collect_recorded(&run, VAMP_METRIC_##metric)
#define FEED(...) collect_feed(&run, __VA_ARGS__)

static struct collect run;

static int start(void **state)
{
    (void)state;
    const struct vamp_stats_options options = collect_options();
    collect_start(&run, &options);
    return 0;
}

/* Room for `(other)` and two more rows. */
static int start_small(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.max_components = 3;
    collect_start(&run, &options);
    return 0;
}

static int end(void **state)
{
    (void)state;
    collect_end(&run);
    return 0;
}

/* Declares two CDOs, offers one, demands a third. */
static void hold_things(int64_t time_ns, uint64_t app_id)
{
    FEED(event_cdo(VAMP_EVENT_DECLARE, time_ns, app_id, 10));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, time_ns + 1, app_id, 10), 100));
    FEED(event_cdo(VAMP_EVENT_DECLARE, time_ns + 2, app_id, 11));
    FEED(event_cdo(VAMP_EVENT_DEMAND, time_ns + 3, app_id, 12));
}

static void expect_released(const char *name)
{
    char labels[64];
    static const char *const anomalies[] = {"not_withdrawn_at_leave", "not_disposed_at_leave",
                                            "demand_never_satisfied"};
    static const uint64_t counts[] = {1, 2, 1};
    for (unsigned i = 0; i < sizeof anomalies / sizeof anomalies[0]; i++) {
        (void)snprintf(labels, sizeof labels, "%s|%s", name, anomalies[i]);
        assert_int_equal(COUNTER(ANOMALIES, labels), counts[i]);
    }
    assert_int_equal(GAUGE(POOL_CDOS, ""), 0);
    assert_int_equal(GAUGE(POOL_BYTES, ""), 0);
    assert_int_equal(GAUGE(VAMPIRE_TRACKED_CDOS, ""), 0);
    (void)snprintf(labels, sizeof labels, "%s|unknown", name);
    assert_int_equal(COUNTER(CDOS_CREATED, labels), 1);
}

static void a_join_ends_the_stay_whose_leave_was_lost(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "before"));
    hold_things(2 * MS, MODEL);
    FEED(event_join(10 * MS, MODEL, "after"));
    vamp_stats_finish(run.stats);
    expect_released("before");
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, ""), 1);
    /* No operation took place, and when the stay ended is not known. */
    assert_int_equal(COUNTER(POOL_OPERATIONS, "before|leave"), 0);
    assert_int_equal(RECORDED(COMPONENT_ASSOCIATION_NS), 0);
    assert_int_equal(COUNTER(ANOMALIES, "after|operation_out_of_order"), 0);
}

/* The filters turned the LEAVE away: the statistics do not know it, the component table does. */
static void a_join_ends_the_stay_whose_leave_was_filtered(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "before"));
    hold_things(2 * MS, MODEL);
    const struct vamp_event leave = event_leave(5 * MS, MODEL, VAMP_LEAVE_FINALIZED);
    vamp_components_observe(run.components, &leave);
    vamp_stats_observe(run.stats, &leave, VAMP_FILTERED);
    FEED(event_join(10 * MS, MODEL, "after"));
    vamp_stats_finish(run.stats);
    expect_released("before");
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, ""), 1);
}

/* A JOIN that the filters turn away has no effect, then or later. */
static void a_filtered_join_ends_nothing(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "before"));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 2 * MS, MODEL, 10), 100));
    const struct vamp_event join = event_join(3 * MS, MODEL, "filtered");
    vamp_components_observe(run.components, &join);
    vamp_stats_observe(run.stats, &join, VAMP_FILTERED);
    struct vamp_event unnamed = event_join(4 * MS, 0, "no id");
    unnamed.present = (uint16_t)(unnamed.present & ~(unsigned)VAMP_HAS_APP);
    FEED(unnamed);
    vamp_stats_finish(run.stats);
    assert_int_equal(GAUGE(POOL_CDOS, ""), 1);
}

static void the_same_join_again_ends_nothing(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "model"));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 2 * MS, MODEL, 10), 100));
    FEED(event_join(1 * MS, MODEL, "model"));
    vamp_stats_finish(run.stats);
    assert_int_equal(GAUGE(POOL_CDOS, ""), 1);
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, ""), 1);
    assert_int_equal(COUNTER(ANOMALIES, "model|operation_out_of_order"), 1);
}

static void a_join_names_a_component_that_was_unknown(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DECLARE, 1 * MS, MODEL, 10));
    FEED(event_join(2 * MS, MODEL, "model"));
    FEED(event_with_size(event_cdo(VAMP_EVENT_OFFER, 3 * MS, MODEL, 10), 100));
    FEED(event_leave(9 * MS, MODEL, VAMP_LEAVE_FINALIZED));
    vamp_stats_finish(run.stats);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "unknown|declare"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "unknown|unknown_component"), 1);
    /* What it did before is its own: the CDO is created under its name. */
    assert_int_equal(COUNTER(CDOS_CREATED, "model|[0,256)"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "model|offer"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "model|unknown_component"), 0);
    assert_int_equal(COUNTER(ANOMALIES, "model|not_withdrawn_at_leave"), 1);
    assert_int_equal(RECORDED(COMPONENT_ASSOCIATION_NS), 1);
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, ""), 0);
}

/* The rows are taken: whoever joins now is `(other)`, and its old row has nothing to do with it. */
static void beyond_max_components_a_join_ends_the_stay_before(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "model"));
    FEED(event_join(2 * MS, PRODUCTS, "products"));
    hold_things(3 * MS, MODEL);
    FEED(event_join(10 * MS, MODEL, "model"));
    FEED(event_cdo(VAMP_EVENT_SUBSCRIBE, 11 * MS, MODEL, 10));
    FEED(event_leave(12 * MS, PRODUCTS, VAMP_LEAVE_FINALIZED));
    FEED(event_join(13 * MS, PRODUCTS, "products"));
    FEED(event_cdo(VAMP_EVENT_SUBSCRIBE, 14 * MS, PRODUCTS, 10));
    vamp_stats_finish(run.stats);
    expect_released("model");
    assert_int_equal(COUNTER(POOL_OPERATIONS, "model|join"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "(other)|join"), 2);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "(other)|subscribe"), 2);
    assert_int_equal(COUNTER(ANOMALIES, "products|operation_out_of_order"), 0);
    assert_int_equal(COUNTER(ANOMALIES, "model|operation_out_of_order"), 0);
    assert_int_equal(GAUGE(COMPONENTS_PRESENT, ""), 2);
}

static void a_demand_that_was_not_acknowledged_is_pending_at_leave(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "model"));
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, 2 * MS, MODEL, 10)));
    FEED(event_leave(3 * MS, MODEL, VAMP_LEAVE_VANISHED));
    vamp_stats_finish(run.stats);
    assert_int_equal(COUNTER(ANOMALIES, "model|demand_never_satisfied"), 1);
    assert_int_equal(COUNTER(POOL_OPERATIONS, "model|demand"), 0);
    assert_int_equal(RECORDED(DEMAND_WAIT_NS), 0);
}

/* A component holds a handle still, its maker's record is over, and it offers the CDO itself. */
static void a_handle_that_outlives_a_record_belongs_to_the_next(void **state)
{
    (void)state;
    FEED(event_join(1 * MS, MODEL, "model"));
    FEED(event_join(2 * MS, PRODUCTS, "products"));
    for (uint64_t cdo = 10; cdo <= 12; cdo++) {
        FEED(event_cdo(VAMP_EVENT_DECLARE, 3 * MS, MODEL, cdo));
        FEED(event_cdo(VAMP_EVENT_DECLARE, 4 * MS, PRODUCTS, cdo));
        FEED(event_cdo(VAMP_EVENT_DISPOSE, 5 * MS, MODEL, cdo));
        FEED(event_cdo(VAMP_EVENT_OFFER, 6 * MS, PRODUCTS, cdo));
    }
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 7 * MS, PRODUCTS, 10));
    /* The record goes to the component that reports the size; the handle stays where it is. */
    FEED(event_with_size(event_cdo(VAMP_EVENT_SEAL, 8 * MS, MODEL, 11), 100));
    FEED(event_cdo(VAMP_EVENT_DISPOSE, 9 * MS, PRODUCTS, 11));
    FEED(event_leave(10 * MS, PRODUCTS, VAMP_LEAVE_FINALIZED));
    vamp_stats_finish(run.stats);
    assert_int_equal(COUNTER(ANOMALIES, "products|not_disposed_at_leave"), 1);
    assert_int_equal(COUNTER(ANOMALIES, "products|not_withdrawn_at_leave"), 1);
    assert_int_equal(RECORDED(DECLARE_TO_OFFER_NS), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(a_join_ends_the_stay_whose_leave_was_lost),
        TEST(a_join_ends_the_stay_whose_leave_was_filtered),
        TEST(a_filtered_join_ends_nothing),
        TEST(the_same_join_again_ends_nothing),
        TEST(a_join_names_a_component_that_was_unknown),
        cmocka_unit_test_setup_teardown(beyond_max_components_a_join_ends_the_stay_before,
                                        start_small, end),
        TEST(a_demand_that_was_not_acknowledged_is_pending_at_leave),
        TEST(a_handle_that_outlives_a_record_belongs_to_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
