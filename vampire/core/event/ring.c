/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A byte ring with records of different lengths. `head` and `tail` count bytes since creation and
 * are never reduced, so that full and empty differ; their low bits are the position. A record lies
 * in one piece: when it would run over the end, the rest of the memory becomes padding.
 *
 * The producer writes only `head`, the consumer only `tail`. Each keeps a copy of the other's
 * counter and looks at the real one only when the copy says "full" or "empty", so the two cache
 * lines rarely move between cores.
 *
 * Waking: the consumer sets `waiting`, then looks at `head` again, then sleeps on `waiting`; the
 * producer moves `head`, then looks at `waiting`. All four are sequentially consistent, so one of
 * the two sees the other, and a producer whose consumer is awake makes no system call.
 */
#include "vampire/core/event/ring.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/io.h"
#include "vampire/core/values.h"

#define CACHE_LINE 64
#define RING_BYTES_MIN ((size_t)64 * 1024)
#define RING_BYTES_MAX ((size_t)1 << 40)
/* The ring is prefaulted in blocks of this size when it is used for the first time: single page
 * faults would take twice as long. */
#define PREFAULT_BYTES ((size_t)128 * 1024)

struct record {
    uint64_t bytes; /* size of the whole record, a multiple of its alignment */
    uint64_t
        padding; /* 1: the record is padding, and the next record is at the start of the memory */
    struct vamp_event event;
    char text[];
};

/* Records start at multiples of this, so that a header fits into the remainder of the memory. */
#define RECORD_ALIGNMENT ((size_t)16)
static_assert(offsetof(struct record, event) <= RECORD_ALIGNMENT, "padding fits in a remainder");

struct vamp_ring {
    alignas(CACHE_LINE) atomic_size_t head; /* written by the producer: number of published bytes */
    size_t written;                         /* number of written bytes; at least `head` */
    size_t
        slots_until; /* while `written` is below this, a record of any length fits in one piece */
    size_t known_tail;
    size_t prefaulted; /* number of bytes */

    alignas(CACHE_LINE) atomic_size_t tail; /* written by the consumer: number of released bytes */
    size_t taken;                           /* number of bytes returned by vamp_ring_take */
    size_t known_head;

    alignas(CACHE_LINE) atomic_uint waiting; /* futex: 1 while the consumer sleeps */
    atomic_bool closed;

    alignas(CACHE_LINE) unsigned char *memory; /* the members from here on are constant */
    size_t capacity, mask;
};

int vamp_ring_create(size_t bytes, struct vamp_ring **ret_ring, struct vamp_err *err)
{
    size_t capacity = RING_BYTES_MIN;
    if (bytes > RING_BYTES_MAX) {
        return vamp_err_set(err, -EINVAL, "a ring of %zu bytes is too large, at most %zu", bytes,
                            RING_BYTES_MAX);
    }
    while (capacity < bytes) {
        capacity *= 2;
    }
    struct vamp_ring *ring = aligned_alloc(CACHE_LINE, sizeof *ring);
    unsigned char *memory = aligned_alloc(CACHE_LINE, capacity);
    if (ring == NULL || memory == NULL) {
        free(ring);
        free(memory);
        return vamp_err_set(err, -ENOMEM, "no memory for an event ring of %zu bytes", capacity);
    }
    memset(ring, 0, sizeof *ring);
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->waiting, 0);
    atomic_init(&ring->closed, false);
    ring->memory = memory;
    ring->capacity = capacity;
    ring->mask = capacity - 1;
    *ret_ring = ring;
    return 0;
}

void vamp_ring_free(struct vamp_ring *ring)
{
    if (ring != NULL) {
        free(ring->memory);
        free(ring);
    }
}

/* ------------------------------------------------------------------ producer */

static bool has_room(struct vamp_ring *ring, size_t head, size_t bytes)
{
    if (ring->capacity - (head - ring->known_tail) >= bytes) {
        return true;
    }
    ring->known_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    return ring->capacity - (head - ring->known_tail) >= bytes;
}

static void wake(struct vamp_ring *ring)
{
    if (atomic_load(&ring->waiting) != 0 && atomic_exchange(&ring->waiting, 0) != 0) {
        (void)syscall(SYS_futex, &ring->waiting, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static struct record *record_at(const struct vamp_ring *ring, size_t count)
{
    return (struct record *)(void *)(ring->memory + (count & ring->mask));
}

/* Returns whether an event of this kind may use the reserved space; part is for LEAVE alone. */
static bool may_have(struct vamp_ring *ring, size_t head, size_t bytes, unsigned kind)
{
    switch (kind) {
    case VAMP_EVENT_LEAVE:
        return has_room(ring, head, bytes);
    case VAMP_EVENT_JOIN:
        return has_room(ring, head, bytes + ring->capacity / 16);
    default:
        return false;
    }
}

/* Size of a record with the longest name. */
enum { RECORD_BYTES_MAX = sizeof(struct record) + VAMP_NAME_BYTES_MAX };

/* Prefaults the memory of the next records, and limits `slots_until` to the prefaulted memory. */
static void prefault(struct vamp_ring *ring)
{
    while (ring->prefaulted < ring->capacity && ring->prefaulted <= ring->written) {
        const size_t more = VAMP_MIN(ring->capacity - ring->prefaulted, PREFAULT_BYTES);
        vamp_pages_ask(ring->memory + ring->prefaulted, more);
        ring->prefaulted += more;
    }
    if (ring->prefaulted < ring->capacity) {
        ring->slots_until = VAMP_MIN(ring->slots_until, ring->prefaulted);
    }
}

/* Sets `slots_until`: the limit up to which any event fits in one piece. */
static void find_slots(struct vamp_ring *ring)
{
    const size_t head = ring->written;
    const size_t needed = RECORD_BYTES_MAX + ring->capacity / 8;
    const size_t rest = ring->capacity - (head & ring->mask);
    ring->slots_until = head;
    if (rest >= RECORD_BYTES_MAX && has_room(ring, head, needed)) {
        const size_t room = ring->capacity - (head - ring->known_tail) - needed;
        const size_t pieces = rest - RECORD_BYTES_MAX;
        ring->slots_until += VAMP_MIN(room, pieces) + 1;
    }
    prefault(ring);
}

struct vamp_event *vamp_ring_slot(struct vamp_ring *ring, struct vamp_event *spare)
{
    if (ring->written >= ring->slots_until) {
        find_slots(ring);
    }
    return ring->written < ring->slots_until ? &record_at(ring, ring->written)->event : spare;
}

static size_t record_bytes(const struct vamp_event *event)
{
    const size_t bytes = offsetof(struct record, text) + event->name_length;
    return (bytes + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1);
}

/* Completes the record that already contains the event. */
static inline void append(struct vamp_ring *ring, struct record *record, size_t bytes)
{
    record->bytes = bytes;
    record->padding = 0;
    ring->written += bytes;
    if (record->event.name_length != 0) {
        const char *name = record->event.name;
        record->event.name = record->text;
        memcpy(record->text, name, record->event.name_length);
    }
}

/* Copies the event into the ring. Not inlined: most events are written directly into their slot. */
static __attribute__((noinline)) bool push_copy(struct vamp_ring *ring,
                                                const struct vamp_event *event, unsigned kind)
{
    const size_t head = ring->written;
    const size_t bytes = record_bytes(event);
    const size_t rest = ring->capacity - (head & ring->mask);
    const size_t padding = bytes > rest ? rest : 0;
    if (!has_room(ring, head, padding + bytes + ring->capacity / 8) &&
        !may_have(ring, head, padding + bytes, kind)) {
        return false;
    }
    if (padding != 0) {
        struct record *filler = record_at(ring, head);
        filler->bytes = padding;
        filler->padding = 1;
        ring->written += padding;
    }
    struct record *record = record_at(ring, ring->written);
    record->event = *event;
    append(ring, record, bytes);
    return true;
}

bool vamp_ring_push(struct vamp_ring *ring, const struct vamp_event *event)
{
    struct record *record = record_at(ring, ring->written);
    if (event != &record->event) {
        return push_copy(ring, event, event->kind);
    }
    assert(event->name_length <=
           VAMP_NAME_BYTES_MAX); /* otherwise the record would be larger than the slot */
    append(ring, record, record_bytes(event));
    return true;
}

bool vamp_ring_push_before(struct vamp_ring *ring, const struct vamp_event *event, unsigned kind)
{
    return push_copy(ring, event, kind);
}

bool vamp_ring_has_room(struct vamp_ring *ring)
{
    /* Padding, control events and the event need at most one maximum-size record each. */
    return has_room(ring, ring->written, 3 * (size_t)RECORD_BYTES_MAX + ring->capacity / 8);
}

void vamp_ring_publish(struct vamp_ring *ring)
{
    if (atomic_load_explicit(&ring->head, memory_order_relaxed) != ring->written) {
        atomic_store(&ring->head, ring->written);
        wake(ring);
    }
}

void vamp_ring_close(struct vamp_ring *ring)
{
    vamp_ring_publish(ring);
    atomic_store(&ring->closed, true);
    wake(ring);
}

/* ------------------------------------------------------------------ consumer */

/* Distance of the prefetch, several records: the records were written by another processor. */
#define LATER_BYTES 768

unsigned vamp_ring_take(struct vamp_ring *ring, const struct vamp_event *events[], unsigned max)
{
    size_t taken = ring->taken;
    unsigned count = 0;
    for (; count < max; count++) {
        if (taken == ring->known_head) {
            ring->known_head = atomic_load_explicit(&ring->head, memory_order_acquire);
            if (taken == ring->known_head) {
                break;
            }
        }
        struct record *record = record_at(ring, taken);
        if (record->padding != 0) {
            /* Padding is published together with the record after it. */
            taken += record->bytes;
            record = record_at(ring, taken);
        }
        const char *later = (const char *)record + LATER_BYTES;
        __builtin_prefetch(later);
        __builtin_prefetch(later + CACHE_LINE);
        __builtin_prefetch(later + 2 * (size_t)CACHE_LINE);
        taken += record->bytes;
        events[count] = &record->event;
    }
    ring->taken = taken;
    return count;
}

void vamp_ring_release(struct vamp_ring *ring)
{
    atomic_store_explicit(&ring->tail, ring->taken, memory_order_release);
}

void vamp_ring_wait(struct vamp_ring *ring, int64_t timeout_ns)
{
    if (timeout_ns <= 0) {
        return;
    }
    atomic_store(&ring->waiting, 1);
    if (atomic_load(&ring->head) == ring->taken && !atomic_load(&ring->closed)) {
        const struct timespec timeout = vamp_timespec(timeout_ns);
        (void)syscall(SYS_futex, &ring->waiting, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
    }
    atomic_store(&ring->waiting, 0);
}

bool vamp_ring_finished(const struct vamp_ring *ring)
{
    /* `closed` is read first, so that everything pushed before closing is visible in `head`. */
    return atomic_load(&ring->closed) && atomic_load(&ring->head) == ring->taken;
}

/* ------------------------------------------------------------------ either thread */

size_t vamp_ring_used_bytes(const struct vamp_ring *ring)
{
    /* The tail is read first, because it never overtakes a head that is read later. */
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    size_t used = head - tail;
    return VAMP_MIN(used, ring->capacity);
}

size_t vamp_ring_capacity_bytes(const struct vamp_ring *ring)
{
    return ring->capacity;
}

/* ------------------------------------------------------------------ losses */

void vamp_losses_note(struct vamp_losses *losses, const struct vamp_event *event,
                      enum vamp_loss reason)
{
    if (event->kind == VAMP_EVENT_TIME) {
        return;
    }
    losses->any = true;
    switch (event->kind) {
    case VAMP_EVENT_GONE:
        losses->gone = 1;
        losses->gone_ns = event->time_ns;
        return;
    case VAMP_EVENT_UNWATCHED:
        losses->unwatched = 1;
        losses->unwatched_ns = event->time_ns;
        return;
    case VAMP_EVENT_LOST:
        losses->lost[event->reason] += event->count;
        break;
    case VAMP_EVENT_REJECTED:
        losses->rejected += event->count;
        break;
    case VAMP_EVENT_UNWANTED:
        losses->unwanted += event->count;
        break;
    default:
        losses->lost[reason]++;
        break;
    }
    losses->time_ns = event->time_ns;
}

/* Pushes a control event with `*count`, in the space reserved for events of kind `before`, and sets
 * `*count` to 0. Returns true if nothing is left to report. */
static bool report_mark(struct vamp_ring *ring, unsigned before, const struct vamp_event *mark,
                        uint64_t *count)
{
    if (*count != 0 && vamp_ring_push_before(ring, mark, before)) {
        *count = 0;
    }
    return *count == 0;
}

bool vamp_losses_report(struct vamp_losses *losses, struct vamp_ring *ring, unsigned kind)
{
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        const struct vamp_event lost = {.kind = VAMP_EVENT_LOST,
                                        .reason = (uint8_t)reason,
                                        .count = losses->lost[reason],
                                        .time_ns = losses->time_ns};
        if (!report_mark(ring, kind, &lost, &losses->lost[reason])) {
            return false;
        }
    }
    const struct vamp_event rejected = {
        .kind = VAMP_EVENT_REJECTED, .count = losses->rejected, .time_ns = losses->time_ns};
    const struct vamp_event unwanted = {
        .kind = VAMP_EVENT_UNWANTED, .count = losses->unwanted, .time_ns = losses->time_ns};
    const struct vamp_event gone = {.kind = VAMP_EVENT_GONE, .time_ns = losses->gone_ns};
    const struct vamp_event unwatched = {.kind = VAMP_EVENT_UNWATCHED,
                                         .time_ns = losses->unwatched_ns};
    losses->any = !(report_mark(ring, kind, &rejected, &losses->rejected) &&
                    report_mark(ring, kind, &unwanted, &losses->unwanted) &&
                    report_mark(ring, kind, &gone, &losses->gone) &&
                    report_mark(ring, kind, &unwatched, &losses->unwatched));
    return !losses->any;
}

bool vamp_losses_finish(struct vamp_losses *losses, struct vamp_ring *ring)
{
    return !losses->any || vamp_losses_report(losses, ring, VAMP_EVENT_LEAVE);
}
