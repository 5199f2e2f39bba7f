/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistics: events in, buckets out. Everything is allocated at creation or in bounded
 * steps; observing an event cannot fail. Owned by the worker thread; only vamp_bucket_release
 * may be called elsewhere.
 *
 * Buckets are aligned to multiples of their width since 1970 and follow event time: a bucket
 * closes once an event (or vamp_stats_tick) shows a time `lateness` past its end. An event
 * older than the oldest open bucket counts in that one, and as late. Empty buckets between two
 * events are emitted too, up to `max_empty` in a row; a longer silence or a leap of the clock
 * continues at the new time and is reported as a gap with reason and 0 events.
 */
#ifndef VAMP_STATS_STATS_H
#define VAMP_STATS_STATS_H

#include "vampire/core/components.h"
#include "vampire/core/err.h"
#include "vampire/core/event.h"
#include "vampire/core/opt.h"
#include "vampire/stats/bucket.h"

struct vamp_stats;

struct vamp_stats_options {
    int64_t bucket_ns;
    int64_t lateness_ns; /* -1: one bucket */
    unsigned level;      /* enum vamp_level */
    uint64_t sets;       /* enum vamp_metric_set bits; SELF is always added */
    unsigned sub_bits;   /* 2, 3 or 4 */
    uint64_t max_series; /* per label set */
    uint64_t max_components;
    uint64_t max_cdos;   /* pairing state: live CDOs tracked */
    uint64_t max_pending; /* demands and transports tracked */
};

/* Where closed buckets go. Takes a holder: the callee releases it. Must not block. */
typedef void vamp_bucket_fn(void *context, const struct vamp_bucket *bucket);

/* `run_id` (UUID text) is the namespace of series ids. `components` is shared with the caller on
 * the same thread. 0, -ENOMEM, or -EINVAL when the options contradict each other. */
VAMP_MUST_CHECK int vamp_stats_create(const struct vamp_stats_options *options, const char *run_id,
                                      struct vamp_components *components, vamp_bucket_fn *emit,
                                      void *emit_context, struct vamp_stats **ret_stats,
                                      struct vamp_err *err);
void vamp_stats_free(struct vamp_stats *stats);
const struct vamp_schema *vamp_stats_schema(const struct vamp_stats *stats);

/* Every event of the stream in order, marks included; the caller has already let `components`
 * observe it. `passed`: the filters accepted it. An event that did not pass is accounted as
 * filtered, but still moves time forward. */
void vamp_stats_observe(struct vamp_stats *stats, const struct vamp_event *event, bool passed);
/* Event time has reached `now_ns` although nothing was seen (live sources, once in a while). */
void vamp_stats_tick(struct vamp_stats *stats, int64_t now_ns);
/* The writers' accounts as of now, for the next buckets (vampire_* metrics and accounting). */
void vamp_stats_outputs(struct vamp_stats *stats, const struct vamp_output_account *outputs,
                        unsigned count);
/* A gauge or histogram value of vampire itself: VAMP_METRIC_VAMPIRE_...; ignored when the metric
 * is not enabled. */
void vamp_stats_self(struct vamp_stats *stats, enum vamp_metric_id id, unsigned output,
                     int64_t value);
/* A gap the caller knows of (the pool manager was away). */
void vamp_stats_gap(struct vamp_stats *stats, const struct vamp_gap *gap);
/* Closes and emits every open bucket. Nothing may be observed afterwards. */
void vamp_stats_finish(struct vamp_stats *stats);

/* Totals since the start, for the status line and the summary. */
struct vamp_totals {
    uint64_t operations[VAMP_EVENT_KIND_COUNT];
    uint64_t produced_bytes, consumed_bytes;
    uint64_t transports, transport_bytes;
    uint64_t pool_cdos, pool_bytes;
    const struct vamp_histogram *transport_ns; /* all series merged; NULL when not enabled */
    const struct vamp_histogram *demand_wait_ns;
    struct vamp_accounting accounting;
};
void vamp_stats_totals(const struct vamp_stats *stats, struct vamp_totals *ret_totals);

#endif
