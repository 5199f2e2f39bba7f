/* SPDX-License-Identifier: BSD-3-Clause */
/* The syslog format: no target is opened, so that a run can begin while nothing reads the log. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "writers/format/attempts.h"
#include "writers/syslog/internal.h"

#define PATIENCE_MS 500
#define OPTION(member) offsetof(struct syslog_options, member)

static const char *const format_words[] = {
    [SYSLOG_LOCAL] = "local",
    [SYSLOG_RFC5424] = "rfc5424",
    [SYSLOG_JOURNAL] = "journal",
    NULL,
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
     .choices = vamp_log_facility_words,
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
    const struct syslog_options *options;
    const struct vamp_run *run;
    struct vamp_log_socket socket;
    struct vamp_text datagram;
    struct syslog_messages messages; /* of the bucket that is being sent */
    unsigned sent;                   /* of these messages */
    bool pending;                    /* there are messages that were not sent */
};

/* The address that the options mean. */
static const char *path_of(const struct syslog_options *options)
{
    static const char *const usual[] = {[SYSLOG_LOCAL] = VAMP_LOG_PATH,
                                        [SYSLOG_RFC5424] = VAMP_LOG_PATH,
                                        [SYSLOG_JOURNAL] = "/run/systemd/journal/socket"};
    return options->socket != NULL ? options->socket : usual[options->format];
}

static int open_target(const void *options, const struct vamp_writer_target *target,
                       void **ret_self, struct vamp_err *err)
{
    struct syslog *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare messages");
    }
    self->options = options;
    self->run = target->run;
    self->socket = (struct vamp_log_socket){.path = path_of(self->options), .fd = -1};
    *ret_self = self;
    return 0;
}

/* As write_bucket. */
static int send_message(struct syslog *self, const struct syslog_message *message,
                        struct vamp_err *err)
{
    struct vamp_err why = VAMP_ERR_NONE;
    syslog_datagram(&self->datagram, self->options, self->run, &self->messages, message);
    if (self->datagram.failed) {
        return vamp_err_set(err, -EAGAIN, "no memory for a message");
    }
    return vamp_log_send(&self->socket, self->datagram.bytes, self->datagram.used, PATIENCE_MS,
                         &why) == 0
               ? 0
               : vamp_err_set(err, -EAGAIN, "%s; " VAMP_BUCKETS_WAIT, why.text);
}

static int write_bucket(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct syslog *self = context;
    struct syslog_messages *messages = &self->messages;
    if (!self->pending) {
        const uint64_t left_out = messages->left_out;
        syslog_messages_clear(messages);
        syslog_messages_bucket(messages, self->run, delivery);
        if (messages->failed) {
            messages->left_out = left_out;
            return vamp_err_set(err, -EAGAIN, "no memory for the messages of a bucket");
        }
        self->sent = 0;
        self->pending = true;
    }
    for (; self->sent < messages->count; self->sent++) {
        const int code = send_message(self, &messages->items[self->sent], err);
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
    return ((const struct syslog *)self)->socket.path;
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
        syslog_messages_end(messages, self->run, ending);
        if (!messages->failed && messages->count > 0) {
            code = send_message(self, &messages->items[0], err);
        }
    }
    vamp_log_close(&self->socket);
    vamp_text_done(&self->datagram);
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
