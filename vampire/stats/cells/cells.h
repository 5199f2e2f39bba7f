/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where values are counted: for every open bucket one slot with the changes that belong to
 * it, and once for all the totals up to the last closed bucket. Private to the statistics; worker
 * thread. Nothing here knows what an event is.
 *
 * Cells are numbered: the counters of all enabled metrics lie in one array, a metric's series
 * one after the other; gauges and histograms likewise.
 */
#pragma once

#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/open_histogram.h"
#include "vampire/stats/cells/options.h"
#include "vampire/stats/cells/series.h"

/* Gaps one bucket can name; more of them are joined to the last one of their reason. */
#define VAMP_SLOT_GAPS_MAX 32

/* A gauge within one bucket, relative to its value at the bucket's begin. */
struct vamp_gauge_change {
    int64_t net, min, max;
};

/* What one bucket adds to the accounts. The sums of these are computed when they are asked for. */
struct vamp_slot_account {
    uint64_t rejected, filtered, counted, late, evicted, overflow;
    uint64_t labels_given_up, cdos_uncounted, unidentified;
    uint64_t never_sampled; /* counted; joins, leaves, events without a CDO */
    uint64_t sampled_out;
    uint64_t lost[VAMP_LOSS_COUNT];
    uint64_t not_subscribed; /* events that were there, and were not asked for or recorded */
    uint64_t resolution_ns;  /* as vampire_clock_resolution_ns */
};

static inline uint64_t vamp_slot_decoded(const struct vamp_slot_account *account)
{
    return account->counted + account->filtered;
}

static inline uint64_t vamp_slot_received(const struct vamp_slot_account *account)
{
    return vamp_slot_decoded(account) + account->rejected;
}

/* Counted though it could have been left out by sampling. */
static inline uint64_t vamp_slot_sampled_in(const struct vamp_slot_account *account)
{
    return account->counted - account->never_sampled;
}

/* When a bucket closes, the first lines of its histograms, most of which are in no cache, are asked
 * for so many ahead. */
#define VAMP_HISTOGRAMS_AHEAD 8

struct vamp_slot {
    uint64_t *counters;
    struct vamp_gauge_change *gauges;
    /* NULL: nothing recorded, as after the last one. */
    struct vamp_open_histogram **histograms;
    struct vamp_slot_account account;
    /* What the filter of a metric kept out of it: of a counter the amount, of a histogram the
     * number of values. */
    uint64_t filtered[VAMP_METRICS_MAX];
    uint64_t no_room[VAMP_METRICS_MAX]; /* values that are in no histogram */
    struct vamp_gap gaps[VAMP_SLOT_GAPS_MAX];
    unsigned gap_count;
    struct vamp_cdo_row *cdos; /* VAMP_CDO_ROWS_MAX; NULL: not at level `cdo` */
    unsigned cdo_count;
    uint64_t cdos_unlisted;
    struct vamp_listed_anomaly *anomalies; /* VAMP_ANOMALIES_MAX */
    unsigned anomaly_count;
    uint64_t anomalies_unlisted;
    /* What is pending at the end, as in the bucket; NULL: not kept. */
    struct vamp_waiting_demand *demands; /* VAMP_WAITING_DEMANDS_MAX */
    unsigned demand_count;
    uint64_t demands_pending;
    struct vamp_oldest_cdo *oldest; /* VAMP_OLDEST_METRICS * VAMP_OLDEST_CDOS_MAX */
    unsigned oldest_count;
};
/* demand_oldest_ns, withdraw_oldest_ns, transport_oldest_ns */
#define VAMP_OLDEST_METRICS 3

/* All series of a histogram metric together, of the buckets that were closed. */
struct vamp_histogram_sum {
    enum vamp_metric_id metric;
    struct vamp_histogram *closed;  /* NULL: the metric is not enabled */
    struct vamp_histogram *scratch; /* for a sum that includes the open buckets */
};
#define VAMP_HISTOGRAM_SUMS 2

/* A metric's cells. */
struct vamp_cell_range {
    bool enabled;
    uint32_t first;              /* cell of series 0 */
    struct vamp_series_set *set; /* NULL: not enabled */
};

/* A value on its way to its histogram. */
struct vamp_noted_value {
    struct vamp_open_histogram **histogram; /* one of a slot */
    uint64_t value;
};
#define VAMP_NOTED_VALUES 16

/* A gauge whose value is reported to the statistics, not counted by them. */
struct vamp_reported_gauge {
    int64_t value, min, max;
    bool reported;
};

struct vamp_cells {
    struct vamp_schema schema;
    struct vamp_coverage coverage; /* of the schema */
    struct vamp_schema_metric metrics[VAMP_METRICS_MAX];
    struct vamp_cell_range range[VAMP_METRICS_MAX];
    struct vamp_series_table series;
    const struct vamp_series *const *series_arrays[VAMP_METRICS_MAX]; /* per label set */
    uint32_t counter_cells, gauge_cells, histogram_cells;

    uint64_t *counter_totals;    /* at the last closed bucket's end */
    int64_t *gauge_values;       /* likewise */
    uint64_t *reported_counters; /* absolute values of the counters that are reported, by cell */
    struct vamp_reported_gauge *reported_gauges;
    int32_t *weighted_rests;           /* by counter cell: millionths that rounding left so far */
    double weight;                     /* of sampling: events for which one stands */
    bool excluded[VAMP_METRICS_MAX];   /* the event being counted does not count for these */
    struct vamp_accounting accounting; /* at the last closed bucket's end; outputs: last report */

    struct vamp_histogram_sum histogram_sums[VAMP_HISTOGRAM_SUMS];

    struct vamp_slot *slots;
    unsigned slot_count;
    uint32_t *used; /* of vamp_cells_find_used */

    struct vamp_open_pool open_histograms;
    struct vamp_noted_value noted[VAMP_NOTED_VALUES]; /* in the order in which they came */
    unsigned noted_count;

    struct vamp_cells_part *parts; /* all memory that the above points to */
    bool lacks_memory;             /* for one of them */
};

/* 0, -EINVAL or -ENOMEM; vamp_cells_done is right after either. */
VAMP_MUST_CHECK int vamp_cells_init(struct vamp_cells *cells,
                                    const struct vamp_stats_options *options,
                                    const char *series_space,
                                    const struct vamp_components *components, unsigned slot_count,
                                    struct vamp_err *err);
void vamp_cells_done(struct vamp_cells *cells);

/* Lists the slot's histograms in which something is recorded in `used`, by cell, which is by
 * metric; after them `histogram_cells` stands VAMP_HISTOGRAMS_AHEAD times. */
void vamp_cells_find_used(struct vamp_cells *cells, const struct vamp_slot *slot);
/* Forgets what the slot counted, whose used histograms were found. */
void vamp_cells_clear(struct vamp_cells *cells, struct vamp_slot *slot);
/* The sum that is kept of this metric; NULL when there is none, or the metric is not enabled. */
const struct vamp_histogram_sum *vamp_cells_histogram_sum(const struct vamp_cells *cells,
                                                          enum vamp_metric_id id);
/* Adds all series of the metric in this slot to `into`. */
void vamp_cells_merge_histograms(const struct vamp_cells *cells, const struct vamp_slot *slot,
                                 enum vamp_metric_id id, struct vamp_histogram *into);
/* Adds a gap that ends in this slot's bucket. */
void vamp_cells_gap(struct vamp_slot *slot, const struct vamp_gap *gap);

/* The cell of these labels in an enabled metric; a series that is new is added. */
static inline uint32_t vamp_cells_cell(struct vamp_cells *cells,
                                       const struct vamp_cell_range *range,
                                       const struct vamp_labels *labels)
{
    const uint32_t series = vamp_series_find(range->set, labels);
    return range->first + (series != VAMP_SERIES_NOT_FOUND
                               ? series
                               : vamp_series_number(&cells->series, range->set, labels));
}

/* For vamp_cells_count, of a series that is not found at once: the last thing it does, so that it
 * needs no room on the stack for the usual one. */
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

/* Whether the values of one event may find no room in an enabled metric with the labels they have.
 */
static inline bool vamp_cells_is_scarce(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    return cells->range[id].set->count >= cells->range[id].set->plenty;
}

/* Before an event's values are counted in metrics of several label sets: replaces labels by those
 * that the first enabled one of `metrics` (ended by VAMP_METRIC_NONE; most labels first) has
 * room for. */
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
    /* Modulo 2^64: a metric's filter may leave out what would have kept it in range. */
    gauge->net = (int64_t)((uint64_t)gauge->net + (uint64_t)change);
    gauge->min = gauge->net < gauge->min ? gauge->net : gauge->min;
    gauge->max = gauge->net > gauge->max ? gauge->net : gauge->max;
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

/* Records the values that are noted: before the histograms of a slot, or its account, are read. One
 * for which the pool has no room is counted in `overflow`: it is never silent. */
void vamp_cells_settle(struct vamp_cells *cells);

/* Notes the value, whose histogram, one of many, is probably in no cache: it is asked for now, and
 * needed when some more values have come. */
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
