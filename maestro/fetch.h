/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads payloads out of other processes' memory: in pieces, several at a time, each payload with a
 * deadline that every finished piece renews. Under the lock of the fabric's owner.
 */
#ifndef MAESTRO_FETCH_H
#define MAESTRO_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "maestro/fabric.h"
#include "vampire/core/err.h"

struct fetch_job;

struct fetch_order {
    fabric_peer peer;
    uint64_t address, key;
    void *destination;
    uint64_t bytes; /* not 0 */
    /* A piece failed or nothing came for too long: closes the connection, so that nothing is
     * written to the destination any more. Called at most once for all jobs of a peer that are
     * under way, before their `done`. NULL: the connection is not this job's to close. */
    void (*give_up)(void *context);
    /* Called exactly once, from fetch_advance or fetch_end. The destination is not touched
     * afterwards. */
    void (*done)(void *context, int status);
    void *context;
};

struct fetcher {
    struct fabric *fabric;
    struct fetch_job *first, *last; /* in order of arrival */
    struct fetch_job *orphans;      /* told as failed, but libfabric never answered */
    int64_t patience_ns;
};

void fetch_init(struct fetcher *fetcher, struct fabric *fabric, int64_t patience_ns);
/* 0 or -ENOMEM. Begins at the next fetch_advance. */
VAMP_MUST_CHECK int fetch_start(struct fetcher *fetcher, const struct fetch_order *order);
/* Some job reads from this peer. */
bool fetch_uses(const struct fetcher *fetcher, fabric_peer peer);
/* For each FABRIC_READ. */
void fetch_completed(struct fetcher *fetcher, int64_t now_ns, const struct fabric_event *event);
/* Issues reads, ends jobs. Returns when to call again at the latest, INT64_MAX: not before a
 * completion. Callbacks may start other jobs. */
int64_t fetch_advance(struct fetcher *fetcher, int64_t now_ns);
/* Ends all jobs with -ECANCELED. False: reads are still in flight, so the fabric must not be polled
 * any more, else they would write to memory that is no longer theirs. */
bool fetch_end(struct fetcher *fetcher);

#endif
