/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/values.h"

enum { CAPACITY_MIN = 4096, CAPACITY_KEPT = 65536 };
/* Threshold for sending at once: about 400 events, or a quarter of the limit of a small queue. */
enum { MANY_BYTES = 32768, MANY_PART = 4 };
/* Maximum size of a number with its key. */
enum { NUMBER_BYTES_MAX = 1 + VAMP_VARINT_BYTES_MAX };

void pool_queue_init(struct pool_queue *queue, size_t limit, size_t components,
                     struct pool_memory *memory)
{
    const size_t most = SIZE_MAX / 2 / POOL_QUEUE_COMPONENT_BYTES;
    const size_t ends = VAMP_MIN(components, most) * POOL_QUEUE_COMPONENT_BYTES;
    *queue = (struct pool_queue){.limit = limit,
                                 .many = VAMP_MIN(limit / MANY_PART, MANY_BYTES),
                                 .limit_of_ends = limit,
                                 .memory = memory};
    if (limit < SIZE_MAX - ends) {
        queue->limit_of_ends += ends;
    }
}

void pool_queue_done(struct pool_queue *queue)
{
    pool_memory_give(queue->memory, POOL_MEMORY_EVENTS, queue->bytes);
    *queue = (struct pool_queue){.memory = queue->memory};
}

/* The ring's positions after an event was put at `at`. */
struct place {
    size_t at, wrap;
};

/* Value of `at` if the ring has no free position. */
#define NOWHERE SIZE_MAX

/* Returns a position with `need` contiguous free bytes after the newest event. */
static inline struct place find_place(const struct pool_queue *queue, size_t need)
{
    const size_t end = queue->wrap != 0 ? queue->head : queue->capacity;
    assert(queue->tail <= end);
    if (end - queue->tail >= need) {
        return (struct place){.at = queue->tail, .wrap = queue->wrap};
    }
    if (queue->wrap == 0 && queue->count > 0 && queue->head >= need) {
        return (struct place){.at = 0, .wrap = queue->tail};
    }
    return (struct place){.at = NOWHERE};
}

/* Returns whether all expected LEAVEs fit into a ring whose events end at `tail`. */
static inline bool leaves_fit(const struct pool_queue *queue, size_t tail, size_t wrap)
{
    const size_t behind = (wrap != 0 ? queue->head : queue->capacity) - tail;
    if (queue->expected * POOL_QUEUE_LEAVE_BYTES <= behind) {
        return true;
    }
    const size_t front = wrap != 0 ? 0 : queue->head;
    return behind / POOL_QUEUE_LEAVE_BYTES + front / POOL_QUEUE_LEAVE_BYTES >= queue->expected;
}

/* Returns a position after which the expected LEAVEs still fit. */
static inline struct place find_place_before_leaves(const struct pool_queue *queue, size_t need)
{
    const struct place place = find_place(queue, need);
    if (place.at != NOWHERE && leaves_fit(queue, place.at + need, place.wrap)) {
        return place;
    }
    return (struct place){.at = NOWHERE};
}

/* Moves the events to the start of a new block. Returns false if over the limit or out of memory.
 */
static bool move(struct pool_queue *queue, size_t capacity)
{
    const size_t used = queue->used;
    uint8_t *bytes = pool_memory_take(queue->memory, POOL_MEMORY_EVENTS, capacity);
    if (bytes == NULL) {
        return false;
    }
    if (used > 0) {
        size_t first = queue->wrap == 0 ? used : queue->wrap - queue->head;
        memcpy(bytes, queue->bytes + queue->head, first);
        memcpy(bytes + first, queue->bytes, used - first);
    }
    pool_memory_give(queue->memory, POOL_MEMORY_EVENTS, queue->bytes);
    queue->bytes = bytes;
    queue->capacity = capacity;
    queue->head = queue->wrap = 0;
    queue->tail = used;
    return true;
}

/* Moves the ring, as one contiguous piece, to a block of twice the size with at least `need` bytes
 * free. */
static bool grow(struct pool_queue *queue, size_t need)
{
    const size_t used = queue->used;
    const size_t largest = queue->limit_of_ends;
    if (largest < used || largest - used < need) {
        return false;
    }
    size_t capacity = VAMP_MAX(queue->capacity, CAPACITY_MIN);
    while (capacity < largest && (capacity - used < need || capacity == queue->capacity)) {
        capacity *= 2;
    }
    capacity = VAMP_MIN(capacity, largest);
    return capacity > queue->capacity && move(queue, capacity);
}

void pool_queue_expect_leaves(struct pool_queue *queue, size_t count, uint64_t app_id)
{
    queue->expected += count;
    if (leaves_fit(queue, queue->tail, queue->wrap) ||
        grow(queue, queue->expected * POOL_QUEUE_LEAVE_BYTES)) {
        queue->unreserved_from = 0; /* there is also space for components that joined earlier */
    } else if (queue->unreserved_from == 0) {
        queue->unreserved_from = app_id;
    }
}

/* Returns a position for the event outside the space reserved for LEAVEs. */
static struct place admit(struct pool_queue *queue, const struct vamp_event *event,
                          enum pool_queue_class class, size_t need)
{
    if (class == POOL_QUEUE_LEAVE &&
        (queue->unreserved_from == 0 || event->app_id < queue->unreserved_from)) {
        return find_place(queue, need);
    }
    if (class == POOL_QUEUE_OTHER && (need > queue->limit || queue->used > queue->limit - need)) {
        return (struct place){.at = NOWHERE};
    }
    struct place place = find_place_before_leaves(queue, need);
    if (place.at == NOWHERE && grow(queue, need + queue->expected * POOL_QUEUE_LEAVE_BYTES)) {
        place = find_place_before_leaves(queue, need);
    }
    if (place.at != NOWHERE) {
        queue->unreserved_from = 0; /* every LEAVE fits */
    }
    return place;
}

static uint8_t *write_number(uint8_t *at, uint8_t key, uint64_t value)
{
    *at++ = key;
    return vamp_varint_write(at, value);
}

/* Writes the number of lost events in front of the next event. */
static void put_lost(struct pool_queue *queue)
{
    uint8_t *const at = queue->bytes + queue->tail;
    const uint8_t *const end = write_number(at, VAMP_EVENT_BATCH_LOST, queue->lost);
    queue->tail += (size_t)(end - at);
    queue->used += (size_t)(end - at);
    queue->lost = 0;
}

uint8_t *pool_queue_begin(struct pool_queue *queue, const struct vamp_event *event,
                          enum pool_queue_class class, size_t bytes)
{
    size_t need = bytes;
    if (class == POOL_QUEUE_LEAVE) {
        need = POOL_QUEUE_LEAVE_BYTES;
    } else if (queue->lost > 0) {
        need += NUMBER_BYTES_MAX;
    }
    const struct place place = admit(queue, event, class, need);
    if (place.at == NOWHERE) {
        /* A SAMPLE is not an operation: LOST remains the exact number of lost operations. */
        if (event->kind != VAMP_EVENT_SAMPLE) {
            if (queue->lost == 0) {
                queue->lost_serial = event->serial;
            }
            queue->lost++;
            queue->total++;
        }
        return NULL;
    }
    queue->tail = place.at;
    queue->wrap = place.wrap;
    if (queue->lost > 0) {
        put_lost(queue);
    }
    return queue->bytes + queue->tail;
}

/* Returns the contiguous events from the oldest one to the end of the ring or of the events. */
static struct vamp_wire first_piece(const struct pool_queue *queue)
{
    const size_t end = queue->wrap != 0 ? queue->wrap : queue->tail;
    return (struct vamp_wire){.at = queue->bytes + queue->head, .end = queue->bytes + end};
}

bool pool_queue_waits(const struct pool_queue *queue, uint64_t *ret_serial)
{
    if (queue->count > 0) {
        struct vamp_wire piece = first_piece(queue);
        size_t length;
        if (*piece.at == VAMP_EVENT_BATCH_LOST) {
            vamp_wire_skip(&piece, vamp_wire_key(&piece));
        }
        piece.at++; /* skip the key of the event */
        const uint8_t *message = vamp_wire_bytes(&piece, &length);
        *ret_serial = vamp_event_packed_serial(message, length);
        return true;
    }
    *ret_serial = queue->lost_serial;
    return queue->lost > 0;
}

/* Frees memory that the queue needed at its peak once it is empty, so that other queues can use it.
 */
static void shrink(struct pool_queue *queue)
{
    const struct pool_memory *memory = queue->memory;
    const size_t ends = queue->expected * POOL_QUEUE_LEAVE_BYTES;
    const bool is_large = queue->capacity > CAPACITY_KEPT && queue->capacity / 2 > ends;
    const bool is_scarce = memory->limit != 0 && memory->event_bytes > memory->limit / 4;
    if (queue->count == 0 && is_large && is_scarce) {
        (void)move(queue, VAMP_MAX(ends, CAPACITY_MIN)); /* on failure the block is kept */
    }
}

/* Returns the size of the oldest events that are contiguous and fit into the rest of a batch, and
 * counts them in the batch. */
static size_t measure(const struct pool_queue *queue, size_t room, size_t max_events,
                      struct pool_batch *batch)
{
    struct vamp_wire piece = first_piece(queue);
    const uint8_t *const begin = piece.at;
    const uint8_t *end = begin;
    while (vamp_wire_has_more(&piece) && batch->events < max_events) {
        uint64_t lost = 0;
        if (*piece.at++ == VAMP_EVENT_BATCH_LOST) {
            lost = vamp_wire_varint(&piece);
            piece.at++; /* skip the key of the event */
        }
        size_t length;
        (void)vamp_wire_bytes(&piece, &length);
        /* A count of lost events must precede the first event of a batch, so a later count begins
         * the next batch. */
        if ((lost > 0 && batch->events > 0) || (size_t)(piece.at - begin) > room) {
            break;
        }
        batch->lost += lost;
        batch->events++;
        end = piece.at;
    }
    assert(!piece.bad);
    return (size_t)(end - begin);
}

static void remove_oldest(struct pool_queue *queue, size_t bytes)
{
    assert(bytes <= queue->used);
    queue->head += bytes;
    queue->used -= bytes;
    if (queue->used == 0) {
        queue->head = queue->tail = queue->wrap = 0;
    } else if (queue->head == queue->wrap) {
        queue->head = queue->wrap = 0;
    }
}

struct pool_batch pool_queue_take(struct pool_queue *queue, uint64_t subscription, uint8_t *buffer,
                                  size_t size, size_t max_events)
{
    struct pool_batch batch = {0};
    if (queue->count == 0 && queue->lost == 0) {
        return batch;
    }
    uint8_t *at = write_number(buffer, VAMP_EVENT_BATCH_SUBSCRIPTION, subscription);
    if (queue->count == 0) {
        at = write_number(at, VAMP_EVENT_BATCH_LOST, queue->lost);
        batch.lost = queue->lost;
        batch.bytes = (size_t)(at - buffer);
        queue->lost = 0;
        return batch;
    }
    size_t piece; /* a second piece where the ring wraps around */
    while ((piece = measure(queue, size - (size_t)(at - buffer), max_events, &batch)) > 0) {
        memcpy(at, queue->bytes + queue->head, piece);
        at += piece;
        remove_oldest(queue, piece);
    }
    queue->count -= batch.events;
    shrink(queue);
    batch.bytes = (size_t)(at - buffer);
    return batch;
}
