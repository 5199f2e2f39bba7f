/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from the pool manager. */
#include "maestro/client/remote_internal.h"

static void lose(struct remote *remote, const char *text)
{
    (void)pthread_mutex_lock(&remote->lock);
    remote_lose(remote, text);
    (void)pthread_mutex_unlock(&remote->lock);
}

static void take_response(struct remote *remote, const Mstro__Wire__Response *response)
{
    (void)pthread_mutex_lock(&remote->lock);
    calls_answer(&remote->calls, response);
    (void)pthread_mutex_unlock(&remote->lock);
}

void remote_acknowledge(struct remote *remote, unsigned batches)
{
    struct link *link = &remote->link;
    if (link->events_taken - link->events_acknowledged < batches || remote->gone) {
        return;
    }
    Mstro__Wire__Heartbeat heartbeat = MSTRO__WIRE__HEARTBEAT__INIT;
    if (link_send(link, remote_now(), FRAME_HEARTBEAT, &heartbeat.base) != 0) {
        remote_lose(remote, "the pool manager cannot be reached");
    }
}

static void take_events(struct remote *remote, const struct frame *frame)
{
    const struct port_events *events = &remote->events;
    struct vamp_err err = VAMP_ERR_NONE;
    if (events->events(events->context, frame->body, frame->body_length, &err) != 0) {
        lose(remote, err.text);
        return;
    }
    (void)pthread_mutex_lock(&remote->lock);
    remote->link.events_taken++;
    remote_acknowledge(remote, REMOTE_ACKNOWLEDGE_AT_ONCE);
    (void)pthread_mutex_unlock(&remote->lock);
}

static void take_goodbye(struct remote *remote, const Mstro__Wire__Goodbye *goodbye)
{
    (void)pthread_mutex_lock(&remote->lock);
    bool has_text = goodbye->text != NULL && goodbye->text[0] != '\0';
    remote_lose(remote, has_text ? goodbye->text : "the pool manager said good-bye");
    Mstro__Wire__Goodbye answer = MSTRO__WIRE__GOODBYE__INIT;
    /* the pool manager waits for this only briefly, so a failure does not matter */
    (void)!link_send(&remote->link, remote_now(), FRAME_GOODBYE, &answer.base);
    (void)pthread_mutex_unlock(&remote->lock);
}

/* True: a message to handle. */
static bool take_head(struct remote *remote, const struct frame *frame)
{
    (void)pthread_mutex_lock(&remote->lock);
    remote->heard_ns = remote_now();
    bool next = frame->sequence == remote->received_sequence + 1;
    if (next) {
        remote->received_sequence = frame->sequence;
    } else if (frame->sequence > remote->received_sequence) {
        remote_lose(remote, "messages of the pool manager were lost");
    }
    bool take = next && !remote->gone;
    (void)pthread_mutex_unlock(&remote->lock);
    return take;
}

static void take_body(struct remote *remote, const struct frame *frame, const void *body)
{
    switch (frame->kind) {
    case FRAME_RESPONSE:
        take_response(remote, body);
        break;
    case FRAME_TICKET:
        remote_ticket(remote, frame);
        break;
    case FRAME_HEARTBEAT:
        (void)pthread_mutex_lock(&remote->lock);
        remote->answer_heartbeat = true;
        (void)pthread_mutex_unlock(&remote->lock);
        break;
    case FRAME_GOODBYE:
        take_goodbye(remote, body);
        break;
    case FRAME_WELCOME: /* a second one, after a repeated join */
        break;
    case FRAME_EVENTS:
    case FRAME_JOIN:
    case FRAME_REQUEST:
        lose(remote, "the pool manager sent a message of a kind that it does not send");
        break;
    }
}

void remote_receive(struct remote *remote, const struct fabric_event *event)
{
    struct frame frame;
    if (frame_parse(event->bytes, event->length, &frame, NULL) != 0 ||
        frame.session != remote->info.session || !take_head(remote, &frame)) {
        return; /* from another sender, or from an earlier pool manager at this address */
    }
    if (frame.kind == FRAME_EVENTS) {
        take_events(remote, &frame);
        return;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    const void *body = frame_unpack(&frame, &remote->arena, &err);
    if (body == NULL) {
        lose(remote, err.text);
        return;
    }
    take_body(remote, &frame, body);
}
