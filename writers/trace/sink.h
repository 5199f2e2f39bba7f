/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data model of a trace, and the interface that a trace file format implements: chrome.c, and
 * the plug-in writers/otf2/ with the symbol vamp_trace_plug_in. The timeline (timeline.h) assigns
 * spans to tracks; a sink only writes them.
 *
 * A trace has one process per component name and one for the run. A process has tracks; two spans
 * on a track either do not overlap or one contains the other. All times are ns of event time, UTC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "writers/writer.h"

/* The kind of spans on a track. A component has as many tracks of a kind as spans of that kind
 * overlap. */
enum vamp_trace_kind {
    VAMP_TRACE_WAITS,    /* the component waits: demand, pending, withdraw, leave */
    VAMP_TRACE_RECEIVES, /* transports to the component */
    VAMP_TRACE_SENDS,    /* transports from the component */
    VAMP_TRACE_LIVES,    /* lifecycles of the CDOs created by the component */
    VAMP_TRACE_MARKS,    /* instants: anomalies on a component's track, losses on the run's track */
};
#define VAMP_TRACE_KIND_COUNT 5

/* The meaning of a span. */
enum vamp_trace_what {
    VAMP_TRACE_LIFE,    /* a CDO from declared to disposed of */
    VAMP_TRACE_IN_POOL, /* section of a LIFE: offered to withdrawn */
    VAMP_TRACE_DEMAND,  /* demanded to received */
    VAMP_TRACE_PART,    /* section of a DEMAND, by the cause of the wait */
    VAMP_TRACE_PENDING, /* demanded, but not received before the component or the pool manager left
                           or the trace ended */
    VAMP_TRACE_WITHDRAW,
    VAMP_TRACE_LEAVE,
    VAMP_TRACE_SEND,
    VAMP_TRACE_RECEIVE,
    VAMP_TRACE_MARK, /* an instant, without duration */
};
#define VAMP_TRACE_WHAT_COUNT 10

/* Limits on the number of tracks per process and kind, and per trace. Viewers become unusable with
 * more. */
#define VAMP_TRACE_LANES_MAX 1024
#define VAMP_TRACE_TRACKS_MAX 65536

/* Both functions return a constant text, never NULL. */
static inline const char *vamp_trace_kind_name(enum vamp_trace_kind kind)
{
    static const char *const names[VAMP_TRACE_KIND_COUNT] = {
        [VAMP_TRACE_WAITS] = "waits", [VAMP_TRACE_RECEIVES] = "receives",
        [VAMP_TRACE_SENDS] = "sends", [VAMP_TRACE_LIVES] = "CDOs",
        [VAMP_TRACE_MARKS] = "marks",
    };
    return names[kind];
}
static inline const char *vamp_trace_what_name(enum vamp_trace_what what)
{
    static const char *const names[VAMP_TRACE_WHAT_COUNT] = {
        [VAMP_TRACE_LIFE] = "life",       [VAMP_TRACE_IN_POOL] = "in pool",
        [VAMP_TRACE_DEMAND] = "demand",   [VAMP_TRACE_PART] = "part",
        [VAMP_TRACE_PENDING] = "pending", [VAMP_TRACE_WITHDRAW] = "withdraw",
        [VAMP_TRACE_LEAVE] = "leave",     [VAMP_TRACE_SEND] = "send",
        [VAMP_TRACE_RECEIVE] = "receive", [VAMP_TRACE_MARK] = "mark",
    };
    return names[what];
}

struct vamp_trace_track {
    uint32_t number;  /* 0, 1, 2, ... in the order in which tracks are passed to the sink */
    uint32_t process; /* 0: the process of the run */
    const char *name; /* name of the component; "events" for the run */
    unsigned lane;    /* number within the tracks of this process and kind, from 0 */
    enum vamp_trace_kind kind;
    bool is_first;  /* first track of its process */
    int64_t end_ns; /* end of its last span */
};

/* The end of an arrow that is attached to a span. */
enum vamp_trace_arrow { VAMP_TRACE_NO_ARROW, VAMP_TRACE_ARROW_BEGINS, VAMP_TRACE_ARROW_ENDS };

/* Strings belong to the caller and are valid during the call. */
struct vamp_trace_span {
    enum vamp_trace_what what;
    int64_t start_ns, end_ns; /* start <= end */
    int64_t whole_ns; /* the full duration if the span was cut to the range of the trace, else 0 */
    const char *word; /* MARK: the event; PART: the cause of the wait; else NULL */
    unsigned part;    /* PART: number in enum vamp_wait_part */
    const char *cdo;  /* name; "": unknown */
    struct vamp_cdo_id id;
    uint64_t size_bytes;
    uint64_t count;    /* MARK: number of occurrences */
    const char *peer;  /* the other component: source, sink or producer; NULL: unknown */
    const char *end;   /* LIFE or PENDING: how the span ended; else NULL */
    uint64_t arrow_id; /* equal at both ends of an arrow */
    uint32_t arrow_track;
    enum vamp_trace_arrow arrow;
    bool id_known, size_known;
};

/* Totals of a trace, passed to the sink when it is closed. */
struct vamp_trace_end {
    const struct vamp_ending *ending; /* NULL: the run continues in another file */
    uint64_t written;                 /* spans, instants and arrow ends */
    uint64_t left_out;                /* of these, dropped because of the limit max_events */
    uint64_t crowded;                 /* of these, dropped because of the limits on tracks */
    uint64_t evicted;                 /* CDOs, waits and transports evicted from the tracker */
    int64_t begin_ns, end_ns;         /* range of the events; begin_ns INT64_MIN: no events */
    bool is_part; /* of a range of time, or of some components: what the options select */
};

struct vamp_trace_sink_ops {
    const char *version; /* VAMP_VERSION; a plug-in of another build is rejected (module.h) */
    /* Creates the target, like vamp_writer_ops.open. `path` has no extension; `access` is an enum
     * vamp_target_access. */
    int (*open)(const struct vamp_writer_target *target, const char *directory, unsigned access,
                void **ret_self, struct vamp_err *err);
    /* Sets time 0 of the file; called once, before all functions below. NULL: not needed. */
    int (*begin)(void *self, int64_t begin_ns, struct vamp_err *err);
    /* Adds a track, which has the next number. */
    int (*track)(void *self, const struct vamp_trace_track *track, struct vamp_err *err);
    /* Writes `count` spans, at least one, to one track. They are later than all spans written to
     * the track before. The first one contains the others, which do not overlap. */
    int (*spans)(void *self, const struct vamp_trace_track *track,
                 const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err);
    /* Called after all spans with the processes that have tracks, in display order. NULL: the
     * format has no order. */
    int (*order)(void *self, const uint32_t *processes, size_t count, struct vamp_err *err);
    /* Writes all buffers to the operating system; NULL with `complete`. */
    int (*flush)(void *self, struct vamp_err *err);
    /* NULL, or: writes the whole trace, after all spans. The target is empty before this call and
     * after a failure. Called once; only `close` may follow. */
    int (*complete)(void *self, struct vamp_err *err);
    const char *(*path)(const void *self);
    /* Completes and closes the file; `remove`: deletes it instead. */
    int (*close)(void *self, const struct vamp_trace_end *end, bool remove, struct vamp_err *err);
};

extern const struct vamp_trace_sink_ops vamp_trace_chrome;
