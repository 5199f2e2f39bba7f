/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the actions of all rules share: the threads that run commands, the newest events in memory,
 * the recordings, and the gates of level `cdo`. Each part is made when the first action asks for
 * it; without alarms nothing exists. It lives as long as the run, over reloads: what an action has
 * begun is completed after the action is gone.
 *
 * Worker thread; nothing blocks but `finish`, and, where the source can wait, `follow`.
 */
#ifndef VAMP_ALARMS_ACTIONS_SERVICES_H
#define VAMP_ALARMS_ACTIONS_SERVICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_action_services;

/* All of it outlives the services. */
struct vamp_action_services_options {
    /* One line of the log, without a newline. */
    void (*say)(void *context, bool error, const char *line);
    void *say_context;
    const struct vamp_run *run; /* its identity; the rest may change */
    const struct vamp_clock *clock;
    const struct vamp_components *components;
    uint64_t event_kinds;   /* bit per kind: no other one will come */
    const atomic_int *stop; /* of a source that can wait: not NULL */
};

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_action_services_create(const struct vamp_action_services_options *options,
                                                struct vamp_action_services **ret_services,
                                                struct vamp_err *err);
/* Whether events must be passed to vamp_action_services_event: an action keeps them. */
bool vamp_action_services_want_events(const struct vamp_action_services *services);
/* Every event and mark of the stream, in order; kept if it `passed` the filters, and JOIN, LEAVE
 * and marks in any case. */
void vamp_action_services_event(struct vamp_action_services *services,
                                const struct vamp_event *event, bool passed);
/* Writes recordings on; after each batch of events, and at intervals. */
void vamp_action_services_follow(struct vamp_action_services *services);
/* Says what commands and recordings have to say; at intervals. */
void vamp_action_services_report(struct vamp_action_services *services);
/* Whether an alarm that fires asks for a record of the event's CDO (action `level`). */
bool vamp_action_services_select(const struct vamp_action_services *services,
                                 const struct vamp_event *event);

/* What the actions did, for the state and the summary. */
struct vamp_action_account {
    bool commands, recordings; /* there is such an action */
    uint64_t commands_run, commands_failed, commands_dropped, commands_waiting;
    uint64_t recordings_begun, recordings_failed;
    uint64_t events_recorded, events_lost; /* `lost`: belong to a recording and are not in it */
};
void vamp_action_services_account(const struct vamp_action_services *services,
                                  struct vamp_action_account *ret_account);
/* The run is over, and no action will be asked for anything: completes recordings, waits for
 * commands, each for a bounded time, and says what came of it. */
void vamp_action_services_finish(struct vamp_action_services *services);
/* NULL-safe; finishes without waiting if that was not done. */
void vamp_action_services_free(struct vamp_action_services *services);

#endif
