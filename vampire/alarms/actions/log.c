/* SPDX-License-Identifier: BSD-3-Clause */
/* The action "log": one line for each change, where vampire writes its other messages. */
#include <stdint.h>

#include "vampire/alarms/action.h"

static const struct vamp_opt no_options[] = {{.key = NULL}};

/* The object of the action is the context itself: there is nothing else to know. */
static int log_open(const void *options, const struct vamp_alarm_action_context *context,
                    void **ret_self, struct vamp_err *err)
{
    (void)options;
    (void)err;
    *ret_self = (void *)(uintptr_t)context;
    return 0;
}

static void log_change(void *self, const struct vamp_alarm_change *change)
{
    const struct vamp_alarm_action_context *context = self;
    char line[VAMP_ALARM_LINE_BYTES];
    vamp_alarm_change_text(change, line);
    context->say(context->say_context, line);
}

static void log_close(void *self)
{
    (void)self;
}

const struct vamp_alarm_action_ops vamp_alarm_action_log = {
    .name = "log",
    .summary = "a line on standard error, silenced or not",
    .options = no_options,
    .open = log_open,
    .change = log_change,
    .when_silenced = true,
    .when_replayed = true,
    .close = log_close,
};
