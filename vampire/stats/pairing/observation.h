/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one event means: filled by the tracker, which alone knows the earlier events, and read by
 * the statistics, each of which only counts. Private to the statistics; worker thread.
 */
#pragma once

#include <string.h>

#include "vampire/stats/cells/cells.h"

/* Times between two events; which two is said in docs/metrics.md. */
enum vamp_interval {
    VAMP_INTERVAL_ASSOCIATION,
    VAMP_INTERVAL_TRANSPORT,
    VAMP_INTERVAL_DEMAND_WAIT, /* waits */
    VAMP_INTERVAL_WITHDRAW_WAIT,
    VAMP_INTERVAL_LEAVE_WAIT,
    VAMP_INTERVAL_HANDLING,
    VAMP_INTERVAL_DECLARE_TO_OFFER, /* the life of a CDO */
    VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND,
    VAMP_INTERVAL_OFFER_TO_WITHDRAW,
    VAMP_INTERVAL_LIFETIME,
};
#define VAMP_INTERVAL_COUNT 10
/* Their bits in `intervals`. */
#define VAMP_INTERVALS_OF_WAITS                                                                    \
    ((UINT32_C(2) << VAMP_INTERVAL_HANDLING) - (UINT32_C(1) << VAMP_INTERVAL_DEMAND_WAIT))
#define VAMP_INTERVALS_OF_LIFE                                                                     \
    ((UINT32_C(2) << VAMP_INTERVAL_LIFETIME) - (UINT32_C(1) << VAMP_INTERVAL_DECLARE_TO_OFFER))

/* What there is to count of an observation. Of most events it is little more than the operation. */
enum vamp_found {
    VAMP_FOUND_OPERATION = 1 << 0, /* always, but where a component's stay ended without a LEAVE */
    VAMP_FOUND_WAIT = 1 << 1,      /* one of VAMP_INTERVALS_OF_WAITS */
    VAMP_FOUND_LIFE = 1 << 2,      /* one of VAMP_INTERVALS_OF_LIFE, or `fan_out` */
    VAMP_FOUND_SIZE = 1 << 3,      /* of a new CDO, or CDOs ended without one */
    VAMP_FOUND_CONTENT = 1 << 4,   /* of the pool changed, or was given or received */
    VAMP_FOUND_ANOMALY = 1 << 5,
    VAMP_FOUND_ALL = (1 << 6) - 1,
};

struct vamp_observation {
    /* As long as nothing was seen of an event, all of these are zero. */
    uint32_t found;     /* enum vamp_found bits: set with what they stand for */
    uint32_t intervals; /* bits: which of `interval_ns` were found */
    uint32_t forgotten; /* CDOs that ended without a size, by component `forgotten_of` */
    uint32_t evicted;
    int64_t pool_cdos, pool_bytes, present, tracked; /* changes */
    int32_t active[VAMP_TIER_COUNT];                 /* changes, by tier */
    bool pool_changed;  /* `pool_cdos` or `pool_bytes` may be other than zero */
    bool size_known;    /* of the CDO, from this event or an earlier one */
    bool created;       /* a CDO of known size was created, by component `creator` */
    bool offered;       /* the CDO came into the pool */
    bool fan_out_known; /* `fan_out` demands met the CDO in the pool */
    bool transport_completed;
    bool parts_known; /* of the demand's wait: `part_ns` are its parts */
    /* These are set for every event. */
    const struct vamp_event *event;
    struct vamp_slot *slot; /* of the bucket the event counts in */
    uint32_t producer;      /* name number of the CDO's producer */
    uint64_t size_bytes;    /* 0: not known */
    /* Component (who acted), operation and size class are set for every event; sink, source, tier
     * and cause for events of transports, which alone have them. */
    struct vamp_labels labels;
    /* What says that one of these is there is above. */
    uint32_t creator, fan_out, forgotten_of;
    uint32_t anomalies[VAMP_ANOMALY_COUNT];
    uint64_t interval_ns[VAMP_INTERVAL_COUNT];
    uint64_t part_ns[VAMP_WAIT_UNKNOWN];
};

/* Nothing is seen yet of `event`, which counts in the bucket of the slot that is set already. */
static inline void vamp_observation_begin(struct vamp_observation *seen,
                                          const struct vamp_event *event)
{
    memset(seen, 0, offsetof(struct vamp_observation, event));
    seen->event = event;
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
    if ((seen->found & VAMP_FOUND_ANOMALY) == 0) {
        memset(seen->anomalies, 0, sizeof seen->anomalies);
        seen->found |= VAMP_FOUND_ANOMALY;
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
    const uint32_t bit = UINT32_C(1) << interval;
    seen->intervals |= bit;
    seen->found |= ((bit & VAMP_INTERVALS_OF_WAITS) != 0 ? VAMP_FOUND_WAIT : 0U) |
                   ((bit & VAMP_INTERVALS_OF_LIFE) != 0 ? VAMP_FOUND_LIFE : 0U);
    seen->interval_ns[interval] = (uint64_t)seen->event->time_ns - (uint64_t)from_ns;
    return true;
}
