/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/link.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_SHORTEST_NS INT64_C(50000)
#define RETRY_LONGEST_NS INT64_C(50000000)

struct link_message {
    struct link_message *next;
    size_t length;
    uint8_t bytes[];
};

static struct frame next_frame(struct link *link, enum frame_kind kind)
{
    return (struct frame){.session = link->session,
                          .sequence = link->sequence + 1,
                          .events_taken = link->events_taken,
                          .kind = kind};
}

static void record_sent(struct link *link, int64_t now_ns)
{
    link->sequence++;
    link->events_acknowledged = link->events_taken;
    link->sent_ns = now_ns;
}

static int enqueue(struct link *link, const uint8_t *bytes, size_t length)
{
    if (length > LINK_QUEUE_BYTES - link->queued_bytes) {
        return -ENOBUFS;
    }
    struct link_message *message = malloc(sizeof *message + length);
    if (message == NULL) {
        return -ENOMEM;
    }
    message->next = NULL;
    message->length = length;
    memcpy(message->bytes, bytes, length);
    if (link->last != NULL) {
        link->last->next = message;
    } else {
        link->first = message;
    }
    link->last = message;
    link->queued_bytes += length;
    return 0;
}

static void wait_before_retry(struct link *link, int64_t now_ns)
{
    link->retry_step_ns = link->retry_step_ns == 0 ? RETRY_SHORTEST_NS : link->retry_step_ns * 2;
    if (link->retry_step_ns > RETRY_LONGEST_NS) {
        link->retry_step_ns = RETRY_LONGEST_NS;
    }
    link->retry_ns = now_ns + link->retry_step_ns;
}

/* Posts a filled buffer. 0: taken; -EAGAIN: the caller keeps the buffer. */
static int post(struct link *link, int64_t now_ns, struct fabric_message *message, size_t offset,
                size_t length)
{
    int result = fabric_send(link->fabric, link->peer, message, offset, length, link->tag);
    if (result == 0) {
        link->in_flight++;
        link->retry_step_ns = 0;
        link->retry_ns = 0;
    } else if (result == -EAGAIN) {
        wait_before_retry(link, now_ns);
    }
    return result;
}

bool link_clear(const struct link *link)
{
    return link->first == NULL && link->in_flight < LINK_IN_FLIGHT;
}

/* Posts a message that is packed in a buffer, or queues a copy of it. Takes the buffer. */
static int post_or_queue(struct link *link, int64_t now_ns, struct fabric_message *message,
                         size_t offset, size_t length)
{
    int result = -EAGAIN;
    if (link_clear(link)) {
        result = post(link, now_ns, message, offset, length);
    }
    if (result == 0) {
        return 0;
    }
    if (result == -EAGAIN) {
        result = enqueue(link, fabric_message_bytes(message) + offset, length);
    }
    fabric_message_put(link->fabric, message);
    return result;
}

int link_send(struct link *link, int64_t now_ns, enum frame_kind kind, const ProtobufCMessage *body)
{
    struct frame frame = next_frame(link, kind);
    uint8_t spare[FRAME_BYTES_MAX];
    struct fabric_message *message = fabric_message_get(link->fabric);
    uint8_t *bytes = message != NULL ? fabric_message_bytes(message) : spare;
    size_t length = frame_pack(&frame, body, bytes, FRAME_BYTES_MAX);
    int result = 0;
    if (length == 0) {
        result = -EMSGSIZE;
        if (message != NULL) {
            fabric_message_put(link->fabric, message);
        }
    } else if (message != NULL) {
        result = post_or_queue(link, now_ns, message, 0, length);
    } else {
        result = enqueue(link, spare, length);
    }
    if (result == 0) {
        record_sent(link, now_ns);
    }
    return result;
}

int link_send_events(struct link *link, int64_t now_ns, link_fill *fill, void *context)
{
    struct fabric_message *message = fabric_message_get(link->fabric);
    if (message == NULL) {
        return -EAGAIN;
    }
    uint8_t *bytes = fabric_message_bytes(message);
    size_t body = fill(context, bytes + FRAME_HEAD_BYTES, FRAME_BYTES_MAX - FRAME_HEAD_BYTES);
    if (body == 0) {
        fabric_message_put(link->fabric, message);
        return 0;
    }
    struct frame frame = next_frame(link, FRAME_EVENTS);
    size_t begin = frame_head(&frame, body, bytes);
    int result = post_or_queue(link, now_ns, message, begin, FRAME_HEAD_BYTES - begin + body);
    if (result != 0) {
        return result;
    }
    record_sent(link, now_ns);
    return 1;
}

/* Posts the first of the queue. 0 posted; -EAGAIN later. */
static int post_first(struct link *link, int64_t now_ns)
{
    struct link_message *first = link->first;
    struct fabric_message *message = fabric_message_get(link->fabric);
    if (message == NULL) {
        wait_before_retry(link, now_ns);
        return -EAGAIN;
    }
    memcpy(fabric_message_bytes(message), first->bytes, first->length);
    int result = post(link, now_ns, message, 0, first->length);
    if (result != 0) {
        fabric_message_put(link->fabric, message);
        return result;
    }
    link->first = first->next;
    if (link->first == NULL) {
        link->last = NULL;
    }
    link->queued_bytes -= first->length;
    free(first);
    return 0;
}

int link_flush(struct link *link, int64_t now_ns)
{
    int result = 0;
    while (result == 0 && link->first != NULL && link->in_flight < LINK_IN_FLIGHT &&
           now_ns >= link->retry_ns) {
        result = post_first(link, now_ns);
    }
    return result == -EAGAIN ? 0 : result;
}

void link_sent(struct link *link)
{
    if (link->in_flight > 0) {
        link->in_flight--;
    }
    link->retry_ns = 0; /* there is room again */
}

void link_done(struct link *link)
{
    while (link->first != NULL) {
        struct link_message *message = link->first;
        link->first = message->next;
        free(message);
    }
    link->last = NULL;
    link->queued_bytes = 0;
}
