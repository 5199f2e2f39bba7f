/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outgoing half of a connection to one peer: numbers messages, posts them at once when it
 * can, else keeps them in a bounded queue in order. Both the pool manager (one link a component)
 * and a component (one link) use it. Under the lock of the fabric's owner.
 */
#ifndef MAESTRO_WIRE_LINK_H
#define MAESTRO_WIRE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/fabric.h"
#include "maestro/wire/frame.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"

/* Bytes of messages waiting for the provider to take them; a peer with more waiting is given up. */
#define LINK_QUEUE_BYTES ((size_t)4 << 20)
/* Posted and not completed: one peer cannot take all message buffers. */
#define LINK_IN_FLIGHT 32

struct link_message;

/* The clock of all times here and in the rooms above. */
static inline int64_t monotonic_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

struct link {
    struct fabric *fabric;
    fabric_peer peer;
    uint64_t session;             /* the sender's, in every message */
    uint64_t tag;                 /* of FABRIC_SENT */
    uint64_t sequence;            /* of the last message */
    uint64_t events_taken;        /* reported in every message */
    uint64_t events_acknowledged; /* as reported in the last message */
    struct link_message *first, *last;
    size_t queued_bytes;
    unsigned in_flight;
    int64_t sent_ns;  /* monotonic: when the last message was made */
    int64_t retry_ns; /* when to try the queue again */
    int64_t retry_step_ns;
};

/* 0; -ENOBUFS: the queue is full; -EMSGSIZE: the message is longer than the protocol allows;
 * -ENOMEM; another -errno: the peer cannot be reached. */
VAMP_MUST_CHECK int link_send(struct link *link, int64_t now_ns, enum frame_kind kind,
                              const ProtobufCMessage *body);
/* Fills a body of at most `size` bytes and returns its length, 0 for none. */
typedef size_t link_fill(void *context, uint8_t *body, size_t size);
/* Sends a FRAME_EVENTS whose body `fill` writes straight into the message. Only with an empty queue
 * (link_clear). 1: sent, 0: nothing to send, -EAGAIN: no buffer is
 * free now, other -errno as above. */
VAMP_MUST_CHECK int link_send_events(struct link *link, int64_t now_ns, link_fill *fill,
                                     void *context);
/* Nothing waits and more may be posted. */
bool link_clear(const struct link *link);
/* Posts waiting messages, if a retry is due. 0, or -errno: the peer cannot be reached. */
VAMP_MUST_CHECK int link_flush(struct link *link, int64_t now_ns);
/* To be called for each FABRIC_SENT with this link's tag. */
void link_sent(struct link *link);
/* Drops waiting messages. */
void link_done(struct link *link);

#endif
