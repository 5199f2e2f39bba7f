/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool manager's service: makes the pool of a local port available to other processes over
 * streams. Runs on its own thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/client/port.h"
#include "maestro/maestro.h"
#include "vampire/core/err.h"

struct server;

/* Members that are zero or NULL are taken from the environment (MSTRO_OFI_PROVIDER, FI_PROVIDER,
 * MSTRO_POOL_BIND) or have the default given below. */
struct server_options {
    const char *provider;      /* libfabric provider for payloads; "": each component chooses */
    const char *bind;          /* address to listen on; default 127.0.0.1 */
    int64_t heartbeat_ns;      /* default: a twelfth of silence_ns; at least 100 ms */
    int64_t silence_ns;        /* default: 60 s; at least three heartbeats */
    int64_t tell_use_ns;       /* interval of usage reports; 0: none */
    int64_t acknowledge_ns;    /* time limit for acknowledgements with REQUIRE_ACK, after which the
                                * subscriber is dismissed; default: silence_ns */
    size_t events_per_message; /* maximum; default 256 */
    bool open;                 /* any component may join; otherwise only those that have the key */
    bool munge; /* components must also run as the same user, verified by MUNGE; not with `open` */
    /* Prints a line for the operator of the workflow. Called rarely, on the server's thread with
     * the local port's lock held. NULL: lines are dropped. */
    void (*say)(const char *text);
};

struct server_counts {
    uint64_t joins, refused, requests;
    uint64_t
        unanswered; /* refused joins without an answer, because too many refused peers lingered */
    uint64_t event_messages, events_sent;
    uint64_t events_lost; /* events lost, as reported to subscribers */
    uint64_t vanished;    /* number of vanished components */
    uint64_t protocol_errors;
    uint64_t late;           /* ignored messages from components that had left or been dismissed */
    uint64_t strangers;      /* connections that did not authenticate or did not join */
    uint64_t memory_refused; /* joins and requests refused at the pool's memory limit */
};

/* Starts the service. `local_port` must stay open until server_stop has returned. `options` NULL:
 * all defaults. Returns MSTRO_OK; MSTRO_INVARG: the options or the workflow's name; MSTRO_OFI_FAIL:
 * the address or the system; MSTRO_NOMEM. */
mstro_status server_start(struct port *local_port, const char *workflow,
                          const struct server_options *options, struct server **ret_server,
                          struct vamp_err *err);
/* Returns the info text: printable, one line, no ';'; owned by the server. */
const char *server_info(const struct server *server);
/* Sends all queued messages and a good-bye to all components, and ends the thread; takes about two
 * seconds if a component does not receive. NULL is fine. `ret_counts` may be NULL. */
void server_stop(struct server *server, struct server_counts *ret_counts);
