/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 13 to 16: transports. */
#include "vampire/core/clock.h"
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_TRANSPORT_NS,      VAMP_METRIC_TRANSPORTS,
    VAMP_METRIC_TRANSPORT_BYTES,   VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND,
    VAMP_METRIC_TRANSPORTS_ACTIVE, VAMP_METRIC_COUNT};

/* A pair's transports and their times have room together, or neither has. */
static const enum vamp_metric_id most_labels_first[] = {
    VAMP_METRIC_TRANSPORTS, VAMP_METRIC_TRANSPORT_BYTES, VAMP_METRIC_TRANSPORT_NS,
    VAMP_METRIC_COUNT};

static uint64_t bytes_per_second(uint64_t bytes, uint64_t ns)
{
    unsigned __int128 rate = (unsigned __int128)bytes * (uint64_t)VAMP_NS_PER_SECOND / ns;
    return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

static void count_completed(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_slot *slot = seen->slot;
    const uint64_t bytes = seen->size_known ? seen->size_bytes : 0;
    struct vamp_labels labels = seen->labels;
    vamp_cells_admit(cells, most_labels_first, &labels);
    vamp_cells_count(cells, slot, VAMP_METRIC_TRANSPORTS, &labels, 1);
    vamp_cells_count(cells, slot, VAMP_METRIC_TRANSPORT_BYTES, &labels, bytes);
    if (!vamp_observed(seen, VAMP_INTERVAL_TRANSPORT)) {
        return;
    }
    const uint64_t ns = seen->interval_ns[VAMP_INTERVAL_TRANSPORT];
    vamp_cells_record(cells, slot, VAMP_METRIC_TRANSPORT_NS, &labels, ns);
    if (ns > 0 && bytes > 0) {
        vamp_cells_record(cells, slot, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND, &seen->labels,
                          bytes_per_second(bytes, ns));
    }
}

static void count_active(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_labels labels = seen->labels;
    for (uint32_t tier = 0; tier < VAMP_TIER_COUNT; tier++) {
        labels.value[VAMP_LABEL_TIER] = tier;
        vamp_cells_change(cells, seen->slot, VAMP_METRIC_TRANSPORTS_ACTIVE, &labels,
                          seen->active[tier]);
    }
}

static void count_transport(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    count_active(cells, seen);
    if (seen->transport_completed) {
        count_completed(cells, seen);
    }
}

const struct vamp_statistic_ops vamp_statistic_transports = {
    .name = "transports",
    .metrics = metrics,
    .after = VAMP_KIND_BIT(TRANSPORT_INIT) | VAMP_KIND_BIT(TRANSPORT_COMPLETED) |
             VAMP_KIND_BIT(TRANSPORT_FAILED),
    .found = VAMP_FOUND_OPERATION,
    .on_event = count_transport,
    .on_gone = count_active,
};
