/* SPDX-License-Identifier: BSD-3-Clause */
/* The action "syslog": a message to the system's log for each change, with the change as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services_internal.h"
#include "writers/format/system_log.h"

/* What readers of logs expect before an object. */
#define OBJECT "@cee: "

struct syslog_options {
    unsigned facility; /* an index into vamp_log_facility_words */
    uint64_t states;   /* bits of enum vamp_alarm_state */
};

static const struct vamp_opt syslog_options[] = {
    {.key = "facility",
     .type = VAMP_OPT_ENUM,
     .preset = "daemon",
     .choices = vamp_log_facility_words,
     .offset = offsetof(struct syslog_options, facility),
     .help = "The facility of the messages; their severity is crit, warning or info, as the "
             "rule's, while the alarm fires, and notice once it has ended"},
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

static void syslog_change(void *context, const struct vamp_alarm_change *change)
{
    struct syslog_action *self = context;
    if ((self->options->states & UINT64_C(1) << change->state) == 0) {
        return;
    }
    char header[VAMP_LOG_HEADER_BYTES], line[VAMP_ALARM_LINE_BYTES];
    char message[VAMP_LOG_MESSAGE_BYTES + 1];
    vamp_log_header(
        header, vamp_log_priority(self->options->facility, vamp_alarm_change_log_severity(change)),
        self->services->options.run->pid);
    const bool complete = services_change_line(self->services, change, &self->json) &&
                          strlen(header) + strlen(OBJECT) + self->json.used < sizeof message;
    if (complete) { /* without the newline */
        (void)snprintf(message, sizeof message, "%s" OBJECT "%.*s", header,
                       (int)self->json.used - 1, self->json.bytes);
    } else {
        vamp_alarm_change_text(change, line);
        (void)snprintf(message, sizeof message, "%s%s", header, line);
    }
    (void)vamp_syslog_queue_submit(self->services->syslog, message);
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
