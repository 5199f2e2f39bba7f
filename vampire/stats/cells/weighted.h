/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted counters: what the counters of a bucket stand for when events are sampled. Private to
 * the statistics; worker thread.
 */
#ifndef VAMP_STATS_CELLS_WEIGHTED_H
#define VAMP_STATS_CELLS_WEIGHTED_H

#include "vampire/stats/cells/cells.h"

/* Before the slot's bucket closes: each weighted counter gets what its plain one counted times
 * `weight`, in millionths as in the metric vampire_weight. What rounding leaves
 * goes into the next bucket, so that a total is the exact sum, rounded. */
void vamp_weighted_fold(struct vamp_cells *cells, struct vamp_slot *slot, uint64_t weight);

#endif
