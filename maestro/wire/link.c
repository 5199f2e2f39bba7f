/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/link.h"

static struct frame next_frame(const struct link *link, enum frame_kind kind)
{
    return (struct frame){.events_taken = link->events_taken, .kind = kind};
}

static void send(struct link *link, int64_t now_ns, size_t length)
{
    stream_commit(link->stream, length);
    link->events_acknowledged = link->events_taken;
    link->sent_ns = now_ns;
}

bool link_clear(const struct link *link)
{
    int64_t since_ns;
    return link->stream != NULL && stream_waiting(link->stream, &since_ns) < LINK_EVENTS_BYTES;
}

int link_send(struct link *link, int64_t now_ns, enum frame_kind kind, const ProtobufCMessage *body)
{
    const struct frame frame = next_frame(link, kind);
    const size_t most = FRAME_HEAD_BYTES + protobuf_c_message_get_packed_size(body);
    if (link->stream == NULL) {
        return -EPIPE;
    }
    if (most > FRAME_BYTES_MAX) {
        return -EMSGSIZE;
    }
    uint8_t *bytes = stream_reserve(link->stream, most);
    if (bytes == NULL) {
        return -ENOBUFS;
    }
    send(link, now_ns, frame_pack(&frame, body, bytes, most));
    return 0;
}

int link_send_events(struct link *link, int64_t now_ns, link_fill *fill, void *context)
{
    const struct frame frame = next_frame(link, FRAME_EVENTS);
    if (link->stream == NULL) {
        return -EPIPE;
    }
    uint8_t *bytes = stream_reserve(link->stream, FRAME_BYTES_MAX);
    if (bytes == NULL) {
        return -ENOBUFS;
    }
    const size_t head = frame_head(&frame, 0, bytes);
    const size_t body = fill(context, bytes + head, FRAME_BYTES_MAX - head);
    if (body == 0) {
        return 0;
    }
    send(link, now_ns, frame_head(&frame, body, bytes) + body);
    return 1;
}
