/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How payloads come from one process into another: memory that others may read, and reads of the
 * others' memory. One table with two implementations: `fabric`, an endpoint of libfabric with
 * remote reads, and `door`, streams on which the owner of the memory sends it. A ticket of the pool
 * manager contains the place of a payload: whoever has it may read that memory.
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
/* Lost wake-ups have been seen in libfabric: a caller with something under way must not wait longer
 * than this. */
#define CARRIER_WAIT_LONGEST_NS INT64_C(1000000000)

/* Where a process's memory is reached. */
struct carrier_place {
    char provider[CARRIER_PROVIDER_BYTES]; /* what carries it */
    uint32_t protocol;                     /* of libfabric; 0: the best there is */
    size_t length;
    uint8_t address[CARRIER_ADDRESS_BYTES];
};

struct carrier_memory {
    uint64_t address; /* as the reader has to give it: from 0 or virtual */
    uint64_t key;     /* random where the provider accepts a chosen key */
    void *registration;
};

/* A read that has ended. */
struct carrier_event {
    int status; /* 0 or -errno */
    uint64_t tag;
};

typedef uint64_t carrier_peer;
struct carrier;

struct carrier_ops {
    /* No read writes to its destination any more. */
    void (*close)(struct carrier *carrier);
    /* Where others reach this process's memory. */
    void (*place)(const struct carrier *carrier, struct carrier_place *ret_place);
    /* 0 or -errno. The same place twice may yield the same peer. */
    int (*peer_add)(struct carrier *carrier, const struct carrier_place *place,
                    carrier_peer *ret_peer);
    /* What is in flight to this peer completes later, or never. */
    void (*peer_remove)(struct carrier *carrier, carrier_peer peer);
    /* Probes whether no process is there any more; takes 2 ms at most. False also when that cannot
     * be determined. */
    bool (*refuses)(const struct carrier *carrier, const struct carrier_place *place);
    /* Makes memory readable by peers. 0 or -errno with text. */
    int (*expose)(struct carrier *carrier, void *address, size_t bytes,
                  struct carrier_memory *ret_memory, struct vamp_err *err);
    void (*forget)(struct carrier *carrier, struct carrier_memory *memory);
    /* Starts reading `bytes` at `address` of the peer. An event with `tag` follows exactly once,
     * unless the carrier is closed before. 0, -EAGAIN (not now), -errno. */
    int (*read)(struct carrier *carrier, carrier_peer peer, uint64_t address, uint64_t key,
                void *destination, size_t bytes, uint64_t tag);
    /* Makes progress and takes events, at most CARRIER_EVENTS. Their number, or -errno when the
     * carrier has failed for good. */
    int (*poll)(struct carrier *carrier, struct carrier_event events[CARRIER_EVENTS]);
    /* Before the caller waits: a descriptor that becomes readable when poll may find something, or
     * -1; shortens the time that the caller may wait, to 0 if there is something already. */
    int (*wait)(struct carrier *carrier, int64_t *timeout_ns);
};

/* First member of every carrier. */
struct carrier {
    const struct carrier_ops *ops;
};

/*
 * The carrier over streams (door.c), where there is no high-speed network: the owner of memory
 * listens with a random key, which is part of its place, and sends what is asked for. So only who
 * has a ticket gets in.
 */
/* The provider of its places. */
#define DOOR_PROVIDER "stream"

/* `bind` is the address of this host to listen on, once memory is exposed; it stays. 0 or -errno
 * with text. */
VAMP_MUST_CHECK int door_open(const char *bind, struct carrier **ret_carrier, struct vamp_err *err);
