/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests of a bucket: bounded, decodable, each point in one of them, and what runs out of
 * memory. Sums and histograms are compared with files in e2e/test_otlp.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "otlp.pb-c.h"
#include "tests/lib/fault.h"
#include "tests/unit/appended_metrics.h"
#include "tests/unit/writers_buckets.h"
#include "vampire/core/utf8.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/otlp/points.h"

/* What a request may have at most, and the longest point. */
#define REQUEST_BYTES_MAX (((size_t)4 << 20) + 65536)

typedef Vampire__Otlp__ExportMetricsServiceRequest request_of_otlp;

struct bench {
    struct made_run *made;
    struct otlp_points *points;
    struct vamp_text text;
    unsigned requests, points_seen, births; /* of the newest bucket */
    uint64_t operations;
    double largest_sum; /* of a histogram */
    size_t bytes;       /* of the newest request */
};

static void setup(struct bench *bench, unsigned series, unsigned histograms)
{
    const struct otlp_options options = {.labels = 1, .histograms = histograms};
    struct vamp_err err = VAMP_ERR_NONE;
    *bench = (struct bench){.made = made_run_create(UINT64_MAX, series, series, 0)};
    const struct vamp_writer_target target = {
        .run = &bench->made->run, .schema = &bench->made->schema, .name = "otlp", .segment = 1};
    assert_int_equal(otlp_points_create(&options, &target, &bench->points, &err), 0);
}

static void teardown(struct bench *bench)
{
    otlp_points_free(bench->points);
    vamp_text_done(&bench->text);
    made_run_free(bench->made);
}

static void look_at_attributes(Vampire__Otlp__KeyValue *const *attributes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(vamp_utf8_is_valid(attributes[i]->value->string_value));
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(attributes[k]->key, attributes[i]->key);
        }
    }
}

static void look_at_numbers(struct bench *bench, const char *name,
                            Vampire__Otlp__NumberDataPoint *const *points, size_t count, bool sum)
{
    for (size_t i = 0; i < count; i++) {
        look_at_attributes(points[i]->attributes, points[i]->n_attributes);
        const bool born = sum && points[i]->as_int == 0 && points[i]->as_double <= 0;
        bench->births += born;
        bench->points_seen += !born;
        if (strcmp(name, "vampire_pool_operations_total") == 0) {
            bench->operations += (uint64_t)points[i]->as_int;
        }
    }
}

static void look_at_metric(struct bench *bench, const Vampire__Otlp__Metric *metric)
{
    switch (metric->data_case) {
    case VAMPIRE__OTLP__METRIC__DATA_GAUGE:
        look_at_numbers(bench, metric->name, metric->gauge->data_points,
                        metric->gauge->n_data_points, false);
        break;
    case VAMPIRE__OTLP__METRIC__DATA_SUM:
        look_at_numbers(bench, metric->name, metric->sum->data_points, metric->sum->n_data_points,
                        true);
        break;
    case VAMPIRE__OTLP__METRIC__DATA_HISTOGRAM:
        for (size_t i = 0; i < metric->histogram->n_data_points; i++) {
            const Vampire__Otlp__HistogramDataPoint *point = metric->histogram->data_points[i];
            bench->largest_sum = fmax(bench->largest_sum, point->sum);
            look_at_attributes(point->attributes, point->n_attributes);
            bench->births += point->count == 0;
            bench->points_seen += point->count > 0;
        }
        break;
    case VAMPIRE__OTLP__METRIC__DATA_EXPONENTIAL_HISTOGRAM:
        for (size_t i = 0; i < metric->exponential_histogram->n_data_points; i++) {
            const Vampire__Otlp__ExponentialHistogramDataPoint *point =
                metric->exponential_histogram->data_points[i];
            look_at_attributes(point->attributes, point->n_attributes);
            bench->births += point->count == 0;
            bench->points_seen += point->count > 0;
        }
        break;
    case VAMPIRE__OTLP__METRIC__DATA__NOT_SET:
    case _VAMPIRE__OTLP__METRIC__DATA__CASE_IS_INT_SIZE:
        fail_msg("a metric without points");
    }
}

static void look_at_request(struct bench *bench)
{
    assert_in_range(bench->text.used, 1, REQUEST_BYTES_MAX);
    request_of_otlp *request = vampire__otlp__export_metrics_service_request__unpack(
        NULL, bench->text.used, (const uint8_t *)bench->text.bytes);
    assert_non_null(request);
    assert_int_equal(request->n_resource_metrics, 1);
    assert_int_equal(request->resource_metrics[0]->n_scope_metrics, 1);
    const Vampire__Otlp__ScopeMetrics *scope = request->resource_metrics[0]->scope_metrics[0];
    for (size_t i = 0; i < scope->n_metrics; i++) {
        look_at_metric(bench, scope->metrics[i]);
    }
    vampire__otlp__export_metrics_service_request__free_unpacked(request, NULL);
    bench->requests++;
    bench->bytes = bench->text.used;
}

/* Requests from `refused` on are not taken; UINT_MAX: all are. */
static void send(struct bench *bench, const struct vamp_bucket *bucket, unsigned refused)
{
    struct vamp_err err = VAMP_ERR_NONE;
    bench->requests = bench->points_seen = bench->births = 0;
    bench->operations = 0;
    assert_int_equal(
        otlp_points_add(bench->points, &(struct vamp_delivery){.bucket = bucket}, &err), 0);
    while (bench->requests <= refused && otlp_points_next(bench->points, &bench->text)) {
        assert_false(bench->text.failed);
        look_at_request(bench);
    }
    otlp_points_end(bench->points, bench->requests <= refused);
}

static void test_every_value_is_a_point(void **state)
{
    (void)state;
    for (unsigned histograms = OTLP_EXPLICIT; histograms <= OTLP_EXPONENTIAL; histograms++) {
        struct bench bench;
        setup(&bench, 40, histograms);
        unsigned known = 0;
        for (uint64_t n = 0; n < 4; n++) {
            const struct vamp_bucket *bucket = made_bucket(bench.made, n, NULL);
            uint64_t operations = 0;
            struct vamp_rows rows = vamp_rows(bucket, 0);
            while (vamp_rows_next(&rows)) {
                operations += rows.row.metric == &vamp_metrics[VAMP_METRIC_POOL_OPERATIONS]
                                  ? rows.row.counter->value
                                  : 0;
            }
            send(&bench, bucket, UINT32_MAX);
            assert_int_equal(bench.operations, operations);
            assert_true(bench.points_seen >= known && bench.points_seen > 100);
            known = bench.points_seen;
            vamp_bucket_release(bucket);
        }
        teardown(&bench);
    }
}

/* The sum of one bucket has 64 bits, that of a run more. */
static void test_a_sum_does_not_wrap(void **state)
{
    (void)state;
    struct bench bench;
    setup(&bench, 40, OTLP_EXPLICIT);
    const struct vamp_bucket *bucket = made_bucket(bench.made, 1, NULL);
    struct vamp_row row;
    unsigned place = 0;
    while (bench.made->metrics[place].id != VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND) {
        place++;
    }
    struct vamp_rows rows = vamp_rows_of(bucket, place, 0);
    assert_true(vamp_rows_next(&rows));
    row = rows.row;
    ((struct vamp_bucket_histogram *)(uintptr_t)row.histogram)->sum = UINT64_C(3) << 62;
    double before = 0;
    for (unsigned n = 1; n <= 5; n++) {
        send(&bench, bucket, UINT32_MAX);
        assert_true(bench.largest_sum > before);
        before = bench.largest_sum;
    }
    assert_true(before >= 5 * ldexp(3, 62) && before < 5.001 * ldexp(3, 62));
    vamp_bucket_release(bucket);
    teardown(&bench);
}

/* Of a bucket that is refused what is new begins in the next one, and what was taken does not. */
static void test_a_series_begins_until_it_is_taken(void **state)
{
    (void)state;
    struct bench bench, other;
    setup(&bench, 3000, OTLP_EXPLICIT);
    setup(&other, 3000, OTLP_EXPLICIT);
    const struct vamp_bucket *first = made_bucket(bench.made, 0, NULL);
    const struct vamp_bucket *bucket = made_bucket(bench.made, 1, NULL);
    send(&other, first, UINT32_MAX);
    assert_true(other.births > 0);
    send(&other, bucket, UINT32_MAX);
    const unsigned requests = other.requests, births = other.births;
    assert_true(requests > 2 && births > 0);
    send(&bench, first, UINT32_MAX);
    send(&bench, bucket, 1);
    const unsigned taken_and_refused = bench.births;
    send(&bench, bucket, 0);
    assert_true(taken_and_refused > 0 && bench.births < births);
    send(&bench, bucket, UINT32_MAX);
    assert_true(bench.births > 0 && bench.births < births);
    send(&bench, bucket, UINT32_MAX);
    assert_int_equal(bench.births, 0);
    vamp_bucket_release(first);
    vamp_bucket_release(bucket);
    teardown(&bench);
    teardown(&other);
}

/* A bucket is added wholly or not at all, and a request that could not be made is made again. */
static void test_memory_that_runs_out(void **state)
{
    (void)state;
    struct bench whole, failing;
    setup(&whole, 40, OTLP_EXPONENTIAL);
    setup(&failing, 40, OTLP_EXPONENTIAL);
    const struct vamp_bucket *bucket = made_bucket(whole.made, 3, NULL);
    send(&whole, bucket, UINT32_MAX);
    bool failed = true;
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_delivery delivery = {.bucket = bucket};
    for (unsigned nth = 1; failed; nth++) {
        fault_alloc_fail_at(nth);
        const int code = otlp_points_add(failing.points, &delivery, &err);
        failed = fault_alloc_end();
        assert_int_equal(code, failed ? -ENOMEM : 0);
    }
    failed = true;
    for (unsigned nth = 1; failed; nth++) {
        vamp_text_done(&failing.text);
        fault_alloc_fail_at(nth);
        assert_true(otlp_points_next(failing.points, &failing.text));
        failed = fault_alloc_end();
        assert_int_equal(failing.text.failed, failed);
    }
    assert_int_equal(failing.text.used, whole.bytes);
    vamp_bucket_release(bucket);
    teardown(&whole);
    teardown(&failing);
}

static void test_creation_without_memory(void **state)
{
    (void)state;
    const struct otlp_options options = {.labels = 1};
    struct made_run *made = made_run_create(UINT64_MAX, 40, 3, 0);
    const struct vamp_writer_target target = {
        .run = &made->run, .schema = &made->schema, .name = "otlp", .segment = 1};
    bool failed = true;
    for (unsigned nth = 1; failed; nth++) {
        struct vamp_err err = VAMP_ERR_NONE;
        struct otlp_points *points = NULL;
        fault_alloc_fail_at(nth);
        const int code = otlp_points_create(&options, &target, &points, &err);
        failed = fault_alloc_end();
        assert_int_equal(code, failed ? -ENOMEM : 0);
        otlp_points_free(points);
    }
    made_run_free(made);
}

int main(void)
{
    (void)append_metrics();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_is_a_point),
        cmocka_unit_test(test_a_sum_does_not_wrap),
        cmocka_unit_test(test_a_series_begins_until_it_is_taken),
        cmocka_unit_test(test_memory_that_runs_out),
        cmocka_unit_test(test_creation_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
