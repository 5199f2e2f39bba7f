/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over cells, for a person. Private to the statistics; worker thread. */
#ifndef VAMP_STATS_TOTALS_H
#define VAMP_STATS_TOTALS_H

#include "vampire/stats/cells.h"

/* Fills what cells know: metrics and accounts, of closed and of open buckets. */
void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals);

#endif
