/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Services shared by the actions of all rules: the thread that runs commands, and the firing
 * alarms for which CDOs have records. They last as long as the run, over reloads: a submitted
 * command is completed after its action has been closed. Worker thread; only
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
    /* One line of the log, without a newline. */
    void (*say)(void *context, bool error, const char *line);
    void *say_context;
    const struct vamp_run *run; /* only its identity is constant */
    const struct vamp_components *components;

    struct vamp_commands *commands; /* NULL: no action needs them yet */
    unsigned lanes;                 /* assigned to actions of type command */
    struct vamp_level_gate *gates;
};

/* Reports messages of commands; to be called periodically. */
void vamp_action_services_report(struct vamp_action_services *services);
/* Whether a firing alarm with action `level` concerns the event, whose CDO then has a record. */
bool vamp_action_services_select(const struct vamp_action_services *services,
                                 const struct vamp_event *event);
/* The run is over: waits for commands, for a limited time, and reports their results. */
void vamp_action_services_finish(struct vamp_action_services *services);
/* Finishes without waiting if that was not done. All actions must be closed. */
void vamp_action_services_done(struct vamp_action_services *services);
