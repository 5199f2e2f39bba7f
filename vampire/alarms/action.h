/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of actions, which run when an alarm changes its state. Each kind of action is a file in
 * vampire/alarms/actions/ and an entry in actions.c. In the configuration an action is the name of
 * its kind, or an object with `type` and the options in the kind's table.
 *
 * Threads: all functions are called by the worker thread, which also counts the events, and must
 * not block. An action that takes time has its own thread and a queue of limited length; dropped
 * entries are counted and reported.
 */
#pragma once

#include "vampire/alarms/change.h"
#include "vampire/core/err.h"
#include "vampire/core/options/options.h"

struct vamp_action_services; /* declared in vampire/alarms/actions/services.h */

struct vamp_alarm_action_ops {
    const char *name;    /* "log" */
    const char *summary; /* one line for the help text */
    /* Table for a struct of options_bytes; terminated by a NULL key. */
    const struct vamp_opt *options;
    size_t options_bytes; /* may be 0 */
    /* Checks combinations of options; may be NULL. Returns 0 or -EINVAL. */
    int (*check)(const void *options, struct vamp_err *err);
    /* Prepares the action of one rule. Keeps pointers to `options` and `services`, which must
     * outlive the action. Returns 0 or -errno. */
    int (*open)(const void *options, struct vamp_action_services *services, void **ret_self,
                struct vamp_err *err);
    /* An alarm of the rule entered a state. Not called for a silenced alarm unless `when_silenced`,
     * nor in a replay unless `when_replayed`. */
    void (*change)(void *self, const struct vamp_alarm_change *change);
    bool when_silenced;
    /* The action has no effect outside of this run, so that rules can be tested. */
    bool when_replayed;
    bool selects_cdos; /* the action adds records of CDOs, which requires level component */
    /* Ends the action; work in progress ends within a second. */
    void (*close)(void *self);
};

/* All kinds of actions, terminated by NULL. */
extern const struct vamp_alarm_action_ops *const vamp_alarm_actions[];
