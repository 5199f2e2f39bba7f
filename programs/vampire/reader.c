/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "vampire/core/thread.h"
#include "vampire/core/values.h"

/* Maximum wait before the stop flag is checked again; the longer one applies after several waits
 * without events. */
#define WAIT_NS (VAMP_NS_PER_SECOND / 2)
#define IDLE_WAIT_NS VAMP_NS_PER_SECOND
#define WAITS_TO_IDLE 4
/* Maximum wait after the stop, where a subscription may have ended before another. */
#define DRAIN_WAIT_NS (VAMP_NS_PER_SECOND / 100)
/* If the source is found empty twice, at this interval, all events from before the first time have
 * arrived. This holds even if the process was stopped in between, because the first read afterwards
 * starts a new interval. */
#define QUIET_NS (VAMP_NS_PER_SECOND / 5)
/* Pause in which the worker makes space in the ring. */
#define ROOM_NS 200000
/* Events are published in groups of this size, or when the source has no more. */
#define PUBLISH_EVENTS 64

/* ---- the thread of a live source */

static void push_event(struct vamp_reader *reader, const struct vamp_event *event)
{
    if (vamp_losses_push(&reader->losses, reader->ring, event)) {
        return;
    }
    if (event->kind == VAMP_EVENT_SAMPLE) {
        reader->lost_samples++; /* not a pool event, so the exact count of lost events is not
                                 * affected */
    } else {
        vamp_losses_note(&reader->losses, event, VAMP_LOSS_RING);
    }
}

/* Control events for losses are pushed before the event, so the event must not be written to their
 * slot. */
static struct vamp_event *next_slot(struct vamp_reader *reader, struct vamp_event *spare)
{
    return reader->losses.any ? spare : vamp_ring_slot(reader->ring, spare);
}

/* Written by this thread only. */
static void count_beat(struct vamp_reader *reader)
{
    const unsigned beats = atomic_load_explicit(&reader->beats, memory_order_relaxed);
    atomic_store_explicit(&reader->beats, beats + 1, memory_order_relaxed);
}

static void note_empty(struct vamp_reader *reader)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(reader->clock);
    if (reader->ops->holds != NULL && reader->ops->holds(reader->source)) {
        reader->empty_since_ns = 0;
        return;
    }
    if (reader->empty_since_ns != 0 && now_ns - reader->empty_since_ns < QUIET_NS) {
        return;
    }
    if (reader->empty_since_ns != 0) {
        atomic_store_explicit(&reader->quiet_until_ns, reader->empty_since_ns,
                              memory_order_release);
    }
    reader->empty_since_ns = now_ns;
}

/* Returns whether the next event waits before the source because the ring is full. */
static bool must_wait(const struct vamp_reader *reader)
{
    return reader->ops->may_wait && !vamp_ring_has_room(reader->ring);
}

/* Reads events into the ring until the source has no more or must wait, at most PUBLISH_EVENTS, and
 * publishes them. */
static enum vamp_source_status read_events(struct vamp_reader *reader, unsigned *ret_events)
{
    enum vamp_source_status status = VAMP_SOURCE_MORE;
    struct vamp_event spare;
    unsigned events = 0;
    while (events < PUBLISH_EVENTS) {
        struct vamp_event *event = next_slot(reader, &spare);
        if (event == &spare && must_wait(reader)) {
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

/* Counts the events that the source has not delivered in time as lost by the pool manager. */
static void lose_rest(struct vamp_reader *reader)
{
    struct vamp_event lost;
    reader->ops->rest(reader->source, &lost);
    if (lost.count == 0) {
        return;
    }
    reader->end = VAMP_SOURCE_ERROR;
    if (lost.count == VAMP_REST_UNKNOWN) {
        reader->unanswered = true;
        (void)vamp_err_set(&reader->err, -ETIMEDOUT,
                           "the pool manager did not answer within half of \"finish\"; it is not "
                           "known how many events from before the signal wait there");
        return;
    }
    (void)vamp_err_set(&reader->err, -ETIMEDOUT,
                       "%" PRIu64 " events from before the signal did not arrive within half of "
                       "\"finish\" and are counted as lost",
                       lost.count);
    vamp_losses_note(&reader->losses, &lost, VAMP_LOSS_POOL_MANAGER);
}

/* Called after the run was stopped. Returns whether to continue reading. */
static bool drain(struct vamp_reader *reader)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(reader->clock);
    if (reader->ops->finish == NULL) {
        return false;
    }
    if (reader->drain_until_ns == 0) {
        const int64_t drain_ns = atomic_load(reader->finish_ns) / 2; /* the outputs need the rest */
        reader->drain_until_ns = now_ns + drain_ns;
        return reader->ops->finish(reader->source, drain_ns);
    }
    if (now_ns < reader->drain_until_ns) {
        return true;
    }
    lose_rest(reader);
    return false;
}

/* Counts a beat. Returns whether to continue reading. */
static bool begin_turn(struct vamp_reader *reader)
{
    count_beat(reader);
    return atomic_load_explicit(reader->stop, memory_order_relaxed) == 0 || drain(reader);
}

static bool has_ended(enum vamp_source_status status)
{
    return status != VAMP_SOURCE_MORE && status != VAMP_SOURCE_EMPTY;
}

/* The consumer empties the ring until it is closed, so space will become available. */
static void finish(struct vamp_reader *reader)
{
    while (!vamp_losses_finish(&reader->losses, reader->ring)) {
        vamp_ring_publish(reader->ring);
        vamp_sleep_ns(ROOM_NS);
    }
    vamp_ring_close(reader->ring);
}

static int64_t pause_ns(const struct vamp_reader *reader, unsigned waits)
{
    if (reader->drain_until_ns != 0) {
        return DRAIN_WAIT_NS;
    }
    return waits < WAITS_TO_IDLE ? WAIT_NS : IDLE_WAIT_NS;
}

static void *run_thread(void *argument)
{
    struct vamp_reader *reader = argument;
    unsigned waits = 0; /* number of waits since the last event */
    while (begin_turn(reader)) {
        unsigned events = 0;
        const enum vamp_source_status status = read_events(reader, &events);
        if (events > 0) {
            reader->empty_since_ns = 0;
            waits = 0;
        }
        if (has_ended(status)) {
            reader->end = status;
            break;
        }
        if (status == VAMP_SOURCE_EMPTY) {
            note_empty(reader);
            reader->ops->wait(reader->source, pause_ns(reader, waits));
            waits += waits < WAITS_TO_IDLE;
        } else if (events < PUBLISH_EVENTS) {
            vamp_sleep_ns(ROOM_NS); /* the ring is full */
        }
    }
    finish(reader);
    return NULL;
}

/* ---- a source that may block */

static unsigned read_batch(struct vamp_reader *reader, const struct vamp_event *events[],
                           unsigned max)
{
    const unsigned most = reader->ops->keeps_texts ? max : 1;
    enum vamp_source_status status = VAMP_SOURCE_MORE;
    unsigned count = 0;
    assert(max <= VAMP_READER_TAKE_MAX);
    if (reader->ended || !begin_turn(reader)) {
        reader->ended = true;
        return 0;
    }
    while (count < most) {
        status = reader->ops->next(reader->source, &reader->batch[count], &reader->err);
        if (status != VAMP_SOURCE_MORE) {
            break;
        }
        events[count] = &reader->batch[count];
        count++;
    }
    if (has_ended(status)) {
        reader->end = status;
        reader->ended = true;
    }
    return count;
}

/* ---- functions for the caller */

int vamp_reader_prepare(struct vamp_reader *reader, size_t ring_bytes, struct vamp_err *err)
{
    reader->end = VAMP_SOURCE_END;
    if (reader->ops->may_block) {
        return 0;
    }
    return vamp_ring_create(ring_bytes, &reader->ring, err);
}

void vamp_reader_done(struct vamp_reader *reader)
{
    vamp_ring_free(reader->ring);
    reader->ring = NULL;
}

int vamp_reader_start(struct vamp_reader *reader, struct vamp_err *err)
{
    if (reader->ops->may_block) {
        return 0;
    }
    return vamp_thread_start(&reader->thread, "source", run_thread, reader, err);
}

void vamp_reader_join(struct vamp_reader *reader)
{
    if (!reader->ops->may_block) {
        (void)pthread_join(reader->thread, NULL);
    }
}

unsigned vamp_reader_take(struct vamp_reader *reader, const struct vamp_event *events[],
                          unsigned max)
{
    if (reader->ops->may_block) {
        return read_batch(reader, events, max);
    }
    vamp_ring_release(reader->ring);
    return vamp_ring_take(reader->ring, events, max);
}

void vamp_reader_wait(struct vamp_reader *reader, int64_t timeout_ns)
{
    if (!reader->ops->may_block) {
        vamp_ring_wait(reader->ring, timeout_ns);
    } else if (!reader->ended) {
        reader->ops->wait(reader->source, VAMP_MIN(timeout_ns, WAIT_NS));
    }
}

bool vamp_reader_finished(const struct vamp_reader *reader)
{
    return reader->ops->may_block ? reader->ended : vamp_ring_finished(reader->ring);
}

size_t vamp_reader_waiting_bytes(const struct vamp_reader *reader, size_t *ret_bound)
{
    *ret_bound = 0;
    if (reader->ops->may_block) {
        return 0;
    }
    *ret_bound = vamp_ring_capacity_bytes(reader->ring);
    return vamp_ring_used_bytes(reader->ring);
}
