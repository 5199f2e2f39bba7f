/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the events of a trace to spans. Events are paired with the tracker of the statistics
 * (vampire/stats/pairing/track.h), so that spans correspond to metrics: the number of `demand`
 * spans equals the number of values of demand_wait_ns, and the number of arrows that of
 * transport_ns. One thread at a time.
 */
#pragma once

#include "vampire/core/options/options.h"
#include "writers/trace/sink.h"

struct vamp_timeline_options {
    int64_t from_ns;                /* start of the exported range, relative to the first event */
    int64_t length_ns;              /* length of the range; 0: until the end of the run */
    uint64_t max_events;            /* limit for spans, instants and arrow ends together */
    uint64_t max_tracks;            /* at most VAMP_TRACE_TRACKS_MAX */
    struct vamp_strings components; /* glob patterns of component names; empty: all components */
};

struct vamp_timeline;

/* `options` and `sink` must outlive the timeline. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_timeline_create(const struct vamp_timeline_options *options,
                                         const struct vamp_trace_sink_ops *sink, void *sink_self,
                                         struct vamp_timeline **ret_timeline, struct vamp_err *err);
void vamp_timeline_free(struct vamp_timeline *timeline);
/* Processes the next event of the stream, control events included. Returns 0, or -errno of the sink
 * or -ENOMEM; after an error the trace is unusable. */
VAMP_MUST_CHECK int vamp_timeline_event(struct vamp_timeline *timeline,
                                        const struct vamp_event *event, struct vamp_err *err);
/* Writes the demands and CDOs that have not ended. Must be the last call. Results as for
 * vamp_timeline_event. */
VAMP_MUST_CHECK int vamp_timeline_finish(struct vamp_timeline *timeline, struct vamp_err *err);
/* Fills all members of the totals except `ending`. */
void vamp_timeline_describe(const struct vamp_timeline *timeline, struct vamp_trace_end *ret_end);
