/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The content of a trace, and the interface of a file format for traces: chrome.c, and
 * writers/otf2/, a plug-in with the symbol vamp_trace_plug_in. The timeline (timeline.h) decides
 * what is drawn on which track; a sink only writes it.
 *
 * A trace has processes, one for each component name and one for the run. A process has tracks, on
 * which spans never overlap unless one contains the other. All times are ns of event time, UTC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "writers/writer.h"

/* The content of a track. A component has as many tracks of a kind as it has such spans at a time.
 */
enum vamp_trace_kind {
    VAMP_TRACE_WAITS,    /* the component waits: demand, pending, withdraw, leave */
    VAMP_TRACE_RECEIVES, /* transports to it */
    VAMP_TRACE_SENDS,    /* transports from it */
    VAMP_TRACE_LIVES,    /* lifecycles of the CDOs that it made */
    VAMP_TRACE_MARKS,    /* instants: anomalies; for the run, losses */
};
#define VAMP_TRACE_KIND_COUNT 5

/* The meaning of a span. */
enum vamp_trace_what {
    VAMP_TRACE_LIFE,    /* a CDO from declared to disposed of */
    VAMP_TRACE_IN_POOL, /* part of a LIFE: offered to withdrawn */
    VAMP_TRACE_DEMAND,  /* demanded to received */
    VAMP_TRACE_PART,    /* part of a DEMAND: what it waited for */
    VAMP_TRACE_PENDING, /* demanded, and not received when the component or the pool manager went
                           away or the trace ended */
    VAMP_TRACE_WITHDRAW,
    VAMP_TRACE_LEAVE,
    VAMP_TRACE_SEND,
    VAMP_TRACE_RECEIVE,
    VAMP_TRACE_MARK, /* no length */
};
#define VAMP_TRACE_WHAT_COUNT 10

/* Limits of tracks: of one process and kind, and of the trace. Viewers cannot show more usefully.
 */
#define VAMP_TRACE_LANES_MAX 1024
#define VAMP_TRACE_TRACKS_MAX 65536

/* Constant, never NULL. */
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
    uint32_t number;  /* 0, 1, 2, ... in the order in which the sink sees them */
    uint32_t process; /* 0: the run */
    const char *name; /* of the component; for the run, "events" */
    unsigned lane;    /* number within the tracks of this process and kind, from 0 */
    enum vamp_trace_kind kind;
    bool is_first;  /* track of its process */
    int64_t end_ns; /* end of its last span */
};

/* The end of an arrow at a span. */
enum vamp_trace_arrow { VAMP_TRACE_NO_ARROW, VAMP_TRACE_ARROW_BEGINS, VAMP_TRACE_ARROW_ENDS };

/* Texts belong to the caller and are valid during the call. */
struct vamp_trace_span {
    enum vamp_trace_what what;
    int64_t start_ns, end_ns; /* start <= end */
    int64_t whole_ns;         /* the full length if cut to the trace's range, else 0 */
    const char *word;         /* MARK: what happened; PART: which; else NULL */
    unsigned part;            /* PART: number in enum vamp_wait_part */
    const char *cdo;          /* name, "": not known */
    struct vamp_cdo_id id;
    uint64_t size_bytes;
    uint64_t count;    /* MARK: how often */
    const char *peer;  /* the other component: source, sink, producer; NULL: none is known */
    const char *end;   /* LIFE or PENDING: how it ended; else NULL */
    uint64_t arrow_id; /* the same at both ends */
    uint32_t arrow_track;
    enum vamp_trace_arrow arrow;
    bool id_known, size_known;
};

/* Totals of a trace, passed to the sink when it is closed. */
struct vamp_trace_end {
    const struct vamp_ending *ending; /* NULL: the run goes on in another file */
    uint64_t written;                 /* spans, marks and ends of arrows */
    uint64_t left_out;                /* the same, dropped at the limit max_events */
    uint64_t crowded;                 /* the same, dropped at the limits of tracks */
    uint64_t evicted;                 /* CDOs, waits and transports evicted from the pairing */
    int64_t begin_ns, end_ns;         /* range of the events; begin_ns INT64_MIN: there was none */
};

struct vamp_trace_sink_ops {
    const char *version; /* VAMP_VERSION; a plug-in of another build is refused (module.h) */
    /* Creates the target, as vamp_writer_ops.open. `path` is without its extension, `access` an
     * enum vamp_target_access. */
    int (*open)(const struct vamp_writer_target *target, const char *directory, unsigned access,
                void **ret_self, struct vamp_err *err);
    /* Time 0 of the file; called once, before all below. NULL: not needed. */
    int (*begin)(void *self, int64_t begin_ns, struct vamp_err *err);
    /* A new track, with the next number. */
    int (*track)(void *self, const struct vamp_trace_track *track, struct vamp_err *err);
    /* `count` spans, at least one, for one track, later than all written to it before: the first
     * contains the others, which follow each other. */
    int (*spans)(void *self, const struct vamp_trace_track *track,
                 const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err);
    /* After all spans: the processes that have tracks, in the order to be shown. NULL: the format
     * has no order. */
    int (*order)(void *self, const uint32_t *processes, size_t count, struct vamp_err *err);
    /* Writes all buffers to the operating system; NULL with `complete`. */
    int (*flush)(void *self, struct vamp_err *err);
    /* NULL, or: writes the whole trace, after all spans; the target is empty until then, and after
     * a failure. Called once; only `close` may follow. */
    int (*complete)(void *self, struct vamp_err *err);
    const char *(*path)(const void *self);
    /* Completes and closes; `remove`: the file is deleted instead. */
    int (*close)(void *self, const struct vamp_trace_end *end, bool remove, struct vamp_err *err);
};

extern const struct vamp_trace_sink_ops vamp_trace_chrome;
