/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a bucket has besides what events counted: gauges that are taken once, when time reaches its
 * end (what is in flight), vampire's own metrics (its account, and what the program reports about
 * itself), and sums for a person. Private to the statistics; worker thread.
 */
#pragma once

#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/cells.h"

/* Whether one of these gauges is enabled. */
bool vamp_taken_any(const struct vamp_cells *cells);
/* Adds to the gauge of these labels: a number, and its least and greatest in the bucket. */
void vamp_taken_add(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, const struct vamp_gauge_change *amount);
/* The gauge of these labels is this age, in nanoseconds, or an older one that it has already. */
void vamp_taken_age(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, uint64_t age_ns);

/* Contracts of vamp_stats_outputs and vamp_stats_self; histograms go into `slot`. */
void vamp_self_outputs(struct vamp_cells *cells, const struct vamp_output_account *outputs,
                       unsigned count);
void vamp_self_report(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                      unsigned output, int64_t value);
/* Before the slot's bucket closes: what was taken, its account and everything reported become
 * changes in the slot, as those of other cells, and the account goes into cells->accounting. */
void vamp_self_fold(struct vamp_cells *cells, struct vamp_slot *slot);

/* Sums what cells know: metrics and accounts, of closed and of open buckets. */
void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals);
