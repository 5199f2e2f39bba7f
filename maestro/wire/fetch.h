/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves payloads: exposes memory of this process, and reads exposed memory of others, in pieces,
 * with several payloads at a time. Each payload has a deadline that every completed piece extends.
 * Carriers are opened with the first payload; a process without payloads opens none.
 *
 * Reads use a carrier of their own. If a source does not answer, that carrier is closed, because
 * only this ensures that no read writes to the destination any more; other active payloads start
 * over.
 *
 * All calls are under one lock of the owner. Functions marked "owner" must be called by the one
 * thread that makes progress and waits.
 */
#pragma once

#include <stdint.h>

#include "maestro/wire/carrier.h"
#include "vampire/core/err.h"
#include "vampire/core/list.h"
#include "vampire/core/values.h"

struct fetch_order {
    struct carrier_place source;
    uint64_t address, key; /* location of the memory, as registered by its owner */
    void *destination;
    uint64_t bytes; /* length, not 0 */
    /* Called exactly once, from fetch_advance or fetch_end, with 0 or -errno; the destination is
     * not written to afterwards. */
    void (*done)(void *context, int status);
    void *context;
};

struct fetcher {
    /* The provider selected by the user of the workflow; "": none selected, the default applies.
     * Other members are not used. */
    struct carrier_place requested;
    char bind[CARRIER_ADDRESS_BYTES]; /* local address for carriers */
    struct carrier *own;              /* carrier for exposed memory; NULL: not open */
    struct carrier *reader;           /* carrier for reads; NULL: not open */
    struct carrier_place reader_place;
    struct fetch_connection *connections; /* connections of `reader` */
    unsigned connection_count;
    struct list jobs; /* ordered by arrival */
    int64_t patience_ns;
};

void fetch_init(struct fetcher *fetcher, const char *provider, const char *bind,
                int64_t patience_ns);
/* Opens the carrier for this process's memory. Called without the lock, because libfabric takes a
 * while. Returns 0 or -errno with text. */
VAMP_MUST_CHECK int fetch_open(const struct fetcher *fetcher, struct carrier **ret_carrier,
                               struct vamp_err *err);
/* Makes memory readable by others, who reach it at `ret_place`. Takes ownership of `opened`; NULL:
 * opens a carrier if needed. Returns 0 or -errno with text. */
VAMP_MUST_CHECK int fetch_expose(struct fetcher *fetcher, struct carrier *opened, void *address,
                                 uint64_t bytes, struct carrier_memory *ret_memory,
                                 struct carrier_place *ret_place, struct vamp_err *err);
void fetch_forget(struct fetcher *fetcher, struct carrier_memory *memory);
/* Adds a job, which starts at the next fetch_advance. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int fetch_start(struct fetcher *fetcher, const struct fetch_order *order);
/* Makes all jobs fail at the next fetch_advance. */
void fetch_cancel_all(struct fetcher *fetcher);
/* Owner: makes the job with this context and all jobs from this source (NULL: none) fail at the
 * next fetch_advance; their destinations are not written to after this returns. */
void fetch_abandon(struct fetcher *fetcher, const void *context,
                   const struct carrier_place *source);
/* Owner: consumes completions, issues reads, ends jobs. Returns the time by which it must be called
 * again; INT64_MAX: after the next completion. Callbacks may start other jobs. */
int64_t fetch_advance(struct fetcher *fetcher, int64_t now_ns);
/* Owner: returns the descriptors to wait for, or -1, and shortens the timeout. Must be called
 * before the thread waits. */
#define FETCH_WAITS 2
void fetch_wait(struct fetcher *fetcher, int ret_waits[FETCH_WAITS], int64_t *timeout_ns);
/* Owner: ends all jobs with -ECANCELED and closes the carriers. */
void fetch_end(struct fetcher *fetcher);
