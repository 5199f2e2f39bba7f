/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one event means: filled by the tracker, which alone knows the earlier events, and read by
 * the statistics, each of which only counts. Private to the statistics; worker thread.
 */
#ifndef VAMP_STATS_PAIRING_OBSERVATION_H
#define VAMP_STATS_PAIRING_OBSERVATION_H

#include <string.h>

#include "vampire/stats/cells/cells.h"

/* Times between two events; which two is said in docs/metrics.md. */
enum vamp_interval {
    VAMP_INTERVAL_ASSOCIATION,
    VAMP_INTERVAL_DEMAND_WAIT,
    VAMP_INTERVAL_WITHDRAW_WAIT,
    VAMP_INTERVAL_LEAVE_WAIT,
    VAMP_INTERVAL_HANDLING,
    VAMP_INTERVAL_DECLARE_TO_OFFER,
    VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND,
    VAMP_INTERVAL_OFFER_TO_WITHDRAW,
    VAMP_INTERVAL_LIFETIME,
    VAMP_INTERVAL_TRANSPORT,
};
#define VAMP_INTERVAL_COUNT 10

/* What there is to count of an observation. Of most events it is little more than the operation. */
enum vamp_found {
    VAMP_FOUND_OPERATION = 1 << 0, /* always, but where a component's stay ended without a LEAVE */
    VAMP_FOUND_TIME = 1 << 1,      /* between two events; `fan_out` */
    VAMP_FOUND_SIZE = 1 << 2,      /* of a new CDO, or CDOs ended without one */
    VAMP_FOUND_CONTENT = 1 << 3,   /* of the pool changed, or was given or received */
    VAMP_FOUND_ANOMALY = 1 << 4,
    VAMP_FOUND_ALL = (1 << 5) - 1,
};

struct vamp_observation {
    const struct vamp_event *event;
    struct vamp_slot *slot; /* of the bucket the event counts in */
    uint32_t producer;      /* name number of the CDO's producer */
    bool size_known;        /* of the CDO, from this event or an earlier one */
    bool created;           /* a CDO of known size was created, by component `creator` */
    bool offered;           /* the CDO came into the pool */
    bool fan_out_known;     /* `fan_out` demands met the CDO in the pool */
    bool transport_completed;
    uint64_t size_bytes;
    uint32_t creator, fan_out;
    uint32_t forgotten; /* CDOs that ended without a size, by component `forgotten_of` */
    uint32_t forgotten_of, evicted;
    uint32_t intervals;                              /* bits: which of `interval_ns` were found */
    int64_t pool_cdos, pool_bytes, present, tracked; /* changes */
    int32_t active[VAMP_TIER_COUNT];                 /* changes, by tier */
    bool any_anomaly;
    bool parts_known; /* of the demand's wait: `part_ns` are its parts */
    /* Not cleared from event to event. These are set for every event, as far as it has them:
     * component is who acted, source and sink are a transport's. */
    struct vamp_labels labels;
    /* What says that one of these is there is above. */
    uint32_t anomalies[VAMP_ANOMALY_COUNT];
    uint64_t interval_ns[VAMP_INTERVAL_COUNT];
    uint64_t part_ns[VAMP_WAIT_UNKNOWN];
};

/* Nothing is seen yet of `event`, which counts in the bucket of the slot that is set already. */
static inline void vamp_observation_begin(struct vamp_observation *seen,
                                          const struct vamp_event *event)
{
    struct vamp_slot *slot = seen->slot;
    memset(seen, 0, offsetof(struct vamp_observation, labels));
    seen->slot = slot;
    seen->event = event;
}

/* Bits of enum vamp_found, the operation aside. */
static inline unsigned vamp_observation_found(const struct vamp_observation *seen)
{
    const bool content =
        (seen->pool_cdos | seen->pool_bytes) != 0 || seen->offered || seen->transport_completed;
    return (seen->intervals != 0 || seen->fan_out_known ? VAMP_FOUND_TIME : 0U) |
           (seen->created || seen->forgotten > 0 ? VAMP_FOUND_SIZE : 0U) |
           (content ? VAMP_FOUND_CONTENT : 0U) | (seen->any_anomaly ? VAMP_FOUND_ANOMALY : 0U);
}

static inline bool vamp_observed(const struct vamp_observation *seen, enum vamp_interval interval)
{
    return (seen->intervals & (UINT32_C(1) << interval)) != 0;
}

static inline void vamp_observe_anomaly(struct vamp_observation *seen, enum vamp_anomaly anomaly,
                                        uint32_t count)
{
    if (count == 0) {
        return;
    }
    if (!seen->any_anomaly) {
        memset(seen->anomalies, 0, sizeof seen->anomalies);
        seen->any_anomaly = true;
    }
    seen->anomalies[anomaly] += count;
}

/* Notes the time from `from_ns` to now; an event before its partner is an anomaly instead. */
static inline bool vamp_observe_interval(struct vamp_observation *seen, enum vamp_interval interval,
                                         int64_t from_ns)
{
    if (seen->event->time_ns < from_ns) {
        vamp_observe_anomaly(seen, VAMP_ANOMALY_NEGATIVE_INTERVAL, 1);
        return false;
    }
    seen->intervals |= UINT32_C(1) << interval;
    seen->interval_ns[interval] = (uint64_t)seen->event->time_ns - (uint64_t)from_ns;
    return true;
}

#endif
