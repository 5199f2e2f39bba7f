/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections over TCP that carry frames of bounded length between ends that know a key (secure.h),
 * all of one process in one hub. Until the other end has proven that it knows the key, and is
 * admitted, it is a stranger: its bytes reach nothing but the TLS library and a limit of their
 * number, it has STREAM_STRANGER_NS, and there are at most STREAM_STRANGERS of them; another one
 * takes the place of the oldest. Each connection has its own queue, so nobody waits for another.
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
/* With the four bytes of a frame's length, one record of TLS. */
#define STREAM_FRAME_BYTES ((size_t)16380)
/* A socket's address (struct sockaddr_in or sockaddr_in6) is shorter. */
#define STREAM_ADDRESS_BYTES ((size_t)256)
#define STREAM_STRANGERS 64U
#define STREAM_STRANGER_NS INT64_C(3000000000)
/* Of a stranger, before the key is proven: several times what TLS needs. */
#define STREAM_STRANGER_BYTES ((size_t)8192)
/* Bytes of frames that the other end's host does not take; more are refused. */
#define STREAM_QUEUE_BYTES ((size_t)4 << 20)

struct stream_hub;
struct stream;

/* Called from stream_poll. Each may close any stream and send on any. */
struct stream_handler {
    /* Both ends know the key. */
    void (*opened)(void *context, struct stream *stream);
    /* A frame, valid during the call. */
    void (*received)(void *context, struct stream *stream, const uint8_t *bytes, size_t length);
    /* Everything that waited is sent. */
    void (*drained)(void *context, struct stream *stream);
    /* The connection is over, for -errno: -EKEYREJECTED, -EBADMSG, -ETIMEDOUT, of the socket. The
     * stream is freed after this. */
    void (*closed)(void *context, struct stream *stream, int status);
    void *context;
};

/* 0 or -errno. Raises the soft limit of open files to the hard one. `handler` stays. */
VAMP_MUST_CHECK int stream_hub_open(const struct stream_handler *handler,
                                    struct stream_hub **ret_hub, struct vamp_err *err);
/* Ends all streams (-ECANCELED). NULL is fine. */
void stream_hub_close(struct stream_hub *hub);
/* Accepts connections at `bind`: ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT (NULL: STREAM_ENV_BIND,
 * else loopback) of those who know `key`, which stays where it is. Once in a hub. 0 or -errno. */
VAMP_MUST_CHECK int stream_listen(struct stream_hub *hub, const struct secure_key *key,
                                  const char *bind, struct vamp_err *err);
/* `wanted`, else STREAM_ENV_BIND, else `preset`. */
const char *stream_bind_choice(const char *wanted, const char *preset);
/* "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT", taken apart in `text`: the port, NULL: none. */
const char *stream_take_port(char *text, const char **ret_node);
/* Where it listens. */
const uint8_t *stream_address(const struct stream_hub *hub, size_t *ret_length);
/* Begins to connect; `opened` or `closed` follows, in STREAM_STRANGER_NS at most. `key` stays. 0 or
 * -errno. */
VAMP_MUST_CHECK int stream_connect(struct stream_hub *hub, const struct secure_key *key,
                                   const uint8_t *address, size_t length,
                                   struct stream **ret_stream);
/* The address of this host that leads there, as text. False: it cannot be found. */
#define STREAM_HOST_BYTES 64
bool stream_host_towards(const uint8_t *address, size_t length, char ret_host[STREAM_HOST_BYTES]);

/* What the caller keeps with a stream; NULL at first. */
void *stream_owner(const struct stream *stream);
void stream_set_owner(struct stream *stream, void *owner);
/* It is no stranger any more: it stays as long as it likes. */
void stream_admit(struct stream *stream);
/* Closes it without a call; what waits is not sent. */
void stream_close(struct stream *stream);
VAMP_MUST_CHECK int stream_bind(struct stream *stream, struct secure_binding *ret_binding);

/* Room for a frame of at most `bytes`, until the next call of this stream; NULL: its queue is full,
 * or there is no memory. */
uint8_t *stream_reserve(struct stream *stream, size_t bytes);
/* The frame is there, in `length` bytes (not 0) of that room: sent by the next stream_flush, or
 * stream_flush_all. */
void stream_commit(struct stream *stream, size_t length);
/* Sends what the host takes now; a failure is found by stream_poll. */
void stream_flush(struct stream *stream);
void stream_flush_all(struct stream_hub *hub);
/* `drained` is called once nothing waits, also when nothing waits now. */
void stream_ask_room(struct stream *stream);
/* Bytes that wait; since when the other end has taken none of them. */
size_t stream_waiting(const struct stream *stream, int64_t *ret_since_ns);

/* Takes what has come and calls the handler. The number of things that happened. */
unsigned stream_poll(struct stream_hub *hub);
/* Strangers that were closed before they were admitted. */
uint64_t stream_strangers(const struct stream_hub *hub);

/* The descriptor that becomes readable when stream_poll may find something; shortens the time that
 * the caller may wait. For callers that wait for other things as well. */
int stream_descriptor(const struct stream_hub *hub, int64_t *timeout_ns);
/* Waits until stream_poll may find something, one of `others` (descriptors or -1; NULL) is
 * readable, stream_wake was called, or `timeout_ns` has passed; may return early without reason.
 * What it finds is for the next stream_poll: only this thread closes streams while it runs. */
#define STREAM_OTHERS 2
void stream_wait(struct stream_hub *hub, const int others[STREAM_OTHERS], int64_t timeout_ns);
/* Sleeps for less than a tenth of a millisecond, so that the next stream_poll takes several frames
 * at once; they do not wake the thread, stream_wake does. */
void stream_gather(struct stream_hub *hub);
void stream_wake(struct stream_hub *hub);
