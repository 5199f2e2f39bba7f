/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output: output.c has the interface and the thread; buckets.c and events.c (with joins.c)
 * implement the two kinds of elements; segments.c writes one element to a segment; keep.c deletes
 * older files. Each file calls only files that come later in this list. Private to these files.
 */
#pragma once

#include <stddef.h>

#include "vampire/core/worker.h"
#include "writers/output/output.h"

/* Result of taking an element from a queue, on the output's thread. */
enum output_next {
    OUTPUT_TAKEN, /* an element was taken; it is in output->current */
    OUTPUT_NONE,  /* the queue is empty for now */
    OUTPUT_NEVER, /* the run has ended, and the queue is empty */
};

/* A kind of elements: its options, its queue, and the beginning of each segment. Only the functions
 * below access the queue. NULL members: nothing to do. */
struct output_kind {
    const char *unit;               /* unit of the accounting: "bucket" */
    const char *bound_unit;         /* unit of the queue's limit: "bytes" */
    const struct vamp_opt *options; /* fills struct vamp_output_settings */
    const char *queue_option;       /* the option that sets the size of the queue */

    /* Creates output->queue and the worker, and may replace output->schema; sets `bound` and
     * `crowded`. Returns 0 or -errno; `done` is called in either case. */
    int (*create)(struct vamp_output *output, const struct vamp_output_context *context,
                  struct vamp_err *err);
    /* Frees the queue and its elements; output->queue may be NULL. */
    void (*done)(struct vamp_output *output);

    /* Submitting thread. Either `bucket` or `event` may be NULL. */
    void (*bucket)(struct vamp_output *output, const struct vamp_bucket *bucket);
    void (*event)(struct vamp_output *output, const struct vamp_event *event, bool passed);
    void (*publish)(struct vamp_output *output); /* NULL: elements are visible at once */
    /* Implements vamp_output_continue; both outputs are of this kind. */
    void (*go_on)(struct vamp_output *output, const struct vamp_output *before);
    /* How much of output->bound is used. */
    uint64_t (*used)(const struct vamp_output *output);
    /* After the last element: queues the final elements as far as the queue has capacity. Returns
     * true when all are queued; false: call it again. `over`: drops those that do not fit. */
    bool (*end)(struct vamp_output *output, bool over);

    /* The functions below run on the output's thread. */
    /* Waits about a second for an element or the end. */
    void (*wait)(struct vamp_output *output);
    /* Dequeues the oldest element. */
    enum output_next (*take)(struct vamp_output *output);
    /* Passes the element to the format. Results as for write_bucket and write_event (writer.h). */
    int (*write)(struct vamp_output *output, struct vamp_err *err);
    /* Releases the element, which was `written` or dropped. */
    void (*release)(struct vamp_output *output, bool written);
    /* Called when all elements taken so far are in the segment. */
    void (*flushed)(struct vamp_output *output);
    /* Called when a new segment was opened: prepares the elements at its beginning. */
    void (*begin_segment)(struct vamp_output *output);
    /* The taken element, as the first one of a new segment; NULL if none was taken yet. */
    const struct vamp_delivery *(*first)(struct vamp_output *output);
};

extern const struct output_kind output_of_buckets, output_of_events;

/* The option shared by both kinds. */
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
    void *writer; /* NULL: no segment is open */
    int fd;       /* the file, or the directory of a file not yet created, with O_PATH; -1: none */
    bool is_lost; /* the file was deleted */
    /* Opened before the first bucket, which determines the size of a file. */
    bool blind;
    uint64_t taken;         /* elements passed to the format */
    int64_t period;         /* number of the rotate_ns period in which the segment began */
    uint64_t refused_bytes; /* added to rotate_bytes for each failed rotation */
    unsigned failed_opens;  /* failed attempts to open a segment since the end of the run */
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
    void *queue;      /* the queue of the kind, in addition to the worker's */
    uint64_t bound;   /* limit of the queue */
    uint64_t crowded; /* use of the queue from which a source that can wait should wait */
    bool opens_later; /* the kind decides when to open segments */

    /* Thread, accounting, failures and deadline. Its lock guards the members up to `reason`. `lost`
     * counts the dropped elements. */
    struct vamp_worker worker;
    char remark[VAMP_ERR_TEXT_BYTES]; /* "": none */
    /* Number and size of the deleted files that the remark has not reported yet. */
    uint64_t unreported_files, unreported_bytes;
    struct vamp_ending ending;
    char reason[128];

    /* Private to the submitting thread. */
    bool all_given;         /* all elements are queued, including the final ones */
    const atomic_int *stop; /* NULL: the source cannot wait */
    bool stuck;

    /* Written by the output's thread, read by any thread. */
    _Atomic int64_t commit_ns;
    atomic_uint segment_number;
    /* After vamp_output_retire: no rotation begins. The lock of `worker` orders the two. */
    atomic_bool is_retired;
    bool is_rotating;          /* with the lock of `worker` */
    _Atomic uint64_t deleted;  /* older files deleted */
    _Atomic uint64_t left_out; /* items left out by the format in closed segments */
    _Atomic uint64_t removed;  /* written elements whose file was deleted before it was closed */

    /* Private to the output's thread, and to the creator before that thread exists. */
    struct output_element current;
    struct output_segment segment;
    uint64_t written_before; /* elements written to earlier segments */
    uint64_t others_before;  /* elements written and lost by earlier recordings */
    struct vamp_paths paths;
    const char *left_out_what;     /* NULL until the first segment is closed */
    struct vamp_err close_failure; /* failure to close the last segment */
};

/* ---- segments.c */

/* Opens the next segment; no segment may be open. */
VAMP_MUST_CHECK int output_open_segment(struct vamp_output *output, struct vamp_err *err);
/* `failed`: the failure was already reported, and the target is unusable. */
void output_close_segment(struct vamp_output *output, const struct vamp_ending *ending,
                          bool failed);
/* Retries until the element is in a segment. Returns false if it was dropped. */
bool output_deliver(struct vamp_output *output);
/* Flushes the format's buffers to the operating system and updates the accounting. */
void output_flush(struct vamp_output *output);
/* Checks whether the segment's file still exists at its path. If the file was deleted, counts its
 * content as lost and closes the segment; if it was moved, begins a new segment. */
void output_check_file(struct vamp_output *output);
/* Submitting thread: waits while the queue is at capacity, if the source can wait and the output
 * makes progress. */
void output_await_room(struct vamp_output *output);

/* ---- keep.c */

/* Deletes older files of this output according to its settings, after a segment was opened. */
void output_keep(struct vamp_output *output);
