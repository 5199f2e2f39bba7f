/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component's port to a pool manager: calls, exposed memory, messages, transports, and the thread
 * that makes progress. One lock protects everything. All functions here are called with the lock,
 * except those in the port's table. The thread releases it while it waits and for each callback.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maestro/client/call.h"
#include "maestro/client/join.h"
#include "maestro/wire/fetch.h"
#include "vampire/core/list.h"
#include "vampire/core/thread.h"
#include "vampire/core/values.h"

/* Number of received batches of events after which the pool manager is notified: a quarter of its
 * window of full batches at the end of a round, and a quarter of its window of small batches within
 * a round, so that the window is not exhausted before the notification arrives. */
#define ACKNOWLEDGE_BATCHES 8U
#define ACKNOWLEDGE_AT_ONCE 64U

/* Number of consecutive rounds with messages after which the pool manager's liveness is checked. */
#define BUSY_ROUNDS_MAX 100U
/* If rounds with messages follow each other within this time, messages are gathered before the next
 * round. */
#define ROUNDS_GATHER_WITHIN_NS INT64_C(200000)
/* Maximum wait at the end until the last messages have been sent. */
#define GOODBYE_NS INT64_C(200000000)

/* A payload being read into this process. */
struct transport {
    struct list_link of_remote; /* in remote->transports, until it is finished */
    struct list_link of_ended;  /* in the list of ended transports, once the read has ended */
    struct remote *remote;
    Mstro__Wire__Ticket *ticket;
    mstro_status status;
};

struct remote {
    struct port port;
    pthread_mutex_t lock;
    pthread_t thread;
    bool thread_started, stop, shut;
    bool gone;          /* the pool manager is gone: nothing is sent */
    bool gone_reported; /* calls in progress have ended, and events.gone was called */
    char gone_text[VAMP_ERR_TEXT_BYTES];
    struct pool_manager pm;
    struct fetcher fetcher;
    struct port_events events;
    struct list calls, transports, ended;
    uint64_t last_request;
    int64_t heard_ns;    /* time of the last message received */
    int64_t looked_ns;   /* time of the last check of liveness */
    int64_t look_ns;     /* time of the next one */
    int64_t received_ns; /* time of the last round with messages */
    unsigned busy_rounds;
    unsigned exposed; /* number of exposed pieces of memory */
    bool gathers;     /* progress thread: many messages arrive, and no thread waits for one */
    int waits_for[FETCH_WAITS];
    bool answer_heartbeat;
};

static struct remote *as_remote(struct port *port)
{
    return CONTAINER_OF(port, struct remote, port);
}

static void lose(struct remote *remote, const char *text)
{
    if (!remote->gone) {
        remote->gone = true;
        (void)snprintf(remote->gone_text, sizeof remote->gone_text, "%s", text);
        fetch_cancel_all(&remote->fetcher);
    }
}

/* Returns 0: sent or queued; -EMSGSIZE; or another -errno: the connection to the pool manager is
 * lost. */
static int post(struct remote *remote, enum frame_kind kind, const ProtobufCMessage *body)
{
    const int result = link_send(&remote->pm.link, monotonic_ns(), kind, body);
    if (result == 0) {
        stream_flush(remote->pm.link.stream);
    } else if (result != -EMSGSIZE) {
        lose(remote, "the pool manager does not receive messages");
    }
    return result;
}

/* `flow` may be NULL. */
static void send_heartbeat(struct remote *remote, Mstro__Wire__Flow *flow)
{
    Mstro__Wire__Heartbeat heartbeat = MSTRO__WIRE__HEARTBEAT__INIT;
    heartbeat.flow = flow;
    (void)post(remote, FRAME_HEARTBEAT, &heartbeat.base);
}

/* ---- transports: from the ticket to the end of the remote reads; on the progress thread */

/* Stores the result of a read; finish_transports completes the transport. */
static void transport_done(void *context, int status)
{
    struct transport *transport = context;
    transport->status = MSTRO_OK;
    if (status != 0) {
        transport->status = MSTRO_OFI_FAIL;
    }
    list_append(&transport->remote->ended, &transport->of_ended);
}

static void send_end(struct remote *remote, const struct transport *transport)
{
    Mstro__Wire__TransportEnd end = MSTRO__WIRE__TRANSPORT_END__INIT;
    end.transport_id = transport->ticket->transport_id;
    end.status = (uint32_t)transport->status;
    if (transport->status == MSTRO_OK && transport->ticket->memory != NULL) {
        end.has_bytes = 1;
        end.bytes = transport->ticket->memory->bytes;
    }
    Mstro__Wire__Request request = PORT_REQUEST(TRANSPORT_END, transport_end, &end);
    request.id = ++remote->last_request; /* no caller waits for the answer */
    (void)post(remote, FRAME_REQUEST, &request.base);
}

/* Obtains memory for the payload and starts to read. Returns MSTRO_OK if the read has started. */
static mstro_status begin_transport(struct remote *remote, struct transport *transport)
{
    const Mstro__Wire__Ticket *ticket = transport->ticket;
    const Mstro__Wire__Place *place = ticket->memory->place;
    if (place == NULL || place->address.len > CARRIER_ADDRESS_BYTES ||
        strlen(place->provider) >= CARRIER_PROVIDER_BYTES) {
        return MSTRO_OFI_FAIL;
    }
    struct fetch_order order = {
        .source = {.protocol = place->protocol, .length = place->address.len},
        .address = ticket->memory->address,
        .key = ticket->memory->key,
        .bytes = ticket->memory->bytes,
        .done = transport_done,
        .context = transport};
    memcpy(order.source.provider, place->provider, strlen(place->provider));
    memcpy(order.source.address, place->address.data, place->address.len);
    (void)pthread_mutex_unlock(&remote->lock);
    order.destination = remote->events.place(remote->events.context, ticket);
    (void)pthread_mutex_lock(&remote->lock);
    if (order.destination == NULL || fetch_start(&remote->fetcher, &order) != 0) {
        return MSTRO_NOMEM;
    }
    return MSTRO_OK;
}

static void finish_transport(struct remote *remote, struct transport *transport)
{
    if (transport->ticket->transport_id != 0 && !remote->gone) {
        send_end(remote, transport);
    }
    (void)pthread_mutex_unlock(&remote->lock);
    remote->events.arrived(remote->events.context, transport->ticket, transport->status);
    (void)pthread_mutex_lock(&remote->lock);
    list_remove(&transport->of_remote);
    mstro__wire__ticket__free_unpacked(transport->ticket, NULL);
    free(transport);
}

static void finish_transports(struct remote *remote)
{
    struct list_link *link;
    while ((link = list_take(&remote->ended)) != NULL) {
        finish_transport(remote, CONTAINER_OF(link, struct transport, of_ended));
    }
}

static void take_ticket(struct remote *remote, const struct frame *frame)
{
    struct transport *transport = calloc(1, sizeof *transport);
    Mstro__Wire__Ticket *ticket = NULL;
    if (transport != NULL) {
        ticket = mstro__wire__ticket__unpack(NULL, frame->body_length, frame->body);
    }
    if (ticket == NULL) {
        free(transport);
        lose(remote, "out of memory for a ticket of the pool manager");
        return;
    }
    *transport = (struct transport){.remote = remote, .ticket = ticket};
    /* The pool manager has dropped any earlier transport of the same handle that is still in
     * progress here. The demand may release its memory as soon as it ends, so nothing may be
     * written to it any more. */
    for (struct list_link *link = list_first(&remote->transports); link != NULL;
         link = list_next(&remote->transports, link)) {
        const struct transport *earlier = CONTAINER_OF(link, struct transport, of_remote);
        if (earlier->ticket->handle == ticket->handle) {
            fetch_abandon(&remote->fetcher, earlier, NULL);
        }
    }
    list_append(&remote->transports, &transport->of_remote);
    if (ticket->has_status && ticket->status != MSTRO_OK) {
        transport->status =
            ticket->status < mstro_status_MAX ? (mstro_status)ticket->status : MSTRO_FAIL;
    } else if (remote->gone) {
        transport->status = MSTRO_NO_PM;
    } else if (ticket->memory != NULL && ticket->memory->bytes > 0) {
        transport->status = begin_transport(remote, transport);
        if (transport->status == MSTRO_OK) {
            return; /* transport_done will be called */
        }
    }
    finish_transport(remote, transport);
}

/* ---- messages from the pool manager */

/* Notifies the pool manager if at least `batches` batches of events were received since the last
 * message to it. */
static void acknowledge(struct remote *remote, unsigned batches)
{
    const struct link *link = &remote->pm.link;
    if (link->events_taken - link->events_acknowledged >= batches && !remote->gone) {
        send_heartbeat(remote, NULL);
    }
}

static void take_events(struct remote *remote, const struct frame *frame)
{
    const struct port_events *events = &remote->events;
    struct vamp_err err = VAMP_ERR_NONE;
    (void)pthread_mutex_unlock(&remote->lock);
    int result = events->events(events->context, frame->body, frame->body_length, &err);
    (void)pthread_mutex_lock(&remote->lock);
    if (result != 0) {
        lose(remote, err.text);
        return;
    }
    remote->pm.link.events_taken++;
    acknowledge(remote, ACKNOWLEDGE_AT_ONCE);
}

static void take_goodbye(struct remote *remote, const Mstro__Wire__Goodbye *goodbye)
{
    const char *text = goodbye->text;
    if (text == NULL || text[0] == '\0') {
        text = "the pool manager ended the connection";
    }
    lose(remote, text);
    Mstro__Wire__Goodbye answer = MSTRO__WIRE__GOODBYE__INIT;
    (void)post(remote, FRAME_GOODBYE, &answer.base);
}

static void take_body(struct remote *remote, const struct frame *frame, const void *body)
{
    switch (frame->kind) {
    case FRAME_RESPONSE:
        calls_answer(&remote->calls, body);
        break;
    case FRAME_TICKET:
        take_ticket(remote, frame);
        break;
    case FRAME_HEARTBEAT:
        remote->answer_heartbeat = true;
        break;
    case FRAME_GOODBYE:
        take_goodbye(remote, body);
        break;
    case FRAME_WELCOME:
    case FRAME_EVENTS:
    case FRAME_JOIN:
    case FRAME_REQUEST:
        lose(remote, "the pool manager sent a message of an unexpected kind");
        break;
    }
}

static void receive(struct remote *remote, const uint8_t *bytes, size_t length)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct frame frame;
    if (remote->gone) {
        return;
    }
    if (frame_parse(bytes, length, &frame, &err) != 0) {
        lose(remote, err.text);
        return;
    }
    remote->heard_ns = monotonic_ns();
    if (frame.kind == FRAME_EVENTS) {
        take_events(remote, &frame);
        return;
    }
    const void *body = frame_unpack(&frame, &remote->pm.arena, &err);
    if (body == NULL) {
        lose(remote, err.text);
    } else {
        take_body(remote, &frame, body);
    }
}

static void connection_opened(void *context, struct stream *stream)
{
    struct remote *remote = context;
    (void)stream;
    remote->pm.opened = true;
}

static void connection_received(void *context, struct stream *stream, const uint8_t *bytes,
                                size_t length)
{
    struct remote *remote = context;
    (void)stream;
    if (remote->pm.answered) {
        receive(remote, bytes, length);
    } else {
        pool_manager_hear(&remote->pm, bytes, length);
    }
}

static void connection_drained(void *context, struct stream *stream)
{
    (void)context, (void)stream;
}

static void connection_closed(void *context, struct stream *stream, int status)
{
    struct remote *remote = context;
    (void)stream;
    pool_manager_closed(&remote->pm, status);
    if (remote->pm.answered) {
        char text[160];
        (void)snprintf(text, sizeof text, "the connection to the pool manager ended: %s",
                       strerror(-status));
        lose(remote, text);
    }
}

/* ---- the progress thread */

/* Checks liveness and sends heartbeats. Returns the time of the next check. */
static int64_t check_liveness(struct remote *remote, int64_t now_ns)
{
    int64_t gap_ns = now_ns - remote->looked_ns;
    remote->looked_ns = now_ns;
    /* The thread wakes up for every heartbeat. After a gap this long this process itself was
     * stopped, so the pool manager is not to blame for the silence. */
    if (gap_ns >= remote->pm.silence_ns * 3 / 4) {
        remote->heard_ns += gap_ns;
    }
    if (remote->gone) {
        return INT64_MAX;
    }
    if (now_ns - remote->heard_ns >= remote->pm.silence_ns) {
        char text[120];
        (void)snprintf(text, sizeof text, "nothing was heard from the pool manager for %.1f s",
                       (double)remote->pm.silence_ns / 1e9);
        lose(remote, text);
        return INT64_MAX;
    }
    /* Heartbeats are sent in reply to those of the pool manager, so that an idle process wakes up
     * once for both directions. */
    int64_t quiet_ns = now_ns - remote->pm.link.sent_ns;
    if ((remote->answer_heartbeat && quiet_ns >= remote->pm.heartbeat_ns / 2) ||
        quiet_ns >= 2 * remote->pm.heartbeat_ns) {
        send_heartbeat(remote, NULL);
    }
    remote->answer_heartbeat = false;
    int64_t beat_ns = remote->pm.link.sent_ns + 2 * remote->pm.heartbeat_ns;
    int64_t silence_ns = remote->heard_ns + remote->pm.silence_ns;
    return VAMP_MIN(beat_ns, silence_ns);
}

/* Does the work that is due. Returns the time until further work is due. */
static int64_t advance(struct remote *remote, bool drained, int64_t now_ns)
{
    int64_t next_ns = fetch_advance(&remote->fetcher, now_ns);
    remote->busy_rounds++;
    if (drained) {
        remote->busy_rounds = 0;
    }
    if (remote->busy_rounds % BUSY_ROUNDS_MAX == 0 || remote->answer_heartbeat) {
        remote->look_ns = check_liveness(remote, now_ns);
    }
    next_ns = VAMP_MIN(next_ns, remote->look_ns);
    if (remote->exposed > 0 || !list_is_empty(&remote->transports)) {
        next_ns = VAMP_MIN(next_ns, now_ns + CARRIER_WAIT_LONGEST_NS);
    }
    return VAMP_MAX(next_ns, now_ns) - now_ns;
}

/* Ends all calls and reports the loss to the component, once. Waits until the last read has ended,
 * because callers may then free its memory. */
static void report_gone(struct remote *remote)
{
    const bool reads_have_ended =
        list_is_empty(&remote->fetcher.jobs) && list_is_empty(&remote->transports);
    if (!remote->gone || remote->gone_reported || !reads_have_ended) {
        return;
    }
    remote->gone_reported = true;
    calls_wake(&remote->calls);
    if (!remote->shut) {
        (void)pthread_mutex_unlock(&remote->lock);
        remote->events.gone(remote->events.context, MSTRO_NO_PM, remote->gone_text);
        (void)pthread_mutex_lock(&remote->lock);
    }
}

/* Runs one round. Returns the time until further work is due; negative: the thread must end. */
static int64_t go_round(struct remote *remote)
{
    const unsigned count = stream_poll(remote->pm.hub);
    const int64_t now_ns = monotonic_ns();
    acknowledge(remote, ACKNOWLEDGE_BATCHES);
    int64_t idle_ns = advance(remote, count == 0, now_ns);
    /* Messages are gathered only if nothing waits for an answer or for data. */
    const bool is_waited_on = remote->exposed > 0 || !list_is_empty(&remote->calls) ||
                              !list_is_empty(&remote->transports);
    const bool is_busy = count > 0 && now_ns - remote->received_ns < ROUNDS_GATHER_WITHIN_NS;
    remote->gathers = is_busy && !is_waited_on && !remote->gone;
    if (count > 0) {
        remote->received_ns = now_ns;
    }
    if (!list_is_empty(&remote->ended)) {
        idle_ns = 0;
    }
    const bool stop = remote->stop;
    finish_transports(remote);
    report_gone(remote);
    fetch_wait(&remote->fetcher, remote->waits_for, &idle_ns);
    return stop ? -1 : idle_ns;
}

static void *make_progress(void *argument)
{
    struct remote *remote = argument;
    int64_t idle_ns = 0;
    while (idle_ns >= 0) {
        (void)pthread_mutex_lock(&remote->lock);
        idle_ns = go_round(remote);
        const bool gathers = remote->gathers;
        (void)pthread_mutex_unlock(&remote->lock);
        if (idle_ns >= 0 && gathers) {
            stream_gather(remote->pm.hub);
        } else if (idle_ns > 0) {
            stream_wait(remote->pm.hub, remote->waits_for, idle_ns);
        }
    }
    return NULL;
}

/* ---- calls */

static mstro_status no_pool_manager(const struct remote *remote, struct vamp_err *err)
{
    return VAMP_REFUSE(MSTRO_NO_PM, err, -ENOTCONN, "%s",
                       remote->gone ? remote->gone_text : "this component is leaving");
}

static mstro_status send_and_wait(struct remote *remote, Mstro__Wire__Request *request,
                                  uint32_t deadline_ms, struct call *call, struct vamp_err *err)
{
    if (remote->gone || remote->shut) {
        return no_pool_manager(remote, err);
    }
    call->id = request->id = ++remote->last_request;
    int result = post(remote, FRAME_REQUEST, &request->base);
    if (result == -EMSGSIZE) {
        return VAMP_REFUSE(MSTRO_INVARG, err, result,
                           "a request (name, attributes, selector) is longer than the "
                           "%zu bytes a message may have",
                           FRAME_BYTES_MAX);
    }
    if (result != 0) {
        stream_wake(remote->pm.hub);
        return no_pool_manager(remote, err);
    }
    if (remote->gathers) {
        stream_wake(remote->pm.hub); /* makes the progress thread wait for the answer */
    }
    list_append(&remote->calls, &call->of_port);
    const struct timespec until = vamp_timespec(monotonic_ns() + (int64_t)deadline_ms * 1000000);
    result = 0;
    while (!call->done && !remote->gone_reported && !remote->shut && result != ETIMEDOUT) {
        if (deadline_ms == 0) {
            result = pthread_cond_wait(&call->answered, &remote->lock);
        } else {
            result =
                pthread_cond_clockwait(&call->answered, &remote->lock, CLOCK_MONOTONIC, &until);
        }
    }
    list_remove(&call->of_port);
    if (!call->done && !remote->gone_reported && !remote->shut) {
        return VAMP_REFUSE(MSTRO_TIMEOUT, err, -ETIMEDOUT,
                           "the pool manager does not answer within %.1f s",
                           (double)deadline_ms / 1e3);
    }
    if (!call->done) {
        return no_pool_manager(remote, err);
    }
    if (call->status != MSTRO_OK) {
        (void)vamp_err_set(err, -EIO, "%s", call->text);
    }
    return call->status;
}

static mstro_status remote_call(struct port *port, Mstro__Wire__Request *request,
                                uint32_t deadline_ms, struct port_answer *ret_answer,
                                struct vamp_err *err)
{
    struct remote *remote = as_remote(port);
    struct call call = {.answered = PTHREAD_COND_INITIALIZER};
    (void)pthread_mutex_lock(&remote->lock);
    mstro_status status = send_and_wait(remote, request, deadline_ms, &call, err);
    (void)pthread_mutex_unlock(&remote->lock);
    (void)pthread_cond_destroy(&call.answered);
    if (status == MSTRO_OK && ret_answer != NULL) {
        *ret_answer = call.answer;
    }
    return status;
}

static void remote_flow(struct port *port, uint64_t subscription, uint64_t number, bool hold)
{
    struct remote *remote = as_remote(port);
    Mstro__Wire__Flow flow = MSTRO__WIRE__FLOW__INIT;
    flow.subscription = subscription;
    flow.number = number;
    flow.hold = hold;
    (void)pthread_mutex_lock(&remote->lock);
    if (!remote->gone) {
        send_heartbeat(remote, &flow);
        stream_wake(remote->pm.hub); /* the progress thread may have to report a loss */
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

/* ---- memory */

/* Exposed memory, and the location at which others find it. */
struct exposed {
    struct carrier_memory memory;
    struct carrier_place place;
    Mstro__Wire__Place message;
};

static mstro_status remote_expose(struct port *port, void *address, uint64_t bytes,
                                  Mstro__Wire__Memory *ret_memory, void **ret_registration,
                                  struct vamp_err *err)
{
    struct remote *remote = as_remote(port);
    struct exposed *exposed = calloc(1, sizeof *exposed);
    if (exposed == NULL) {
        (void)vamp_err_set_errno(err, ENOMEM, "make memory readable for others");
        return MSTRO_NOMEM;
    }
    (void)pthread_mutex_lock(&remote->lock);
    const bool opens = remote->fetcher.own == NULL;
    (void)pthread_mutex_unlock(&remote->lock);
    struct carrier *carrier = NULL;
    int result = 0;
    if (opens) {
        result = fetch_open(&remote->fetcher, &carrier, err);
    }
    (void)pthread_mutex_lock(&remote->lock);
    if (result == 0) {
        result = fetch_expose(&remote->fetcher, carrier, address, bytes, &exposed->memory,
                              &exposed->place, err);
    }
    if (result == 0) {
        remote->exposed++;
    }
    (void)pthread_mutex_unlock(&remote->lock);
    if (result != 0) {
        free(exposed);
        return MSTRO_OFI_FAIL;
    }
    stream_wake(remote->pm.hub); /* from now on the progress thread serves the carrier */
    mstro__wire__place__init(&exposed->message);
    exposed->message.provider = exposed->place.provider;
    exposed->message.has_protocol = 1;
    exposed->message.protocol = exposed->place.protocol;
    exposed->message.address = frame_bytes(exposed->place.address, exposed->place.length);
    mstro__wire__memory__init(ret_memory);
    ret_memory->address = exposed->memory.address;
    ret_memory->key = exposed->memory.key;
    ret_memory->bytes = bytes;
    ret_memory->place = &exposed->message;
    *ret_registration = exposed;
    return MSTRO_OK;
}

static void remote_forget(struct port *port, void *registration)
{
    struct remote *remote = as_remote(port);
    struct exposed *exposed = registration;
    if (exposed != NULL) {
        (void)pthread_mutex_lock(&remote->lock);
        fetch_forget(&remote->fetcher, &exposed->memory);
        remote->exposed--;
        (void)pthread_mutex_unlock(&remote->lock);
        free(exposed);
    }
}

/* ---- open and close */

static void remote_shut(struct port *port)
{
    struct remote *remote = as_remote(port);
    (void)pthread_mutex_lock(&remote->lock);
    remote->shut = true;
    calls_wake(&remote->calls);
    (void)pthread_mutex_unlock(&remote->lock);
}

/* Sends the good-bye and waits until the pool manager has read it and closes the connection. The
 * thread has already ended. */
static void say_goodbye(struct remote *remote)
{
    Mstro__Wire__Goodbye goodbye = MSTRO__WIRE__GOODBYE__INIT;
    const int64_t end_ns = monotonic_ns() + GOODBYE_NS;
    remote->gone = true; /* stop receiving */
    (void)post(remote, FRAME_GOODBYE, &goodbye.base);
    while (remote->pm.link.stream != NULL && monotonic_ns() < end_ns) {
        stream_wait(remote->pm.hub, NULL, end_ns - monotonic_ns());
        (void)stream_poll(remote->pm.hub);
    }
}

static void remote_close(struct port *port)
{
    struct remote *remote = as_remote(port);
    if (remote->thread_started) {
        (void)pthread_mutex_lock(&remote->lock);
        remote->stop = true;
        (void)pthread_mutex_unlock(&remote->lock);
        stream_wake(remote->pm.hub);
        (void)pthread_join(remote->thread, NULL);
        (void)pthread_mutex_lock(&remote->lock);
        fetch_end(&remote->fetcher);
        finish_transports(remote);
        (void)pthread_mutex_unlock(&remote->lock);
    }
    if (remote->pm.answered && !remote->gone) {
        say_goodbye(remote);
    }
    remote->gone = true; /* its end is not an error */
    stream_hub_close(remote->pm.hub);
    vamp_decode_arena_done(&remote->pm.arena);
    credentials_close(remote->pm.credentials);
    (void)pthread_mutex_destroy(&remote->lock);
    free(remote);
}

static const struct port_ops remote_ops = {
    .call = remote_call,
    .flow = remote_flow,
    .expose = remote_expose,
    .forget = remote_forget,
    .shut = remote_shut,
    .close = remote_close,
};

mstro_status port_open_remote(const char *info, const struct port_member *member,
                              uint32_t deadline_ms, const struct port_events *events,
                              struct port **ret_port, struct vamp_err *err)
{
    struct remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL || vamp_decode_arena_init(&remote->pm.arena, FRAME_ARENA_BYTES, err) != 0) {
        free(remote);
        (void)vamp_err_set_errno(err, ENOMEM, "join the pool manager");
        return MSTRO_NOMEM;
    }
    remote->port.ops = &remote_ops;
    remote->events = *events;
    list_init(&remote->calls);
    list_init(&remote->transports);
    list_init(&remote->ended);
    remote->pm.handler = (struct stream_handler){.opened = connection_opened,
                                                 .received = connection_received,
                                                 .drained = connection_drained,
                                                 .closed = connection_closed,
                                                 .context = remote};
    (void)pthread_mutex_init(&remote->lock, NULL);
    (void)pthread_mutex_lock(&remote->lock);
    mstro_status status = MSTRO_INVARG;
    if (info_parse(info, &remote->pm.info, err) == 0) {
        status = pool_manager_join(&remote->pm, member, deadline_ms, err);
    }
    (void)pthread_mutex_unlock(&remote->lock);
    credentials_close(remote->pm.credentials);
    remote->pm.credentials = NULL;
    if (status == MSTRO_OK) {
        remote->port.app_id = remote->pm.app_id;
        char host[STREAM_HOST_BYTES] = STREAM_BIND_PRESET;
        (void)stream_host_towards(remote->pm.info.address, remote->pm.info.address_length, host);
        fetch_init(&remote->fetcher, remote->pm.info.provider, stream_bind_choice(NULL, host),
                   remote->pm.silence_ns);
        remote->heard_ns = remote->looked_ns = monotonic_ns();
        status = MSTRO_NOMEM;
        if (vamp_thread_start(&remote->thread, "maestro", make_progress, remote, err) == 0) {
            remote->thread_started = true;
            status = MSTRO_OK;
        }
    }
    if (status != MSTRO_OK) {
        remote_close(&remote->port);
        return status;
    }
    *ret_port = &remote->port;
    return MSTRO_OK;
}
