/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared declarations of this module, the service of a pool manager. One lock, that of the local
 * port, protects everything here, including the pool. The server's thread holds the lock except
 * while it waits.
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

/* Maximum number of batches that a component has not yet acknowledged before sending stops:
 * sufficient for any rate within one round trip, and small enough that a stopped subscriber costs
 * 512 KiB. More batches are permitted if they are small and have less than
 * SERVER_WINDOW_SMALL_BYTES together, so that a thread that waits for a processor finds work. */
#define SERVER_WINDOW 32U
#define SERVER_WINDOW_SMALL 256U
#define SERVER_WINDOW_SMALL_BYTES (64U << 10)
/* More events than fit into a message of 16 KiB, and fewer than a component's limit. */
#define SERVER_BATCH_EVENTS ((size_t)256)
/* A subscriber that was sent nothing for this time receives the next event at once. Otherwise
 * events wait until this time has passed or the pool requests immediate delivery: each message
 * costs both sides about 10 wake-ups and system calls, regardless of its size. */
#define SERVER_BATCH_NS INT64_C(10000000)
/* A peer that has left is kept for this time, so that the last message reaches it. */
#define SERVER_LINGER_NS INT64_C(1000000000)
/* The same for a peer that vanished. */
#define SERVER_VANISHED_LINGER_NS INT64_C(200000000)
/* Maximum number of refused components whose links are still kept; further refusals are not
 * answered. */
#define SERVER_REFUSED_MAX 64U

/*
 * The requirements for joining: the pool manager's key, which the connection authenticates
 * (maestro/wire/secure.h), and, where the site requires it, a MUNGE credential. Under the lock of
 * the server.
 */
struct gate {
    bool open;                       /* any component may join: the key is public */
    struct credentials *credentials; /* MUNGE library, if every join requires a credential; NULL:
                                      * credentials are not required */
    struct secure_key key;
};

/* Uses the options `open` and `munge`. Returns 0 or -errno, also when munged does not answer.
 * gate_done may be called in both cases. */
VAMP_MUST_CHECK int gate_init(struct gate *gate, const struct server_options *options,
                              struct vamp_err *err);
/* A zero-initialised gate is fine. */
void gate_done(struct gate *gate);
/* Checks that the join has the required credential. Returns 0 or -errno, with a text for the
 * joining component. */
VAMP_MUST_CHECK int gate_check_credential(const struct gate *gate, struct stream *stream,
                                          const Mstro__Wire__Join *join, struct vamp_err *err);

/* Memory of the local component that is readable for the duration of one transport. */
struct server_loan {
    struct server_loan *next;
    uint64_t transport_id;
    struct carrier_memory memory;
};

enum server_peer_state {
    SERVER_PEER_JOINED,
    SERVER_PEER_ENDING /* not in the pool; only its link is kept for a limited time */
};

/* A component in another process. */
struct server_peer {
    struct map_link by_app;
    struct list_link of_server, of_work;
    struct list_link of_gathering; /* link in the list of peers with delayed events */
    enum server_peer_state state;
    bool events_waiting;
    bool emptying;   /* its events are due, and all its queues are emptied together, because the
                      * subscriptions must advance together */
    bool silent;     /* does not read: its queue is full; server_work dismisses the peer */
    bool leaving;    /* has requested to leave; a subscriber may delay the answer */
    uint64_t app_id; /* application id; 0: refused */
    struct carrier_place place; /* location of its payloads; length 0: it has offered none */
    struct link link;
    uint64_t batches_sent, batches_taken;
    uint32_t window_bytes; /* total size of the batches not yet acknowledged; their sizes follow */
    uint16_t window[SERVER_WINDOW_SMALL];
    int64_t heard_ns, batched_ns, end_ns;
    struct server_loan *loans;
};

/* The state of a repeated report: printed at the first occurrence, then at intervals (live.c). */
struct server_report {
    uint64_t count;
    int64_t time_ns;
};

enum server_phase { SERVER_RUNS, SERVER_DRAINS, SERVER_SAYS_GOODBYE, SERVER_ENDED };

struct server {
    struct port *port;
    struct pool *pool; /* valid between lock and unlock; always the same pool */
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
    int64_t gathered_ns;     /* time at which the events of the first of these peers are due */
    unsigned refused;        /* number of these peers that were refused */
    struct vamp_err refusal; /* reason of the last refused join */

    enum server_phase phase;
    int64_t phase_end_ns;
    int64_t check_ns;  /* time of the next liveness check */
    int64_t looked_ns; /* time of the last liveness check */
    void (*say)(const char *text);
    struct server_report requests_refused, joins_refused, joins_ignored;
    unsigned busy_rounds;
    int waits_for[FETCH_WAITS];
    atomic_bool stop;
    struct server_counts counts;
};

/* Schedules a liveness check for this time at the latest. */
static inline void server_look_by(struct server *server, int64_t time_ns)
{
    server->check_ns = VAMP_MIN(time_ns, server->check_ns);
}

/* peer.c */
struct server_peer *server_find_app(const struct server *server, uint64_t app_id);
void server_join(struct server *server, struct stream *stream, const Mstro__Wire__Join *join,
                 int version_result);
/* Removes the component from the pool, sends a good-bye with `text`, and keeps the link for a
 * limited time. */
void server_dismiss(struct server *server, struct server_peer *peer, enum vamp_leave_reason reason,
                    mstro_status status, const char *text);
/* Marks the component as having left: only its link is kept, for `linger_ns`. */
void server_peer_left(struct server *server, struct server_peer *peer, int64_t linger_ns);
/* Frees the peer at once. */
void server_peer_remove(struct server *server, struct server_peer *peer);
/* Sends a message; a peer that cannot be reached is dismissed. */
void server_send(struct server *server, struct server_peer *peer, enum frame_kind kind,
                 const ProtobufCMessage *body);
void server_put_to_work(struct server *server, struct server_peer *peer);
void server_return_loan(struct server *server, struct server_peer *peer, uint64_t transport_id);

/* outlet.c: output of the pool, and events. server_outlet_init must be called before the first peer
 * exists. */
void server_outlet_init(struct server *server);
/* Sends waiting output to the peers on the work list. Returns the latest time of the next call. */
int64_t server_work(struct server *server, int64_t now_ns);

/* live.c: heartbeats, unresponsive components, lingering peers, shutdown. */
/* Dismisses a component that does not answer or read, and reports the reason to the operator and to
 * the component. */
VAMP_PRINTF(3, 4)
void server_give_up(struct server *server, struct server_peer *peer, const char *why, ...);
int64_t server_look_after(struct server *server, int64_t now_ns);
