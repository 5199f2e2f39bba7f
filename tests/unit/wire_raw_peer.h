/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that talks to a pool manager without the client library: a connection that sends any
 * bytes. All of one process share a hub; one thread. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "maestro/wire/frame.h"
#include "maestro/wire/info.h"
#include "maestro/wire/stream.h"
#include "vampire/core/clock.h"

struct raw_peer {
    struct info info; /* the pool manager's */
    struct stream *stream;
    bool opened;
    int closed;         /* why there is no connection; 0: there may be one */
    unsigned responses; /* and welcomes */
    int64_t patience_ns;
};

static struct stream_hub *raw_peer_hub;

static void raw_peer_opened(void *context, struct stream *stream)
{
    (void)context;
    ((struct raw_peer *)stream_owner(stream))->opened = true;
}

static void raw_peer_received(void *context, struct stream *stream, const uint8_t *bytes,
                              size_t length)
{
    struct raw_peer *peer = stream_owner(stream);
    struct frame frame;
    (void)context;
    if (frame_parse(bytes, length, &frame, NULL) == 0) {
        peer->responses += frame.kind == FRAME_RESPONSE || frame.kind == FRAME_WELCOME ? 1U : 0U;
    }
}

static void raw_peer_drained(void *context, struct stream *stream)
{
    (void)context, (void)stream;
}

static void raw_peer_closed(void *context, struct stream *stream, int status)
{
    struct raw_peer *peer = stream_owner(stream);
    (void)context;
    peer->closed = status;
    peer->stream = NULL;
}

/* Goes on for a moment. False: the peer's patience has ended. */
static inline bool raw_peer_turn(const struct raw_peer *peer, int64_t since_ns)
{
    if (stream_poll(raw_peer_hub) == 0) {
        stream_wait(raw_peer_hub, NULL, 10000000);
    }
    return vamp_clock_monotonic_ns(&vamp_clock_system) - since_ns < peer->patience_ns;
}

/* `key` NULL: the pool manager's own. False: the connection has ended before it was one. */
static inline bool raw_peer_connect(struct raw_peer *peer, const char *info,
                                    const struct secure_key *key)
{
    static const struct stream_handler handler = {.opened = raw_peer_opened,
                                                  .received = raw_peer_received,
                                                  .drained = raw_peer_drained,
                                                  .closed = raw_peer_closed};
    struct vamp_err err = VAMP_ERR_NONE;
    *peer = (struct raw_peer){.patience_ns = 20 * VAMP_NS_PER_SECOND};
    if (raw_peer_hub == NULL) {
        assert_int_equal(0, stream_hub_open(&handler, &raw_peer_hub, &err));
    }
    assert_int_equal(0, info_parse(info, &peer->info, &err));
    const int64_t since_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    assert_int_equal(0,
                     stream_connect(raw_peer_hub, key != NULL ? key : &peer->info.key,
                                    peer->info.address, peer->info.address_length, &peer->stream));
    stream_set_owner(peer->stream, peer);
    while (!peer->opened && peer->closed == 0 && raw_peer_turn(peer, since_ns)) {
    }
    if (peer->opened && peer->stream != NULL) {
        stream_admit(peer->stream);
    }
    return peer->opened;
}

static inline void raw_peer_open(struct raw_peer *peer, const char *info)
{
    bool opened = false;
    for (unsigned i = 0; i < 5 && !opened; i++) { /* others may crowd the door */
        opened = raw_peer_connect(peer, info, NULL);
    }
    assert_true(opened);
}

static inline void raw_peer_close(struct raw_peer *peer)
{
    if (peer->stream != NULL) {
        stream_close(peer->stream);
        peer->stream = NULL;
    }
}

/* Sends a frame and waits until it is gone. False: the connection has ended. */
static inline bool raw_peer_send(struct raw_peer *peer, const uint8_t *bytes, size_t length)
{
    int64_t taken_ns;
    const int64_t since_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    uint8_t *room = peer->stream != NULL ? stream_reserve(peer->stream, length) : NULL;
    if (room == NULL) {
        return false;
    }
    memcpy(room, bytes, length);
    stream_commit(peer->stream, length);
    stream_flush(peer->stream);
    while (peer->stream != NULL && stream_waiting(peer->stream, &taken_ns) > 0 &&
           raw_peer_turn(peer, since_ns)) {
    }
    return peer->stream != NULL && stream_waiting(peer->stream, &taken_ns) == 0;
}

static inline bool raw_peer_say(struct raw_peer *peer, enum frame_kind kind,
                                const ProtobufCMessage *body)
{
    uint8_t bytes[FRAME_BYTES_MAX];
    const struct frame frame = {.kind = kind};
    const size_t length = frame_pack(&frame, body, bytes, sizeof bytes);
    return raw_peer_send(peer, bytes, length);
}

/* Waits for so many welcomes and responses in all, or the end. False: neither came. */
static inline bool raw_peer_await(struct raw_peer *peer, unsigned responses)
{
    const int64_t since_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    bool goes_on = true;
    while (peer->responses < responses && peer->closed == 0 && goes_on) {
        goes_on = raw_peer_turn(peer, since_ns);
    }
    return goes_on;
}

static inline bool raw_peer_join(struct raw_peer *peer, const char *workflow, const char *name)
{
    char flow[64];
    char component[FRAME_BYTES_MAX];
    (void)snprintf(flow, sizeof flow, "%s", workflow);
    (void)snprintf(component, sizeof component, "%s", name);
    Mstro__Wire__Join join = MSTRO__WIRE__JOIN__INIT;
    join.workflow = flow;
    join.component = component;
    join.pool_session = peer->info.session;
    return raw_peer_say(peer, FRAME_JOIN, &join.base);
}
