/* SPDX-License-Identifier: BSD-3-Clause */
/* A pick holds the chosen metrics of a bucket, lets go of the large one when it is released, and is
 * used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vampire/pick.h"

static char *patterns[] = {(char[]){"transport*"}, (char[]){"pool_cdos"}};
static const struct vamp_strings wanted = {.items = patterns, .count = 2};

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
    struct vamp_pick *pick = NULL;
    assert_int_equal(vamp_pick_create(&wanted, &schema, 2, &pick, NULL), 0);
    const struct vamp_schema *own = vamp_pick_schema(pick);
    assert_int_equal(own->metric_count, 2);
    assert_int_equal(own->metrics[0].id, VAMP_METRIC_POOL_CDOS);
    assert_int_equal(own->metrics[1].id, VAMP_METRIC_TRANSPORTS_ACTIVE);
    assert_int_equal(own->label_set_count, 2);
    assert_string_equal(own->label_sets[own->metrics[1].label_set].name, "tier");

    struct vamp_bucket whole = make_bucket();
    destroyed = 0;
    const struct vamp_bucket *picked = vamp_pick_bucket(pick, &whole);
    assert_non_null(picked);
    assert_ptr_equal(picked->schema, own);
    assert_int_equal(picked->number, 7);
    assert_int_equal(picked->values[0].count, 1);
    assert_int_equal(picked->values[1].count, 3);
    assert_int_equal(picked->series_count[own->metrics[1].label_set], 3);
    vamp_bucket_release(&whole);
    assert_int_equal(destroyed, 0);
    vamp_bucket_release(picked);
    assert_int_equal(destroyed, 1);
    vamp_pick_free(pick);
}

static void used_again_and_bounded(void **state)
{
    (void)state;
    struct vamp_pick *pick = NULL;
    assert_int_equal(vamp_pick_create(&wanted, &schema, 2, &pick, NULL), 0);
    struct vamp_bucket whole = make_bucket();
    for (unsigned round = 0; round < 10; round++) {
        const struct vamp_bucket *first = vamp_pick_bucket(pick, &whole);
        const struct vamp_bucket *second = vamp_pick_bucket(pick, &whole);
        assert_non_null(first);
        assert_non_null(second);
        assert_ptr_not_equal(first, second);
        assert_null(vamp_pick_bucket(pick, &whole));
        vamp_bucket_release(first);
        vamp_bucket_release(second);
    }
    assert_int_equal(whole.holders, 1);
    vamp_pick_free(pick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_metrics_only),
        cmocka_unit_test(used_again_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
