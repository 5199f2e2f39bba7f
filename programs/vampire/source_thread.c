/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire/source_thread.h"

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
/* Time for the worker to make room when the source may block, or at the end. */
#define ROOM_NS 200000
/* The worker sees events after this many, or when the source has no more. */
#define PUBLISH_EVENTS 64

static void wait_for_room(struct vamp_source_thread *thread)
{
    vamp_ring_publish(thread->ring);
    vamp_sleep_ns(ROOM_NS);
}

static void push_event(struct vamp_source_thread *thread, const struct vamp_event *event)
{
    for (;;) {
        if (vamp_losses_push(&thread->losses, thread->ring, event)) {
            return;
        }
        if (!thread->ops->may_block || atomic_load_explicit(thread->stop, memory_order_relaxed)) {
            if (event->kind == VAMP_EVENT_SAMPLE) {
                thread->lost_samples++; /* no event of the pool: its accounts stay exact */
            } else {
                vamp_losses_note(&thread->losses, event, VAMP_LOSS_RING);
            }
            return;
        }
        wait_for_room(thread);
    }
}

/* Marks of losses are pushed before the event: it cannot be in the slot that they take. */
static struct vamp_event *next_slot(struct vamp_source_thread *thread, struct vamp_event *spare)
{
    return thread->losses.any ? spare : vamp_ring_slot(thread->ring, spare);
}

/* Only this thread writes it. */
static void count_beat(struct vamp_source_thread *thread)
{
    const unsigned beats = atomic_load_explicit(&thread->beats, memory_order_relaxed);
    atomic_store_explicit(&thread->beats, beats + 1, memory_order_relaxed);
}

static void note_empty(struct vamp_source_thread *thread)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(thread->clock);
    if (thread->empty_since_ns != 0 && now_ns - thread->empty_since_ns < QUIET_NS) {
        return;
    }
    if (thread->empty_since_ns != 0) {
        atomic_store_explicit(&thread->quiet_until_ns, thread->empty_since_ns,
                              memory_order_release);
    }
    thread->empty_since_ns = now_ns;
}

/* Puts events into the ring until the source has no more, at most PUBLISH_EVENTS; then the worker
 * sees them. */
static enum vamp_source_status read_events(struct vamp_source_thread *thread, unsigned *ret_events)
{
    enum vamp_source_status status = VAMP_SOURCE_MORE;
    struct vamp_event spare;
    unsigned events = 0;
    while (events < PUBLISH_EVENTS) {
        struct vamp_event *event = next_slot(thread, &spare);
        status = thread->ops->next(thread->source, event, &thread->err);
        if (status != VAMP_SOURCE_MORE) {
            break;
        }
        push_event(thread, event);
        events++;
    }
    vamp_ring_publish(thread->ring);
    *ret_events = events;
    return status;
}

static enum vamp_source_status read_source(struct vamp_source_thread *thread)
{
    unsigned waits = 0; /* since an event came */
    while (atomic_load_explicit(thread->stop, memory_order_relaxed) == 0) {
        unsigned events = 0;
        count_beat(thread);
        const enum vamp_source_status status = read_events(thread, &events);
        if (events > 0) {
            thread->empty_since_ns = 0;
            waits = 0;
        }
        switch (status) {
        case VAMP_SOURCE_MORE:
            break;
        case VAMP_SOURCE_EMPTY:
            note_empty(thread);
            thread->ops->wait(thread->source, waits < WAITS_TO_IDLE ? WAIT_NS : IDLE_WAIT_NS);
            waits += waits < WAITS_TO_IDLE;
            break;
        case VAMP_SOURCE_END:
        case VAMP_SOURCE_GONE:
        case VAMP_SOURCE_DAMAGED:
        case VAMP_SOURCE_ERROR:
            return status;
        }
    }
    return VAMP_SOURCE_END;
}

static void *run_source_thread(void *argument)
{
    struct vamp_source_thread *thread = argument;
    thread->end = read_source(thread);
    /* The worker empties the ring until it is closed, so there will be room. */
    while (!vamp_losses_finish(&thread->losses, thread->ring)) {
        wait_for_room(thread);
    }
    vamp_ring_close(thread->ring);
    return NULL;
}

int vamp_source_thread_start(struct vamp_source_thread *thread, struct vamp_err *err)
{
    return vamp_thread_start(&thread->thread, "source", run_source_thread, thread, err);
}

void vamp_source_thread_join(struct vamp_source_thread *thread)
{
    (void)pthread_join(thread->thread, NULL);
}
