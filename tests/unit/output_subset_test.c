/* SPDX-License-Identifier: BSD-3-Clause */
/* A subset holds the chosen metrics of a bucket, lets go of the large one when it is released, and
 * is used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "writers/output/subset.h"

static char *patterns[] = {(char[]){"transport*"}, (char[]){"pool_cdos"}};
static const struct vamp_strings wanted = {.items = patterns, .count = 2};
static const struct vamp_strings none = {.count = 0};
static const struct vamp_subset_choice choice = {.metrics = &wanted, .series = &none};

static const struct vamp_label_set sets[] = {
    {.name = "component", .labels = {VAMP_LABEL_COMPONENT}, .label_count = 1, .max_series = 8},
    {.name = "", .max_series = 1},
    {.name = "tier", .labels = {VAMP_LABEL_TIER}, .label_count = 1, .max_series = 4},
};
static const struct vamp_schema_metric metrics[] = {
    {VAMP_METRIC_POOL_CDOS, 1},
    {VAMP_METRIC_PRODUCED_BYTES, 0},
    {VAMP_METRIC_TRANSPORTS_ACTIVE, 2},
};
static const struct vamp_schema schema = {
    .label_sets = sets, .label_set_count = 3, .metrics = metrics, .metric_count = 3};

static unsigned destroyed;

static void destroy(const struct vamp_bucket *bucket)
{
    (void)bucket;
    destroyed++;
}

static const unsigned series_counts[] = {5, 1, 3};
static const struct vamp_series *const *series[] = {NULL, NULL, NULL};
static const struct vamp_metric_values values[] = {{.count = 1}, {.count = 5}, {.count = 3}};

static struct vamp_bucket make_bucket(void)
{
    return (struct vamp_bucket){.number = 7,
                                .schema = &schema,
                                .series_count = series_counts,
                                .series = series,
                                .values = values,
                                .holders = 1,
                                .destroy = destroy};
}

static void chosen_metrics_only(void **state)
{
    (void)state;
    struct vamp_subset *subset = NULL;
    assert_int_equal(vamp_subset_create(&choice, &schema, 2, &subset, NULL), 0);
    const struct vamp_schema *own = vamp_subset_schema(subset);
    assert_int_equal(own->metric_count, 2);
    assert_int_equal(own->metrics[0].id, VAMP_METRIC_POOL_CDOS);
    assert_int_equal(own->metrics[1].id, VAMP_METRIC_TRANSPORTS_ACTIVE);
    assert_int_equal(own->label_set_count, 2);
    assert_string_equal(own->label_sets[own->metrics[1].label_set].name, "tier");

    struct vamp_bucket whole = make_bucket();
    destroyed = 0;
    const struct vamp_bucket *part = vamp_subset_bucket(subset, &whole);
    assert_non_null(part);
    assert_ptr_equal(part->schema, own);
    assert_int_equal(part->number, 7);
    assert_int_equal(part->values[0].count, 1);
    assert_int_equal(part->values[1].count, 3);
    assert_int_equal(part->series_count[own->metrics[1].label_set], 3);
    vamp_bucket_release(&whole);
    assert_int_equal(destroyed, 0);
    vamp_bucket_release(part);
    assert_int_equal(destroyed, 1);
    vamp_subset_free(subset);
}

static void used_again_and_bounded(void **state)
{
    (void)state;
    struct vamp_subset *subset = NULL;
    assert_int_equal(vamp_subset_create(&choice, &schema, 2, &subset, NULL), 0);
    struct vamp_bucket whole = make_bucket();
    for (unsigned round = 0; round < 10; round++) {
        const struct vamp_bucket *first = vamp_subset_bucket(subset, &whole);
        const struct vamp_bucket *second = vamp_subset_bucket(subset, &whole);
        assert_non_null(first);
        assert_non_null(second);
        assert_ptr_not_equal(first, second);
        assert_null(vamp_subset_bucket(subset, &whole));
        vamp_bucket_release(first);
        vamp_bucket_release(second);
    }
    assert_int_equal(whole.holders, 1);
    vamp_subset_free(subset);
}

/* ---- series */

static struct vamp_series components[] = {
    {.labels = {"(other)", "(other)"}}, {.labels = {"IFS -- 0", "offer"}},
    {.labels = {"Products", "offer"}},  {.labels = {"IFS -- 1", "demand"}},
    {.labels = {"IFS -- 2", "offer"}},
};
static const struct vamp_series *const component_rows[] = {
    &components[0], &components[1], &components[2], &components[3], &components[4]};
static const struct vamp_series *const one_row[] = {&components[0]};
static const struct vamp_series *const *all_series[] = {component_rows, one_row, one_row};

static const struct vamp_label_set operation_sets[] = {
    {.name = "component_operation",
     .labels = {VAMP_LABEL_COMPONENT, VAMP_LABEL_OPERATION},
     .label_count = 2,
     .max_series = 8},
    {.name = "", .max_series = 1},
    {.name = "tier", .labels = {VAMP_LABEL_TIER}, .label_count = 1, .max_series = 4},
};
static const struct vamp_schema_metric series_metrics[] = {{VAMP_METRIC_POOL_OPERATIONS, 0},
                                                           {VAMP_METRIC_POOL_CDOS, 1},
                                                           {VAMP_METRIC_DEMAND_WAIT_NS, 0},
                                                           {VAMP_METRIC_TRANSPORTS_ACTIVE, 2}};
static const struct vamp_schema series_schema = {.label_sets = operation_sets,
                                                 .label_set_count = 3,
                                                 .metrics = series_metrics,
                                                 .metric_count = 4};

static struct vamp_bucket series_bucket(const unsigned counts[3])
{
    static const struct vamp_counter_value counters[] = {
        {0, 0}, {11, 1}, {22, 2}, {33, 3}, {44, 4}};
    static const struct vamp_gauge_value gauge[] = {{5, 0, 5}};
    static struct vamp_histogram_value histograms[] = {{2, NULL}, {3, NULL}, {4, NULL}};
    static struct vamp_metric_values all[4];
    all[0] = (struct vamp_metric_values){.count = counts[0], .counters = counters};
    all[1] = (struct vamp_metric_values){.count = 1, .gauges = gauge};
    all[2] = (struct vamp_metric_values){.count = counts[0] == 5 ? 3 : 1, .histograms = histograms};
    all[3] = (struct vamp_metric_values){.count = 1, .gauges = gauge};
    return (struct vamp_bucket){.schema = &series_schema,
                                .series_count = counts,
                                .series = all_series,
                                .values = all,
                                .holders = 1,
                                .destroy = destroy};
}

/* Chosen series keep their new numbers when others come, (other) always stays, and what does not
 * have the label is left alone. */
static void chosen_series_only(void **state)
{
    (void)state;
    char *texts[] = {(char[]){"component=IFS*"}, (char[]){"operation=offer"},
                     (char[]){"component=Nobody"}};
    const struct vamp_strings series_wanted = {.items = texts, .count = 3};
    const struct vamp_subset_choice by_series = {.metrics = &none, .series = &series_wanted};
    struct vamp_subset *subset = NULL;
    assert_int_equal(vamp_subset_create(&by_series, &series_schema, 2, &subset, NULL), 0);
    assert_int_equal(vamp_subset_schema(subset)->metric_count, 4);
    const unsigned few[] = {3, 1, 1}, many[] = {5, 1, 1};
    struct vamp_bucket before = series_bucket(few);
    const struct vamp_bucket *first = vamp_subset_bucket(subset, &before);
    assert_int_equal(first->series_count[0], 2);
    assert_int_equal(first->values[0].count, 2);
    assert_int_equal(first->values[0].counters[1].value, 11);
    assert_int_equal(first->values[2].count, 0); /* Products' */
    assert_int_equal(first->values[1].gauges[0].value, 5);
    assert_int_equal(first->values[3].count, 1);
    struct vamp_bucket after = series_bucket(many);
    const struct vamp_bucket *second = vamp_subset_bucket(subset, &after);
    assert_int_equal(second->series_count[0], 3);
    assert_ptr_equal(second->series[0][1], &components[1]);
    assert_ptr_equal(second->series[0][2], &components[4]);
    assert_int_equal(second->values[0].count, 3);
    assert_int_equal(second->values[0].counters[2].delta, 4);
    assert_int_equal(second->values[2].count, 1);
    assert_int_equal(second->values[2].histograms[0].series, 2);
    vamp_bucket_release(first);
    vamp_bucket_release(second);
    vamp_subset_free(subset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_metrics_only),
        cmocka_unit_test(used_again_and_bounded),
        cmocka_unit_test(chosen_series_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
