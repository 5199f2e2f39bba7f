/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this module share: the service of a pool manager. One lock guards everything
 * here, the pool included: the local port's. The server's thread holds it except while it waits.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "maestro/client/port_local.h"
#include "maestro/pool/pool.h"
#include "maestro/server/server.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/fetch.h"
#include "maestro/wire/frame.h"
#include "maestro/wire/info.h"
#include "maestro/wire/link.h"
#include "maestro/wire/stream.h"
#include "vampire/core/list.h"
#include "vampire/core/map.h"
#include "vampire/core/protobuf/arena.h"
#include "vampire/core/values.h"

/* Batches a component may have unread before no more are sent: enough for any rate within one round
 * trip, and little enough that a stopped subscriber costs 512 KiB. Of small ones there may be more,
 * so that a thread that waits for a processor finds work: as long as they have together less than
 * this. */
#define SERVER_WINDOW 32U
#define SERVER_WINDOW_SMALL 256U
#define SERVER_WINDOW_SMALL_BYTES (64U << 10)
/* More than fit into a message of 16 KiB, and fewer than a component accepts. */
#define SERVER_BATCH_EVENTS ((size_t)256)
/* A subscriber to which nothing was sent for this time gets an event at once. Otherwise events wait
 * until this time has passed or the pool asks for them at once: each message costs both sides some
 * 10 wake-ups and system calls, whatever its size. */
#define SERVER_BATCH_NS INT64_C(10000000)
/* A peer that has ended is kept this long, so that the last message reaches it. */
#define SERVER_LINGER_NS INT64_C(1000000000)
/* The same for one that vanished. */
#define SERVER_VANISHED_LINGER_NS INT64_C(200000000)
/* Refused components whose links are still kept, at most; further refusals are not answered. */
#define SERVER_REFUSED_MAX 64U

/*
 * What a component needs to join: the pool manager's key, which its connection proves
 * (maestro/wire/secure.h), and, where the site requires it, a MUNGE credential. Under the lock of
 * the server.
 */
struct gate {
    bool open;                       /* any component may join: the key is no secret */
    struct credentials *credentials; /* of MUNGE, which every join needs; NULL: none does */
    struct secure_key key;
};

/* Uses the options `open` and `munge`. 0 or -errno, also when munged does not answer; gate_done may
 * follow in both cases. */
VAMP_MUST_CHECK int gate_init(struct gate *gate, const struct server_options *options,
                              struct vamp_err *err);
/* The gate may be zeroed. */
void gate_done(struct gate *gate);
/* Whether the join has the credential that it needs. 0 or -errno, with a text for its sender. */
VAMP_MUST_CHECK int gate_check_credential(const struct gate *gate, struct stream *stream,
                                          const Mstro__Wire__Join *join, struct vamp_err *err);

/* Memory of the local component, readable for the time of one transport. */
struct server_loan {
    struct server_loan *next;
    uint64_t transport_id;
    struct carrier_memory memory;
};

enum server_peer_state {
    SERVER_PEER_JOINED,
    SERVER_PEER_ENDING /* no longer in the pool, or never was; only its link is kept for a while */
};

/* A component in another process. */
struct server_peer {
    struct map_link by_app;
    struct list_link of_server, of_work;
    struct list_link of_gathering; /* its events wait for others */
    enum server_peer_state state;
    bool events_waiting;
    bool emptying;   /* its events are due, and all queues are emptied in one go: subscriptions must
                        advance together */
    bool silent;     /* does not read: its queue is full; server_work dismisses it */
    bool leaving;    /* has asked to leave; a subscriber may delay the answer */
    uint64_t app_id; /* 0: refused */
    struct carrier_place place; /* where it offers payloads; no length: it has offered none */
    struct link link;
    uint64_t batches_sent, batches_taken;
    uint32_t window_bytes; /* of the batches that were not taken, whose sizes are here */
    uint16_t window[SERVER_WINDOW_SMALL];
    int64_t heard_ns, batched_ns, end_ns;
    struct server_loan *loans;
};

/* The last report of a count: reported at its first case, then at intervals (live.c). */
struct server_report {
    uint64_t count;
    int64_t time_ns;
};

enum server_phase { SERVER_RUNS, SERVER_DRAINS, SERVER_SAYS_GOODBYE, SERVER_ENDED };

struct server {
    struct port *port;
    struct pool *pool; /* valid between lock and unlock; does not change */
    struct stream_hub *hub;
    struct stream_handler handler;
    struct fetcher fetcher;
    struct vamp_decode_arena arena;
    struct port_service service;
    struct pool_outlet outlet;
    pthread_t thread;
    struct gate gate;
    struct info info;
    char info_text[INFO_TEXT_BYTES];
    int64_t heartbeat_ns, silence_ns, acknowledge_ns, tell_use_ns, told_ns;
    size_t events_per_message;

    struct map by_app;
    struct list all, work, gathering;
    int64_t gathered_ns;  /* when the events of the first of them are due */
    unsigned refused;     /* of these, those that were refused */
    mstro_status refusal; /* of the last join that was refused */

    enum server_phase phase;
    int64_t phase_end_ns;
    int64_t check_ns;  /* when liveness is checked next */
    int64_t looked_ns; /* when it was last checked */
    void (*say)(const char *text);
    struct server_report requests_refused, joins_refused, joins_ignored;
    unsigned busy_rounds;
    int waits_for[FETCH_WAITS];
    atomic_bool stop;
    struct server_counts counts;
};

/* Liveness is checked at this time at the latest. */
static inline void server_look_by(struct server *server, int64_t time_ns)
{
    server->check_ns = VAMP_MIN(time_ns, server->check_ns);
}

/* peer.c */
struct server_peer *server_find_app(const struct server *server, uint64_t app_id);
void server_join(struct server *server, struct stream *stream, const Mstro__Wire__Join *join,
                 int version_result);
/* Removes the component from the pool, sends a good-bye with `text` and lets the link linger. */
void server_dismiss(struct server *server, struct server_peer *peer, enum vamp_leave_reason reason,
                    mstro_status status, const char *text);
/* The component has left: from now on only the link is kept, for a limited time. */
void server_peer_left(struct server *server, struct server_peer *peer, int64_t linger_ns);
/* Frees the peer at once. */
void server_peer_remove(struct server *server, struct server_peer *peer);
/* Sends; a peer that cannot be reached is dismissed. */
void server_send(struct server *server, struct server_peer *peer, enum frame_kind kind,
                 const ProtobufCMessage *body);
void server_put_to_work(struct server *server, struct server_peer *peer);
void server_return_loan(struct server *server, struct server_peer *peer, uint64_t transport_id);

/* outlet.c: messages of the pool, and events. The init comes before the first peer. */
void server_outlet_init(struct server *server);
/* Sends what waits for the peers on the work list. Returns when to call again at the latest. */
int64_t server_work(struct server *server, int64_t now_ns);

/* live.c: heartbeats, silence, lingering peers, shutdown. */
/* Dismisses a component that does not answer or read; reports that to the operator and to it. */
VAMP_PRINTF(3, 4)
void server_give_up(struct server *server, struct server_peer *peer, const char *why, ...);
int64_t server_look_after(struct server *server, int64_t now_ns);
