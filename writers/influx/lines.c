/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats buckets as lines: MEASUREMENT,TAG=VALUE,... FIELD=VALUE,... TIME. Values are integers in
 * the units of the files, so that sums are exact. */
#include <string.h>

#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/influx/lines.h"

struct lines {
    struct vamp_text *text;
    struct vamp_text run_tags;
    uint64_t cut;
    bool first; /* no field of the line has been written yet */
};

/* Writes a tag, unless the value is empty. Replaces a backslash, which would escape the next
 * character, by '/', and a newline, which would end the line, by a blank. */
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
            if (strchr(", =", *value) != NULL) {
                vamp_text_word(text, "\\");
            }
            vamp_text_add(text, value, length);
        }
        value += VAMP_MAX(length, 1);
    }
}

static void begin_line(struct lines *lines, const struct vamp_row *row)
{
    vamp_text_word(lines->text, row->metric->name);
    vamp_text_add(lines->text, lines->run_tags.bytes, lines->run_tags.used);
    for (unsigned i = 0; i < row->set->label_count; i++) {
        add_tag(lines->text, vamp_label_name(row->set->labels[i]), row->series->labels[i]);
    }
    vamp_text_word(lines->text, " ");
    lines->first = true;
}

static void add_key(struct lines *lines, const char *key)
{
    if (!lines->first) {
        vamp_text_word(lines->text, ",");
    }
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

/* Writes a field, unless the value is missing. */
static void add_gauge(struct lines *lines, const char *key, int64_t value)
{
    if (value != VAMP_GAUGE_NONE) {
        add_signed(lines, key, value);
    }
}

/* Writes a field; cuts and counts a value above the largest integer of InfluxDB. */
static void add_unsigned(struct lines *lines, const char *key, uint64_t value)
{
    lines->cut += value > INT64_MAX;
    add_signed(lines, key, (int64_t)VAMP_MIN(value, (uint64_t)INT64_MAX));
}

/* Writes the numbers of a histogram but p999, and bounds of those that are not known. */
static void add_histogram(struct lines *lines, const struct vamp_bins *bins,
                          const struct vamp_row *row)
{
    char key[16];
    add_unsigned(lines, "count", row->histogram->count);
    for (unsigned i = 0; i < VAMP_ROW_NUMBERS - 1; i++) {
        struct vamp_range range;
        const char *name = vamp_row_number(row, bins, i, &range);
        if (range.low == range.high) {
            add_unsigned(lines, name, range.low);
            continue;
        }
        (void)snprintf(key, sizeof key, "%s_low", name);
        add_unsigned(lines, key, range.low);
        (void)snprintf(key, sizeof key, "%s_high", name);
        add_unsigned(lines, key, range.high);
    }
}

/* Writes the line of one series: tags, fields, and the start of the bucket. */
static void add_line(struct lines *lines, const struct vamp_bucket *bucket,
                     const struct vamp_row *row)
{
    begin_line(lines, row);
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        add_unsigned(lines, "delta", row->counter->delta);
        add_unsigned(lines, "value", row->counter->value);
        break;
    case VAMP_GAUGE:
        add_gauge(lines, "value", row->gauge->value);
        add_gauge(lines, row->entry->has_bounds ? "min_bound" : "min", row->gauge->min);
        add_gauge(lines, row->entry->has_bounds ? "max_bound" : "max", row->gauge->max);
        break;
    case VAMP_HISTOGRAM:
        add_histogram(lines, &bucket->schema->bins, row);
        break;
    }
    vamp_text_word(lines->text, " ");
    vamp_text_signed(lines->text, bucket->start_ns, 0);
    vamp_text_word(lines->text, "\n");
}

/* Writes a line with the location of each present component. */
static void add_components(struct lines *lines, const struct vamp_present *present, int64_t time_ns)
{
    struct vamp_where_labels where;
    for (unsigned at = 0; vamp_present_next(present, &at, &where);) {
        vamp_text_word(lines->text, VAMP_COMPONENT_INFO);
        vamp_text_add(lines->text, lines->run_tags.bytes, lines->run_tags.used);
        for (unsigned i = 0; i < VAMP_WHERE_LABELS; i++) {
            add_tag(lines->text, where.label[i][0], where.label[i][1]);
        }
        vamp_text_word(lines->text, " value=1i ");
        vamp_text_signed(lines->text, time_ns, 0);
        vamp_text_word(lines->text, "\n");
    }
}

uint64_t influx_lines(struct vamp_text *text, const struct vamp_run *run, uint64_t run_labels,
                      const struct vamp_bucket *bucket, const struct vamp_present *present)
{
    struct lines lines = {.text = text};
    run_labels = vamp_run_labels_to_add(bucket->schema, run_labels);
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char scratch[VAMP_RUN_LABEL_BYTES];
        if ((run_labels >> label & 1U) != 0) {
            add_tag(&lines.run_tags, vamp_run_label_words[label],
                    vamp_run_label(run, (enum vamp_run_label)label, scratch));
        }
    }
    struct vamp_rows rows = vamp_rows(bucket, VAMP_ROWS_IDLE);
    while (vamp_rows_next(&rows)) {
        add_line(&lines, bucket, &rows.row);
    }
    add_components(&lines, present, bucket->start_ns);
    text->failed = text->failed || lines.run_tags.failed;
    vamp_text_done(&lines.run_tags);
    return lines.cut;
}
