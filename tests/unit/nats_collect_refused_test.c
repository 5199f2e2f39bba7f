/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collector refuses and why, its bounds, collecting what was collected, and requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "telemetry.pb-c.h"
#include "tests/lib/fault.h"
#include "tests/unit/collect_scene.h"

/* ---- one message that is not as it should be */

typedef Vampire__Telemetry__Message message;

static void other_version(message *m)
{
    m->version = 2;
}
static void no_part(message *m)
{
    m->part = 0;
}
static void part_beyond_parts(message *m)
{
    m->part = m->parts + 1;
}
static void no_buckets(message *m)
{
    m->buckets = 0;
}
static void last_number(message *m)
{
    m->number = UINT64_MAX;
}
static void no_width(message *m)
{
    m->width_ns = 0;
}
static void time_beyond_all(message *m)
{
    m->start_ns = INT64_MAX;
}
static void width_that_does_not_divide(message *m)
{
    m->width_ns = 3 * MADE_WIDTH_NS;
}
static void begin_between_two(message *m)
{
    m->start_ns += 1;
}
static void other_bins(message *m)
{
    m->sub_bits = 4;
}
static void row_of_no_set(message *m)
{
    m->rows[0]->label_set = (uint32_t)m->n_label_sets;
}
static void row_without_a_label(message *m)
{
    m->rows[0]->n_labels--;
}
static void metric_of_no_set(message *m)
{
    m->metrics[0]->label_set = (uint32_t)m->n_label_sets;
}
static void counter_of_no_metric(message *m)
{
    m->rows[0]->counters[0]->metric = (uint32_t)m->n_metrics;
}
static void counter_of_another_kind(message *m)
{
    m->metrics[m->rows[0]->counters[0]->metric]->kind = VAMPIRE__TELEMETRY__METRIC__KIND__GAUGE;
}
static Vampire__Telemetry__Histogram *first_histogram(message *m)
{
    for (size_t i = 0; i < m->n_rows; i++) {
        if (m->rows[i]->n_histograms > 0) {
            return m->rows[i]->histograms[0];
        }
    }
    fail_msg("no histogram");
    return NULL;
}
static void bin_beyond_all(message *m)
{
    first_histogram(m)->bins[0] = VAMP_BINS_MAX;
}
static void count_of_other_bins(message *m)
{
    first_histogram(m)->count++;
}
static void counts_that_overflow(message *m)
{
    first_histogram(m)->counts[0] = 0;
}
static void extreme_of_another_bin(message *m)
{
    first_histogram(m)->max = UINT64_MAX;
}
static void unknown_metric(message *m)
{
    m->metrics[0]->merge = VAMPIRE__TELEMETRY__METRIC__MERGE__MEAN;
}

static const struct {
    void (*change)(message *m);
    enum vamp_refusal refusal;
} changes[] = {
    {other_version, VAMP_REFUSAL_VERSION},
    {no_part, VAMP_REFUSAL_GARBAGE},
    {part_beyond_parts, VAMP_REFUSAL_GARBAGE},
    {no_buckets, VAMP_REFUSAL_GARBAGE},
    {last_number, VAMP_REFUSAL_GARBAGE},
    {no_width, VAMP_REFUSAL_GARBAGE},
    {time_beyond_all, VAMP_REFUSAL_GARBAGE},
    {width_that_does_not_divide, VAMP_REFUSAL_WIDTH},
    {begin_between_two, VAMP_REFUSAL_WIDTH},
    {other_bins, VAMP_REFUSAL_BINS},
    {row_of_no_set, VAMP_REFUSAL_GARBAGE},
    {row_without_a_label, VAMP_REFUSAL_GARBAGE},
    {metric_of_no_set, VAMP_REFUSAL_GARBAGE},
    {counter_of_no_metric, VAMP_REFUSAL_GARBAGE},
    {counter_of_another_kind, VAMP_REFUSAL_GARBAGE},
    {bin_beyond_all, VAMP_REFUSAL_GARBAGE},
    {count_of_other_bins, VAMP_REFUSAL_GARBAGE},
    {counts_that_overflow, VAMP_REFUSAL_GARBAGE},
    {extreme_of_another_bin, VAMP_REFUSAL_GARBAGE},
    {unknown_metric, VAMP_REFUSAL_METRIC},
};

/* Gives the message after the change. The row without a label has one too few, which is freed. */
static void give_changed(struct scene *scene, const struct messages *all,
                         void (*change)(message *m))
{
    message *m =
        vampire__telemetry__message__unpack(NULL, all->bytes[0], (const uint8_t *)all->data[0]);
    assert_non_null(m);
    const size_t labels = m->rows[0]->n_labels;
    change(m);
    uint8_t *packed = malloc(vampire__telemetry__message__get_packed_size(m));
    const size_t bytes = vampire__telemetry__message__pack(m, packed);
    vamp_collect_message(scene->collect, NULL, packed, bytes, SECOND(1));
    free(packed);
    m->rows[0]->n_labels = labels;
    vampire__telemetry__message__free_unpacked(m, NULL);
}

static void test_what_is_wrong_is_refused(void **state)
{
    (void)state;
    struct made_run *made = make_run(1, 5);
    struct messages all = {.count = 0};
    add_bucket(&all, made, 0);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct scene scene;
        begin(&scene);
        give_changed(&scene, &all, changes[i].change);
        vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);
        assert_int_equal(refused(&scene, changes[i].refusal), 1);
        assert_int_equal(all_refused(&scene), 1);
        assert_int_equal(vamp_collect_counts(scene.collect)->buckets,
                         changes[i].refusal == VAMP_REFUSAL_METRIC);
        end(&scene);
    }
    free_messages(&all);
    made_run_free(made);
}

/* Whatever bytes are changed or missing, it is a message or is refused. */
static void test_garbage(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *made = make_run(1, 3);
    struct messages all = {.count = 0};
    begin(&scene);
    add_bucket(&all, made, 0);
    uint32_t random = 1;
    for (size_t i = 0; i < 2000; i++) {
        random = random * 1103515245U + 12345U;
        const size_t at = (random >> 4) % all.bytes[0];
        const char before = all.data[0][at];
        all.data[0][at] = (char)(random >> 20);
        vamp_collect_message(scene.collect, NULL, all.data[0], i % 2 == 0 ? all.bytes[0] : at,
                             SECOND(1));
        all.data[0][at] = before;
    }
    vamp_collect_finish(scene.collect, SECOND(10));
    assert_true(refused(&scene, VAMP_REFUSAL_GARBAGE) > 500);
    free_messages(&all);
    made_run_free(made);
    end(&scene);
}

static uint64_t refused_from(struct scene *scene, const struct messages *all, const char *subject)
{
    const uint64_t before = refused(scene, VAMP_REFUSAL_SUBJECT);
    for (unsigned i = 0; i < all->count; i++) {
        vamp_collect_message(scene->collect, subject, all->data[i], all->bytes[i], SECOND(1));
    }
    return refused(scene, VAMP_REFUSAL_SUBJECT) - before;
}

/* A stranger's messages with a run's id are neither collected nor in the way of the run's own. */
static void test_a_run_is_bound_to_its_subject(void **state)
{
    (void)state;
    static const char *const foreign[] = {"site.%s.00000001-2222-4333-8444-55555555555",
                                          "site.other.00000001-2222-4333-8444-555555555555",
                                          "00000001-2222-4333-8444-555555555555", "site", ""};
    struct scene scene;
    struct made_run *made = make_run(1, 5);
    made->run.workflow = "a long-range.forecast";
    struct messages all = {.count = 0};
    begin(&scene);
    add_bucket(&all, made, 0);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_int_equal(refused_from(&scene, &all, foreign[i]), all.count);
    }
    char *own = nats_subject("site", &made->run);
    char *elsewhere = nats_subject("imported.site", &made->run);
    assert_string_equal(own, "site.a_long-range_forecast.00000001-2222-4333-8444-555555555555");
    assert_int_equal(refused_from(&scene, &all, own), 0);
    assert_int_equal(refused_from(&scene, &all, elsewhere), all.count);
    assert_int_equal(vamp_collect_counts(scene.collect)->repeated, 0);
    vamp_collect_finish(scene.collect, SECOND(10));
    assert_int_equal(vamp_collect_counts(scene.collect)->buckets, 1);
    free(own);
    free(elsewhere);
    free_messages(&all);
    made_run_free(made);
    end(&scene);
}

static void test_late_early_and_incomplete(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *one = make_run(1, 5), *large = make_run(2, 1500);
    struct messages all = {.count = 0};
    begin(&scene);
    add_bucket(&all, one, 60);
    give(&scene, &all, SECOND(1));
    assert_int_equal(refused(&scene, VAMP_REFUSAL_EARLY), 1);
    free_messages(&all);

    add_bucket(&all, large, 3);
    assert_true(all.count > 1);
    all.count--;
    give(&scene, &all, SECOND(4));
    all.count++;
    vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);
    assert_int_equal(refused(&scene, VAMP_REFUSAL_INCOMPLETE), 1);
    assert_int_equal(vamp_collect_counts(scene.collect)->buckets, 0);
    assert_int_equal(vamp_collect_counts(scene.collect)->waiting_bytes, 0);
    give(&scene, &all, SECOND(13));
    assert_int_equal(refused(&scene, VAMP_REFUSAL_LATE), all.count);
    assert_int_equal(gauge_of_run(scene.taken.buckets[0], VAMP_METRIC_COLLECT_RUNS_MISSING, large),
                     1);
    free_messages(&all);
    made_run_free(one);
    made_run_free(large);
    end(&scene);
}

static void test_bounds(void **state)
{
    (void)state;
    struct scene scene;
    struct vamp_collect_options options = common_options();
    struct made_run *one = make_run(1, 5), *two = make_run(2, 5);
    struct messages all = {.count = 0};
    add_bucket(&all, one, 1);
    add_bucket(&all, two, 1);
    options.max_runs = 1;
    begin_with(&scene, &options);
    give(&scene, &all, SECOND(2));
    assert_int_equal(refused(&scene, VAMP_REFUSAL_RUNS), 1);
    end(&scene);

    options = common_options();
    options.max_waiting_bytes = all.bytes[0] + 1000;
    begin_with(&scene, &options);
    give(&scene, &all, SECOND(2));
    assert_int_equal(refused(&scene, VAMP_REFUSAL_MEMORY), 1);
    assert_true(vamp_collect_counts(scene.collect)->waiting_bytes <= options.max_waiting_bytes);
    end(&scene);

    options = common_options();
    options.max_message_bytes = all.bytes[0] - 1;
    begin_with(&scene, &options);
    give(&scene, &all, SECOND(2));
    assert_int_equal(refused(&scene, VAMP_REFUSAL_LONG), 2);
    end(&scene);
    free_messages(&all);
    made_run_free(one);
    made_run_free(two);
}

/* What its output lost and reported. */
static void test_lost_before(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *made = make_run(1, 5);
    struct messages all = {.count = 0};
    begin(&scene);
    add_bucket(&all, made, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 4, NULL);
    add_delivery(&all, &made->run, bucket, 3);
    vamp_bucket_release(bucket);
    give(&scene, &all, SECOND(5));
    vamp_collect_finish(scene.collect, SECOND(9));
    assert_int_equal(scene.taken.buckets[0]->gap_count, 1);
    const struct vamp_gap *gap = &scene.taken.buckets[0]->gaps[0];
    assert_string_equal(vamp_gap_reason_name(gap->reason), "run_lost_buckets");
    assert_int_equal(gap->start_ns, SECOND(1));
    assert_int_equal(gap->end_ns, SECOND(4));
    free_messages(&all);
    made_run_free(made);
    end(&scene);
}

/* ---- two levels */

/* What the collectors of a level send to the next one. */
static void pass_on(struct scene *from, unsigned number, struct scene *to)
{
    struct made_run *sender = make_run(number, 1); /* only its description */
    struct messages all = {.count = 0};
    vamp_collect_finish(from->collect, SECOND(9));
    for (unsigned i = 0; i < from->taken.count; i++) {
        add_delivery(&all, &sender->run, from->taken.buckets[i], 0);
    }
    give(to, &all, SECOND(20));
    free_messages(&all);
    made_run_free(sender);
}

/* The histogram of a series; NULL: it has no values. */
static const struct vamp_bucket_histogram *histogram_of(const struct vamp_metric_values *values,
                                                        unsigned series)
{
    for (unsigned i = 0; i < values->count; i++) {
        if (values->histograms[i].series == series) {
            return values->histograms[i].histogram;
        }
    }
    return NULL;
}

static void assert_same_value(enum vamp_metric_kind kind, const struct vamp_metric_values *left,
                              unsigned series, const struct vamp_metric_values *right,
                              unsigned other)
{
    if (kind == VAMP_COUNTER) {
        assert_memory_equal(&left->counters[series], &right->counters[other],
                            sizeof *left->counters);
    } else if (kind == VAMP_GAUGE) {
        assert_memory_equal(&left->gauges[series], &right->gauges[other], sizeof *left->gauges);
    } else {
        const struct vamp_bucket_histogram *of = histogram_of(left, series),
                                           *that = histogram_of(right, other);
        assert_int_equal(of != NULL, that != NULL);
        if (of != NULL && that != NULL) {
            assert_int_equal(of->bin_count, that->bin_count);
            assert_memory_equal(&of->count, &that->count, 4 * sizeof of->count);
            for (unsigned b = 0; b < of->bin_count; b++) {
                assert_int_equal(of->bins[b].bin, that->bins[b].bin);
                assert_int_equal(of->bins[b].count, that->bins[b].count);
            }
        }
    }
}

/* Nothing that would be in a message. */
static void assert_no_value(enum vamp_metric_kind kind, const struct vamp_metric_values *values,
                            unsigned series)
{
    switch (kind) {
    case VAMP_COUNTER:
        assert_int_equal(values->counters[series].value, 0);
        return;
    case VAMP_GAUGE:
        assert_true(values->gauges[series].value == VAMP_GAUGE_NONE);
        return;
    case VAMP_HISTOGRAM:
        assert_null(histogram_of(values, series));
        return;
    }
}

/* Each series of `left` is in `right` with the same values; that has more of the collectors. */
static void assert_same_runs(const struct vamp_bucket *left, const struct vamp_bucket *right)
{
    unsigned compared = 0;
    for (unsigned m = 0; m < left->schema->metric_count; m++) {
        const unsigned set = left->schema->metrics[m].label_set;
        for (unsigned s = 1; s < left->series_count[set]; s++) {
            const unsigned other = find_series(right, set, left->series[set][s]->labels);
            if (other == UINT32_MAX) {
                assert_no_value(vamp_metrics[m].kind, &left->values[m], s);
                continue;
            }
            assert_same_value(vamp_metrics[m].kind, &left->values[m], s, &right->values[m], other);
            compared++;
        }
    }
    assert_true(compared > 1000);
    assert_int_equal(left->accounting.received, right->accounting.received);
    assert_int_equal(left->gap_count, right->gap_count);
}

static void test_two_levels_equal_one(void **state)
{
    (void)state;
    struct scene all_at_once, left, right, above;
    begin(&all_at_once);
    begin(&left);
    begin(&right);
    struct vamp_collect_options options = common_options();
    options.delay_ns = 3 * WIDTH_NS;
    begin_with(&above, &options);
    for (unsigned r = 0; r < 4; r++) {
        struct made_run *made = make_run(r, 30 + r);
        struct messages all = {.count = 0};
        for (unsigned n = 0; n < 8; n++) {
            add_bucket(&all, made, n);
        }
        give(&all_at_once, &all, SECOND(9));
        give(r < 2 ? &left : &right, &all, SECOND(9));
        free_messages(&all);
        made_run_free(made);
    }
    pass_on(&left, 100, &above);
    pass_on(&right, 101, &above);
    vamp_collect_finish(above.collect, SECOND(20));
    vamp_collect_finish(all_at_once.collect, SECOND(9));
    assert_int_equal(all_refused(&above), 0);
    unsigned k = 0; /* its clock began earlier, by the longer delay */
    while (above.taken.buckets[k]->start_ns < SECOND(0)) {
        k++;
    }
    assert_same_runs(all_at_once.taken.buckets[0], above.taken.buckets[k]);
    end(&all_at_once);
    end(&left);
    end(&right);
    end(&above);
}

/* ---- requests */

static void test_requests(void **state)
{
    (void)state;
    struct scene scene;
    struct made_run *one = make_run(1, 5), *two = make_run(2, 5);
    struct messages all = {.count = 0};
    begin(&scene);
    char *text = vamp_collect_present(scene.collect, "", 0);
    assert_non_null(strstr(text, "\"listed\":0"));
    free(text);
    add_bucket(&all, one, 1);
    add_bucket(&all, two, 1);
    give(&scene, &all, SECOND(2));
    vamp_collect_advance(scene.collect, SECOND(10) + DELAY_NS);

    static const char request[] = "pool_* workflow=ocean collect_runs_reporting";
    text = vamp_collect_present(scene.collect, request, strlen(request));
    assert_non_null(strstr(text, "\"metric\":\"pool_operations\""));
    assert_non_null(strstr(text, "\"metric\":\"collect_runs_reporting\""));
    assert_non_null(strstr(text, "\"workflow\":\"ocean\""));
    assert_null(strstr(text, "\"workflow\":\"forecast\""));
    assert_null(strstr(text, "\"metric\":\"anomalies\""));
    free(text);
    text = vamp_collect_present(scene.collect, "no=label", 8);
    assert_non_null(strstr(text, "\"error\""));
    free(text);
    free_messages(&all);
    made_run_free(one);
    made_run_free(two);
    end(&scene);
}

/* ---- memory */

static void test_memory_that_runs_out(void **state)
{
    (void)state;
    struct made_run *made = make_run(1, 5);
    struct messages all = {.count = 0};
    struct vamp_collect_options options = common_options();
    options.max_series = 64;
    options.max_message_bytes = 100000;
    add_bucket(&all, made, 0);
    add_bucket(&all, made, 1);
    bool failed = true;
    for (unsigned nth = 1; failed; nth++) {
        struct scene scene = {.taken = {.count = 0}};
        struct vamp_err err = VAMP_ERR_NONE;
        fault_alloc_fail_at(nth);
        const int code =
            vamp_collect_create(&options, take_bucket, &scene.taken, &scene.collect, &err);
        if (code != 0) {
            assert_int_equal(code, -ENOMEM);
            failed = fault_alloc_end();
            continue;
        }
        vamp_collect_advance(scene.collect, SECOND(0) + DELAY_NS);
        give(&scene, &all, SECOND(2));
        vamp_collect_finish(scene.collect, SECOND(9));
        free(vamp_collect_present(scene.collect, "pool_*", 6));
        failed = fault_alloc_end();
        assert_true(failed || scene.taken.count == 1);
        vamp_collect_advance(scene.collect, SECOND(20) + DELAY_NS);
        assert_true(scene.taken.count > 0);
        end(&scene);
    }
    free_messages(&all);
    made_run_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_wrong_is_refused),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_a_run_is_bound_to_its_subject),
        cmocka_unit_test(test_late_early_and_incomplete),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_lost_before),
        cmocka_unit_test(test_two_levels_equal_one),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
