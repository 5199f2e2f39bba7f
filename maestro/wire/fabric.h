/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One reliable-datagram endpoint of libfabric: bounded messages, remote reads, registered memory
 * and a way to wait that suits the provider. Nothing here depends on the pool protocol.
 *
 * Threads: the caller serialises all calls with one lock, except fabric_wait and fabric_gather
 * (called by one thread, without that lock, so that others can send meanwhile) and fabric_wake (any
 * thread, any time). Only fabric_wait and fabric_gather block. Endpoints do not survive fork().
 */
#ifndef MAESTRO_WIRE_FABRIC_H
#define MAESTRO_WIRE_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define FABRIC_PROVIDER_PRESET "tcp;ofi_rxm"
#define FABRIC_BIND_PRESET "127.0.0.1"
#define FABRIC_ENV_BIND "MSTRO_POOL_BIND"
/* Above this libfabric leaves its fast path for messages. */
#define FABRIC_MESSAGE_BYTES ((size_t)16384)
#define FABRIC_ADDRESS_BYTES ((size_t)256)
#define FABRIC_EVENTS 64

struct fabric;
typedef uint64_t fabric_peer; /* libfabric's fi_addr_t */

/* The provider to use: `wanted`, else MSTRO_OFI_PROVIDER, else FI_PROVIDER, else the preset. */
const char *fabric_provider_choice(const char *wanted);

/* What both ends must have in common. */
struct fabric_kind {
    const char *provider;
    uint32_t protocol; /* fabric_protocol of the other end; 0: the best there is */
};
/* Opens an endpoint on the address `bind`, or ADDRESS:PORT, [ADDRESS]:PORT (NULL: FABRIC_ENV_BIND,
 * else loopback; providers that stay on one host ignore it). Raises the soft limit of open files to
 * the hard one. 0, or -errno with a text that names what the provider lacks and which providers are
 * usable. */
VAMP_MUST_CHECK int fabric_open(const struct fabric_kind *kind, const char *bind,
                                struct fabric **ret_fabric, struct vamp_err *err);
/* Another endpoint like this one, only for reads: closing it is the one sure way to end reads that
 * a peer does not answer (removing the peer is not: tcp;ofi_rxm goes on writing to their memory).
 */
VAMP_MUST_CHECK int fabric_open_reader(const struct fabric *like, struct fabric **ret_fabric,
                                       struct vamp_err *err);
/* NULL is fine. No read writes to its destination any more. */
void fabric_close(struct fabric *fabric);
/* The full name libfabric gives it, such as "tcp;ofi_rxm". */
const char *fabric_provider(const struct fabric *fabric);
/* libfabric's number for what the provider puts on the wire, not 0: tcp;ofi_rxm has two that do not
 * understand each other. */
uint32_t fabric_protocol(const struct fabric *fabric);
/* The endpoint's own address, for others' fabric_peer_add. */
const uint8_t *fabric_address(const struct fabric *fabric, size_t *ret_length);

/* 0 or -errno. The same address twice may yield the same peer. */
VAMP_MUST_CHECK int fabric_peer_add(struct fabric *fabric, const uint8_t *address, size_t length,
                                    fabric_peer *ret_peer, struct vamp_err *err);
/* Removes the address. What is in flight to this peer completes later, or never. */
void fabric_peer_remove(struct fabric *fabric, fabric_peer peer);

/* Call when the peer's process is believed to be dead: removes what it could not remove itself (a
 * file of the shm provider, 16 MiB; only if no process of its number exists). */
void fabric_peer_bury(const struct fabric *fabric, const uint8_t *address, size_t length);
/* Probes whether no process listens at the peer's address any more; takes 2 ms at most. False also
 * when that cannot be determined: another provider than tcp, a host that does not answer. */
bool fabric_peer_refuses(const struct fabric *fabric, const uint8_t *address, size_t length);

/* ---- messages. A buffer comes from a bounded set; posted, it returns by itself on completion. */
struct fabric_message;
/* NULL: all are in flight. */
struct fabric_message *fabric_message_get(struct fabric *fabric);
void fabric_message_put(struct fabric *fabric, struct fabric_message *message);
/* FABRIC_MESSAGE_BYTES of room. */
uint8_t *fabric_message_bytes(struct fabric_message *message);
/* Posts `length` bytes from `offset`. `tag` comes back in FABRIC_SENT. 0: posted. -EAGAIN: not now,
 * the buffer is still the caller's; a peer that is gone may cause this forever, so the caller keeps
 * a deadline. Other -errno: the peer cannot be reached. */
VAMP_MUST_CHECK int fabric_send(struct fabric *fabric, fabric_peer peer,
                                struct fabric_message *message, size_t offset, size_t length,
                                uint64_t tag);

/* ---- remote memory */
struct fabric_memory {
    uint64_t address; /* as the reader has to give it: from 0 or virtual */
    uint64_t key;     /* random where the provider accepts a chosen key */
    void *registration;
};
/* Makes memory readable by peers. 0 or -errno. */
VAMP_MUST_CHECK int fabric_register(struct fabric *fabric, void *address, size_t bytes,
                                    struct fabric_memory *ret_memory, struct vamp_err *err);
void fabric_unregister(struct fabric *fabric, struct fabric_memory *memory);
/* Starts reading `bytes` at `address` of the peer. FABRIC_READ with `tag` follows exactly once,
 * unless the endpoint is closed before. 0, -EAGAIN (no slot, or the provider cannot take it now),
 * -errno. */
VAMP_MUST_CHECK int fabric_read(struct fabric *fabric, fabric_peer peer, uint64_t address,
                                uint64_t key, void *destination, size_t bytes, uint64_t tag);

/* ---- what has happened */
enum fabric_event_kind {
    FABRIC_RECEIVED, /* bytes, length; fabric_release gives the buffer back */
    FABRIC_SENT,     /* tag, status */
    FABRIC_READ,     /* tag, status */
};
struct fabric_event {
    enum fabric_event_kind kind;
    int status; /* 0 or -errno */
    uint64_t tag;
    const uint8_t *bytes;
    size_t length;
    void *buffer;
};
/* Makes progress and takes completions, at most FABRIC_EVENTS. The number taken, or -errno when the
 * endpoint has failed for good. */
VAMP_MUST_CHECK int fabric_poll(struct fabric *fabric, struct fabric_event events[FABRIC_EVENTS]);
/* Posts the buffer of a FABRIC_RECEIVED again. Every one must be given back. */
void fabric_release(struct fabric *fabric, const struct fabric_event *event);

/* Waits until fabric_poll of `fabric` or of `reader` (NULL: none) may find something, fabric_wake
 * was called for `fabric`, or `timeout_ns` has passed; may return early without reason. */
void fabric_wait(struct fabric *fabric, struct fabric *reader, int64_t timeout_ns);
/* Sleeps for less than a tenth of a millisecond, so that the next fabric_poll takes several
 * messages at once; they do not wake the thread, fabric_wake does. */
void fabric_gather(struct fabric *fabric);
/* Lost wake-ups have been seen in libfabric: a caller with something under way must not wait longer
 * than this. */
#define FABRIC_WAIT_LONGEST_NS INT64_C(1000000000)
void fabric_wake(struct fabric *fabric);

#endif
