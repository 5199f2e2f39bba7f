/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of several runs, as the format `nats` makes them, become collected buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/appended_metrics.h"
#include "tests/unit/collect_scene.h"
#include "vampire/core/utf8.h"

/* ---- values */

/* Where the series of a run's metric is after collecting. */
static unsigned collected_series(const struct made_run *made, unsigned metric, unsigned series,
                                 const struct vamp_bucket *bucket)
{
    const struct vamp_label_set *own = &made->sets[made->metrics[metric].label_set];
    const char *labels[VAMP_LABELS_MAX] = {NULL};
    char clean[VAMP_LABELS_MAX][64]; /* texts are UTF-8 in messages */
    for (unsigned l = 0; l < own->label_count; l++) {
        const char *label = made->series[made->metrics[metric].label_set][series].labels[l];
        (void)vamp_utf8_copy(clean[l], sizeof clean[l] - 1, label);
        labels[l] = clean[l];
    }
    labels[own->label_count] = made->run.workflow;
    labels[own->label_count + 1] = made->run.id;
    return find_series(bucket, bucket->schema->metrics[made->metrics[metric].id].label_set, labels);
}

/* What one run contributes to a metric's series: an own, slow computation of the rules. */
struct expected {
    uint64_t delta, count, sum, min, max, bins[VAMP_BINS_MAX];
    struct vamp_gauge_value gauge;
    bool has_gauge;
};

static void expect_gauge(struct expected *expected, const struct vamp_gauge_value *at_time)
{
    if (!expected->has_gauge) {
        expected->gauge = *at_time;
    }
    expected->gauge.value = at_time->value;
    expected->gauge.min = at_time->min < expected->gauge.min ? at_time->min : expected->gauge.min;
    expected->gauge.max = at_time->max > expected->gauge.max ? at_time->max : expected->gauge.max;
    expected->has_gauge = true;
}

static void expect_histogram(struct expected *expected, const struct vamp_bucket_histogram *added)
{
    expected->min = expected->count == 0 || added->min < expected->min ? added->min : expected->min;
    expected->max = added->max > expected->max ? added->max : expected->max;
    expected->count += added->count;
    expected->sum += added->sum;
    for (unsigned b = 0; b < added->bin_count; b++) {
        expected->bins[added->bins[b].bin] += added->bins[b].count;
    }
}

/* Adds what a bucket has in all series that lead to `target`. */
static void expect_bucket(struct expected *expected, const struct made_run *made, unsigned metric,
                          const struct vamp_bucket *bucket, const struct vamp_bucket *collected,
                          unsigned target)
{
    const struct vamp_metric *about = &vamp_metrics[made->metrics[metric].id];
    const struct vamp_metric_values *values = &bucket->values[metric];
    struct vamp_gauge_value at_time = {0, 0, 0};
    bool has = false;
    for (unsigned i = 0; i < values->count; i++) {
        const unsigned series = about->kind == VAMP_HISTOGRAM ? values->histograms[i].series : i;
        if (collected_series(made, metric, series, collected) != target) {
            continue;
        }
        if (about->kind == VAMP_COUNTER) {
            expected->delta += values->counters[i].delta;
        } else if (about->kind == VAMP_HISTOGRAM) {
            expect_histogram(expected, values->histograms[i].histogram);
        } else if (!has) {
            at_time = values->gauges[i];
            has = true;
        } else if (about->merge == VAMP_MERGE_SUM) {
            at_time.value += values->gauges[i].value;
            at_time.min += values->gauges[i].min;
            at_time.max += values->gauges[i].max;
        } else {
            at_time.value =
                at_time.value > values->gauges[i].value ? at_time.value : values->gauges[i].value;
            at_time.min = at_time.min < values->gauges[i].min ? at_time.min : values->gauges[i].min;
            at_time.max = at_time.max > values->gauges[i].max ? at_time.max : values->gauges[i].max;
        }
    }
    if (has) {
        expect_gauge(expected, &at_time);
    }
}

static void assert_histogram(const struct expected *expected,
                             const struct vamp_metric_values *values, unsigned series)
{
    const struct vamp_bucket_histogram *found = NULL;
    for (unsigned i = 0; i < values->count; i++) {
        found = values->histograms[i].series == series ? values->histograms[i].histogram : found;
    }
    assert_int_equal(found != NULL, expected->count > 0);
    if (found != NULL) {
        assert_int_equal(found->count, expected->count);
        assert_int_equal(found->sum, expected->sum);
        assert_int_equal(found->min, expected->min);
        assert_int_equal(found->max, expected->max);
        for (unsigned b = 0; b < found->bin_count; b++) {
            assert_int_equal(found->bins[b].count, expected->bins[found->bins[b].bin]);
        }
    }
}

/* All values of a run's metric, from `count` buckets up to number `last`. */
static void assert_metric(const struct made_run *made, unsigned metric,
                          const struct vamp_bucket *const *buckets, unsigned count, unsigned last,
                          const struct vamp_bucket *collected)
{
    const enum vamp_metric_id id = made->metrics[metric].id;
    const unsigned set = made->metrics[metric].label_set;
    for (unsigned s = 0; s < made_series_count(made, set, last); s++) {
        const unsigned target = collected_series(made, metric, s, collected);
        struct expected expected = {0};
        for (unsigned i = 0; i < count && buckets[i] != NULL; i++) {
            expect_bucket(&expected, made, metric, buckets[i], collected, target);
        }
        if (target == UINT32_MAX) { /* it had no value in any of them */
            assert_int_equal(expected.delta, 0);
            continue;
        }
        const struct vamp_metric_values *values = &collected->values[id];
        switch (vamp_metrics[id].kind) {
        case VAMP_COUNTER:
            assert_int_equal(values->counters[target].delta, expected.delta);
            break;
        case VAMP_GAUGE:
            if (vamp_metrics[id].merge != VAMP_MERGE_MEAN) {
                assert_int_equal(values->gauges[target].value, expected.gauge.value);
                assert_int_equal(values->gauges[target].min, expected.gauge.min);
                assert_int_equal(values->gauges[target].max, expected.gauge.max);
            }
            break;
        case VAMP_HISTOGRAM:
            assert_histogram(&expected, values, target);
            break;
        }
    }
}

static void assert_run(const struct made_run *made, unsigned first, unsigned last,
                       const struct vamp_bucket *collected)
{
    const struct vamp_bucket *buckets[10] = {NULL};
    assert_true(last - first < 10);
    for (unsigned i = first; i <= last; i++) {
        buckets[i - first] = made_bucket(made, i, NULL);
    }
    for (unsigned metric = 0; metric < made->schema.metric_count; metric++) {
        assert_metric(made, metric, buckets, last - first + 1, last, collected);
    }
    for (unsigned i = first; i <= last; i++) {
        vamp_bucket_release(buckets[i - first]);
    }
}

/* ---- tests */

static void test_runs_add_by_the_rules(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *runs[3];
    struct messages all = {.count = 0};
    begin(&scene);
    for (unsigned r = 0; r < 3; r++) {
        runs[r] = make_run(r, 12 + r);
        for (unsigned n = 0; n < 20; n++) {
            add_bucket(&all, runs[r], n);
        }
    }
    give(&scene, &all, SECOND(19));
    vamp_collect_advance(scene.collect, SECOND(20) + DELAY_NS);
    assert_int_equal(all_refused(&scene), 0);
    assert_int_equal(scene.taken.count, 2);
    for (unsigned r = 0; r < 3; r++) {
        for (unsigned k = 0; k < 2; k++) {
            const struct vamp_bucket *bucket = scene.taken.buckets[k];
            assert_int_equal(bucket->number, k);
            assert_int_equal(bucket->start_ns, SECOND(10 * k));
            assert_int_equal(bucket->width_ns, WIDTH_NS);
            assert_run(runs[r], 10 * k, 10 * k + 9, bucket);
            assert_int_equal(gauge_of_run(bucket, VAMP_METRIC_COLLECT_RUNS_REPORTING, runs[r]), 1);
            assert_int_equal(gauge_of_run(bucket, VAMP_METRIC_COLLECT_RUNS_MISSING, runs[r]), 0);
            assert_int_equal(bucket->gap_count, 3);
            assert_int_equal(bucket->accounting.received, 3 * (10 * (10 * k + 9) + 3));
        }
        made_run_free(runs[r]);
    }
    assert_int_equal(vamp_collect_counts(scene.collect)->buckets, 60);
    assert_int_equal(vamp_collect_counts(scene.collect)->waiting_bytes, 0);
    free_messages(&all);
    end(&scene);
}

static void shuffle(struct messages *all, unsigned seed)
{
    for (unsigned i = all->count; i-- > 1;) {
        seed = seed * 1103515245U + 12345U;
        const unsigned k = (seed >> 8) % (i + 1);
        char *const data = all->data[i];
        const size_t bytes = all->bytes[i];
        all->data[i] = all->data[k];
        all->bytes[i] = all->bytes[k];
        all->data[k] = data;
        all->bytes[k] = bytes;
    }
}

/* In any order, and however often: the same buckets. Large enough for several messages each, and
 * for a bound that some series reach. */
static void test_order_and_repetition_change_nothing(void **state)
{
    (void)state;
    struct messages all = {.count = 0};
    struct vamp_collect_options options = common_options();
    options.max_series = 300;
    for (unsigned r = 0; r < 3; r++) {
        struct made_run *made = make_run(r, r == 0 ? 1500 : 40);
        for (unsigned n = 0; n < 6; n++) {
            add_bucket(&all, made, n);
        }
        made_run_free(made);
    }
    uint64_t first = 0;
    for (unsigned round = 0; round < 3; round++) {
        struct scene scene;
        begin_with(&scene, &options);
        give(&scene, &all, SECOND(6));
        if (round > 0) {
            shuffle(&all, round);
            give(&scene, &all, SECOND(6));
        }
        vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);
        assert_int_equal(scene.taken.count, 1);
        assert_int_equal(vamp_collect_counts(scene.collect)->buckets, 18);
        assert_int_equal(vamp_collect_counts(scene.collect)->repeated, round > 0 ? all.count : 0);
        assert_int_equal(all_refused(&scene), refused(&scene, VAMP_REFUSAL_SERIES));
        first = round == 0 ? digest(scene.taken.buckets[0]) : first;
        assert_int_equal(digest(scene.taken.buckets[0]), first);
        give(&scene, &all, SECOND(12)); /* still known after the close */
        assert_int_equal(refused(&scene, VAMP_REFUSAL_LATE), 0);
        end(&scene);
    }
    free_messages(&all);
}

static void test_missing_runs_and_ended_ones(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *one = make_run(1, 5), *other = make_run(2, 5);
    struct messages all = {.count = 0};
    begin(&scene);
    add_bucket(&all, one, 0);
    add_bucket(&all, one, 12);
    add_bucket(&all, other, 1);
    add_ending(&all, one);
    give(&scene, &all, SECOND(13));
    vamp_collect_advance(scene.collect, SECOND(30) + DELAY_NS);
    assert_int_equal(scene.taken.count, 3);
    const struct vamp_bucket *const *buckets = scene.taken.buckets;
    assert_int_equal(gauge_of_run(buckets[0], VAMP_METRIC_COLLECT_RUNS_REPORTING, one), 1);
    assert_int_equal(gauge_of_run(buckets[1], VAMP_METRIC_COLLECT_RUNS_REPORTING, one), 1);
    assert_int_equal(gauge_of_run(buckets[1], VAMP_METRIC_COLLECT_RUNS_REPORTING, other), 0);
    assert_int_equal(gauge_of_run(buckets[1], VAMP_METRIC_COLLECT_RUNS_MISSING, other), 1);
    assert_int_equal(gauge_of_run(buckets[2], VAMP_METRIC_COLLECT_RUNS_MISSING, one), 0);
    assert_int_equal(gauge_of_run(buckets[2], VAMP_METRIC_COLLECT_RUNS_MISSING, other), 1);
    /* Its buckets 1 to 11 did not come. */
    assert_int_equal(buckets[1]->gap_count, 1);
    assert_string_equal(vamp_gap_reason_name(buckets[1]->gaps[0].reason), "buckets_missing");
    assert_int_equal(buckets[1]->gaps[0].start_ns, SECOND(1));
    assert_int_equal(buckets[1]->gaps[0].end_ns, SECOND(12));
    /* The account of a run that ended stays in the sum. */
    assert_int_equal(vamp_collect_counts(scene.collect)->runs_known, 1);
    assert_int_equal(buckets[2]->accounting.received, (10 * 12 + 3) + (10 * 1 + 3));
    free_messages(&all);
    made_run_free(one);
    made_run_free(other);
    end(&scene);
}

/* Silence is an end until it is heard again; its account counts once. */
static void test_a_silent_run_that_comes_back(void **state)
{
    (void)state;
    struct scene scene;
    struct vamp_collect_options options = common_options();
    struct made_run *made = make_run(1, 5), *other = make_run(2, 5);
    struct messages all = {.count = 0};
    options.forget_ns = 3 * WIDTH_NS;
    options.max_runs = 1;
    begin_with(&scene, &options);
    add_bucket(&all, made, 0);
    give(&scene, &all, SECOND(1));
    vamp_collect_advance(scene.collect, SECOND(20) + DELAY_NS);
    vamp_collect_advance(scene.collect, SECOND(40) + DELAY_NS);
    assert_int_equal(vamp_collect_counts(scene.collect)->runs_ended, 1);
    assert_int_equal(gauge_of_run(scene.taken.buckets[1], VAMP_METRIC_COLLECT_RUNS_MISSING, made),
                     1);
    free_messages(&all);
    add_bucket(&all, made, 45);
    give(&scene, &all, SECOND(46));
    assert_int_equal(vamp_collect_counts(scene.collect)->runs_live, 1);
    vamp_collect_advance(scene.collect, SECOND(90) + DELAY_NS);
    assert_int_equal(scene.taken.buckets[4]->accounting.received, 10 * 45 + 3);
    assert_int_equal(gauge_of_run(scene.taken.buckets[4], VAMP_METRIC_COLLECT_RUNS_REPORTING, made),
                     1);
    free_messages(&all);
    add_bucket(&all, other, 91); /* takes the place of the silent one */
    give(&scene, &all, SECOND(92));
    assert_int_equal(all_refused(&scene), 0);
    assert_int_equal(vamp_collect_counts(scene.collect)->runs_known, 1);
    vamp_collect_advance(scene.collect, SECOND(100) + DELAY_NS);
    assert_int_equal(scene.taken.buckets[9]->accounting.received, (10 * 45 + 3) + (10 * 91 + 3));
    free_messages(&all);
    made_run_free(made);
    made_run_free(other);
    end(&scene);
}

/* A message has no value for an age that is none: neither has the collected bucket from then on,
 * with what the age was before as its extremes. Other gauges keep their values. */
static void test_an_age_that_ended_is_none(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *made = make_run(1, 5);
    struct messages all = {.count = 0};
    unsigned ages = 0;
    begin(&scene);
    add_bucket(&all, made, 1);
    const struct vamp_bucket *bucket = made_bucket(made, 2, NULL);
    for (unsigned m = 0; m < made->schema.metric_count; m++) {
        if (vamp_metric_may_be_none(&vamp_metrics[made->metrics[m].id])) {
            for (unsigned s = 0; s < bucket->values[m].count; s++) {
                struct vamp_gauge_value *gauges =
                    (struct vamp_gauge_value *)(uintptr_t)bucket->values[m].gauges;
                gauges[s] =
                    (struct vamp_gauge_value){VAMP_GAUGE_NONE, VAMP_GAUGE_NONE, VAMP_GAUGE_NONE};
            }
        }
    }
    add_delivery(&all, &made->run, bucket, 0);
    vamp_bucket_release(bucket);
    give(&scene, &all, SECOND(3));
    vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);
    const struct vamp_bucket *collected = scene.taken.buckets[0];
    for (unsigned m = 0; m < made->schema.metric_count; m++) {
        const enum vamp_metric_id id = made->metrics[m].id;
        const unsigned set = made->metrics[m].label_set;
        for (unsigned s = 1;
             vamp_metrics[id].kind == VAMP_GAUGE && s < made_series_count(made, set, 1); s++) {
            const struct vamp_gauge_value *gauge =
                &collected->values[id].gauges[collected_series(made, m, s, collected)];
            const bool is_age = vamp_metric_may_be_none(&vamp_metrics[id]);
            ages += is_age;
            assert_int_equal(gauge->value == VAMP_GAUGE_NONE, is_age);
            assert_int_not_equal(gauge->max, VAMP_GAUGE_NONE);
        }
    }
    assert_true(ages >= 4);
    free_messages(&all);
    made_run_free(made);
    end(&scene);
}

/* Sent, collected, and in the answer to a request. */
static void test_appended_metrics_are_collected(void **state)
{
    (void)state;
    static const char request[] = "model_* disk_*";
    struct scene scene;
    struct made_run *made = make_run(1, 5);
    struct messages all = {.count = 0};
    begin(&scene);
    add_bucket(&all, made, 1);
    give(&scene, &all, SECOND(1));
    vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);
    assert_int_equal(all_refused(&scene), 0);
    char *answer = vamp_collect_present(scene.collect, request, sizeof request - 1);
    assert_non_null(answer);
    for (unsigned i = 0; i < APPENDED_COUNT; i++) {
        char part[64];
        (void)snprintf(part, sizeof part, "{\"metric\":\"%s\"", appended_metrics[i].name);
        if (strstr(answer, part) == NULL) {
            fail_msg("%s is not in %s", part, answer);
        }
    }
    free(answer);
    free_messages(&all);
    made_run_free(made);
    end(&scene);
}

/* What one of the runs does not know is not known of all of them. */
static void test_what_a_run_does_not_know_is_handed_on(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *one = make_run(1, 5), *other = make_run(2, 5);
    struct messages all = {.count = 0};
    const struct vamp_coverage coverage = {.unknown = VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES),
                                           .learned = VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SERIALS)};
    begin(&scene);
    add_bucket(&all, other, 1);
    give(&scene, &all, SECOND(1));
    vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);
    const struct vamp_coverage *collected = vamp_collect_schema(scene.collect)->coverage;
    assert_int_equal(vamp_coverage_unknown(collected), 0);
    assert_true(vamp_coverage_sees_losses(collected, VAMP_LOSS_POOL_MANAGER));
    one->schema.coverage = &coverage;
    free_messages(&all);
    add_bucket(&all, one, 11);
    give(&scene, &all, SECOND(11));
    vamp_collect_advance(scene.collect, SECOND(20) + DELAY_NS);
    assert_int_equal(vamp_coverage_unknown(collected), coverage.unknown | coverage.learned);
    assert_false(vamp_coverage_sees_losses(collected, VAMP_LOSS_POOL_MANAGER));
    free_messages(&all);
    made_run_free(one);
    made_run_free(other);
    end(&scene);
}

int main(void)
{
    (void)append_metrics();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_add_by_the_rules),
        cmocka_unit_test(test_order_and_repetition_change_nothing),
        cmocka_unit_test(test_missing_runs_and_ended_ones),
        cmocka_unit_test(test_a_silent_run_that_comes_back),
        cmocka_unit_test(test_an_age_that_ended_is_none),
        cmocka_unit_test(test_appended_metrics_are_collected),
        cmocka_unit_test(test_what_a_run_does_not_know_is_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
