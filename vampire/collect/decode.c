/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks received messages, whose sender is not trusted. A message that passes all checks can be
 * added without further checks. */
#include <assert.h>
#include <string.h>

#include "vampire/collect/internal.h"
#include "vampire/core/event/event.h"

#define FORMAT_VERSION 1

/* Both enumerations have the same order. */
static_assert((int)VAMPIRE__TELEMETRY__METRIC__KIND__HISTOGRAM == (int)VAMP_HISTOGRAM, "kinds");
static_assert((int)VAMPIRE__TELEMETRY__METRIC__MERGE__MEAN == (int)VAMP_MERGE_MEAN, "rules");

enum vamp_metric_id collect_metric(const Vampire__Telemetry__Metric *metric)
{
    const enum vamp_metric_id id = vamp_metric_find(metric->name);
    if (id == VAMP_METRIC_NONE) {
        return VAMP_METRIC_NONE;
    }
    const struct vamp_metric *known = &vamp_metrics[id];
    if ((int)known->kind != (int)metric->kind || (int)known->merge != (int)metric->merge ||
        strcmp(known->unit, metric->unit) != 0) {
        return VAMP_METRIC_NONE;
    }
    return id;
}

/* ---- rows */

static bool metric_fits(const Vampire__Telemetry__Message *message,
                        const Vampire__Telemetry__Row *row, uint32_t metric,
                        Vampire__Telemetry__Metric__Kind kind)
{
    return metric < message->n_metrics && message->metrics[metric]->kind == kind &&
           message->metrics[metric]->label_set == row->label_set;
}

/* Returns whether bins are in ascending order, their sum is `count`, and the extremes are in the
 * outermost bins. */
static bool histogram_is_right(const Vampire__Telemetry__Histogram *histogram,
                               const struct vamp_bins *bins)
{
    uint64_t count = 0;
    bool right = histogram->n_bins > 0 && histogram->n_bins == histogram->n_counts;
    for (size_t i = 0; right && i < histogram->n_bins; i++) {
        right = histogram->bins[i] < bins->count && histogram->counts[i] > 0 &&
                (i == 0 || histogram->bins[i] > histogram->bins[i - 1]) &&
                !__builtin_add_overflow(count, histogram->counts[i], &count);
    }
    return right && count == histogram->count &&
           vamp_bin_index(bins->sub_bits, histogram->min) == histogram->bins[0] &&
           vamp_bin_index(bins->sub_bits, histogram->max) == histogram->bins[histogram->n_bins - 1];
}

static bool labels_are_right(const Vampire__Telemetry__Message *message,
                             const Vampire__Telemetry__Row *row)
{
    bool right = row->label_set < message->n_label_sets &&
                 message->label_sets[row->label_set]->n_labels == row->n_labels;
    for (size_t i = 0; right && i < row->n_labels; i++) {
        right = strlen(row->labels[i]) <= VAMP_NAME_BYTES_MAX;
    }
    return right;
}

static bool row_is_right(const Vampire__Telemetry__Message *message,
                         const Vampire__Telemetry__Row *row, const struct vamp_bins *bins)
{
    bool right = labels_are_right(message, row);
    for (size_t i = 0; right && i < row->n_counters; i++) {
        right = metric_fits(message, row, row->counters[i]->metric,
                            VAMPIRE__TELEMETRY__METRIC__KIND__COUNTER);
    }
    for (size_t i = 0; right && i < row->n_gauges; i++) {
        right = metric_fits(message, row, row->gauges[i]->metric,
                            VAMPIRE__TELEMETRY__METRIC__KIND__GAUGE);
    }
    for (size_t i = 0; right && i < row->n_histograms; i++) {
        right = metric_fits(message, row, row->histograms[i]->metric,
                            VAMPIRE__TELEMETRY__METRIC__KIND__HISTOGRAM) &&
                histogram_is_right(row->histograms[i], bins);
    }
    return right;
}

static bool sets_are_right(const Vampire__Telemetry__Message *message)
{
    bool right = true;
    for (size_t i = 0; right && i < message->n_metrics; i++) {
        right = message->metrics[i]->label_set < message->n_label_sets;
    }
    return right;
}

/* ---- the message */

static bool run_is_right(const Vampire__Telemetry__Run *run)
{
    return run != NULL && run->id[0] != '\0' && strlen(run->id) < COLLECT_ID_BYTES &&
           strlen(run->workflow) <= VAMP_NAME_BYTES_MAX;
}

static bool head_is_right(const Vampire__Telemetry__Message *message)
{
    return message->part >= 1 && message->part <= message->parts &&
           message->parts <= COLLECT_PARTS_MAX && message->buckets >= 1 &&
           message->number <= UINT64_MAX - message->buckets && message->width_ns > 0 &&
           message->start_ns >= VAMP_TIME_MIN &&
           message->start_ns <= VAMP_TIME_MAX - message->width_ns;
}

/* Returns whether the bucket is contained in one collected bucket. */
static bool width_fits(const struct vamp_collect *collect,
                       const Vampire__Telemetry__Message *message)
{
    return collect->options.bucket_ns % message->width_ns == 0 &&
           message->start_ns % message->width_ns == 0;
}

static bool judge(const struct vamp_collect *collect, const Vampire__Telemetry__Message *message,
                  enum vamp_refusal *ret_refusal)
{
    *ret_refusal = VAMP_REFUSAL_VERSION;
    if (message->version != FORMAT_VERSION) {
        return false;
    }
    *ret_refusal = VAMP_REFUSAL_GARBAGE;
    if (!run_is_right(message->run)) {
        return false;
    }
    if (message->parts == 0) {
        return message->ending != NULL;
    }
    if (!head_is_right(message)) {
        return false;
    }
    if (!width_fits(collect, message)) {
        *ret_refusal = VAMP_REFUSAL_WIDTH;
        return false;
    }
    if (message->sub_bits != collect->options.sub_bits) {
        *ret_refusal = VAMP_REFUSAL_BINS;
        return false;
    }
    bool right = sets_are_right(message);
    for (size_t i = 0; right && i < message->n_rows; i++) {
        right = row_is_right(message, message->rows[i], &collect->merged.schema.bins);
    }
    return right;
}

const Vampire__Telemetry__Message *collect_decode(struct vamp_collect *collect, const void *data,
                                                  size_t bytes, enum vamp_refusal *ret_refusal)
{
    if (bytes > collect->options.max_message_bytes) {
        *ret_refusal = VAMP_REFUSAL_LONG;
        return NULL;
    }
    const Vampire__Telemetry__Message *message =
        vampire__telemetry__message__unpack(vamp_decode_arena_reset(&collect->arena), bytes, data);
    if (message == NULL) {
        *ret_refusal = VAMP_REFUSAL_GARBAGE;
        return NULL;
    }
    if (!judge(collect, message, ret_refusal)) {
        return NULL;
    }
    return message;
}
