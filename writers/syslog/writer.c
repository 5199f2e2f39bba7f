/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The syslog format. Opening the output opens no connection, so that a run can start without a
 * running log daemon. Messages are datagrams to a local socket. syslog(3) is not used: it does not
 * report failures, so that losses could not be counted; it blocks while the daemon's queue is full;
 * and it supports only one socket.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "writers/format/attempts.h"
#include "writers/syslog/messages.h"

#define PROGRAM "vampire"
/* How long to wait for capacity in the daemon's queue. */
#define PATIENCE_MS 500
#define HOST_BYTES 256 /* RFC 5424: at most 255 characters; and the NUL */
#define OPTION(member) offsetof(struct syslog_options, member)
#define OF_ALARMS(member) OPTION(alarms.member)

enum syslog_format {
    SYSLOG_LOCAL,   /* the format of syslog(3) */
    SYSLOG_RFC5424, /* RFC 5424, for a socket whose daemon parses it */
    SYSLOG_JOURNAL, /* fields for systemd-journald */
};

struct syslog_options {
    char *socket;      /* NULL: the default of the format */
    unsigned format;   /* enum syslog_format */
    unsigned facility; /* index into facilities */
    struct vamp_sent_alarms alarms;
};

static const char *const format_words[] = {
    [SYSLOG_LOCAL] = "local",
    [SYSLOG_RFC5424] = "rfc5424",
    [SYSLOG_JOURNAL] = "journal",
    NULL,
};
static const char *const facility_words[] = {"user",   "daemon", "local0", "local1",
                                             "local2", "local3", "local4", "local5",
                                             "local6", "local7", NULL};

static const unsigned facilities[] = {LOG_USER,   LOG_DAEMON, LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2,
                                      LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7};

static const struct vamp_opt syslog_options_table[] = {
    {"format", VAMP_OPT_ENUM, OPTION(format), "local", .choices = format_words,
     .help = "what the reader of the socket expects: \"local\", as from syslog(3); \"rfc5424\", "
             "which rsyslog reads from a socket with UseSpecialParser=\"off\"; \"journal\", fields "
             "for systemd-journald"},
    {"socket", VAMP_OPT_STRING, OPTION(socket), NULL,
     .max = sizeof((struct sockaddr_un *)0)->sun_path - 1,
     .help = "path of the socket; unset: /dev/log, or that of systemd-journald with the format "
             "\"journal\""},
    {"facility", VAMP_OPT_ENUM, OPTION(facility), "user", .choices = facility_words,
     .help = "the facility of all messages; their severity is that of an alarm, else \"warning\" "
             "for an anomaly and \"info\" for values"},
    VAMP_SENT_ALARMS_OPTIONS(OF_ALARMS),
    {.key = NULL},
};

/* Few labels, so that the values of a bucket fit into one message. */
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
    const struct vamp_schema *schema;
    const char *path;
    int fd; /* -1: not connected */
    struct vamp_text datagram;
    struct syslog_messages messages; /* messages of the bucket being sent */
    unsigned sent;                   /* number of messages sent */
    bool pending;                    /* some messages have not been sent yet */
};

/* Returns the socket address according to the options. */
static const char *path_of(const struct syslog_options *options)
{
    static const char *const defaults[] = {[SYSLOG_LOCAL] = "/dev/log",
                                           [SYSLOG_RFC5424] = "/dev/log",
                                           [SYSLOG_JOURNAL] = "/run/systemd/journal/socket"};
    return vamp_text_or(options->socket, defaults[options->format]);
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
    self->schema = target->schema;
    self->path = path_of(self->options);
    self->fd = -1;
    *ret_self = self;
    return 0;
}

/* ---- datagrams, in the format that the daemon expects */

/* Writes the prefix that syslog(3) writes, in local time: "<14>Nov 22 13:04:05 vampire[123]: ". */
static void add_local(struct vamp_text *text, const struct vamp_run *run, unsigned priority)
{
    char prefix[SYSLOG_PREFIX_BYTES], when[32];
    const time_t now = time(NULL);
    struct tm parts = {0};
    (void)localtime_r(&now, &parts);
    (void)strftime(when, sizeof when, "%b %e %T", &parts); /* no locale is set */
    (void)snprintf(prefix, sizeof prefix, "<%u>%s " PROGRAM "[%" PRIu64 "]: ", priority, when,
                   run->pid);
    vamp_text_word(text, prefix);
}

/* Writes the host name, reduced to the characters allowed in the header; "-" if there is none. */
static void header_host(const char *host, char text[static HOST_BYTES])
{
    size_t used = 0;
    for (; host[used] != '\0' && used + 1 < HOST_BYTES; used++) {
        text[used] = host[used];
        if (host[used] <= ' ' || host[used] > '~') {
            text[used] = '_';
        }
    }
    if (used == 0) {
        text[used++] = '-';
    }
    text[used] = '\0';
}

static void add_rfc5424(struct vamp_text *text, const struct vamp_run *run, unsigned priority,
                        const char *type)
{
    char host[HOST_BYTES], prefix[SYSLOG_PREFIX_BYTES], when[VAMP_TIME_TEXT_BYTES];
    vamp_time_text(vamp_clock_utc_ns(&vamp_clock_system), when);
    header_host(run->host, host);
    (void)snprintf(prefix, sizeof prefix, "<%u>1 %.26sZ %s " PROGRAM " %" PRIu64 " %s - ", priority,
                   when, host, run->pid, type);
    vamp_text_word(text, prefix);
}

/* Writes a field in the binary form, in which a value may contain any bytes: name, newline, length
 * (little endian), value, newline. */
static void add_field(struct vamp_text *text, const char *name, const char *value, size_t bytes)
{
    char length[8];
    for (unsigned i = 0; i < sizeof length; i++) {
        length[i] = (char)(unsigned char)((uint64_t)bytes >> 8 * i);
    }
    vamp_text_word(text, name);
    vamp_text_word(text, "\n");
    vamp_text_add(text, length, sizeof length);
    vamp_text_add(text, value, bytes);
    vamp_text_word(text, "\n");
}

static void add_word_field(struct vamp_text *text, const char *name, const char *value)
{
    add_field(text, name, value, strnlen(value, VAMP_RUN_TEXT_BYTES));
}

/* Writes the fields that precede the message. */
static void add_journal(struct vamp_text *text, const struct vamp_run *run, unsigned priority,
                        const char *type)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%u", priority & LOG_PRIMASK);
    add_word_field(text, "PRIORITY", number);
    (void)snprintf(number, sizeof number, "%u", priority >> 3);
    add_word_field(text, "SYSLOG_FACILITY", number);
    add_word_field(text, "SYSLOG_IDENTIFIER", PROGRAM);
    add_word_field(text, "VAMPIRE_TYPE", type);
    add_word_field(text, "VAMPIRE_WORKFLOW", run->workflow);
    add_word_field(text, "VAMPIRE_RUN", run->id);
    add_word_field(text, "VAMPIRE_USER", run->user);
    add_word_field(text, "VAMPIRE_BATCH_JOB", run->batch_job);
}

/* Replaces `text` by the datagram of a message. */
static void make_datagram(struct vamp_text *text, const struct syslog_options *options,
                          const struct vamp_run *run, const struct syslog_messages *messages,
                          const struct syslog_message *message)
{
    const unsigned priority = facilities[options->facility] | message->severity;
    const char *object = messages->text.bytes + message->begin;
    text->used = 0;
    text->failed = false;
    switch ((enum syslog_format)options->format) {
    case SYSLOG_LOCAL:
        add_local(text, run, priority);
        break;
    case SYSLOG_RFC5424:
        add_rfc5424(text, run, priority, message->type);
        break;
    case SYSLOG_JOURNAL:
        add_journal(text, run, priority, message->type);
        add_field(text, "MESSAGE", object, message->bytes);
        return;
    }
    if (!message->is_line) {
        vamp_text_word(text, "@cee: ");
    }
    vamp_text_add(text, object, message->bytes);
}

/* ---- the socket */

static void disconnect(struct syslog *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
}

/* Sets the error for a failure to send (a positive errno): -EAGAIN. May disconnect. */
static int fail(struct syslog *self, int code, struct vamp_err *err)
{
    const char *why = NULL;
    switch (code) {
    case EPROTOTYPE:
        why = "it does not accept datagrams";
        break;
    case EAGAIN:
        why = "nothing reads there";
        break;
    default:
        why = strerror(code);
        break;
    }
    if (code != EAGAIN) {
        disconnect(self);
    }
    return vamp_err_set(err, -EAGAIN, "send to %s: %s; " VAMP_BUCKETS_WAIT, self->path, why);
}

static int connect_now(struct syslog *self, struct vamp_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self->path);
    self->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 || connect(self->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        return fail(self, errno, err);
    }
    return 0;
}

/* Sends one message; connects first if needed. Results as for `write_bucket` (writer.h). */
static int send_message(struct syslog *self, const struct syslog_message *message,
                        struct vamp_err *err)
{
    const struct vamp_text *datagram = &self->datagram;
    make_datagram(&self->datagram, self->options, self->run, &self->messages, message);
    if (datagram->failed) {
        return vamp_err_set(err, -EAGAIN, "no memory for a message");
    }
    if (self->fd < 0) {
        const int code = connect_now(self, err);
        if (code != 0) {
            return code;
        }
    }
    ssize_t sent = send(self->fd, datagram->bytes, datagram->used, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) {
        struct pollfd room = {.fd = self->fd, .events = POLLOUT};
        (void)poll(&room, 1, PATIENCE_MS);
        sent = send(self->fd, datagram->bytes, datagram->used, MSG_NOSIGNAL);
    }
    if (sent < 0) {
        return fail(self, errno, err);
    }
    return 0;
}

/* Builds the messages of the bucket, unless an earlier call did, and sends them. */
static int write_bucket(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct syslog *self = context;
    struct syslog_messages *messages = &self->messages;
    if (!self->pending) {
        const uint64_t left_out = messages->left_out;
        syslog_messages_clear(messages);
        if (self->options->alarms.send == VAMP_SEND_ALARMS) {
            syslog_messages_alarms(messages, self->run, delivery->bucket, &self->options->alarms);
        } else {
            syslog_messages_bucket(messages, self->run, delivery);
        }
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
    *ret_what = "values longer than a message";
    return ((const struct syslog *)self)->messages.left_out;
}

static const char *target_path(const void *self)
{
    return ((const struct syslog *)self)->path;
}

/* Sends the message about the end of the run, unless only alarms are sent, and frees everything. */
static int close_target(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct syslog *self = context;
    int code = 0;
    if (ending != NULL && self->options->alarms.send == VAMP_SEND_BUCKETS) {
        struct syslog_messages *messages = &self->messages;
        syslog_messages_clear(messages);
        syslog_messages_end(messages, self->run, self->schema->coverage, ending);
        if (!messages->failed && messages->count > 0) {
            code = send_message(self, &messages->items[0], err);
        }
    }
    disconnect(self);
    vamp_text_done(&self->datagram);
    syslog_messages_done(&self->messages);
    free(self);
    return code;
}

const struct vamp_writer_ops vamp_writer_syslog = {
    .name = "syslog",
    .summary = "messages for the system's log: alarms, anomalies, values of a bucket as JSON",
    .options = syslog_options_table,
    .options_bytes = sizeof(struct syslog_options),
    .by_unset = by_unset,
    .budget_unset = 15000,
    .alarms_at = OPTION(alarms),
    .open = open_target,
    .element = VAMP_ELEMENT_BUCKET,
    .write_bucket = write_bucket,
    .left_out = left_out,
    .path = target_path,
    .close = close_target,
};
