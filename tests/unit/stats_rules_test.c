/* SPDX-License-Identifier: BSD-3-Clause */
/* What filters and sampling set in the statistics: excluded metrics, verdicts, weights, selected
 * CDOs.
 */
#include "tests/unit/stats_collect.h"

static struct collect run;

static int start(void **state)
{
    (void)state;
    const struct vamp_stats_options options = collect_options();
    collect_start(&run, &options);
    collect_feed(&run, event_join(1, 1, "model"));
    return 0;
}

static int end(void **state)
{
    (void)state;
    collect_end(&run);
    return 0;
}

/* ---- excluded metrics */

/* Asked once for each event that passed. */
struct excluder {
    unsigned asked;
    enum vamp_metric_id metric;
};

/* The metric counts for CDOs of at least 1,000 bytes. */
static void exclude_small(void *context, const struct vamp_event *event,
                          bool excluded[static VAMP_METRICS_MAX])
{
    struct excluder *excluder = context;
    excluder->asked++;
    excluded[excluder->metric] = event->size_bytes < 1000;
}

static void offer(uint64_t cdo, uint64_t size_bytes)
{
    collect_feed(
        &run, event_with_size(event_cdo(VAMP_EVENT_OFFER, 100 + (int64_t)cdo, 1, cdo), size_bytes));
}

static uint64_t last_counter(enum vamp_metric_id id, const char *labels)
{
    return collect_counter(&run, run.count - 1, id, labels);
}

static void a_filtered_counter_counts_only_matching_events(void **state)
{
    (void)state;
    struct excluder excluder = {.metric = VAMP_METRIC_PRODUCED_BYTES};
    vamp_stats_exclude(run.stats, exclude_small, &excluder);
    offer(1, 10);
    offer(2, 5000);
    offer(3, 999);
    offer(4, 1000);
    vamp_stats_finish(run.stats);
    assert_int_equal(excluder.asked, 4);
    assert_int_equal(last_counter(VAMP_METRIC_PRODUCED_BYTES, "model"), 6000);
    /* Everything else counts them all. */
    assert_int_equal(last_counter(VAMP_METRIC_POOL_OPERATIONS, "model|offer"), 4);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_COUNTED, ""), 5);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_FILTERED, ""), 0);
}

static void a_filtered_histogram_records_only_matching_events(void **state)
{
    (void)state;
    struct excluder excluder = {.metric = VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND};
    vamp_stats_exclude(run.stats, exclude_small, &excluder);
    for (uint64_t number = 1; number <= 3; number++) {
        const int64_t time_ns = 1000 * (int64_t)number;
        const struct vamp_event begin =
            event_transport(VAMP_EVENT_TRANSPORT_INIT, time_ns, number, number, 1, 1);
        const struct vamp_event completed =
            event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, time_ns + 500, number, number, 1, 1);
        collect_feed(&run, event_with_tier(begin, VAMP_TIER_OFI));
        collect_feed(&run,
                     event_with_size(event_with_tier(completed, VAMP_TIER_OFI), number * 600));
    }
    vamp_stats_finish(run.stats);
    const struct vamp_bucket_histogram *histogram = collect_histogram(
        &run, run.count - 1, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND, "[1KiB,2KiB)|OFI");
    assert_non_null(histogram);
    assert_int_equal(histogram->count, 2); /* 1,200 and 1,800 bytes */
}

/* An anomaly that does not count is not reported either. */
static void exclude_anomalies(void *context, const struct vamp_event *event,
                              bool excluded[static VAMP_METRICS_MAX])
{
    (void)context;
    excluded[VAMP_METRIC_ANOMALIES] = event->app_id == 1;
}

static void an_excluded_anomaly_is_not_listed(void **state)
{
    (void)state;
    vamp_stats_exclude(run.stats, exclude_anomalies, NULL);
    for (uint64_t app = 1; app <= 2; app++) {
        collect_feed(&run, event_cdo(VAMP_EVENT_WITHDRAW, 200, app, 7 + app));
        collect_feed(&run, event_cdo(VAMP_EVENT_OFFER, 210, app, 9 + app));
        collect_feed(&run, event_cdo(VAMP_EVENT_OFFER, 220, app, 9 + app)); /* twice */
    }
    vamp_stats_finish(run.stats);
    const struct vamp_bucket *bucket = run.buckets[run.count - 1];
    assert_int_equal(last_counter(VAMP_METRIC_ANOMALIES, "model|operation_out_of_order"), 0);
    assert_true(bucket->anomaly_count > 0);
    for (unsigned i = 0; i < bucket->anomaly_count; i++) {
        assert_string_not_equal(bucket->anomalies[i].component, "model");
    }
}

/* Rules are changed in the middle of a bucket: nothing of the old ones stays behind. */
static void new_rules_begin_with_nothing_excluded(void **state)
{
    (void)state;
    struct excluder excluder = {.metric = VAMP_METRIC_PRODUCED_BYTES};
    vamp_stats_exclude(run.stats, exclude_small, &excluder);
    offer(1, 10);
    vamp_stats_exclude(run.stats, NULL, NULL);
    offer(2, 20);
    struct excluder other = {.metric = VAMP_METRIC_POOL_OPERATIONS};
    vamp_stats_exclude(run.stats, exclude_small, &other);
    offer(3, 30);
    vamp_stats_finish(run.stats);
    assert_int_equal(last_counter(VAMP_METRIC_PRODUCED_BYTES, "model"), 50);
    assert_int_equal(last_counter(VAMP_METRIC_POOL_OPERATIONS, "model|offer"), 2);
    assert_int_equal(excluder.asked, 1);
    assert_int_equal(other.asked, 1);
}

/* ---- verdicts and weights */

static void judged(enum vamp_event_kind kind, int64_t time_ns, enum vamp_verdict verdict)
{
    const struct vamp_event event = event_cdo(kind, time_ns, 1, 1);
    vamp_stats_observe(run.stats, &event, verdict);
}

static int64_t weight(size_t bucket)
{
    return collect_gauge(&run, bucket, VAMP_METRIC_VAMPIRE_WEIGHT, "").value;
}

static void verdicts_are_accounted(void **state)
{
    (void)state;
    struct excluder excluder = {.metric = VAMP_METRIC_POOL_OPERATIONS};
    vamp_stats_exclude(run.stats, exclude_small, &excluder);
    judged(VAMP_EVENT_REQUIRE, 10, VAMP_FILTERED);
    judged(VAMP_EVENT_REQUIRE, 20, VAMP_SAMPLED_OUT);
    judged(VAMP_EVENT_REQUIRE, 30, VAMP_SAMPLED_OUT);
    judged(VAMP_EVENT_REQUIRE, 40, VAMP_PASSED);
    vamp_stats_finish(run.stats);
    assert_int_equal(excluder.asked, 1); /* only of what passed */
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_DECODED, ""), 5);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_FILTERED, ""), 3);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_SAMPLED_OUT, ""), 2);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_COUNTED, ""), 2);
}

static void without_sampling_an_event_stands_for_itself(void **state)
{
    (void)state;
    judged(VAMP_EVENT_REQUIRE, 10, VAMP_FILTERED);
    vamp_stats_finish(run.stats);
    assert_int_equal(weight(0), 1000000);
}

/* Whatever was left out of a bucket, and be it all of it. */
static void a_weight_does_not_depend_on_the_bucket(void **state)
{
    (void)state;
    vamp_stats_sampling(run.stats, 4);
    judged(VAMP_EVENT_REQUIRE, 10, VAMP_PASSED);
    judged(VAMP_EVENT_REQUIRE, 20, VAMP_SAMPLED_OUT);
    judged(VAMP_EVENT_REQUIRE, SECOND + 1, VAMP_PASSED);
    judged(VAMP_EVENT_REQUIRE, 2 * SECOND + 1, VAMP_SAMPLED_OUT);
    const struct vamp_event anonymous = {.kind = VAMP_EVENT_SUBSCRIBE, .time_ns = 3 * SECOND + 1};
    vamp_stats_observe(run.stats, &anonymous, VAMP_PASSED); /* it stands for itself */
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 4);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_SAMPLED_IN, ""), 2);
    assert_int_equal(last_counter(VAMP_METRIC_VAMPIRE_WEIGHTED, ""), 8);
    for (size_t bucket = 0; bucket < 4; bucket++) {
        const struct vamp_gauge_value value =
            collect_gauge(&run, bucket, VAMP_METRIC_VAMPIRE_WEIGHT, "");
        assert_int_equal(value.value, 4000000);
        assert_true(value.min == value.value && value.max == value.value);
    }
}

/* What rounding leaves counts later. Joins stand for themselves. */
static void weighted_counters_add_up(void **state)
{
    (void)state;
    collect_end(&run);
    struct vamp_stats_options options = collect_options();
    options.metrics_on[VAMP_METRIC_WEIGHTED_POOL_OPERATIONS] = true;
    collect_start(&run, &options);
    vamp_stats_sampling(run.stats, 4.0 / 3);
    collect_feed(&run, event_join(1, 1, "model"));
    for (int i = 0; i < 3; i++) {
        judged(VAMP_EVENT_REQUIRE, i * SECOND + 10, VAMP_PASSED);
        judged(VAMP_EVENT_OFFER, i * SECOND + 11, VAMP_PASSED);
        judged(VAMP_EVENT_OFFER, i * SECOND + 12, VAMP_PASSED);
        judged(VAMP_EVENT_OFFER, i * SECOND + 13, VAMP_SAMPLED_OUT);
    }
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 3);
    const enum vamp_metric_id id = VAMP_METRIC_WEIGHTED_POOL_OPERATIONS;
    static const uint64_t required[] = {1, 3, 4}, offered[] = {3, 5, 8};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(collect_counter(&run, i, id, "model|require"), required[i]);
        assert_int_equal(collect_counter(&run, i, id, "model|offer"), offered[i]);
        assert_int_equal(collect_counter(&run, i, id, "model|join"), 1);
    }
    assert_int_equal(weight(0), 1333333);
}

/* ---- selected CDOs */

static bool select_transports(void *context, const struct vamp_event *event)
{
    (void)context;
    return event->kind == VAMP_EVENT_TRANSPORT_COMPLETED;
}

static void a_transport_selects_its_cdo(void **state)
{
    (void)state;
    collect_end(&run);
    struct vamp_stats_options options = collect_options();
    options.level = VAMP_LEVEL_CDO;
    collect_start(&run, &options);
    vamp_stats_select(run.stats, select_transports, NULL);
    for (uint64_t cdo = 1; cdo <= 3; cdo++) {
        collect_feed(&run, event_cdo(VAMP_EVENT_OFFER, 10, 1, cdo));
    }
    collect_feed(&run, event_transport(VAMP_EVENT_TRANSPORT_FAILED, 20, 1, 1, 2, 1));
    collect_feed(&run, event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 20, 2, 2, 2, 1));
    collect_feed(&run, event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 20, 3, 99, 2, 1));
    vamp_stats_finish(run.stats);
    const struct vamp_bucket *bucket = run.buckets[run.count - 1];
    assert_int_equal(bucket->cdo_count, 1);
    assert_int_equal(bucket->cdos[0].consumers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_filtered_counter_counts_only_matching_events, start, end),
        cmocka_unit_test_setup_teardown(a_filtered_histogram_records_only_matching_events, start,
                                        end),
        cmocka_unit_test_setup_teardown(an_excluded_anomaly_is_not_listed, start, end),
        cmocka_unit_test_setup_teardown(new_rules_begin_with_nothing_excluded, start, end),
        cmocka_unit_test_setup_teardown(verdicts_are_accounted, start, end),
        cmocka_unit_test_setup_teardown(without_sampling_an_event_stands_for_itself, start, end),
        cmocka_unit_test_setup_teardown(a_weight_does_not_depend_on_the_bucket, start, end),
        cmocka_unit_test_setup_teardown(weighted_counters_add_up, start, end),
        cmocka_unit_test_setup_teardown(a_transport_selects_its_cdo, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
