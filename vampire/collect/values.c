/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages contain, added to the bucket that is being made. */
#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"

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
    const struct vamp_label_set *own = &collect->merged.label_sets[set];
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

/* Sets `row->series` for our metric that this one is, which is its id; false: it is not known. */
static bool find_metric(struct row *row, uint32_t metric, unsigned *ret_metric)
{
    *ret_metric = row->ids[metric];
    if (row->ids[metric] == VAMP_METRIC_NONE) {
        return false;
    }
    const unsigned set = row->collect->merged.metrics[*ret_metric].label_set;
    if (!row->has_series || row->set != set) {
        row->series = find_series(row->collect, set, row->message, row->row, &row->places);
        row->set = set;
        row->has_series = true;
    }
    return true;
}

/* Makes of the message's histogram what buckets have, and adds that. */
static void add_histogram(struct vamp_collect *collect, unsigned metric, uint32_t series,
                          const Vampire__Telemetry__Histogram *from)
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
    if (vamp_merged_reserve(&collect->merged, metric, series, histogram->bin_count) == 0) {
        vamp_merged_histogram(&collect->merged, metric, series, histogram);
    } else {
        collect->out_of_memory = true;
    }
}

static void add_row(struct row *row)
{
    const Vampire__Telemetry__Row *from = row->row;
    struct vamp_collect *collect = row->collect;
    unsigned metric = 0;
    for (size_t i = 0; i < from->n_counters; i++) {
        if (find_metric(row, from->counters[i]->metric, &metric)) {
            collect_values_count(collect, (enum vamp_metric_id)metric, row->series,
                                 from->counters[i]->delta);
        }
    }
    for (size_t i = 0; i < from->n_gauges; i++) {
        const Vampire__Telemetry__Gauge *gauge = from->gauges[i];
        const struct vamp_gauge_value value = {gauge->value, gauge->min, gauge->max};
        if (find_metric(row, gauge->metric, &metric)) {
            vamp_merged_gauge(&collect->merged, metric, row->series, &value);
        }
    }
    for (size_t i = 0; i < from->n_histograms; i++) {
        if (find_metric(row, from->histograms[i]->metric, &metric)) {
            add_histogram(collect, metric, row->series, from->histograms[i]);
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

/* All three metrics have the same labels. */
void collect_values_settle(struct vamp_collect *collect)
{
    const struct vamp_merged_values *values = collect->merged.values;
    const struct vamp_counter_value *sampled = values[VAMP_METRIC_VAMPIRE_SAMPLED_IN].counters,
                                    *weighted = values[VAMP_METRIC_VAMPIRE_WEIGHTED].counters;
    const unsigned set = collect->merged.metrics[VAMP_METRIC_VAMPIRE_WEIGHT].label_set;
    for (uint32_t i = 0; i < collect->merged.sets[set].count; i++) {
        struct vamp_merged_gauge *gauge = &values[VAMP_METRIC_VAMPIRE_WEIGHT].gauges[i];
        if (gauge->buckets > 1 && sampled[i].delta > 0) {
            gauge->total.value = vamp_merged_weight(weighted[i].delta, sampled[i].delta);
        }
    }
}

void collect_values_count(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          uint64_t delta)
{
    vamp_merged_counter(&collect->merged, id, series, &(struct vamp_counter_value){delta, delta});
}

void collect_values_gauge(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          int64_t value)
{
    vamp_merged_gauge(&collect->merged, id, series,
                      &(struct vamp_gauge_value){value, value, value});
}
