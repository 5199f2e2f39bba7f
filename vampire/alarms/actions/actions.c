/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The list of kinds of actions, the kinds `log` and `level`, and shared services. The kind
 * `command` is in command.c.
 */
#include <assert.h>
#include <stdlib.h>

#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services.h"

/* Maximum time to wait for running commands at the end of a run. */
#define COMMANDS_NS (10 * VAMP_NS_PER_SECOND)

/* ---- log: one line for each change, among vampire's other messages */

static const struct vamp_opt no_options[] = {{.key = NULL}};

/* The action has no state of its own: `*ret_self` is `services`. */
static int log_open(const void *options, struct vamp_action_services *services, void **ret_self,
                    struct vamp_err *err)
{
    (void)options;
    (void)err;
    *ret_self = services;
    return 0;
}

static void log_change(void *self, const struct vamp_alarm_change *change)
{
    const struct vamp_action_services *services = self;
    char line[VAMP_ALARM_LINE_BYTES];
    vamp_alarm_change_text(change, line);
    services->say(services->say_context, false, line);
}

static void log_close(void *self)
{
    (void)self;
}

static const struct vamp_alarm_action_ops action_log = {
    .name = "log",
    .summary = "a line on standard error, silenced or not",
    .options = no_options,
    .open = log_open,
    .change = log_change,
    .when_silenced = true,
    .when_replayed = true,
    .close = log_close,
};

/* ---- level: while an alarm is firing, the CDOs concerned are recorded as at level `cdo`. Output
 * files have the table of CDOs from the start. */

static const char *const level_words[] = {"cdo", NULL};

struct level_options {
    unsigned to;
};

static const struct vamp_opt level_options[] = {
    {"to", VAMP_OPT_ENUM, offsetof(struct level_options, to), "cdo", .choices = level_words,
     .help = "What is kept while an alarm of the rule fires: a record of each CDO with an event of "
             "the alarm's components, and of the CDO it names"},
    {.key = NULL},
};

static int level_open(const void *options, struct vamp_action_services *services, void **ret_self,
                      struct vamp_err *err)
{
    (void)options;
    struct vamp_level_gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare an action of type level");
    }
    gate->services = services;
    gate->next = gate->services->gates;
    gate->services->gates = gate;
    *ret_self = gate;
    return 0;
}

static void level_change(void *self, const struct vamp_alarm_change *change)
{
    vamp_firing_note(&((struct vamp_level_gate *)self)->firing, change);
}

static void level_close(void *self)
{
    struct vamp_level_gate *gate = self;
    struct vamp_level_gate **at = &gate->services->gates;
    while (*at != gate) {
        at = &(*at)->next;
    }
    *at = gate->next;
    free(gate);
}

static const struct vamp_alarm_action_ops action_level = {
    .name = "level",
    .summary = "records of the CDOs concerned, while an alarm fires",
    .options = level_options,
    .options_bytes = sizeof(struct level_options),
    .open = level_open,
    .change = level_change,
    .when_silenced = true,
    .when_replayed = true,
    .selects_cdos = true,
    .close = level_close,
};

/* ---- the list */

extern const struct vamp_alarm_action_ops vamp_alarm_action_command;

const struct vamp_alarm_action_ops *const vamp_alarm_actions[] = {
    &action_log, &vamp_alarm_action_command, &action_level, NULL};

/* ---- services */

bool vamp_action_services_select(const struct vamp_action_services *services,
                                 const struct vamp_event *event)
{
    const struct vamp_level_gate *gate = services->gates;
    while (gate != NULL && !vamp_firing_concerns(&gate->firing, services->components, event)) {
        gate = gate->next;
    }
    return gate != NULL;
}

void vamp_action_services_report(struct vamp_action_services *services)
{
    char text[VAMP_ERR_TEXT_BYTES];
    while (services->commands != NULL && vamp_commands_message(services->commands, text)) {
        services->say(services->say_context, true, text);
    }
}

void vamp_action_services_finish(struct vamp_action_services *services)
{
    if (services->commands != NULL) {
        vamp_commands_finish(services->commands, COMMANDS_NS);
    }
    vamp_action_services_report(services);
}

void vamp_action_services_done(struct vamp_action_services *services)
{
    assert(services->gates == NULL);
    vamp_commands_free(services->commands);
    services->commands = NULL;
}
