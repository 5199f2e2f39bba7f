/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the actions of all rules share: the thread that runs commands, and the alarms that fire
 * while CDOs have records. It lives as long as the run, over reloads: a command that an action
 * submitted is completed after the action is gone. Worker thread; nothing blocks but `finish`.
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
    const struct vamp_run *run; /* its identity; the rest may change */
    const struct vamp_components *components;

    struct vamp_commands *commands; /* NULL: no action has asked for them */
    unsigned lanes;                 /* given to actions of type command */
    struct vamp_level_gate *gates;
};

/* Says what commands have to say; at intervals. */
void vamp_action_services_report(struct vamp_action_services *services);
/* Whether an alarm that fires asks for a record of the event's CDO (action `level`). */
bool vamp_action_services_select(const struct vamp_action_services *services,
                                 const struct vamp_event *event);
/* The run is over, and no action will be asked for anything: waits for commands, for a bounded
 * time, and says what came of them. */
void vamp_action_services_finish(struct vamp_action_services *services);
/* Finishes without waiting if that was not done. All actions are closed. */
void vamp_action_services_done(struct vamp_action_services *services);
