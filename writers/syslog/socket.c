/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams to a socket of this machine. Not by syslog(3): that reports no failure, so that nothing
 * could be counted, waits while the reader's queue is full, and knows one socket only;
 * sd_journal_send(3) waits, too. */
#include "writers/syslog/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "writers/format/attempts.h"

#define PATIENCE_MS 500
#define PROGRAM "vampire"
#define HOST_BYTES 256 /* what RFC 5424 allows */

const char *syslog_socket_path(const struct syslog_options *options)
{
    static const char *const usual[] = {[SYSLOG_LOCAL] = "/dev/log",
                                        [SYSLOG_RFC5424] = "/dev/log",
                                        [SYSLOG_JOURNAL] = "/run/systemd/journal/socket"};
    return options->socket != NULL ? options->socket : usual[options->format];
}

/* ---- datagrams */

/* As syslog(3): "<14>Nov 22 13:04:05 vampire[123]: ", by the clock and time zone of the machine. */
static void add_local(struct vamp_text *text, const struct vamp_run *run, unsigned priority)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = time(NULL);
    struct tm parts = {0};
    char prefix[SYSLOG_PREFIX_BYTES];
    (void)localtime_r(&now, &parts);
    (void)snprintf(
        prefix, sizeof prefix, "<%u>%s %2d %02d:%02d:%02d " PROGRAM "[%" PRIu64 "]: ", priority,
        months[parts.tm_mon], parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, run->pid);
    vamp_text_word(text, prefix);
}

/* The host's name with the characters that the header allows; "-" without one. */
static void header_host(const char *host, char text[static HOST_BYTES])
{
    size_t used = 0;
    for (; host[used] != '\0' && used + 1 < HOST_BYTES; used++) {
        text[used] = (char)(host[used] > ' ' && host[used] <= '~' ? host[used] : '_');
    }
    if (used == 0) {
        text[used++] = '-';
    }
    text[used] = '\0';
}

static void add_rfc5424(struct vamp_text *text, const struct vamp_run *run, unsigned priority,
                        const char *type)
{
    char host[HOST_BYTES], prefix[SYSLOG_PREFIX_BYTES];
    struct timespec now = {0};
    struct tm parts = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    header_host(run->host, host);
    (void)snprintf(prefix, sizeof prefix,
                   "<%u>1 %04d-%02d-%02dT%02d:%02d:%02d.%06ldZ %s " PROGRAM " %" PRIu64 " %s - ",
                   priority, parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, now.tv_nsec / 1000, host, run->pid, type);
    vamp_text_word(text, prefix);
}

/* The form in which a value may contain anything: name, newline, length with its lowest byte first,
 * value, newline. */
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
    add_field(text, name, value, strnlen(value, SYSLOG_LABEL_BYTES));
}

/* The fields that precede the message. */
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

static void make_datagram(struct syslog_socket *self, const struct syslog_messages *messages,
                          const struct syslog_message *message)
{
    struct vamp_text *text = &self->datagram;
    const unsigned priority =
        (unsigned)syslog_facilities[self->options->facility] << 3 | message->severity;
    const char *object = messages->text.bytes + message->begin;
    text->used = 0;
    text->failed = false;
    switch ((enum syslog_format)self->options->format) {
    case SYSLOG_LOCAL:
        add_local(text, self->run, priority);
        break;
    case SYSLOG_RFC5424:
        add_rfc5424(text, self->run, priority, message->type);
        break;
    case SYSLOG_JOURNAL:
        add_journal(text, self->run, priority, message->type);
        add_field(text, "MESSAGE", object, message->bytes);
        return;
    }
    vamp_text_word(text, "@cee: ");
    vamp_text_add(text, object, message->bytes);
}

/* ---- sending */

static int fail(struct syslog_socket *self, int code, struct vamp_err *err)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
    const char *why = code == EPROTOTYPE ? "it does not take datagrams" : strerror(code);
    return vamp_err_set(err, -EAGAIN, "send to %s: %s; " VAMP_BUCKETS_WAIT,
                        syslog_socket_path(self->options), why);
}

static int connect_now(struct syslog_socket *self, struct vamp_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s",
                   syslog_socket_path(self->options));
    self->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 || connect(self->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        return fail(self, errno, err);
    }
    return 0;
}

int syslog_socket_send(struct syslog_socket *self, const struct syslog_messages *messages,
                       const struct syslog_message *message, struct vamp_err *err)
{
    make_datagram(self, messages, message);
    if (self->datagram.failed) {
        return vamp_err_set(err, -EAGAIN, "no memory for a message");
    }
    int code = self->fd < 0 ? connect_now(self, err) : 0;
    if (code != 0) {
        return code;
    }
    const struct vamp_text *text = &self->datagram;
    ssize_t sent = send(self->fd, text->bytes, text->used, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) {
        struct pollfd room = {.fd = self->fd, .events = POLLOUT};
        (void)poll(&room, 1, PATIENCE_MS);
        sent = send(self->fd, text->bytes, text->used, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
        return 0;
    }
    if (errno == EAGAIN) {
        return vamp_err_set(err, -EAGAIN, "send to %s: nothing reads there; " VAMP_BUCKETS_WAIT,
                            syslog_socket_path(self->options));
    }
    return fail(self, errno, err);
}

void syslog_socket_done(struct syslog_socket *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
    vamp_text_done(&self->datagram);
}
