/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of the bucket that is being closed. Counters and histograms add, whatever the order.
 * Of a gauge, the rows of one bucket that have the same labels here are joined first, then the
 * buckets of the run in time, then the runs.
 */
#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"

/* ---- create and free */

static bool init_touched(struct collect_touched *touched, unsigned most)
{
    touched->series = calloc(most, sizeof *touched->series);
    return touched->series != NULL;
}

/* Pages that no series ever touches cost nothing. */
static bool init_one(struct collect_values *values, const struct vamp_metric *metric, unsigned most)
{
    switch (metric->kind) {
    case VAMP_COUNTER:
        values->counters = calloc(most, sizeof *values->counters);
        return values->counters != NULL;
    case VAMP_GAUGE:
        values->gauges = calloc(most, sizeof *values->gauges);
        return values->gauges != NULL && init_touched(&values->in_bucket, most) &&
               init_touched(&values->in_run, most);
    case VAMP_HISTOGRAM:
        values->histograms = calloc(most, sizeof *values->histograms);
        return values->histograms != NULL;
    }
    return false;
}

static unsigned max_series(const struct vamp_collect *collect, unsigned metric)
{
    return collect->label_sets[collect->metrics[metric].label_set].max_series;
}

int collect_values_init(struct vamp_collect *collect, struct vamp_err *err)
{
    bool good = true;
    for (unsigned i = 0; good && i < collect->schema.metric_count; i++) {
        good = init_one(&collect->values[i], &vamp_metrics[collect->metrics[i].id],
                        max_series(collect, i));
    }
    collect->histogram = malloc(vamp_bucket_histogram_bytes(collect->schema.bins.count));
    good = good && collect->histogram != NULL;
    return good ? 0 : vamp_err_set_errno(err, ENOMEM, "prepare the values of collected runs");
}

void collect_values_done(struct vamp_collect *collect)
{
    for (unsigned i = 0; i < collect->schema.metric_count; i++) {
        struct collect_values *values = &collect->values[i];
        free(values->counters);
        free(values->gauges);
        free(values->in_bucket.series);
        free(values->in_run.series);
        for (unsigned s = 0; values->histograms != NULL && s < max_series(collect, i); s++) {
            free(values->histograms[s].values);
        }
        free(values->histograms);
    }
    free(collect->histogram);
}

/* ---- rows */

/* Where a message's labels are in a label set of ours: place + 1, 0 where it does not have it. */
struct label_places {
    uint8_t place[VAMP_LABEL_COUNT];
};

static void find_places(const Vampire__Telemetry__LabelSet *set, struct label_places *ret_places)
{
    *ret_places = (struct label_places){.place = {0}};
    for (size_t i = 0; i < set->n_labels && i < UINT8_MAX; i++) {
        const unsigned label = collect_label(set->labels[i]);
        if (label < VAMP_LABEL_COUNT) {
            ret_places->place[label] = (uint8_t)(i + 1);
        }
    }
}

/* A label that the row does not have is known of its run, or else not at all. */
static uint32_t find_series(struct vamp_collect *collect, unsigned set,
                            const Vampire__Telemetry__Message *message,
                            const Vampire__Telemetry__Row *row, const struct label_places *places)
{
    const struct vamp_label_set *own = &collect->label_sets[set];
    const char *labels[VAMP_LABELS_MAX] = {NULL};
    for (unsigned i = 0; i < own->label_count; i++) {
        const unsigned place = places->place[own->labels[i]];
        if (place > 0) {
            labels[i] = row->labels[place - 1];
        } else if (own->labels[i] == VAMP_LABEL_WORKFLOW) {
            labels[i] = message->run->workflow;
        } else if (own->labels[i] == VAMP_LABEL_RUN) {
            labels[i] = message->run->id;
        } else {
            labels[i] = VAMP_SERIES_OTHER;
        }
    }
    return collect_series(collect, set, labels);
}

/* A row and what was found out about it: metrics of a row often have the same label set here. */
struct row {
    struct vamp_collect *collect;
    const Vampire__Telemetry__Message *message;
    const Vampire__Telemetry__Row *row;
    const enum vamp_metric_id *ids; /* of the message's metrics */
    struct label_places places;
    unsigned set;
    uint32_t series;
    bool has_series;
};

/* Our metric that this one is, with `row->series` in it; NULL: it is not known. */
static struct collect_values *find_values(struct row *row, uint32_t metric)
{
    struct vamp_collect *collect = row->collect;
    const enum vamp_metric_id id = row->ids[metric];
    if (id == VAMP_METRIC_COUNT) {
        return NULL;
    }
    const unsigned place = collect->place[id];
    const unsigned set = collect->metrics[place].label_set;
    if (!row->has_series || row->set != set) {
        row->series = find_series(collect, set, row->message, row->row, &row->places);
        row->set = set;
        row->has_series = true;
    }
    return &collect->values[place];
}

static void add_counter(struct collect_values *values, uint32_t series, uint64_t delta)
{
    values->counters[series].delta += delta;
    values->counters[series].value += delta;
}

static void touch(struct collect_touched *touched, uint32_t series, bool *is)
{
    if (!*is) {
        touched->series[touched->count++] = series;
        *is = true;
    }
}

static void add_gauge(struct collect_values *values, uint32_t series, enum vamp_merge rule,
                      const struct vamp_gauge_value *value)
{
    struct collect_gauge *gauge = &values->gauges[series];
    if (gauge->in_bucket) {
        vamp_gauge_join_series(&gauge->bucket, value, rule);
    } else {
        gauge->bucket = *value;
    }
    touch(&values->in_bucket, series, &gauge->in_bucket);
}

/* Makes of the message's histogram what buckets have, and adds that. */
static void add_histogram(struct vamp_collect *collect, struct collect_values *values,
                          uint32_t series, const Vampire__Telemetry__Histogram *from)
{
    struct vamp_bucket_histogram *histogram = collect->histogram;
    histogram->count = from->count;
    histogram->sum = from->sum;
    histogram->min = from->min;
    histogram->max = from->max;
    histogram->bin_count = (uint32_t)from->n_bins;
    for (size_t i = 0; i < from->n_bins; i++) {
        histogram->bins[i] = (struct vamp_bin_count){from->counts[i], from->bins[i]};
    }
    struct vamp_kept_histogram *kept = &values->histograms[series];
    if (vamp_kept_histogram_reserve(kept, histogram->bin_count, collect->schema.bins.count) == 0) {
        vamp_kept_histogram_add(kept, histogram);
    } else {
        collect->out_of_memory = true;
    }
}

static void add_row(struct row *row)
{
    const Vampire__Telemetry__Row *from = row->row;
    struct vamp_collect *collect = row->collect;
    for (size_t i = 0; i < from->n_counters; i++) {
        struct collect_values *values = find_values(row, from->counters[i]->metric);
        if (values != NULL) {
            add_counter(values, row->series, from->counters[i]->delta);
        }
    }
    for (size_t i = 0; i < from->n_gauges; i++) {
        const Vampire__Telemetry__Gauge *gauge = from->gauges[i];
        struct collect_values *values = find_values(row, gauge->metric);
        const struct vamp_gauge_value value = {gauge->value, gauge->min, gauge->max};
        if (values != NULL) {
            add_gauge(values, row->series, vamp_metrics[row->ids[gauge->metric]].merge, &value);
        }
    }
    for (size_t i = 0; i < from->n_histograms; i++) {
        struct collect_values *values = find_values(row, from->histograms[i]->metric);
        if (values != NULL) {
            add_histogram(collect, values, row->series, from->histograms[i]);
        }
    }
}

void collect_values_add(struct vamp_collect *collect, const Vampire__Telemetry__Message *message)
{
    enum vamp_metric_id *ids = calloc(message->n_metrics + 1, sizeof *ids);
    struct label_places *places = calloc(message->n_label_sets + 1, sizeof *places);
    collect->out_of_memory = collect->out_of_memory || ids == NULL || places == NULL;
    for (size_t i = 0; ids != NULL && i < message->n_metrics; i++) {
        ids[i] = collect_metric(message->metrics[i]);
    }
    for (size_t i = 0; places != NULL && i < message->n_label_sets; i++) {
        find_places(message->label_sets[i], &places[i]);
    }
    for (size_t i = 0; ids != NULL && places != NULL && i < message->n_rows; i++) {
        struct row row = {.collect = collect,
                          .message = message,
                          .row = message->rows[i],
                          .ids = ids,
                          .places = places[message->rows[i]->label_set]};
        add_row(&row);
    }
    free(ids);
    free(places);
}

/* ---- buckets, runs */

static void end_bucket(struct collect_values *values)
{
    for (unsigned i = 0; i < values->in_bucket.count; i++) {
        const uint32_t series = values->in_bucket.series[i];
        struct collect_gauge *gauge = &values->gauges[series];
        if (gauge->in_run) {
            vamp_gauge_join_time(&gauge->run, &gauge->bucket);
        } else {
            gauge->run = gauge->bucket;
        }
        touch(&values->in_run, series, &gauge->in_run);
        gauge->in_bucket = false;
        gauge->buckets++;
    }
    values->in_bucket.count = 0;
}

static void end_run(struct collect_values *values, enum vamp_merge rule)
{
    for (unsigned i = 0; i < values->in_run.count; i++) {
        struct collect_gauge *gauge = &values->gauges[values->in_run.series[i]];
        if (gauge->in_total) {
            vamp_gauge_join_series(&gauge->total, &gauge->run, rule);
        } else {
            gauge->total = gauge->run;
        }
        gauge->in_total = true;
        gauge->in_run = false;
    }
    values->in_run.count = 0;
}

void collect_values_end_bucket(struct vamp_collect *collect)
{
    for (unsigned i = 0; i < collect->schema.metric_count; i++) {
        end_bucket(&collect->values[i]);
    }
}

void collect_values_end_run(struct vamp_collect *collect)
{
    for (unsigned i = 0; i < collect->schema.metric_count; i++) {
        end_run(&collect->values[i], vamp_metrics[collect->metrics[i].id].merge);
    }
}

/* The weight of several buckets is what all their sampled events stand for, by their number. All
 * three metrics have the same labels. */
void collect_values_settle(struct vamp_collect *collect)
{
    const unsigned place = collect->place[VAMP_METRIC_VAMPIRE_WEIGHT];
    const struct vamp_counter_value
        *sampled = collect->values[collect->place[VAMP_METRIC_VAMPIRE_SAMPLED_IN]].counters,
        *weighted = collect->values[collect->place[VAMP_METRIC_VAMPIRE_WEIGHTED]].counters;
    const uint32_t count = collect->series[collect->metrics[place].label_set].count;
    for (uint32_t i = 0; i < count; i++) {
        struct collect_gauge *gauge = &collect->values[place].gauges[i];
        if (gauge->buckets > 1 && sampled[i].delta > 0) {
            gauge->total.value =
                (int64_t)((double)weighted[i].delta * 1e6 / (double)sampled[i].delta + 0.5);
        }
    }
}

void collect_values_count(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          uint64_t delta)
{
    add_counter(&collect->values[collect->place[id]], series, delta);
}

void collect_values_gauge(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          int64_t value)
{
    const struct vamp_gauge_value gauge = {value, value, value};
    add_gauge(&collect->values[collect->place[id]], series, vamp_metrics[id].merge, &gauge);
}

void collect_values_clear(struct vamp_collect *collect, bool handed_over)
{
    for (unsigned i = 0; i < collect->schema.metric_count; i++) {
        struct collect_values *values = &collect->values[i];
        const uint32_t count = collect->series[collect->metrics[i].label_set].count;
        for (uint32_t s = 0; s < count; s++) {
            if (values->counters != NULL) {
                values->counters[s].delta = handed_over ? 0 : values->counters[s].delta;
            } else if (values->gauges != NULL) {
                values->gauges[s] = (struct collect_gauge){.in_total = false};
            } else {
                vamp_kept_histogram_clear(&values->histograms[s]);
            }
        }
    }
}
