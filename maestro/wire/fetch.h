/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads payloads out of other processes' memory: in pieces, several at a time, each payload with a
 * deadline that every finished piece renews.
 *
 * Reads go through an endpoint of their own, opened with the first one. When a source does not
 * answer, that endpoint is closed, the only way to be sure that nothing is written to the memory
 * any more; the other payloads under way begin again.
 *
 * Under the lock of the fabric's owner. Functions marked "owner" are for the one thread that makes
 * progress and waits.
 */
#ifndef MAESTRO_WIRE_FETCH_H
#define MAESTRO_WIRE_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/fabric.h"
#include "vampire/core/err.h"
#include "vampire/core/list.h"

struct fetch_source {
    uint64_t session; /* differs for another process at the same address */
    size_t length;
    uint8_t address[FABRIC_ADDRESS_BYTES];
};

struct fetch_order {
    struct fetch_source source;
    uint64_t address, key; /* of the memory, as registered there */
    void *destination;
    uint64_t bytes; /* not 0 */
    /* Called exactly once, from fetch_advance or fetch_end. 0 or -errno; the destination is not
     * touched afterwards. */
    void (*done)(void *context, int status);
    void *context;
};

struct fetcher {
    const struct fabric *like;
    struct fabric *reader;                /* NULL: not open */
    struct fetch_connection *connections; /* of the reader */
    unsigned connection_count;
    struct list jobs; /* in order of arrival */
    int64_t patience_ns;
};

void fetch_init(struct fetcher *fetcher, const struct fabric *like, int64_t patience_ns);
/* 0 or -ENOMEM. Begins at the next fetch_advance. */
VAMP_MUST_CHECK int fetch_start(struct fetcher *fetcher, const struct fetch_order *order);
/* Fails all jobs at the next fetch_advance. */
void fetch_cancel_all(struct fetcher *fetcher);
/* Owner: fails the job of this context and all jobs of this source (NULL: none) at the next
 * fetch_advance; nothing is written to their destinations any more once this returns. */
void fetch_abandon(struct fetcher *fetcher, const void *context, const struct fetch_source *source);
/* Owner: takes completions, issues reads, ends jobs. Returns when to call again at the latest,
 * INT64_MAX: not before a completion. Callbacks may start other jobs. */
int64_t fetch_advance(struct fetcher *fetcher, int64_t now_ns);
/* Owner: ends all jobs with -ECANCELED and closes the endpoint. */
void fetch_end(struct fetcher *fetcher);

#endif
