/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread with a bounded queue, counters, messages, and a deadline for its end. Submitting never
 * blocks: an element for which there is no space is refused and counted.
 *
 * Counters: queued = done + lost + waiting holds at every read, also after the thread was
 * abandoned. `queued` and `refused` are incremented by the submitter, `done` and `lost` by the
 * thread that removes elements.
 *
 * The end: vamp_worker_end sets the deadline, then vamp_worker_join waits for the thread. A thread
 * that does not return, because it is blocked in the operating system (an unresponsive file
 * system), is abandoned: `abandoned` is set, waiting elements count as lost, memory that the thread
 * may still use must not be freed, and vamp_worker_done is not called.
 *
 * The queue and the thread are both optional: without the queue, the user has a queue of its own
 * and updates the counters; without the thread, elements are removed by the caller of
 * vamp_worker_remove. Each function's comment states whether the lock must be held.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_WORKER_NEVER_NS INT64_MAX
#define VAMP_WORKER_MESSAGES_MAX 8

/* An element of the queue, copied. Its objects belong to the queue until it is removed. */
struct vamp_worker_item {
    void *what;
    uint64_t number; /* set and used by the caller */
    uint64_t bytes;  /* counted towards `bytes_max`; 0: always accepted */
};

/* Limits of the queue. */
struct vamp_worker_bounds {
    unsigned items_max; /* 0: the queue is limited by bytes only, and grows */
    uint64_t bytes_max; /* an element is always accepted by an empty queue; 0: no limit */
};

struct vamp_worker_account {
    uint64_t queued;  /* number of submitted elements, including refused ones */
    uint64_t done;    /* number of elements that were removed and completed */
    uint64_t lost;    /* number of elements that were refused, or abandoned after removal */
    uint64_t waiting; /* number of elements in the queue, or removed and not completed */
};

struct vamp_worker {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* waits with the monotonic clock */
    pthread_t thread;
    void (*run)(void *context);
    void *context;
    bool started; /* started and not joined; used only by the thread that starts the worker */

    /* Protected by the lock. */
    struct vamp_worker_bounds bounds;
    struct vamp_worker_item *items; /* ring of `room` elements */
    unsigned room, first;
    atomic_uint count; /* may be read by any thread */
    uint64_t bytes;
    bool ended; /* `run` has returned */
    struct vamp_err messages[VAMP_WORKER_MESSAGES_MAX];
    unsigned messages_max, message_first, message_count;
    uint64_t messages_left_out;
    struct vamp_err first_failure; /* the first message since the start */

    /* May be read by any thread. */
    _Atomic uint64_t queued, refused, done, lost;
    atomic_bool finishing;      /* no further elements are accepted */
    _Atomic int64_t give_up_ns; /* monotonic deadline; VAMP_WORKER_NEVER_NS until vamp_worker_end */
    atomic_bool abandoned;      /* the thread did not end before the deadline */
    struct vamp_worker_account left_with; /* the counters when the thread was abandoned */
};

/* Creates an empty queue. `messages_max`: maximum number of stored messages, at most
 * VAMP_WORKER_MESSAGES_MAX; further messages are only counted. If it is 1, the newest message
 * replaces the previous one. Returns 0 or -ENOMEM; vamp_worker_done must follow in both cases. */
VAMP_MUST_CHECK int vamp_worker_init(struct vamp_worker *worker,
                                     const struct vamp_worker_bounds *bounds, unsigned messages_max,
                                     struct vamp_err *err);
/* Starts a thread with this name that calls `run` once and has all signals blocked. Returns what
 * vamp_thread_start returns. */
VAMP_MUST_CHECK int vamp_worker_start(struct vamp_worker *worker, const char *name,
                                      void (*run)(void *context), void *context,
                                      struct vamp_err *err);
/* Frees the queue; the caller must free the elements in it before. Not for an abandoned worker. */
void vamp_worker_done(struct vamp_worker *worker);

static inline void vamp_worker_lock(struct vamp_worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
}
static inline void vamp_worker_unlock(struct vamp_worker *worker)
{
    (void)pthread_mutex_unlock(&worker->lock);
}
/* Adds `more` to a counter that is changed by one thread only (or by several with the lock). */
static inline void vamp_worker_count(_Atomic uint64_t *counter, uint64_t more)
{
    const uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_release);
}
/* Returns the real monotonic time, even in tests with a fake clock, because threads wait for it. */
int64_t vamp_worker_now_ns(void);

/* ---- the queue; with the lock */

/* Returns whether an element of this size would be accepted now. */
bool vamp_worker_has_room(const struct vamp_worker *worker, uint64_t bytes);
/* Adds the element, counts it as queued and wakes the thread. Returns false if the element is
 * refused (no space, out of memory, or vamp_worker_end was called): it counts as lost and remains
 * the caller's. */
VAMP_MUST_CHECK bool vamp_worker_put(struct vamp_worker *worker,
                                     const struct vamp_worker_item *item);
/* Returns the element at this distance from the oldest element (0); it must exist. */
const struct vamp_worker_item *vamp_worker_at(const struct vamp_worker *worker, unsigned number);
/* Removes and returns the element, which counts as waiting until it is counted as done or lost.
 * Wakes threads that wait for space. */
struct vamp_worker_item vamp_worker_remove(struct vamp_worker *worker, unsigned number);
/* Waits for a change, at most until `until_ns` (monotonic; VAMP_WORKER_NEVER_NS). May return early.
 */
void vamp_worker_wait(struct vamp_worker *worker, int64_t until_ns);

/* ---- any thread, without the lock */

void vamp_worker_account(const struct vamp_worker *worker, struct vamp_worker_account *ret_account);
/* Stores a message for vamp_worker_message. */
void vamp_worker_say(struct vamp_worker *worker, const struct vamp_err *message);
/* Returns the oldest unread message; false if there is none. After the last message `*ret_left_out`
 * is, once, the number of messages that were not stored; otherwise 0. */
bool vamp_worker_message(struct vamp_worker *worker, struct vamp_err *ret_message,
                         uint64_t *ret_left_out);

/* ---- the end; the thread that started it */

/* Accepts no further elements, and sets the deadline to `deadline_ns` from now, or to now if
 * `deadline_ns` is negative. Wakes the thread, which must return before the deadline. Returns the
 * deadline (monotonic). */
int64_t vamp_worker_end(struct vamp_worker *worker, int64_t deadline_ns);
/* Waits for the thread to end, until `until_ns`. Returns whether it has ended. Any thread. */
bool vamp_worker_await_end(struct vamp_worker *worker, int64_t until_ns);
/* As vamp_worker_await_end, but abandons a thread that has not ended. */
bool vamp_worker_join(struct vamp_worker *worker, int64_t until_ns);
/* Returns whether the deadline has passed. Any thread. */
bool vamp_worker_must_give_up(const struct vamp_worker *worker);
