/* SPDX-License-Identifier: BSD-3-Clause */
/* What every statistic of the table must do, whichever it is. */
#include "tests/unit/stats_collect.h"

#include "vampire/stats/metrics/statistic.h"

#define MS INT64_C(1000000)

/* Every kind of event in both phases, and every anomaly. */
static void feed_everything(struct collect *run)
{
    collect_feed(run, event_join(1 * MS, 1, "IFS -- 0"));
    collect_feed(run, event_join(2 * MS, 2, "Products 1"));
    for (uint64_t cdo = 1; cdo <= 8; cdo++) {
        const int64_t at = (int64_t)cdo * 100 * MS;
        collect_feed(run, event_cdo(VAMP_EVENT_DECLARE, at, 1, cdo));
        collect_feed(run, event_with_size(event_cdo(VAMP_EVENT_SEAL, at + 1, 1, cdo), 700 * cdo));
        collect_feed(run, event_cdo(VAMP_EVENT_OFFER, at + (cdo == 3 ? -1 : 2), 1, cdo));
        collect_feed(run, event_cdo(VAMP_EVENT_DECLARE, at + 3, 2, cdo));
        collect_feed(run, event_cdo(VAMP_EVENT_REQUIRE, at + 4, 2, cdo));
        collect_feed(run, event_before(event_cdo(VAMP_EVENT_DEMAND, at + 5, 2, cdo)));
        collect_feed(run, event_cdo(VAMP_EVENT_DEMAND, at + 6, 2, cdo));
        struct vamp_event transport =
            event_transport(VAMP_EVENT_TRANSPORT_INIT, at + 7, cdo, cdo, 2, 1);
        transport = event_with_tier(transport, (enum vamp_tier)(cdo % VAMP_TIER_COUNT));
        collect_feed(run, transport);
        transport.kind = cdo == 4 ? VAMP_EVENT_TRANSPORT_FAILED : VAMP_EVENT_TRANSPORT_COMPLETED;
        transport.time_ns += 5 * MS;
        if (cdo != 5) {
            collect_feed(run, transport);
        }
        if (cdo < 5) {
            collect_feed(run, event_before(event_cdo(VAMP_EVENT_WITHDRAW, at + 6 * MS, 1, cdo)));
            collect_feed(run, event_cdo(VAMP_EVENT_WITHDRAW, at + 7 * MS, 1, cdo));
            collect_feed(run, event_cdo(VAMP_EVENT_DISPOSE, at + 8 * MS, 2, cdo));
            collect_feed(run, event_cdo(VAMP_EVENT_DISPOSE, at + 9 * MS, 1, cdo));
        }
    }
    collect_feed(run, event_cdo(VAMP_EVENT_DEMAND, 950 * MS, 2, 77));
    collect_feed(run, event_cdo(VAMP_EVENT_RETRACT, 951 * MS, 2, 77));
    collect_feed(run, event_of(VAMP_EVENT_SUBSCRIBE, 952 * MS, 2));
    collect_feed(run, event_of(VAMP_EVENT_UNSUBSCRIBE, 953 * MS, 2));
    collect_feed(run, event_before(event_of(VAMP_EVENT_LEAVE, 960 * MS, 2)));
    collect_feed(run, event_leave(961 * MS, 2, VAMP_LEAVE_FINALIZED));
}

static void feed_gone(struct collect *run)
{
    collect_feed(run, (struct vamp_event){.kind = VAMP_EVENT_GONE, .time_ns = 980 * MS});
    vamp_components_gone(run->components, 980 * MS);
    collect_feed(run, (struct vamp_event){.kind = VAMP_EVENT_UNWATCHED, .time_ns = 990 * MS});
}

static bool is_metric_of(const struct vamp_statistic_ops *ops, unsigned id)
{
    for (const enum vamp_metric_id *at = ops->metrics; *at != VAMP_METRIC_NONE; at++) {
        if (*at == id) {
            return true;
        }
    }
    return false;
}

/* Returns whether no statistic counts events for the metric: it is about vampire or collected
 * buckets, it is computed at the end of a bucket, or metrics/blocked.c counts it. */
static bool has_no_statistic(unsigned id)
{
    return vamp_metric_is_blocked_time((enum vamp_metric_id)id) ||
           (vamp_metrics[id].sets & (VAMP_SET_SELF | VAMP_SET_IN_FLIGHT | VAMP_SET_COLLECT)) != 0 ||
           id == VAMP_METRIC_OWN_ROUNDTRIP_NS || id == VAMP_METRIC_VAMPIRE_METRIC_FILTERED ||
           id == VAMP_METRIC_VAMPIRE_NOT_IN_OUTPUT || id == VAMP_METRIC_VAMPIRE_NO_ROOM ||
           vamp_metric_plain((enum vamp_metric_id)id) != VAMP_METRIC_NONE;
}

static void each_metric_is_filled_by_one_statistic(void **state)
{
    (void)state;
    unsigned count = 0;
    for (; count < VAMP_STATISTIC_COUNT; count++) {
        const struct vamp_statistic_ops *ops = &vamp_statistics[count];
        assert_non_null(ops->on_event);
        assert_true((ops->after | ops->before) != 0);
        assert_true(ops->metrics[0] != VAMP_METRIC_NONE);
        for (unsigned i = 0; i < count; i++) {
            assert_string_not_equal(vamp_statistics[i].name, ops->name);
        }
    }
    assert_int_equal(count, VAMP_STATISTIC_COUNT);
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        unsigned owners = 0;
        for (unsigned i = 0; i < count; i++) {
            owners += is_metric_of(&vamp_statistics[i], id);
        }
        assert_int_equal(owners, has_no_statistic(id) ? 0 : 1);
    }
}

/* A series' values in one bucket as one number; 0 for a series in which nothing was counted. */
static uint64_t content_of_series(const struct collect *run, size_t bucket, int metric, unsigned at)
{
    const struct vamp_bucket *from = run->buckets[bucket];
    const struct vamp_metric_values *values = &from->values[metric];
    const struct vamp_schema_metric *which = &from->schema->metrics[metric];
    unsigned series = at;
    uint64_t numbers[2] = {0, 0};
    switch (vamp_metrics[which->id].kind) {
    case VAMP_COUNTER:
        numbers[0] = values->counters[at].value;
        break;
    case VAMP_GAUGE:
        numbers[0] = (uint64_t)values->gauges[at].value;
        numbers[1] = (uint64_t)(values->gauges[at].max - values->gauges[at].min);
        break;
    case VAMP_HISTOGRAM:
        series = values->histograms[at].series;
        numbers[0] = values->histograms[at].histogram->sum;
        numbers[1] = values->histograms[at].histogram->count;
        break;
    }
    if (numbers[0] == 0 && numbers[1] == 0) {
        return 0;
    }
    char text[512];
    collect_series_text(from, which->label_set, series, text, sizeof text);
    uint64_t hash = bucket + 1;
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    }
    return ((hash ^ numbers[0]) * UINT64_C(0x9E3779B97F4A7C15)) ^ numbers[1];
}

/* What a run counted under one metric as one number, in whichever order its series came. */
static uint64_t content_of(const struct collect *run, unsigned id)
{
    const int metric = collect_metric(run, (enum vamp_metric_id)id);
    uint64_t sum = 0;
    for (size_t b = 0; metric >= 0 && b < run->count; b++) {
        for (unsigned i = 0; i < run->buckets[b]->values[metric].count; i++) {
            sum += content_of_series(run, b, metric, i);
        }
    }
    return sum;
}

struct contents {
    uint64_t of[VAMP_METRICS_MAX];
};

static struct contents contents_of(const struct vamp_stats_options *options,
                                   vamp_exclude_fn *exclude, void *context, bool gone)
{
    struct collect run;
    struct contents contents;
    collect_start(&run, options);
    vamp_stats_exclude(run.stats, exclude, context);
    feed_everything(&run);
    if (gone) {
        feed_gone(&run);
    }
    vamp_stats_finish(run.stats);
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        contents.of[id] = content_of(&run, id);
    }
    collect_end(&run);
    return contents;
}

static struct vamp_stats_options only(const struct vamp_statistic_ops *ops)
{
    struct vamp_stats_options options = collect_options();
    options.sets = 0;
    for (const enum vamp_metric_id *id = ops->metrics; *id != VAMP_METRIC_NONE; id++) {
        options.metrics_on[*id] = true;
    }
    return options;
}

static void each_statistic_counts_the_same_alone(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.metrics_on[VAMP_METRIC_VAMPIRE_SAMPLE_GROUP] = true;
    const struct contents all = contents_of(&options, NULL, NULL, true);
    for (unsigned i = 0; i < VAMP_STATISTIC_COUNT; i++) {
        const struct vamp_stats_options alone = only(&vamp_statistics[i]);
        const struct contents one = contents_of(&alone, NULL, NULL, true);
        for (unsigned id = 0; id < vamp_metric_count(); id++) {
            if (is_metric_of(&vamp_statistics[i], id)) {
                assert_int_equal(one.of[id], all.of[id]);
                assert_int_not_equal(one.of[id], 0);
            }
        }
    }
}

static void turn_away(void *context, const struct vamp_event *event,
                      bool excluded[static VAMP_METRICS_MAX])
{
    (void)event;
    const struct vamp_statistic_ops *ops = context;
    for (const enum vamp_metric_id *id = ops->metrics; *id != VAMP_METRIC_NONE; id++) {
        excluded[*id] = true;
    }
}

static void what_a_metrics_filter_turns_away_counts_nowhere(void **state)
{
    (void)state;
    const struct vamp_stats_options options = collect_options();
    const struct contents all = contents_of(&options, NULL, NULL, true);
    for (unsigned i = 0; i < VAMP_STATISTIC_COUNT; i++) {
        void *ops = (void *)(uintptr_t)&vamp_statistics[i];
        const struct contents rest = contents_of(&options, turn_away, ops, true);
        for (unsigned id = 0; id < vamp_metric_count(); id++) {
            const bool away = is_metric_of(&vamp_statistics[i], id);
            assert_int_equal(rest.of[id], away ? 0 : all.of[id]);
        }
    }
}

/* Without on_gone nothing changes when the pool is gone, and with it something does. */
static void the_table_says_what_a_pool_that_is_gone_concerns(void **state)
{
    (void)state;
    const struct vamp_stats_options options = collect_options();
    const struct contents stays = contents_of(&options, NULL, NULL, false);
    const struct contents gone = contents_of(&options, NULL, NULL, true);
    for (unsigned i = 0; i < VAMP_STATISTIC_COUNT; i++) {
        bool differs = false;
        for (unsigned id = 0; id < vamp_metric_count(); id++) {
            differs =
                differs || (is_metric_of(&vamp_statistics[i], id) && stays.of[id] != gone.of[id]);
        }
        if (vamp_statistics[i].on_gone == NULL) {
            assert_false(differs);
        } else if (strcmp(vamp_statistics[i].name, "created") != 0) {
            assert_true(differs); /* a CDO without a size counts at the end of the run, too */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_metric_is_filled_by_one_statistic),
        cmocka_unit_test(each_statistic_counts_the_same_alone),
        cmocka_unit_test(what_a_metrics_filter_turns_away_counts_nowhere),
        cmocka_unit_test(the_table_says_what_a_pool_that_is_gone_concerns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
