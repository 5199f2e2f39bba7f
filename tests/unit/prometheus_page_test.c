/* SPDX-License-Identifier: BSD-3-Clause */
/* The page: exact numbers, and bounds that are edges of bins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/lib/fault.h"
#include "tests/unit/appended_metrics.h"
#include "tests/unit/writers_buckets.h"
#include "vampire/core/clock.h"
#include "writers/format/bounds.h"
#include "writers/prometheus/page.h"

#define BUCKETS 12

struct bench {
    struct made_run *made;
    struct page *page;
};

static void setup(struct bench *bench, unsigned bounds)
{
    const struct prometheus_options options = {.labels = 1, .bounds = bounds};
    struct vamp_err err = VAMP_ERR_NONE;
    bench->made = made_run_create(UINT64_MAX, 40, 3, 0);
    const struct vamp_writer_target target = {
        .run = &bench->made->run, .schema = &bench->made->schema, .name = "page", .segment = 1};
    assert_int_equal(page_create(&options, &target, &bench->page, &err), 0);
}

static void teardown(struct bench *bench)
{
    page_free(bench->page);
    made_run_free(bench->made);
}

static int add(struct bench *bench, uint64_t number)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_bucket *bucket = made_bucket(bench->made, number, NULL);
    const struct vamp_delivery delivery = {.bucket = bucket};
    const int code = page_add(bench->page, &delivery, &err);
    vamp_bucket_release(bucket);
    return code;
}

/* The page with a terminator; to be freed. */
static char *page_now(struct bench *bench, enum page_kind kind)
{
    struct vamp_text text = {.bytes = NULL};
    page_render(bench->page, kind, &text);
    assert_false(text.failed);
    char *copy = strndup(text.bytes, text.used);
    vamp_text_done(&text);
    return copy;
}

static void assert_line(const char *page, const char *line)
{
    if (strstr(page, line) == NULL) {
        fail_msg("not on the page: %s", line);
    }
}

/* The histogram of a metric without labels: all that was recorded, by the formulas. */
static void test_a_histogram_is_cumulative(void **state)
{
    (void)state;
    struct bench bench;
    setup(&bench, 0);
    uint64_t count = 0, sum = 0, below = 0;
    const unsigned id = VAMP_METRIC_COMPONENT_ASSOCIATION_NS;
    for (uint64_t n = 0; n < BUCKETS; n++) {
        assert_int_equal(add(&bench, n), 0);
        for (unsigned k = 0; k < made_recorded(id, 0, n); k++) {
            const uint64_t value = made_value(id, 0, n) << k;
            count++;
            sum += value;
            below += value <= 8191 ? 1 : 0;
        }
    }
    assert_true(below > 0 && below < count);
    char *page = page_now(&bench, PAGE_TEXT), line[256];
    const char *name = "vampire_component_association_seconds";
    const char *labels = "{workflow=\"fore/cast \\\"1\\\"\"";
    (void)snprintf(line, sizeof line, "\n%s_bucket%s,le=\"0.000008191\"} %llu\n", name, labels,
                   (unsigned long long)below);
    assert_line(page, line);
    (void)snprintf(line, sizeof line, "\n%s_bucket%s,le=\"+Inf\"} %llu\n", name, labels,
                   (unsigned long long)count);
    assert_line(page, line);
    (void)snprintf(line, sizeof line, "\n%s_sum%s} 0.%09llu\n", name, labels,
                   (unsigned long long)sum);
    assert_line(page, line);
    free(page);
    teardown(&bench);
}

static void test_labels_are_escaped(void **state)
{
    (void)state;
    struct bench bench;
    setup(&bench, 0);
    for (uint64_t n = 0; n < BUCKETS; n++) {
        assert_int_equal(add(&bench, n), 0);
    }
    char *page = page_now(&bench, PAGE_TEXT);
    assert_line(page, "component=\"Products, \\\"1\\\"\"");
    assert_line(page, "component=\"tab\tand\\nline \x01\"");
    assert_line(page, "component=\"bad \xEF\xBF\xBD byte\"");
    assert_line(page, "e \\\\ / {}\"");
    free(page);
    teardown(&bench);
}

/* Each bound is an edge of a bin, a finer page has those of a coarser one, and their number in a
 * doubling is what was asked for. */
static void test_bounds_are_edges_of_bins(void **state)
{
    (void)state;
    struct vamp_bins bins;
    vamp_bins_init(&bins, 3);
    const struct vamp_metric *metric = &vamp_metrics[VAMP_METRIC_TRANSPORT_NS];
    unsigned before = 0;
    for (unsigned resolution = 0; resolution < 5; resolution++) {
        struct vamp_bounds *bounds = vamp_bounds(metric, &bins, resolution);
        assert_non_null(bounds);
        const unsigned parts = 1U << (resolution < 3 ? resolution : 3);
        assert_int_equal(bounds->count, (38 - 12) * parts + 1);
        assert_string_equal(bounds->at[0].text, "0.000004095");
        assert_string_equal(bounds->at[bounds->count - 1].text, "274.877906943");
        for (unsigned bin = 1; bin < bins.count; bin++) {
            assert_true(bounds->of_bin[bin] - bounds->of_bin[bin - 1] <= 1);
        }
        assert_true(bounds->count >= before);
        before = bounds->count;
        assert_int_equal(vamp_bounds_count(metric, &bins, resolution), bounds->count);
        free(bounds);
    }
}

/* A bucket is added wholly or not at all, whichever allocation fails. */
static void test_memory_that_runs_out(void **state)
{
    (void)state;
    struct bench whole, failing;
    setup(&whole, 0);
    setup(&failing, 0);
    struct vamp_err err = VAMP_ERR_NONE;
    for (uint64_t n = 0; n < 4; n++) {
        assert_int_equal(add(&whole, n), 0);
        const struct vamp_bucket *bucket = made_bucket(failing.made, n, NULL);
        const struct vamp_delivery delivery = {.bucket = bucket};
        int code = -ENOMEM;
        for (unsigned nth = 1; code != 0; nth++) {
            fault_alloc_fail_at(nth);
            code = page_add(failing.page, &delivery, &err);
            (void)fault_alloc_end();
            assert_true(code == 0 || code == -ENOMEM);
        }
        vamp_bucket_release(bucket);
    }
    char *expected = page_now(&whole, PAGE_TEXT), *found = page_now(&failing, PAGE_TEXT);
    assert_string_equal(found, expected);
    free(expected);
    free(found);
    teardown(&whole);
    teardown(&failing);
}

static void test_appended_metrics_are_on_the_page(void **state)
{
    (void)state;
    struct bench bench;
    setup(&bench, 0);
    assert_int_equal(add(&bench, 5), 0);
    char *page = page_now(&bench, PAGE_TEXT);
    assert_line(page, "\nvampire_model_steps_total{");
    assert_line(page, "\nvampire_disk_level_bytes{");
    assert_line(page, "\nvampire_disk_read_seconds_count{");
    free(page);
    teardown(&bench);
}

int main(void)
{
    (void)append_metrics();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_histogram_is_cumulative),
        cmocka_unit_test(test_labels_are_escaped),
        cmocka_unit_test(test_bounds_are_edges_of_bins),
        cmocka_unit_test(test_memory_that_runs_out),
        cmocka_unit_test(test_appended_metrics_are_on_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
