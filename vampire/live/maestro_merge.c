/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_merge.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "vampire/core/values.h"
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
    merge->run = NULL;
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

/* Returns whether the first serials of two streams show that each stream is numbered separately. */
static bool overlap(const struct vamp_merge_stream *one, const struct vamp_merge_stream *other)
{
    return one->run_last != 0 && other->run_last != 0 && one->run_first <= other->run_last &&
           other->run_first <= one->run_last;
}

/* Examines the serials of a new list up to the first gap. */
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
            if (stream->run_last == 0) {
                stream->run_first = serial;
            }
            stream->run_last = serial;
        }
    }
    for (unsigned i = 0; i < merge->stream_count; i++) {
        if (&merge->streams[i] != stream && overlap(&merge->streams[i], stream)) {
            merge->serials = VAMP_SERIALS_BY_SUBSCRIPTION;
        }
    }
}

#define SORT_PASSES 64

/* Returns whether two neighbours of a list have serial numbers that show another order. */
static bool is_swapped(const struct mstro_pool_event_ *first,
                       const struct mstro_pool_event_ *second)
{
    return !vamp_maestro_is_service(first) && vamp_maestro_serial(second) != 0 &&
           vamp_maestro_serial(first) > vamp_maestro_serial(second);
}

/* Sorts a list, which is nearly in order, by serial numbers. What is farther than SORT_PASSES from
 * its place is not moved there, so that the time is bounded. Returns the first event. */
static mstro_pool_event sort_by_serial(mstro_pool_event head)
{
    bool is_sorted = false;
    for (unsigned pass = 0; !is_sorted && pass < SORT_PASSES; pass++) {
        is_sorted = true;
        for (mstro_pool_event *at = &head; (*at)->next != NULL; at = &(*at)->next) {
            mstro_pool_event first = *at, second = first->next;
            if (is_swapped(first, second)) {
                first->next = second->next;
                second->next = first;
                *at = second;
                is_sorted = false;
            }
        }
    }
    return head;
}

static void take(struct vamp_merge *merge, struct vamp_merge_stream *stream, mstro_pool_event list)
{
    assert(stream->count < VAMP_MERGE_LISTS); /* a full stream is not read */
    if (merge->sorts) {
        list = sort_by_serial(list);
    }
    if (!stream->run_over && merge->serials == VAMP_SERIALS_USED) {
        learn_serials(merge, stream, list);
    }
    const int64_t now_ns = vamp_clock_monotonic_ns(merge->clock);
    stream->lists[(stream->first + stream->count++) % VAMP_MERGE_LISTS] = (struct vamp_merge_list){
        .head = list,
        .at = list,
        .arrival = {.utc_ns = vamp_clock_utc_ns(merge->clock),
                    .ns = now_ns,
                    .waited_ns = now_ns - stream->read_empty_ns},
    };
}

/* Returns whether the read failed and ended its stream; a timeout or being out of memory does not.
 */
static bool note_failure(struct vamp_merge *merge, struct vamp_merge_stream *stream,
                         mstro_status status)
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
    if (note_failure(merge, stream, mstro_subscription_poll(stream->subscription, &list))) {
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
    /* If the pool manager was gone for one subscription before this round began, an empty
     * subscription has no further events either. */
    bool closing = false;
    bool came = false;
    const bool nothing_left = vamp_merge_rest(merge) == 0;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        struct vamp_merge_stream *stream = &merge->streams[i];
        const bool has_all = nothing_left || stream->delivered >= stream->total;
        if (merge->finished && has_all) {
            stream->ended = true;
        } else if (stream->ended) {
            closing = true;
        }
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
    if (!note_failure(merge, stream, status) && list != NULL) {
        take(merge, stream, list);
    }
}

mstro_status vamp_merge_finish(struct vamp_merge *merge, uint32_t timeout_ms)
{
    mstro_status status = MSTRO_INVARG;
    for (unsigned i = 0; i < merge->stream_count; i++) {
#if VAMP_MSTRO_HAS_FINISH
        struct vamp_merge_stream *stream = &merge->streams[i];
        status = mstro_subscription_finish(stream->subscription, timeout_ms, &stream->total);
#else
        (void)timeout_ms;
#endif
        if (status != MSTRO_OK) {
            return status;
        }
    }
    merge->finished = true;
    return status;
}

uint64_t vamp_merge_rest(const struct vamp_merge *merge)
{
    uint64_t rest = 0;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        rest += merge->streams[i].total - merge->streams[i].delivered;
    }
    return vamp_minus(rest, merge->unreported_losses);
}

/* ------------------------------------------------------------------ delivering */

/* Moves past the front list if it was delivered completely; the list must have no batch left. */
static void leave_list(struct vamp_merge *merge, struct vamp_merge_stream *stream)
{
    if (front(stream)->at == NULL) {
        merge->retired = front(stream)->head;
        stream->first++;
        stream->count--;
    }
}

/* Unpacks the next event of a batch that arrived at `arrival_ns`. Returns false if there are no
 * more. */
static inline bool unpack(struct vamp_event_batch *packed, enum vamp_event_phase phase,
                          int64_t arrival_ns, struct vamp_event *event)
{
    const uint8_t *bytes = NULL;
    size_t length = 0;
    if (packed->at == packed->end || !vamp_event_batch_next(packed, &bytes, &length)) {
        packed->at = packed->end;
        return false;
    }
    if (vamp_event_read(bytes, length, event, NULL) != 0) {
        *event = (struct vamp_event){.kind = VAMP_EVENT_REJECTED, .count = 1};
    } else if (!vamp_event_has(event, VAMP_HAS_TIME)) {
        event->time_ns = arrival_ns;
    }
    event->phase = (uint8_t)phase;
    return true;
}

/* Converts the next element of the list. Returns false if it is not an event, but a batch or the
 * end. */
static bool convert(struct vamp_merge_stream *stream, struct vamp_merge_list *list)
{
    const struct mstro_pool_event_ *theirs = list->at;
    list->at = theirs->next;
    if (vamp_maestro_is_gone(theirs)) {
        stream->ended = true;
        return false;
    }
    if (vamp_maestro_packed(theirs, &stream->packed)) {
        return false;
    }
    vamp_maestro_convert(theirs, stream->phase, list->arrival.utc_ns, &stream->next);
    stream->serial = stream->next.serial;
    return true;
}

/* Returns whether the stream's next event is a control event without a time. */
static inline bool lacks_time(const struct vamp_merge_stream *stream)
{
    return stream->next.time_ns == 0 && vamp_event_is_mark(&stream->next);
}

/* Reads the first event of a node of a list; one that cannot be read has the time 0. */
static void read_first(const struct vamp_merge_list *list, const struct mstro_pool_event_ *theirs,
                       struct vamp_event *ret_event)
{
    struct vamp_event_batch packed;
    *ret_event = (struct vamp_event){.kind = VAMP_EVENT_REJECTED};
    if (vamp_maestro_packed(theirs, &packed)) {
        (void)unpack(&packed, VAMP_PHASE_AFTER, list->arrival.utc_ns, ret_event);
    } else {
        vamp_maestro_convert(theirs, VAMP_PHASE_AFTER, list->arrival.utc_ns, ret_event);
    }
}

/* Reads the event after the stream's next one without removing it. Returns false if none has
 * arrived. */
static bool peek(struct vamp_merge_stream *stream, struct vamp_event *ret_event)
{
    struct vamp_event_batch rest = stream->packed;
    if (unpack(&rest, stream->phase, front(stream)->arrival.utc_ns, ret_event)) {
        return true;
    }
    for (unsigned i = 0; i < stream->count; i++) {
        const struct vamp_merge_list *list = &stream->lists[(stream->first + i) % VAMP_MERGE_LISTS];
        for (const struct mstro_pool_event_ *at = list->at; at != NULL; at = at->next) {
            if (!vamp_maestro_is_service(at)) {
                read_first(list, at, ret_event);
                return true;
            }
        }
    }
    return false;
}

/* Places a control event without a time directly before the event that follows it, if that event
 * has arrived. */
static void place_before_following(struct vamp_merge_stream *stream)
{
    struct vamp_event following;
    if (peek(stream, &following)) {
        stream->next.time_ns = following.time_ns;
        stream->serial = following.serial;
    }
}

/* Prepares the stream's next event unless it is already prepared. Returns false if there is none.
 */
static bool prepare_next(struct vamp_merge *merge, struct vamp_merge_stream *stream)
{
    while (!stream->is_ready && stream->count > 0) {
        struct vamp_merge_list *list = front(stream);
        if (unpack(&stream->packed, stream->phase, list->arrival.utc_ns, &stream->next)) {
            stream->is_ready = true;
            stream->serial = stream->next.serial;
        } else if (list->at != NULL) {
            stream->is_ready = convert(stream, list);
        } else {
            leave_list(merge, stream);
            retire(merge);
        }
    }
    if (stream->is_ready && lacks_time(stream)) {
        place_before_following(stream);
    }
    return stream->is_ready;
}

/* Returns the position of the stream's next event in the common order; 0: none. */
static uint64_t key(const struct vamp_merge *merge, const struct vamp_merge_stream *stream)
{
    return merge->serials == VAMP_SERIALS_USED ? stream->serial : (uint64_t)stream->next.time_ns;
}

/* Returns whether no other stream can still deliver an earlier event than this stream's next one.
 */
static bool may_go(const struct vamp_merge *merge, struct vamp_merge_stream *stream)
{
    int64_t since_ns = front(stream)->arrival.ns + VAMP_MERGE_HOLD_NS;
    if (front(stream)->arrival.ns < merge->overloaded_ns) {
        since_ns = front(stream)->arrival.ns + VAMP_MERGE_OVERLOAD_NS;
    }
    if (lacks_time(stream)) {
        return stream->ended || vamp_clock_monotonic_ns(merge->clock) >= since_ns;
    }
    if (key(merge, stream) == 0) {
        return true;
    }
    for (unsigned i = 0; i < merge->stream_count; i++) {
        const struct vamp_merge_stream *other = &merge->streams[i];
        const bool may_have_earlier =
            other->count == 0 && !other->ended && other->read_empty_ns < since_ns;
        if (other != stream && may_have_earlier) {
            return false;
        }
    }
    return true;
}

/* Returns the stream with the earliest event; NULL: no stream has an event. `*ret_below` is the
 * lowest position in the other streams. */
static struct vamp_merge_stream *earliest(struct vamp_merge *merge, uint64_t *ret_below)
{
    struct vamp_merge_stream *best = NULL;
    uint64_t least = UINT64_MAX;
    *ret_below = UINT64_MAX;
    for (unsigned i = 0; i < merge->stream_count; i++) {
        struct vamp_merge_stream *stream = &merge->streams[i];
        if (!prepare_next(merge, stream)) {
            continue;
        }
        const uint64_t place = key(merge, stream);
        if (best == NULL || place < least) {
            *ret_below = least;
            least = place;
            best = stream;
        } else if (place < *ret_below) {
            *ret_below = place;
        }
    }
    return best;
}

/* Called after the next event of the front list was delivered; removes the list after its last
 * event. */
static inline const struct vamp_merge_arrival *given(struct vamp_merge *merge,
                                                     struct vamp_merge_stream *stream)
{
    const struct vamp_merge_list *list = front(stream);
    stream->delivered++;
    if (stream->packed.at == stream->packed.end) {
        merge->run = NULL;
        leave_list(merge, stream);
    }
    return &list->arrival;
}

/* Compares all streams. Not inlined: most events continue the current run. */
static __attribute__((noinline)) const struct vamp_merge_arrival *
choose(struct vamp_merge *merge, struct vamp_event *ret_event)
{
    struct vamp_merge_stream *stream = earliest(merge, &merge->run_below);
    if (stream == NULL || !may_go(merge, stream)) {
        return NULL;
    }
    if (merge->serials == VAMP_SERIALS_USED && stream->serial != 0) {
        merge->run = stream;
    }
    *ret_event = stream->next;
    stream->is_ready = false;
    if (ret_event->kind == VAMP_EVENT_LOST) {
        stream->delivered += ret_event->count - 1; /* `given` adds 1 */
        merge->overloaded_ns = front(stream)->arrival.ns + INT64_C(5) * VAMP_MERGE_OVERLOAD_NS;
    }
    return given(merge, stream);
}

const struct vamp_merge_arrival *vamp_merge_next(struct vamp_merge *merge,
                                                 struct vamp_event *ret_event)
{
    retire(merge);
    struct vamp_merge_stream *stream = merge->run;
    if (stream != NULL &&
        unpack(&stream->packed, stream->phase, front(stream)->arrival.utc_ns, ret_event)) {
        /* An event without a serial (0) can be delivered at once. */
        if (ret_event->serial - 1 < merge->run_below - 1) {
            return given(merge, stream);
        }
        stream->next = *ret_event;
        stream->serial = ret_event->serial;
        stream->is_ready = true;
    }
    merge->run = NULL;
    return choose(merge, ret_event);
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
