/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part of the event stream that is written as a recording: from a moment that lies in the past,
 * as far as the history reaches, to another that is asked for later. One excerpt writes one
 * recording after the other, each a run of segments that is complete in itself.
 *
 * The worker passes events from the history to an output, which has its own queue, thread and
 * account. Files are opened and closed by a thread of the excerpt: meanwhile events wait in the
 * history. The ones that it gives up before they were passed on are counted, and reported by a mark
 * in the recording.
 *
 * All functions are for the worker.
 */
#ifndef VAMP_ALARMS_ACTIONS_EXCERPT_H
#define VAMP_ALARMS_ACTIONS_EXCERPT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "vampire/alarms/actions/history.h"
#include "vampire/core/event/components.h"
#include "writers/output/output.h"

/* Where recordings go; copied. */
struct vamp_excerpt_settings {
    char name[VAMP_OUTPUT_NAME_BYTES]; /* as an output's, part of the files' names */
    const char *directory;
    unsigned access;       /* enum vamp_target_access */
    uint64_t keep_bytes;   /* older files are deleted; 0: none */
    int64_t limit_ns;      /* event time from the begin, after which a recording ends */
    unsigned files_before; /* of this name: the first file has the next number that is free */
};

/* All of it outlives the excerpt. */
struct vamp_excerpt_context {
    const struct vamp_history *history;
    const struct vamp_components *components;
    const struct vamp_run *run; /* what of it a recording's header contains is copied */
    const struct vamp_clock *clock;
    uint64_t event_kinds;
    /* Whether the recording contains an event; JOIN, LEAVE and marks always are in it. */
    bool (*filter)(void *context, const struct vamp_event *event);
    void *filter_context;
    const atomic_int *stop; /* of a source that can wait: then so does the worker; else NULL */
};

/* Of all recordings together; queued = written + lost + waiting. */
struct vamp_excerpt_account {
    uint64_t recordings; /* begun */
    uint64_t failed;     /* of these: not written to the end */
    uint64_t queued, written, lost, waiting;
    uint64_t missed; /* never queued: the history had given them up */
};

struct vamp_excerpt;

/* Starts the thread; opens nothing yet. 0, -EINVAL, -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_excerpt_create(const struct vamp_excerpt_settings *settings,
                                        const struct vamp_excerpt_context *context,
                                        struct vamp_excerpt **ret_excerpt, struct vamp_err *err);
/* Begins a recording with the oldest event not before `from_ns` (event time). If one is being
 * written it goes on, also when its end had been asked for; if one is being closed, the next begins
 * after it. */
void vamp_excerpt_begin(struct vamp_excerpt *excerpt, int64_t from_ns);
/* The event before this moment is the last one of the recording. */
void vamp_excerpt_end(struct vamp_excerpt *excerpt);
/* Passes events on, a bounded number at a time: to be called after each batch of events and at
 * intervals. */
void vamp_excerpt_follow(struct vamp_excerpt *excerpt);
/* Whether a recording is being opened, written or closed. */
bool vamp_excerpt_is_busy(struct vamp_excerpt *excerpt);
/* The next message for the operator: a recording has begun, has ended, cannot be written. False:
 * there is none. */
bool vamp_excerpt_message(struct vamp_excerpt *excerpt, bool *ret_error,
                          char text[static VAMP_ERR_TEXT_BYTES]);
void vamp_excerpt_account(struct vamp_excerpt *excerpt, struct vamp_excerpt_account *ret_account);
/* The run is over: passes the rest on and completes the recording, for at most `deadline_ns` and
 * the time that an output needs to give up. Messages and the account can be read afterwards. */
void vamp_excerpt_finish(struct vamp_excerpt *excerpt, int64_t deadline_ns);
/* NULL-safe; finishes without waiting if that was not done. */
void vamp_excerpt_free(struct vamp_excerpt *excerpt);

#endif
