/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protocol: a question requests memory by its key, an offset and a number of bytes. The answer is
 * that number of bytes, in frames; answers have the order of the questions. A question that cannot
 * be answered ends the connection.
 */
#include "maestro/wire/carrier.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/wire/stream.h"
#include "vampire/core/list.h"
#include "vampire/core/values.h"

/* Limit for outstanding reads to all peers together, and for unanswered questions from one peer. */
#define READS 64U
/* Limit for the bytes of answers in a stream's queue. */
#define ANSWER_BYTES ((size_t)262144)

struct question {
    uint64_t key, offset, bytes; /* little-endian on the wire */
};

/* Exposed memory of this process. */
struct region {
    struct list_link of_door;
    uint64_t key;
    const uint8_t *address;
    uint64_t bytes;
};

/* A process that reads this process's memory. */
struct caller {
    struct question questions[READS]; /* ring of unanswered questions */
    unsigned first, count;
};

/* A process whose memory this process reads. */
struct door_peer {
    struct list_link of_door;
    struct list reads; /* ordered by question */
    struct stream *stream;
    struct secure_key key;
    size_t length;
    uint8_t address[STREAM_ADDRESS_BYTES];
};

struct door_read {
    struct list_link of_peer; /* link in the peer's reads, in free_reads or in ended */
    uint8_t *destination;
    size_t left;
    struct carrier_event event;
};

struct door {
    struct carrier carrier;
    struct stream_handler handler;
    struct stream_hub *hub;
    struct secure_key key;
    const char *bind;
    bool listens;
    struct list regions, peers, free_reads, ended;
    struct door_read reads[READS];
};

static struct door *as_door(const struct carrier *carrier)
{
    return (struct door *)(uintptr_t)carrier;
}

static struct door_peer *peer_of(struct door *door, const struct stream *stream)
{
    LIST_EACH (peer, &door->peers, struct door_peer, of_door) {
        if (peer->stream == stream) {
            return peer;
        }
    }
    return NULL;
}

/* ---- this process's memory */

static const struct region *region_of(const struct door *door, uint64_t key)
{
    LIST_EACH (region, &door->regions, struct region, of_door) {
        if (region->key == key) {
            return region;
        }
    }
    return NULL;
}

/* Fills the stream's queue with answers. Returns false if a question cannot be answered. */
static bool answer(struct door *door, struct stream *stream, struct caller *caller)
{
    int64_t since_ns;
    while (caller->count > 0 && stream_waiting(stream, &since_ns) < ANSWER_BYTES) {
        struct question *question = &caller->questions[caller->first];
        const struct region *region = region_of(door, question->key);
        if (region == NULL || question->bytes == 0 || question->offset > region->bytes ||
            question->bytes > region->bytes - question->offset) {
            return false;
        }
        const size_t piece = (size_t)VAMP_MIN(question->bytes, STREAM_FRAME_BYTES);
        uint8_t *room = stream_reserve(stream, piece);
        if (room == NULL) {
            return false;
        }
        memcpy(room, region->address + question->offset, piece);
        stream_commit(stream, piece);
        question->offset += piece;
        question->bytes -= piece;
        if (question->bytes == 0) {
            caller->first = (caller->first + 1) % READS;
            caller->count--;
        }
    }
    if (caller->count > 0) {
        stream_ask_room(stream);
    }
    return true;
}

static void end_caller(struct stream *stream)
{
    free(stream_owner(stream));
    stream_close(stream);
}

static void hear_question(struct door *door, struct stream *stream, const uint8_t *bytes,
                          size_t length)
{
    struct caller *caller = stream_owner(stream);
    struct question question;
    if (caller == NULL || caller->count == READS || length != sizeof question) {
        end_caller(stream);
        return;
    }
    memcpy(&question, bytes, sizeof question);
    caller->questions[(caller->first + caller->count++) % READS] =
        (struct question){.key = le64toh(question.key),
                          .offset = le64toh(question.offset),
                          .bytes = le64toh(question.bytes)};
    if (!answer(door, stream, caller)) {
        end_caller(stream);
    }
}

/* ---- streams */

static void stream_is_open(void *context, struct stream *stream)
{
    stream_admit(stream);
    if (peer_of(context, stream) == NULL) {
        stream_set_owner(stream, calloc(1, sizeof(struct caller)));
    }
}

static void stream_received(void *context, struct stream *stream, const uint8_t *bytes,
                            size_t length)
{
    struct door *door = context;
    struct door_peer *peer = peer_of(door, stream);
    if (peer == NULL) {
        hear_question(door, stream, bytes, length);
        return;
    }
    struct list_link *link = list_first(&peer->reads);
    if (link == NULL) {
        return; /* the payload's deadline ends the read */
    }
    struct door_read *read = CONTAINER_OF(link, struct door_read, of_peer);
    if (length > read->left) {
        return; /* the payload's deadline ends the read */
    }
    memcpy(read->destination, bytes, length);
    read->destination += length;
    read->left -= length;
    if (read->left == 0) {
        list_remove(&read->of_peer);
        list_append(&door->ended, &read->of_peer);
    }
}

static void stream_drained(void *context, struct stream *stream)
{
    struct caller *caller = stream_owner(stream);
    if (caller != NULL && !answer(context, stream, caller)) {
        end_caller(stream);
    }
}

static void stream_ended(void *context, struct stream *stream, int status)
{
    struct door *door = context;
    struct door_peer *peer = peer_of(door, stream);
    struct list_link *link;
    if (peer == NULL) {
        free(stream_owner(stream));
        return;
    }
    peer->stream = NULL;
    while ((link = list_take(&peer->reads)) != NULL) {
        CONTAINER_OF(link, struct door_read, of_peer)->event.status = status;
        list_append(&door->ended, link);
    }
}

/* ---- the table */

static void door_close(struct carrier *carrier)
{
    struct door *door = as_door(carrier);
    struct list_link *link;
    stream_hub_close(door->hub); /* stream_ended frees the callers */
    while ((link = list_take(&door->peers)) != NULL) {
        free(CONTAINER_OF(link, struct door_peer, of_door));
    }
    while ((link = list_take(&door->regions)) != NULL) {
        free(CONTAINER_OF(link, struct region, of_door));
    }
    free(door);
}

/* The location is the key, followed by the address on which the process listens. */
static void door_place(const struct carrier *carrier, struct carrier_place *ret_place)
{
    const struct door *door = as_door(carrier);
    size_t length;
    const uint8_t *address = stream_address(door->hub, &length);
    *ret_place = (struct carrier_place){.provider = DOOR_PROVIDER};
    if (SECURE_KEY_BYTES + length <= sizeof ret_place->address) {
        ret_place->length = SECURE_KEY_BYTES + length;
        memcpy(ret_place->address, door->key.bytes, SECURE_KEY_BYTES);
        memcpy(ret_place->address + SECURE_KEY_BYTES, address, length);
    }
}

static int door_peer_add(struct carrier *carrier, const struct carrier_place *place,
                         carrier_peer *ret_peer)
{
    struct door *door = as_door(carrier);
    struct door_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL || place->length <= SECURE_KEY_BYTES ||
        place->length > sizeof place->address) {
        free(peer);
        return peer == NULL ? -ENOMEM : -EINVAL;
    }
    list_init(&peer->reads);
    peer->length = place->length - SECURE_KEY_BYTES;
    memcpy(peer->key.bytes, place->address, SECURE_KEY_BYTES);
    memcpy(peer->address, place->address + SECURE_KEY_BYTES, peer->length);
    list_append(&door->peers, &peer->of_door);
    *ret_peer = (carrier_peer)(uintptr_t)peer;
    return 0;
}

static void door_peer_remove(struct carrier *carrier, carrier_peer number)
{
    struct door *door = as_door(carrier);
    struct door_peer *peer = (struct door_peer *)(uintptr_t)number;
    struct list_link *link;
    if (peer->stream != NULL) {
        stream_close(peer->stream);
    }
    while ((link = list_take(&peer->reads)) != NULL) {
        list_append(&door->free_reads, link);
    }
    list_remove(&peer->of_door);
    free(peer);
}

static bool door_refuses(const struct carrier *carrier, const struct carrier_place *place)
{
    (void)carrier, (void)place; /* an attempt to connect ends by its own timeout */
    return false;
}

static int door_expose(struct carrier *carrier, void *address, size_t bytes,
                       struct carrier_memory *ret_memory, struct vamp_err *err)
{
    struct door *door = as_door(carrier);
    struct region *region = malloc(sizeof *region);
    if (region == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "offer memory to others");
    }
    int result = 0;
    if (!door->listens) {
        result = stream_listen(door->hub, &door->key, door->bind, err);
        door->listens = result == 0;
    }
    if (result == 0) {
        result = secure_random(&region->key, sizeof region->key, err);
    }
    if (result != 0) {
        free(region);
        return result;
    }
    region->address = address;
    region->bytes = bytes;
    list_append(&door->regions, &region->of_door);
    *ret_memory = (struct carrier_memory){.key = region->key, .registration = region};
    return 0;
}

static void door_forget(struct carrier *carrier, struct carrier_memory *memory)
{
    struct region *region = memory->registration;
    (void)carrier;
    if (region != NULL) {
        list_remove(&region->of_door);
        free(region);
        memory->registration = NULL;
    }
}

static int door_read(struct carrier *carrier, carrier_peer number, uint64_t address, uint64_t key,
                     void *destination, size_t bytes, uint64_t tag)
{
    struct door *door = as_door(carrier);
    struct door_peer *peer = (struct door_peer *)(uintptr_t)number;
    struct list_link *link = list_first(&door->free_reads);
    const struct question question = {htole64(key), htole64(address), htole64(bytes)};
    if (link == NULL) {
        return -EAGAIN;
    }
    if (peer->stream == NULL) {
        const int result =
            stream_connect(door->hub, &peer->key, peer->address, peer->length, &peer->stream);
        if (result != 0) {
            return result == -EAGAIN ? -EIO : result;
        }
    }
    uint8_t *room = stream_reserve(peer->stream, sizeof question);
    if (room == NULL) {
        return -EAGAIN;
    }
    memcpy(room, &question, sizeof question);
    stream_commit(peer->stream, sizeof question);
    stream_flush(peer->stream);
    list_remove(link);
    list_append(&peer->reads, link);
    struct door_read *read = CONTAINER_OF(link, struct door_read, of_peer);
    read->destination = destination;
    read->left = bytes;
    read->event = (struct carrier_event){.tag = tag};
    return 0;
}

static int door_poll(struct carrier *carrier, struct carrier_event events[CARRIER_EVENTS])
{
    struct door *door = as_door(carrier);
    struct list_link *link;
    int count = 0;
    (void)stream_poll(door->hub);
    stream_flush_all(door->hub);
    while (count < CARRIER_EVENTS && (link = list_take(&door->ended)) != NULL) {
        events[count++] = CONTAINER_OF(link, struct door_read, of_peer)->event;
        list_append(&door->free_reads, link);
    }
    return count;
}

static int door_wait(struct carrier *carrier, int64_t *timeout_ns)
{
    const struct door *door = as_door(carrier);
    if (!list_is_empty(&door->ended)) {
        *timeout_ns = 0;
    }
    return stream_descriptor(door->hub, timeout_ns);
}

static const struct carrier_ops door_ops = {
    .close = door_close,
    .place = door_place,
    .peer_add = door_peer_add,
    .peer_remove = door_peer_remove,
    .refuses = door_refuses,
    .expose = door_expose,
    .forget = door_forget,
    .read = door_read,
    .poll = door_poll,
    .wait = door_wait,
};

int door_open(const char *bind, struct carrier **ret_carrier, struct vamp_err *err)
{
    struct door *door = calloc(1, sizeof *door);
    if (door == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open the network for payloads");
    }
    door->carrier.ops = &door_ops;
    door->bind = bind;
    door->handler = (struct stream_handler){.opened = stream_is_open,
                                            .received = stream_received,
                                            .drained = stream_drained,
                                            .closed = stream_ended,
                                            .context = door};
    list_init(&door->regions);
    list_init(&door->peers);
    list_init(&door->free_reads);
    list_init(&door->ended);
    for (size_t i = 0; i < READS; i++) {
        list_append(&door->free_reads, &door->reads[i].of_peer);
    }
    int result = secure_random(&door->key, sizeof door->key, err);
    if (result == 0) {
        result = stream_hub_open(&door->handler, &door->hub, err);
    }
    if (result != 0) {
        free(door);
        return result;
    }
    *ret_carrier = &door->carrier;
    return 0;
}
