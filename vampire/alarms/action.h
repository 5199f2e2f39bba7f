/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of an action: what an alarm does when it changes its state. A kind of action is a
 * file in vampire/alarms/actions/ and its line in actions.c. In the configuration an action is its
 * kind's name, or an object of `type` and the options of the kind's table.
 *
 * Threads. All functions are called by the worker thread, which counts the events: none may block.
 * An action that takes time has a thread of its own and a bounded queue; what does not fit is
 * counted and said.
 */
#pragma once

#include "vampire/alarms/change.h"
#include "vampire/core/err.h"
#include "vampire/core/options/options.h"

struct vamp_action_services; /* vampire/alarms/actions/services.h */

struct vamp_alarm_action_ops {
    const char *name;               /* "log" */
    const char *summary;            /* one line for help */
    const struct vamp_opt *options; /* fills a struct of options_bytes; ended by a NULL key */
    size_t options_bytes;           /* may be 0 */
    /* NULL, or: whether the options fit each other. 0, or -EINVAL with what is wrong and what is
     * allowed. */
    int (*check)(const void *options, struct vamp_err *err);
    /* Prepares the action of one rule; keeps pointers to `options` and `services`, which outlive
     * it. 0 or -errno. */
    int (*open)(const void *options, struct vamp_action_services *services, void **ret_self,
                struct vamp_err *err);
    /* The rule's alarm entered a state. Not called for a silenced alarm unless `when_silenced`,
     * nor in a replay unless `when_replayed`. */
    void (*change)(void *self, const struct vamp_alarm_change *change);
    bool when_silenced;
    bool when_replayed; /* it does nothing outside of this run, so that a rule can be tried */
    bool selects_cdos;  /* CDOs have records because of it: needs level component */
    /* Ends what still runs within a second. */
    void (*close)(void *self);
};

/* Every kind of action, ended by NULL: the only list of them. */
extern const struct vamp_alarm_action_ops *const vamp_alarm_actions[];
