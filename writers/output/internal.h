/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output, split: output.c is the interface and the thread; buckets.c and events.c are the two
 * kinds of elements; segments.c writes one element to a segment; keep.c deletes older files. Each
 * calls only those named after it. Private to these.
 */
#pragma once

#include <stddef.h>

#include "vampire/core/worker.h"
#include "writers/output/output.h"

/* What a kind has for the output's thread. */
enum output_next {
    OUTPUT_TAKEN, /* an element, described in output->current */
    OUTPUT_NONE,  /* now */
    OUTPUT_NEVER, /* the end has come and everything was taken */
};

/* What differs between kinds of elements: its options, its queue, and what each segment begins
 * with. The functions below are all that touch the queue. NULL: nothing is to be done. */
struct output_kind {
    const char *unit;               /* of the account: "bucket" */
    const char *bound_unit;         /* of the queue: "bytes" */
    const struct vamp_opt *options; /* fills struct vamp_output_settings */
    const char *queue_option;       /* the one that makes the queue larger */

    /* Makes output->queue and the worker, and output->schema if it is to be another; sets `bound`,
     * `crowded` and `usually_waiting`. 0 or -errno; then `done` is called, too. */
    int (*create)(struct vamp_output *output, const struct vamp_output_context *context,
                  struct vamp_err *err);
    /* Frees the queue and what waits in it; output->queue may be NULL. */
    void (*done)(struct vamp_output *output);

    /* Submitting thread. One of the first two may be NULL. */
    void (*bucket)(struct vamp_output *output, const struct vamp_bucket *bucket);
    void (*event)(struct vamp_output *output, const struct vamp_event *event, bool passed);
    void (*publish)(struct vamp_output *output); /* NULL: elements are seen at once */
    /* As vamp_output_continue, of two of this kind. */
    void (*go_on)(struct vamp_output *output, const struct vamp_output *before);
    /* How much of output->bound is taken. */
    uint64_t (*used)(const struct vamp_output *output);
    /* No element will follow: puts the elements for the end into the queue as far as there is room.
     * True: all of them are; false: to be called again. `over`: those without room are dropped. */
    bool (*end)(struct vamp_output *output, bool over);

    /* The output's thread. */
    /* Waits for an element or the end, for a second or so. */
    void (*wait)(struct vamp_output *output);
    /* Takes the oldest element. */
    enum output_next (*take)(struct vamp_output *output);
    /* Passes the element to the format. As write_bucket and write_event of the format. */
    int (*write)(struct vamp_output *output, struct vamp_err *err);
    /* Releases the element; if it is not `written`, it was given up. */
    void (*release)(struct vamp_output *output, bool written);
    /* All elements taken so far are in the segment. */
    void (*flushed)(struct vamp_output *output);
    /* A new segment was opened: it begins with what this kind requires, before the next element. */
    void (*begin_segment)(struct vamp_output *output);
    /* The taken element as the first of a new segment; NULL: none was taken yet. */
    const struct vamp_delivery *(*first)(struct vamp_output *output);
};

extern const struct output_kind output_of_buckets, output_of_events;

/* The option that both have. */
#define OUTPUT_NAME_OPTION                                                                         \
    VAMP_OPT_ROW("name", VAMP_OPT_STRING, offsetof(struct vamp_output_settings, name), "",         \
                 .max = VAMP_OUTPUT_NAME_BYTES - 1,                                                \
                 .help = "Name of the output in messages and metrics; unless set, its type")

/* The element that was taken. */
struct output_element {
    int64_t time_ns;
    uint64_t counts; /* as so many in the account and for rotation; marks do not */
};

/* The present segment. */
struct output_segment {
    void *writer;           /* NULL: none open */
    bool blind;             /* opened before there was a bucket to size it by */
    uint64_t taken;         /* of the account's elements, by the format */
    int64_t period;         /* of rotate_ns, of the first element */
    uint64_t refused_bytes; /* added to rotate_bytes by each rotation that failed */
    unsigned failed_opens;  /* since the run is over */
};

struct vamp_output {
    const struct vamp_writer_ops *format;
    const struct output_kind *kind;
    const void *format_options;
    const struct vamp_output_settings *settings;
    const struct vamp_sent_alarms *alarms; /* NULL: buckets or events are written */
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_schema *ranks; /* NULL: the format gets none */
    const struct vamp_clock *clock;
    const atomic_int *signal;
    uint64_t event_kinds;
    char name[VAMP_OUTPUT_NAME_BYTES];
    void *queue;              /* the kind's, in addition to the worker's */
    uint64_t bound;           /* of the queue */
    uint64_t crowded;         /* so full that a source that can wait should do so */
    uint64_t usually_waiting; /* elements, at the end of any run */
    bool opens_later;         /* segments are opened when the kind says so */

    /* Thread, account, failures and deadline; its lock is that of all down to the ending. `lost`
     * are elements that were given up. */
    struct vamp_worker worker;
    char remark[VAMP_ERR_TEXT_BYTES];            /* "": none */
    uint64_t unreported_files, unreported_bytes; /* deleted, in the remark */
    struct vamp_ending ending;
    char reason[128];

    /* The submitting thread's. */
    bool all_given;         /* to the queue, those for the end included */
    const atomic_int *stop; /* NULL: the source cannot wait */
    bool stuck;

    /* The output's thread writes them, any reads them. */
    _Atomic int64_t commit_ns;
    atomic_uint segment_number;
    _Atomic uint64_t deleted;  /* older files */
    _Atomic uint64_t left_out; /* by the format, in segments that were closed */

    /* The output's thread's, and the creator's before that thread exists. */
    struct output_element current;
    struct output_segment segment;
    uint64_t written_before; /* in earlier segments */
    uint64_t others_before;  /* of these and of those lost: what belongs to another recording */
    struct vamp_paths paths;
    const char *left_out_what;     /* NULL until the first is closed */
    struct vamp_err close_failure; /* of the last segment */
};

/* ---- segments.c */

/* Opens the next one; none is open. */
VAMP_MUST_CHECK int output_open_segment(struct vamp_output *output, struct vamp_err *err);
/* `failed`: the failure was reported already, and the target is unusable. */
void output_close_segment(struct vamp_output *output, const struct vamp_ending *ending,
                          bool failed);
/* Tries until the element is in a segment; false when it was given up. */
bool output_deliver(struct vamp_output *output);
/* Flushes what the format has taken to the operating system, and updates the account. */
void output_flush(struct vamp_output *output);
/* Submitting thread: waits while the queue is crowded, if the source can wait and the output makes
 * progress. */
void output_await_room(struct vamp_output *output);

/* ---- keep.c */

/* A new segment was opened: deletes older files of this output as its settings ask for. */
void output_keep(struct vamp_output *output);
