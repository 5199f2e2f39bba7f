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
            vamp_gauge_join_series(&values->newest[series], &from->gauges[i],
                                   vamp_metrics[values->id].merge);
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
            vamp_gauge_join_time(&values->gauges[i], &values->newest[i]);
        } else {
            values->gauges[i] = values->newest[i];
            values->has_gauge[i] = true;
        }
    }
}

/* ---- histograms */

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
        if (vamp_kept_histogram_reserve(kept, kept->wanted, bin_count) != 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static void add_histograms(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                           const uint32_t *number)
{
    for (unsigned i = 0; i < from->count; i++) {
        const uint32_t series = number[from->histograms[i].series];
        if (series == VAMP_SERIES_LEFT_OUT) {
            continue;
        }
        vamp_kept_histogram_add(&values->histograms[series], from->histograms[i].histogram);
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
        vamp_kept_histogram_clear(&values->histograms[i]);
    }
}
