/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection process (process.h): serves the requests of the program with libnats. */
#include "writers/nats/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "vampire/core/io.h"
#include "version.h"
#include "writers/nats/frames.h"

/* A received message that is longer than a server may be configured to accept is dropped. */
#define MESSAGE_BYTES_MAX NATS_MESSAGE_BYTES_MAX

struct served {
    char *configuration; /* frame of the first request, which options and subscription refer to */
    struct nats_options options;
    struct nats_publisher publisher;
    bool publishes; /* `publisher` is in use, else `subscriber` */

    /* The publication that a request began. */
    char *publication; /* its frame, malloc'ed */
    const char *id;
    struct nats_messages messages; /* `text` is in the frame */

    struct vamp_nats_subscription subscription;
    void *subscriber;
    struct vamp_nats_received received; /* the present message */
    bool has_message;
};

/* ---- frames */

/* Reads the next request; the process ends when the program has closed the socket. `*ret_bytes` is
 * malloc'ed. Returns the kind of request, or -1 if there is none. */
static int read_request(char **ret_bytes, struct nats_rest *ret_rest)
{
    struct nats_frame frame;
    size_t done = 0;
    if (vamp_read_all(NATS_PROCESS_SOCKET, &frame, sizeof frame, &done) != 0 ||
        done < sizeof frame) {
        return -1;
    }
    char *bytes = malloc((size_t)frame.bytes + 1);
    if (bytes == NULL || vamp_read_all(NATS_PROCESS_SOCKET, bytes, frame.bytes, &done) != 0 ||
        done < frame.bytes) {
        free(bytes);
        return -1;
    }
    *ret_bytes = bytes;
    *ret_rest = (struct nats_rest){.at = bytes, .bytes = frame.bytes};
    return frame.what;
}

static void put_message(const struct vamp_nats_received *received, struct vamp_text *reply)
{
    nats_put_text(reply, received->subject);
    nats_put_number(reply, received->is_request);
    nats_put_number(reply, (uint64_t)received->published_ns);
    nats_put_number(reply, received->more);
    nats_put_bytes(reply, received->data, received->bytes);
}

/* Sends the result with the state, and the present message if the result is 1. */
static bool send_reply(struct served *self, int result, const struct vamp_err *err)
{
    struct vamp_text reply = {.bytes = NULL};
    struct vamp_nats_subscriber_state state = {.address = ""};
    if (self->subscriber != NULL) {
        nats_subscriber_functions.state(self->subscriber, &state);
    } else if (self->publisher.connection.purpose.server != NULL) {
        state.address = nats_connection_address(&self->publisher.connection);
    }
    nats_put_text(&reply, state.address);
    nats_put_text(&reply, err->text);
    nats_put_number(&reply, state.connections);
    nats_put_number(&reply, state.lost);
    nats_put_number(&reply, state.waiting);
    nats_put_number(&reply, state.connected);
    if (result == 1) {
        put_message(&self->received, &reply);
    }
    const struct nats_frame frame = {.what = result, .bytes = (uint32_t)reply.used};
    size_t done = 0;
    const bool sent = !reply.failed &&
                      vamp_write_all(NATS_PROCESS_SOCKET, &frame, sizeof frame, &done) == 0 &&
                      vamp_write_all(NATS_PROCESS_SOCKET, reply.bytes, reply.used, &done) == 0;
    vamp_text_done(&reply);
    return sent;
}

/* ---- requests */

/* NULL becomes NULL. The options are not changed, so the cast is safe. */
static char *get_word(struct nats_rest *rest)
{
    return (char *)(uintptr_t)nats_get_text(rest);
}

static int get_server(struct served *self, struct nats_rest *rest, struct vamp_err *err)
{
    struct vamp_nats_server *server = &self->options.server;
    const size_t count = nats_get_number(rest);
    server->servers.items = calloc(count + 1, sizeof server->servers.items[0]);
    if (server->servers.items == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the options of a connection");
    }
    server->servers.count = count;
    for (size_t i = 0; i < count; i++) {
        server->servers.items[i] = get_word(rest);
    }
    server->user = get_word(rest);
    server->secret_file = get_word(rest);
    server->credentials_file = get_word(rest);
    server->ca_file = get_word(rest);
    server->certificate_file = get_word(rest);
    server->key_file = get_word(rest);
    return 0;
}

static int configure_publisher(struct served *self, struct nats_rest *rest, struct vamp_err *err)
{
    const int code = get_server(self, rest, err);
    if (code != 0) {
        return code;
    }
    self->publisher.subject = nats_get_text(rest);
    self->options.jetstream = nats_get_number(rest) != 0;
    self->options.message_bytes = nats_get_number(rest);
    self->options.timeout_ns = (int64_t)nats_get_number(rest);
    self->publisher.options = &self->options;
    self->publishes = true;
    return nats_publisher_init(&self->publisher, err);
}

static int configure_subscriber(struct served *self, struct nats_rest *rest, struct vamp_err *err)
{
    const int code = get_server(self, rest, err);
    if (code != 0) {
        return code;
    }
    self->subscription.server = &self->options.server;
    self->subscription.subject = nats_get_text(rest);
    self->subscription.consumer = nats_get_text(rest);
    self->subscription.requests = nats_get_text(rest);
    self->subscription.queue_bytes = nats_get_number(rest);
    return nats_subscriber_functions.create(&self->subscription, &self->subscriber, err);
}

/* Takes ownership of `bytes`, the frame. */
static int publish(struct served *self, char *bytes, struct nats_rest *rest, struct vamp_err *err)
{
    free(self->publication);
    free(self->messages.ends);
    self->publication = bytes;
    self->id = nats_get_text(rest);
    size_t length = 0;
    const void *ends = nats_get_bytes(rest, &length);
    self->messages = (struct nats_messages){.count = (unsigned)(length / sizeof(size_t)),
                                            .ends = malloc(length + 1)};
    if (self->messages.ends == NULL) {
        self->messages.count = 0;
        return vamp_err_set_errno(err, ENOMEM, "publish a bucket");
    }
    if (length > 0) {
        memcpy(self->messages.ends, ends, length);
    }
    self->messages.text.bytes = (char *)(uintptr_t)nats_get_bytes(rest, &self->messages.text.used);
    return nats_publisher_publish(&self->publisher, self->id, &self->messages, err);
}

static int next(struct served *self, struct nats_rest *rest, struct vamp_err *err)
{
    if (self->has_message) {
        nats_subscriber_functions.done(self->subscriber, &self->received);
        self->has_message = false;
    }
    const int64_t timeout_ns = (int64_t)nats_get_number(rest);
    const int code =
        nats_subscriber_functions.next(self->subscriber, timeout_ns, &self->received, err);
    self->has_message = code == 1;
    if (code == 1 && self->received.bytes > MESSAGE_BYTES_MAX) {
        return 0; /* freed by the next request */
    }
    return code;
}

/* Takes ownership of `bytes`, the frame of `rest`. */
static int serve_request(struct served *self, int ask, char *bytes, struct nats_rest *rest,
                         struct vamp_err *err)
{
    int code = 0;
    switch ((enum nats_ask)ask) {
    case NATS_ASK_PUBLISHER:
        self->configuration = bytes;
        return configure_publisher(self, rest, err);
    case NATS_ASK_SUBSCRIBER:
        self->configuration = bytes;
        return configure_subscriber(self, rest, err);
    case NATS_ASK_PUBLISH:
        return publish(self, bytes, rest, err);
    case NATS_ASK_RESUME:
        code = nats_publisher_publish(&self->publisher, self->id, &self->messages, err);
        break;
    case NATS_ASK_NEXT:
        code = next(self, rest, err);
        break;
    case NATS_ASK_ANSWER:
        code = nats_subscriber_functions.answer(self->subscriber, &self->received,
                                                nats_get_text(rest));
        break;
    case NATS_ASK_STATE:
        break;
    }
    free(bytes);
    return code;
}

/* Serves until the program closes the socket; then acknowledges the present message, flushes and
 * ends. */
static void serve(void)
{
    struct served self = {.configuration = NULL};
    char *bytes = NULL;
    struct nats_rest rest;
    bool sent = true;
    (void)prctl(PR_SET_NAME, NATS_PROCESS_NAME);
    for (int ask = read_request(&bytes, &rest); ask >= 0 && sent;
         ask = sent ? read_request(&bytes, &rest) : -1) {
        struct vamp_err err = VAMP_ERR_NONE;
        const int result = serve_request(&self, ask, bytes, &rest, &err);
        sent = send_reply(&self, result, &err);
    }
    if (self.publishes) {
        nats_publisher_done(&self.publisher);
    } else if (self.subscriber != NULL) {
        if (self.has_message) {
            nats_subscriber_functions.done(self.subscriber, &self.received);
        }
        nats_subscriber_functions.free(self.subscriber);
    }
    _exit(0); /* threads of abandoned connection attempts may still run */
}

const struct vamp_process_plug_in vamp_process_plug_in = {VAMP_VERSION, serve};
