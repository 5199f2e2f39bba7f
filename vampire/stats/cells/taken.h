/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gauges that are taken once for a bucket, when time reaches its end: what is in flight. Private to
 * the statistics; worker thread.
 */
#ifndef VAMP_STATS_CELLS_TAKEN_H
#define VAMP_STATS_CELLS_TAKEN_H

#include "vampire/stats/cells/cells.h"

/* Whether one of these gauges is enabled. */
bool vamp_taken_any(const struct vamp_cells *cells);
/* Adds to the gauge of these labels: a number, and its least and greatest in the bucket. */
void vamp_taken_add(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, const struct vamp_gauge_change *amount);
/* The gauge of these labels is this age, in nanoseconds, or an older one that it has already. */
void vamp_taken_age(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, uint64_t age_ns);
/* Before the slot's bucket closes: what was taken becomes changes, as those of other gauges. */
void vamp_taken_fold(const struct vamp_cells *cells, struct vamp_slot *slot);

#endif
