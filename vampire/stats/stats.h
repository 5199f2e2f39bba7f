/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes buckets from events. Memory is allocated at creation or in limited steps; observing an
 * event cannot fail. Owned by the worker thread; only vamp_bucket_release may be called by other
 * threads.
 *
 * Buckets are aligned to multiples of their width since 1970 and follow event time: a bucket closes
 * when the time of an event (or of vamp_stats_tick) is at least `lateness` after its end. An event
 * older than the oldest open bucket is counted in that bucket, as late. Empty buckets between two
 * events are emitted, up to `max_empty` in a row; after a longer silence, or a leap of the clock,
 * buckets continue at the new time, and a gap with reason VAMP_GAP_LEAP and 0 events is reported.
 * VAMP_LATE_RUN_MAX late events in a row indicate that the clock was set back. The first event is
 * never late: if time without an event was ahead of it, buckets continue at its time.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/options.h"

struct vamp_stats;
struct vamp_sampled_account; /* declared in vampire/stats/sampled.h */

/* Returns whether the event selects its CDO for the table of level `cdo`. Worker thread. */
typedef bool vamp_select_fn(void *context, const struct vamp_event *event);

/* Creates the statistics; `emit` receives each closed bucket. `series_space` (UUID text) is the
 * name space of the ids of series. `components` is shared with the caller on the same thread.
 * `components` and the statistics own labels and names and must outlive every bucket. Returns 0;
 * -ENOMEM; or -EINVAL if an option is out of range or two options contradict each other. */
VAMP_MUST_CHECK int vamp_stats_create(const struct vamp_stats_options *options,
                                      const char *series_space, struct vamp_components *components,
                                      vamp_bucket_fn *emit, void *emit_context,
                                      struct vamp_stats **ret_stats, struct vamp_err *err);
void vamp_stats_free(struct vamp_stats *stats);
/* Restricts the table of level `cdo` to CDOs with a selected event; by default it contains all
 * CDOs. To be called before the first event. */
void vamp_stats_select(struct vamp_stats *stats, vamp_select_fn *select, void *context);
const struct vamp_schema *vamp_stats_schema(const struct vamp_stats *stats);
/* Adds to the coverage what events turned out not to report (bit per enum vamp_unknown); it is
 * included from now on. */
void vamp_stats_learn(struct vamp_stats *stats, uint32_t unknown);

/* Result of the filters for an event. Without sampling, false and true may be used. */
enum vamp_verdict {
    VAMP_FILTERED = 0,
    VAMP_PASSED = 1,
    VAMP_SAMPLED_OUT = 2, /* dropped by sampling; other events represent it */
};

/* Observes every event of the stream in order, including control events. The caller must have
 * passed the event to `components` already; only a GONE is passed to `components` afterwards
 * (vamp_components_gone). An event that did not pass is counted as filtered, or as sampled out, and
 * advances time. */
void vamp_stats_observe(struct vamp_stats *stats, const struct vamp_event *event,
                        enum vamp_verdict verdict);
/* Observes a sample. The caller waits until event time has reached the time of the sample; a sample
 * older than the oldest open bucket is counted in that bucket. A sample does not advance time and
 * has separate accounting, returned by vamp_stats_samples and owned by the statistics. */
void vamp_stats_sample(struct vamp_stats *stats, const struct vamp_event *sample);
const struct vamp_sampled_account *vamp_stats_samples(const struct vamp_stats *stats);
/* Prefetches the state of the next events, at most VAMP_LOOK_AHEAD, including control events. They
 * must be observed unchanged and in this order. With many live CDOs this halves the time to observe
 * them; otherwise it changes nothing. */
void vamp_stats_look_ahead(struct vamp_stats *stats, const struct vamp_event *const *events,
                           unsigned count);
/* Sets the number of events that each event of a passed CDO represents: metric vampire_weight.
 * Default 1. */
void vamp_stats_sampling(struct vamp_stats *stats, double weight);
/* Called for every event that passed, to exclude it from single metrics: sets or clears elements of
 * `excluded`, which is initially cleared and keeps its values between events. If `exclude` is NULL,
 * every event counts in all metrics. Must not block or fail. */
typedef void vamp_exclude_fn(void *context, const struct vamp_event *event,
                             bool excluded[static VAMP_METRICS_MAX]);
void vamp_stats_exclude(struct vamp_stats *stats, vamp_exclude_fn *exclude, void *context);
/* Reads the attributes of the event's CDO, in the order of their declaration; reads none if the
 * event does not contain the name of the CDO. The texts point into the event; `ret_texts` is
 * initially empty. Called for events of CDOs whose attributes have not been read yet. To be set
 * before the first event; if it is not set, attributes are unknown. Must not block or fail. */
typedef void vamp_read_attributes_fn(void *context, const struct vamp_event *event,
                                     struct vamp_attribute_texts *ret_texts);
void vamp_stats_read_attributes(struct vamp_stats *stats, vamp_read_attributes_fn *read,
                                void *context);
/* Advances event time to `now_ns` without an event (live sources, periodically). */
void vamp_stats_tick(struct vamp_stats *stats, int64_t now_ns);
/* Returns in `*ret_ns` the event time at which the next bucket closes; false if no bucket is open
 * yet. */
bool vamp_stats_next_close(const struct vamp_stats *stats, int64_t *ret_ns);
/* Sets the current counters of the writers, for the next buckets (vampire_* metrics and
 * accounting). */
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
/* Closes and emits all open buckets. Nothing may be observed afterwards. */
void vamp_stats_finish(struct vamp_stats *stats);
/* Continues the totals and the bucket numbers of `before`, which must have finished. CDOs and
 * pending operations are not continued. Call it after vamp_stats_outputs, before the first event.
 */
void vamp_stats_inherit(struct vamp_stats *stats, const struct vamp_stats *before);

/* Sets totals over all series. Too slow to be called for every event. The histograms are owned by
 * the statistics and valid until the next call. */
void vamp_stats_totals(struct vamp_stats *stats, struct vamp_totals *ret_totals);

/* Use and limit of each table and of other limited memory, for the status report. */
struct vamp_fill {
    uint64_t used, bound;
};
struct vamp_stats_state {
    bool started;                 /* an event or a time was received */
    int64_t oldest_ns, newest_ns; /* start of the oldest and the newest open bucket */
    uint64_t closed;              /* number of closed buckets */
    uint64_t set_backs;           /* detected set-backs of the events' clock */
    struct vamp_fill cdos, received, demands, transports, components;
    unsigned label_set_count;
    const char *label_set_names[VAMP_METRICS_MAX];
    struct vamp_fill series[VAMP_METRICS_MAX]; /* indexed by label set */
    bool gone;                                 /* the pool manager is gone */
};
void vamp_stats_state(const struct vamp_stats *stats, struct vamp_stats_state *ret_state);
