/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections that carry frames of limited length between ends with a common key (secure.h).
 * One hub contains all connections of a process. Until the other end has authenticated with the key
 * and has been admitted, it is an unauthenticated peer: only the TLS library processes its bytes,
 * their number and the time (STREAM_STRANGER_NS) are limited, and there are at most
 * STREAM_STRANGERS such peers; a further one replaces the oldest. Each connection has its own
 * queue, so no peer waits for another.
 *
 * Threads: the caller serialises all calls with one lock, except stream_wait and stream_gather
 * (called by one thread, without the lock) and stream_wake (any thread, any time). Only stream_wait
 * and stream_gather block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/secure.h"
#include "vampire/core/err.h"

#define STREAM_BIND_PRESET "127.0.0.1"
#define STREAM_ENV_BIND "MSTRO_POOL_BIND"
/* With the four bytes of the frame's length, exactly one TLS record. */
#define STREAM_FRAME_BYTES ((size_t)16380)
/* Maximum size of a socket address (struct sockaddr_in or sockaddr_in6). */
#define STREAM_ADDRESS_BYTES ((size_t)256)
#define STREAM_STRANGERS 64U
#define STREAM_STRANGER_NS INT64_C(3000000000)
/* Limit for bytes from an unauthenticated peer: several times the size of a TLS handshake. */
#define STREAM_STRANGER_BYTES ((size_t)8192)
/* Limit for queued bytes that the local TCP has not accepted yet; further frames are refused. */
#define STREAM_QUEUE_BYTES ((size_t)4 << 20)

struct stream_hub;
struct stream;

/* Callbacks, called from stream_poll. Each may close any stream and send on any. */
struct stream_handler {
    /* The other end has authenticated. */
    void (*opened)(void *context, struct stream *stream);
    /* A frame has arrived; it is valid during the call. */
    void (*received)(void *context, struct stream *stream, const uint8_t *bytes, size_t length);
    /* All queued bytes have been sent. */
    void (*drained)(void *context, struct stream *stream);
    /* The connection has ended with -errno: -EKEYREJECTED, -EBADMSG, -ETIMEDOUT or an error of the
     * socket. The stream is freed after the call. */
    void (*closed)(void *context, struct stream *stream, int status);
    void *context;
};

/* Returns 0 or -errno. Raises the soft limit for open files to the hard limit. `handler` is
 * borrowed. */
VAMP_MUST_CHECK int stream_hub_open(const struct stream_handler *handler,
                                    struct stream_hub **ret_hub, struct vamp_err *err);
/* Closes all streams (-ECANCELED). NULL is fine. */
void stream_hub_close(struct stream_hub *hub);
/* Accepts connections at `bind`, which is ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT (NULL:
 * STREAM_ENV_BIND, else loopback), from peers with `key`, which is borrowed. At most once per hub.
 * Returns 0 or -errno. */
VAMP_MUST_CHECK int stream_listen(struct stream_hub *hub, const struct secure_key *key,
                                  const char *bind, struct vamp_err *err);
/* Returns `wanted`, else STREAM_ENV_BIND, else `preset`. */
const char *stream_bind_choice(const char *wanted, const char *preset);
/* Splits "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT" in place. Returns the port; NULL: no port.
 */
const char *stream_take_port(char *text, const char **ret_node);
/* Returns the address on which the hub listens. */
const uint8_t *stream_address(const struct stream_hub *hub, size_t *ret_length);
/* Starts to connect; a call of `opened` or `closed` follows within STREAM_STRANGER_NS. `key` is
 * borrowed. Returns 0 or -errno. */
VAMP_MUST_CHECK int stream_connect(struct stream_hub *hub, const struct secure_key *key,
                                   const uint8_t *address, size_t length,
                                   struct stream **ret_stream);
/* Writes the local address on the route to the given address, as text. Returns false if it is
 * unknown. */
#define STREAM_HOST_BYTES 64
bool stream_host_towards(const uint8_t *address, size_t length, char ret_host[STREAM_HOST_BYTES]);

/* Returns the caller's data for a stream; initially NULL. */
void *stream_owner(const struct stream *stream);
void stream_set_owner(struct stream *stream, void *owner);
/* Returns whether the stream uses one of the last STREAM_RESERVED descriptors below the limit,
 * `*ret_limit`. They are reserved for refusing new components with a reason. */
#define STREAM_RESERVED 8U
bool stream_is_reserve(const struct stream *stream, uint64_t *ret_limit);
/* Lifts the limits for unauthenticated peers from this stream. */
void stream_admit(struct stream *stream);
/* Closes the stream without a callback; queued bytes are discarded. */
void stream_close(struct stream *stream);
VAMP_MUST_CHECK int stream_bind(struct stream *stream, struct secure_binding *ret_binding);

/* Reserves space for a frame of at most `bytes` bytes, valid until the next call for this stream.
 * Returns NULL if the queue is full or out of memory. */
uint8_t *stream_reserve(struct stream *stream, size_t bytes);
/* Queues the frame, `length` bytes (not 0) in the reserved space; the next stream_flush or
 * stream_flush_all sends it. */
void stream_commit(struct stream *stream, size_t length);
/* Sends as much as TCP accepts now; stream_poll detects failures. */
void stream_flush(struct stream *stream);
void stream_flush_all(struct stream_hub *hub);
/* Requests a call of `drained` when the queue is empty, also if it is empty now. */
void stream_ask_room(struct stream *stream);
/* Returns the number of queued bytes, and since when TCP has accepted none of them. */
size_t stream_waiting(const struct stream *stream, int64_t *ret_since_ns);

/* Processes arrived data and calls the handler. Returns the number of processed events. */
unsigned stream_poll(struct stream_hub *hub);
/* Returns the number of peers whose connections were closed before they were admitted, and how many
 * of them were closed because a limit was reached (`ret_displaced` may be NULL). */
uint64_t stream_strangers(const struct stream_hub *hub, uint64_t *ret_displaced);

/* Returns a descriptor that becomes readable when stream_poll may find an event, and shortens the
 * caller's timeout, to 0 at least. For callers that also wait for other descriptors. */
int stream_descriptor(const struct stream_hub *hub, int64_t *timeout_ns);
/* Waits until stream_poll may find an event, one of `others` (descriptors or -1; NULL: none) is
 * readable, stream_wake was called, or `timeout_ns` has passed; may return early for no reason.
 * Events are left to the next stream_poll: only the calling thread may close streams during the
 * wait. */
#define STREAM_OTHERS 2
void stream_wait(struct stream_hub *hub, const int others[STREAM_OTHERS], int64_t timeout_ns);
/* Sleeps for less than a tenth of a millisecond, so that the next stream_poll handles several
 * frames at once; only stream_wake ends the sleep early. */
void stream_gather(struct stream_hub *hub);
void stream_wake(struct stream_hub *hub);
