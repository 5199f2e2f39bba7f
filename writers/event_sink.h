/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event sink: one configured writer of events (a recording) with its thread, its bounded ring
 * and its account. Recording never blocks: what finds no room is lost, counted, and told in the
 * target itself by a mark. The identity queued = written + lost + waiting, in events, holds
 * whenever the account is read.
 *
 * Policy: the next segment begins with the first event after rotate_bytes are reached, or whose
 * time is in a later multiple of rotate_ns; in front of it stand the JOINs of those who are there.
 * Where no new one can be made, the present one goes on. After a failure the target is finished;
 * everything before the failure is in it, everything after it up to the next segment counts as
 * lost, and the failure is told once.
 */
#ifndef VAMP_WRITERS_EVENT_SINK_H
#define VAMP_WRITERS_EVENT_SINK_H

#include <stdbool.h>

#include "vampire/core/components.h"
#include "writers/writer.h"

struct vamp_event_sink;

struct vamp_event_sink_options {
    uint64_t rotate_bytes; /* 0: never */
    int64_t rotate_ns;     /* of event time; 0: never */
    /* Who was there before: the target begins with their JOINs, as every segment does. Only looked
     * at while the sink is created. NULL: nobody. */
    const struct vamp_components *present;
};

/* Opens the target on the calling thread, then starts the sink's thread, which takes no signals.
 * `options` and all that `target` points to must outlive the sink. 0 or -errno with nothing left
 * behind. */
VAMP_MUST_CHECK int vamp_event_sink_create(const struct vamp_writer_ops *ops, const void *options,
                                           const struct vamp_event_sink_options *rotation,
                                           const struct vamp_writer_target *target,
                                           struct vamp_event_sink **ret_sink, struct vamp_err *err);
/* Every event of the stream, marks included, in order. `passed`: the filters accepted it. Never
 * blocks. One thread, that of the next function too. */
void vamp_event_sink_record(struct vamp_event_sink *sink, const struct vamp_event *event,
                            bool passed);
/* More than half of the room is used. */
bool vamp_event_sink_crowded(const struct vamp_event_sink *sink);
void vamp_event_sink_account(const struct vamp_event_sink *sink,
                             struct vamp_output_account *ret_account);
/* The message of the failure when it has not been asked for before; else false. Any thread. */
bool vamp_event_sink_failure(struct vamp_event_sink *sink, struct vamp_err *ret_err);
/* The number of the newest segment. */
unsigned vamp_event_sink_segment(const struct vamp_event_sink *sink);
/* As vamp_sink_paths; after vamp_event_sink_finish only. */
size_t vamp_event_sink_paths(const struct vamp_event_sink *sink,
                             void (*each)(void *context, const char *path), void *context);
/* Writes what waits, closes the target and ends the thread. 0: every event is in the target.
 * Else -errno and a text with how many were lost and the first failure; -ETIMEDOUT: the thread did
 * not end in `deadline_ns` (a dead file system) and is left behind with the sink's memory. */
VAMP_MUST_CHECK int vamp_event_sink_finish(struct vamp_event_sink *sink,
                                           const struct vamp_ending *ending, int64_t deadline_ns,
                                           struct vamp_err *err);
/* NULL-safe; finishes if that was not done. */
void vamp_event_sink_free(struct vamp_event_sink *sink);

#endif
