/* SPDX-License-Identifier: BSD-3-Clause */
/* The syslog format: no target is opened, so that a run can begin while nothing reads the log. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <syslog.h>

#include "writers/syslog/internal.h"

#define OPTION(member) offsetof(struct syslog_options, member)

static const char *const format_words[] = {
    [SYSLOG_LOCAL] = "local",
    [SYSLOG_RFC5424] = "rfc5424",
    [SYSLOG_JOURNAL] = "journal",
    NULL,
};
static const char *const facility_words[] = {"user",   "daemon", "local0", "local1",
                                             "local2", "local3", "local4", "local5",
                                             "local6", "local7", NULL};
const uint8_t syslog_facilities[] = {
    LOG_USER >> 3,   LOG_DAEMON >> 3, LOG_LOCAL0 >> 3, LOG_LOCAL1 >> 3, LOG_LOCAL2 >> 3,
    LOG_LOCAL3 >> 3, LOG_LOCAL4 >> 3, LOG_LOCAL5 >> 3, LOG_LOCAL6 >> 3, LOG_LOCAL7 >> 3,
};

static const struct vamp_opt syslog_options_table[] = {
    {.key = "format",
     .type = VAMP_OPT_ENUM,
     .preset = "local",
     .choices = format_words,
     .offset = OPTION(format),
     .help = "what the reader of the socket expects: \"local\", as from syslog(3); \"rfc5424\", "
             "which rsyslog reads from a socket with UseSpecialParser=\"off\"; \"journal\", fields "
             "for systemd-journald"},
    {.key = "socket",
     .type = VAMP_OPT_STRING,
     .max = sizeof((struct sockaddr_un *)0)->sun_path - 1,
     .offset = OPTION(socket),
     .help = "path of the socket; unset: /dev/log, or that of systemd-journald with the format "
             "\"journal\""},
    {.key = "facility",
     .type = VAMP_OPT_ENUM,
     .preset = "user",
     .choices = facility_words,
     .offset = OPTION(facility),
     .help = "the facility of all messages; their severity is that of an alarm, else \"warning\" "
             "for an alert and \"info\" for values"},
    {.key = NULL},
};

/* So few that the values of a bucket fit into one message. */
static const struct vamp_kept_labels by_unset[] = {
    {"pool_operations", UINT32_C(1) << VAMP_LABEL_OPERATION},
    {"anomalies", UINT32_C(1) << VAMP_LABEL_ANOMALY},
    {"vampire_lost", UINT32_C(1) << VAMP_LABEL_REASON},
    {"*", 0},
    {NULL, 0},
};

struct syslog {
    struct syslog_socket socket;
    struct syslog_messages messages; /* of the bucket that is being sent */
    unsigned sent;                   /* of these messages */
    bool pending;                    /* there are messages that were not sent */
};

static int open_target(const void *options, const struct vamp_writer_target *target,
                       void **ret_self, struct vamp_err *err)
{
    struct syslog *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare messages");
    }
    self->socket = (struct syslog_socket){.options = options, .run = target->run, .fd = -1};
    *ret_self = self;
    return 0;
}

static int write_bucket(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct syslog *self = context;
    struct syslog_messages *messages = &self->messages;
    if (!self->pending) {
        const uint64_t left_out = messages->left_out;
        syslog_messages_clear(messages);
        syslog_messages_bucket(messages, self->socket.run, delivery);
        if (messages->failed) {
            messages->left_out = left_out;
            return vamp_err_set(err, -EAGAIN, "no memory for the messages of a bucket");
        }
        self->sent = 0;
        self->pending = true;
    }
    for (; self->sent < messages->count; self->sent++) {
        const int code =
            syslog_socket_send(&self->socket, messages, &messages->items[self->sent], err);
        if (code != 0) {
            return code;
        }
    }
    self->pending = false;
    return 0;
}

static uint64_t left_out(void *self, const char **ret_what)
{
    *ret_what = "values and alarms longer than a message";
    return ((const struct syslog *)self)->messages.left_out;
}

static const char *target_path(const void *self)
{
    return syslog_socket_path(((const struct syslog *)self)->socket.options);
}

static int close_target(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct syslog *self = context;
    int code = 0;
    if (self == NULL) {
        return 0;
    }
    if (ending != NULL) {
        struct syslog_messages *messages = &self->messages;
        syslog_messages_clear(messages);
        syslog_messages_end(messages, self->socket.run, ending);
        if (!messages->failed && messages->count > 0) {
            code = syslog_socket_send(&self->socket, messages, &messages->items[0], err);
        }
    }
    syslog_socket_done(&self->socket);
    syslog_messages_done(&self->messages);
    free(self);
    return code;
}

const struct vamp_writer_ops vamp_writer_syslog = {
    .name = "syslog",
    .summary = "messages for the system's log: alarms, alerts, and the values of a bucket as JSON",
    .options = syslog_options_table,
    .options_bytes = sizeof(struct syslog_options),
    .by_unset = by_unset,
    .open = open_target,
    .element = VAMP_ELEMENT_BUCKET,
    .write_bucket = write_bucket,
    .left_out = left_out,
    .path = target_path,
    .close = close_target,
};
