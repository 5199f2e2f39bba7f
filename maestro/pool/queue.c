/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/varint.h"

enum { CAPACITY_MIN = 4096, CAPACITY_KEPT = 65536, ALIGNMENT = 8 };
/* Some 300 events: of a small queue, a quarter of its limit. */
enum { MANY_BYTES = 32768, MANY_PART = 4 };

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

void pool_queue_init(struct pool_queue *queue, size_t limit, size_t components,
                     struct pool_memory *memory)
{
    const size_t room = SIZE_MAX / 2 / POOL_QUEUE_COMPONENT_BYTES;
    const size_t ends = (components < room ? components : room) * POOL_QUEUE_COMPONENT_BYTES;
    const size_t part = limit / MANY_PART;
    *queue = (struct pool_queue){.limit = limit,
                                 .many = part < MANY_BYTES ? part : MANY_BYTES,
                                 .limit_of_ends = limit < SIZE_MAX - ends ? limit + ends : limit,
                                 .memory = memory};
}

void pool_queue_done(struct pool_queue *queue)
{
    pool_memory_give(queue->memory, POOL_MEMORY_EVENTS, queue->bytes);
    *queue = (struct pool_queue){.memory = queue->memory};
}

/* The bytes of the events in the ring, and that its marks are in order. */
static inline size_t used_bytes(const struct pool_queue *queue)
{
    if (queue->wrap == 0) {
        assert(queue->head <= queue->tail && queue->tail <= queue->capacity);
        return queue->tail - queue->head;
    }
    assert(queue->tail <= queue->head && queue->head < queue->wrap);
    assert(queue->wrap <= queue->capacity);
    return queue->wrap - queue->head + queue->tail;
}

/* The ring after an event was put at `at`. */
struct place {
    size_t at, wrap;
};

/* Where `need` bytes in one piece are free after the newest event. */
static bool find_place(const struct pool_queue *queue, size_t need, struct place *ret_place)
{
    *ret_place = (struct place){.at = queue->tail, .wrap = queue->wrap};
    if (queue->wrap != 0) {
        return queue->head - queue->tail >= need;
    }
    if (queue->capacity - queue->tail >= need) {
        return true;
    }
    *ret_place = (struct place){.at = 0, .wrap = queue->tail};
    return queue->count > 0 && queue->head >= need;
}

/* How many LEAVEs fit into a ring whose events end at `tail`. */
static size_t leaves_that_fit(const struct pool_queue *queue, size_t tail, size_t wrap)
{
    if (wrap != 0) {
        return (queue->head - tail) / POOL_QUEUE_LEAVE_BYTES;
    }
    return (queue->capacity - tail) / POOL_QUEUE_LEAVE_BYTES + queue->head / POOL_QUEUE_LEAVE_BYTES;
}

/* A place after which `leaves` LEAVEs still fit. */
static bool find_room(const struct pool_queue *queue, size_t need, size_t leaves,
                      struct place *ret_place)
{
    return find_place(queue, need, ret_place) &&
           leaves_that_fit(queue, ret_place->at + need, ret_place->wrap) >= leaves;
}

/* Moves the events to the start of another block. */
static bool move(struct pool_queue *queue, size_t capacity)
{
    const size_t used = used_bytes(queue);
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

/* The ring in one piece in twice the memory, with `need` bytes free. */
static bool grow(struct pool_queue *queue, size_t need)
{
    const size_t used = used_bytes(queue);
    const size_t largest = queue->limit_of_ends & ~(size_t)(ALIGNMENT - 1);
    if (largest < used || largest - used < need) {
        return false;
    }
    size_t capacity = queue->capacity == 0 ? CAPACITY_MIN : queue->capacity;
    while (capacity < largest && (capacity - used < need || capacity == queue->capacity)) {
        capacity *= 2;
    }
    capacity = capacity < largest ? capacity : largest;
    return capacity > queue->capacity && move(queue, capacity);
}

void pool_queue_expect_leaves(struct pool_queue *queue, size_t count, uint64_t app_id)
{
    queue->expected += count;
    if (leaves_that_fit(queue, queue->tail, queue->wrap) >= queue->expected ||
        grow(queue, queue->expected * POOL_QUEUE_LEAVE_BYTES)) {
        queue->unreserved_from = 0; /* those that joined earlier have room, too */
    } else if (queue->unreserved_from == 0) {
        queue->unreserved_from = app_id;
    }
}

void pool_queue_leave_is_next(struct pool_queue *queue)
{
    assert(queue->expected > 0);
    queue->expected--;
}

/* Finds a place for the event outside the room of the LEAVEs. */
static bool admit(struct pool_queue *queue, const struct pool_queue_event *event, size_t need,
                  struct place *ret_place)
{
    if (queue->count == 0) {
        queue->head = queue->tail = queue->wrap = 0;
    }
    if (event->class == POOL_QUEUE_LEAVE &&
        (queue->unreserved_from == 0 || event->app_id < queue->unreserved_from)) {
        assert(need <= POOL_QUEUE_LEAVE_BYTES);
        return find_place(queue, need, ret_place);
    }
    if (event->class == POOL_QUEUE_OTHER &&
        (need > queue->limit || used_bytes(queue) > queue->limit - need)) {
        return false;
    }
    const size_t leaves = queue->expected;
    if (find_room(queue, need, leaves, ret_place) ||
        (grow(queue, need + leaves * POOL_QUEUE_LEAVE_BYTES) &&
         find_room(queue, need, leaves, ret_place))) {
        queue->unreserved_from = 0; /* there is room for every LEAVE */
        return true;
    }
    return false;
}

bool pool_queue_push(struct pool_queue *queue, const struct pool_queue_event *event)
{
    const size_t need = record_bytes(event->length);
    struct place place;
    if (!admit(queue, event, need, &place)) {
        if (queue->lost++ == 0) {
            queue->lost_serial = event->serial;
        }
        return false;
    }
    assert(place.at + need <= queue->capacity);
    const struct record record = {
        .serial = event->serial, .lost = queue->lost, .length = event->length};
    memcpy(queue->bytes + place.at, &record, sizeof record);
    memcpy(queue->bytes + place.at + sizeof record, event->bytes, event->length);
    queue->tail = place.at + need;
    queue->wrap = place.wrap;
    queue->count++;
    queue->lost = 0;
    return true;
}

bool pool_queue_has_many(const struct pool_queue *queue)
{
    return used_bytes(queue) >= queue->many;
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

/* Releases memory that one queue needed at its peak, once it is empty, for the other queues. */
static void shrink(struct pool_queue *queue)
{
    const struct pool_memory *memory = queue->memory;
    const size_t ends = queue->expected * POOL_QUEUE_LEAVE_BYTES;
    if (queue->count == 0 && queue->capacity > CAPACITY_KEPT && queue->capacity / 2 > ends &&
        memory->limit != 0 && memory->event_bytes > memory->limit / 4) {
        queue->head = queue->tail = queue->wrap = 0;
        (void)move(queue, ends > CAPACITY_MIN ? ends : CAPACITY_MIN); /* else it stays as it is */
    }
}

struct pool_batch pool_queue_take(struct pool_queue *queue, uint64_t subscription, uint8_t *buffer,
                                  size_t size, size_t max_events)
{
    uint64_t serial;
    struct pool_batch batch = {0};
    if (!pool_queue_waits(queue, &serial)) {
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
    for (; batch.events < max_events && queue->count > 0; batch.events++) {
        struct record record;
        memcpy(&record, queue->bytes + queue->head, sizeof record);
        /* A count stands before the first event of a batch: a later one begins the next batch. */
        if (record.lost > 0 && batch.events > 0) {
            break;
        }
        if (record.length > size - (size_t)(at - buffer) && batch.events > 0) {
            break;
        }
        if (record.lost > 0) {
            at = write_number(at, VAMP_EVENT_BATCH_LOST, record.lost);
            batch.lost = record.lost;
        }
        memcpy(at, queue->bytes + queue->head + sizeof record, record.length);
        at += record.length;
        remove_oldest(queue, record.length);
    }
    shrink(queue);
    batch.bytes = (size_t)(at - buffer);
    return batch;
}
