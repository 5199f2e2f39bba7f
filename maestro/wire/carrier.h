/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfer of payloads between processes: exposing memory to remote reads, and reading the memory
 * of others. One table of operations with two implementations: `fabric`, a libfabric endpoint with
 * remote reads, and `door`, streams over which the owner of the memory sends the data. The location
 * of a payload is part of the pool manager's ticket: any process that has the ticket can read the
 * memory.
 *
 * Threads: the caller serialises all calls with one lock. No call blocks. Carriers do not survive
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
/* libfabric occasionally loses wake-ups: a caller with outstanding reads must not wait longer than
 * this. */
#define CARRIER_WAIT_LONGEST_NS INT64_C(1000000000)

/* The location at which other processes reach the memory of a process. */
struct carrier_place {
    char provider[CARRIER_PROVIDER_BYTES]; /* libfabric provider, or DOOR_PROVIDER */
    uint32_t protocol;                     /* libfabric protocol; 0: the best available */
    size_t length;
    uint8_t address[CARRIER_ADDRESS_BYTES];
};

struct carrier_memory {
    uint64_t address; /* base of the addresses used by readers: 0 or virtual */
    uint64_t key;     /* random if the provider lets the caller choose keys */
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
    /* Closes the carrier. After it returns, no read writes to its destination. */
    void (*close)(struct carrier *carrier);
    /* Returns the location at which others reach this process's memory. */
    void (*place)(const struct carrier *carrier, struct carrier_place *ret_place);
    /* Adds a peer. Returns 0 or -errno. Adding the same location twice may yield the same peer. */
    int (*peer_add)(struct carrier *carrier, const struct carrier_place *place,
                    carrier_peer *ret_peer);
    /* Removes a peer. Its outstanding reads complete later, or never. */
    void (*peer_remove)(struct carrier *carrier, carrier_peer peer);
    /* Checks whether the process at this location is gone; takes at most 2 ms. Returns false also
     * if that cannot be determined. */
    bool (*refuses)(const struct carrier *carrier, const struct carrier_place *place);
    /* Makes memory readable by peers. Returns 0 or -errno with text. */
    int (*expose)(struct carrier *carrier, void *address, size_t bytes,
                  struct carrier_memory *ret_memory, struct vamp_err *err);
    void (*forget)(struct carrier *carrier, struct carrier_memory *memory);
    /* Starts a read of `bytes` bytes at `address` in the peer's memory. Exactly one event with
     * `tag` follows, unless the carrier is closed before. Returns 0, -EAGAIN (try again later) or
     * another -errno. */
    int (*read)(struct carrier *carrier, carrier_peer peer, uint64_t address, uint64_t key,
                void *destination, size_t bytes, uint64_t tag);
    /* Makes progress and consumes at most CARRIER_EVENTS events. Returns their number, or -errno
     * after a permanent failure. */
    int (*poll)(struct carrier *carrier, struct carrier_event events[CARRIER_EVENTS]);
    /* Must be called before waiting. Returns a descriptor that becomes readable when poll may find
     * an event, or -1; shortens the caller's timeout, to 0 if an event is already available. */
    int (*wait)(struct carrier *carrier, int64_t *timeout_ns);
};

/* First member of every carrier. */
struct carrier {
    const struct carrier_ops *ops;
};

/*
 * The carrier over streams (door.c), for hosts without a high-speed network. The owner of the
 * memory listens with a random key, which is part of its location, and sends the requested bytes.
 * Only the holder of a ticket can connect.
 */
/* The provider in its locations. */
/* The provider of its places. */
#define DOOR_PROVIDER "stream"

/* Opens the carrier. `bind`, which is borrowed, is the address of this host to listen on once
 * memory is exposed. Returns 0 or -errno with text. */
VAMP_MUST_CHECK int door_open(const char *bind, struct carrier **ret_carrier, struct vamp_err *err);
