/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric without a network, for fuzz targets: maestro/wire/fabric.h as the linker wants it, so
 * that the archive's own is not taken. The target puts messages in; what the code under test sends
 * is checked and thrown away; remote reads succeed, or fail when the key is odd. One thread.
 */
#ifndef TESTS_FUZZ_MEMORY_FABRIC_H
#define TESTS_FUZZ_MEMORY_FABRIC_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/wire/fabric.h"
#include "maestro/wire/frame.h"
#include "tests/fuzz/require.h"

#define MEMORY_FABRIC_SENDS 64
#define MEMORY_FABRIC_READS 16
#define MEMORY_FABRIC_ADDRESS_BYTES 16

struct fabric_message {
    struct fabric_message *next;
    uint8_t bytes[FABRIC_MESSAGE_BYTES];
};

struct fabric {
    struct fabric_message *free_messages;
    /* What has completed and was not polled yet. */
    struct fabric_event done[MEMORY_FABRIC_SENDS + MEMORY_FABRIC_READS];
    unsigned done_count, reads;
    const uint8_t *incoming; /* one message at a time */
    size_t incoming_length;
    unsigned lent; /* received and not released */
    uint64_t sent;
};

/* All that exist, so that the target finds the one that the code under test opened first. */
static struct fabric *memory_fabric_first;

/* The next poll of `fabric` finds this message. */
static void memory_fabric_put(struct fabric *fabric, const uint8_t *bytes, size_t length)
{
    fabric->incoming = bytes;
    fabric->incoming_length = length;
}

const char *fabric_provider_choice(const char *wanted)
{
    return wanted != NULL ? wanted : FABRIC_PROVIDER_PRESET;
}

int fabric_open(const struct fabric_kind *kind, const char *bind, struct fabric **ret_fabric,
                struct vamp_err *err)
{
    (void)kind, (void)bind, (void)err;
    struct fabric *fabric = calloc(1, sizeof *fabric);
    require(fabric != NULL);
    memory_fabric_first = memory_fabric_first == NULL ? fabric : memory_fabric_first;
    *ret_fabric = fabric;
    return 0;
}

int fabric_open_reader(const struct fabric *like, struct fabric **ret_fabric, struct vamp_err *err)
{
    require(like != NULL);
    return fabric_open(NULL, NULL, ret_fabric, err);
}

uint32_t fabric_protocol(const struct fabric *fabric)
{
    (void)fabric;
    return 1;
}

void fabric_close(struct fabric *fabric)
{
    if (fabric == NULL) {
        return;
    }
    require(fabric->lent == 0);
    while (fabric->free_messages != NULL) {
        struct fabric_message *message = fabric->free_messages;
        fabric->free_messages = message->next;
        free(message);
    }
    memory_fabric_first = memory_fabric_first == fabric ? NULL : memory_fabric_first;
    free(fabric);
}

const char *fabric_provider(const struct fabric *fabric)
{
    (void)fabric;
    return FABRIC_PROVIDER_PRESET;
}

const uint8_t *fabric_address(const struct fabric *fabric, size_t *ret_length)
{
    static const uint8_t address[FABRIC_ADDRESS_BYTES] = {2, 0, 0x12, 0x34, 127, 0, 0, 1};
    (void)fabric;
    *ret_length = MEMORY_FABRIC_ADDRESS_BYTES;
    return address;
}

int fabric_peer_add(struct fabric *fabric, const uint8_t *address, size_t length,
                    fabric_peer *ret_peer, struct vamp_err *err)
{
    (void)fabric;
    if (length != MEMORY_FABRIC_ADDRESS_BYTES) {
        return vamp_err_set(err, -EINVAL, "a peer's address of %zu bytes", length);
    }
    memcpy(ret_peer, address, sizeof *ret_peer);
    return 0;
}

void fabric_peer_remove(struct fabric *fabric, fabric_peer peer)
{
    (void)fabric, (void)peer;
}

void fabric_peer_bury(const struct fabric *fabric, const uint8_t *address, size_t length)
{
    (void)fabric, (void)address, (void)length;
}

bool fabric_peer_refuses(const struct fabric *fabric, const uint8_t *address, size_t length)
{
    (void)fabric, (void)address, (void)length;
    return false;
}

/* ---- messages */

struct fabric_message *fabric_message_get(struct fabric *fabric)
{
    struct fabric_message *message = fabric->free_messages;
    if (message == NULL) {
        return malloc(sizeof *message);
    }
    fabric->free_messages = message->next;
    return message;
}

void fabric_message_put(struct fabric *fabric, struct fabric_message *message)
{
    message->next = fabric->free_messages;
    fabric->free_messages = message;
}

uint8_t *fabric_message_bytes(struct fabric_message *message)
{
    return message->bytes;
}

int fabric_send(struct fabric *fabric, fabric_peer peer, struct fabric_message *message,
                size_t offset, size_t length, uint64_t tag)
{
    struct frame frame;
    (void)peer;
    if (fabric->done_count >= MEMORY_FABRIC_SENDS) {
        return -EAGAIN;
    }
    /* Whatever the program under test receives, what it sends is well-formed. */
    require(offset + length <= FABRIC_MESSAGE_BYTES);
    require(frame_parse(message->bytes + offset, length, &frame, NULL) == 0);
    fabric->sent++;
    fabric->done[fabric->done_count++] = (struct fabric_event){.kind = FABRIC_SENT, .tag = tag};
    fabric_message_put(fabric, message);
    return 0;
}

/* ---- remote memory */

int fabric_register(struct fabric *fabric, void *address, size_t bytes,
                    struct fabric_memory *ret_memory, struct vamp_err *err)
{
    (void)fabric, (void)bytes, (void)err;
    *ret_memory = (struct fabric_memory){.address = (uint64_t)(uintptr_t)address, .key = 4};
    return 0;
}

void fabric_unregister(struct fabric *fabric, struct fabric_memory *memory)
{
    (void)fabric, (void)memory;
}

int fabric_read(struct fabric *fabric, fabric_peer peer, uint64_t address, uint64_t key,
                void *destination, size_t bytes, uint64_t tag)
{
    (void)peer, (void)address;
    if (fabric->reads >= MEMORY_FABRIC_READS) {
        return -EAGAIN;
    }
    memset(destination, 0x5a, bytes);
    fabric->reads++;
    fabric->done[fabric->done_count++] = (struct fabric_event){
        .kind = FABRIC_READ, .tag = tag, .status = (key & 1) != 0 ? -ECONNRESET : 0};
    return 0;
}

/* ---- what has happened */

int fabric_poll(struct fabric *fabric, struct fabric_event events[FABRIC_EVENTS])
{
    unsigned count =
        fabric->done_count < FABRIC_EVENTS - 1 ? fabric->done_count : FABRIC_EVENTS - 1;
    memcpy(events, fabric->done, count * sizeof *events);
    memmove(fabric->done, fabric->done + count, (fabric->done_count - count) * sizeof *events);
    fabric->done_count -= count;
    for (unsigned i = 0; i < count; i++) {
        fabric->reads -= events[i].kind == FABRIC_READ ? 1U : 0U;
    }
    if (fabric->incoming != NULL) {
        /* A copy of the exact size, so that a read too far is seen. */
        uint8_t *copy = malloc(fabric->incoming_length > 0 ? fabric->incoming_length : 1);
        require(copy != NULL);
        memcpy(copy, fabric->incoming, fabric->incoming_length);
        events[count++] = (struct fabric_event){.kind = FABRIC_RECEIVED,
                                                .bytes = copy,
                                                .length = fabric->incoming_length,
                                                .buffer = copy};
        fabric->incoming = NULL;
        fabric->lent++;
    }
    return (int)count;
}

void fabric_release(struct fabric *fabric, const struct fabric_event *event)
{
    require(fabric->lent > 0);
    fabric->lent--;
    free(event->buffer);
}

void fabric_wait(struct fabric *fabric, struct fabric *reader, int64_t timeout_ns)
{
    (void)fabric, (void)reader, (void)timeout_ns; /* nothing comes by itself */
}

void fabric_gather(struct fabric *fabric)
{
    (void)fabric;
}

void fabric_wake(struct fabric *fabric)
{
    (void)fabric;
}

#endif
