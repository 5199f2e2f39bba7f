/* SPDX-License-Identifier: BSD-3-Clause */
/* Buckets as lines: MEASUREMENT,TAG=VALUE,... FIELD=VALUE,... TIME. Integers, in the units of the
 * files, so that sums are exact. */
#include <string.h>

#include "vampire/core/utf8.h"
#include "writers/format/run_labels.h"
#include "writers/influx/internal.h"

struct lines {
    struct vamp_text *text;
    const struct vamp_bucket *bucket;
    struct vamp_text run_tags;
    uint64_t cut;
    bool first; /* no field of the line was written yet */
};

/* An empty value is no tag. A backslash would change the meaning of what follows it, and a newline
 * would end the line: they become '/' and a blank. */
static void add_tag(struct vamp_text *text, const char *name, const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    vamp_text_word(text, ",");
    vamp_text_word(text, name);
    vamp_text_word(text, "=");
    while (*value != '\0') {
        const size_t length = vamp_utf8_length(value);
        if (length == 0) {
            vamp_text_word(text, VAMP_UTF8_REPLACEMENT);
        } else if (*value == '\\') {
            vamp_text_word(text, "/");
        } else if (*value == '\n' || *value == '\r') {
            vamp_text_word(text, "\\ ");
        } else {
            vamp_text_word(text, strchr(", =", *value) != NULL ? "\\" : "");
            vamp_text_add(text, value, length);
        }
        value += length > 0 ? length : 1;
    }
}

static void begin_line(struct lines *lines, const struct vamp_schema_metric *entry, unsigned series)
{
    const struct vamp_label_set *set = &lines->bucket->schema->label_sets[entry->label_set];
    const struct vamp_series *described = lines->bucket->series[entry->label_set][series];
    vamp_text_word(lines->text, vamp_metrics[entry->id].name);
    vamp_text_add(lines->text, lines->run_tags.bytes, lines->run_tags.used);
    for (unsigned i = 0; i < set->label_count; i++) {
        add_tag(lines->text, vamp_label_name(set->labels[i]), described->labels[i]);
    }
    vamp_text_word(lines->text, " ");
    lines->first = true;
}

static void add_key(struct lines *lines, const char *key)
{
    vamp_text_word(lines->text, lines->first ? "" : ",");
    vamp_text_word(lines->text, key);
    vamp_text_word(lines->text, "=");
    lines->first = false;
}

static void add_signed(struct lines *lines, const char *key, int64_t value)
{
    add_key(lines, key);
    vamp_text_signed(lines->text, value, 0);
    vamp_text_word(lines->text, "i");
}

/* A value that does not exist is no field. */
static void add_gauge(struct lines *lines, const char *key, int64_t value)
{
    if (value != VAMP_GAUGE_NONE) {
        add_signed(lines, key, value);
    }
}

static void add_unsigned(struct lines *lines, const char *key, uint64_t value)
{
    lines->cut += value > INT64_MAX ? 1 : 0;
    add_signed(lines, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void end_line(const struct lines *lines)
{
    vamp_text_word(lines->text, " ");
    vamp_text_signed(lines->text, lines->bucket->start_ns, 0);
    vamp_text_word(lines->text, "\n");
}

static void counter_lines(struct lines *lines, const struct vamp_schema_metric *entry,
                          const struct vamp_metric_values *values)
{
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_counter_value *counter = &values->counters[i];
        if (counter->delta != 0) {
            begin_line(lines, entry, i);
            add_unsigned(lines, "delta", counter->delta);
            add_unsigned(lines, "value", counter->value);
            end_line(lines);
        }
    }
}

static void gauge_lines(struct lines *lines, const struct vamp_schema_metric *entry,
                        const struct vamp_metric_values *values)
{
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_gauge_value *gauge = &values->gauges[i];
        if (gauge->max == VAMP_GAUGE_NONE) {
            continue; /* nothing to measure at any time in the bucket */
        }
        begin_line(lines, entry, i);
        add_gauge(lines, "value", gauge->value);
        add_gauge(lines, entry->has_bounds ? "min_bound" : "min", gauge->min);
        add_gauge(lines, entry->has_bounds ? "max_bound" : "max", gauge->max);
        end_line(lines);
    }
}

static void histogram_lines(struct lines *lines, const struct vamp_schema_metric *entry,
                            const struct vamp_metric_values *values)
{
    static const struct {
        const char *key;
        double q;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_bucket_histogram *histogram = values->histograms[i].histogram;
        begin_line(lines, entry, values->histograms[i].series);
        add_unsigned(lines, "count", histogram->count);
        add_unsigned(lines, "sum", histogram->sum);
        add_unsigned(lines, "min", histogram->min);
        add_unsigned(lines, "max", histogram->max);
        for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++) {
            add_unsigned(lines, quantiles[q].key,
                         vamp_bucket_histogram_quantile(histogram, &lines->bucket->schema->bins,
                                                        quantiles[q].q));
        }
        end_line(lines);
    }
}

uint64_t influx_lines(struct vamp_text *text, const struct vamp_run *run, uint64_t run_labels,
                      const struct vamp_bucket *bucket)
{
    struct lines lines = {.text = text, .bucket = bucket};
    run_labels = vamp_run_labels_to_add(bucket->schema, run_labels);
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char scratch[VAMP_RUN_LABEL_BYTES];
        if ((run_labels >> label & 1U) != 0) {
            add_tag(&lines.run_tags, vamp_run_label_words[label],
                    vamp_run_label(run, (enum vamp_run_label)label, scratch));
        }
    }
    for (unsigned i = 0; i < bucket->schema->metric_count; i++) {
        const struct vamp_schema_metric *entry = &bucket->schema->metrics[i];
        switch (vamp_metrics[entry->id].kind) {
        case VAMP_COUNTER:
            counter_lines(&lines, entry, &bucket->values[i]);
            break;
        case VAMP_GAUGE:
            gauge_lines(&lines, entry, &bucket->values[i]);
            break;
        case VAMP_HISTOGRAM:
            histogram_lines(&lines, entry, &bucket->values[i]);
            break;
        }
    }
    text->failed = text->failed || lines.run_tags.failed;
    vamp_text_done(&lines.run_tags);
    return lines.cut;
}
