/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/varint.h"

enum { CAPACITY_MIN = 4096, CAPACITY_KEPT = 65536, ALIGNMENT = 8 };

/* Before each event in the ring. */
struct record {
    uint64_t serial;
    uint64_t lost; /* refused just before it */
    uint64_t length;
};

static size_t record_bytes(size_t length)
{
    return (sizeof(struct record) + length + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void pool_queue_init(struct pool_queue *queue, size_t limit, struct pool_memory *memory)
{
    *queue = (struct pool_queue){.limit = limit, .memory = memory};
}

void pool_queue_done(struct pool_queue *queue)
{
    pool_memory_give(queue->memory, POOL_MEMORY_EVENTS, queue->bytes);
    pool_queue_init(queue, queue->limit, queue->memory);
}

/* The bytes of the events in the ring, and that its marks are in order. */
static size_t used_bytes(const struct pool_queue *queue)
{
    if (queue->wrap == 0) {
        assert(queue->head <= queue->tail && queue->tail <= queue->capacity);
        return queue->tail - queue->head;
    }
    assert(queue->tail <= queue->head && queue->head < queue->wrap);
    assert(queue->wrap <= queue->capacity);
    return queue->wrap - queue->head + queue->tail;
}

/* Where `need` bytes in one piece are free after the newest event; SIZE_MAX: nowhere. */
static size_t find_room(struct pool_queue *queue, size_t need)
{
    if (queue->count == 0) {
        queue->head = queue->tail = queue->wrap = 0;
    }
    if (queue->wrap == 0) {
        if (queue->capacity - queue->tail >= need) {
            return queue->tail;
        }
        if (queue->count > 0 && queue->head >= need) {
            queue->wrap = queue->tail;
            return 0;
        }
        return SIZE_MAX;
    }
    return queue->head - queue->tail >= need ? queue->tail : SIZE_MAX;
}

/* The ring in one piece in twice the memory. */
static bool grow(struct pool_queue *queue, size_t need)
{
    size_t used = used_bytes(queue);
    size_t capacity = queue->capacity == 0 ? CAPACITY_MIN : queue->capacity;
    while (capacity - used < need || capacity == queue->capacity) {
        capacity *= 2;
    }
    if (capacity > queue->limit) {
        capacity = queue->limit & ~(size_t)(ALIGNMENT - 1);
    }
    if (capacity <= queue->capacity || capacity - used < need) {
        return false;
    }
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

bool pool_queue_push(struct pool_queue *queue, uint64_t serial, const uint8_t *bytes, size_t length)
{
    size_t need = record_bytes(length);
    size_t at = find_room(queue, need);
    if (at == SIZE_MAX && grow(queue, need)) {
        at = find_room(queue, need);
    }
    if (at == SIZE_MAX) {
        if (queue->lost++ == 0) {
            queue->lost_serial = serial;
        }
        return false;
    }
    assert(at + need <= queue->capacity);
    struct record record = {.serial = serial, .lost = queue->lost, .length = length};
    memcpy(queue->bytes + at, &record, sizeof record);
    memcpy(queue->bytes + at + sizeof record, bytes, length);
    queue->tail = at + need;
    queue->count++;
    queue->lost = 0;
    return true;
}

bool pool_queue_waits(const struct pool_queue *queue, uint64_t *ret_serial)
{
    if (queue->count > 0) {
        struct record record;
        memcpy(&record, queue->bytes + queue->head, sizeof record);
        *ret_serial = record.serial;
        return true;
    }
    *ret_serial = queue->lost_serial;
    return queue->lost > 0;
}

static uint8_t *write_number(uint8_t *at, uint8_t key, uint64_t value)
{
    *at++ = key;
    return vamp_varint_write(at, value);
}

static void remove_oldest(struct pool_queue *queue, size_t length)
{
    assert(queue->count > 0 && record_bytes(length) <= used_bytes(queue));
    queue->head += record_bytes(length);
    queue->count--;
    if (queue->wrap != 0 && queue->head == queue->wrap) {
        queue->head = queue->wrap = 0;
    }
}

/* What one queue needed once is given back when it is empty and others may be short of it. */
static void shrink(struct pool_queue *queue)
{
    const struct pool_memory *memory = queue->memory;
    if (queue->count == 0 && queue->capacity > CAPACITY_KEPT && memory->limit != 0 &&
        memory->event_bytes > memory->limit / 4) {
        pool_memory_give(queue->memory, POOL_MEMORY_EVENTS, queue->bytes);
        queue->bytes = NULL;
        queue->capacity = 0;
    }
}

size_t pool_queue_take(struct pool_queue *queue, uint64_t subscription, uint8_t *buffer,
                       size_t size, size_t max_events)
{
    uint64_t serial;
    if (!pool_queue_waits(queue, &serial)) {
        return 0;
    }
    uint8_t *at = write_number(buffer, VAMP_EVENT_BATCH_SUBSCRIPTION, subscription);
    if (queue->count == 0) {
        at = write_number(at, VAMP_EVENT_BATCH_LOST, queue->lost);
        queue->lost = 0;
        return (size_t)(at - buffer);
    }
    for (size_t taken = 0; taken < max_events && queue->count > 0; taken++) {
        struct record record;
        memcpy(&record, queue->bytes + queue->head, sizeof record);
        /* A count stands before the first event of a batch: a later one begins the next batch. */
        if (record.lost > 0 && taken > 0) {
            break;
        }
        if (record.length > size - (size_t)(at - buffer) && taken > 0) {
            break;
        }
        if (record.lost > 0) {
            at = write_number(at, VAMP_EVENT_BATCH_LOST, record.lost);
        }
        memcpy(at, queue->bytes + queue->head + sizeof record, record.length);
        at += record.length;
        remove_oldest(queue, record.length);
    }
    shrink(queue);
    return (size_t)(at - buffer);
}
