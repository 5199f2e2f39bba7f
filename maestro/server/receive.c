/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from components: checked, then passed to the pool. A bad one ends the connection of its
 * sender and affects no other component. */
#include "maestro/server/internal.h"

static void reject(struct server *server, struct server_peer *peer, const char *why)
{
    server_dismiss(server, peer, VAMP_LEAVE_PROTOCOL, MSTRO_INVMSG, why);
}

static void take_request(struct server *server, struct server_peer *peer,
                         const Mstro__Wire__Request *request)
{
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT__NOT_SET) {
        reject(server, peer, "a request asks for nothing");
        return;
    }
    server->counts.requests++;
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END) {
        server_return_loan(server, peer, request->transport_end->transport_id);
    }
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_LEAVE) {
        peer->leaving = true;
    }
    pool_request(server->pool, peer->app_id, request);
}

static void take_flow(struct server *server, const struct server_peer *peer,
                      const Mstro__Wire__Flow *flow)
{
    if (flow != NULL) {
        pool_flow(server->pool, peer->app_id, flow->subscription, flow->number, flow->hold);
    }
}

static void take_body(struct server *server, struct server_peer *peer, const struct frame *frame,
                      const void *body)
{
    switch (frame->kind) {
    case FRAME_REQUEST:
        take_request(server, peer, body);
        break;
    case FRAME_HEARTBEAT: /* often its arrival is enough */
        take_flow(server, peer, ((const Mstro__Wire__Heartbeat *)body)->flow);
        break;
    case FRAME_GOODBYE: /* it closes without having left */
        server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_NO_PM, "good-bye");
        break;
    case FRAME_JOIN:
    case FRAME_WELCOME:
    case FRAME_RESPONSE:
    case FRAME_TICKET:
    case FRAME_EVENTS:
        reject(server, peer, "a message of a kind that components do not send");
        break;
    }
}

/* What every message of a joined component contains in addition to its body. False: the peer is
 * gone. */
static bool take_head(struct server *server, struct server_peer *peer, const struct frame *frame)
{
    peer->heard_ns = server_now();
    if (frame->sequence <= peer->received_sequence) {
        return false; /* a copy; occurs after a reconnection */
    }
    if (frame->sequence != peer->received_sequence + 1) {
        server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_OFI_FAIL,
                       "messages to the pool manager were lost");
        return false;
    }
    peer->received_sequence = frame->sequence;
    if (frame->events_taken > peer->batches_sent || frame->events_taken < peer->batches_taken) {
        reject(server, peer, "an acknowledgement of events that were not sent");
        return false;
    }
    if (frame->events_taken > peer->batches_taken) {
        peer->batches_taken = frame->events_taken;
        if (peer->emptying) {
            server_put_to_work(server, peer);
        }
    }
    return true;
}

static void take_frame(struct server *server, const struct frame *frame, int version_result)
{
    struct server_peer *peer = server_find_session(server, frame->session);
    if (peer == NULL && frame->kind != FRAME_JOIN) {
        server->counts.protocol_errors++; /* not joined, or given up: it notices that itself */
        return;
    }
    if (peer != NULL && peer->state == SERVER_PEER_ENDING) {
        if (frame->kind == FRAME_GOODBYE) {
            peer->end_ns = 0;
            server_look_by(server, 0);
        } else {
            server->counts.late++;
        }
        return;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    const void *body = frame_unpack(frame, &server->arena, &err);
    if (body == NULL) {
        if (peer != NULL) {
            reject(server, peer, err.text);
        } else {
            server->counts.protocol_errors++;
        }
    } else if (frame->kind == FRAME_JOIN) {
        server_join(server, frame, body, version_result);
    } else if (take_head(server, peer, frame)) {
        take_body(server, peer, frame, body);
    }
}

void server_receive(struct server *server, const struct fabric_event *event)
{
    struct frame frame;
    int result = frame_parse(event->bytes, event->length, &frame, NULL);
    /* Envelope and Join keep their layout in all versions, so that a join of another version can be
     * refused with a text. */
    if (result == 0 || (result == -EPROTO && frame.kind == FRAME_JOIN)) {
        take_frame(server, &frame, result);
    } else {
        server->counts.protocol_errors++; /* the sender is not known */
    }
}
