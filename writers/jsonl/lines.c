/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/jsonl/internal.h"

#include <libdeflate.h>
#include <stdio.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "vampire/stats/bucket/bucket_json.h"

static void begin(struct jsonl *self, const char *type, int64_t time_ns)
{
    struct vamp_json *json = &self->json;
    vamp_json_line_begin(json);
    vamp_json_unsigned(json, "v", JSONL_VERSION);
    vamp_json_text(json, "type", type);
    vamp_json_text(json, "run", self->run->id);
    vamp_json_time(json, "time", time_ns);
}

/* In a file with a check value: the CRC-32 of all lines that are not written yet, from behind the
 * last one with a check value, and of this line up to here. */
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

void jsonl_header(struct jsonl *self)
{
    struct vamp_json *json = &self->json;
    const struct vamp_run *run = self->run;
    const struct vamp_schema *schema = self->schema;
    begin(self, "header", run->started_ns);
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
    vamp_json_open(json, "metrics", '[');
    for (unsigned i = 0; i < schema->metric_count; i++) {
        metric_description(self, &schema->metrics[i]);
    }
    vamp_json_close(json, ']');
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
    vamp_json_text(json, "sampling", run->sampling != NULL ? run->sampling : "none");
    if (run->examined != NULL) {
        vamp_json_text(json, "examined", run->examined);
    }
    vamp_json_long_text(json, "configuration", run->configuration, JSONL_CONFIGURATION_BYTES);
    if (run->reloads > 0) {
        vamp_json_line_end(json);
        begin(self, "reload", run->reloaded_ns);
        vamp_json_unsigned(json, "number", run->reloads);
    }
    end_checked(self);
}

static void series_lines(struct jsonl *self, const struct vamp_bucket *bucket)
{
    for (unsigned s = 0; s < self->schema->label_set_count; s++) {
        const struct vamp_label_set *set = &self->schema->label_sets[s];
        for (; self->described[s] < bucket->series_count[s]; self->described[s]++) {
            const struct vamp_series *series = bucket->series[s][self->described[s]];
            begin(self, "series", bucket->start_ns);
            vamp_json_text(&self->json, "id", series->id);
            vamp_json_text(&self->json, "label_set", set->name);
            vamp_bucket_json_labels(&self->json, set, series);
            vamp_json_line_end(&self->json);
        }
    }
}

static void known_text(struct vamp_json *json, const char *key, const char *text)
{
    if (*text != '\0') {
        vamp_json_text(json, key, text);
    }
}

static void component_line(struct jsonl *self, const struct vamp_component_row *row,
                           int64_t time_ns)
{
    struct vamp_json *json = &self->json;
    const struct vamp_component *component = &row->component;
    begin(self, "component", time_ns);
    vamp_json_unsigned(json, "index", row->index);
    vamp_json_unsigned(json, "app_id", component->app_id);
    vamp_json_text(json, "name", component->name);
    vamp_json_time(json, "joined", component->joined_ns);
    vamp_json_time(json, "left", component->left_ns);
    vamp_json_unsigned(json, "operations", component->operations);
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

static bool is_same(const struct vamp_component *a, const struct vamp_component *b)
{
    return a->name != NULL && strcmp(a->name, b->name) == 0 && a->app_id == b->app_id &&
           a->joined_ns == b->joined_ns && a->left_ns == b->left_ns && a->reason == b->reason &&
           a->where == b->where;
}

/* A line for each component that joined, left or has another name, in a complete bucket for all. */
static void component_lines(struct jsonl *self, const struct vamp_delivery *delivery, bool complete)
{
    self->written_count = 0;
    for (unsigned i = 0; i < delivery->component_count; i++) {
        const struct vamp_component_row *row = &delivery->components[i];
        struct vamp_component_row *known = &self->components[row->index];
        if (!complete && !is_same(&known->component, &row->component)) {
            self->written[self->written_count++] = row->index;
        }
        *known = *row;
        self->component_count =
            row->index < self->component_count ? self->component_count : row->index + 1;
    }
    for (unsigned i = 0; complete && i < self->component_count; i++) {
        if (self->components[i].component.name != NULL) {
            self->written[self->written_count++] = i;
        }
    }
    for (unsigned i = 0; i < self->written_count; i++) {
        component_line(self, &self->components[self->written[i]], delivery->bucket->start_ns);
    }
}

/* So many pairs of numbers are below 64 KiB. */
#define PAIRS_MAX 2000

/* What the components have done so far, of those that changed. */
static void operations_lines(struct jsonl *self, const struct vamp_delivery *delivery)
{
    struct vamp_json *json = &self->json;
    for (unsigned i = 0; i < delivery->component_count; i++) {
        const struct vamp_component_row *row = &delivery->components[i];
        if (i % PAIRS_MAX == 0) {
            begin(self, "operations", delivery->bucket->start_ns);
            vamp_json_open(json, "operations", '[');
        }
        vamp_json_open(json, NULL, '[');
        vamp_json_unsigned(json, NULL, row->index);
        vamp_json_unsigned(json, NULL, row->component.operations);
        vamp_json_close(json, ']');
        if ((i + 1) % PAIRS_MAX == 0 || i + 1 == delivery->component_count) {
            vamp_json_close(json, ']');
            vamp_json_line_end(json);
        }
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

void jsonl_lost(struct jsonl *self, const char *what, const char *reason, uint64_t count)
{
    lost_line(self, self->end_ns, what, reason, count);
}

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

/* What has turned out to be unknown since the header; all of it in a complete bucket. */
static void learned_lines(struct jsonl *self, const struct vamp_bucket *bucket, bool complete)
{
    const uint32_t said = self->in_header | (complete ? 0 : self->learned);
    uint32_t fresh = vamp_coverage_unknown(self->schema->coverage) & ~said;
    char reason[VAMP_ABSENCE_BYTES];
    self->learned |= fresh;
    for (; fresh != 0; fresh &= fresh - 1) {
        const uint32_t bit = fresh & -fresh;
        begin(self, "not_observed", bucket->start_ns);
        absence(&self->json, vamp_unknown_word((enum vamp_unknown)__builtin_ctz(bit)),
                vamp_absence_reason(bit, reason));
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
    if (bucket->cdos_unlisted > 0) {
        lost_line(self, bucket->start_ns, "cdos", "more than a bucket lists",
                  bucket->cdos_unlisted);
    }
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
    if (bucket->anomalies_unlisted > 0) {
        lost_line(self, bucket->start_ns, "alerts", "more than a bucket lists",
                  bucket->anomalies_unlisted);
    }
}

/* Each with the number of all, listed or not. */
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
        vamp_json_text(json, "producer", demand->producer != NULL ? demand->producer : "");
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
    if (bucket->alarms_unlisted > 0) {
        lost_line(self, bucket->start_ns, "alarms", "more than a bucket lists",
                  bucket->alarms_unlisted);
    }
}

/* ---- values */

/* The lines of a metric in a bucket all begin alike. */
static void metric_begin(struct jsonl *self, const struct vamp_bucket *bucket,
                         const struct vamp_row *row)
{
    if (self->alike.entry == row->entry) {
        vamp_json_line_begin_like(&self->json, self->alike.line, self->alike.bytes);
    } else {
        self->alike.line = self->json.used;
        begin(self, "metric", bucket->start_ns);
        vamp_json_unsigned(&self->json, "bucket", bucket->number);
        vamp_json_text(&self->json, "metric", row->metric->name);
        self->alike.bytes = self->json.used - self->alike.line;
        self->alike.entry = row->entry;
    }
    vamp_json_text(&self->json, "series", row->series->id);
    vamp_bucket_json_labels(&self->json, row->set, row->series);
}

/* Whether a line is due: the gauge is not what the last line said, or varied. */
static bool gauge_is_due(struct jsonl *self, const struct vamp_row *row, bool complete)
{
    const struct vamp_gauge_value *gauge = row->gauge;
    int64_t *last = &self->gauges[row->place][row->number];
    const bool was_known = gauge->max != VAMP_GAUGE_NONE; /* at some time in the bucket */
    const bool due = gauge->value != *last || gauge->min != gauge->max ||
                     (was_known && (complete || gauge->value == VAMP_GAUGE_NONE));
    *last = gauge->value;
    return due;
}

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

static unsigned metric_lines(struct jsonl *self, const struct vamp_bucket *bucket, bool complete)
{
    const struct vamp_bins *bins = &self->schema->bins;
    unsigned lines = 0;
    self->alike.entry = NULL;
    struct vamp_rows rows = vamp_rows(bucket, complete ? 0 : VAMP_ROWS_IDLE_COUNTERS);
    while (vamp_rows_next(&rows)) {
        const struct vamp_row *row = &rows.row;
        if (row->metric->kind == VAMP_GAUGE && !gauge_is_due(self, row, complete)) {
            continue;
        }
        metric_begin(self, bucket, row);
        vamp_bucket_json_values(&self->json, bins, row);
        if (row->metric->kind == VAMP_HISTOGRAM) {
            bins_member(&self->json, bins, row->histogram);
        }
        vamp_json_line_end(&self->json);
        lines++;
    }
    return lines;
}

/* The bucket's own line is its last one: it contains the number of metric lines before it, so that
 * a reader can check that it has them all. */
void jsonl_bucket(struct jsonl *self, const struct vamp_delivery *delivery)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    /* After a loss a reader may hold outdated values. */
    const bool complete = self->buckets % self->options->complete_every == 0 ||
                          delivery->lost_before > 0 || self->ask_complete;
    self->complete = complete;
    component_lines(self, delivery, complete);
    self->components_end = self->json.used;
    series_lines(self, bucket);
    self->series_end = self->json.used;
    operations_lines(self, delivery);
    gap_lines(self, delivery);
    lost_lines(self, delivery);
    learned_lines(self, bucket, complete);
    cdo_lines(self, bucket);
    anomaly_lines(self, bucket);
    alarm_lines(self, bucket);
    pending_lines(self, bucket);
    const uint64_t oversized = self->json.oversized;
    unsigned lines = metric_lines(self, bucket, complete);
    const uint64_t dropped = self->json.oversized - oversized;
    if (dropped > 0) {
        lost_line(self, bucket->start_ns, "lines", "longer than 64 KiB", dropped);
    }
    begin(self, "bucket", bucket->start_ns);
    vamp_json_unsigned(&self->json, "bucket", bucket->number);
    vamp_json_unsigned(&self->json, "buckets", bucket->buckets);
    vamp_json_signed(&self->json, "width_ns", bucket->width_ns);
    vamp_json_bool(&self->json, "complete", complete);
    vamp_json_unsigned(&self->json, "metrics", lines - dropped);
    vamp_bucket_json_account(&self->json, &bucket->accounting, self->schema->coverage);
    end_checked(self);
    self->end_ns = bucket->start_ns + bucket->width_ns;
    self->buckets++;
}

void jsonl_end(struct jsonl *self, const struct vamp_ending *ending)
{
    static const char rotated[] = "rotated";
    begin(self, "end", ending != NULL ? ending->time_ns : self->end_ns);
    vamp_json_text(&self->json, "reason", ending != NULL ? ending->reason : rotated);
    if (ending != NULL) {
        vamp_bucket_json_account(&self->json, &ending->accounting, self->schema->coverage);
    }
    end_checked(self);
}
