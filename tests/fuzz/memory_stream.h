/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams and a carrier without a network, for fuzz targets: maestro/wire/stream.h and fabric.h as
 * the linker wants them, so that the archive's own are not taken. The target opens connections of
 * members and puts frames in; what the code under test sends is checked and thrown away; remote
 * reads succeed, or fail when the key is odd. One thread.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/wire/fabric.h"
#include "maestro/wire/frame.h"
#include "maestro/wire/stream.h"
#include "tests/fuzz/require.h"

#define MEMORY_STREAMS 8
#define MEMORY_READS 16

struct stream {
    struct stream_hub *hub;
    void *owner;
    bool admitted;
    uint8_t room[STREAM_FRAME_BYTES];
};

struct stream_hub {
    const struct stream_handler *handler;
    struct stream *streams[MEMORY_STREAMS];
    struct stream *to; /* of the next poll */
    const uint8_t *incoming;
    size_t incoming_length;
    uint64_t sent;
};

/* All that exist, so that the target finds the one that the code under test opened. */
static struct stream_hub *memory_hub;

/* A connection whose other end has proven that it knows the key. */
static struct stream *memory_stream_open(struct stream_hub *hub)
{
    unsigned free_place = 0;
    while (hub->streams[free_place] != NULL) {
        free_place++;
    }
    require(free_place < MEMORY_STREAMS);
    struct stream *stream = calloc(1, sizeof *stream);
    require(stream != NULL);
    stream->hub = hub;
    hub->streams[free_place] = stream;
    hub->handler->opened(hub->handler->context, stream);
    return stream;
}

__attribute__((unused)) static bool memory_stream_is_open(const struct stream_hub *hub,
                                                          const struct stream *stream)
{
    for (unsigned i = 0; stream != NULL && i < MEMORY_STREAMS; i++) {
        if (hub->streams[i] == stream) {
            return true;
        }
    }
    return false;
}

/* The next poll finds this frame. */
static void memory_stream_put(struct stream *stream, const uint8_t *bytes, size_t length)
{
    stream->hub->to = stream;
    stream->hub->incoming = bytes;
    stream->hub->incoming_length = length;
}

const char *stream_bind_choice(const char *wanted, const char *preset)
{
    return wanted != NULL ? wanted : preset;
}

int stream_hub_open(const struct stream_handler *handler, struct stream_hub **ret_hub,
                    struct vamp_err *err)
{
    (void)err;
    struct stream_hub *hub = calloc(1, sizeof *hub);
    require(hub != NULL);
    hub->handler = handler;
    memory_hub = hub;
    *ret_hub = hub;
    return 0;
}

void stream_close(struct stream *stream)
{
    struct stream_hub *hub = stream->hub;
    unsigned found = 0;
    for (unsigned i = 0; i < MEMORY_STREAMS; i++) {
        if (hub->streams[i] == stream) {
            hub->streams[i] = NULL;
            found++;
        }
    }
    require(found == 1);
    hub->to = hub->to == stream ? NULL : hub->to;
    free(stream);
}

void stream_hub_close(struct stream_hub *hub)
{
    for (unsigned i = 0; hub != NULL && i < MEMORY_STREAMS; i++) {
        if (hub->streams[i] != NULL) {
            stream_close(hub->streams[i]);
        }
    }
    memory_hub = NULL;
    free(hub);
}

int stream_listen(struct stream_hub *hub, const struct secure_key *key, const char *bind,
                  struct vamp_err *err)
{
    (void)hub, (void)key, (void)bind, (void)err;
    return 0;
}

const uint8_t *stream_address(const struct stream_hub *hub, size_t *ret_length)
{
    static const uint8_t address[STREAM_ADDRESS_BYTES] = {2, 0, 0x12, 0x34, 127, 0, 0, 1};
    (void)hub;
    *ret_length = 16;
    return address;
}

int stream_connect(struct stream_hub *hub, const struct secure_key *key, const uint8_t *address,
                   size_t length, struct stream **ret_stream)
{
    (void)key, (void)address, (void)length;
    *ret_stream = memory_stream_open(hub);
    return 0;
}

bool stream_host_towards(const uint8_t *address, size_t length, char ret_host[STREAM_HOST_BYTES])
{
    (void)address, (void)length, (void)ret_host;
    return false;
}

void *stream_owner(const struct stream *stream)
{
    return stream->owner;
}

void stream_set_owner(struct stream *stream, void *owner)
{
    stream->owner = owner;
}

void stream_admit(struct stream *stream)
{
    stream->admitted = true;
}

int stream_bind(struct stream *stream, struct secure_binding *ret_binding)
{
    (void)stream;
    *ret_binding = (struct secure_binding){{0}};
    return 0;
}

/* ---- sending */

uint8_t *stream_reserve(struct stream *stream, size_t bytes)
{
    require(bytes <= STREAM_FRAME_BYTES);
    return stream->room;
}

void stream_commit(struct stream *stream, size_t length)
{
    struct frame frame;
    /* Whatever the program under test receives, what it sends is well-formed. */
    require(length > 0 && length <= STREAM_FRAME_BYTES);
    require(frame_parse(stream->room, length, &frame, NULL) == 0);
    stream->hub->sent++;
}

void stream_flush(struct stream *stream)
{
    (void)stream;
}

void stream_flush_all(struct stream_hub *hub)
{
    (void)hub;
}

void stream_ask_room(struct stream *stream)
{
    (void)stream;
}

size_t stream_waiting(const struct stream *stream, int64_t *ret_since_ns)
{
    (void)stream;
    *ret_since_ns = 0;
    return 0;
}

/* ---- what has happened */

unsigned stream_poll(struct stream_hub *hub)
{
    if (hub->incoming == NULL || hub->to == NULL) {
        return 0;
    }
    /* A copy of the exact size, so that a read too far is seen. */
    struct stream *to = hub->to;
    const size_t length = hub->incoming_length;
    uint8_t *copy = malloc(length > 0 ? length : 1);
    require(copy != NULL);
    memcpy(copy, hub->incoming, length);
    hub->incoming = NULL;
    if (length > 0 && length <= STREAM_FRAME_BYTES) {
        hub->handler->received(hub->handler->context, to, copy, length);
    } else {
        hub->handler->closed(hub->handler->context, to, -EBADMSG);
        stream_close(to);
    }
    free(copy);
    return 1;
}

uint64_t stream_strangers(const struct stream_hub *hub, uint64_t *ret_displaced)
{
    (void)hub, (void)ret_displaced;
    return 0;
}

bool stream_is_reserve(const struct stream *stream, uint64_t *ret_limit)
{
    (void)stream, (void)ret_limit;
    return false;
}

void stream_wait(struct stream_hub *hub, const int others[STREAM_OTHERS], int64_t timeout_ns)
{
    (void)hub, (void)others, (void)timeout_ns; /* nothing comes by itself */
}

int stream_descriptor(const struct stream_hub *hub, int64_t *timeout_ns)
{
    (void)hub, (void)timeout_ns;
    return -1;
}

const char *stream_take_port(char *text, const char **ret_node)
{
    *ret_node = text;
    return NULL;
}

void stream_gather(struct stream_hub *hub)
{
    (void)hub;
}

void stream_wake(struct stream_hub *hub)
{
    (void)hub;
}

/* ---- payloads */

struct memory_carrier {
    struct carrier carrier;
    struct carrier_event done[MEMORY_READS];
    unsigned done_count;
};

static void memory_close(struct carrier *carrier)
{
    free(carrier);
}

static void memory_place(const struct carrier *carrier, struct carrier_place *ret_place)
{
    (void)carrier;
    *ret_place = (struct carrier_place){.provider = "memory", .length = 4, .address = {1, 2, 3, 4}};
}

static int memory_peer_add(struct carrier *carrier, const struct carrier_place *place,
                           carrier_peer *ret_peer)
{
    (void)carrier;
    *ret_peer = 1;
    return place->length == 4 ? 0 : -EINVAL;
}

static void memory_peer_remove(struct carrier *carrier, carrier_peer peer)
{
    (void)carrier, (void)peer;
}

static bool memory_refuses(const struct carrier *carrier, const struct carrier_place *place)
{
    (void)carrier, (void)place;
    return false;
}

static int memory_expose(struct carrier *carrier, void *address, size_t bytes,
                         struct carrier_memory *ret_memory, struct vamp_err *err)
{
    (void)carrier, (void)bytes, (void)err;
    *ret_memory = (struct carrier_memory){.address = (uint64_t)(uintptr_t)address, .key = 4};
    return 0;
}

static void memory_forget(struct carrier *carrier, struct carrier_memory *memory)
{
    (void)carrier, (void)memory;
}

static int memory_read(struct carrier *carrier, carrier_peer peer, uint64_t address, uint64_t key,
                       void *destination, size_t bytes, uint64_t tag)
{
    struct memory_carrier *memory = (struct memory_carrier *)(void *)carrier;
    (void)peer, (void)address;
    if (memory->done_count >= MEMORY_READS) {
        return -EAGAIN;
    }
    memset(destination, 0x5a, bytes);
    memory->done[memory->done_count++] =
        (struct carrier_event){.tag = tag, .status = (key & 1) != 0 ? -ECONNRESET : 0};
    return 0;
}

static int memory_poll(struct carrier *carrier, struct carrier_event events[CARRIER_EVENTS])
{
    struct memory_carrier *memory = (struct memory_carrier *)(void *)carrier;
    const unsigned count = memory->done_count;
    memcpy(events, memory->done, count * sizeof *events);
    memory->done_count = 0;
    return (int)count;
}

static int memory_wait(struct carrier *carrier, int64_t *timeout_ns)
{
    (void)carrier, (void)timeout_ns;
    return -1;
}

int fabric_open(const struct carrier_place *like, const char *bind, struct carrier **ret_carrier,
                struct vamp_err *err)
{
    static const struct carrier_ops ops = {.close = memory_close,
                                           .place = memory_place,
                                           .peer_add = memory_peer_add,
                                           .peer_remove = memory_peer_remove,
                                           .refuses = memory_refuses,
                                           .expose = memory_expose,
                                           .forget = memory_forget,
                                           .read = memory_read,
                                           .poll = memory_poll,
                                           .wait = memory_wait};
    (void)like, (void)bind, (void)err;
    struct memory_carrier *memory = calloc(1, sizeof *memory);
    require(memory != NULL);
    memory->carrier.ops = &ops;
    *ret_carrier = &memory->carrier;
    return 0;
}

const char *fabric_present(void)
{
    return "memory";
}

bool fabric_provider_is_known(const char *name)
{
    return name[0] != '\0';
}

const char *fabric_provider_choice(const char *wanted)
{
    return wanted != NULL ? wanted : "";
}

void fabric_bury(const struct carrier_place *place)
{
    (void)place;
}
