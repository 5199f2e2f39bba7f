/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that talks to a pool manager without the client library: an endpoint that sends any
 * bytes. */
#ifndef TESTS_UNIT_WIRE_RAW_PEER_H
#define TESTS_UNIT_WIRE_RAW_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "maestro/wire/auth.h"
#include "maestro/wire/fabric.h"
#include "maestro/wire/frame.h"
#include "maestro/wire/info.h"
#include "vampire/core/clock.h"

struct raw_peer {
    struct fabric *fabric;
    struct info info; /* the pool manager's */
    fabric_peer peer;
    uint64_t session, sequence;
    int64_t patience_ns; /* for one message */
    bool challenged;     /* the next is known; it is read once */
    struct auth_challenge challenge;
    struct auth_proof proof; /* of the last join */
};

static inline void raw_peer_open(struct raw_peer *peer, const char *info, uint64_t session)
{
    struct vamp_err err = VAMP_ERR_NONE;
    *peer = (struct raw_peer){.session = session, .patience_ns = 5 * VAMP_NS_PER_SECOND};
    assert_int_equal(0, info_parse(info, &peer->info, &err));
    const struct fabric_kind kind = {peer->info.provider, peer->info.protocol};
    assert_int_equal(0, fabric_open(&kind, NULL, &peer->fabric, &err));
    assert_int_equal(0, fabric_peer_add(peer->fabric, peer->info.address, peer->info.address_length,
                                        &peer->peer, &err));
}

static inline void raw_peer_close(struct raw_peer *peer)
{
    fabric_close(peer->fabric);
}

/* Posts the bytes and waits until they are gone. False: the pool manager does not take them. */
static inline bool raw_peer_send(struct raw_peer *peer, const uint8_t *bytes, size_t length)
{
    struct fabric_event events[FABRIC_EVENTS];
    struct fabric_message *message = fabric_message_get(peer->fabric);
    assert_non_null(message);
    uint8_t *posted = fabric_message_bytes(message);
    /* It does not see that the callers fill theirs through a pointer. */
    // cppcheck-suppress uninitvar
    memcpy(posted, bytes, length);
    int result = -EAGAIN;
    bool sent = false;
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + peer->patience_ns;
    while (!sent && vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns) {
        if (result == -EAGAIN) {
            result = fabric_send(peer->fabric, peer->peer, message, 0, length, 1);
        }
        int count = fabric_poll(peer->fabric, events);
        for (int k = 0; k < count; k++) {
            if (events[k].kind == FABRIC_SENT && events[k].status != 0) {
                return false; /* the connection broke */
            }
            sent = sent || events[k].kind == FABRIC_SENT;
            if (events[k].kind == FABRIC_RECEIVED) {
                fabric_release(peer->fabric, &events[k]);
            }
        }
        if (!sent && count == 0) {
            fabric_wait(peer->fabric, NULL, 1000000);
        }
    }
    return sent;
}

static inline bool raw_peer_say(struct raw_peer *peer, enum frame_kind kind,
                                const ProtobufCMessage *body)
{
    uint8_t bytes[FRAME_BYTES_MAX];
    const struct frame frame = {
        .session = peer->session, .sequence = ++peer->sequence, .kind = kind};
    return raw_peer_send(peer, bytes, frame_pack(&frame, body, bytes, sizeof bytes));
}

/* Reads the pool manager's challenge. False: it cannot be read. */
static inline bool raw_peer_read_challenge(struct raw_peer *peer, struct auth_challenge *challenge)
{
    struct fabric_event events[FABRIC_EVENTS];
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + peer->patience_ns;
    int result = -EAGAIN;
    while (vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns) {
        if (result == -EAGAIN) {
            result =
                fabric_read(peer->fabric, peer->peer, peer->info.challenge.address,
                            peer->info.challenge.key, challenge->bytes, sizeof challenge->bytes, 2);
        }
        int count = fabric_poll(peer->fabric, events);
        int ended = 1;
        for (int k = 0; k < count; k++) {
            if (events[k].kind == FABRIC_RECEIVED) {
                fabric_release(peer->fabric, &events[k]);
            } else if (events[k].kind == FABRIC_READ) {
                ended = events[k].status;
            }
        }
        if (ended <= 0) {
            return ended == 0;
        }
        fabric_wait(peer->fabric, NULL, 1000000);
    }
    return false;
}

/* Says the join with the proof that it knows the key, where one is asked for. */
/* Waits until the pool manager has received all that was sent: what it answers to a read comes
 * after that, on the same connection. Without it, closing discards what is still on this side. */
static inline void raw_peer_flush(struct raw_peer *peer)
{
    struct auth_challenge challenge;
    assert_true(raw_peer_read_challenge(peer, &challenge));
}

static inline bool raw_peer_join_proven(struct raw_peer *peer, Mstro__Wire__Join *join)
{
    struct auth_proof *proof = &peer->proof;
    if (peer->info.keyed) {
        assert_int_equal(0, auth_init(NULL));
        if (!peer->challenged && !raw_peer_read_challenge(peer, &peer->challenge)) {
            return false;
        }
        peer->challenged = true;
        auth_prove_join(&peer->info.key, &peer->challenge, peer->session, join, proof);
        join->has_proof = 1;
        join->proof = (ProtobufCBinaryData){.len = sizeof proof->bytes, .data = proof->bytes};
    }
    return raw_peer_say(peer, FRAME_JOIN, &join->base);
}

/* `address` NULL: its own. */
static inline bool raw_peer_join(struct raw_peer *peer, const char *workflow, const char *name,
                                 const uint8_t *address, size_t length)
{
    char flow[64];
    char component[FRAME_BYTES_MAX];
    uint8_t own[FABRIC_ADDRESS_BYTES];
    (void)snprintf(flow, sizeof flow, "%s", workflow);
    (void)snprintf(component, sizeof component, "%s", name);
    address = address != NULL ? address : fabric_address(peer->fabric, &length);
    memcpy(own, address, length);
    Mstro__Wire__Join join = MSTRO__WIRE__JOIN__INIT;
    join.workflow = flow;
    join.component = component;
    join.address = (ProtobufCBinaryData){.len = length, .data = own};
    join.pool_session = peer->info.session;
    return raw_peer_join_proven(peer, &join);
}

#endif
