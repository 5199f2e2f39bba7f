/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over cells, for a person. Worker thread. */
#ifndef VAMP_STATS_CELLS_TOTALS_H
#define VAMP_STATS_CELLS_TOTALS_H

#include "vampire/stats/bucket/totals.h"

struct vamp_cells;

/* Private to the statistics. Fills what cells know: metrics and accounts, of closed and of open
 * buckets. */
void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals);

#endif
