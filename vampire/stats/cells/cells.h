/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Storage of the values: one slot per open bucket, with the changes in that bucket, and the totals
 * up to the last closed bucket. Does not depend on events. Private to the statistics; worker
 * thread.
 *
 * A cell is the element of an array for one series of one metric. The counters of all enabled
 * metrics are in one array, ordered by metric and series; gauges and histograms likewise.
 */
#pragma once

#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/open_histogram.h"
#include "vampire/stats/cells/options.h"
#include "vampire/stats/cells/series.h"

/* Maximum number of gaps listed in one bucket; further gaps are merged into the last one with their
 * reason. */
#define VAMP_SLOT_GAPS_MAX 32

/* Change of a gauge in one bucket, relative to its value at the start of the bucket. */
struct vamp_gauge_change {
    int64_t net, min, max;
};

/* Contribution of one bucket to the accounting. */
struct vamp_slot_account {
    uint64_t rejected, filtered, counted, late, evicted, overflow;
    uint64_t labels_given_up, cdos_uncounted, unidentified;
    /* Counted JOIN and LEAVE events and events without a CDO, which sampling never drops. */
    uint64_t never_sampled;
    uint64_t sampled_out;
    uint64_t lost[VAMP_LOSS_COUNT];
    uint64_t not_subscribed; /* events that occurred and were not subscribed to, or not recorded */
    uint64_t resolution_ns;  /* as metric vampire_clock_resolution_ns */
};

static inline uint64_t vamp_slot_decoded(const struct vamp_slot_account *account)
{
    return account->counted + account->filtered;
}

static inline uint64_t vamp_slot_received(const struct vamp_slot_account *account)
{
    return vamp_slot_decoded(account) + account->rejected;
}

/* Returns the number of counted events that sampling could have dropped. */
static inline uint64_t vamp_slot_sampled_in(const struct vamp_slot_account *account)
{
    return account->counted - account->never_sampled;
}

/* Prefetch distance, in histograms, while a bucket is being closed. */
#define VAMP_HISTOGRAMS_AHEAD 8

struct vamp_slot {
    uint64_t *counters;
    struct vamp_gauge_change *gauges;
    /* One element more than there are cells; NULL: no values. */
    struct vamp_open_histogram **histograms;
    struct vamp_slot_account account;
    /* Excluded by the filter of a metric. Counters: sum of the excluded amounts; histograms: number
     * of excluded values. */
    uint64_t filtered[VAMP_METRICS_MAX];
    uint64_t no_room[VAMP_METRICS_MAX]; /* values dropped at the limit max_histogram_memory */
    struct vamp_gap gaps[VAMP_SLOT_GAPS_MAX];
    unsigned gap_count;
    struct vamp_cdo_row *cdos; /* VAMP_CDO_ROWS_MAX elements; NULL unless at level `cdo` */
    unsigned cdo_count;
    uint64_t cdos_unlisted;
    struct vamp_listed_anomaly *anomalies; /* VAMP_ANOMALIES_MAX elements */
    unsigned anomaly_count;
    uint64_t anomalies_unlisted;
    /* Demands pending at the end of the bucket; NULL if not listed. */
    struct vamp_waiting_demand *demands; /* VAMP_WAITING_DEMANDS_MAX elements */
    unsigned demand_count;
    uint64_t demands_pending;
    struct vamp_oldest_cdo *oldest; /* VAMP_OLDEST_METRICS * VAMP_OLDEST_CDOS_MAX elements */
    unsigned oldest_count;
};
/* demand_oldest_ns, withdraw_oldest_ns, transport_oldest_ns */
#define VAMP_OLDEST_METRICS 3

/* Sum of a histogram metric over all series, and over all closed buckets. */
struct vamp_histogram_sum {
    enum vamp_metric_id metric;
    struct vamp_histogram *closed;  /* NULL: the metric is not enabled */
    struct vamp_histogram *scratch; /* buffer for a sum that includes the open buckets */
};
#define VAMP_HISTOGRAM_SUMS 2

/* Range of the cells of one metric. */
struct vamp_cell_range {
    bool enabled;
    uint32_t first;              /* cell of series 0 */
    struct vamp_series_set *set; /* NULL: not enabled */
};

/* A value that is not yet recorded in its histogram. */
struct vamp_noted_value {
    struct vamp_open_histogram **histogram; /* the element of a slot */
    uint64_t value;
};
#define VAMP_NOTED_VALUES 16

/* A gauge whose value is reported by the program. */
struct vamp_reported_gauge {
    int64_t value, min, max;
    bool reported;
};

struct vamp_cells {
    struct vamp_schema schema;
    struct vamp_coverage coverage; /* coverage of the schema */
    struct vamp_schema_metric metrics[VAMP_METRICS_MAX];
    struct vamp_cell_range range[VAMP_METRICS_MAX];
    struct vamp_series_table series;
    const struct vamp_series *const *series_arrays[VAMP_METRICS_MAX]; /* indexed by label set */
    uint32_t counter_cells, gauge_cells, histogram_cells;

    uint64_t *counter_totals;    /* values at the end of the last closed bucket */
    int64_t *gauge_values;       /* values at the end of the last closed bucket */
    uint64_t *reported_counters; /* absolute values reported by the program, indexed by cell */
    struct vamp_reported_gauge *reported_gauges;
    int32_t *weighted_rests;           /* by counter cell: remainders of rounding, in millionths */
    double weight;                     /* events represented by each sampled one */
    bool excluded[VAMP_METRICS_MAX];   /* metrics that do not count the current event */
    struct vamp_accounting accounting; /* sums over closed buckets; outputs: as last reported */

    struct vamp_histogram_sum histogram_sums[VAMP_HISTOGRAM_SUMS];

    struct vamp_slot *slots;
    unsigned slot_count;
    uint32_t *used; /* set by vamp_cells_find_used */

    struct vamp_open_pool open_histograms;
    struct vamp_noted_value noted[VAMP_NOTED_VALUES]; /* in order of arrival */
    unsigned noted_count;

    struct vamp_cells_part *parts; /* list of all allocated memory blocks */
    bool lacks_memory;             /* an allocation failed */
};

/* Returns 0, -EINVAL or -ENOMEM. vamp_cells_done may be called in any case. */
VAMP_MUST_CHECK int vamp_cells_init(struct vamp_cells *cells,
                                    const struct vamp_stats_options *options,
                                    const char *series_space,
                                    const struct vamp_components *components, unsigned slot_count,
                                    struct vamp_err *err);
void vamp_cells_done(struct vamp_cells *cells);

/* Adds the totals of `before`, whose buckets must all be closed: counters, accounting and the sums
 * of histograms. A series that does not exist in `cells` is merged into a coarser one; a metric
 * that does not exist there is dropped. Must be called before anything is counted, and after
 * vamp_self_outputs, which sets the names by which the series of outputs are found. */
void vamp_cells_inherit(struct vamp_cells *cells, const struct vamp_cells *before);

/* Sets `used` to the cells of the slot's histograms that have values, in ascending order, followed
 * by VAMP_HISTOGRAMS_AHEAD elements with the value `histogram_cells`. */
void vamp_cells_find_used(struct vamp_cells *cells, const struct vamp_slot *slot);
/* Empties the slot. vamp_cells_find_used must have been called for it. */
void vamp_cells_clear(struct vamp_cells *cells, struct vamp_slot *slot);
/* Returns the sum of this metric, or NULL if the metric has no sum or is not enabled. */
const struct vamp_histogram_sum *vamp_cells_histogram_sum(const struct vamp_cells *cells,
                                                          enum vamp_metric_id id);
/* Adds the values of all series of the metric in this slot to `into`. */
void vamp_cells_merge_histograms(const struct vamp_cells *cells, const struct vamp_slot *slot,
                                 enum vamp_metric_id id, struct vamp_histogram *into);
/* Adds a gap that ends in this slot's bucket. */
void vamp_cells_gap(struct vamp_slot *slot, const struct vamp_gap *gap);

/* Returns the cell of these labels in an enabled metric; a new series is added if necessary. */
static inline uint32_t vamp_cells_cell(struct vamp_cells *cells,
                                       const struct vamp_cell_range *range,
                                       const struct vamp_labels *labels)
{
    uint32_t series = vamp_series_find(range->set, labels);
    if (series == VAMP_SERIES_NOT_FOUND) {
        series = vamp_series_number(&cells->series, range->set, labels);
    }
    return range->first + series;
}

/* The slow path of vamp_cells_count, for a series that vamp_series_find does not find. */
void vamp_cells_count_looked_up(struct vamp_cells *cells, struct vamp_slot *slot,
                                enum vamp_metric_id id, const struct vamp_labels *labels,
                                uint64_t amount);
static inline void vamp_cells_count(struct vamp_cells *cells, struct vamp_slot *slot,
                                    enum vamp_metric_id id, const struct vamp_labels *labels,
                                    uint64_t amount)
{
    const struct vamp_cell_range *range = &cells->range[id];
    if (!range->enabled) {
        return;
    }
    if (cells->excluded[id]) {
        slot->filtered[id] += amount;
        return;
    }
    const uint32_t series = vamp_series_find(range->set, labels);
    if (series == VAMP_SERIES_NOT_FOUND) {
        vamp_cells_count_looked_up(cells, slot, id, labels, amount);
        return;
    }
    slot->counters[range->first + series] += amount;
}

/* Returns whether an enabled metric may not have enough free series for all new series of one
 * event. */
static inline bool vamp_cells_is_scarce(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    return cells->range[id].set->count >= cells->range[id].set->plenty;
}

/* Replaces labels by those that the first enabled one of `metrics` can still store. Called before
 * the values of an event are counted in metrics with different label sets, so that all of them use
 * the same labels. `metrics` ends with VAMP_METRIC_NONE; the metric with most labels comes first.
 */
static inline void vamp_cells_admit(struct vamp_cells *cells, const enum vamp_metric_id *metrics,
                                    struct vamp_labels *labels)
{
    for (; *metrics != VAMP_METRIC_NONE; metrics++) {
        if (cells->range[*metrics].enabled) {
            vamp_series_admit(&cells->series, cells->range[*metrics].set, labels);
            return;
        }
    }
}

static inline void vamp_gauge_add(struct vamp_gauge_change *gauge, int64_t change)
{
    /* Unsigned arithmetic (modulo 2^64): the filter of a metric may exclude the changes that would
     * keep the gauge in range. */
    gauge->net = (int64_t)((uint64_t)gauge->net + (uint64_t)change);
    gauge->min = VAMP_MIN(gauge->min, gauge->net);
    gauge->max = VAMP_MAX(gauge->max, gauge->net);
}

static inline void vamp_cells_change(struct vamp_cells *cells, struct vamp_slot *slot,
                                     enum vamp_metric_id id, const struct vamp_labels *labels,
                                     int64_t change)
{
    const struct vamp_cell_range *range = &cells->range[id];
    if (change == 0 || !range->enabled || cells->excluded[id]) {
        return;
    }
    vamp_gauge_add(&slot->gauges[vamp_cells_cell(cells, range, labels)], change);
}

/* Records the noted values in their histograms. Must be called before the histograms or the
 * accounting of a slot are read. Values that do not fit into the pool are counted in `overflow`. */
void vamp_cells_settle(struct vamp_cells *cells);

/* Notes a value and prefetches its histogram, which is usually not in any cache. The value is
 * recorded after a number of further values were noted. */
static inline void vamp_cells_record(struct vamp_cells *cells, struct vamp_slot *slot,
                                     enum vamp_metric_id id, const struct vamp_labels *labels,
                                     uint64_t value)
{
    const struct vamp_cell_range *range = &cells->range[id];
    if (!range->enabled) {
        return;
    }
    if (cells->excluded[id]) {
        slot->filtered[id]++;
        return;
    }
    struct vamp_open_histogram **histogram =
        &slot->histograms[vamp_cells_cell(cells, range, labels)];
    __builtin_prefetch(*histogram, 1);
    cells->noted[cells->noted_count++] = (struct vamp_noted_value){histogram, value};
    if (cells->noted_count == VAMP_NOTED_VALUES) {
        vamp_cells_settle(cells);
    }
}
