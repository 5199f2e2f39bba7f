/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sink: one configured writer with its thread, its bounded queue and its account. Submitting
 * never blocks: when the queue is full the bucket is refused and counted as lost. The identity
 * queued = written + lost + waiting holds at every moment the account is read.
 *
 * Policy, the same for every format:
 * - the next segment begins when rotate_bytes are reached, when the bucket's time enters another
 *   multiple of rotate_ns, when a bucket does not fit (-ENOBUFS), and after any failure; the bucket
 *   that met the failure is kept and written to the new segment;
 * - no room or no reader (-EAGAIN): the same bucket is tried again until it works, while newer
 *   ones wait and, once the queue is full, are lost;
 * - a target that cannot be opened is tried again with growing pauses of at most 5 s;
 * - a bucket that fails in 5 fresh segments is given up and counted as lost.
 */
#ifndef VAMP_WRITERS_SINK_H
#define VAMP_WRITERS_SINK_H

#include <stdbool.h>

#include "vampire/core/clock.h"
#include "writers/writer.h"

struct vamp_sink;

struct vamp_sink_options {
    const char *name;         /* the instance's name; copied */
    unsigned queue_length;    /* buckets waiting at most, 0 means 1 */
    uint64_t rotate_bytes;    /* 0: never */
    int64_t rotate_ns;        /* of bucket time; 0: never */
    unsigned segments_before; /* numbers that are taken; the first file has the next one */
};

/* What a sink is part of; copied, but what it points to must outlive the sink. */
struct vamp_sink_surroundings {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_clock *clock;
};

/* Opens the first segment on the calling thread, so that a wrong path is known at once, then
 * starts the sink's thread, which takes no signals. `writer_options` and the component table must
 * outlive the sink. 0 or -errno with nothing left behind. */
VAMP_MUST_CHECK int vamp_sink_create(const struct vamp_writer_ops *ops, const void *writer_options,
                                     const struct vamp_sink_options *options,
                                     const struct vamp_sink_surroundings *surroundings,
                                     struct vamp_sink **ret_sink, struct vamp_err *err);
/* Takes over the caller's hold on the bucket. Never blocks. One thread. */
void vamp_sink_submit(struct vamp_sink *sink, const struct vamp_bucket *bucket);
/* The number of the newest file; any thread. */
unsigned vamp_sink_segment(const struct vamp_sink *sink);
/* Any thread. */
void vamp_sink_account(struct vamp_sink *sink, struct vamp_output_account *ret_account);
/* Time of the last commit in ns, 0 when none since the last call; any thread. */
int64_t vamp_sink_commit_ns(struct vamp_sink *sink);
/* The message of the newest failure since the last call; false when there is none. Any thread. */
bool vamp_sink_failure(struct vamp_sink *sink, struct vamp_err *ret_err);
/* What the writer has to say that is no failure, since the last call; false: nothing. Any thread.
 */
bool vamp_sink_remark(struct vamp_sink *sink, char text[static VAMP_ERR_TEXT_BYTES]);
/* Calls `each` with the paths of the segments, oldest first (the first VAMP_PATHS_MAX - 1 and the
 * last), and returns how many there are; after vamp_sink_finish only. */
size_t vamp_sink_paths(const struct vamp_sink *sink, void (*each)(void *context, const char *path),
                       void *context);
/* Writes what waits, for at most `deadline_ns`, closes the target and ends the thread; what could
 * not be written is counted lost. In `ending` this sink's own account is brought up to date for
 * the target. 0: every bucket ever submitted is in a target that was closed well. Else -errno and
 * a text with how many were lost and the first failure; -ETIMEDOUT: the thread is stuck in the
 * operating system (a dead file system) and is left behind with the sink's memory. */
VAMP_MUST_CHECK int vamp_sink_finish(struct vamp_sink *sink, const struct vamp_ending *ending,
                                     int64_t deadline_ns, struct vamp_err *err);
/* NULL-safe; finishes without waiting for queued buckets if that was not done. */
void vamp_sink_free(struct vamp_sink *sink);

#endif
