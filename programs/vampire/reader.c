/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire/reader.h"

#include <assert.h>

#include "vampire/core/thread.h"

/* Longest wait before the stop flag is checked again; the longer one after several waits without an
 * event. */
#define WAIT_NS (VAMP_NS_PER_SECOND / 2)
#define IDLE_WAIT_NS VAMP_NS_PER_SECOND
#define WAITS_TO_IDLE 4
/* If the source is empty twice, this far apart, all events from before the first time have arrived.
 * This also holds when the process was stopped in between: the first look after that starts again.
 */
#define QUIET_NS (VAMP_NS_PER_SECOND / 5)
/* Time for the worker to make room at the end. */
#define ROOM_NS 200000
/* The worker sees events after this many, or when the source has no more. */
#define PUBLISH_EVENTS 64
/* Those of a source that may block. */
#define SMALL_RING_BYTES ((size_t)64 * 1024)

static void push_event(struct vamp_reader *reader, const struct vamp_event *event)
{
    if (vamp_losses_push(&reader->losses, reader->ring, event)) {
        return;
    }
    assert(!reader->ops->may_block); /* it is read when there is room */
    if (event->kind == VAMP_EVENT_SAMPLE) {
        reader->lost_samples++; /* no event of the pool: its accounts stay exact */
    } else {
        vamp_losses_note(&reader->losses, event, VAMP_LOSS_RING);
    }
}

/* Marks of losses are pushed before the event: it cannot be in the slot that they take. */
static struct vamp_event *next_slot(struct vamp_reader *reader, struct vamp_event *spare)
{
    return reader->losses.any ? spare : vamp_ring_slot(reader->ring, spare);
}

/* Only this thread writes it. */
static void count_beat(struct vamp_reader *reader)
{
    const unsigned beats = atomic_load_explicit(&reader->beats, memory_order_relaxed);
    atomic_store_explicit(&reader->beats, beats + 1, memory_order_relaxed);
}

static void note_empty(struct vamp_reader *reader)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(reader->clock);
    if (reader->empty_since_ns != 0 && now_ns - reader->empty_since_ns < QUIET_NS) {
        return;
    }
    if (reader->empty_since_ns != 0) {
        atomic_store_explicit(&reader->quiet_until_ns, reader->empty_since_ns,
                              memory_order_release);
    }
    reader->empty_since_ns = now_ns;
}

/* Puts events into the ring until the source has no more, at most PUBLISH_EVENTS, or, of one that
 * may block, while there is room for any event; then the worker sees them. */
static enum vamp_source_status read_events(struct vamp_reader *reader, unsigned *ret_events)
{
    enum vamp_source_status status = VAMP_SOURCE_MORE;
    struct vamp_event spare;
    unsigned events = 0;
    while (events < PUBLISH_EVENTS) {
        struct vamp_event *event = next_slot(reader, &spare);
        if (event == &spare && reader->ops->may_block && events > 0) {
            break;
        }
        status = reader->ops->next(reader->source, event, &reader->err);
        if (status != VAMP_SOURCE_MORE) {
            break;
        }
        push_event(reader, event);
        events++;
    }
    vamp_ring_publish(reader->ring);
    *ret_events = events;
    return status;
}

/* One look at the source: what it gave, and END when it is stopped. */
static enum vamp_source_status look(struct vamp_reader *reader, unsigned *ret_events)
{
    *ret_events = 0;
    if (atomic_load_explicit(reader->stop, memory_order_relaxed) != 0) {
        return VAMP_SOURCE_END;
    }
    count_beat(reader);
    return read_events(reader, ret_events);
}

static bool has_ended(enum vamp_source_status status)
{
    return status != VAMP_SOURCE_MORE && status != VAMP_SOURCE_EMPTY;
}

/* The worker empties the ring until it is closed, so there will be room. */
static void finish(struct vamp_reader *reader, enum vamp_source_status end)
{
    reader->end = end;
    while (!vamp_losses_finish(&reader->losses, reader->ring)) {
        vamp_ring_publish(reader->ring);
        vamp_sleep_ns(ROOM_NS);
    }
    vamp_ring_close(reader->ring);
}

static void *run_thread(void *argument)
{
    struct vamp_reader *reader = argument;
    unsigned waits = 0; /* since an event came */
    unsigned events = 0;
    enum vamp_source_status status;
    while (!has_ended(status = look(reader, &events))) {
        if (events > 0) {
            reader->empty_since_ns = 0;
            waits = 0;
        }
        if (status == VAMP_SOURCE_EMPTY) {
            note_empty(reader);
            reader->ops->wait(reader->source, waits < WAITS_TO_IDLE ? WAIT_NS : IDLE_WAIT_NS);
            waits += waits < WAITS_TO_IDLE;
        }
    }
    finish(reader, status);
    return NULL;
}

size_t vamp_reader_ring_bytes(const struct vamp_source_ops *ops, size_t configured)
{
    return ops->may_block ? SMALL_RING_BYTES : configured;
}

int vamp_reader_start(struct vamp_reader *reader, struct vamp_err *err)
{
    return reader->ops->may_block
               ? 0
               : vamp_thread_start(&reader->thread, "source", run_thread, reader, err);
}

bool vamp_reader_read(struct vamp_reader *reader)
{
    unsigned events = 0;
    if (!reader->ops->may_block || vamp_ring_finished(reader->ring)) {
        return false;
    }
    vamp_ring_begin(reader->ring);
    const enum vamp_source_status status = look(reader, &events);
    if (has_ended(status)) {
        finish(reader, status);
    }
    return events > 0;
}

void vamp_reader_wait(struct vamp_reader *reader, int64_t timeout_ns)
{
    if (!reader->ops->may_block) {
        vamp_ring_wait(reader->ring, timeout_ns);
    } else if (!vamp_ring_finished(reader->ring)) {
        reader->ops->wait(reader->source, timeout_ns < WAIT_NS ? timeout_ns : WAIT_NS);
    }
}

void vamp_reader_join(struct vamp_reader *reader)
{
    if (!reader->ops->may_block) {
        (void)pthread_join(reader->thread, NULL);
    }
}
