/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outgoing half of a connection: queues messages of the pool protocol in a stream and adds the
 * fields common to all messages. Used by the pool manager (one link for each component) and by
 * components (one link). Under the lock of the stream's hub.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/frame.h"
#include "maestro/wire/stream.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"

/* Events are held back while this many bytes wait in the stream, so that other messages overtake
 * them. */
#define LINK_EVENTS_BYTES ((size_t)65536)

/* The clock of all times here and in the layers above. */
static inline int64_t monotonic_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

struct link {
    struct stream *stream; /* NULL: the stream has ended */
    uint64_t events_taken; /* number of consumed batches of events, reported in every message */
    uint64_t events_acknowledged; /* `events_taken` as reported in the last message */
    int64_t sent_ns;              /* time of the last message, monotonic */
};

/* Queues a message. Returns 0: queued in the stream (see stream_flush); -ENOBUFS: the queue is
 * full, or out of memory; -EMSGSIZE: longer than the protocol permits; -EPIPE: the stream has
 * ended. */
VAMP_MUST_CHECK int link_send(struct link *link, int64_t now_ns, enum frame_kind kind,
                              const ProtobufCMessage *body);
/* Writes a body of at most `size` bytes and returns its length; 0: no body. */
typedef size_t link_fill(void *context, uint8_t *body, size_t size);
/* Queues a FRAME_EVENTS, whose body `fill` writes directly into the queue. Returns 1: queued; 0:
 * `fill` had no events; -EPIPE or -ENOBUFS as for link_send. */
VAMP_MUST_CHECK int link_send_events(struct link *link, int64_t now_ns, link_fill *fill,
                                     void *context);
/* Returns whether events may be sent now. */
bool link_clear(const struct link *link);
