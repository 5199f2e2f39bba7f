/* SPDX-License-Identifier: BSD-3-Clause */
/* The action "syslog": a message to the system's log for each change, with the change as JSON after
 * "@cee:", as programs that read logs expect it. */
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services_internal.h"

/* The longest message that every logger is sure to take whole (RFC 5424, 6.1, has 2 KiB at least;
 * rsyslog and journald take 8 KiB). */
#define MESSAGE_BYTES 8192

struct syslog_options {
    unsigned facility; /* an index into facility_words */
    uint64_t states;   /* bits of enum vamp_alarm_state */
};

static const char *const facility_words[] = {"user",   "daemon", "local0", "local1",
                                             "local2", "local3", "local4", "local5",
                                             "local6", "local7", NULL};
static const int facilities[] = {LOG_USER,   LOG_DAEMON, LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2,
                                 LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7};

static const struct vamp_opt syslog_options[] = {
    {.key = "facility",
     .type = VAMP_OPT_ENUM,
     .preset = "daemon",
     .choices = facility_words,
     .offset = offsetof(struct syslog_options, facility),
     .help = "The facility of the messages; their severity is crit, warning or info, as the "
             "rule's, and notice once the alarm has ended"},
    {.key = "states",
     .type = VAMP_OPT_SET,
     .preset = "firing resolved",
     .choices = services_state_words,
     .offset = offsetof(struct syslog_options, states),
     .help = "The states that send a message when an alarm enters them"},
    {.key = NULL},
};

struct syslog_action {
    const struct syslog_options *options;
    struct vamp_action_services *services;
    struct vamp_json json;
};

static int syslog_open(const void *options, const struct vamp_alarm_action_context *context,
                       void **ret_self, struct vamp_err *err)
{
    const int code = services_syslog(context->services, err);
    if (code != 0) {
        return code;
    }
    struct syslog_action *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare an action of type syslog");
    }
    self->options = options;
    self->services = context->services;
    *ret_self = self;
    return 0;
}

static int severity_of(const struct vamp_alarm_change *change)
{
    if (change->state == VAMP_ALARM_RESOLVED || change->state == VAMP_ALARM_CLEARED) {
        return LOG_NOTICE;
    }
    switch ((enum vamp_alarm_severity)change->severity) {
    case VAMP_ALARM_CRITICAL:
        return LOG_CRIT;
    case VAMP_ALARM_WARNING:
        return LOG_WARNING;
    case VAMP_ALARM_INFO:
        break;
    }
    return LOG_INFO;
}

static void syslog_change(void *context, const struct vamp_alarm_change *change)
{
    struct syslog_action *self = context;
    if ((self->options->states & UINT64_C(1) << change->state) == 0) {
        return;
    }
    char text[MESSAGE_BYTES];
    const bool complete = services_change_line(self->services, change, &self->json) &&
                          self->json.used < sizeof text - sizeof "@cee:";
    if (complete) { /* without the newline */
        (void)snprintf(text, sizeof text, "@cee:%.*s", (int)self->json.used - 1, self->json.bytes);
    } else {
        vamp_alarm_change_text(change, text);
    }
    (void)vamp_syslog_queue_submit(self->services->syslog,
                                   facilities[self->options->facility] | severity_of(change), text);
}

static void syslog_close(void *context)
{
    struct syslog_action *self = context;
    if (self != NULL) {
        vamp_json_done(&self->json);
        free(self);
    }
}

const struct vamp_alarm_action_ops vamp_alarm_action_syslog = {
    .name = "syslog",
    .summary = "a message to the system's log, with the change as JSON",
    .options = syslog_options,
    .options_bytes = sizeof(struct syslog_options),
    .open = syslog_open,
    .change = syslog_change,
    .close = syslog_close,
};
