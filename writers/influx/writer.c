/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The influx format. No target is opened, so that a run can begin while the server is down. Lines
 * are sent by HTTP, a request at a time, by libcurl, or in datagrams, which no server confirms.
 * What can be known of those is known before a bucket counts as written: that the name resolves,
 * that the system takes each datagram, and that no answer says that nothing listens there. Such an
 * answer from another machine arrives after a round trip; so the first datagram after a failure is
 * sent alone, and waits for it.
 */
#include <curl/curl.h>
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

#include "vampire/core/clock.h"
#include "vampire/core/worker.h"
#include "version.h"
#include "writers/format/attempts.h"
#include "writers/format/secret.h"
#include "writers/influx/lines.h"

#define ADDRESS_BYTES 4096
#define ANSWER_BYTES 160
#define POLL_MS 50

#define HOST_BYTES 256
#define PORT_BYTES 8
#define REFUSAL_MS 200
#define ROOM_MS 500
/* Headers of IP and UDP; what every IPv6 link transports; the longest content. */
#define HEADERS_4 28
#define HEADERS_6 48
#define LINK_BYTES 1280
#define CONTENT_BYTES 65507

/* At most one request at a time. */
struct request {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    char address[ADDRESS_BYTES];
    char reason[CURL_ERROR_SIZE];
    char answer[ANSWER_BYTES]; /* the start of what the server says */
    size_t answered;
    bool under_way;
};

/* Whole lines in datagrams as long as the way to the server allows. */
struct datagrams {
    char host[HOST_BYTES], port[PORT_BYTES];
    struct addrinfo wanted;
    struct gaicb question; /* about the host; its answer is in `ar_result` */
    bool asked;            /* the question may be with the resolver */
    unsigned failures;     /* another address of the host each time */
    int fd;                /* -1: not connected */
    size_t longest;        /* content of a datagram, unless a line alone is longer */
    size_t sent;           /* of the text */
    bool heard;            /* since the newest failure a datagram was sent and not refused */
};

struct influx {
    const struct influx_options *options;
    const struct vamp_run *run;
    bool udp;
    struct request request;     /* unless it is UDP */
    struct datagrams datagrams; /* of UDP */
    struct vamp_attempts attempts;
    char *path;            /* the address, and what is not known about it */
    struct vamp_text text; /* the lines of the bucket that is being sent */
    bool pending;          /* there is one */
    uint64_t cut;
    bool cut_reported;
};

/* ---- requests */

/* Keeps the begin, as one line of printable characters. */
static size_t keep_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct request *request = context;
    for (size_t i = 0; i < size * count && request->answered + 1 < ANSWER_BYTES; i++) {
        const char byte = bytes[i];
        request->answer[request->answered++] = byte >= ' ' && byte <= '~' ? byte : ' ';
    }
    return size * count;
}

static bool add_header(struct request *request, const char *header)
{
    struct curl_slist *longer = curl_slist_append(request->headers, header);
    request->headers = longer != NULL ? longer : request->headers;
    return longer != NULL;
}

static int set_secret(struct influx *self, struct vamp_err *err)
{
    struct request *request = &self->request;
    char secret[VAMP_SECRET_BYTES], header[VAMP_SECRET_BYTES + 32];
    const char *user = self->options->user;
    int code = vamp_secret_read(self->options->secret_file, INFLUX_SECRET_VARIABLE, secret, err);
    if (code == 0 && user != NULL) {
        (void)curl_easy_setopt(request->easy, CURLOPT_USERNAME, user);
        (void)curl_easy_setopt(request->easy, CURLOPT_PASSWORD, secret);
    } else if (code == 0 && secret[0] != '\0') {
        (void)snprintf(header, sizeof header, "Authorization: Token %s", secret);
        code = add_header(request, header) ? 0 : vamp_err_set_errno(err, ENOMEM, "keep the secret");
    }
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(header, sizeof header);
    return code;
}

static int set_address(struct influx *self, struct vamp_err *err)
{
    struct request *request = &self->request;
    const char *url = self->options->url;
    size_t length = strlen(url);
    length -= url[length - 1] == '/' ? 1 : 0;
    char *database = curl_easy_escape(request->easy, self->options->database, 0);
    const int bytes =
        snprintf(request->address, sizeof request->address, "%.*s/write?db=%s&precision=ns",
                 (int)length, url, database != NULL ? database : "");
    curl_free(database);
    return database != NULL && bytes > 0 && (size_t)bytes < sizeof request->address
               ? 0
               : vamp_err_set(err, -ENAMETOOLONG, "the address of the server is too long");
}

static void set_options(struct influx *self)
{
    struct request *request = &self->request;
    CURL *easy = request->easy;
    const struct influx_options *options = self->options;
    (void)curl_easy_setopt(easy, CURLOPT_URL, request->address);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(options->timeout_ns / 1000000));
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_answer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->reason);
    if (options->ca_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
    }
}

static int request_init(struct influx *self, struct vamp_err *err)
{
    struct request *request = &self->request;
    const bool good = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
                      (request->easy = curl_easy_init()) != NULL &&
                      (request->multi = curl_multi_init()) != NULL &&
                      add_header(request, "Content-Type: text/plain; charset=utf-8") &&
                      add_header(request, "Expect:");
    int code = good ? 0 : vamp_err_set_errno(err, ENOMEM, "prepare requests");
    if (code == 0) {
        code = set_secret(self, err);
    }
    if (code == 0) {
        code = set_address(self, err);
    }
    if (code == 0) {
        set_options(self);
    }
    return code;
}

static void stop(struct request *request)
{
    if (request->under_way) {
        (void)curl_multi_remove_handle(request->multi, request->easy);
        request->under_way = false;
    }
}

/* A request that is under way is given up. */
static void request_done(struct request *request)
{
    stop(request);
    curl_easy_cleanup(request->easy);
    if (request->multi != NULL) {
        (void)curl_multi_cleanup(request->multi);
    }
    curl_slist_free_all(request->headers);
}

/* What came of the request, which has ended. */
static int conclude(struct influx *self, CURLcode result, struct vamp_err *err)
{
    struct request *request = &self->request;
    long status = 0;
    (void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    stop(request);
    while (request->answered > 0 && request->answer[request->answered - 1] == ' ') {
        request->answered--; /* a newline at its end */
    }
    request->answer[request->answered] = '\0';
    if (result == CURLE_OK && status >= 200 && status < 300) {
        vamp_attempts_succeeded(&self->attempts);
        return 0;
    }
    const char *url = self->options->url;
    if (result == CURLE_OK && (status == 400 || status == 413 || status == 422)) {
        return vamp_err_set(err, -EBADMSG, "%.200s refuses a bucket (status %ld): %s", url, status,
                            request->answer);
    }
    if (result == CURLE_OK) {
        return vamp_attempts_failed(&self->attempts, err,
                                    "%.200s answers with status %ld: %s; " VAMP_BUCKETS_WAIT, url,
                                    status, request->answer);
    }
    const char *reason = request->reason[0] != '\0' ? request->reason : curl_easy_strerror(result);
    return vamp_attempts_failed(&self->attempts, err, "send to %.200s: %.180s; " VAMP_BUCKETS_WAIT,
                                url, reason);
}

static int begin(struct influx *self, struct vamp_err *err)
{
    struct request *request = &self->request;
    request->answered = 0;
    request->reason[0] = '\0';
    (void)curl_easy_setopt(request->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)self->text.used);
    (void)curl_easy_setopt(request->easy, CURLOPT_POSTFIELDS, self->text.bytes);
    const CURLMcode code = curl_multi_add_handle(request->multi, request->easy);
    if (code != CURLM_OK) {
        return vamp_attempts_failed(&self->attempts, err, "begin a request: %s",
                                    curl_multi_strerror(code));
    }
    request->under_way = true;
    return 0;
}

/* Sends the text, or goes on with it: repeated with the same text until the result is not -EAGAIN.
 * 0: the server has it; -EAGAIN: not yet, within a second, with why in the text unless the server
 * may still answer; -EBADMSG: the server refuses this very text. */
static int send_request(struct influx *self, struct vamp_err *err)
{
    struct request *request = &self->request;
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_ATTEMPT_NS;
    if (!request->under_way) {
        int code = vamp_attempts_await(&self->attempts, err);
        if (code == 0) {
            code = begin(self, err);
        }
        if (code != 0) {
            return code;
        }
    }
    do {
        int running = 0, messages = 0;
        (void)curl_multi_perform(request->multi, &running);
        const CURLMsg *message = curl_multi_info_read(request->multi, &messages);
        if (message != NULL && message->msg == CURLMSG_DONE) {
            return conclude(self, message->data.result, err);
        }
        (void)curl_multi_poll(request->multi, NULL, 0, POLL_MS, NULL);
    } while (vamp_worker_now_ns() < until_ns);
    return -EAGAIN; /* under way: nothing to report before "timeout" */
}

/* ---- datagrams */

/* HOST:PORT or [HOST]:PORT, as the format's check has found it. */
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

/* Waits for an answer about the server's name that was asked for. */
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

/* Asks for the host's addresses, or goes on waiting. 0: they are in the question; -EAGAIN. */
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

static int connect_now(struct influx *influx, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    const int code = resolve(influx, err);
    if (code != 0) {
        return code;
    }
    const struct addrinfo *address = self->question.ar_result;
    for (unsigned i = 0; i < self->failures; i++) {
        address = address->ai_next != NULL ? address->ai_next : self->question.ar_result;
    }
    self->fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 || connect(self->fd, address->ai_addr, address->ai_addrlen) != 0) {
        return fail(influx, strerror(errno), err);
    }
    self->longest = longest_content(self->fd, address->ai_family);
    return 0;
}

/* Where the datagram ends that begins with this byte: after as many whole lines as fit, at least
 * one. */
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

/* Whether an answer says that a datagram was refused; waits for it. */
static bool is_refused(const struct datagrams *self, int wait_ms, int *ret_code)
{
    struct pollfd answer = {.fd = self->fd};
    socklen_t size = sizeof *ret_code;
    *ret_code = 0;
    (void)poll(&answer, 1, wait_ms);
    return getsockopt(self->fd, SOL_SOCKET, SO_ERROR, ret_code, &size) == 0 && *ret_code != 0;
}

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
            "send to %.200s: the system has no room for a datagram; " VAMP_BUCKETS_WAIT,
            influx->options->url);
    }
    return fail(influx, strerror(errno), err);
}

/* As send_request. 0: the system has taken all datagrams, and by then it knew of none that was
 * refused; whether they arrive is not known. */
static int send_datagrams(struct influx *influx, struct vamp_err *err)
{
    struct datagrams *self = &influx->datagrams;
    const struct vamp_text *text = &influx->text;
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_ATTEMPT_NS;
    int code = 0, refusal = 0;
    if (self->fd < 0) {
        code = vamp_attempts_await(&influx->attempts, err);
        code = code == 0 ? connect_now(influx, err) : code;
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

static void influx_free(struct influx *self)
{
    if (self->udp) {
        datagrams_done(&self->datagrams);
    } else {
        request_done(&self->request);
    }
    free(self->path);
    vamp_text_done(&self->text);
    free(self);
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
        code = request_init(self, err);
    }
    if (code == 0 &&
        asprintf(&self->path, "%s%s", url, self->udp ? " (sent; UDP confirms nothing)" : "") < 0) {
        self->path = NULL;
        code = vamp_err_set_errno(err, ENOMEM, "prepare the address");
    }
    if (code != 0) {
        influx_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

static int influx_write(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct influx *self = context;
    if (!self->pending) {
        self->text.used = 0;
        self->text.failed = false;
        const uint64_t cut =
            influx_lines(&self->text, self->run, self->options->labels, delivery->bucket);
        if (self->text.failed) {
            return vamp_err_set(err, -EAGAIN, "no memory for the lines of a bucket");
        }
        self->cut += cut;
        self->pending = true;
    }
    if (self->text.used == 0) {
        self->pending = false;
        return 0; /* nothing happened in this bucket */
    }
    const int code = self->udp ? send_datagrams(self, err) : send_request(self, err);
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
                   "values are written as 2^63 - 1, %" PRIu64
                   " by now: InfluxDB knows no larger integers",
                   self->cut);
    return true;
}

static int influx_close(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    (void)ending;
    (void)err;
    if (self != NULL) {
        influx_free(self);
    }
    return 0;
}

static const struct vamp_writer_ops functions = {
    .name = "influx",
    .element = VAMP_ELEMENT_BUCKET,
    .open = influx_open,
    .write_bucket = influx_write,
    .path = influx_path,
    .remark = influx_remark,
    .close = influx_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions};
