/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfer of payloads between processes: memory that others may read, and reads of others' memory.
 * One table of operations with two implementations: `fabric`, an endpoint of libfabric with remote
 * reads, and `door`, streams over which the owner of the memory sends it. The pool manager's ticket
 * contains the location of a payload: whoever has the ticket may read that memory.
 *
 * Threads: the caller serialises all calls with one lock. Nothing blocks. Carriers do not survive
 * fork().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define CARRIER_ADDRESS_BYTES ((size_t)256)
#define CARRIER_PROVIDER_BYTES ((size_t)64)
#define CARRIER_EVENTS 64
/* libfabric occasionally loses wake-ups: a caller with reads in flight must not wait longer than
 * this. */
#define CARRIER_WAIT_LONGEST_NS INT64_C(1000000000)

/* The location at which a process's memory is reached. */
struct carrier_place {
    char provider[CARRIER_PROVIDER_BYTES]; /* of libfabric, or DOOR_PROVIDER */
    uint32_t protocol;                     /* of libfabric; 0: the best available */
    size_t length;
    uint8_t address[CARRIER_ADDRESS_BYTES];
};

struct carrier_memory {
    uint64_t address; /* base for the reader's addresses: 0 or virtual */
    uint64_t key;     /* random if the provider accepts a chosen key */
    void *registration;
};

/* A completed read. */
struct carrier_event {
    int status; /* 0 or -errno */
    uint64_t tag;
};

typedef uint64_t carrier_peer;
struct carrier;

struct carrier_ops {
    /* Afterwards no read writes to its destination any more. */
    void (*close)(struct carrier *carrier);
    /* The location at which others reach this process's memory. */
    void (*place)(const struct carrier *carrier, struct carrier_place *ret_place);
    /* 0 or -errno. Adding the same location twice may yield the same peer. */
    int (*peer_add)(struct carrier *carrier, const struct carrier_place *place,
                    carrier_peer *ret_peer);
    /* Reads in flight to this peer complete later, or never. */
    void (*peer_remove)(struct carrier *carrier, carrier_peer peer);
    /* Probes whether the process there is gone; takes 2 ms at most. False also if that cannot be
     * determined. */
    bool (*refuses)(const struct carrier *carrier, const struct carrier_place *place);
    /* Makes memory readable by peers. 0 or -errno with text. */
    int (*expose)(struct carrier *carrier, void *address, size_t bytes,
                  struct carrier_memory *ret_memory, struct vamp_err *err);
    void (*forget)(struct carrier *carrier, struct carrier_memory *memory);
    /* Starts reading `bytes` at `address` of the peer. An event with `tag` follows exactly once,
     * unless the carrier is closed before. 0, -EAGAIN (not now), -errno. */
    int (*read)(struct carrier *carrier, carrier_peer peer, uint64_t address, uint64_t key,
                void *destination, size_t bytes, uint64_t tag);
    /* Makes progress and consumes at most CARRIER_EVENTS events. Their number, or -errno after a
     * permanent failure. */
    int (*poll)(struct carrier *carrier, struct carrier_event events[CARRIER_EVENTS]);
    /* To be called before waiting: a descriptor that becomes readable when poll may find something,
     * or -1; shortens the caller's timeout, to 0 if there is something already. */
    int (*wait)(struct carrier *carrier, int64_t *timeout_ns);
};

/* First member of every carrier. */
struct carrier {
    const struct carrier_ops *ops;
};

/*
 * The carrier over streams (door.c), for hosts without a high-speed network: the owner of memory
 * listens with a random key, which is part of its location, and sends the requested bytes. Only the
 * holder of a ticket can connect.
 */
/* The provider in its locations. */
/* The provider of its places. */
#define DOOR_PROVIDER "stream"

/* `bind` is the address of this host to listen on once memory is exposed; borrowed. 0 or -errno
 * with text. */
VAMP_MUST_CHECK int door_open(const char *bind, struct carrier **ret_carrier, struct vamp_err *err);
