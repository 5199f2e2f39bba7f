/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector merges buckets of many runs: it receives the messages of the runs
 * (vampire/stats/bucket/telemetry.proto) and emits merged buckets. These are ordinary buckets with
 * their own schema, whose series have the additional labels `workflow` and `run`, so that every
 * output can write them. The collector uses neither the network nor a clock: the caller passes
 * messages and the time, UTC in nanoseconds since 1970.
 *
 * A collected bucket contains the buckets of all runs that start in [k * bucket_ns, (k + 1) *
 * bucket_ns). Messages are kept until the collected bucket closes, `delay_ns` after its end; its
 * content depends neither on the order of the messages nor on duplicates. docs/exporters.md has the
 * rules.
 *
 * Memory is limited by the options. One thread at a time; only vamp_bucket_release may be called by
 * other threads.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_collect_options {
    /* Width of collected buckets: a multiple of the width of each run's buckets. */
    int64_t bucket_ns;
    int64_t delay_ns;         /* time to wait for messages after a bucket's end */
    int64_t forget_ns;        /* a run without messages for this time is considered ended */
    unsigned max_runs;        /* maximum number of runs known at a time */
    unsigned max_series;      /* maximum per label set, including `(other)`; at least 2 */
    size_t max_message_bytes; /* maximum size of one message */
    /* Maximum size of all messages that wait for the close of their bucket. */
    size_t max_waiting_bytes;
    unsigned sub_bits;        /* histograms of the runs: 2, 3 or 4 */
    enum vamp_level level;    /* labels of the series: workflow, model or component */
    const char *series_space; /* UUID as text: name space of the ids of series; not kept */
};

struct vamp_collect_counts {
    uint64_t messages; /* messages passed to vamp_collect_message */
    uint64_t repeated; /* duplicates among them */
    uint64_t refused[VAMP_REFUSAL_COUNT];
    uint64_t buckets;   /* buckets of runs in closed collected buckets */
    uint64_t collected; /* closed collected buckets */
    /* Known = live + ended; forgotten runs are not included. */
    unsigned runs_known, runs_live, runs_ended;
    size_t waiting_bytes;
};

struct vamp_collect;

/* vamp_collect_advance and vamp_collect_finish pass each closed bucket to `take`, with a reference.
 * Returns 0; -EINVAL if an option is out of range; or -ENOMEM. */
VAMP_MUST_CHECK int vamp_collect_create(const struct vamp_collect_options *options,
                                        vamp_bucket_fn *take, void *context,
                                        struct vamp_collect **ret_collect, struct vamp_err *err);
/* Frees the collector; NULL is allowed. All buckets must have been released, since the collector
 * owns their labels. */
void vamp_collect_free(struct vamp_collect *collect);
/* Returns the schema, which is valid as long as the collector. */
const struct vamp_schema *vamp_collect_schema(const struct vamp_collect *collect);

/* Adds a message; `data` is not kept. Refused messages are counted by reason. `subject` is the
 * subject on which the message was published; it must end in .WORKFLOW.RUN and must be the same for
 * all messages of a run. NULL: the subject is unknown and not checked. */
void vamp_collect_message(struct vamp_collect *collect, const char *subject, const void *data,
                          size_t bytes, int64_t now_ns);
/* Closes the buckets that are due. */
void vamp_collect_advance(struct vamp_collect *collect, int64_t now_ns);
/* Closes all buckets with messages, up to that of `now_ns`. Nothing may be collected afterwards. */
void vamp_collect_finish(struct vamp_collect *collect, int64_t now_ns);
/* Sets the current counters of the caller's outputs, for the next buckets. */
void vamp_collect_outputs(struct vamp_collect *collect, const struct vamp_output_account *outputs,
                          unsigned count);

/* Returns current counts; valid as long as the collector. */
const struct vamp_collect_counts *vamp_collect_counts(const struct vamp_collect *collect);
/* Answers a request for current values: those of the newest closed bucket, as a JSON array with one
 * object for each series and a last object that describes the bucket. The request consists of words
 * separated by blanks, each a pattern of metric names ("pool_*") or LABEL=PATTERN; if there are no
 * words of one of these kinds, all metrics or labels match. The answer is shorter than one mebibyte
 * and contains the number of omitted series. It is allocated by malloc and terminated. Returns NULL
 * if out of memory. */
char *vamp_collect_present(const struct vamp_collect *collect, const char *request, size_t bytes);
