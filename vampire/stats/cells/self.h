/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of a bucket that are not counted at events: gauges that are measured when time reaches the
 * end of the bucket (operations in flight), vampire's own metrics (accounting, and values reported
 * by the program), and totals for the status line and the summary. Private to the statistics;
 * worker thread.
 */
#pragma once

#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/cells.h"

/* Returns whether any measured gauge is enabled. */
bool vamp_taken_any(const struct vamp_cells *cells);
/* Adds a number, with its minimum and maximum in the bucket, to the gauge with these labels. */
void vamp_taken_add(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, const struct vamp_gauge_change *amount);
/* Raises the gauge with these labels to this age if it is lower. */
void vamp_taken_age(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, uint64_t age_ns);

/* Implement vamp_stats_outputs and vamp_stats_self (stats.h); values of histograms are recorded in
 * `slot`. */
void vamp_self_outputs(struct vamp_cells *cells, const struct vamp_output_account *outputs,
                       unsigned count);
void vamp_self_report(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                      unsigned output, int64_t value);
/* Called before the slot's bucket closes: converts measured gauges, the slot's accounting and
 * reported values into changes of the slot's cells, and adds the accounting to cells->accounting.
 */
void vamp_self_fold(struct vamp_cells *cells, struct vamp_slot *slot);

/* Sets the totals of metrics and of the accounting over closed and open buckets. */
void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals);
