/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics that were appended to the catalogue count in cells as all others, and are found in what
 * the statistics, an alarm, outputs and --list-metrics make of them. With an argument it is the
 * tool of tests/e2e/test_appended_metrics.py: writes its buckets in HDF5 and JSON lines to that
 * directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/cli/options.h"
#include "tests/lib/events.h"
#include "tests/unit/appended_metrics.h"
#include "tests/unit/finish_output.h"
#include "vampire/alarms/alarms.h"
#include "vampire/stats/bucket/rows.h"
#include "vampire/stats/cells/window.h"
#include "writers/output/output.h"
#include "writers/output/resolution.h"

#define SECOND INT64_C(1000000000)
#define START_NS (INT64_C(1795232640) * SECOND)
#define SPACE "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define BUCKETS 3

struct counted {
    struct vamp_components *components;
    struct vamp_cells cells;
    struct vamp_window window;
    const struct vamp_bucket *buckets[BUCKETS + 1];
    unsigned count;
};

static void keep(void *context, const struct vamp_bucket *bucket)
{
    struct counted *counted = context;
    if (counted->count > BUCKETS) {
        fail_msg("too many buckets");
    }
    counted->buckets[counted->count++] = bucket;
}

/* In bucket n: 5 + n steps, the level goes to 100 * (n + 1), and a read of 1000 * (n + 1) ns. */
static void count_all(struct counted *counted)
{
    const struct vamp_stats_options options = {
        .bucket_ns = SECOND,
        .level = VAMP_LEVEL_COMPONENT,
        .sets = VAMP_SET_BASIC,
        .sub_bits = 3,
        .max_series = 100,
        .max_histogram_bytes = 1 << 20,
        .max_components = 16,
        .max_empty = 10,
    };
    struct vamp_err err = VAMP_ERR_NONE;
    *counted = (struct counted){.count = 0};
    assert_int_equal(vamp_components_create(16, &counted->components, &err), 0);
    const struct vamp_event join = event_join(START_NS, 7, "IFS -- 0");
    const uint32_t name = vamp_components_observe(counted->components, &join)->name_number;
    assert_int_equal(vamp_cells_init(&counted->cells, &options, SPACE, counted->components,
                                     vamp_window_slots(&options), &err),
                     0);
    vamp_window_init(&counted->window, &options, &counted->cells, counted->components, keep,
                     counted);
    struct vamp_labels labels = {.value = {0}};
    labels.value[VAMP_LABEL_COMPONENT] = name;
    labels.value[VAMP_LABEL_TIER] = VAMP_TIER_GFS;
    const unsigned first = VAMP_METRICS_BUILT_IN;
    for (unsigned n = 0; n < BUCKETS; n++) {
        struct vamp_slot *slot = vamp_window_place(&counted->window, START_NS + n * SECOND);
        vamp_cells_count(&counted->cells, slot, first + APPENDED_STEPS, &labels, 5 + n);
        vamp_cells_change(&counted->cells, slot, first + APPENDED_LEVEL, &labels, 100);
        vamp_cells_record(&counted->cells, slot, first + APPENDED_READ_NS, &labels,
                          UINT64_C(1000) * (n + 1));
    }
    vamp_window_finish(&counted->window, START_NS + (BUCKETS - 1) * SECOND);
    assert_int_equal(counted->count, BUCKETS);
}

static void drop(struct counted *counted)
{
    for (unsigned i = 0; i < counted->count; i++) {
        vamp_bucket_release(counted->buckets[i]);
    }
    vamp_cells_done(&counted->cells);
    vamp_components_free(counted->components);
}

/* The row of an appended metric with this first label. */
static struct vamp_row row_of(const struct vamp_bucket *bucket, unsigned appended,
                              const char *label)
{
    struct vamp_rows rows = vamp_rows(bucket, 0);
    while (vamp_rows_next(&rows)) {
        if (rows.row.entry->id == VAMP_METRICS_BUILT_IN + appended &&
            strcmp(rows.row.series->labels[0], label) == 0) {
            return rows.row;
        }
    }
    fail_msg("%s of %s is not in the bucket", appended_metrics[appended].name, label);
    return rows.row;
}

static void test_values_are_in_the_buckets(void **state)
{
    (void)state;
    struct counted counted;
    count_all(&counted);
    const struct vamp_bucket *last = counted.buckets[BUCKETS - 1];
    const struct vamp_row steps = row_of(last, APPENDED_STEPS, "IFS -- 0");
    assert_int_equal(steps.counter->delta, 7);
    assert_int_equal(steps.counter->value, 18);
    const struct vamp_row level = row_of(last, APPENDED_LEVEL, "IFS -- 0");
    assert_int_equal(level.gauge->value, 300);
    assert_int_equal(level.gauge->min, 200);
    const struct vamp_row reads = row_of(last, APPENDED_READ_NS, "IFS -- 0");
    assert_int_equal(reads.histogram->sum, 3000);
    assert_string_equal(reads.series->labels[1], "GFS");
    drop(&counted);
}

static void say(void *context, bool error, const char *line)
{
    (void)context;
    (void)error;
    (void)line;
}

static void test_an_alarm_fires(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"name", "busy"}, {"metric", "model_steps"}, {"when", "> 5"}};
    struct counted counted;
    count_all(&counted);
    struct vamp_alarm_config config;
    assert_int_equal(vamp_alarm_config_init(&config, NULL), 0);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        const struct vamp_opt *option = vamp_opt_find(vamp_alarm_options, words[i][0]);
        assert_non_null(option);
        assert_int_equal(vamp_opt_set(option, &config.options, words[i][1], NULL), 0);
    }
    struct vamp_silences silences = {0};
    const struct vamp_alarms_options options = {
        .configs = &config,
        .count = 1,
        .schema = counted.buckets[0]->schema,
        .say = say,
        .silences = &silences,
    };
    struct vamp_alarms *alarms = NULL;
    assert_int_equal(vamp_alarms_create(&options, &alarms, NULL), 0);
    struct vamp_alarm_change *changes = NULL;
    assert_int_equal(vamp_alarms_evaluate(alarms, counted.buckets[0], 0, &changes), 0);
    assert_int_equal(vamp_alarms_evaluate(alarms, counted.buckets[1], 0, &changes), 1);
    assert_string_equal(changes[0].metric, "model_steps");
    assert_int_equal(changes[0].state, VAMP_ALARM_FIRING);
    free(changes);
    vamp_alarms_free(alarms);
    vamp_alarm_config_done(&config);
    drop(&counted);
}

static void test_an_output_can_merge_them(void **state)
{
    (void)state;
    struct counted counted;
    count_all(&counted);
    char *names[] = {(char[]){"disk_*"}, (char[]){"model_steps"}};
    const struct vamp_strings metrics = {.items = names, .count = 2}, no_strings = {.count = 0};
    const struct vamp_sets no_sets = {.count = 0};
    const struct vamp_resolution_choice choice = {.metrics = &metrics,
                                                  .series = &no_strings,
                                                  .by = &no_sets,
                                                  .without = &no_sets,
                                                  .bucket_ns = 60 * SECOND};
    struct vamp_resolution *resolution = NULL;
    assert_int_equal(vamp_resolution_create(&choice, counted.buckets[0]->schema, &resolution, NULL),
                     0);
    const struct vamp_schema *schema = vamp_resolution_schema(resolution);
    unsigned others = 0; /* what says what the numbers stand for */
    for (unsigned m = 0; m < schema->metric_count; m++) {
        others += strncmp(vamp_metrics[schema->metrics[m].id].name, "vampire_", 8) == 0;
    }
    assert_int_equal(schema->metric_count - others, APPENDED_COUNT);
    for (unsigned i = 0; i < BUCKETS; i++) {
        assert_int_equal(vamp_resolution_add(resolution, counted.buckets[i], NULL), 0);
    }
    const struct vamp_bucket *merged = vamp_resolution_bucket(resolution);
    assert_int_equal(row_of(merged, APPENDED_STEPS, "IFS -- 0").counter->delta, 18);
    assert_int_equal(row_of(merged, APPENDED_LEVEL, "IFS -- 0").gauge->value, 300);
    assert_int_equal(row_of(merged, APPENDED_READ_NS, "IFS -- 0").histogram->sum, 6000);
    vamp_resolution_free(resolution);
    drop(&counted);
}

static void test_the_list_has_them(void **state)
{
    (void)state;
    for (unsigned json = 0; json < 2; json++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&text, &bytes);
        assert_non_null(stream);
        vamp_list_metrics(stream, json != 0, 0);
        assert_int_equal(fclose(stream), 0);
        for (unsigned i = 0; i < APPENDED_COUNT; i++) {
            assert_non_null(strstr(text, appended_metrics[i].name));
        }
        free(text);
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    enum vamp_metric_id id = VAMP_METRIC_NONE;
    const unsigned count = vamp_metric_count();
    assert_int_equal(vamp_metrics_append(&appended_metrics[0], &id), -EEXIST);
    assert_int_equal(vamp_metrics_append(&vamp_metrics[0], &id), -EEXIST);
    struct vamp_metric wrong = appended_metrics[0];
    wrong.name = "wrong";
    wrong.unit = NULL;
    assert_int_equal(vamp_metrics_append(&wrong, &id), -EINVAL);
    wrong.unit = "1";
    wrong.merge = VAMP_MERGE_MEAN;
    assert_int_equal(vamp_metrics_append(&wrong, &id), -EINVAL);
    wrong.merge = VAMP_MERGE_SUM;
    wrong.labels = (UINT32_C(1) << (VAMP_LABELS_MAX + 1)) - 1;
    assert_int_equal(vamp_metrics_append(&wrong, &id), -EINVAL);
    assert_int_equal(vamp_metric_count(), count);
}

/* The last test: nothing is computed of these, which are in no set. */
static void test_the_table_is_bounded(void **state)
{
    (void)state;
    static char names[VAMP_METRICS_MAX][32];
    enum vamp_metric_id id = VAMP_METRIC_NONE;
    struct vamp_metric more = appended_metrics[0];
    more.sets = 0;
    while (vamp_metric_count() < VAMP_METRICS_MAX) {
        more.name = names[vamp_metric_count()];
        (void)snprintf(names[vamp_metric_count()], sizeof names[0], "more_%u", vamp_metric_count());
        assert_int_equal(vamp_metrics_append(&more, &id), 0);
    }
    assert_int_equal(vamp_metric_find("more_255"), 255);
    more.name = "one_too_many";
    assert_int_equal(vamp_metrics_append(&more, &id), -ENOBUFS);
    test_values_are_in_the_buckets(state);
}

/* ---- the tool */

static void write_buckets(const struct counted *counted, const char *format, const char *directory)
{
    const struct vamp_writer_ops *ops = vamp_writer_find(format);
    struct vamp_err err = VAMP_ERR_NONE;
    void *options = calloc(1, ops->options_bytes);
    const struct vamp_run run = {
        .id = "11111111-2222-4333-8444-555555555555",
        .workflow = "forecast",
        .component = "vampire",
        .host = "node1",
        .user = "operator",
        .batch_job = "",
        .version = "test",
        .clock = "event",
        .sampling = "none",
        .configuration = "{}",
        .started_ns = START_NS,
    };
    char name[] = "files";
    const struct vamp_output_settings settings = {.name = name, .queue = BUCKETS};
    const struct vamp_output_context context = {
        .run = &run, .schema = counted->buckets[0]->schema, .clock = &vamp_clock_system};
    const struct vamp_ending ending = {.time_ns = START_NS + BUCKETS * SECOND,
                                       .reason = "finished"};
    struct vamp_output *output = NULL;
    if (vamp_opt_presets(ops->options, options, &err) != 0 ||
        vamp_opt_set(vamp_opt_find(ops->options, "directory"), options, directory, &err) != 0 ||
        vamp_output_create(ops, options, &settings, &context, &output, &err) != 0) {
        fail_msg("%s", err.text);
    }
    for (unsigned i = 0; i < BUCKETS; i++) {
        vamp_output_bucket(output, counted->buckets[i]);
    }
    if (finish_output(output, &ending, 20 * SECOND, &err) != 0) {
        fail_msg("%s", err.text);
    }
    vamp_output_free(output);
    vamp_opt_done(ops->options, options);
    free(options);
}

int main(int argc, char **argv)
{
    (void)append_metrics();
    if (argc > 1) {
        struct counted counted;
        count_all(&counted);
        write_buckets(&counted, "hdf5", argv[1]);
        write_buckets(&counted, "jsonl", argv[1]);
        drop(&counted);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_in_the_buckets),
        cmocka_unit_test(test_an_alarm_fires),
        cmocka_unit_test(test_an_output_can_merge_them),
        cmocka_unit_test(test_the_list_has_them),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_the_table_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
