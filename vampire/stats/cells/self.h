/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Values of a bucket that events do not count: gauges that are measured when time reaches its
 * end (operations in flight), vampire's own metrics (accounting, and values reported by the
 * program), and totals for the status line and the summary. Private to the statistics; worker
 * thread.
 */
#pragma once

#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/cells.h"

/* Whether one of the measured gauges is enabled. */
bool vamp_taken_any(const struct vamp_cells *cells);
/* Adds a number, and its minimum and maximum in the bucket, to the gauge of these labels. */
void vamp_taken_add(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, const struct vamp_gauge_change *amount);
/* Raises the gauge of these labels to this age. */
void vamp_taken_age(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, uint64_t age_ns);

/* Contracts of vamp_stats_outputs and vamp_stats_self; histograms go into `slot`. */
void vamp_self_outputs(struct vamp_cells *cells, const struct vamp_output_account *outputs,
                       unsigned count);
void vamp_self_report(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                      unsigned output, int64_t value);
/* Called before the slot's bucket closes: converts measured gauges, the account and reported values
 * into changes of the slot's cells, and adds the account to cells->accounting. */
void vamp_self_fold(struct vamp_cells *cells, struct vamp_slot *slot);

/* Totals of metrics and accounts over closed and open buckets. */
void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals);
