/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool manager's service: serves the pool of a local port to other processes over streams, on
 * its own thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/client/port.h"
#include "maestro/maestro.h"
#include "vampire/core/err.h"

struct server;

/* Zero or NULL members: from the environment (MSTRO_OFI_PROVIDER, FI_PROVIDER, MSTRO_POOL_BIND),
 * else the default. */
struct server_options {
    const char *provider;      /* of libfabric for payloads; "": each component's choice */
    const char *bind;          /* address to listen on; 127.0.0.1 */
    int64_t heartbeat_ns;      /* a twelfth of silence_ns; at least 100 ms */
    int64_t silence_ns;        /* 60 s; at least three heartbeats */
    int64_t tell_use_ns;       /* 0: never */
    int64_t acknowledge_ns;    /* for REQUIRE_ACK: silence_ns; then the subscriber is dismissed */
    size_t events_per_message; /* at most; 256 */
    bool open;                 /* any component may join; else only those that have the key */
    bool munge;                /* and, as MUNGE confirms, run as the same user; not with `open` */
    /* Prints a line for the operator of the workflow; called rarely, on the server's thread with
     * the local port's lock held. NULL: the line is dropped. */
    void (*say)(const char *text);
};

struct server_counts {
    uint64_t joins, refused, requests;
    uint64_t unanswered; /* of the refused: no answer was sent, too many lingered */
    uint64_t event_messages, events_sent;
    uint64_t events_lost; /* as reported to the subscribers */
    uint64_t vanished;    /* components */
    uint64_t protocol_errors;
    uint64_t late;      /* messages of components that had left or been given up: not handled */
    uint64_t strangers; /* connections that did not prove the key, or did not join */
    uint64_t memory_refused; /* joins and requests, at the pool's memory limit */
};

/* `local_port` stays open until server_stop has returned. `options` NULL: all defaults.
 * MSTRO_INVARG: the options or the workflow's name; MSTRO_OFI_FAIL: the address or the system;
 * MSTRO_NOMEM. */
mstro_status server_start(struct port *local_port, const char *workflow,
                          const struct server_options *options, struct server **ret_server,
                          struct vamp_err *err);
/* Printable, one line, no ';'; owned by the server. */
const char *server_info(const struct server *server);
/* Sends what is queued and a good-bye to all components and ends the thread; takes about two
 * seconds when a component does not receive. NULL-safe. `ret_counts` may be NULL. */
void server_stop(struct server *server, struct server_counts *ret_counts);
