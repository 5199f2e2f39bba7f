/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/stats_collect.h"

#include "vampire/stats/cells/series.h"

static const struct vamp_label_set *set_named(const struct vamp_schema *schema, const char *name)
{
    for (unsigned i = 0; i < schema->label_set_count; i++) {
        if (strcmp(schema->label_sets[i].name, name) == 0) {
            return &schema->label_sets[i];
        }
    }
    fail_msg("no label set \"%s\"", name);
    return NULL;
}

static unsigned set_of(const struct collect *run, enum vamp_metric_id id)
{
    return vamp_stats_schema(run->stats)->metrics[collect_metric(run, id)].label_set;
}

static void label_sets_come_in_order_of_first_use(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    struct collect run;
    collect_start(&run, &options);
    const struct vamp_schema *schema = vamp_stats_schema(run.stats);
    assert_int_equal(schema->metric_count,
                     VAMP_METRIC_COLLECT_RUNS_REPORTING - VAMP_WEIGHTED_METRIC_COUNT -
                         1 - /* vampire_clock_resolution_ns: events have times */
                         4); /* what metrics lack, groups of a sample: they are asked for */
    static const char *const names[] = {"component_operation",
                                        "component_size_class",
                                        "",
                                        "component_series",
                                        "component_producer_part",
                                        "component_consumer",
                                        "operation_series",
                                        "source_sink_size_class_tier",
                                        "source_sink_size_class_tier_cause",
                                        "size_class_tier",
                                        "tier_series",
                                        "component_tier",
                                        "component_anomaly",
                                        "reason_series",
                                        "output_series"};
    assert_int_equal(schema->label_set_count, sizeof names / sizeof names[0]);
    for (unsigned i = 0; i < schema->label_set_count; i++) {
        assert_string_equal(schema->label_sets[i].name, names[i]);
    }
    assert_int_equal(set_of(&run, VAMP_METRIC_CDOS_CREATED),
                     set_of(&run, VAMP_METRIC_DEMAND_WAIT_NS));
    assert_int_equal(set_named(schema, "")->max_series, 1);
    assert_int_equal(set_named(schema, "tier_series")->max_series, VAMP_TIER_COUNT + 1);
    assert_int_equal(set_named(schema, "component_operation")->max_series, 1000);
    assert_int_equal(schema->max_components, options.max_components);
    assert_int_equal(schema->bins.count, 496);
    collect_end(&run);
}

static void workflow_level_drops_who(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.level = VAMP_LEVEL_WORKFLOW;
    struct collect run;
    collect_start(&run, &options);
    const struct vamp_schema *schema = vamp_stats_schema(run.stats);
    assert_string_equal(schema->label_sets[0].name, "operation_series");
    (void)set_named(schema, "size_class_tier_cause");
    collect_feed(&run, event_join(1, 1, "a"));
    collect_feed(&run, event_join(2, 2, "b"));
    collect_feed(&run, event_cdo(VAMP_EVENT_OFFER, 3, 1, 1));
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_POOL_OPERATIONS, "join"), 2);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_CDOS_CREATED, "unknown"), 1);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_PRODUCED_BYTES, ""), 0);
    collect_end(&run);
}

static void sets_choose_the_metrics(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.sets = VAMP_SET_BASIC;
    struct collect run;
    collect_start(&run, &options);
    assert_true(collect_metric(&run, VAMP_METRIC_DEMAND_WAIT_NS) > 0);
    assert_int_equal(collect_metric(&run, VAMP_METRIC_HANDLING_NS), -1);
    assert_int_equal(collect_metric(&run, VAMP_METRIC_ANOMALIES), -1);
    assert_true(collect_metric(&run, VAMP_METRIC_VAMPIRE_LOST) > 0);
    collect_feed(&run, event_leave(1, 1, VAMP_LEAVE_UNKNOWN));
    vamp_stats_self(run.stats, VAMP_METRIC_OWN_ROUNDTRIP_NS, VAMP_EVENT_JOIN, 5);
    collect_end(&run);
    options.sets = 0;
    collect_start(&run, &options);
    assert_int_equal(collect_metric(&run, VAMP_METRIC_POOL_OPERATIONS), -1);
    collect_feed(&run, event_join(1, 1, "a"));
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_VAMPIRE_COUNTED, ""), 1);
    collect_end(&run);
}

static void components_of_one_name_share_a_series(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    struct collect run;
    collect_start(&run, &options);
    collect_feed(&run, event_join(1, 1, "same"));
    collect_feed(&run, event_join(2, 2, "same"));
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_POOL_OPERATIONS, "same|join"), 2);
    assert_int_equal(run.buckets[0]->series_count[set_of(&run, VAMP_METRIC_POOL_OPERATIONS)], 2);
    collect_end(&run);
}

static void what_does_not_fit_is_other_and_counted(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.max_series = 3;
    options.sets = VAMP_SET_BASIC;
    struct collect run;
    collect_start(&run, &options);
    for (unsigned i = 0; i < 4; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%u", i);
        collect_feed(&run, event_join(i, i + 1, name));
    }
    for (unsigned i = 0; i < 10; i++) {
        collect_feed(&run, event_of(VAMP_EVENT_SUBSCRIBE, 10 + i, 1 + i % 4));
    }
    vamp_stats_finish(run.stats);
    const unsigned set = set_of(&run, VAMP_METRIC_POOL_OPERATIONS);
    assert_int_equal(run.buckets[0]->series_count[set], 3);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_POOL_OPERATIONS, "c0|join"), 1);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_POOL_OPERATIONS, "c1|join"), 1);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_POOL_OPERATIONS, "(other)|(other)"), 12);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW, ""), 12);
    collect_end(&run);
}

/* Two sources, each with ten sinks and sizes of twelve classes, in 64 series, 8 of which are kept
 * for values that give up labels. */
static void feed_transports(struct collect *run)
{
    collect_feed(run, event_join(1, 1, "a"));
    collect_feed(run, event_join(2, 2, "b"));
    for (uint64_t sink = 10; sink < 20; sink++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%u", (unsigned)sink);
        collect_feed(run, event_join(3, sink, name));
    }
    for (uint64_t number = 0; number < 480; number++) {
        const uint64_t source = 1 + number % 2, sink = 10 + number / 2 % 10;
        const int64_t time_ns = 1000 + (int64_t)number;
        const struct vamp_event begin = event_transport(VAMP_EVENT_TRANSPORT_INIT, time_ns,
                                                        number + 1, number + 1, sink, source);
        const struct vamp_event completed = event_transport(
            VAMP_EVENT_TRANSPORT_COMPLETED, time_ns + 500, number + 1, number + 1, sink, source);
        collect_feed(run, begin);
        collect_feed(run, event_with_size(completed, UINT64_C(256) << number / 20 % 12));
    }
    vamp_stats_finish(run->stats);
}

/* What the series of a set hold, by the number of their labels that were given up. */
static void sum_by_given_up(const struct collect *run, enum vamp_metric_id id, uint64_t *sums)
{
    const struct vamp_bucket *last = run->buckets[run->count - 1];
    const int metric = collect_metric(run, id);
    const unsigned set = last->schema->metrics[metric].label_set;
    for (unsigned i = 0; i < last->series_count[set]; i++) {
        unsigned given_up = 0;
        for (unsigned l = 0; l < last->schema->label_sets[set].label_count; l++) {
            given_up += strcmp(last->series[set][i]->labels[l], VAMP_SERIES_OTHER) == 0;
        }
        sums[given_up] += last->values[metric].counters[i].value;
    }
}

static void a_full_set_gives_up_labels_before_it_is_other(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.max_series = 64;
    struct collect run;
    collect_start(&run, &options);
    feed_transports(&run);
    uint64_t sums[VAMP_LABELS_MAX + 1] = {0};
    sum_by_given_up(&run, VAMP_METRIC_TRANSPORTS, sums);
    assert_true(sums[0] > 0);
    assert_true(sums[1] > 0);     /* without its size class */
    assert_true(sums[2] > 0);     /* nor its sink: still of its source */
    assert_int_equal(sums[5], 0); /* (other) */
    uint64_t all = 0;
    uint64_t steps = 0;
    for (unsigned i = 0; i <= VAMP_LABELS_MAX; i++) {
        all += sums[i];
        steps += i * sums[i];
    }
    assert_int_equal(all, 480);
    struct vamp_totals totals;
    vamp_stats_totals(run.stats, &totals);
    assert_int_equal(totals.series_overflow, 0);
    assert_true(totals.labels_given_up >= steps); /* other sets give up labels, too */
    collect_end(&run);
}

/* The counts and the times of transports give up the same labels. */
static void pairs_have_the_same_transports_in_every_metric(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.max_series = 64;
    struct collect run;
    collect_start(&run, &options);
    feed_transports(&run);
    const struct vamp_bucket *last = run.buckets[run.count - 1];
    const int moves = collect_metric(&run, VAMP_METRIC_TRANSPORTS);
    const int times = collect_metric(&run, VAMP_METRIC_TRANSPORT_NS);
    const unsigned set = set_of(&run, VAMP_METRIC_TRANSPORT_NS);
    const unsigned finer = set_of(&run, VAMP_METRIC_TRANSPORTS);
    assert_int_equal(run.count, 1);
    for (unsigned i = 0; i < last->values[times].count; i++) {
        const struct vamp_histogram_value *value = &last->values[times].histograms[i];
        uint64_t count = 0;
        for (unsigned s = 0; s < last->series_count[finer]; s++) {
            bool same = true;
            for (unsigned l = 0; l < 4; l++) {
                same = same && strcmp(last->series[finer][s]->labels[l],
                                      last->series[set][value->series]->labels[l]) == 0;
            }
            count += same ? last->values[moves].counters[s].delta : 0;
        }
        assert_int_equal(count, value->histogram->count);
    }
    collect_end(&run);
}

static void many_series_keep_their_numbers(void **state)
{
    (void)state;
    struct vamp_components *components = NULL;
    assert_int_equal(vamp_components_create(4096, &components, NULL), 0);
    struct vamp_series_table table;
    struct vamp_stats_options options = collect_options();
    options.max_series = 100000;
    assert_int_equal(vamp_series_init(&table, &options, components, NULL), 0);
    unsigned set = 99;
    const uint32_t bits =
        (1U << VAMP_LABEL_SOURCE) | (1U << VAMP_LABEL_SINK) | (1U << VAMP_LABEL_TIER);
    assert_int_equal(vamp_series_set(&table, bits, 4096, &set, NULL), 0);
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 50000; i++) {
            struct vamp_labels labels = {{0}};
            labels.value[VAMP_LABEL_SOURCE] = i / 100;
            labels.value[VAMP_LABEL_SINK] = i % 100 / 4;
            labels.value[VAMP_LABEL_TIER] = i % 4;
            assert_int_equal(vamp_series_number(&table, &table.sets[set], &labels), i + 1);
        }
    }
    assert_int_equal(table.overflow, 0);
    vamp_series_done(&table);
    vamp_components_free(components);
}

static void size_classes_are_doublings(void **state)
{
    (void)state;
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, 0)), "[0,256)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, 255)), "[0,256)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, 256)), "[256,512)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, 1023)), "[512,1KiB)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, 1024)), "[1KiB,2KiB)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, (1U << 30) - 1)),
                        "[512MiB,1GiB)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, 1U << 30)), "[1GiB,inf)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(true, UINT64_MAX)), "[1GiB,inf)");
    assert_string_equal(vamp_size_class_name(vamp_size_class(false, 5)), "unknown");
}

static void bad_options_are_refused_with_words(void **state)
{
    (void)state;
    struct vamp_components *components = NULL;
    assert_int_equal(vamp_components_create(8, &components, NULL), 0);
    const struct vamp_stats_options good = collect_options();
    struct vamp_stats_options bad[8] = {good, good, good, good, good, good, good, good};
    bad[0].bucket_ns = 0;
    bad[1].sub_bits = 5;
    bad[2].max_series = 1;
    bad[3].lateness_ns = 1000 * SECOND;
    bad[4].max_cdos = 0;
    bad[5].level = VAMP_LEVEL_CDO + 1;
    bad[6].max_components = UINT64_MAX;
    bad[7].max_pending = UINT64_MAX;
    for (unsigned i = 0; i < 8; i++) {
        struct vamp_stats *stats = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(vamp_stats_create(&bad[i], COLLECT_RUN_ID, components, collect_emit, NULL,
                                           &stats, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "allowed"));
        assert_null(stats);
    }
    struct vamp_stats *stats = NULL;
    assert_int_equal(
        vamp_stats_create(&good, "no uuid", components, collect_emit, NULL, &stats, NULL), -EINVAL);
    vamp_stats_free(NULL);
    vamp_components_free(components);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(label_sets_come_in_order_of_first_use),
        cmocka_unit_test(workflow_level_drops_who),
        cmocka_unit_test(sets_choose_the_metrics),
        cmocka_unit_test(components_of_one_name_share_a_series),
        cmocka_unit_test(what_does_not_fit_is_other_and_counted),
        cmocka_unit_test(a_full_set_gives_up_labels_before_it_is_other),
        cmocka_unit_test(pairs_have_the_same_transports_in_every_metric),
        cmocka_unit_test(many_series_keep_their_numbers),
        cmocka_unit_test(size_classes_are_doublings),
        cmocka_unit_test(bad_options_are_refused_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
