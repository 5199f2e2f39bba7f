/* SPDX-License-Identifier: BSD-3-Clause */
/* What the statistics are asked to compute, and the bounds of their memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/stats/bucket/metric.h"

#define VAMP_MAX_EMPTY_DEFAULT 600
#define VAMP_LATE_RUN_MAX 256
#define VAMP_OPEN_BUCKETS_MAX 64 /* bounds lateness_ns / bucket_ns */
#define VAMP_LOOK_AHEAD 16       /* events that vamp_stats_look_ahead takes at a time */

/* What an event says of its CDO's attributes, by attribute. */
#define VAMP_ATTRIBUTE_BYTES                                                                       \
    63 /* of a value as a label; a longer one is cut at a character's border */
struct vamp_attribute_text {
    const char *begin;
    size_t length; /* 0: nothing */
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
    uint64_t attribute_values;          /* different ones of each attribute */
    uint64_t max_histogram_bytes;       /* of all open buckets together */
    uint64_t max_components;
    uint64_t max_cdos;       /* pairing state: live CDOs tracked */
    uint64_t max_pending;    /* demands and transports tracked, each kind this many */
    uint64_t max_empty;      /* buckets; 0: VAMP_MAX_EMPTY_DEFAULT */
    uint32_t unknown;        /* bit per enum vamp_unknown: what the source cannot know */
    uint64_t not_subscribed; /* bit per enum vamp_event_kind: none of these kinds will come */
    bool replayed;           /* the events do not wait to be counted, and have no lag */
};

/* Events carry no time: that of their arrival is counted, and how far it may be off. */
static inline bool vamp_stats_by_arrival(const struct vamp_stats_options *options)
{
    return (options->unknown & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_TIME)) != 0;
}
/* Whether the metric is asked for: named itself, or else by its sets. */
static inline bool vamp_stats_asks(const struct vamp_stats_options *options, enum vamp_metric_id id)
{
    return !options->metrics_off[id] &&
           (id != VAMP_METRIC_VAMPIRE_CLOCK_RESOLUTION_NS || vamp_stats_by_arrival(options)) &&
           !(options->replayed &&
             (id == VAMP_METRIC_VAMPIRE_LAG_NS || id == VAMP_METRIC_VAMPIRE_RING_BYTES)) &&
           (options->metrics_on[id] ||
            (vamp_metrics[id].sets & (options->sets | VAMP_SET_SELF | VAMP_SET_SAMPLED)) != 0);
}
/* Whether it is computed: asked for, and all that it rests on is known. */
static inline bool vamp_stats_wants(const struct vamp_stats_options *options,
                                    enum vamp_metric_id id)
{
    return vamp_stats_asks(options, id) && (vamp_metrics[id].basis & options->unknown) == 0;
}
