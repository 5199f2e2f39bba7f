/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of the timeline is drawn, and where: the range of time, the chosen components, the bound
 * max_events and max_tracks, and the track of each span. Private to the folder; one thread.
 */
#ifndef VAMP_WRITERS_TRACE_DRAWING_H
#define VAMP_WRITERS_TRACE_DRAWING_H

#include "writers/trace/timeline.h"
#include "writers/trace/tracks.h"

#define VAMP_TRACE_RUN_PROCESS 0
/* The run is process 0, and components are numbered by their names from 1 on. */
static inline uint32_t vamp_trace_process_of(uint32_t name)
{
    return name + 1;
}

struct vamp_trace_drawing {
    const struct vamp_timeline_options *options;
    const struct vamp_components *components; /* their names */
    const struct vamp_trace_sink_ops *sink;
    void *sink_self;
    struct vamp_trace_tracks tracks;
    struct vamp_trace_end end; /* of the whole; begin_ns is set before anything is drawn */
    uint64_t arrows;
    bool full;
};

/* The functions below: 0; -errno of the sink or -ENOMEM. What is not drawn at a bound is counted
 * in `end`. */

/* A span and `count` - 1 in it, on a track of this process. */
VAMP_MUST_CHECK int vamp_trace_draw(struct vamp_trace_drawing *drawing, uint32_t process,
                                    enum vamp_trace_kind kind, const struct vamp_trace_span *spans,
                                    unsigned count, struct vamp_err *err);
/* A transport between two components, given by the numbers of their names: a span on a track of
 * the sink, which `receive` describes, one on a track of the source, and an arrow between them. */
VAMP_MUST_CHECK int vamp_trace_draw_transport(struct vamp_trace_drawing *drawing, uint32_t source,
                                              uint32_t sink, struct vamp_trace_span *receive,
                                              struct vamp_err *err);

#endif
