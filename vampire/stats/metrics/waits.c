/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 7 to 10: how long components wait, for what, and how long the pool manager takes. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_DEMAND_WAIT_NS, VAMP_METRIC_DEMAND_WAIT_PART_NS, VAMP_METRIC_WITHDRAW_WAIT_NS,
    VAMP_METRIC_LEAVE_WAIT_NS,  VAMP_METRIC_HANDLING_NS,         VAMP_METRIC_COUNT};
static const enum vamp_metric_id parts[] = {VAMP_METRIC_DEMAND_WAIT_PART_NS, VAMP_METRIC_COUNT};

/* The parts of one wait have room with the same labels: what one gives up, all do. False: they
 * give up the label `part` itself. */
static bool admit_parts(struct vamp_cells *cells, struct vamp_labels *labels)
{
    for (uint32_t part = 0; part < VAMP_WAIT_UNKNOWN;) {
        struct vamp_labels room = *labels;
        room.value[VAMP_LABEL_PART] = part;
        vamp_cells_admit(cells, parts, &room);
        if (room.value[VAMP_LABEL_PART] != part) {
            *labels = room;
            return false;
        }
        const bool is_same = room.value[VAMP_LABEL_PRODUCER] == labels->value[VAMP_LABEL_PRODUCER];
        labels->value[VAMP_LABEL_PRODUCER] = room.value[VAMP_LABEL_PRODUCER];
        part = is_same ? part + 1 : 0;
    }
    return true;
}

static void record_known_parts(struct vamp_cells *cells, const struct vamp_observation *seen,
                               struct vamp_labels *labels)
{
    const bool has_parts =
        !vamp_cells_is_scarce(cells, VAMP_METRIC_DEMAND_WAIT_PART_NS) || admit_parts(cells, labels);
    for (uint32_t part = 0; part < VAMP_WAIT_UNKNOWN; part++) {
        if (has_parts) {
            labels->value[VAMP_LABEL_PART] = part;
        }
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_DEMAND_WAIT_PART_NS, labels,
                          seen->part_ns[part]);
    }
}

static void record_wait_parts(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    /* The filter of the whole is that of its parts. */
    if (!cells->range[VAMP_METRIC_DEMAND_WAIT_PART_NS].enabled ||
        cells->excluded[VAMP_METRIC_DEMAND_WAIT_NS]) {
        return;
    }
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_PRODUCER] = seen->producer;
    if (seen->parts_known) {
        record_known_parts(cells, seen, &labels);
        return;
    }
    labels.value[VAMP_LABEL_PART] = VAMP_WAIT_UNKNOWN;
    vamp_cells_record(cells, seen->slot, VAMP_METRIC_DEMAND_WAIT_PART_NS, &labels,
                      seen->interval_ns[VAMP_INTERVAL_DEMAND_WAIT]);
}

static void record_waits(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    static const enum vamp_metric_id metric_of[VAMP_INTERVAL_COUNT] = {
        [VAMP_INTERVAL_DEMAND_WAIT] = VAMP_METRIC_DEMAND_WAIT_NS,
        [VAMP_INTERVAL_WITHDRAW_WAIT] = VAMP_METRIC_WITHDRAW_WAIT_NS,
        [VAMP_INTERVAL_LEAVE_WAIT] = VAMP_METRIC_LEAVE_WAIT_NS,
        [VAMP_INTERVAL_HANDLING] = VAMP_METRIC_HANDLING_NS,
    };
    for (uint32_t left = seen->intervals & VAMP_INTERVALS_OF_WAITS; left != 0; left &= left - 1) {
        const unsigned interval = (unsigned)__builtin_ctz(left);
        vamp_cells_record(cells, seen->slot, metric_of[interval], &seen->labels,
                          seen->interval_ns[interval]);
    }
    if (vamp_observed(seen, VAMP_INTERVAL_DEMAND_WAIT)) {
        record_wait_parts(cells, seen);
    }
}

const struct vamp_statistic_ops vamp_statistic_waits = {
    .name = "waits",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .found = VAMP_FOUND_WAIT,
    .on_event = record_waits,
};
