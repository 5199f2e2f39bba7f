/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An output: one configured target with its format, a bounded queue, a writer thread, segments and
 * accounting. Submitting an element does not block unless the source can wait: if the queue is
 * full, the element is lost and counted. The accounting always satisfies
 * queued = written + lost + waiting.
 *
 * The policy is the same for every format and for both kinds of elements (buckets and events):
 * - The next segment begins when rotate_bytes are reached, when the time of an element falls into a
 *   later multiple of rotate_ns (or goes back by more than one), when a bucket does not fit
 *   (-ENOBUFS), and after any failure. The element that failed is kept and written to the new
 *   segment.
 * - A rotation opens the next segment first. If that fails, the current segment continues.
 * - Without disk space or a reader (-EAGAIN), the element is retried until it is written. Newer
 *   elements wait and are lost once the queue is full.
 * - Opening a segment is retried with increasing pauses of at most 5 s.
 * - An element that fails in 5 new segments is dropped and counted as lost. All waiting elements
 *   are lost if, after the end of the run, 5 attempts to open a segment have failed for a reason
 *   other than disk space.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "vampire/core/clock.h"
#include "vampire/core/event/components.h"
#include "writers/output/history.h"
#include "writers/writer.h"

/* The options of an output that do not depend on its format, filled by the option tables below.
 * Options for the other kind of elements stay zero. */
struct vamp_output_settings {
    char *name;
    uint64_t rotate_bytes; /* 0: never */
    int64_t rotate_ns;     /* 0: never */
    int64_t keep_ns;       /* 0: files of any age */
    uint64_t keep_bytes;   /* 0: unlimited */
    /* For buckets. */
    struct vamp_strings metrics;  /* glob patterns, none: all */
    struct vamp_strings series;   /* "LABEL=PATTERN", none: all */
    struct vamp_sets by, without; /* labels to keep, to drop, by metric */
    /* A multiple of the statistics' bucket width; <= 0: the same width. */
    int64_t bucket_ns;
    uint64_t budget; /* lines, 0: any */
    uint64_t queue;  /* maximum number of waiting buckets; 0 means 1 */
    /* For events. */
    char *filter;          /* expression, NULL: none */
    uint64_t buffer_bytes; /* size of the queue */
    bool filtered;         /* also write events that the filters reject */
    /* Names of alarms: events are written only while one of them fires. */
    struct vamp_strings when;
    int64_t before_ns;     /* length of the history before the alarm */
    bool concerned;        /* only events related to the firing alarms */
    uint64_t memory_bytes; /* size of the history; the largest value of all outputs is used */
    int64_t limit_ns;      /* maximum length of a recording, in event time */
};

/* The options of an output with this format, in addition to the format's own; ended by a NULL key.
 */
const struct vamp_opt *vamp_output_options(const struct vamp_writer_ops *format);
/* The sections of these options, such as "rotate"; formats without files have none. Ended by a NULL
 * key. */
struct vamp_output_section {
    const char *key;
    const char *help; /* "when a new file begins" */
    const struct vamp_opt *options;
};
const struct vamp_output_section *vamp_output_sections(const struct vamp_writer_ops *format);

/* The conditions (enum vamp_target_kind) that are true for an output with these options. */
uint32_t vamp_output_holding(const struct vamp_writer_ops *format, const void *options,
                             const struct vamp_output_settings *settings);

/* The environment of an output. The struct is copied, but its pointers must outlive the output. */
struct vamp_output_context {
    const struct vamp_run *run;
    const struct vamp_schema *schema; /* schema of the statistics */
    const struct vamp_clock *clock;
    /* Segment numbers already used; the first segment has the next number. */
    unsigned segments_before;
    /* For events. */
    uint64_t event_kinds; /* bit per kind: events of other kinds do not occur */
    /* The present components: every segment begins with their JOINs. Read only by
     * vamp_output_create, for the first segment. NULL: none. */
    const struct vamp_components *present;
    /* For outputs with `when`: the history; all components, including those that left; and a
     * callback for messages, called on the submitting thread. All must outlive the outputs. */
    struct vamp_history *history;
    const struct vamp_components *components;
    void (*say)(void *say_context, bool error, const char *line);
    void *say_context;
    /* The output's own filter; NULL: none. Called by vamp_output_event. */
    bool (*filter)(void *filter_context, const struct vamp_event *event);
    void *filter_context;
    /* Not NULL: the source can wait. Submitting then waits for queue capacity while `*stop` is 0
     * and the output makes progress within VAMP_OUTPUT_PATIENCE_NS. */
    const atomic_int *stop;
    const atomic_int *signal; /* for formats: see struct vamp_writer_target; NULL is allowed */
};
#define VAMP_OUTPUT_PATIENCE_NS (10 * VAMP_NS_PER_SECOND)

struct vamp_output;

/* Opens the first segment on the calling thread, so that an invalid path is reported at once, then
 * starts the output's thread, which receives no signals. `format_options`, `settings` and the
 * component table must outlive the output. Returns 0, or -errno with a text that begins with the
 * output's name; nothing is left open then. */
VAMP_MUST_CHECK int vamp_output_create(const struct vamp_writer_ops *format,
                                       const void *format_options,
                                       const struct vamp_output_settings *settings,
                                       const struct vamp_output_context *context,
                                       struct vamp_output **ret_output, struct vamp_err *err);

/* The next three functions are called by a single thread, the submitting thread. An output of
 * events ignores buckets, and an output of buckets ignores events. */
/* Keeps a reference to the bucket until it is written. */
void vamp_output_bucket(struct vamp_output *output, const struct vamp_bucket *bucket);
/* Must be called for every event of the stream, control events included, in order. `passed`: the
 * filters accepted the event. JOIN, LEAVE and control events are always written. */
void vamp_output_event(struct vamp_output *output, const struct vamp_event *event, bool passed);
/* Before a reload opens the successor: with `retire`, no rotation of this output begins another
 * segment, so that its successor can use the numbers after the returned one, which is that of its
 * newest segment. The rest of its buckets goes to that segment. Without `retire`, rotations begin
 * segments again: the reload failed. Any thread. */
unsigned vamp_output_retire(struct vamp_output *output, bool retire);
/* After a reload: continues the alarms of the output `before`, which has finished. No effect unless
 * both outputs have `when`. */
void vamp_output_continue(struct vamp_output *output, const struct vamp_output *before);
/* Makes all events visible to the output's thread; call it when no more events come for now.
 * Without this call they become visible in batches, to save wake-ups. */
void vamp_output_publish(struct vamp_output *output);

/* Copies the accounting. Any thread. */
void vamp_output_account(const struct vamp_output *output, struct vamp_output_account *ret_account);
/* Duration of the last write in ns; 0 if nothing was written since the last call. */
int64_t vamp_output_commit_ns(struct vamp_output *output);
/* The newest failure since the last call; false if there was none. */
bool vamp_output_failure(struct vamp_output *output, struct vamp_err *ret_err);
/* The format's remark (see writer.h) since the last call; false if there was none. */
bool vamp_output_remark(struct vamp_output *output, char text[static VAMP_ERR_TEXT_BYTES]);

/* The state of an output, for the submitting thread. */
struct vamp_output_state {
    /* Name of the output, and the unit of its accounting: "bucket" or "event". */
    const char *name, *unit;
    bool takes_events; /* false: vamp_output_event has no effect */
    /* The source waited VAMP_OUTPUT_PATIENCE_NS without progress and no longer waits. */
    bool stuck;
    unsigned segment; /* number of the newest segment */
    uint64_t deleted; /* older files deleted because of "keep" */
    /* Used and total capacity of the queue, in "buckets" or "bytes". */
    uint64_t used, bound;
    const char *bound_unit;
    /* How long the target of a completed run stays open for readers; 0 for most formats. After a
     * signal, until the deadline at most. */
    int64_t linger_ns;
    /* Number and plural name of the items left out of closed segments because of limits of the
     * format; 0 before vamp_output_finish. */
    uint64_t left_out;
    const char *left_out_what;
};
void vamp_output_state(const struct vamp_output *output, struct vamp_output_state *ret_state);

/* Starts the shutdown without waiting: no more elements are accepted. The thread writes queued
 * elements until `until_ns` (monotonic), counts the rest as lost, and closes the target with
 * `ending`, in which it updates this output's accounting. Returns false if the queue had no
 * capacity for some of the final elements; call it again with the same arguments. */
VAMP_MUST_CHECK bool vamp_output_end(struct vamp_output *output, const struct vamp_ending *ending,
                                     int64_t until_ns);
/* Waits until `until_ns` (monotonic) for the thread, after vamp_output_end. Returns 0 if every
 * element ever submitted is in a target that was closed successfully. Else returns -errno and a
 * text with the number of lost elements and the first failure; -ETIMEDOUT: the thread is blocked in
 * the operating system or a library (an unresponsive file system or server) and is abandoned
 * together with the output's memory. */
VAMP_MUST_CHECK int vamp_output_finish(struct vamp_output *output, int64_t until_ns,
                                       struct vamp_err *err);
/* Calls `each` with the paths of the segments, oldest first (the first VAMP_PATHS_MAX - 1 and the
 * last), and returns the total number of segments. Only after vamp_output_finish. */
size_t vamp_output_paths(const struct vamp_output *output,
                         void (*each)(void *context, const char *path), void *context);
/* NULL is allowed. If the output was not ended, ends it without waiting for queued elements. */
void vamp_output_free(struct vamp_output *output);

/* ---- the files that an output has written, oldest first, for the summary: the first
 * VAMP_PATHS_MAX - 1 and the newest, since a run of weeks may have thousands. One thread at a time
 */

#define VAMP_PATHS_MAX 256U

/* All zero: none. */
struct vamp_paths {
    char **items;
    size_t count;
    size_t left_out; /* number of paths between the last two items that were not kept */
};

/* Copies the path, unless it equals the newest one, as for the segments of a FIFO. If memory runs
 * out, the path is missing from the summary. */
void vamp_paths_add(struct vamp_paths *paths, const char *path);
/* Calls `each` with the kept paths; returns the total number of paths. */
size_t vamp_paths_each(const struct vamp_paths *paths,
                       void (*each)(void *context, const char *path), void *context);
void vamp_paths_done(struct vamp_paths *paths);
