/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/cells.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

static uint32_t *cell_counter(struct vamp_cells *cells, enum vamp_metric_kind kind)
{
    switch (kind) {
    case VAMP_COUNTER:
        return &cells->counter_cells;
    case VAMP_GAUGE:
        return &cells->gauge_cells;
    case VAMP_HISTOGRAM:
        break;
    }
    return &cells->histogram_cells;
}

static void note_absence(struct vamp_coverage *coverage, const struct vamp_stats_options *options,
                         enum vamp_metric_id id)
{
    if (vamp_stats_asks(options, id)) {
        coverage->absences[coverage->absence_count++] =
            (struct vamp_absence){.id = id,
                                  .lacking = vamp_metrics[id].basis & options->unknown,
                                  .kinds = vamp_stats_kinds_lacking(options, id)};
    }
}

/* Assigns a label set and cells to every enabled metric, in the order of the catalogue. */
static int lay_out(struct vamp_cells *cells, const struct vamp_stats_options *options,
                   struct vamp_err *err)
{
    unsigned count = 0;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const struct vamp_metric *metric = &vamp_metrics[id];
        if (!vamp_stats_wants(options, (enum vamp_metric_id)id)) {
            note_absence(&cells->coverage, options, (enum vamp_metric_id)id);
            continue;
        }
        unsigned set = 0;
        int status = vamp_series_set(&cells->series,
                                     vamp_metric_labels_at(metric, (enum vamp_level)options->level),
                                     options->max_components, &set, err);
        if (status != 0) {
            return status;
        }
        uint32_t *used = cell_counter(cells, metric->kind);
        cells->range[id] = (struct vamp_cell_range){true, *used, &cells->series.sets[set]};
        *used += cells->series.descriptions[set].max_series;
        cells->metrics[count++] =
            (struct vamp_schema_metric){.id = (enum vamp_metric_id)id, .label_set = set};
    }
    for (unsigned set = 0; set < cells->series.set_count; set++) {
        cells->series_arrays[set] = cells->series.sets[set].series;
    }
    cells->schema = (struct vamp_schema){
        .label_sets = cells->series.descriptions,
        .label_set_count = cells->series.set_count,
        .metrics = cells->metrics,
        .metric_count = count,
        .max_components = (unsigned)options->max_components,
        .level = (enum vamp_level)options->level,
        .bucket_ns = options->bucket_ns,
        .coverage = &cells->coverage,
    };
    cells->coverage.unknown = options->unknown;
    cells->coverage.not_subscribed = options->not_subscribed;
    vamp_bins_init(&cells->schema.bins, options->sub_bits);
    return 0;
}

struct vamp_cells_part {
    struct vamp_cells_part *next;
    max_align_t memory[];
};

/* Allocates zeroed memory that is freed with the cells. Returns NULL and sets `lacks_memory` if out
 * of memory. */
static void *reserve(struct vamp_cells *cells, size_t count, size_t bytes)
{
    struct vamp_cells_part *part = calloc(1, sizeof *part + count * bytes);
    if (part == NULL) {
        cells->lacks_memory = true;
        return NULL;
    }
    part->next = cells->parts;
    cells->parts = part;
    return part->memory;
}

static void reserve_slot(struct vamp_cells *cells, struct vamp_slot *slot)
{
    const bool demands = cells->range[VAMP_METRIC_DEMAND_OLDEST_NS].enabled;
    slot->counters = reserve(cells, cells->counter_cells, sizeof *slot->counters);
    slot->gauges = reserve(cells, cells->gauge_cells, sizeof *slot->gauges);
    slot->histograms =
        reserve(cells, (size_t)cells->histogram_cells + 1, sizeof(struct vamp_open_histogram *));
    slot->anomalies = reserve(cells, VAMP_ANOMALIES_MAX, sizeof *slot->anomalies);
    if (cells->schema.level == VAMP_LEVEL_CDO) {
        slot->cdos = reserve(cells, VAMP_CDO_ROWS_MAX, sizeof *slot->cdos);
    }
    if (demands) {
        slot->demands = reserve(cells, VAMP_WAITING_DEMANDS_MAX, sizeof *slot->demands);
    }
    if (demands || cells->range[VAMP_METRIC_WITHDRAW_OLDEST_NS].enabled ||
        cells->range[VAMP_METRIC_TRANSPORT_OLDEST_NS].enabled) {
        slot->oldest = reserve(cells, (size_t)VAMP_OLDEST_METRICS * VAMP_OLDEST_CDOS_MAX,
                               sizeof *slot->oldest);
    }
}

static struct vamp_histogram *reserve_sum(struct vamp_cells *cells)
{
    struct vamp_histogram *sum =
        reserve(cells, 1, sizeof *sum + cells->schema.bins.count * sizeof sum->bins[0]);
    if (sum != NULL) {
        vamp_histogram_clear(sum, cells->schema.bins.count);
    }
    return sum;
}

static void reserve_all(struct vamp_cells *cells, unsigned slot_count)
{
    /* Histograms whose quantiles over all series are part of the summary. */
    static const enum vamp_metric_id summed[VAMP_HISTOGRAM_SUMS] = {VAMP_METRIC_TRANSPORT_NS,
                                                                    VAMP_METRIC_DEMAND_WAIT_NS};
    cells->counter_totals = reserve(cells, cells->counter_cells, sizeof *cells->counter_totals);
    cells->reported_counters =
        reserve(cells, cells->counter_cells, sizeof *cells->reported_counters);
    cells->weighted_rests = reserve(cells, cells->counter_cells, sizeof *cells->weighted_rests);
    cells->gauge_values = reserve(cells, cells->gauge_cells, sizeof *cells->gauge_values);
    cells->reported_gauges = reserve(cells, cells->gauge_cells, sizeof *cells->reported_gauges);
    cells->used =
        reserve(cells, (size_t)cells->histogram_cells + VAMP_HISTOGRAMS_AHEAD, sizeof *cells->used);
    cells->slots = reserve(cells, slot_count, sizeof *cells->slots);
    if (cells->slots != NULL) {
        cells->slot_count = slot_count;
    }
    for (unsigned i = 0; i < cells->slot_count; i++) {
        reserve_slot(cells, &cells->slots[i]);
    }
    for (unsigned i = 0; i < VAMP_HISTOGRAM_SUMS; i++) {
        cells->histogram_sums[i].metric = summed[i];
        if (cells->range[summed[i]].enabled) {
            cells->histogram_sums[i].closed = reserve_sum(cells);
            cells->histogram_sums[i].scratch = reserve_sum(cells);
        }
    }
}

const struct vamp_histogram_sum *vamp_cells_histogram_sum(const struct vamp_cells *cells,
                                                          enum vamp_metric_id id)
{
    for (unsigned i = 0; i < VAMP_HISTOGRAM_SUMS; i++) {
        const struct vamp_histogram_sum *sum = &cells->histogram_sums[i];
        if (sum->metric == id && sum->closed != NULL) {
            return sum;
        }
    }
    return NULL;
}

void vamp_cells_merge_histograms(const struct vamp_cells *cells, const struct vamp_slot *slot,
                                 enum vamp_metric_id id, struct vamp_histogram *into)
{
    const uint32_t first = cells->range[id].first;
    const uint32_t count = cells->range[id].set->count;
    for (uint32_t i = first; i < first + count; i++) {
        if (slot->histograms[i] != NULL) {
            vamp_open_add_to(&cells->open_histograms, slot->histograms[i], into);
        }
    }
}

int vamp_cells_init(struct vamp_cells *cells, const struct vamp_stats_options *options,
                    const char *series_space, const struct vamp_components *components,
                    unsigned slot_count, struct vamp_err *err)
{
    memset(cells, 0, sizeof *cells);
    cells->weight = 1;
    int status = vamp_series_init(&cells->series, options, components, err);
    if (status == 0) {
        status = lay_out(cells, options, err);
    }
    if (status != 0) {
        return status;
    }
    if (uuid_parse(series_space, cells->schema.series_space) != 0) {
        return vamp_err_set(err, -EINVAL, "name space \"%s\" of series is no UUID", series_space);
    }
    vamp_open_pool_init(&cells->open_histograms, &cells->schema.bins, options->max_histogram_bytes);
    reserve_all(cells, slot_count);
    if (cells->lacks_memory) {
        return vamp_err_set(err, -ENOMEM,
                            "statistics: out of memory for %u open buckets of %u counters, %u "
                            "gauges and %u histograms; a smaller max_series needs less",
                            slot_count, cells->counter_cells, cells->gauge_cells,
                            cells->histogram_cells);
    }
    return 0;
}

void vamp_cells_done(struct vamp_cells *cells)
{
    for (struct vamp_cells_part *part = cells->parts; part != NULL;) {
        struct vamp_cells_part *next = part->next;
        free(part);
        part = next;
    }
    vamp_open_pool_done(&cells->open_histograms);
    vamp_series_done(&cells->series);
    memset(cells, 0, sizeof *cells);
}

/* Adds the totals of a counter of other cells to those of the corresponding series. */
static void inherit_counters(struct vamp_cells *cells, const struct vamp_cells *before,
                             enum vamp_metric_id id)
{
    const struct vamp_cell_range *to = &cells->range[id];
    const struct vamp_cell_range *from = &before->range[id];
    for (uint32_t series = 0; series < from->set->count; series++) {
        const uint64_t total = before->counter_totals[from->first + series];
        if (total > 0) {
            struct vamp_labels labels;
            vamp_series_convert(&cells->series, to->set, &before->series, from->set, series,
                                &labels);
            cells->counter_totals[vamp_cells_cell(cells, to, &labels)] += total;
        }
    }
}

void vamp_cells_inherit(struct vamp_cells *cells, const struct vamp_cells *before)
{
    for (unsigned i = 0; i < cells->schema.metric_count; i++) {
        const enum vamp_metric_id id = cells->metrics[i].id;
        if (vamp_metrics[id].kind == VAMP_COUNTER && before->range[id].enabled) {
            inherit_counters(cells, before, id);
        }
    }
    for (unsigned i = 0; i < VAMP_HISTOGRAM_SUMS; i++) {
        const struct vamp_histogram_sum *to = &cells->histogram_sums[i];
        const struct vamp_histogram_sum *from = &before->histogram_sums[i];
        if (to->closed != NULL && from->closed != NULL) {
            vamp_histogram_rebin(to->closed, &cells->schema.bins, from->closed,
                                 &before->schema.bins);
        }
    }
    struct vamp_accounting accounting = before->accounting;
    accounting.output_count = cells->accounting.output_count;
    memcpy(accounting.outputs, cells->accounting.outputs, sizeof accounting.outputs);
    cells->accounting = accounting;
    /* Series that were merged by this conversion are not reported as overflow. */
    cells->series.overflow = 0;
    cells->series.labels_given_up = 0;
}

void vamp_cells_find_used(struct vamp_cells *cells, const struct vamp_slot *slot)
{
    uint32_t *next = cells->used;
    for (unsigned i = 0; i < cells->schema.metric_count; i++) {
        const enum vamp_metric_id id = cells->metrics[i].id;
        if (vamp_metrics[id].kind != VAMP_HISTOGRAM) {
            continue;
        }
        const uint32_t end = cells->range[id].first + cells->range[id].set->count;
        for (uint32_t k = cells->range[id].first; k < end; k++) {
            *next = k;
            next += slot->histograms[k] != NULL;
        }
    }
    for (unsigned i = 0; i < VAMP_HISTOGRAMS_AHEAD; i++) {
        *next++ = cells->histogram_cells;
    }
}

static void clear_metric(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id)
{
    const uint32_t first = cells->range[id].first;
    const uint32_t count = cells->range[id].set->count;
    if (vamp_metrics[id].kind == VAMP_COUNTER) {
        memset(slot->counters + first, 0, count * sizeof *slot->counters);
    } else if (vamp_metrics[id].kind == VAMP_GAUGE) {
        memset(slot->gauges + first, 0, count * sizeof *slot->gauges);
    }
}

void vamp_cells_clear(struct vamp_cells *cells, struct vamp_slot *slot)
{
    for (unsigned i = 0; i < cells->schema.metric_count; i++) {
        clear_metric(cells, slot, cells->metrics[i].id);
    }
    for (const uint32_t *used = cells->used; *used < cells->histogram_cells; used++) {
        vamp_open_release(&cells->open_histograms, slot->histograms[*used]);
        slot->histograms[*used] = NULL;
    }
    memset(&slot->account, 0, sizeof slot->account);
    memset(slot->filtered, 0, sizeof slot->filtered);
    memset(slot->no_room, 0, sizeof slot->no_room);
    slot->gap_count = 0;
    slot->cdo_count = 0;
    slot->cdos_unlisted = 0;
    slot->anomaly_count = 0;
    slot->anomalies_unlisted = 0;
    slot->demand_count = 0;
    slot->demands_pending = 0;
    slot->oldest_count = 0;
}

static void count_no_room(struct vamp_cells *cells, const struct vamp_noted_value *noted)
{
    struct vamp_slot *slot = cells->slots;
    while (noted->histogram < slot->histograms ||
           noted->histogram >= slot->histograms + cells->histogram_cells) {
        slot++;
    }
    const uint32_t cell = (uint32_t)(noted->histogram - slot->histograms);
    unsigned at = 0;
    enum vamp_metric_id id = cells->metrics[at].id;
    while (vamp_metrics[id].kind != VAMP_HISTOGRAM ||
           cell - cells->range[id].first >= cells->range[id].set->description->max_series) {
        id = cells->metrics[++at].id;
    }
    slot->no_room[id]++;
    slot->account.overflow++;
}

void vamp_cells_settle(struct vamp_cells *cells)
{
    for (unsigned i = 0; i < cells->noted_count; i++) {
        const struct vamp_noted_value *noted = &cells->noted[i];
        if (!vamp_open_record(&cells->open_histograms, noted->histogram, noted->value)) {
            count_no_room(cells, noted);
        }
    }
    cells->noted_count = 0;
}

void vamp_cells_gap(struct vamp_slot *slot, const struct vamp_gap *gap)
{
    if (slot->gap_count < VAMP_SLOT_GAPS_MAX) {
        slot->gaps[slot->gap_count++] = *gap;
        return;
    }
    vamp_gap_join(slot->gaps, VAMP_SLOT_GAPS_MAX, gap);
}

void vamp_cells_count_looked_up(struct vamp_cells *cells, struct vamp_slot *slot,
                                enum vamp_metric_id id, const struct vamp_labels *labels,
                                uint64_t amount)
{
    slot->counters[vamp_cells_cell(cells, &cells->range[id], labels)] += amount;
}
