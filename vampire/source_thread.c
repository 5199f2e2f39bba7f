/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/source_thread.h"

#include <time.h>

#include "vampire/core/clock.h"

/* How long one wait may last before the stop flag is looked at again. */
#define WAIT_NS (VAMP_NS_PER_SECOND / 2)
/* How long to let the worker make room when the source can wait, or at the very end. */
#define ROOM_NS 200000

static void wait_for_room(void)
{
    const struct timespec pause = {.tv_nsec = ROOM_NS};
    (void)nanosleep(&pause, NULL);
}

static void remember_loss(struct vamp_source_thread *thread, const struct vamp_event *event)
{
    switch (event->kind) {
    case VAMP_EVENT_LOST:
        thread->pending_lost[event->reason] += event->count;
        break;
    case VAMP_EVENT_REJECTED:
        thread->pending_rejected += event->count;
        break;
    default:
        thread->pending_lost[VAMP_LOSS_RING]++;
        break;
    }
    thread->pending_time_ns = event->time_ns;
}

static bool tell_one(struct vamp_source_thread *thread, enum vamp_event_kind kind, uint8_t reason,
                     uint64_t *count)
{
    if (*count == 0) {
        return true;
    }
    const struct vamp_event mark = {
        .kind = (uint8_t)kind,
        .reason = reason,
        .count = *count,
        .time_ns = thread->pending_time_ns,
    };
    if (!vamp_ring_push(thread->ring, &mark)) {
        return false;
    }
    *count = 0;
    return true;
}

/* Puts marks for everything pending into the ring; false when it is still full. */
static bool tell_losses(struct vamp_source_thread *thread)
{
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        if (!tell_one(thread, VAMP_EVENT_LOST, (uint8_t)reason, &thread->pending_lost[reason])) {
            return false;
        }
    }
    return tell_one(thread, VAMP_EVENT_REJECTED, 0, &thread->pending_rejected);
}

static void deliver(struct vamp_source_thread *thread, const struct vamp_event *event)
{
    for (;;) {
        if (tell_losses(thread) && vamp_ring_push(thread->ring, event)) {
            return;
        }
        if (!thread->ops->can_wait || atomic_load_explicit(thread->stop, memory_order_relaxed)) {
            remember_loss(thread, event);
            return;
        }
        wait_for_room();
    }
}

static enum vamp_source_status drain(struct vamp_source_thread *thread)
{
    while (atomic_load_explicit(thread->stop, memory_order_relaxed) == 0) {
        struct vamp_event event;
        enum vamp_source_status status = thread->ops->next(thread->source, &event, &thread->err);
        switch (status) {
        case VAMP_SOURCE_MORE:
            deliver(thread, &event);
            break;
        case VAMP_SOURCE_EMPTY:
            thread->ops->wait(thread->source, WAIT_NS);
            break;
        case VAMP_SOURCE_END:
        case VAMP_SOURCE_GONE:
        case VAMP_SOURCE_ERROR:
            return status;
        }
    }
    return VAMP_SOURCE_END;
}

static void *run(void *argument)
{
    struct vamp_source_thread *thread = argument;
    thread->end = drain(thread);
    /* The worker empties the ring until it is closed, so there will be room. */
    while (!tell_losses(thread)) {
        wait_for_room();
    }
    vamp_ring_close(thread->ring);
    return NULL;
}

int vamp_source_thread_start(struct vamp_source_thread *thread, struct vamp_err *err)
{
    int status = pthread_create(&thread->thread, NULL, run, thread);
    return status == 0 ? 0 : vamp_err_set_errno(err, status, "start the source thread");
}

void vamp_source_thread_join(struct vamp_source_thread *thread)
{
    (void)pthread_join(thread->thread, NULL);
}
