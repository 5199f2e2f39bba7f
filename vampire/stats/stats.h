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
#ifndef VAMP_STATS_STATS_H
#define VAMP_STATS_STATS_H

#include "vampire/core/components.h"
#include "vampire/core/err.h"
#include "vampire/core/event.h"
#include "vampire/core/opt.h"
#include "vampire/stats/bucket.h"

#define VAMP_MAX_EMPTY_DEFAULT 600
#define VAMP_LATE_RUN_MAX 256
#define VAMP_OPEN_BUCKETS_MAX 64 /* bounds lateness_ns / bucket_ns */

struct vamp_stats;

struct vamp_stats_options {
    int64_t bucket_ns;
    int64_t lateness_ns;              /* -1: one bucket */
    unsigned level;                   /* enum vamp_level */
    uint64_t sets;                    /* enum vamp_metric_set bits; SELF is always added */
    uint64_t metrics_on, metrics_off; /* bit per enum vamp_metric_id: added to, removed from sets */
    unsigned sub_bits;                /* 2, 3 or 4 */
    uint64_t max_series;              /* per label set */
    uint64_t max_components;
    uint64_t max_cdos;    /* pairing state: live CDOs tracked */
    uint64_t max_pending; /* demands and transports tracked, each kind this many */
    uint64_t max_empty;   /* buckets; 0: VAMP_MAX_EMPTY_DEFAULT */
};

/* Whether the metric is computed: named itself, or else by its sets. */
static inline bool vamp_stats_wants(const struct vamp_stats_options *options,
                                    enum vamp_metric_id id)
{
    const uint64_t bit = UINT64_C(1) << id;
    return (options->metrics_off & bit) == 0 &&
           ((options->metrics_on & bit) != 0 ||
            (vamp_metrics[id].sets & (options->sets | VAMP_SET_SELF)) != 0);
}

/* Whether an event selects its CDO for the table of level `cdo`. */
typedef bool vamp_select_fn(void *context, const struct vamp_event *event);

/* Where closed buckets go. Takes a holder: the callee releases it. Must not block. */
typedef void vamp_bucket_fn(void *context, const struct vamp_bucket *bucket);

/* `run_id` (UUID text) is the namespace of series ids. `components` is shared with the caller on
 * the same thread; it and the statistics must outlive every bucket, since labels and names are
 * theirs. 0, -ENOMEM, or -EINVAL when an option is out of bounds or they contradict each other. */
VAMP_MUST_CHECK int vamp_stats_create(const struct vamp_stats_options *options, const char *run_id,
                                      struct vamp_components *components, vamp_bucket_fn *emit,
                                      void *emit_context, struct vamp_stats **ret_stats,
                                      struct vamp_err *err);
void vamp_stats_free(struct vamp_stats *stats);
/* Which CDOs have a row at level `cdo`: those of which one event is selected. Before the first
 * event; without it every CDO has one. */
void vamp_stats_select(struct vamp_stats *stats, vamp_select_fn *select, void *context);
const struct vamp_schema *vamp_stats_schema(const struct vamp_stats *stats);

/* What the filters say of an event; false and true will do where nothing is sampled. */
enum vamp_verdict {
    VAMP_FILTERED = 0,
    VAMP_PASSED = 1,
    VAMP_SAMPLED_OUT = 2, /* left out by a part of known size */
    VAMP_RATED_OUT = 3,   /* left out by a bound in time, which leaves out more or less */
};

/* Every event of the stream in order, marks included; the caller has already let `components`
 * observe it, but reports a mark GONE to them afterwards (vamp_components_gone). An event that did
 * not pass is accounted as filtered (and as sampled out, if it is that), but still moves time
 * forward. */
void vamp_stats_observe(struct vamp_stats *stats, const struct vamp_event *event,
                        enum vamp_verdict verdict);
/* The next events that will be observed, in any number up to VAMP_LOOK_AHEAD, marks included.
 * Changes nothing; but with many live CDOs observing them then takes half the time, since what is
 * known of them is brought near all at once. */
#define VAMP_LOOK_AHEAD 16
void vamp_stats_look_ahead(struct vamp_stats *stats, const struct vamp_event *const *events,
                           unsigned count);
/* How many events each one that passed stands for, apart from those rated out, which are put on top
 * bucket by bucket: metric vampire_weight. 1 unless set. */
void vamp_stats_sampling(struct vamp_stats *stats, double weight);
/* Called for every event that passed, to exclude it from single metrics: sets or clears entries of
 * `excluded`, which keeps its values from event to event and starts with nothing excluded. NULL:
 * every event counts for all metrics. May not block or fail. */
typedef void vamp_exclude_fn(void *context, const struct vamp_event *event,
                             bool excluded[static VAMP_METRIC_COUNT]);
void vamp_stats_exclude(struct vamp_stats *stats, vamp_exclude_fn *exclude, void *context);
/* Event time has reached `now_ns` although nothing was seen (live sources, once in a while). */
void vamp_stats_tick(struct vamp_stats *stats, int64_t now_ns);
/* The event time at which the next bucket closes if no event comes; false: none is open yet. */
bool vamp_stats_next_close(const struct vamp_stats *stats, int64_t *ret_ns);
/* The writers' accounts as of now, for the next buckets (vampire_* metrics and accounting). */
void vamp_stats_outputs(struct vamp_stats *stats, const struct vamp_output_account *outputs,
                        unsigned count);
/* A value of vampire itself, for the next bucket that closes: VAMP_METRIC_VAMPIRE_..._BYTES,
 * _LAG_NS (gauges), VAMPIRE_CPU_NS (absolute), VAMPIRE_COMMIT_NS and OWN_ROUNDTRIP_NS (histograms;
 * a negative value is ignored), VAMPIRE_QUEUE_HIGH_WATER. `output` is the output's index in
 * vamp_stats_outputs; of OWN_ROUNDTRIP_NS the enum vamp_event_kind; else 0. Ignored when the metric
 * is not enabled or is not one of these. */
void vamp_stats_self(struct vamp_stats *stats, enum vamp_metric_id id, unsigned output,
                     int64_t value);
/* Closes and emits every open bucket. Nothing may be observed afterwards. */
void vamp_stats_finish(struct vamp_stats *stats);

/* Totals since the start, for the status line and the summary: the sums of what the buckets hold,
 * those that are open included. What a metric's filter turned away is in neither. */
struct vamp_totals {
    /* By kind. [0]: in the series `(other)` of a full label set, which has no kind. */
    uint64_t operations[VAMP_EVENT_KIND_COUNT];
    uint64_t produced_bytes, consumed_bytes;
    uint64_t transports, transport_bytes;
    uint64_t pool_cdos, pool_bytes;
    uint64_t buckets_without_memory;           /* could not be built: gaps in the data */
    unsigned unwatched;                        /* gaps while the pool manager was gone */
    uint64_t unwatched_ns;                     /* their sum */
    uint64_t evicted;                          /* records given up at max_cdos, max_pending */
    uint64_t series_overflow;                  /* values under (other) at max_series */
    const struct vamp_histogram *transport_ns; /* all series merged; NULL when not enabled */
    const struct vamp_histogram *demand_wait_ns;
    struct vamp_accounting accounting;
};
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
    struct vamp_fill cdos, received, demands, transports, components;
    unsigned label_set_count;
    const char *label_set_names[VAMP_METRIC_COUNT];
    struct vamp_fill series[VAMP_METRIC_COUNT]; /* by label set */
    bool gone;                                  /* the pool is */
};
void vamp_stats_state(const struct vamp_stats *stats, struct vamp_stats_state *ret_state);

#endif
