/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timeline of a trace: turns events into spans. It pairs events with the tracker of the
 * statistics (vampire/stats/pairing/track.h), so spans correspond to metrics: there are as many
 * `demand` spans as values of demand_wait_ns, and as many arrows as values of transport_ns. One
 * thread.
 */
#pragma once

#include "vampire/core/options/options.h"
#include "writers/trace/sink.h"

struct vamp_timeline_options {
    int64_t from_ns;                /* start of the range, since the first event */
    int64_t length_ns;              /* length of the range; 0: to the end */
    uint64_t max_events;            /* spans, marks, and ends of arrows */
    uint64_t max_tracks;            /* at most VAMP_TRACE_TRACKS_MAX */
    struct vamp_strings components; /* patterns of names; none: all */
};

struct vamp_timeline;

/* `options` and `sink` must outlive it. 0, -ENOMEM. */
VAMP_MUST_CHECK int vamp_timeline_create(const struct vamp_timeline_options *options,
                                         const struct vamp_trace_sink_ops *sink, void *sink_self,
                                         struct vamp_timeline **ret_timeline, struct vamp_err *err);
void vamp_timeline_free(struct vamp_timeline *timeline);
/* The next event of the stream, marks included. 0; -errno of the sink or -ENOMEM: the trace is
 * unusable from here on. */
VAMP_MUST_CHECK int vamp_timeline_event(struct vamp_timeline *timeline,
                                        const struct vamp_event *event, struct vamp_err *err);
/* Writes the demands and CDOs that have not ended. Results as vamp_timeline_event; must be the last
 * call. */
VAMP_MUST_CHECK int vamp_timeline_finish(struct vamp_timeline *timeline, struct vamp_err *err);
/* Sets all members except `ending`. */
void vamp_timeline_describe(const struct vamp_timeline *timeline, struct vamp_trace_end *ret_end);
