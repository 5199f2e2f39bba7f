/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpretation of one event. It is set by the tracker, which has the state of earlier events,
 * and read by the statistics, which only count. Private to the statistics; worker thread.
 */
#pragma once

#include <string.h>

#include "vampire/stats/cells/cells.h"

/* Times between two events; docs/metrics.md defines which. */
enum vamp_interval {
    VAMP_INTERVAL_ASSOCIATION,
    VAMP_INTERVAL_TRANSPORT,
    VAMP_INTERVAL_DEMAND_WAIT, /* waits */
    VAMP_INTERVAL_WITHDRAW_WAIT,
    VAMP_INTERVAL_LEAVE_WAIT,
    VAMP_INTERVAL_HANDLING,
    VAMP_INTERVAL_DECLARE_TO_OFFER, /* lifecycle of a CDO */
    VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND,
    VAMP_INTERVAL_OFFER_TO_WITHDRAW,
    VAMP_INTERVAL_LIFETIME,
    VAMP_INTERVAL_COUNT
};
/* Bits of groups of intervals in `intervals`. */
#define VAMP_INTERVALS_OF_WAITS                                                                    \
    ((UINT32_C(2) << VAMP_INTERVAL_HANDLING) - (UINT32_C(1) << VAMP_INTERVAL_DEMAND_WAIT))
#define VAMP_INTERVALS_OF_LIFE                                                                     \
    ((UINT32_C(2) << VAMP_INTERVAL_LIFETIME) - (UINT32_C(1) << VAMP_INTERVAL_DECLARE_TO_OFFER))

/* Contents of an observation, as bits. Most events have only the operation. */
enum vamp_found {
    VAMP_FOUND_OPERATION = 1 << 0, /* always, except for a stay that ended without a LEAVE */
    VAMP_FOUND_WAIT = 1 << 1,      /* one of VAMP_INTERVALS_OF_WAITS */
    VAMP_FOUND_LIFE = 1 << 2,      /* one of VAMP_INTERVALS_OF_LIFE, or `fan_out` */
    VAMP_FOUND_SIZE = 1 << 3,      /* a CDO was created, or CDOs ended without a size */
    VAMP_FOUND_CONTENT = 1 << 4,   /* the pool's content changed, or was produced or consumed */
    VAMP_FOUND_ANOMALY = 1 << 5,
    VAMP_FOUND_ALL = (1 << 6) - 1,
};

struct vamp_observation {
    /* Zero unless the tracker sets them. */
    uint32_t found;     /* enum vamp_found bits */
    uint32_t intervals; /* bits: which elements of `interval_ns` are set */
    /* Number of CDOs that ended without a size; their owner is `forgotten_of`. */
    uint32_t forgotten;
    uint32_t evicted;
    int64_t pool_cdos, pool_bytes, present, tracked; /* changes */
    int32_t active[VAMP_TIER_COUNT];                 /* changes, by tier */
    bool pool_changed;  /* `pool_cdos` or `pool_bytes` may not be zero */
    bool size_known;    /* `size_bytes` is known from this event or an earlier one */
    bool created;       /* a CDO of known size was created; its creator is `creator` */
    bool offered;       /* a component started to offer the CDO */
    bool fan_out_known; /* the CDO left the pool; its number of demands is `fan_out` */
    bool transport_completed;
    bool parts_known; /* `part_ns` contains the parts of the demand's wait */
    /* Set for every event. */
    const struct vamp_event *event;
    struct vamp_slot *slot; /* slot of the event's bucket */
    uint32_t producer;      /* number of the name of the CDO's producer */
    uint64_t size_bytes;    /* 0: not known */
    /* Component, operation and size class are set for every event; sink, source, tier and cause
     * only for transports. */
    struct vamp_labels labels;
    /* Set only if the corresponding flag or number above is set. */
    uint32_t creator, fan_out, forgotten_of;
    uint32_t anomalies[VAMP_ANOMALY_COUNT];
    uint64_t interval_ns[VAMP_INTERVAL_COUNT];
    uint64_t part_ns[VAMP_WAIT_UNKNOWN];
};

/* Resets the observation for `event`; keeps the slot. */
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

/* Records the time from `from_ns` to the event. If the event is earlier than `from_ns`, records an
 * anomaly instead and returns false. */
static inline bool vamp_observe_interval(struct vamp_observation *seen, enum vamp_interval interval,
                                         int64_t from_ns)
{
    if (seen->event->time_ns < from_ns) {
        vamp_observe_anomaly(seen, VAMP_ANOMALY_NEGATIVE_INTERVAL, 1);
        return false;
    }
    const uint32_t bit = UINT32_C(1) << interval;
    seen->intervals |= bit;
    if ((bit & VAMP_INTERVALS_OF_WAITS) != 0) {
        seen->found |= VAMP_FOUND_WAIT;
    } else if ((bit & VAMP_INTERVALS_OF_LIFE) != 0) {
        seen->found |= VAMP_FOUND_LIFE;
    }
    seen->interval_ns[interval] = (uint64_t)seen->event->time_ns - (uint64_t)from_ns;
    return true;
}
