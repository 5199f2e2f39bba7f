/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closing a bucket: what its slot counted becomes an immutable bucket and goes into the
 * totals, and the slot is empty again. Private to the statistics; worker thread.
 */
#ifndef VAMP_STATS_CELLS_CLOSE_H
#define VAMP_STATS_CELLS_CLOSE_H

#include "vampire/stats/cells/cells.h"

/* One block of memory with one holder; NULL when there is none to be had (the totals are right
 * all the same). Takes the changed rows of `components` along. */
const struct vamp_bucket *vamp_close_bucket(struct vamp_cells *cells, struct vamp_slot *slot,
                                            uint64_t number, int64_t start_ns,
                                            struct vamp_components *components);

#endif
