/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections over TCP that carry frames of bounded length between ends with a common key
 * (secure.h), all of one process in one hub. Until the other end has authenticated with the key and
 * is admitted, it is a stranger: its bytes, limited in number, reach nothing but the TLS library,
 * it has STREAM_STRANGER_NS, and there are at most STREAM_STRANGERS of them; a further one replaces
 * the oldest. Each connection has its own queue, so no peer waits for another.
 *
 * Threads: the caller serialises all calls with one lock, except stream_wait and stream_gather
 * (called by one thread, without that lock) and stream_wake (any thread, any time). Only
 * stream_wait and stream_gather block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/secure.h"
#include "vampire/core/err.h"

#define STREAM_BIND_PRESET "127.0.0.1"
#define STREAM_ENV_BIND "MSTRO_POOL_BIND"
/* Together with the four bytes of a frame's length: one record of TLS. */
#define STREAM_FRAME_BYTES ((size_t)16380)
/* Upper limit of a socket's address (struct sockaddr_in or sockaddr_in6). */
#define STREAM_ADDRESS_BYTES ((size_t)256)
#define STREAM_STRANGERS 64U
#define STREAM_STRANGER_NS INT64_C(3000000000)
/* Accepted from a stranger before it has authenticated: several times what TLS needs. */
#define STREAM_STRANGER_BYTES ((size_t)8192)
/* Bytes of frames not accepted by the other end's host; further frames are refused. */
#define STREAM_QUEUE_BYTES ((size_t)4 << 20)

struct stream_hub;
struct stream;

/* Called from stream_poll. Each may close any stream and send on any. */
struct stream_handler {
    /* The other end has authenticated. */
    void (*opened)(void *context, struct stream *stream);
    /* A frame, valid during the call. */
    void (*received)(void *context, struct stream *stream, const uint8_t *bytes, size_t length);
    /* All waiting bytes have been sent. */
    void (*drained)(void *context, struct stream *stream);
    /* The connection has ended with -errno: -EKEYREJECTED, -EBADMSG, -ETIMEDOUT, of the socket. The
     * stream is freed after this. */
    void (*closed)(void *context, struct stream *stream, int status);
    void *context;
};

/* 0 or -errno. Raises the soft limit of open files to the hard one. `handler` is borrowed. */
VAMP_MUST_CHECK int stream_hub_open(const struct stream_handler *handler,
                                    struct stream_hub **ret_hub, struct vamp_err *err);
/* Ends all streams (-ECANCELED). NULL is fine. */
void stream_hub_close(struct stream_hub *hub);
/* Accepts connections at `bind`: ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT (NULL: STREAM_ENV_BIND,
 * else loopback) from peers with `key`, which is borrowed. Once in a hub. 0 or -errno. */
VAMP_MUST_CHECK int stream_listen(struct stream_hub *hub, const struct secure_key *key,
                                  const char *bind, struct vamp_err *err);
/* `wanted`, else STREAM_ENV_BIND, else `preset`. */
const char *stream_bind_choice(const char *wanted, const char *preset);
/* Splits "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT" in place. Returns the port; NULL: none. */
const char *stream_take_port(char *text, const char **ret_node);
/* The address on which the hub listens. */
const uint8_t *stream_address(const struct stream_hub *hub, size_t *ret_length);
/* Starts to connect; `opened` or `closed` follows within STREAM_STRANGER_NS. `key` is borrowed. 0
 * or -errno. */
VAMP_MUST_CHECK int stream_connect(struct stream_hub *hub, const struct secure_key *key,
                                   const uint8_t *address, size_t length,
                                   struct stream **ret_stream);
/* The address of this host on the route to that address, as text. False: unknown. */
#define STREAM_HOST_BYTES 64
bool stream_host_towards(const uint8_t *address, size_t length, char ret_host[STREAM_HOST_BYTES]);

/* The caller's data of a stream; NULL at first. */
void *stream_owner(const struct stream *stream);
void stream_set_owner(struct stream *stream, void *owner);
/* Ends the limits of a stranger for this stream. */
void stream_admit(struct stream *stream);
/* Closes the stream without a callback; waiting bytes are not sent. */
void stream_close(struct stream *stream);
VAMP_MUST_CHECK int stream_bind(struct stream *stream, struct secure_binding *ret_binding);

/* Reserves space for a frame of at most `bytes`, valid until the next call for this stream; NULL:
 * its queue is full, or there is no memory. */
uint8_t *stream_reserve(struct stream *stream, size_t bytes);
/* Commits the frame, `length` bytes (not 0) in the reserved space: sent by the next stream_flush or
 * stream_flush_all. */
void stream_commit(struct stream *stream, size_t length);
/* Sends what the host accepts now; stream_poll detects failures. */
void stream_flush(struct stream *stream);
void stream_flush_all(struct stream_hub *hub);
/* Requests a call of `drained` once nothing waits, also if nothing waits now. */
void stream_ask_room(struct stream *stream);
/* Waiting bytes, and since when the other end has accepted none of them. */
size_t stream_waiting(const struct stream *stream, int64_t *ret_since_ns);

/* Handles what has arrived and calls the handler. Returns the number of handled events. */
unsigned stream_poll(struct stream_hub *hub);
/* Number of strangers that were closed before they were admitted. */
uint64_t stream_strangers(const struct stream_hub *hub);

/* The descriptor that becomes readable when stream_poll may find something; shortens the caller's
 * timeout. For callers that also wait for other things. */
int stream_descriptor(const struct stream_hub *hub, int64_t *timeout_ns);
/* Waits until stream_poll may find something, one of `others` (descriptors or -1; NULL) is
 * readable, stream_wake was called, or `timeout_ns` has passed; may return early without reason.
 * Events found are left to the next stream_poll: only this thread closes streams while it runs. */
#define STREAM_OTHERS 2
void stream_wait(struct stream_hub *hub, const int others[STREAM_OTHERS], int64_t timeout_ns);
/* Sleeps for less than a tenth of a millisecond, so that the next stream_poll handles several
 * frames at once; only stream_wake ends the sleep early. */
void stream_gather(struct stream_hub *hub);
void stream_wake(struct stream_hub *hub);
