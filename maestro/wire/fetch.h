/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves payloads: makes memory of this process readable for others, and reads theirs, in pieces,
 * several at a time; each payload has a deadline that every completed piece renews. Carriers are
 * opened with the first payload; a process without payloads opens none.
 *
 * Reads use carriers of their own. If a source does not answer, they are closed: only then is it
 * certain that nothing is written to the memory any more. Other active payloads start over.
 *
 * Under one lock of the owner. Functions marked "owner" are for the one thread that makes progress
 * and waits.
 */
#pragma once

#include <stdint.h>

#include "maestro/wire/carrier.h"
#include "vampire/core/err.h"
#include "vampire/core/list.h"
#include "vampire/core/values.h"

struct fetch_order {
    struct carrier_place source;
    uint64_t address, key; /* of the memory, as registered there */
    void *destination;
    uint64_t bytes; /* not 0 */
    /* Called exactly once, from fetch_advance or fetch_end. 0 or -errno; the destination is not
     * touched afterwards. */
    void (*done)(void *context, int status);
    void *context;
};

struct fetcher {
    struct carrier_place wish; /* only the provider: as selected by the workflow's user, or "" */
    char bind[CARRIER_ADDRESS_BYTES]; /* the address of this host for carriers */
    struct carrier *own;              /* of exposed memory; NULL: not open */
    struct carrier *reader;           /* NULL: not open */
    struct carrier_place reader_place;
    struct fetch_connection *connections; /* of the reader */
    unsigned connection_count;
    struct list jobs; /* in order of arrival */
    int64_t patience_ns;
};

void fetch_init(struct fetcher *fetcher, const char *provider, const char *bind,
                int64_t patience_ns);
/* Opens the carrier for this process's memory, without the lock: libfabric takes a while. 0 or
 * -errno with text. */
VAMP_MUST_CHECK int fetch_open(const struct fetcher *fetcher, struct carrier **ret_carrier,
                               struct vamp_err *err);
/* Makes memory readable by others, who reach it at `ret_place`. Takes ownership of `opened`; NULL:
 * opens a carrier if needed. 0 or -errno with text. */
VAMP_MUST_CHECK int fetch_expose(struct fetcher *fetcher, struct carrier *opened, void *address,
                                 uint64_t bytes, struct carrier_memory *ret_memory,
                                 struct carrier_place *ret_place, struct vamp_err *err);
void fetch_forget(struct fetcher *fetcher, struct carrier_memory *memory);
/* Starts the job at the next fetch_advance. 0 or -ENOMEM. */
VAMP_MUST_CHECK int fetch_start(struct fetcher *fetcher, const struct fetch_order *order);
/* Fails all jobs at the next fetch_advance. */
void fetch_cancel_all(struct fetcher *fetcher);
/* Owner: fails the job of this context and all jobs of this source (NULL: none) at the next
 * fetch_advance; nothing is written to their destinations any more once this returns. */
void fetch_abandon(struct fetcher *fetcher, const void *context,
                   const struct carrier_place *source);
/* Owner: consumes completions, issues reads, ends jobs. Returns the latest time of the next call,
 * INT64_MAX: after a completion. Callbacks may start other jobs. */
int64_t fetch_advance(struct fetcher *fetcher, int64_t now_ns);
/* Owner: before the thread waits: descriptors to wait for, or -1; shortens the timeout. */
#define FETCH_WAITS 2
void fetch_wait(struct fetcher *fetcher, int ret_waits[FETCH_WAITS], int64_t *timeout_ns);
/* Owner: ends all jobs with -ECANCELED and closes the carriers. */
void fetch_end(struct fetcher *fetcher);
