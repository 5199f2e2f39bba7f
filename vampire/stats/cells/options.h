/* SPDX-License-Identifier: BSD-3-Clause */
/* What the statistics compute, and the limits of their memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/stats/bucket/metric.h"

#define VAMP_MAX_EMPTY_DEFAULT 600
#define VAMP_LATE_RUN_MAX 256
#define VAMP_OPEN_BUCKETS_MAX 64 /* limit of lateness_ns / bucket_ns */
#define VAMP_LOOK_AHEAD 16       /* most events of one vamp_stats_look_ahead */

/* Bytes of an attribute's value as a label; a longer one is cut at a character. */
#define VAMP_ATTRIBUTE_BYTES 63
/* The attributes of a CDO as reported by an event. */
struct vamp_attribute_text {
    const char *begin;
    size_t length; /* 0: not reported */
};
struct vamp_attribute_texts {
    struct vamp_attribute_text items[VAMP_ATTRIBUTES_MAX];
};

struct vamp_stats_options {
    int64_t bucket_ns;
    int64_t lateness_ns;                /* -1: one bucket */
    unsigned level;                     /* enum vamp_level */
    uint64_t sets;                      /* enum vamp_metric_set bits; SELF is always added */
    bool metrics_on[VAMP_METRICS_MAX];  /* added to those of the sets */
    bool metrics_off[VAMP_METRICS_MAX]; /* removed from them */
    unsigned sub_bits;                  /* 2, 3 or 4 */
    uint64_t max_series;                /* per label set */
    uint64_t attribute_values;          /* distinct values of each attribute */
    uint64_t max_histogram_bytes;       /* of all open buckets together */
    uint64_t max_components;
    uint64_t max_cdos;       /* live CDOs tracked */
    uint64_t max_pending;    /* received operations, demands and transports tracked, each */
    uint64_t max_empty;      /* buckets; 0: VAMP_MAX_EMPTY_DEFAULT */
    uint32_t unknown;        /* bit per enum vamp_unknown: what the source does not report */
    uint64_t not_subscribed; /* bit per enum vamp_event_kind: these kinds will not arrive */
    bool replayed;           /* no lag and no ring: events are read as fast as they are counted */
};

/* Whether events have no time: their time of arrival is counted, with its error. */
static inline bool vamp_stats_by_arrival(const struct vamp_stats_options *options)
{
    return (options->unknown & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_TIME)) != 0;
}
/* Whether the metric is requested, by its name or by its sets, and applies to the run. */
static inline bool vamp_stats_asks(const struct vamp_stats_options *options, enum vamp_metric_id id)
{
    if (options->metrics_off[id]) {
        return false;
    }
    if (id == VAMP_METRIC_VAMPIRE_CLOCK_RESOLUTION_NS && !vamp_stats_by_arrival(options)) {
        return false;
    }
    if (options->replayed &&
        (id == VAMP_METRIC_VAMPIRE_LAG_NS || id == VAMP_METRIC_VAMPIRE_RING_BYTES)) {
        return false;
    }
    const uint64_t sets = options->sets | VAMP_SET_SELF | VAMP_SET_SAMPLED;
    return options->metrics_on[id] || (vamp_metrics[id].sets & sets) != 0;
}
/* Whether it is computed: requested, and the source reports what it is based on. */
static inline bool vamp_stats_wants(const struct vamp_stats_options *options,
                                    enum vamp_metric_id id)
{
    return vamp_stats_asks(options, id) && (vamp_metrics[id].basis & options->unknown) == 0;
}
