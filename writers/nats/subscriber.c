/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"
#include "writers/nats/process.h"
#include "writers/nats/serve.h"

/* Limit on a consumer's unacknowledged messages, which the library may buffer in addition to the
 * queue. */
#define UNACKNOWLEDGED_MAX 256
/* A message that is not acknowledged within this time is redelivered, for example one that was in
 * transit when a connection was closed. Redelivery of a message that is still queued has no effect.
 */
#define ACKNOWLEDGE_NS (5 * VAMP_NS_PER_SECOND)

struct subscriber {
    struct vamp_nats_subscription what;
    struct nats_connection connection;
    jsCtx *stream;              /* for the current connection, with a consumer */
    natsSubscription *data;     /* to the data, on the current connection; NULL: none */
    natsSubscription *requests; /* to requests, likewise */
    unsigned connections;
    uint64_t dropped; /* messages dropped by the library on earlier connections */

    /* The queue, filled by the library's threads; requests have number 1. Its lock also guards the
     * members below. */
    struct vamp_worker queue;
    unsigned delivering; /* number of subscriptions whose callback may still be called */
    bool leaving;        /* shutdown: messages that still arrive are dropped */
};

/* ---- the library's threads */

/* Adds a message to the queue; the queue then owns it. If the queue is full, waits for capacity if
 * the message comes from a consumer, and destroys any other message. */
static void add(struct subscriber *self, natsMsg *message, bool is_request)
{
    struct vamp_worker *queue = &self->queue;
    const bool consumes = self->what.consumer != NULL && !is_request;
    const struct vamp_worker_item item = {
        .what = message,
        .number = is_request,
        .bytes = is_request ? 0 : (uint64_t)natsMsg_GetDataLength(message),
    };
    vamp_worker_lock(queue);
    while (consumes && !self->leaving && !vamp_worker_has_room(queue, item.bytes)) {
        vamp_worker_wait(queue, VAMP_WORKER_NEVER_NS);
    }
    const bool added = !self->leaving && vamp_worker_put(queue, &item);
    vamp_worker_unlock(queue);
    if (!added) {
        natsMsg_Destroy(message);
    }
}

static void receive_data(natsConnection *link, natsSubscription *subscription, natsMsg *message,
                         void *context)
{
    (void)link, (void)subscription;
    add(context, message, false);
}

static void receive_request(natsConnection *link, natsSubscription *subscription, natsMsg *message,
                            void *context)
{
    (void)link, (void)subscription;
    add(context, message, true);
}

/* Called by the library when a subscription's callback will not be called again. */
static void end_delivering(void *context)
{
    struct subscriber *self = context;
    vamp_worker_lock(&self->queue);
    self->delivering--;
    (void)pthread_cond_broadcast(&self->queue.changed);
    vamp_worker_unlock(&self->queue);
}

/* ---- subscribe */

/* Counts a subscription until the library calls end_delivering for it. */
static void begin_delivering(struct subscriber *self, natsSubscription *subscription)
{
    vamp_worker_lock(&self->queue);
    self->delivering++;
    vamp_worker_unlock(&self->queue);
    if (natsSubscription_SetOnCompleteCB(subscription, end_delivering, self) != NATS_OK) {
        end_delivering(self); /* the subscription has ended already */
    }
}

/* Subscribes to the data through a durable consumer of a JetStream stream. */
static natsStatus subscribe_consumer(struct subscriber *self)
{
    natsStatus status = natsConnection_JetStream(&self->stream, self->connection.link, NULL);
    jsSubOptions options;
    if (status == NATS_OK) {
        status = jsSubOptions_Init(&options);
    }
    if (status != NATS_OK) {
        return status;
    }
    options.ManualAck = true;
    options.Config.Durable = self->what.consumer;
    options.Config.AckPolicy = js_AckExplicit;
    options.Config.MaxAckPending = UNACKNOWLEDGED_MAX;
    options.Config.AckWait = ACKNOWLEDGE_NS;
    return js_Subscribe(&self->data, self->stream, self->what.subject, receive_data, self, NULL,
                        &options, NULL);
}

/* Subscribes to data and requests, and waits for the server's confirmation. */
static natsStatus subscribe(struct subscriber *self)
{
    const bool plain = self->what.consumer == NULL;
    int bytes = -1;
    natsStatus status;
    if (plain) {
        bytes = (int)VAMP_MIN(self->what.queue_bytes, INT_MAX);
        status = natsConnection_Subscribe(&self->data, self->connection.link, self->what.subject,
                                          receive_data, self);
    } else {
        status = subscribe_consumer(self);
    }
    if (status == NATS_OK) {
        begin_delivering(self, self->data);
        status = natsSubscription_SetPendingLimits(self->data, -1, bytes);
    }
    if (status == NATS_OK && self->what.requests != NULL) {
        status = natsConnection_Subscribe(&self->requests, self->connection.link,
                                          self->what.requests, receive_request, self);
        if (status == NATS_OK) {
            begin_delivering(self, self->requests);
        }
    }
    if (status == NATS_OK) {
        status = nats_connection_confirm(&self->connection);
    }
    return status;
}

/* Returns the number of messages dropped by the library on the current connection. */
static uint64_t dropped_now(const struct subscriber *self)
{
    int64_t dropped = 0;
    if (self->data != NULL && self->what.consumer == NULL) {
        (void)natsSubscription_GetDropped(self->data, &dropped);
    }
    return (uint64_t)dropped;
}

/* Closes the connection, if any, before the subscriptions end, so that the server keeps a consumer.
 * Their messages become invalid. */
static void close_link(struct subscriber *self)
{
    natsConnection *link = self->connection.link;
    self->connection.link = NULL;
    natsConnection_Close(link);
    vamp_worker_lock(&self->queue);
    self->leaving = true;
    (void)pthread_cond_broadcast(&self->queue.changed);
    while (self->delivering > 0) {
        vamp_worker_wait(&self->queue, VAMP_WORKER_NEVER_NS);
    }
    self->leaving = false;
    while (self->queue.count > 0) {
        natsMsg_Destroy(vamp_worker_remove(&self->queue, 0).what);
        vamp_worker_count(&self->queue.lost, 1);
    }
    vamp_worker_unlock(&self->queue);
    self->dropped += dropped_now(self);
    natsSubscription_Destroy(self->data);
    natsSubscription_Destroy(self->requests);
    jsCtx_Destroy(self->stream);
    self->data = self->requests = NULL;
    self->stream = NULL;
    natsConnection_Destroy(link);
}

/* Closes the connection after an error of the library, and records the failure. Returns -EAGAIN.
 * Reads the error text first, since closing the connection clears it. */
static int fail_with(struct subscriber *self, natsStatus status, struct vamp_err *err)
{
    char text[200] = "";
    const char *said = NULL;
    (void)natsConnection_GetLastError(self->connection.link, &said);
    if (status == NATS_NOT_FOUND) {
        (void)snprintf(text, sizeof text, "no JetStream stream stores \"%.100s\"",
                       self->what.subject);
    } else if (said != NULL && said[0] != '\0') {
        (void)snprintf(text, sizeof text, "%.190s", said);
    }
    close_link(self);
    if (text[0] == '\0') {
        return nats_connection_fail_with(&self->connection, status, err);
    }
    return nats_connection_fail(&self->connection, text, err);
}

/* Connects and subscribes. Returns 0 or -EAGAIN. */
static int open_link(struct subscriber *self, struct vamp_err *err)
{
    const int code = nats_connection_open(&self->connection, err);
    if (code != 0) {
        return code;
    }
    const natsStatus status = subscribe(self);
    if (status != NATS_OK) {
        return fail_with(self, status, err);
    }
    vamp_attempts_succeeded(&self->connection.attempts);
    self->connections++;
    return 0;
}

/* ---- the functions */

static void subscriber_free(void *context)
{
    struct subscriber *self = context;
    if (self == NULL) {
        return;
    }
    if (self->connection.link != NULL) { /* sends the acknowledgements */
        (void)natsConnection_FlushTimeout(self->connection.link, NATS_PATIENCE_NS / 1000000);
    }
    close_link(self);
    nats_connection_done(&self->connection);
    vamp_worker_done(&self->queue);
    free(self);
}

static int subscriber_create(const struct vamp_nats_subscription *what, void **ret_self,
                             struct vamp_err *err)
{
    struct subscriber *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare a subscription");
    }
    self->what = *what;
    const struct nats_purpose purpose = {
        .server = what->server,
        .what = NATS_SUBSCRIBE_WHAT,
        .meanwhile = nats_meanwhile(what),
        .write_ns = NATS_SUBSCRIBER_WRITE_NS,
    };
    const struct vamp_worker_bounds bounds = {.bytes_max = what->queue_bytes};
    int code = vamp_worker_init(&self->queue, &bounds, 1, err);
    if (code == 0) {
        code = nats_connection_init(&self->connection, &purpose, err);
    }
    if (code != 0) {
        subscriber_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

/* Returns the next message, or NULL if none arrives until `until_ns`. */
static natsMsg *wait_for_message(struct subscriber *self, int64_t until_ns, bool *ret_is_request)
{
    struct vamp_worker *queue = &self->queue;
    struct vamp_worker_item item = {.what = NULL};
    vamp_worker_lock(queue);
    while (queue->count == 0 && vamp_worker_now_ns() < until_ns) {
        vamp_worker_wait(queue, until_ns);
    }
    if (queue->count > 0) {
        item = vamp_worker_remove(queue, 0);
        vamp_worker_count(&queue->done, 1);
    }
    vamp_worker_unlock(queue);
    *ret_is_request = item.number != 0;
    return item.what;
}

/* For a message of a consumer: sets the time of its publication, and whether more messages wait. */
static void describe_in_stream(const struct subscriber *self, struct vamp_nats_received *received)
{
    jsMsgMetaData *data = NULL;
    if (self->what.consumer == NULL || received->is_request) {
        return;
    }
    if (natsMsg_GetMetaData(&data, received->message) == NATS_OK) {
        received->published_ns = data->Timestamp;
        received->more = data->NumPending > 0;
        jsMsgMetaData_Destroy(data);
    }
}

/* Returns the next message; messages that arrived before a connection was closed come first. */
static int subscriber_next(void *context, int64_t timeout_ns,
                           struct vamp_nats_received *ret_received, struct vamp_err *err)
{
    struct subscriber *self = context;
    if (self->connection.link == NULL) {
        const int code = open_link(self, err);
        if (code != 0) {
            return code;
        }
    }
    bool is_request = false;
    natsMsg *message = wait_for_message(self, vamp_worker_now_ns() + timeout_ns, &is_request);
    if (message != NULL) {
        *ret_received = (struct vamp_nats_received){
            .subject = natsMsg_GetSubject(message),
            .data = natsMsg_GetData(message),
            .bytes = (size_t)natsMsg_GetDataLength(message),
            .is_request = is_request,
            .message = message,
        };
        describe_in_stream(self, ret_received);
        return 1;
    }
    if (natsConnection_IsClosed(self->connection.link)) {
        return fail_with(self, NATS_CONNECTION_CLOSED, err);
    }
    return 0;
}

static void subscriber_done(void *context, const struct vamp_nats_received *received)
{
    const struct subscriber *self = context;
    if (self->what.consumer != NULL && !received->is_request) {
        /* On failure, the message is redelivered, which has no effect. */
        (void)natsMsg_Ack(received->message, NULL);
    }
    natsMsg_Destroy(received->message);
}

static int subscriber_answer(void *context, const struct vamp_nats_received *received,
                             const char *text)
{
    const struct subscriber *self = context;
    natsConnection *link = self->connection.link;
    const char *reply = natsMsg_GetReply(received->message);
    const size_t bytes = strlen(text);
    if (reply == NULL || link == NULL) {
        return -EIO;
    }
    if ((int64_t)bytes > natsConnection_GetMaxPayload(link)) {
        return -EMSGSIZE;
    }
    return natsConnection_Publish(link, reply, text, (int)bytes) == NATS_OK ? 0 : -EIO;
}

static void subscriber_state(void *context, struct vamp_nats_subscriber_state *ret_state)
{
    struct subscriber *self = context;
    *ret_state = (struct vamp_nats_subscriber_state){
        .address = nats_connection_address(&self->connection),
        .connections = self->connections,
        .lost = self->dropped + dropped_now(self),
        .waiting = atomic_load(&self->queue.count),
        .connected = self->connection.link != NULL,
    };
    if (self->what.consumer == NULL) {
        ret_state->lost += atomic_load(&self->queue.refused);
    }
}

const struct vamp_nats_subscriber_ops nats_subscriber_functions = {
    .create = subscriber_create,
    .next = subscriber_next,
    .done = subscriber_done,
    .answer = subscriber_answer,
    .state = subscriber_state,
    .free = subscriber_free,
};
