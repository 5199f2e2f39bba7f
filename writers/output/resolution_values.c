/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/resolution_values.h"

#include <stdlib.h>
#include <string.h>

#include "writers/output/resolution_series.h"

/* ---- create and free */

int vamp_kept_values_init(struct vamp_kept_values *values)
{
    const unsigned most = values->max_series;
    bool good = true;
    /* Pages that no series ever touches cost nothing. */
    switch (vamp_metrics[values->id].kind) {
    case VAMP_COUNTER:
        values->counters = calloc(most, sizeof *values->counters);
        good = values->counters != NULL;
        break;
    case VAMP_GAUGE:
        values->gauges = calloc(most, sizeof *values->gauges);
        values->newest = calloc(most, sizeof *values->newest);
        values->has_newest = calloc(most, sizeof *values->has_newest);
        values->has_gauge = calloc(most, sizeof *values->has_gauge);
        good = values->gauges != NULL && values->newest != NULL && values->has_newest != NULL &&
               values->has_gauge != NULL;
        break;
    case VAMP_HISTOGRAM:
        values->histograms = calloc(most, sizeof *values->histograms);
        values->list = calloc(most, sizeof *values->list);
        good = values->histograms != NULL && values->list != NULL;
        break;
    }
    return good ? 0 : -ENOMEM;
}

void vamp_kept_values_done(struct vamp_kept_values *values)
{
    free(values->counters);
    free(values->gauges);
    free(values->newest);
    free(values->has_newest);
    free(values->has_gauge);
    for (unsigned i = 0; values->histograms != NULL && i < values->max_series; i++) {
        free(values->histograms[i].values);
    }
    free(values->histograms);
    free(values->list);
}

/* ---- counters */

/* The total is that of the newest bucket; what was added is the sum over all. */
static void add_counters(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                         const uint32_t *number, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        values->counters[i].value = 0;
    }
    for (unsigned i = 0; i < from->count; i++) {
        if (number[i] != VAMP_SERIES_LEFT_OUT) {
            struct vamp_counter_value *counter = &values->counters[number[i]];
            counter->value += from->counters[i].value;
            counter->delta += from->counters[i].delta;
        }
    }
}

/* ---- gauges */

static int64_t larger(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

static int64_t smaller(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

/* Modulo 2^64, as the statistics count gauges. */
static int64_t sum(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left + (uint64_t)right);
}

/* Where one of them is none, it is the other; none is below all others, for `larger`. */
static int64_t smaller_known(int64_t left, int64_t right)
{
    return left == VAMP_GAUGE_NONE ? right : right == VAMP_GAUGE_NONE ? left : smaller(left, right);
}

/* Another series with the same labels, at the same time. */
static void join_series(struct vamp_gauge_value *into, const struct vamp_gauge_value *from,
                        enum vamp_merge rule)
{
    switch (rule) {
    case VAMP_MERGE_SUM:
        into->value = sum(into->value, from->value);
        into->min = sum(into->min, from->min);
        into->max = sum(into->max, from->max);
        return;
    case VAMP_MERGE_LARGEST:
    case VAMP_MERGE_MEAN: /* it has no labels */
        into->value = larger(into->value, from->value);
        into->min = smaller_known(into->min, from->min);
        into->max = larger(into->max, from->max);
        return;
    }
}

/* The same series, later. */
static void join_time(struct vamp_gauge_value *into, const struct vamp_gauge_value *from)
{
    into->value = from->value;
    into->min = smaller_known(into->min, from->min);
    into->max = larger(into->max, from->max);
}

static void add_gauges(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                       const uint32_t *number, unsigned count)
{
    memset(values->has_newest, 0, count * sizeof *values->has_newest);
    for (unsigned i = 0; i < from->count; i++) {
        const uint32_t series = number[i];
        if (series == VAMP_SERIES_LEFT_OUT) {
            continue;
        }
        if (values->has_newest[series]) {
            join_series(&values->newest[series], &from->gauges[i], vamp_metrics[values->id].merge);
        } else {
            values->newest[series] = from->gauges[i];
            values->has_newest[series] = true;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (!values->has_newest[i]) {
            continue;
        }
        if (values->has_gauge[i]) {
            join_time(&values->gauges[i], &values->newest[i]);
        } else {
            values->gauges[i] = values->newest[i];
            values->has_gauge[i] = true;
        }
    }
}

/* ---- histograms */

/* Room for more bins, and then some, so that a histogram seldom grows. */
static int grow_histogram(struct vamp_kept_histogram *kept, uint32_t room, uint32_t most)
{
    room = room + room / 2 + 4;
    room = room < most ? room : most;
    struct vamp_bucket_histogram *values = realloc(kept->values, vamp_bucket_histogram_bytes(room));
    if (values == NULL) {
        return -ENOMEM;
    }
    if (kept->values == NULL) {
        *values = (struct vamp_bucket_histogram){.min = UINT64_MAX};
    }
    kept->values = values;
    kept->room = room;
    return 0;
}

int vamp_kept_values_reserve(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                             const uint32_t *number, unsigned bin_count)
{
    for (unsigned i = 0; values->histograms != NULL && i < from->count; i++) {
        const uint32_t series = number[from->histograms[i].series];
        if (series != VAMP_SERIES_LEFT_OUT) {
            values->histograms[series].wanted = 0;
        }
    }
    for (unsigned i = 0; values->histograms != NULL && i < from->count; i++) {
        const uint32_t series = number[from->histograms[i].series];
        if (series == VAMP_SERIES_LEFT_OUT) {
            continue;
        }
        struct vamp_kept_histogram *kept = &values->histograms[series];
        kept->wanted += from->histograms[i].histogram->bin_count;
        uint32_t room = (kept->values != NULL ? kept->values->bin_count : 0) + kept->wanted;
        room = room < bin_count ? room : bin_count;
        if ((kept->values == NULL || room > kept->room) &&
            grow_histogram(kept, room, bin_count) != 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Bins that are in one of the two or in both. */
static uint32_t count_union(const struct vamp_bucket_histogram *left,
                            const struct vamp_bucket_histogram *right)
{
    uint32_t count = 0, i = 0, k = 0;
    while (i < left->bin_count && k < right->bin_count) {
        const uint32_t one = left->bins[i].bin, other = right->bins[k].bin;
        i += one <= other;
        k += other <= one;
        count++;
    }
    return count + (left->bin_count - i) + (right->bin_count - k);
}

/* From the last bin to the first, so that none is overwritten before it was moved. */
static void merge_bins(struct vamp_bucket_histogram *into, const struct vamp_bucket_histogram *from)
{
    uint32_t at = count_union(into, from), i = into->bin_count, k = from->bin_count;
    into->bin_count = at;
    while (k > 0) {
        const struct vamp_bin_count *added = &from->bins[k - 1];
        const struct vamp_bin_count *present = i > 0 ? &into->bins[i - 1] : NULL;
        struct vamp_bin_count merged = *added;
        if (present != NULL && present->bin >= added->bin) {
            merged.bin = present->bin;
            merged.count = present->count + (present->bin == added->bin ? added->count : 0);
            k -= present->bin == added->bin;
            i--;
        } else {
            k--;
        }
        into->bins[--at] = merged;
    }
}

static void add_histograms(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                           const uint32_t *number)
{
    for (unsigned i = 0; i < from->count; i++) {
        const uint32_t series = number[from->histograms[i].series];
        if (series == VAMP_SERIES_LEFT_OUT) {
            continue;
        }
        struct vamp_bucket_histogram *into = values->histograms[series].values;
        const struct vamp_bucket_histogram *added = from->histograms[i].histogram;
        merge_bins(into, added);
        into->count += added->count;
        into->sum += added->sum;
        into->min = added->min < into->min ? added->min : into->min;
        into->max = added->max > into->max ? added->max : into->max;
    }
}

/* ---- all kinds */

void vamp_kept_values_add(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                          const uint32_t *number, unsigned count)
{
    switch (vamp_metrics[values->id].kind) {
    case VAMP_COUNTER:
        add_counters(values, from, number, count);
        return;
    case VAMP_GAUGE:
        add_gauges(values, from, number, count);
        return;
    case VAMP_HISTOGRAM:
        add_histograms(values, from, number);
        return;
    }
}

static struct vamp_metric_values show_histograms(struct vamp_kept_values *values, unsigned count)
{
    unsigned used = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct vamp_bucket_histogram *histogram = values->histograms[i].values;
        if (histogram != NULL && histogram->count > 0) {
            values->list[used++] =
                (struct vamp_histogram_value){.series = i, .histogram = histogram};
        }
    }
    return (struct vamp_metric_values){.count = used, .histograms = values->list};
}

struct vamp_metric_values vamp_kept_values_show(struct vamp_kept_values *values, unsigned count)
{
    switch (vamp_metrics[values->id].kind) {
    case VAMP_COUNTER:
        return (struct vamp_metric_values){.count = count, .counters = values->counters};
    case VAMP_GAUGE:
        return (struct vamp_metric_values){.count = count, .gauges = values->gauges};
    case VAMP_HISTOGRAM:
        break;
    }
    return show_histograms(values, count);
}

void vamp_kept_values_clear(struct vamp_kept_values *values, unsigned count)
{
    for (unsigned i = 0; values->counters != NULL && i < count; i++) {
        values->counters[i].delta = 0;
    }
    if (values->has_gauge != NULL) {
        memset(values->has_gauge, 0, count * sizeof *values->has_gauge);
    }
    for (unsigned i = 0; values->histograms != NULL && i < count; i++) {
        if (values->histograms[i].values != NULL) {
            *values->histograms[i].values = (struct vamp_bucket_histogram){.min = UINT64_MAX};
        }
    }
}
