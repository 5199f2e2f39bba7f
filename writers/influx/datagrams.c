/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines in datagrams, which no server confirms. What can be known is known before a bucket counts
 * as written: that the name resolves, that the system takes each datagram, and that no answer says
 * that nothing listens there. Such an answer from another machine arrives after a round trip; so
 * the first datagram after a failure is sent alone, and waits for it.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "writers/format/attempts.h"
#include "writers/influx/internal.h"

#define HOST_BYTES 256
#define PORT_BYTES 8
#define REFUSAL_MS 200
#define ROOM_MS 500
/* Headers of IP and UDP; what every IPv6 link transports; the longest content. */
#define HEADERS_4 28
#define HEADERS_6 48
#define LINK_BYTES 1280
#define CONTENT_BYTES 65507

struct influx_datagrams {
    const struct influx_options *options;
    char host[HOST_BYTES], port[PORT_BYTES];
    struct addrinfo wanted;
    struct gaicb question; /* about the host; its answer is in `ar_result` */
    bool asked;            /* the question may be with the resolver */
    unsigned failures;     /* another address of the host each time */
    int fd;                /* -1: not connected */
    size_t longest;        /* content of a datagram, unless a line alone is longer */
    size_t sent;           /* of the text */
    bool heard;            /* since the newest failure a datagram was sent and not refused */
    struct vamp_attempts attempts;
};

/* ---- create and free */

/* HOST:PORT or [HOST]:PORT, as the format's check has found it. */
static void split_address(struct influx_datagrams *self)
{
    const char *host = self->options->url + strlen(INFLUX_UDP);
    const char *colon = strrchr(host, ':');
    size_t length = (size_t)(colon - host);
    (void)snprintf(self->port, sizeof self->port, "%s", colon + 1);
    if (host[0] == '[') {
        host++;
        length -= 2;
    }
    (void)snprintf(self->host, sizeof self->host, "%.*s", (int)length, host);
}

struct influx_datagrams *influx_datagrams_create(const struct influx_options *options)
{
    struct influx_datagrams *self = calloc(1, sizeof *self);
    if (self != NULL) {
        self->options = options;
        self->fd = -1;
        self->wanted = (struct addrinfo){.ai_socktype = SOCK_DGRAM};
        split_address(self);
    }
    return self;
}

static void disconnect(struct influx_datagrams *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
}

void influx_datagrams_free(struct influx_datagrams *self)
{
    if (self == NULL) {
        return;
    }
    disconnect(self);
    const struct gaicb *const questions[] = {&self->question};
    while (self->asked && gai_cancel(&self->question) == EAI_NOTCANCELED) {
        (void)gai_suspend(questions, 1, NULL);
    }
    if (self->question.ar_result != NULL) {
        freeaddrinfo(self->question.ar_result);
    }
    free(self);
}

/* ---- connect */

static int fail(struct influx_datagrams *self, const char *why, struct vamp_err *err)
{
    disconnect(self);
    self->sent = 0;
    self->heard = false;
    self->failures++;
    return vamp_attempts_failed(&self->attempts, err, "send to %.200s: %.180s; " VAMP_BUCKETS_WAIT,
                                self->options->url, why);
}

/* Asks for the host's addresses, or goes on waiting. 0: they are in the question; -EAGAIN. */
static int resolve(struct influx_datagrams *self, struct vamp_err *err)
{
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
        return fail(self, why, err);
    }
    return 0;
}

/* What one packet of the way to the server holds, as far as the system knows it. */
static size_t longest_content(int fd, int family)
{
    int bytes = 0;
    socklen_t size = sizeof bytes;
    const bool six = family == AF_INET6;
    const int code = six ? getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &bytes, &size)
                         : getsockopt(fd, IPPROTO_IP, IP_MTU, &bytes, &size);
    bytes = code != 0 || bytes < LINK_BYTES ? LINK_BYTES : bytes;
    bytes -= six ? HEADERS_6 : HEADERS_4;
    return bytes > CONTENT_BYTES ? CONTENT_BYTES : (size_t)bytes;
}

static int connect_now(struct influx_datagrams *self, struct vamp_err *err)
{
    const int code = resolve(self, err);
    if (code != 0) {
        return code;
    }
    const struct addrinfo *address = self->question.ar_result;
    for (unsigned i = 0; i < self->failures; i++) {
        address = address->ai_next != NULL ? address->ai_next : self->question.ar_result;
    }
    self->fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 || connect(self->fd, address->ai_addr, address->ai_addrlen) != 0) {
        return fail(self, strerror(errno), err);
    }
    self->longest = longest_content(self->fd, address->ai_family);
    return 0;
}

/* ---- send */

/* Where the datagram ends that begins with this byte: after as many whole lines as fit, at least
 * one. */
static size_t datagram_end(const struct influx_datagrams *self, const struct vamp_text *text)
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

/* Whether an answer says that a datagram was refused; waits for it. */
static bool is_refused(const struct influx_datagrams *self, int wait_ms, int *ret_code)
{
    struct pollfd answer = {.fd = self->fd};
    socklen_t size = sizeof *ret_code;
    *ret_code = 0;
    (void)poll(&answer, 1, wait_ms);
    return getsockopt(self->fd, SOL_SOCKET, SO_ERROR, ret_code, &size) == 0 && *ret_code != 0;
}

static int send_next(struct influx_datagrams *self, const struct vamp_text *text,
                     struct vamp_err *err)
{
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
            "send to %.200s: the system has no room for a datagram; " VAMP_BUCKETS_WAIT,
            self->options->url);
    }
    return fail(self, strerror(errno), err);
}

int influx_datagrams_send(struct influx_datagrams *self, const struct vamp_text *text,
                          struct vamp_err *err)
{
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + VAMP_ATTEMPT_NS;
    int code = 0, refusal = 0;
    if (self->fd < 0) {
        code = vamp_attempts_await(&self->attempts, err);
        code = code == 0 ? connect_now(self, err) : code;
    }
    while (code == 0 && self->sent < text->used) {
        if (vamp_clock_monotonic_ns(&vamp_clock_system) > until_ns) {
            return -EAGAIN;
        }
        code = send_next(self, text, err);
        if (code == 0 && is_refused(self, self->heard ? 0 : REFUSAL_MS, &refusal)) {
            return fail(self, strerror(refusal), err);
        }
        self->heard = self->heard || code == 0;
    }
    if (code == 0) {
        self->sent = 0;
        vamp_attempts_succeeded(&self->attempts);
    }
    return code;
}
