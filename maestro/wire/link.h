/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outgoing half of a connection: puts messages of the pool protocol into the queue of a stream,
 * with the fields that every message has. Used by the pool manager (one link for each component)
 * and by components (one link). Under the lock of the stream's hub.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/frame.h"
#include "maestro/wire/stream.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"

/* Events stay queued while so many bytes wait in the stream: other messages overtake them. */
#define LINK_EVENTS_BYTES ((size_t)65536)

/* The clock of all times here and in the layers above. */
static inline int64_t monotonic_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

struct link {
    struct stream *stream;        /* NULL: it has ended */
    uint64_t events_taken;        /* reported in every message */
    uint64_t events_acknowledged; /* as reported in the last message */
    int64_t sent_ns;              /* monotonic time of the last message */
};

/* 0: in the stream's queue (stream_flush); -ENOBUFS: that is full, or there is no memory;
 * -EMSGSIZE: the message is longer than the protocol allows; -EPIPE: the stream has ended. */
VAMP_MUST_CHECK int link_send(struct link *link, int64_t now_ns, enum frame_kind kind,
                              const ProtobufCMessage *body);
/* Fills a body of at most `size` bytes and returns its length, 0 for none. */
typedef size_t link_fill(void *context, uint8_t *body, size_t size);
/* Puts a FRAME_EVENTS into the queue, whose body `fill` writes in place. 1: done, 0: nothing to
 * send, -errno as above. */
VAMP_MUST_CHECK int link_send_events(struct link *link, int64_t now_ns, link_fill *fill,
                                     void *context);
/* Whether events may be sent now. */
bool link_clear(const struct link *link);
