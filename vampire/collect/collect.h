/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Collects many runs: messages of runs in (vampire/stats/bucket/telemetry.proto), merged buckets
 * out. These are ordinary buckets with their own schema, whose series have the additional labels
 * `workflow` and `run`, so that every output can write them. Uses neither network nor clock: the
 * caller passes messages and the time, UTC in nanoseconds since 1970.
 *
 * A collected bucket covers the buckets of all runs that begin in [k * bucket_ns, (k + 1) *
 * bucket_ns). Messages wait until it is closed, `delay_ns` after its end; its content depends
 * neither on their order nor on duplicates. docs/exporters.md has the rules.
 *
 * Memory is limited by the options. One thread at a time; only vamp_bucket_release may be called by
 * other threads.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_collect_options {
    int64_t bucket_ns;        /* width of the buckets: a multiple of those of the runs */
    int64_t delay_ns;         /* time to wait for messages after a bucket's end */
    int64_t forget_ns;        /* a run without messages for this time has ended */
    unsigned max_runs;        /* known at a time */
    unsigned max_series;      /* of one label set, `(other)` included; at least 2 */
    size_t max_message_bytes; /* of one message */
    size_t max_waiting_bytes; /* of all messages waiting for their bucket's close */
    unsigned sub_bits;        /* of the runs' histograms: 2, 3 or 4 */
    enum vamp_level level;    /* of the series: workflow, model or component */
    const char *series_space; /* UUID text: name space of series' ids; not kept */
};

struct vamp_collect_counts {
    uint64_t messages; /* passed to vamp_collect_message */
    uint64_t repeated; /* duplicates among them */
    uint64_t refused[VAMP_REFUSAL_COUNT];
    uint64_t buckets;                           /* of runs, in closed buckets */
    uint64_t collected;                         /* closed buckets */
    unsigned runs_known, runs_live, runs_ended; /* known = live + ended, without forgotten ones */
    size_t waiting_bytes;
};

struct vamp_collect;

/* `take` receives each closed bucket, with a reference, from vamp_collect_advance and _finish. 0;
 * -EINVAL: an option is out of range; -ENOMEM. */
VAMP_MUST_CHECK int vamp_collect_create(const struct vamp_collect_options *options,
                                        vamp_bucket_fn *take, void *context,
                                        struct vamp_collect **ret_collect, struct vamp_err *err);
/* NULL is allowed. All buckets must have been released: the collector owns their labels. */
void vamp_collect_free(struct vamp_collect *collect);
/* Valid as long as the collector. */
const struct vamp_schema *vamp_collect_schema(const struct vamp_collect *collect);

/* Adds a message; `data` is not kept. Refused messages are counted by reason. `subject`: where it
 * was published; it must end in .WORKFLOW.RUN, and must be the same for all messages of a run.
 * NULL: not known and not checked. */
void vamp_collect_message(struct vamp_collect *collect, const char *subject, const void *data,
                          size_t bytes, int64_t now_ns);
/* Closes the buckets that are due. */
void vamp_collect_advance(struct vamp_collect *collect, int64_t now_ns);
/* Closes all buckets with messages, up to that of `now_ns`. Nothing may be collected afterwards. */
void vamp_collect_finish(struct vamp_collect *collect, int64_t now_ns);
/* The accounts of the caller's outputs as of now, for the next buckets. */
void vamp_collect_outputs(struct vamp_collect *collect, const struct vamp_output_account *outputs,
                          unsigned count);

/* As of now; valid as long as the collector. */
const struct vamp_collect_counts *vamp_collect_counts(const struct vamp_collect *collect);
/* Answers a request for the present values: those of the newest closed bucket, as a JSON array of
 * objects, one for each series and a last one that describes the bucket. The request consists of
 * words separated by blanks, each a pattern of metric names ("pool_*") or LABEL=PATTERN; without
 * words of one of these kinds all match. The answer is shorter than a mebibyte and contains the
 * number of omitted series. malloc'ed and terminated; NULL: out of memory. */
char *vamp_collect_present(const struct vamp_collect *collect, const char *request, size_t bytes);
