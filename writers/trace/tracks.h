/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracks of a trace. A span goes to the track of its process and kind that ended last before it
 * begins; where there is none, a track is added. Spans come in the order of their ends, so a span
 * never overlaps another of its track. Private to the folder; one thread.
 */
#ifndef VAMP_WRITERS_TRACE_TRACKS_H
#define VAMP_WRITERS_TRACE_TRACKS_H

#include <stddef.h>

#include "writers/trace/sink.h"

/* Of one process and kind; in all, at most. Viewers show no more of them in a useful way. */
#define VAMP_TRACE_LANES_MAX 1024
#define VAMP_TRACE_TRACKS_MAX 65536

struct vamp_trace_tracks {
    struct vamp_trace_track *items;
    uint32_t *next;  /* of the same process and kind, by track; UINT32_MAX: none */
    uint32_t *first; /* by process and kind; UINT32_MAX: none */
    size_t count, capacity, processes;
};

void vamp_trace_tracks_done(struct vamp_trace_tracks *tracks);
/* The track for a span from `start_ns`, which the caller then gives its end; `*ret_new`: it was
 * added. `*ret_track` is NULL when a bound, this or LANES_MAX, is reached, and valid until the next
 * call. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_trace_tracks_find(struct vamp_trace_tracks *tracks, uint64_t max_tracks,
                                           uint32_t process, enum vamp_trace_kind kind,
                                           int64_t start_ns, struct vamp_trace_track **ret_track,
                                           bool *ret_new);

#endif
