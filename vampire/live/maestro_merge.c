/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_merge.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "vampire/live/maestro_fields.h"

void vamp_merge_add(struct vamp_merge *merge, mstro_subscription subscription,
                    enum vamp_event_phase phase)
{
    assert(merge->stream_count < VAMP_MERGE_STREAMS);
    struct vamp_merge_stream *stream = &merge->streams[merge->stream_count++];
    stream->subscription = subscription;
    stream->phase = phase;
    stream->read_empty_ns = vamp_clock_monotonic_ns(merge->clock);
}

static void retire(struct vamp_merge *merge)
{
    if (merge->retired != NULL) {
        (void)mstro_pool_event_dispose(merge->retired);
        merge->retired = NULL;
    }
}

static struct vamp_merge_list *front(struct vamp_merge_stream *stream)
{
    return &stream->lists[stream->first % VAMP_MERGE_LISTS];
}

static void end_stream(struct vamp_merge_stream *stream)
{
    for (; stream->count > 0; stream->count--, stream->first++) {
        (void)mstro_pool_event_dispose(front(stream)->head);
    }
    if (stream->subscription != NULL) {
        (void)mstro_subscription_dispose(stream->subscription);
    }
}

void vamp_merge_drop(struct vamp_merge *merge, enum vamp_event_phase phase)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        struct vamp_merge_stream *stream = &merge->streams[i];
        if (stream->phase == phase) {
            end_stream(stream);
        } else if (kept++ != i) {
            memcpy(&merge->streams[kept - 1], stream, sizeof *stream);
        }
    }
    merge->stream_count = kept;
}

void vamp_merge_done(struct vamp_merge *merge)
{
    retire(merge);
    for (unsigned i = 0; i < merge->stream_count; i++) {
        end_stream(&merge->streams[i]);
    }
    merge->stream_count = 0;
}

/* ------------------------------------------------------------------ reading */

/* Whether the first serials of two streams say that each is numbered by itself. */
static bool overlap(const struct vamp_merge_stream *one, const struct vamp_merge_stream *other)
{
    return one->run_last != 0 && other->run_last != 0 && one->run_first <= other->run_last &&
           other->run_first <= one->run_last;
}

/* Looks at a new list as long as its serials follow each other without a gap. */
static void learn_serials(struct vamp_merge *merge, struct vamp_merge_stream *stream,
                          const struct mstro_pool_event_ *at)
{
    for (; at != NULL && !stream->run_over && merge->serials == VAMP_SERIALS_USED; at = at->next) {
        const uint64_t serial = vamp_maestro_serial(at);
        const bool follows = stream->run_last == 0 || serial == stream->run_last + 1;
        if (vamp_maestro_is_service(at) || (serial != 0 && !follows)) {
            stream->run_over = true;
        } else if (serial == 0) {
            merge->serials = VAMP_SERIALS_ZERO;
        } else {
            stream->run_first = stream->run_last == 0 ? serial : stream->run_first;
            stream->run_last = serial;
        }
    }
    for (unsigned i = 0; i < merge->stream_count; i++) {
        if (&merge->streams[i] != stream && overlap(&merge->streams[i], stream)) {
            merge->serials = VAMP_SERIALS_BY_SUBSCRIPTION;
        }
    }
}

static void take(struct vamp_merge *merge, struct vamp_merge_stream *stream, mstro_pool_event list)
{
    assert(stream->count < VAMP_MERGE_LISTS); /* a full stream is not read */
    if (!stream->run_over && merge->serials == VAMP_SERIALS_USED) {
        learn_serials(merge, stream, list);
    }
    const int64_t now_ns = vamp_clock_monotonic_ns(merge->clock);
    stream->lists[(stream->first + stream->count++) % VAMP_MERGE_LISTS] = (struct vamp_merge_list){
        .head = list,
        .at = list,
        .arrived_utc_ns = vamp_clock_utc_ns(merge->clock),
        .arrived_ns = now_ns,
        .waited_ns = now_ns - stream->read_empty_ns,
    };
}

/* A read that failed ends its stream; one that only timed out, or lacked memory, does not. */
static bool failed(struct vamp_merge *merge, struct vamp_merge_stream *stream, mstro_status status)
{
    if (status == MSTRO_OK || status == MSTRO_TIMEOUT || status == MSTRO_NOMEM) {
        return false;
    }
    stream->ended = true;
    merge->failure = status;
    return true;
}

static bool read_stream(struct vamp_merge *merge, struct vamp_merge_stream *stream, bool closing)
{
    if (stream->ended || stream->count == VAMP_MERGE_LISTS) {
        return false;
    }
    mstro_pool_event list = NULL;
    if (failed(merge, stream, mstro_subscription_poll(stream->subscription, &list))) {
        return false;
    }
    if (list == NULL) {
        stream->read_empty_ns = vamp_clock_monotonic_ns(merge->clock);
        stream->ended = closing;
        return false;
    }
    take(merge, stream, list);
    return true;
}

bool vamp_merge_read(struct vamp_merge *merge)
{
    /* When the pool manager was gone for one subscription before this round began, an empty
     * other one has nothing to come either. */
    bool closing = false;
    bool came = false;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        closing = closing || merge->streams[i].ended;
    }
    for (unsigned i = 0; i < merge->stream_count; i++) {
        came = read_stream(merge, &merge->streams[i], closing) || came;
    }
    return came;
}

void vamp_merge_wait(struct vamp_merge *merge, int64_t timeout_ns)
{
    struct vamp_merge_stream *stream = &merge->streams[merge->stream_count - 1];
    if (stream->ended || stream->count == VAMP_MERGE_LISTS) {
        vamp_sleep_ns(timeout_ns);
        return;
    }
    const struct timespec until = vamp_timespec(vamp_clock_utc_ns(merge->clock) + timeout_ns);
    mstro_pool_event list = NULL;
    mstro_status status = mstro_subscription_timedwait(stream->subscription, &until, &list);
    if (!failed(merge, stream, status) && list != NULL) {
        take(merge, stream, list);
    }
}

/* ------------------------------------------------------------------ giving out */

/* The place of the stream's next event in the common order; 0 when it has none. */
static uint64_t key(const struct vamp_merge *merge, struct vamp_merge_stream *stream)
{
    const struct mstro_pool_event_ *at = front(stream)->at;
    if (merge->serials != VAMP_SERIALS_USED) {
        return (uint64_t)vamp_maestro_time(at, front(stream)->arrived_utc_ns);
    }
    uint64_t serial = vamp_maestro_serial(at);
    /* A loss belongs before the event that follows it. */
    return serial == 0 && at->next != NULL ? vamp_maestro_serial(at->next) : serial;
}

static bool may_go(const struct vamp_merge *merge, struct vamp_merge_stream *stream)
{
    if (key(merge, stream) == 0) {
        return true;
    }
    const int64_t since_ns = front(stream)->arrived_ns + VAMP_MERGE_HOLD_NS;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        const struct vamp_merge_stream *other = &merge->streams[i];
        if (other != stream && other->count == 0 && !other->ended &&
            other->read_empty_ns < since_ns) {
            return false;
        }
    }
    return true;
}

static struct vamp_merge_stream *earliest(struct vamp_merge *merge)
{
    struct vamp_merge_stream *best = NULL;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        struct vamp_merge_stream *stream = &merge->streams[i];
        if (stream->count != 0 && (best == NULL || key(merge, stream) < key(merge, best))) {
            best = stream;
        }
    }
    return best;
}

/* Moves past the stream's next event; a list that is used up waits for retire(). */
static mstro_pool_event step(struct vamp_merge *merge, struct vamp_merge_stream *stream)
{
    struct vamp_merge_list *list = front(stream);
    mstro_pool_event event = list->at;
    list->at = event->next;
    if (list->at == NULL) {
        merge->retired = list->head;
        stream->first++;
        stream->count--;
    }
    return event;
}

bool vamp_merge_next(struct vamp_merge *merge, struct vamp_merge_event *ret_event)
{
    for (;;) {
        retire(merge);
        struct vamp_merge_stream *stream = earliest(merge);
        if (stream == NULL || !may_go(merge, stream)) {
            return false;
        }
        const struct vamp_merge_list list = *front(stream);
        mstro_pool_event event = step(merge, stream);
        if (vamp_maestro_is_gone(event)) {
            stream->ended = true;
            continue;
        }
        *ret_event = (struct vamp_merge_event){.event = event,
                                               .phase = stream->phase,
                                               .arrived_utc_ns = list.arrived_utc_ns,
                                               .arrived_ns = list.arrived_ns,
                                               .waited_ns = list.waited_ns};
        return true;
    }
}

bool vamp_merge_holds(const struct vamp_merge *merge)
{
    for (unsigned i = 0; i < merge->stream_count; i++) {
        if (merge->streams[i].count != 0) {
            return true;
        }
    }
    return false;
}

bool vamp_merge_ended(const struct vamp_merge *merge)
{
    for (unsigned i = 0; i < merge->stream_count; i++) {
        if (!merge->streams[i].ended) {
            return false;
        }
    }
    return true;
}
