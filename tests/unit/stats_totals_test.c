/* SPDX-License-Identifier: BSD-3-Clause */
/* What the summary shows is what the buckets hold. */
#include "tests/unit/stats_collect.h"

#define MS INT64_C(1000000)

/* Turns away what a configuration's "statistics.filters" would: some events of some metrics. */
static void filter_metrics(void *context, const struct vamp_event *event,
                           bool excluded[static VAMP_METRICS_MAX])
{
    (void)context;
    const bool odd = vamp_event_has(event, VAMP_HAS_CDO_ID) && event->cdo_id.low % 2 == 1;
    excluded[VAMP_METRIC_POOL_OPERATIONS] = event->kind != VAMP_EVENT_OFFER;
    excluded[VAMP_METRIC_PRODUCED_BYTES] = odd;
    excluded[VAMP_METRIC_CONSUMED_BYTES] = odd;
    excluded[VAMP_METRIC_POOL_CDOS] = odd;
    excluded[VAMP_METRIC_POOL_BYTES] = odd;
    excluded[VAMP_METRIC_TRANSPORTS] = odd;
    excluded[VAMP_METRIC_TRANSPORT_BYTES] = odd;
    excluded[VAMP_METRIC_TRANSPORT_NS] = odd;
    excluded[VAMP_METRIC_DEMAND_WAIT_NS] = odd;
}

static void feed(struct collect *run)
{
    collect_feed(run, event_join(1 * MS, 1, "IFS -- 0"));
    collect_feed(run, event_join(2 * MS, 2, "Products 1"));
    for (uint64_t cdo = 1; cdo <= 9; cdo++) {
        const int64_t at = (int64_t)cdo * 700 * MS;
        collect_feed(run, event_cdo(VAMP_EVENT_DECLARE, at, 1, cdo));
        collect_feed(run, event_with_size(event_cdo(VAMP_EVENT_OFFER, at + 1, 1, cdo), 100 * cdo));
        collect_feed(run, event_cdo(VAMP_EVENT_DEMAND, at + 2, 2, cdo));
        collect_feed(run, event_transport(VAMP_EVENT_TRANSPORT_INIT, at + 3, cdo, cdo, 2, 1));
        collect_feed(run,
                     event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, at + 9 * MS, cdo, cdo, 2, 1));
        if (cdo < 7) {
            collect_feed(run, event_cdo(VAMP_EVENT_WITHDRAW, at + 10 * MS, 1, cdo));
        }
    }
    collect_feed(run, event_rejected(6400 * MS, 3));
    collect_feed(run, event_lost(6500 * MS, VAMP_LOSS_RING, 4));
}

static uint64_t sum_of_counter(const struct collect *run, enum vamp_metric_id id)
{
    const struct vamp_bucket *last = run->buckets[run->count - 1];
    const struct vamp_metric_values *values = &last->values[collect_metric(run, id)];
    uint64_t sum = 0;
    for (unsigned i = 0; i < values->count; i++) {
        sum += values->counters[i].value;
    }
    return sum;
}

static uint64_t operations_of(const struct collect *run, unsigned kind)
{
    const struct vamp_bucket *last = run->buckets[run->count - 1];
    const int metric = collect_metric(run, VAMP_METRIC_POOL_OPERATIONS);
    const unsigned set = last->schema->metrics[metric].label_set;
    uint64_t sum = 0;
    for (unsigned i = 0; i < last->values[metric].count; i++) {
        const char *text = kind == 0 ? VAMP_SERIES_OTHER : vamp_event_kind_name(kind);
        const char *label =
            last->series[set][i]->labels[last->schema->label_sets[set].label_count - 1];
        sum += strcmp(label, text) == 0 ? last->values[metric].counters[i].value : 0;
    }
    return sum;
}

static void expect_histogram(const struct collect *run, enum vamp_metric_id id,
                             const struct vamp_histogram *total)
{
    assert_non_null(total);
    uint64_t count = 0;
    uint64_t sum = 0;
    for (size_t b = 0; b < run->count; b++) {
        const struct vamp_metric_values *values = &run->buckets[b]->values[collect_metric(run, id)];
        for (unsigned i = 0; i < values->count; i++) {
            count += values->histograms[i].histogram->count;
            sum += values->histograms[i].histogram->sum;
        }
    }
    assert_int_equal(total->count, count);
    assert_int_equal(total->sum, sum);
}

static void expect_totals(const struct collect *run, const struct vamp_totals *totals)
{
    const struct vamp_bucket *last = run->buckets[run->count - 1];
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        assert_int_equal(totals->operations[kind], operations_of(run, kind));
    }
    assert_int_equal(totals->produced_bytes, sum_of_counter(run, VAMP_METRIC_PRODUCED_BYTES));
    assert_int_equal(totals->consumed_bytes, sum_of_counter(run, VAMP_METRIC_CONSUMED_BYTES));
    assert_int_equal(totals->transports, sum_of_counter(run, VAMP_METRIC_TRANSPORTS));
    assert_int_equal(totals->transport_bytes, sum_of_counter(run, VAMP_METRIC_TRANSPORT_BYTES));
    assert_int_equal(totals->pool_cdos,
                     collect_gauge(run, run->count - 1, VAMP_METRIC_POOL_CDOS, "").value);
    assert_int_equal(totals->pool_bytes,
                     collect_gauge(run, run->count - 1, VAMP_METRIC_POOL_BYTES, "").value);
    assert_int_equal(totals->evicted, sum_of_counter(run, VAMP_METRIC_VAMPIRE_EVICTED));
    assert_int_equal(totals->series_overflow,
                     sum_of_counter(run, VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW));
    expect_histogram(run, VAMP_METRIC_TRANSPORT_NS, totals->transport_ns);
    expect_histogram(run, VAMP_METRIC_DEMAND_WAIT_NS, totals->demand_wait_ns);
    assert_memory_equal(&totals->accounting, &last->accounting, sizeof totals->accounting);
}

/* Before and after the last buckets close, the totals are the same, and those of the buckets. */
static void check(const struct vamp_stats_options *options, vamp_exclude_fn *exclude)
{
    struct collect run;
    collect_start(&run, options);
    vamp_stats_exclude(run.stats, exclude, NULL);
    feed(&run);
    struct vamp_totals open, closed;
    vamp_stats_totals(run.stats, &open);
    assert_true(run.count > 0); /* and some are not closed */
    struct vamp_stats_state state;
    vamp_stats_state(run.stats, &state);
    assert_true(state.newest_ns > run.buckets[run.count - 1]->start_ns);
    const struct vamp_histogram *transport_ns = open.transport_ns;
    const uint64_t recorded = transport_ns->count;
    vamp_stats_finish(run.stats);
    vamp_stats_totals(run.stats, &closed);
    expect_totals(&run, &closed);
    assert_int_equal(closed.transport_ns->count, recorded);
    assert_memory_equal(open.operations, closed.operations, sizeof open.operations);
    assert_int_equal(open.transport_bytes, closed.transport_bytes);
    assert_int_equal(open.pool_bytes, closed.pool_bytes);
    assert_int_equal(open.series_overflow, closed.series_overflow);
    assert_memory_equal(&open.accounting, &closed.accounting, sizeof open.accounting);
    collect_end(&run);
}

static void totals_are_those_of_the_buckets(void **state)
{
    (void)state;
    const struct vamp_stats_options options = collect_options();
    check(&options, NULL);
}

static void totals_leave_out_what_a_metrics_filter_turned_away(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    check(&options, filter_metrics);
    options.level = VAMP_LEVEL_WORKFLOW;
    check(&options, filter_metrics);
}

static void totals_hold_at_every_bound(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.max_series = 3;
    options.max_cdos = 2;
    options.max_pending = 1;
    check(&options, NULL);
}

static void totals_of_metrics_that_are_not_computed_are_zero(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.sets = VAMP_SET_ANOMALIES;
    struct collect run;
    collect_start(&run, &options);
    feed(&run);
    struct vamp_totals totals;
    vamp_stats_totals(run.stats, &totals);
    assert_int_equal(totals.operations[VAMP_EVENT_OFFER], 0);
    assert_int_equal(totals.transports, 0);
    assert_int_equal(totals.pool_cdos, 0);
    assert_null(totals.transport_ns);
    assert_null(totals.demand_wait_ns);
    vamp_stats_finish(run.stats);
    collect_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_those_of_the_buckets),
        cmocka_unit_test(totals_leave_out_what_a_metrics_filter_turned_away),
        cmocka_unit_test(totals_hold_at_every_bound),
        cmocka_unit_test(totals_of_metrics_that_are_not_computed_are_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
