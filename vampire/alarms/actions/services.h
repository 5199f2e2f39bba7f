/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services shared by the actions of all rules: the thread that runs commands, and the set of firing
 * alarms whose CDOs are recorded. Services exist until the end of the run and survive reloads: a
 * submitted command is completed after its action has been closed. Worker thread; only
 * vamp_action_services_finish blocks.
 */
#pragma once

#include "vampire/alarms/actions/commands.h"
#include "vampire/alarms/firing.h"
#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

/* The firing alarms of one rule with an action `level`. */
struct vamp_level_gate {
    struct vamp_level_gate *next;
    struct vamp_action_services *services;
    struct vamp_firing firing;
};

struct vamp_action_services {
    /* Writes one line to the log; the line does not end with a newline. */
    void (*say)(void *context, bool error, const char *line);
    void *say_context;
    const struct vamp_run *run; /* only the identity of the run is constant */
    const struct vamp_components *components;

    struct vamp_commands *commands; /* NULL until an action needs it */
    unsigned lanes;                 /* number of lanes assigned to actions of type command */
    struct vamp_level_gate *gates;
};

/* Logs messages about commands; to be called periodically. */
void vamp_action_services_report(struct vamp_action_services *services);
/* Returns whether a firing alarm with action `level` concerns the event, so that its CDO is
 * recorded. */
bool vamp_action_services_select(const struct vamp_action_services *services,
                                 const struct vamp_event *event);
/* To be called at the end of the run: waits for commands, for a limited time, and logs their
 * results. */
void vamp_action_services_finish(struct vamp_action_services *services);
/* Frees the services, without waiting for commands if vamp_action_services_finish was not called.
 * All actions must be closed. */
void vamp_action_services_done(struct vamp_action_services *services);
