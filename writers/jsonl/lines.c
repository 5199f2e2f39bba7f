/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/jsonl/internal.h"

#include <libdeflate.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket_json.h"

/* A list continues in another line after this many bytes. The remaining space of a line suffices
 * for any element. */
#define LIST_BYTES 16384

static void begin(struct jsonl *self, const char *type, int64_t time_ns)
{
    vamp_json_line_begin(&self->json);
    vamp_json_text(&self->json, "type", type);
    vamp_json_time(&self->json, "time", time_ns);
}

/* Returns whether the list must be continued in another line. */
static bool is_long(const struct vamp_json *json)
{
    return json->used - json->line > LIST_BYTES;
}

/* Ends a line. In a file, a check value is added: the CRC-32 of all lines since the previous check
 * value, and of this line so far. */
static void end_checked(struct jsonl *self)
{
    struct vamp_json *json = &self->json;
    if (self->kind == JSONL_FILE && !json->failed) {
        char sum[9];
        (void)snprintf(sum, sizeof sum, "%08x", libdeflate_crc32(0, json->bytes, json->used));
        vamp_json_text(json, "check", sum);
    }
    vamp_json_line_end(json);
}

static void metric_description(struct jsonl *self, const struct vamp_schema_metric *entry)
{
    struct vamp_json *json = &self->json;
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    const struct vamp_label_set *set = &self->schema->label_sets[entry->label_set];
    vamp_json_open(json, NULL, '{');
    vamp_json_text(json, "name", metric->name);
    vamp_json_text(json, "kind", vamp_metric_kind_name(metric->kind));
    vamp_json_text(json, "unit", metric->unit);
    vamp_json_open(json, "labels", '[');
    for (unsigned i = 0; i < set->label_count; i++) {
        vamp_json_text(json, NULL, vamp_label_name(set->labels[i]));
    }
    vamp_json_close(json, ']');
    vamp_json_text(json, "help", metric->help);
    vamp_json_text(json, "origin", metric->origin);
    vamp_json_close(json, '}');
}

static void absence(struct vamp_json *json, const char *what, const char *reason)
{
    vamp_json_text(json, "what", what);
    vamp_json_text(json, "reason", reason);
}

/* Returns whether the metric is a column of the `ranks` lines. */
static bool is_of_ranks(const struct vamp_schema *schema, unsigned metric)
{
    const struct vamp_label_set *set = &schema->label_sets[schema->metrics[metric].label_set];
    return set->label_count == 1 && set->labels[0] == VAMP_LABEL_COMPONENT;
}

void jsonl_header(struct jsonl *self)
{
    struct vamp_json *json = &self->json;
    const struct vamp_run *run = self->run;
    const struct vamp_schema *schema = self->schema;
    vamp_json_line_begin(json);
    vamp_json_unsigned(json, "v", JSONL_VERSION);
    vamp_json_text(json, "type", "header");
    vamp_json_text(json, "run", run->id);
    vamp_json_time(json, "time", run->started_ns);
    vamp_json_text(json, "vampire", run->version);
    vamp_json_text(json, "workflow", run->workflow);
    vamp_json_text(json, "component", run->component);
    vamp_json_text(json, "host", run->host);
    vamp_json_unsigned(json, "pid", run->pid);
    vamp_json_text(json, "user", run->user);
    vamp_json_text(json, "batch_job", run->batch_job);
    vamp_json_text(json, "output", self->name);
    vamp_json_unsigned(json, "segment", self->segment);
    vamp_json_text(json, "clock", run->clock);
    vamp_json_text(json, "level", vamp_level_name(schema->level));
    vamp_json_signed(json, "bucket_ns", schema->bucket_ns);
    vamp_json_unsigned(json, "sub_bits", schema->bins.sub_bits);
    /* The schema. */
    vamp_json_open(json, "metrics", '[');
    for (unsigned i = 0; i < schema->metric_count; i++) {
        metric_description(self, &schema->metrics[i]);
    }
    vamp_json_close(json, ']');
    if (self->ranks != NULL) {
        vamp_json_open(json, "ranks", '[');
        for (unsigned i = 0; i < self->ranks->metric_count; i++) {
            if (is_of_ranks(self->ranks, i)) {
                vamp_json_text(json, NULL, vamp_metrics[self->ranks->metrics[i].id].name);
            }
        }
        vamp_json_close(json, ']');
    }
    /* Unknown properties, and how events were selected. */
    self->in_header = vamp_coverage_unknown(schema->coverage);
    unsigned position = 0;
    char reason[VAMP_ABSENCE_BYTES];
    const char *absent = NULL;
    vamp_json_open(json, "not_observed", '[');
    while ((absent = vamp_coverage_next(schema->coverage, &position, reason)) != NULL) {
        vamp_json_open(json, NULL, '{');
        absence(json, absent, reason);
        vamp_json_close(json, '}');
    }
    vamp_json_close(json, ']');
    vamp_json_text(json, "sampling", vamp_text_or(run->sampling, "none"));
    if (run->examined != NULL) {
        vamp_json_text(json, "examined", run->examined);
    }
    vamp_json_long_text(json, "configuration", run->configuration, JSONL_CONFIGURATION_BYTES);
    /* After a reload, a second line. */
    if (run->reloads > 0) {
        vamp_json_line_end(json);
        begin(self, "reload", run->reloaded_ns);
        vamp_json_unsigned(json, "number", run->reloads);
    }
    end_checked(self);
}

static void known_text(struct vamp_json *json, const char *key, const char *text)
{
    if (*text != '\0') {
        vamp_json_text(json, key, text);
    }
}

static void component_line(struct jsonl *self, const struct vamp_component_row *row)
{
    struct vamp_json *json = &self->json;
    const struct vamp_component *component = &row->component;
    vamp_json_line_begin(json);
    vamp_json_text(json, "type", "component");
    vamp_json_unsigned(json, "index", row->index);
    vamp_json_unsigned(json, "app_id", component->app_id);
    vamp_json_text(json, "name", component->name);
    vamp_json_time(json, "joined", component->joined_ns);
    vamp_json_time(json, "left", component->left_ns);
    if (component->left_ns != INT64_MIN) {
        vamp_json_text(json, "reason", vamp_leave_reason_name(component->reason));
    }
    if (component->where != NULL) {
        const struct vamp_component_where *where = component->where;
        known_text(json, "host", where->host);
        if (where->pid != 0) {
            vamp_json_unsigned(json, "pid", where->pid);
        }
        known_text(json, "user", where->user);
        known_text(json, "batch_job", where->job);
    }
    vamp_json_line_end(json);
}

/* Returns whether both rows describe the same state of a component, apart from its operations. */
static bool is_same(const struct vamp_component *a, const struct vamp_component *b)
{
    return a->name != NULL && strcmp(a->name, b->name) == 0 && a->app_id == b->app_id &&
           a->joined_ns == b->joined_ns && a->left_ns == b->left_ns && a->reason == b->reason &&
           a->where == b->where;
}

/* Writes the total operations of each component that had operations in the bucket; in a complete
 * bucket, of all components. */
static void operations_lines(struct jsonl *self, const struct vamp_component_row *rows,
                             unsigned count)
{
    struct vamp_json *json = &self->json;
    for (unsigned i = 0; i < count;) {
        vamp_json_line_begin(json);
        vamp_json_text(json, "type", "operations");
        vamp_json_open(json, "operations", '[');
        for (; i < count && !is_long(json); i++) {
            if (rows[i].component.name != NULL) {
                vamp_json_open(json, NULL, '[');
                vamp_json_unsigned(json, NULL, rows[i].index);
                vamp_json_unsigned(json, NULL, rows[i].component.operations);
                vamp_json_close(json, ']');
            }
        }
        vamp_json_close(json, ']');
        vamp_json_line_end(json);
    }
}

/* Writes a line for each component that joined, left or was renamed; in a complete bucket, for all
 * components. */
static void component_lines(struct jsonl *self, const struct vamp_delivery *delivery, bool complete)
{
    for (unsigned i = 0; i < delivery->component_count; i++) {
        const struct vamp_component_row *row = &delivery->components[i];
        struct vamp_component_row *known = &self->components[row->index];
        if (!complete && !is_same(&known->component, &row->component)) {
            component_line(self, row);
        }
        *known = *row;
        self->component_count = VAMP_MAX(self->component_count, row->index + 1);
    }
    for (unsigned i = 0; complete && i < self->component_count; i++) {
        if (self->components[i].component.name != NULL) {
            component_line(self, &self->components[i]);
        }
    }
    if (complete) {
        operations_lines(self, self->components, self->component_count);
    } else {
        operations_lines(self, delivery->components, delivery->component_count);
    }
}

static void gap_lines(struct jsonl *self, const struct vamp_delivery *delivery)
{
    struct vamp_json *json = &self->json;
    for (unsigned i = 0; i < delivery->gap_count; i++) {
        const struct vamp_gap *gap = &delivery->gaps[i];
        begin(self, "gap", delivery->bucket->start_ns);
        vamp_json_time(json, "start", gap->start_ns);
        vamp_json_time(json, "end", gap->end_ns);
        vamp_json_text(json, "reason", vamp_gap_reason_name(gap->reason));
        vamp_json_unsigned(json, "events", gap->events);
        vamp_json_line_end(json);
    }
}

static void lost_line(struct jsonl *self, int64_t time_ns, const char *what, const char *reason,
                      uint64_t count)
{
    begin(self, "lost", time_ns);
    vamp_json_text(&self->json, "what", what);
    vamp_json_text(&self->json, "reason", reason);
    vamp_json_unsigned(&self->json, "count", count);
    vamp_json_line_end(&self->json);
}

static void unlisted_line(struct jsonl *self, const struct vamp_bucket *bucket, const char *what,
                          uint64_t count)
{
    if (count > 0) {
        lost_line(self, bucket->start_ns, what, "more than a bucket lists", count);
    }
}

void jsonl_lost(struct jsonl *self, const char *what, const char *reason, uint64_t count)
{
    lost_line(self, self->end_ns, what, reason, count);
}

/* Writes the buckets lost before this one, and the events lost since the last call. */
static void lost_lines(struct jsonl *self, const struct vamp_delivery *delivery)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    if (delivery->lost_before > 0) {
        lost_line(self, bucket->start_ns, "buckets", "output", delivery->lost_before);
    }
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        uint64_t lost = bucket->accounting.lost[i];
        if (lost > self->lost[i]) {
            lost_line(self, bucket->start_ns, "events", vamp_loss_name(i), lost - self->lost[i]);
        }
        self->lost[i] = lost;
    }
}

/* Reports properties found to be unknown since the header; in a complete bucket, all unknown
 * properties. */
static void learned_lines(struct jsonl *self, const struct vamp_bucket *bucket, bool complete)
{
    uint32_t reported = self->in_header;
    if (!complete) {
        reported |= self->learned;
    }
    uint32_t fresh = vamp_coverage_unknown(self->schema->coverage) & ~reported;
    char reason[VAMP_ABSENCE_BYTES];
    self->learned |= fresh;
    for (; fresh != 0; fresh &= fresh - 1) {
        const uint32_t bit = fresh & -fresh;
        begin(self, "not_observed", bucket->start_ns);
        absence(&self->json, vamp_unknown_word((enum vamp_unknown)__builtin_ctz(bit)),
                vamp_unknown_reason(bit, reason));
        vamp_json_line_end(&self->json);
    }
}

static void cdo_lines(struct jsonl *self, const struct vamp_bucket *bucket)
{
    struct vamp_json *json = &self->json;
    for (unsigned i = 0; i < bucket->cdo_count; i++) {
        const struct vamp_cdo_row *row = &bucket->cdos[i];
        begin(self, "cdo", bucket->start_ns);
        vamp_bucket_json_cdo_id(json, &row->id, row->id_known);
        vamp_json_text(json, "name", row->name);
        vamp_json_text(json, "producer", row->producer);
        if (row->size_known) {
            vamp_json_unsigned(json, "size_bytes", row->size_bytes);
        } else {
            vamp_json_null(json, "size_bytes");
        }
        vamp_json_unsigned(json, "demands", row->demands);
        vamp_json_unsigned(json, "consumers", row->consumers);
        for (unsigned what = 0; what < VAMP_CDO_TIME_COUNT; what++) {
            vamp_json_time(json, vamp_cdo_time_name(what), row->times_ns[what]);
        }
        vamp_json_text(json, "end", vamp_cdo_end_name(row->end));
        vamp_json_line_end(json);
    }
    unlisted_line(self, bucket, "cdos", bucket->cdos_unlisted);
}

static void anomaly_lines(struct jsonl *self, const struct vamp_bucket *bucket)
{
    struct vamp_json *json = &self->json;
    for (unsigned i = 0; i < bucket->anomaly_count; i++) {
        const struct vamp_listed_anomaly *listed = &bucket->anomalies[i];
        begin(self, "alert", listed->time_ns);
        vamp_json_unsigned(json, "bucket", bucket->number);
        vamp_bucket_json_anomaly(json, listed);
        vamp_json_line_end(json);
    }
    unlisted_line(self, bucket, "alerts", bucket->anomalies_unlisted);
}

/* Writes the pending demands. Each line contains the number of all, including demands not listed.
 */
static void pending_lines(struct jsonl *self, const struct vamp_bucket *bucket)
{
    struct vamp_json *json = &self->json;
    for (unsigned i = 0; i < bucket->demand_count; i++) {
        const struct vamp_waiting_demand *demand = &bucket->demands[i];
        begin(self, "pending", bucket->start_ns);
        vamp_json_unsigned(json, "bucket", bucket->number);
        vamp_json_unsigned(json, "demands", bucket->demands_pending);
        vamp_json_text(json, "component", demand->component);
        vamp_json_time(json, "since", demand->since_ns);
        vamp_json_unsigned(json, "age_ns", demand->age_ns);
        vamp_bucket_json_cdo_id(json, &demand->id, demand->id_known);
        vamp_json_text(json, "name", demand->name);
        vamp_json_text(json, "producer", vamp_text_or(demand->producer, ""));
        vamp_json_bool(json, "offered", demand->offered);
        vamp_json_bool(json, "uncertain", demand->uncertain);
        vamp_json_line_end(json);
    }
}

static void alarm_lines(struct jsonl *self, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < bucket->alarm_count; i++) {
        begin(self, "alarm", bucket->alarms[i].time_ns);
        vamp_alarm_change_json(&self->json, &bucket->alarms[i]);
        vamp_json_line_end(&self->json);
    }
    unlisted_line(self, bucket, "alarms", bucket->alarms_unlisted);
}

/* ---- values */

/* Returns whether the gauge must be written: it varied, or differs from `last`, its value in the
 * last line. In a complete bucket, every gauge that had a value is written. */
static bool gauge_is_due(const struct vamp_gauge_value *gauge, int64_t last, bool complete)
{
    if (gauge->value != last || gauge->min != gauge->max) {
        return true;
    }
    const bool had_value = gauge->max != VAMP_GAUGE_NONE; /* at some time in the bucket */
    return had_value && (complete || gauge->value == VAMP_GAUGE_NONE);
}

/* Writes the bins that contain values, as pairs of number and count. */
static void bins_member(struct vamp_json *json, const struct vamp_bins *bins,
                        const struct vamp_bucket_histogram *histogram)
{
    vamp_json_open(json, "bins", '[');
    for (uint32_t i = 0; i < histogram->bin_count; i++) {
        vamp_json_open(json, NULL, '[');
        vamp_json_unsigned(json, NULL, bins->lower[histogram->bins[i].bin]);
        vamp_json_unsigned(json, NULL, histogram->bins[i].count);
        vamp_json_close(json, ']');
    }
    vamp_json_close(json, ']');
}

/* Writes the labels and numbers of one series. A gauge that did not change has a single number. */
static void value_row(struct vamp_json *json, const struct vamp_bins *bins,
                      const struct vamp_row *row)
{
    const bool is_steady = row->metric->kind == VAMP_GAUGE && !row->entry->has_bounds &&
                           row->gauge->min == row->gauge->value &&
                           row->gauge->max == row->gauge->value;
    vamp_json_open(json, NULL, '{');
    vamp_bucket_json_label_members(json, row->set, row->series);
    if (is_steady && row->gauge->value != VAMP_GAUGE_NONE) {
        vamp_json_signed(json, "value", row->gauge->value);
    } else {
        vamp_bucket_json_values(json, bins, row);
    }
    if (row->metric->kind == VAMP_HISTOGRAM) {
        bins_member(json, bins, row->histogram);
    }
    vamp_json_close(json, '}');
}

static void end_values(struct vamp_json *json)
{
    vamp_json_close(json, ']');
    vamp_json_close(json, '}');
    vamp_json_line_end(json);
}

/* Writes the values of a bucket as lists of series by metric, and continues a long list in another
 * line. Stores the gauges written in self->gauges. Returns the number of lines. */
static unsigned value_lines(struct jsonl *self, const struct vamp_bucket *bucket, bool complete)
{
    struct vamp_json *json = &self->json;
    const unsigned none = UINT_MAX;
    unsigned lines = 0, open = none; /* index of the metric whose list is open */
    struct vamp_rows rows = vamp_rows(bucket, complete ? 0 : VAMP_ROWS_IDLE_COUNTERS);
    while (vamp_rows_next(&rows)) {
        const struct vamp_row *row = &rows.row;
        if (row->metric->kind == VAMP_GAUGE) {
            int64_t *last = &self->gauges[row->place][row->number];
            const bool is_due = gauge_is_due(row->gauge, *last, complete);
            *last = row->gauge->value;
            if (!is_due) {
                continue;
            }
        }
        if (open != none && is_long(json)) {
            end_values(json);
            open = none;
        }
        if (open == none) {
            begin(self, "values", bucket->start_ns);
            vamp_json_unsigned(json, "bucket", bucket->number);
            vamp_json_open(json, "values", '{');
            lines++;
        } else if (open != row->place) {
            vamp_json_close(json, ']');
        }
        if (open != row->place) {
            vamp_json_open(json, row->metric->name, '[');
            open = row->place;
        }
        value_row(json, &self->schema->bins, row);
    }
    if (open != none) {
        end_values(json);
    }
    return lines;
}

/* ---- ranks */

/* Writes the column of a histogram: sum, maximum, and the bins that contain values. */
static void times_column(struct vamp_json *json, const struct vamp_bucket_histogram *times)
{
    vamp_json_open(json, NULL, '[');
    vamp_json_unsigned(json, NULL, times->sum);
    vamp_json_unsigned(json, NULL, times->max);
    for (uint32_t i = 0; i < times->bin_count; i++) {
        vamp_json_unsigned(json, NULL, times->bins[i].bin);
        vamp_json_unsigned(json, NULL, times->bins[i].count);
    }
    vamp_json_close(json, ']');
}

/* Returns whether the series counted something; `next`: the first histogram not yet written. */
static bool has_counted(const struct vamp_metric_values *values, bool timed, unsigned series,
                        unsigned next)
{
    if (timed) {
        return next < values->count && values->histograms[next].series == series;
    }
    return series < values->count && values->counters[series].delta > 0;
}

/* Writes a component's name and its columns up to the last nonzero one; nothing if all are 0.
 * `next`: by metric, the first histogram not yet written. */
static void rank_row(struct vamp_json *json, const struct vamp_bucket *ranks, unsigned series,
                     unsigned *next)
{
    unsigned column = 0, written = 0;
    for (unsigned m = 0; m < ranks->schema->metric_count; m++) {
        if (!is_of_ranks(ranks->schema, m)) {
            continue;
        }
        const struct vamp_metric_values *values = &ranks->values[m];
        const bool timed = vamp_metrics[ranks->schema->metrics[m].id].kind == VAMP_HISTOGRAM;
        column++;
        if (!has_counted(values, timed, series, next[m])) {
            continue;
        }
        if (written == 0) {
            const unsigned set = ranks->schema->metrics[m].label_set;
            vamp_json_open(json, NULL, '[');
            vamp_json_text(json, NULL, ranks->series[set][series]->labels[0]);
        }
        for (; written + 1 < column; written++) {
            vamp_json_unsigned(json, NULL, 0);
        }
        if (timed) {
            times_column(json, values->histograms[next[m]++].histogram);
        } else {
            vamp_json_unsigned(json, NULL, values->counters[series].delta);
        }
        written = column;
    }
    if (written > 0) {
        vamp_json_close(json, ']');
    }
}

/* Writes the counts of each component. The metrics of ranks share one label set. */
static void ranks_lines(struct jsonl *self, const struct vamp_bucket *ranks)
{
    struct vamp_json *json = &self->json;
    unsigned next[VAMP_METRICS_MAX] = {0}, series = 0, count = 0;
    for (unsigned m = 0; m < ranks->schema->metric_count; m++) {
        const unsigned set = ranks->schema->metrics[m].label_set;
        if (is_of_ranks(ranks->schema, m)) {
            count = ranks->series_count[set];
        }
    }
    do {
        begin(self, "ranks", ranks->start_ns);
        vamp_json_signed(json, "width_ns", ranks->width_ns);
        vamp_json_unsigned(json, "buckets", ranks->buckets);
        vamp_json_open(json, "ranks", '[');
        for (; series < count && !is_long(json); series++) {
            rank_row(json, ranks, series, next);
        }
        vamp_json_close(json, ']');
        vamp_json_line_end(json);
    } while (series < count);
}

/* ---- the bucket */

static uint64_t lost_by_outputs(const struct vamp_accounting *account)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < account->output_count; i++) {
        lost += account->outputs[i].lost;
    }
    return lost;
}

/* Returns whether events were counted or lost since the last call of store_accounting. */
static bool accounting_changed(const struct jsonl *self, const struct vamp_accounting *accounting)
{
    return lost_by_outputs(accounting) != self->lost_by_outputs ||
           memcmp(accounting, &self->account, offsetof(struct vamp_accounting, outputs)) != 0;
}

/* Stores the accounting for the next call of accounting_changed. */
static void store_accounting(struct jsonl *self, const struct vamp_accounting *accounting)
{
    memcpy(&self->account, accounting, offsetof(struct vamp_accounting, outputs));
    self->lost_by_outputs = lost_by_outputs(accounting);
}

/* Writes the last line of a bucket. It contains the number of value lines before it, so that a
 * reader can check that none is missing. Unless the bucket is complete, defaults are omitted. */
static void bucket_line(struct jsonl *self, const struct vamp_bucket *bucket, unsigned lines)
{
    struct vamp_json *json = &self->json;
    begin(self, "bucket", bucket->start_ns);
    vamp_json_unsigned(json, "bucket", bucket->number);
    vamp_json_unsigned(json, "values", lines);
    if (bucket->buckets != 1) {
        vamp_json_unsigned(json, "buckets", bucket->buckets);
    }
    if (self->complete || bucket->width_ns != self->schema->bucket_ns) {
        vamp_json_signed(json, "width_ns", bucket->width_ns);
    }
    if (self->complete) {
        vamp_json_bool(json, "complete", true);
        vamp_json_text(json, "run", self->run->id);
    }
    if (self->complete || accounting_changed(self, &bucket->accounting)) {
        vamp_bucket_json_account(json, &bucket->accounting, self->schema->coverage);
    }
    store_accounting(self, &bucket->accounting);
    end_checked(self);
}

void jsonl_bucket(struct jsonl *self, const struct vamp_delivery *delivery)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    /* After a loss, readers may have outdated values. */
    const bool complete = self->buckets % self->options->complete_every == 0 ||
                          delivery->lost_before > 0 || self->ask_complete;
    self->complete = complete;
    component_lines(self, delivery, complete);
    gap_lines(self, delivery);
    lost_lines(self, delivery);
    learned_lines(self, bucket, complete);
    cdo_lines(self, bucket);
    anomaly_lines(self, bucket);
    alarm_lines(self, bucket);
    pending_lines(self, bucket);
    const uint64_t oversized = self->json.oversized;
    const unsigned lines = value_lines(self, bucket, complete);
    const uint64_t dropped = self->json.oversized - oversized;
    if (dropped > 0) {
        lost_line(self, bucket->start_ns, "lines", "longer than 64 KiB", dropped);
    }
    if (delivery->ranks != NULL) {
        ranks_lines(self, delivery->ranks);
    }
    bucket_line(self, bucket, lines - (unsigned)dropped);
    self->end_ns = bucket->start_ns + bucket->width_ns;
    self->buckets++;
}

void jsonl_end(struct jsonl *self, const struct vamp_ending *ending)
{
    if (ending == NULL) {
        begin(self, "end", self->end_ns);
        vamp_json_text(&self->json, "reason", "rotated");
    } else {
        if (ending->ranks != NULL) {
            ranks_lines(self, ending->ranks);
        }
        begin(self, "end", ending->time_ns);
        vamp_json_text(&self->json, "reason", ending->reason);
        vamp_bucket_json_account(&self->json, &ending->accounting, self->schema->coverage);
    }
    end_checked(self);
}
