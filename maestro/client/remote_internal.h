/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the remote_*.c files share: a component's connection to a pool manager. One lock guards
 * everything; the progress thread holds it neither while it waits nor during a callback.
 */
#ifndef MAESTRO_CLIENT_REMOTE_INTERNAL_H
#define MAESTRO_CLIENT_REMOTE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "maestro/client/call.h"
#include "maestro/client/port.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/fabric.h"
#include "maestro/wire/fetch.h"
#include "maestro/wire/frame.h"
#include "maestro/wire/info.h"
#include "maestro/wire/link.h"
#include "vampire/core/list.h"
#include "vampire/core/protobuf/arena.h"

/* Batches of events received before the pool manager is notified: a quarter of its window at the
 * end of a round, half of it within a round, so that it has not all been used when the notice
 * comes. */
#define REMOTE_ACKNOWLEDGE_BATCHES 8U
#define REMOTE_ACKNOWLEDGE_AT_ONCE 16U

/* A payload being read into this process. */
struct remote_transport {
    struct list_link of_remote; /* until it is finished */
    struct list_link of_ended;  /* once the reading has ended */
    struct remote *remote;
    Mstro__Wire__Ticket *ticket;
    mstro_status status;
};

struct remote {
    struct port port;
    pthread_mutex_t lock;
    pthread_t thread;
    bool answered; /* by a welcome, be it a refusal */
    bool thread_started, stop, shut;
    bool gone;          /* nothing is sent any more */
    bool gone_reported; /* calls in progress have ended, and events.gone was called */
    char gone_text[VAMP_ERR_TEXT_BYTES];
    struct info info; /* the pool manager's */
    struct fabric *fabric;
    struct link link;
    struct { /* read from the pool manager before each join, when the info has a key */
        struct auth_challenge value;
        bool pending;            /* a read is under way */
        struct auth_proof proof; /* of the last join */
    } challenge;
    struct credentials *credentials; /* of MUNGE, while joining, when the info asks for them */
    struct credential credential;    /* of the last join */
    struct fetcher fetcher;
    struct vamp_decode_arena arena; /* of the progress thread */
    struct port_events events;
    struct list calls, transports, ended;
    uint64_t last_request;
    uint64_t received_sequence;
    int64_t heard_ns, looked_ns;
    int64_t received_ns; /* the last round with messages */
    int64_t heartbeat_ns, silence_ns;
    unsigned busy_rounds;
    unsigned exposed; /* pieces of memory that others may read */
    bool waits_long; /* the progress thread, longer than a request could afford to lose a wake-up */
    bool gathers;    /* the progress thread: messages come densely, and no thread waits for one */
    bool answer_heartbeat;
};

/* remote_state.c */
int64_t remote_now(void);
/* With the lock: the pool manager cannot be reached any more. */
void remote_lose(struct remote *remote, const char *text);

/* remote_join.c: opens the fabric and joins; no thread is running yet. */
mstro_status remote_join(struct remote *remote, const struct port_member *member,
                         uint32_t deadline_ms, struct vamp_err *err);

/* remote_receive.c: a message from the pool manager; on the progress thread without the lock. */
void remote_receive(struct remote *remote, const struct fabric_event *event);
/* With the lock: notifies the pool manager once so many batches of events were received since the
 * last message to it. */
void remote_acknowledge(struct remote *remote, unsigned batches);

/* remote_transport.c: on the progress thread without the lock. */
void remote_ticket(struct remote *remote, const struct frame *frame);
/* Reports the transports that have ended. */
void remote_finish_transports(struct remote *remote);

#endif
