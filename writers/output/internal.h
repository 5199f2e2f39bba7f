/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output: output.c is the interface and the thread; buckets.c and events.c (with joins.c) are
 * the two kinds of elements; segments.c writes one element to a segment; keep.c deletes older
 * files. Each calls only those named after it. Private to these files.
 */
#pragma once

#include <stddef.h>

#include "vampire/core/worker.h"
#include "writers/output/output.h"

/* The state of a queue for the output's thread. */
enum output_next {
    OUTPUT_TAKEN, /* an element, described in output->current */
    OUTPUT_NONE,  /* no element for now */
    OUTPUT_NEVER, /* the run has ended, and everything was taken */
};

/* A kind of elements: its options, its queue, and how each segment begins. Only the functions below
 * access the queue. NULL: nothing to do. */
struct output_kind {
    const char *unit;               /* of the account: "bucket" */
    const char *bound_unit;         /* of the queue: "bytes" */
    const struct vamp_opt *options; /* fills struct vamp_output_settings */
    const char *queue_option;       /* the option for the size of the queue */

    /* Creates output->queue and the worker, and may replace output->schema; sets `bound`, `crowded`
     * and `usually_waiting`. 0 or -errno; `done` is called in any case. */
    int (*create)(struct vamp_output *output, const struct vamp_output_context *context,
                  struct vamp_err *err);
    /* Frees the queue and its elements; output->queue may be NULL. */
    void (*done)(struct vamp_output *output);

    /* Submitting thread. One of the first two may be NULL. */
    void (*bucket)(struct vamp_output *output, const struct vamp_bucket *bucket);
    void (*event)(struct vamp_output *output, const struct vamp_event *event, bool passed);
    void (*publish)(struct vamp_output *output); /* NULL: elements are seen at once */
    /* vamp_output_continue; both outputs are of this kind. */
    void (*go_on)(struct vamp_output *output, const struct vamp_output *before);
    /* How much of output->bound is in use. */
    uint64_t (*used)(const struct vamp_output *output);
    /* After the last element: queues the final elements as far as there is room. True: all are
     * queued; false: call it again. `over`: those without room are dropped. */
    bool (*end)(struct vamp_output *output, bool over);

    /* The output's thread. */
    /* Waits for an element or the end, for a second or so. */
    void (*wait)(struct vamp_output *output);
    /* Takes the oldest element. */
    enum output_next (*take)(struct vamp_output *output);
    /* Passes the element to the format. Results as write_bucket and write_event (writer.h). */
    int (*write)(struct vamp_output *output, struct vamp_err *err);
    /* Releases the element, which was `written` or dropped. */
    void (*release)(struct vamp_output *output, bool written);
    /* All elements taken so far are in the segment. */
    void (*flushed)(struct vamp_output *output);
    /* A new segment was opened: prepares what it must begin with. */
    void (*begin_segment)(struct vamp_output *output);
    /* The taken element as the first of a new segment; NULL: none was taken yet. */
    const struct vamp_delivery *(*first)(struct vamp_output *output);
};

extern const struct output_kind output_of_buckets, output_of_events;

/* The option that both kinds have. */
#define OUTPUT_NAME_OPTION                                                                         \
    VAMP_OPT_ROW("name", VAMP_OPT_STRING, offsetof(struct vamp_output_settings, name), "",         \
                 .max = VAMP_OUTPUT_NAME_BYTES - 1,                                                \
                 .help = "Name of the output in messages and metrics; unless set, its type")

/* The element that was taken. */
struct output_element {
    int64_t time_ns;
    uint64_t counts; /* number for the accounting and rotation; 0 for control events */
};

/* The current segment. */
struct output_segment {
    void *writer;           /* NULL: none open */
    bool blind;             /* opened before there was a bucket to size it by */
    uint64_t taken;         /* elements passed to the format */
    int64_t period;         /* period of rotate_ns in which it began */
    uint64_t refused_bytes; /* added to rotate_bytes for each failed rotation */
    unsigned failed_opens;  /* since the end of the run */
};

struct vamp_output {
    const struct vamp_writer_ops *format;
    const struct output_kind *kind;
    const void *format_options;
    const struct vamp_output_settings *settings;
    const struct vamp_sent_alarms *alarms; /* NULL: buckets or events are written */
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_schema *ranks; /* NULL: the format has no ranks */
    const struct vamp_clock *clock;
    const atomic_int *signal;
    uint64_t event_kinds;
    char name[VAMP_OUTPUT_NAME_BYTES];
    void *queue;              /* the kind's, in addition to the worker's */
    uint64_t bound;           /* limit of the queue */
    uint64_t crowded;         /* from this use on, a source that can wait should do so */
    uint64_t usually_waiting; /* elements that typically wait at the end of a run */
    bool opens_later;         /* the kind decides when segments are opened */

    /* Thread, accounting, failures and deadline. Its lock guards the members up to `reason`. `lost`
     * counts dropped elements. */
    struct vamp_worker worker;
    char remark[VAMP_ERR_TEXT_BYTES];            /* "": none */
    uint64_t unreported_files, unreported_bytes; /* deleted, in the remark */
    struct vamp_ending ending;
    char reason[128];

    /* Private to the submitting thread. */
    bool all_given;         /* all elements are queued, including the final ones */
    const atomic_int *stop; /* NULL: the source cannot wait */
    bool stuck;

    /* Written by the output's thread, read by any. */
    _Atomic int64_t commit_ns;
    atomic_uint segment_number;
    _Atomic uint64_t deleted;  /* older files */
    _Atomic uint64_t left_out; /* by the format, in segments that were closed */

    /* Private to the output's thread, and to the creator before that thread exists. */
    struct output_element current;
    struct output_segment segment;
    uint64_t written_before; /* in earlier segments */
    uint64_t others_before;  /* written and lost elements of earlier recordings */
    struct vamp_paths paths;
    const char *left_out_what;     /* NULL until the first is closed */
    struct vamp_err close_failure; /* of the last segment */
};

/* ---- segments.c */

/* Opens the next segment; none is open. */
VAMP_MUST_CHECK int output_open_segment(struct vamp_output *output, struct vamp_err *err);
/* `failed`: the failure was reported already, and the target is unusable. */
void output_close_segment(struct vamp_output *output, const struct vamp_ending *ending,
                          bool failed);
/* Tries until the element is in a segment. False: it was dropped. */
bool output_deliver(struct vamp_output *output);
/* Flushes the format's buffers to the operating system and updates the accounting. */
void output_flush(struct vamp_output *output);
/* Submitting thread: waits while the queue is crowded, if the source can wait and the output makes
 * progress. */
void output_await_room(struct vamp_output *output);

/* ---- keep.c */

/* Deletes older files of this output according to its settings, after a segment was opened. */
void output_keep(struct vamp_output *output);
