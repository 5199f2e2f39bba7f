/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many runs in one view: messages of runs in (vampire/stats/bucket/telemetry.proto), merged buckets
 * out. What comes out are ordinary buckets with a schema of their own, whose series have the labels
 * `workflow` and `run` in addition, so that every output can write them. Neither network nor clock:
 * the caller hands over messages and the time, UTC in nanoseconds since 1970.
 *
 * A collected bucket covers the buckets of all runs that begin in [k * bucket_ns, (k + 1) *
 * bucket_ns). Messages wait until it is closed, `delay_ns` after its end; what it contains depends
 * neither on their order nor on how often they come. docs/exporters.md has the rules.
 *
 * Memory is bounded by the options. One thread at a time; only vamp_bucket_release may be called
 * elsewhere.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_collect_options {
    int64_t bucket_ns;        /* width of the buckets: a multiple of what the runs send */
    int64_t delay_ns;         /* how long after a bucket's end its messages are waited for */
    int64_t forget_ns;        /* a run of which nothing was heard for so long has ended */
    unsigned max_runs;        /* that are known at a time */
    unsigned max_series;      /* of one label set, `(other)` included; at least 2 */
    size_t max_message_bytes; /* of one message */
    size_t max_waiting_bytes; /* of all messages that wait for their bucket's close */
    unsigned sub_bits;        /* of the runs' histograms: 2, 3 or 4 */
    enum vamp_level level;    /* of the series: workflow, model or component */
    const char *series_space; /* UUID text: name space of series' ids; not kept */
};

struct vamp_collect_counts {
    uint64_t messages; /* given to vamp_collect_message */
    uint64_t repeated; /* of them: already known, they changed nothing */
    uint64_t refused[VAMP_REFUSAL_COUNT];
    uint64_t buckets;                           /* of runs, in closed buckets */
    uint64_t collected;                         /* buckets that were closed */
    unsigned runs_known, runs_live, runs_ended; /* known = live + ended; those forgotten in none */
    size_t waiting_bytes;
};

struct vamp_collect;

/* `take` receives each closed bucket, with a holder, from vamp_collect_advance and _finish. 0;
 * -EINVAL with an option out of bounds; -ENOMEM. */
VAMP_MUST_CHECK int vamp_collect_create(const struct vamp_collect_options *options,
                                        vamp_bucket_fn *take, void *context,
                                        struct vamp_collect **ret_collect, struct vamp_err *err);
/* NULL is fine. No bucket is held any more: labels are the collector's. */
void vamp_collect_free(struct vamp_collect *collect);
/* Lives as long as the collector. */
const struct vamp_schema *vamp_collect_schema(const struct vamp_collect *collect);

/* One message; `data` is not kept. What is refused is counted by its reason. `subject`: where it
 * was published; it must end in .WORKFLOW.RUN, and all messages of a run have the same one. NULL:
 * not known, and not looked at. */
void vamp_collect_message(struct vamp_collect *collect, const char *subject, const void *data,
                          size_t bytes, int64_t now_ns);
/* Closes the buckets that are due. */
void vamp_collect_advance(struct vamp_collect *collect, int64_t now_ns);
/* Closes all buckets for which there is a message, and the one in which `now_ns` is. Nothing may be
 * collected afterwards. */
void vamp_collect_finish(struct vamp_collect *collect, int64_t now_ns);
/* The accounts of the caller's outputs as of now, for the next buckets. */
void vamp_collect_outputs(struct vamp_collect *collect, const struct vamp_output_account *outputs,
                          unsigned count);

/* As of now; valid as long as the collector. */
const struct vamp_collect_counts *vamp_collect_counts(const struct vamp_collect *collect);
/* Answers a request for the present values: those of the newest closed bucket, as a JSON array of
 * objects, one for each series and one more that describes the bucket. The request is a text of
 * words with blanks between them, each a pattern of metrics' names ("pool_*") or LABEL=PATTERN;
 * without words of one of these kinds all are meant. The answer is shorter than a mebibyte, and
 * says how many series did not fit. malloc'ed and terminated; NULL: no memory. */
char *vamp_collect_present(const struct vamp_collect *collect, const char *request, size_t bytes);
