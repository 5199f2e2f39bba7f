/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistics: events in, buckets out. Everything is allocated at creation or in bounded
 * steps; observing an event cannot fail. Owned by the worker thread; only vamp_bucket_release
 * may be called elsewhere.
 *
 * Buckets are aligned to multiples of their width since 1970 and follow event time: a bucket
 * closes once an event (or vamp_stats_tick) shows a time `lateness` past its end. An event
 * older than the oldest open bucket counts in that one, and as late. Empty buckets between two
 * events are emitted too, up to `max_empty` in a row; after a longer silence, or a leap of the
 * clock, buckets continue at the new time, and a gap of reason VAMP_GAP_LEAP with 0 events reports
 * it. A clock that was set back is recognised by VAMP_LATE_RUN_MAX late events in a row.
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
 * caller on the same thread; it and the statistics must outlive every bucket, since labels and
 * names are theirs. 0, -ENOMEM, or -EINVAL when an option is out of bounds or they contradict each
 * other. */
VAMP_MUST_CHECK int vamp_stats_create(const struct vamp_stats_options *options,
                                      const char *series_space, struct vamp_components *components,
                                      vamp_bucket_fn *emit, void *emit_context,
                                      struct vamp_stats **ret_stats, struct vamp_err *err);
void vamp_stats_free(struct vamp_stats *stats);
/* Which CDOs have a row at level `cdo`: those of which one event is selected. Before the first
 * event; without it every CDO has one. */
void vamp_stats_select(struct vamp_stats *stats, vamp_select_fn *select, void *context);
const struct vamp_schema *vamp_stats_schema(const struct vamp_stats *stats);
/* It turned out that events do not say this (bit per enum vamp_unknown); what is written from here
 * on says so. */
void vamp_stats_learn(struct vamp_stats *stats, uint32_t unknown);

/* What the filters say of an event; false and true will do where nothing is sampled. */
enum vamp_verdict {
    VAMP_FILTERED = 0,
    VAMP_PASSED = 1,
    VAMP_SAMPLED_OUT = 2, /* others stand for it */
};

/* Every event of the stream in order, marks included; the caller has already let `components`
 * observe it, but reports a mark GONE to them afterwards (vamp_components_gone). An event that did
 * not pass is accounted as filtered (and as sampled out, if it is that), but still moves time
 * forward. */
void vamp_stats_observe(struct vamp_stats *stats, const struct vamp_event *event,
                        enum vamp_verdict verdict);
/* A sample of a time that event time has reached (an older one counts in the oldest open bucket).
 * It moves no time and is in no account of events, but in the one below, which is the statistics'.
 */
void vamp_stats_sample(struct vamp_stats *stats, const struct vamp_event *sample);
const struct vamp_sampled_account *vamp_stats_samples(const struct vamp_stats *stats);
/* The next events that will be observed, the same ones, unchanged and in this order, in any number
 * up to VAMP_LOOK_AHEAD, marks included.
 * Changes nothing; but with many live CDOs observing them then takes half the time, since what is
 * known of them is brought near all at once. */
void vamp_stats_look_ahead(struct vamp_stats *stats, const struct vamp_event *const *events,
                           unsigned count);
/* How many events each one that passed stands for, if it is of a CDO: metric vampire_weight. 1
 * unless set. */
void vamp_stats_sampling(struct vamp_stats *stats, double weight);
/* Called for every event that passed, to exclude it from single metrics: sets or clears entries of
 * `excluded`, which keeps its values from event to event and starts with nothing excluded. NULL:
 * every event counts for all metrics. May not block or fail. */
typedef void vamp_exclude_fn(void *context, const struct vamp_event *event,
                             bool excluded[static VAMP_METRICS_MAX]);
void vamp_stats_exclude(struct vamp_stats *stats, vamp_exclude_fn *exclude, void *context);
/* Reads what an event says of its CDO's attributes, by attribute as they were declared; nothing of
 * an event that names no CDO. The texts are the event's, `ret_texts` is empty. Called for every
 * event of a CDO of which they are not known yet. Before the first event; without it they are
 * unknown. May not block or fail. */
typedef void vamp_read_attributes_fn(void *context, const struct vamp_event *event,
                                     struct vamp_attribute_texts *ret_texts);
void vamp_stats_read_attributes(struct vamp_stats *stats, vamp_read_attributes_fn *read,
                                void *context);
/* Event time has reached `now_ns` although nothing was seen (live sources, once in a while). */
void vamp_stats_tick(struct vamp_stats *stats, int64_t now_ns);
/* The event time at which the next bucket closes if no event comes; false: none is open yet. */
bool vamp_stats_next_close(const struct vamp_stats *stats, int64_t *ret_ns);
/* The writers' accounts as of now, for the next buckets (vampire_* metrics and accounting). */
void vamp_stats_outputs(struct vamp_stats *stats, const struct vamp_output_account *outputs,
                        unsigned count);
/* A value of vampire itself, for the next bucket that closes: VAMP_METRIC_VAMPIRE_..._BYTES,
 * _LAG_NS, _ALARMS_FIRING (gauges), VAMPIRE_CPU_NS, _FILTER_CUT, _ALARMS_FIRED (absolute),
 * VAMPIRE_COMMIT_NS and OWN_ROUNDTRIP_NS (histograms; a negative value is ignored),
 * VAMPIRE_QUEUE_HIGH_WATER. `output` is the output's index in vamp_stats_outputs; of
 * OWN_ROUNDTRIP_NS the enum vamp_event_kind; else 0. Ignored when the metric is not enabled or is
 * not one of these. */
void vamp_stats_self(struct vamp_stats *stats, enum vamp_metric_id id, unsigned output,
                     int64_t value);
/* Closes and emits every open bucket. Nothing may be observed afterwards. */
void vamp_stats_finish(struct vamp_stats *stats);

/* Sums over all series: for now and then, not for every event. The histograms are the statistics'
 * and valid until the next call. */
void vamp_stats_totals(struct vamp_stats *stats, struct vamp_totals *ret_totals);

/* How full the bounded parts are, for a person who asks. */
struct vamp_fill {
    uint64_t used, bound;
};
struct vamp_stats_state {
    bool started;                 /* there was an event, or time */
    int64_t oldest_ns, newest_ns; /* begins of the oldest and the newest open bucket */
    uint64_t closed;              /* buckets */
    uint64_t set_backs;           /* of the events' clock, that were recognised */
    struct vamp_fill cdos, received, demands, transports, components;
    unsigned label_set_count;
    const char *label_set_names[VAMP_METRICS_MAX];
    struct vamp_fill series[VAMP_METRICS_MAX]; /* by label set */
    bool gone;                                 /* the pool is */
};
void vamp_stats_state(const struct vamp_stats *stats, struct vamp_stats_state *ret_state);
