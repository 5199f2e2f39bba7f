/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The influx format. Opening the output opens no connection, so that a run can start while the
 * server is down. Lines are sent by HTTP (writers/http/http.h), or in datagrams, which the server
 * does not confirm. A bucket sent in datagrams counts as written if the name resolves, the system
 * accepts each datagram, and no ICMP answer reports that the port is closed. Such an answer arrives
 * after a round trip, so the first datagram after a failure is sent alone, followed by a wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vampire/core/values.h"
#include "vampire/core/worker.h"
#include "version.h"
#include "writers/format/attempts.h"
#include "writers/http/http.h"
#include "writers/influx/lines.h"

#define HOST_BYTES 256
#define PORT_BYTES 8
#define REFUSAL_MS 200
#define ROOM_MS 500
/* Size of the IP and UDP headers; the minimum MTU of IPv6; the maximum payload. */
#define HEADERS_4 28
#define HEADERS_6 48
#define LINK_BYTES 1280
#define CONTENT_BYTES 65507

/* Sends whole lines in datagrams of the maximum size on the path to the server. */
struct datagrams {
    char host[HOST_BYTES], port[PORT_BYTES];
    struct addrinfo wanted;
    struct gaicb question; /* name resolution; the result is in `ar_result` */
    bool asked;            /* the resolution may be in progress */
    unsigned failures;     /* selects a different address of the host after each failure */
    int fd;                /* -1: not connected */
    size_t longest;        /* maximum payload of a datagram, unless a single line is longer */
    size_t sent;           /* bytes of the text sent so far */
    bool heard;            /* a datagram was sent and not refused since the newest failure */
};

struct influx {
    const struct influx_options *options;
    const struct vamp_run *run;
    bool udp;
    struct http *http;          /* NULL for UDP */
    struct datagrams datagrams; /* for UDP */
    struct vamp_attempts attempts;
    char *path;            /* the address, with a note for UDP */
    struct vamp_text text; /* the lines of the bucket being sent */
    bool pending;          /* a bucket is being sent */
    struct vamp_present present;
    uint64_t cut;
    bool cut_reported;
};

/* ---- datagrams */

/* Splits the address, which is HOST:PORT or [HOST]:PORT after the format's check. */
static void datagrams_init(struct influx *influx)
{
    struct datagrams *self = &influx->datagrams;
    self->fd = -1;
    self->wanted = (struct addrinfo){.ai_socktype = SOCK_DGRAM};
    const char *host = influx->options->url + strlen(INFLUX_UDP);
    const char *colon = strrchr(host, ':');
    size_t length = (size_t)(colon - host);
    (void)snprintf(self->port, sizeof self->port, "%s", colon + 1);
    if (host[0] == '[') {
        host++;
        length -= 2;
    }
    (void)snprintf(self->host, sizeof self->host, "%.*s", (int)length, host);
}

static void disconnect(struct datagrams *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
}

/* Waits for a pending name resolution. */
static void datagrams_done(struct datagrams *self)
{
    disconnect(self);
    const struct gaicb *const questions[] = {&self->question};
    while (self->asked && gai_cancel(&self->question) == EAI_NOTCANCELED) {
        (void)gai_suspend(questions, 1, NULL);
    }
    if (self->question.ar_result != NULL) {
        freeaddrinfo(self->question.ar_result);
    }
}

/* Disconnects after a failure, so that the next attempt uses another address. Returns -EAGAIN. */
static int fail(struct influx *influx, const char *why, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    disconnect(self);
    self->sent = 0;
    self->heard = false;
    self->failures++;
    return vamp_attempts_failed(&influx->attempts, err,
                                "send to %.200s: %.180s; " VAMP_BUCKETS_WAIT, influx->options->url,
                                why);
}

/* Resolves the host's name, or continues a pending resolution. Returns 0 when the addresses are in
 * `question`, or -EAGAIN. */
static int resolve(struct influx *influx, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    const struct timespec patience = {.tv_nsec = VAMP_ATTEMPT_NS};
    struct gaicb *questions[] = {&self->question};
    int code = 0;
    if (!self->asked) {
        if (self->question.ar_result != NULL) {
            freeaddrinfo(self->question.ar_result);
        }
        self->question = (struct gaicb){
            .ar_name = self->host, .ar_service = self->port, .ar_request = &self->wanted};
        code = getaddrinfo_a(GAI_NOWAIT, questions, 1, NULL);
        self->asked = code == 0;
    }
    if (code == 0) {
        (void)gai_suspend((const struct gaicb *const *)questions, 1, &patience);
        code = gai_error(&self->question);
    }
    if (code == EAI_INPROGRESS) {
        return -EAGAIN;
    }
    self->asked = false;
    if (code != 0) {
        char why[HOST_BYTES + 100];
        (void)snprintf(why, sizeof why, "could not resolve host %s: %s", self->host,
                       code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
        return fail(influx, why, err);
    }
    return 0;
}

/* Returns the maximum payload of a packet on the path to the server, as far as the system reports
 * it. */
static size_t longest_content(int fd, int family)
{
    int bytes = 0;
    socklen_t size = sizeof bytes;
    const bool six = family == AF_INET6;
    if (six) {
        (void)getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &bytes, &size);
    } else {
        (void)getsockopt(fd, IPPROTO_IP, IP_MTU, &bytes, &size);
    }
    bytes = VAMP_MAX(bytes, LINK_BYTES); /* `bytes` is 0 after a failure */
    bytes -= six ? HEADERS_6 : HEADERS_4;
    return (size_t)VAMP_MIN(bytes, CONTENT_BYTES);
}

/* Connects to an address of the host, another one after each failure. */
static int connect_now(struct influx *influx, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    const int code = resolve(influx, err);
    if (code != 0) {
        return code;
    }
    const struct addrinfo *address = self->question.ar_result;
    for (unsigned i = 0; i < self->failures; i++) {
        address = address->ai_next;
        if (address == NULL) {
            address = self->question.ar_result;
        }
    }
    self->fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 || connect(self->fd, address->ai_addr, address->ai_addrlen) != 0) {
        return fail(influx, strerror(errno), err);
    }
    self->longest = longest_content(self->fd, address->ai_family);
    return 0;
}

/* Returns the end of the next datagram: as many whole lines as fit, at least one. */
static size_t datagram_end(const struct datagrams *self, const struct vamp_text *text)
{
    size_t end = self->sent;
    while (end < text->used) {
        const char *newline = memchr(text->bytes + end, '\n', text->used - end);
        const size_t next = (size_t)(newline - text->bytes) + 1;
        if (next - self->sent > self->longest && end > self->sent) {
            break;
        }
        end = next;
    }
    return end;
}

/* Waits for an ICMP answer. Returns whether a datagram was refused. */
static bool is_refused(const struct datagrams *self, int wait_ms, int *ret_code)
{
    struct pollfd answer = {.fd = self->fd};
    socklen_t size = sizeof *ret_code;
    *ret_code = 0;
    (void)poll(&answer, 1, wait_ms);
    return getsockopt(self->fd, SOL_SOCKET, SO_ERROR, ret_code, &size) == 0 && *ret_code != 0;
}

/* Sends the next datagram. Returns 0, -EAGAIN, or -EBADMSG: its only line is too long. */
static int send_next(struct influx *influx, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    const struct vamp_text *text = &influx->text;
    const size_t end = datagram_end(self, text);
    const char *begin = text->bytes + self->sent;
    ssize_t sent = send(self->fd, begin, end - self->sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) {
        struct pollfd room = {.fd = self->fd, .events = POLLOUT};
        (void)poll(&room, 1, ROOM_MS);
        sent = send(self->fd, begin, end - self->sent, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
        self->sent = end;
        return 0;
    }
    if (errno == EMSGSIZE && end - self->sent > CONTENT_BYTES) {
        const size_t bytes = end - self->sent;
        self->sent = 0;
        return vamp_err_set(err, -EBADMSG, "a line of %zu bytes is longer than a datagram", bytes);
    }
    if (errno == EAGAIN || errno == ENOBUFS) {
        return vamp_err_set(
            err, -EAGAIN,
            "send to %.200s: the system has no buffer space for a datagram; " VAMP_BUCKETS_WAIT,
            influx->options->url);
    }
    return fail(influx, strerror(errno), err);
}

/* Results as for http_post. 0: the system has accepted all datagrams and has not reported a refused
 * one so far; delivery is not guaranteed. */
static int send_datagrams(struct influx *influx, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    const struct vamp_text *text = &influx->text;
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_ATTEMPT_NS;
    int code = 0, refusal = 0;
    if (self->fd < 0) {
        code = vamp_attempts_await(&influx->attempts, err);
        if (code == 0) {
            code = connect_now(influx, err);
        }
    }
    while (code == 0 && self->sent < text->used) {
        if (vamp_worker_now_ns() > until_ns) {
            return -EAGAIN;
        }
        code = send_next(influx, err);
        if (code == 0 && is_refused(self, self->heard ? 0 : REFUSAL_MS, &refusal)) {
            return fail(influx, strerror(refusal), err);
        }
        self->heard = self->heard || code == 0;
    }
    if (code == 0) {
        self->sent = 0;
        vamp_attempts_succeeded(&influx->attempts);
    }
    return code;
}

/* ---- the format */

/* Closes the connection and frees everything. Returns 0. */
static int influx_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct influx *self = context;
    (void)ending, (void)err;
    if (self->udp) {
        datagrams_done(&self->datagrams);
    }
    http_free(self->http);
    free(self->path);
    vamp_text_done(&self->text);
    vamp_present_done(&self->present);
    free(self);
    return 0;
}

static int open_server(struct influx *self, struct vamp_err *err)
{
    static const char *const headers[] = {"Content-Type: text/plain; charset=utf-8", NULL};
    const struct http_server server = {
        .url = self->options->url,
        .path = "/write?precision=ns&db=",
        .parameter = self->options->database,
        .headers = headers,
        .token = "Token",
        .variable = INFLUX_SECRET_VARIABLE,
        .options = &self->options->push,
        .success = 204,
    };
    return http_create(&server, &self->http, err);
}

static int influx_open(const void *options, const struct vamp_writer_target *target,
                       void **ret_self, struct vamp_err *err)
{
    struct influx *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare lines");
    }
    self->options = options;
    self->run = target->run;
    const char *url = self->options->url;
    self->udp = strncmp(url, INFLUX_UDP, strlen(INFLUX_UDP)) == 0;
    int code = 0;
    if (self->udp) {
        datagrams_init(self);
    } else {
        code = open_server(self, err);
    }
    if (code == 0 &&
        asprintf(&self->path, "%s%s", url, self->udp ? " (sent; UDP confirms nothing)" : "") < 0) {
        self->path = NULL;
        code = vamp_err_set_errno(err, ENOMEM, "prepare the address");
    }
    if (code != 0) {
        (void)influx_close(self, NULL, NULL);
        return code;
    }
    *ret_self = self;
    return 0;
}

/* Converts the bucket to lines, unless an earlier call did, and sends them. */
static int influx_write(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct influx *self = context;
    if (!self->pending) {
        self->text.used = 0;
        self->text.failed = false;
        const bool good = vamp_present_take(&self->present, delivery);
        const uint64_t cut = influx_lines(&self->text, self->run, self->options->labels,
                                          delivery->bucket, &self->present);
        if (!good || self->text.failed) {
            return vamp_err_set(err, -EAGAIN, "no memory for the lines of a bucket");
        }
        self->cut += cut;
        self->pending = true;
    }
    if (self->text.used == 0) {
        self->pending = false;
        return 0; /* the bucket is empty */
    }
    int code = 0;
    if (self->udp) {
        code = send_datagrams(self, err);
    } else {
        code = http_post(self->http, self->text.bytes, self->text.used, err);
    }
    self->pending = code == -EAGAIN;
    return code;
}

static const char *influx_path(const void *self)
{
    return ((const struct influx *)self)->path;
}

static bool influx_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct influx *self = context;
    if (self->cut == 0 || self->cut_reported) {
        return false;
    }
    self->cut_reported = true;
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                   "%" PRIu64 " values so far exceeded the largest integer of InfluxDB and were"
                   " written as 2^63 - 1",
                   self->cut);
    return true;
}

/* Returns the number of fields of a point. */
static unsigned influx_fields(const void *options, const struct vamp_metric *metric,
                              const struct vamp_bins *bins)
{
    static const unsigned fields[] = {[VAMP_COUNTER] = 2, [VAMP_GAUGE] = 3, [VAMP_HISTOGRAM] = 7};
    (void)options;
    (void)bins;
    return fields[metric->kind];
}

static const struct vamp_writer_ops functions = {
    .name = "influx",
    .element = VAMP_ELEMENT_BUCKET,
    .open = influx_open,
    .write_bucket = influx_write,
    .lines = influx_fields,
    .path = influx_path,
    .remark = influx_remark,
    .close = influx_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions,
                                                        vamp_metrics_share};
