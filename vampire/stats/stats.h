/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The statistics: events in, buckets out. Memory is allocated at creation or in limited steps;
 * observing an event cannot fail. Owned by the worker thread; only vamp_bucket_release may be
 * called by other threads.
 *
 *  * Buckets are aligned to multiples of their width since 1970 and follow event time: a bucket
 * closes when an event (or vamp_stats_tick) has a time `lateness` past its end. An event older than
 * the oldest open bucket is counted there, as late. Empty buckets between two events are emitted,
 * up to `max_empty` in a row; after a longer silence, or a leap of the clock, buckets continue at
 * the new time, and a gap of reason VAMP_GAP_LEAP with 0 events reports it. VAMP_LATE_RUN_MAX late
 * events in a row indicate that the clock was set back.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/options.h"

struct vamp_stats;
struct vamp_sampled_account; /* vampire/stats/sampled.h */

/* Whether an event selects its CDO for the table of level `cdo`. */
typedef bool vamp_select_fn(void *context, const struct vamp_event *event);

/* `series_space` (UUID text) is the name space of series' ids. `components` is shared with the
 * caller on the same thread; it and the statistics own labels and names and must outlive every
 * bucket. 0, -ENOMEM, or -EINVAL when an option is out of range or contradicts another. */
VAMP_MUST_CHECK int vamp_stats_create(const struct vamp_stats_options *options,
                                      const char *series_space, struct vamp_components *components,
                                      vamp_bucket_fn *emit, void *emit_context,
                                      struct vamp_stats **ret_stats, struct vamp_err *err);
void vamp_stats_free(struct vamp_stats *stats);
/* Which CDOs have a row at level `cdo`: those with a selected event; by default all. To be called
 * before the first event. */
void vamp_stats_select(struct vamp_stats *stats, vamp_select_fn *select, void *context);
const struct vamp_schema *vamp_stats_schema(const struct vamp_stats *stats);
/* Events turned out not to report this (bit per enum vamp_unknown); the coverage includes it from
 * here on. */
void vamp_stats_learn(struct vamp_stats *stats, uint32_t unknown);

/* The decision of the filters. Without sampling, false and true may be used. */
enum vamp_verdict {
    VAMP_FILTERED = 0,
    VAMP_PASSED = 1,
    VAMP_SAMPLED_OUT = 2, /* represented by others */
};

/* Observes every event of the stream in order, including control events. The caller has already let
 * `components` observe it, but reports a GONE to them afterwards (vamp_components_gone). An event
 * that did not pass is accounted as filtered, or sampled out, and advances time. */
void vamp_stats_observe(struct vamp_stats *stats, const struct vamp_event *event,
                        enum vamp_verdict verdict);
/* Observes a sample whose time event time has reached; an older one is counted in the oldest open
 * bucket. It does not advance time and is accounted separately, in vamp_stats_samples, which is
 * owned by the statistics. */
void vamp_stats_sample(struct vamp_stats *stats, const struct vamp_event *sample);
const struct vamp_sampled_account *vamp_stats_samples(const struct vamp_stats *stats);
/* Prefetches the state of the next events, at most VAMP_LOOK_AHEAD, including control events. They
 * must be observed unchanged and in this order. With many live CDOs this halves the time to observe
 * them; otherwise it changes nothing. */
void vamp_stats_look_ahead(struct vamp_stats *stats, const struct vamp_event *const *events,
                           unsigned count);
/* How many events each event of a CDO that passed represents: metric vampire_weight. Default 1. */
void vamp_stats_sampling(struct vamp_stats *stats, double weight);
/* Called for every event that passed, to exclude it from single metrics: sets or clears elements of
 * `excluded`, which keeps its values between events and is initially cleared. NULL: every event
 * counts for all metrics. Must not block or fail. */
typedef void vamp_exclude_fn(void *context, const struct vamp_event *event,
                             bool excluded[static VAMP_METRICS_MAX]);
void vamp_stats_exclude(struct vamp_stats *stats, vamp_exclude_fn *exclude, void *context);
/* Reads the attributes of the event's CDO, in the order of their declaration; none if the event
 * does not name the CDO. The texts point into the event; `ret_texts` is empty. Called for events of
 * CDOs whose attributes are not known yet. To be set before the first event; without it they are
 * unknown. Must not block or fail. */
typedef void vamp_read_attributes_fn(void *context, const struct vamp_event *event,
                                     struct vamp_attribute_texts *ret_texts);
void vamp_stats_read_attributes(struct vamp_stats *stats, vamp_read_attributes_fn *read,
                                void *context);
/* Advances event time to `now_ns` without an event (live sources, periodically). */
void vamp_stats_tick(struct vamp_stats *stats, int64_t now_ns);
/* The event time at which the next bucket closes; false: none is open yet. */
bool vamp_stats_next_close(const struct vamp_stats *stats, int64_t *ret_ns);
/* The writers' accounts as of now, for the next buckets (vampire_* metrics and accounting). */
void vamp_stats_outputs(struct vamp_stats *stats, const struct vamp_output_account *outputs,
                        unsigned count);
/* Reports a value of vampire itself, for the next bucket that closes:
 * VAMP_METRIC_VAMPIRE_..._BYTES, _LAG_NS, _ALARMS_FIRING (gauges), VAMPIRE_CPU_NS, _FILTER_CUT,
 * _ALARMS_FIRED (absolute), VAMPIRE_COMMIT_NS and OWN_ROUNDTRIP_NS (histograms; a negative value is
 * ignored), VAMPIRE_QUEUE_HIGH_WATER. `output` is the output's index in vamp_stats_outputs; for
 * OWN_ROUNDTRIP_NS the enum vamp_event_kind; else 0. Other metrics, and those that are not enabled,
 * are ignored. */
void vamp_stats_self(struct vamp_stats *stats, enum vamp_metric_id id, unsigned output,
                     int64_t value);
/* Closes and emits every open bucket. Nothing may be observed afterwards. */
void vamp_stats_finish(struct vamp_stats *stats);

/* Totals over all series; too slow for every event. The histograms are owned by the statistics and
 * valid until the next call. */
void vamp_stats_totals(struct vamp_stats *stats, struct vamp_totals *ret_totals);

/* Fill levels of everything with a limit, for the status report. */
struct vamp_fill {
    uint64_t used, bound;
};
struct vamp_stats_state {
    bool started;                 /* by an event or a time */
    int64_t oldest_ns, newest_ns; /* start of the oldest and the newest open bucket */
    uint64_t closed;              /* buckets */
    uint64_t set_backs;           /* detected, of the events' clock */
    struct vamp_fill cdos, received, demands, transports, components;
    unsigned label_set_count;
    const char *label_set_names[VAMP_METRICS_MAX];
    struct vamp_fill series[VAMP_METRICS_MAX]; /* by label set */
    bool gone;                                 /* the pool manager is gone */
};
void vamp_stats_state(const struct vamp_stats *stats, struct vamp_stats_state *ret_state);
