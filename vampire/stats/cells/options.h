/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of the statistics: what is computed, and limits of memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/stats/bucket/metric.h"

#define VAMP_MAX_EMPTY_DEFAULT 600
#define VAMP_LATE_RUN_MAX 256
#define VAMP_OPEN_BUCKETS_MAX                                                                      \
    64 /* maximum number of open buckets; lateness_ns / bucket_ns must be less than this */
#define VAMP_LOOK_AHEAD 16 /* maximum number of events in one call of vamp_stats_look_ahead */

/* Maximum length of an attribute's value as a label; a longer value is cut at a character boundary.
 */
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
    int64_t lateness_ns;                /* -1: width of one bucket */
    unsigned level;                     /* enum vamp_level */
    uint64_t sets;                      /* enum vamp_metric_set bits; SELF is always added */
    bool metrics_on[VAMP_METRICS_MAX];  /* enabled in addition to the sets */
    bool metrics_off[VAMP_METRICS_MAX]; /* disabled although in the sets */
    unsigned sub_bits;                  /* 2, 3 or 4 */
    uint64_t max_series;                /* maximum number of series per label set */
    uint64_t attribute_values;          /* maximum number of distinct values of each attribute */
    uint64_t max_histogram_bytes;       /* limit over all open buckets */
    uint64_t max_components;
    uint64_t max_cdos; /* maximum number of tracked CDOs */
    /* Maximum number of tracked received operations, demands and transports, each. */
    uint64_t max_pending;
    uint64_t max_empty;      /* buckets; 0: VAMP_MAX_EMPTY_DEFAULT */
    uint32_t unknown;        /* bit per enum vamp_unknown: data that the source does not report */
    uint64_t not_subscribed; /* bit per enum vamp_event_kind: kinds that will not arrive */
    bool
        replayed; /* events are read at the speed at which they are counted, without lag and ring */
};

/* Returns whether events have no time, so that their time of arrival and its error are used. */
static inline bool vamp_stats_by_arrival(const struct vamp_stats_options *options)
{
    return (options->unknown & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_TIME)) != 0;
}
/* Returns whether the metric is requested, by its name or by its sets, and applies to the run. */
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
/* Returns the kinds of events that the metric needs and that will not arrive. */
static inline uint64_t vamp_stats_kinds_lacking(const struct vamp_stats_options *options,
                                                enum vamp_metric_id id)
{
    return vamp_metric_kinds(id) & options->not_subscribed;
}
/* Returns whether the metric is computed: it is requested, and the source reports the data and the
 * kinds of events on which it is based. */
static inline bool vamp_stats_wants(const struct vamp_stats_options *options,
                                    enum vamp_metric_id id)
{
    return vamp_stats_asks(options, id) && (vamp_metrics[id].basis & options->unknown) == 0 &&
           vamp_stats_kinds_lacking(options, id) == 0;
}
