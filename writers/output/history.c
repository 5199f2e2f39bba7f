/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A byte ring with records of different lengths. `head` and `tail` are byte counts since creation
 * and never decrease; their low bits are the offset. A record is contiguous: if it does not fit
 * before the end of the memory, the remaining bytes become padding.
 */
#include "writers/output/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_BYTES_MIN ((size_t)64 * 1024)
#define HISTORY_BYTES_MAX ((size_t)1 << 40)

struct record {
    uint32_t bytes;   /* length of the whole record, a multiple of the alignment */
    uint16_t padding; /* 1: padding; the next record is at the start of the memory */
    uint16_t passed;
    struct vamp_event event;
    char text[];
};

/* Every record starts at a multiple of this value. The remainder at the end of the memory can hold
 * at least a record header. */
#define RECORD_ALIGNMENT ((size_t)8)
static_assert(offsetof(struct record, event) <= RECORD_ALIGNMENT, "padding fits in a remainder");
static_assert(sizeof(struct record) + VAMP_NAME_BYTES_MAX < HISTORY_BYTES_MIN / 4,
              "every event has room");

struct vamp_history {
    unsigned char *memory;
    size_t capacity, mask;
    uint64_t head, tail;
    uint64_t head_number; /* number of the next event */
    uint64_t tail_number; /* number of the oldest kept event */
};

int vamp_history_grow(struct vamp_history *history, size_t bytes, struct vamp_err *err)
{
    size_t capacity = HISTORY_BYTES_MIN;
    if (bytes > HISTORY_BYTES_MAX) {
        return vamp_err_set(err, -EINVAL, "%zu bytes of events are too many, at most %zu", bytes,
                            HISTORY_BYTES_MAX);
    }
    while (capacity < bytes) {
        capacity *= 2;
    }
    if (capacity <= history->capacity) {
        return 0;
    }
    if (history->head_number > 0) {
        return vamp_err_set(err, -EBUSY, "events are kept in %zu bytes already", history->capacity);
    }
    unsigned char *memory = malloc(capacity);
    if (memory == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory to keep %zu bytes of events", capacity);
    }
    free(history->memory);
    history->memory = memory;
    history->capacity = capacity;
    history->mask = capacity - 1;
    return 0;
}

int vamp_history_create(struct vamp_history **ret_history, struct vamp_err *err)
{
    *ret_history = calloc(1, sizeof **ret_history);
    if (*ret_history == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep events in memory");
    }
    return 0;
}

void vamp_history_free(struct vamp_history *history)
{
    if (history != NULL) {
        free(history->memory);
        free(history);
    }
}

static struct record *history_record(const struct vamp_history *history, uint64_t at)
{
    return (struct record *)(void *)(history->memory + (at & history->mask));
}

/* Returns the position of the first event at or after `at`, skipping padding. */
static uint64_t past_padding(const struct vamp_history *history, uint64_t at)
{
    if (at == history->head) {
        return at;
    }
    const struct record *record = history_record(history, at);
    return record->padding != 0 ? at + record->bytes : at;
}

/* Drops the oldest events until `bytes` more bytes fit. */
static void make_room(struct vamp_history *history, size_t bytes)
{
    while (history->capacity - (history->head - history->tail) < bytes) {
        const struct record *record = history_record(history, history->tail);
        history->tail += record->bytes;
        history->tail_number += record->padding == 0;
    }
}

void vamp_history_add(struct vamp_history *history, const struct vamp_event *event, bool passed)
{
    assert(history->capacity > 0);
    size_t bytes = offsetof(struct record, text) + event->name_length;
    bytes = (bytes + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1);
    const size_t rest = history->capacity - (history->head & history->mask);
    const size_t padding = bytes > rest ? rest : 0;
    make_room(history, padding + bytes);
    if (padding != 0) {
        struct record *filler = history_record(history, history->head);
        filler->bytes = (uint32_t)padding;
        filler->padding = 1;
        history->head += padding;
    }
    struct record *record = history_record(history, history->head);
    record->bytes = (uint32_t)bytes;
    record->padding = 0;
    record->passed = passed;
    record->event = *event;
    if (event->name_length != 0) {
        memcpy(record->text, event->name, event->name_length);
        record->event.name = record->text;
    }
    history->head += bytes;
    history->head_number++;
}

struct vamp_history_place vamp_history_end(const struct vamp_history *history)
{
    return (struct vamp_history_place){.number = history->head_number, .at = history->head};
}

static struct vamp_history_place oldest(const struct vamp_history *history)
{
    return (struct vamp_history_place){.number = history->tail_number,
                                       .at = past_padding(history, history->tail)};
}

const struct vamp_event *vamp_history_next(const struct vamp_history *history,
                                           struct vamp_history_place *place, uint64_t *ret_missed)
{
    *ret_missed = 0;
    if (place->at < history->tail) {
        *ret_missed = history->tail_number - place->number;
        *place = oldest(history);
    }
    if (place->number == history->head_number) {
        return NULL;
    }
    place->at = past_padding(history, place->at);
    const struct record *record = history_record(history, place->at);
    place->at += record->bytes;
    place->number++;
    place->passed = record->passed != 0;
    return &record->event;
}

struct vamp_history_place vamp_history_find(const struct vamp_history *history, int64_t from_ns)
{
    struct vamp_history_place place = oldest(history);
    struct vamp_history_place found = place;
    const struct vamp_event *event = NULL;
    uint64_t missed = 0;
    while ((event = vamp_history_next(history, &place, &missed)) != NULL &&
           event->time_ns < from_ns) {
        found = place;
    }
    return found;
}

bool vamp_history_has_dropped(const struct vamp_history *history)
{
    return history->tail_number > 0;
}

int64_t vamp_history_oldest_ns(const struct vamp_history *history)
{
    struct vamp_history_place place = oldest(history);
    uint64_t missed = 0;
    const struct vamp_event *event = vamp_history_next(history, &place, &missed);
    return event != NULL ? event->time_ns : INT64_MAX;
}
