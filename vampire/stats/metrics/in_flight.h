/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in flight at the end of a bucket. Private to the statistics; worker thread. */
#ifndef VAMP_STATS_METRICS_IN_FLIGHT_H
#define VAMP_STATS_METRICS_IN_FLIGHT_H

#include "vampire/stats/pairing/track.h"

/* Takes the gauges of set `in_flight` for the bucket of the slot, which begins at `start_ns`, from
 * the tracker as it is now. Ages are measured to `now_ns`: the end of the bucket, or less where the
 * stream ended before. */
void vamp_in_flight_take(struct vamp_cells *cells, struct vamp_slot *slot,
                         struct vamp_tracker *tracker, int64_t start_ns, int64_t now_ns);

#endif
