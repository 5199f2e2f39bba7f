/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events in, spans out: the timeline of a trace. It pairs events with the tracker of the statistics
 * (vampire/stats/pairing/track.h), so a span is what a metric counts: as many spans `demand` as
 * values of demand_wait_ns, as many arrows as values of transport_ns. One thread.
 */
#pragma once

#include "vampire/core/options/options.h"
#include "writers/trace/sink.h"

struct vamp_timeline_options {
    int64_t from_ns;                /* since the first event; what was before is cut off */
    int64_t length_ns;              /* from there on; what comes later is cut off; 0: to the end */
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
/* Writes what has not ended: demands and CDOs. As vamp_timeline_event; nothing may follow. */
VAMP_MUST_CHECK int vamp_timeline_finish(struct vamp_timeline *timeline, struct vamp_err *err);
/* All but `ending`. */
void vamp_timeline_describe(const struct vamp_timeline *timeline, struct vamp_trace_end *ret_end);
