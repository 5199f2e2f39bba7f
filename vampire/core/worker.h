/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread with a bounded queue, an account, messages, and a deadline for its end. Who submits
 * never waits: what finds no room is refused and counted.
 *
 * Account: queued = done + lost + waiting holds whenever it is read, also after the thread was left
 * behind. `queued` and `refused` are counted by who submits, `done` and `lost` by who takes.
 *
 * The end: vamp_worker_end sets the deadline, then vamp_worker_join waits for the thread. A thread
 * that does not return, because it is stuck in the operating system (a dead file system), is left
 * behind: `abandoned` is set, what waits counts as lost, and what the thread may still use must not
 * be freed; vamp_worker_done is not called.
 *
 * A worker needs neither a queue (its user may have one of its own and count in the account) nor a
 * thread (the elements are then taken by whoever calls vamp_worker_remove). Each function says
 * whether it is called with the lock held.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_WORKER_NEVER_NS INT64_MAX
#define VAMP_WORKER_MESSAGES_MAX 8

/* An element of the queue, copied. What it points to belongs to the queue until it is removed. */
struct vamp_worker_item {
    void *what;
    uint64_t number; /* the caller's */
    uint64_t bytes;  /* counted towards `bytes_max`; 0: always fits */
};

/* Limits of the queue. */
struct vamp_worker_bounds {
    unsigned items_max; /* 0: limited by bytes only; the queue grows */
    uint64_t bytes_max; /* a single element fits whatever its size; 0: no limit */
};

struct vamp_worker_account {
    uint64_t queued;  /* submitted, including refused ones */
    uint64_t done;    /* removed and completed */
    uint64_t lost;    /* refused, or abandoned after removal */
    uint64_t waiting; /* in the queue, or removed and not completed */
};

struct vamp_worker {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* by the monotonic clock */
    pthread_t thread;
    void (*run)(void *context);
    void *context;
    bool started; /* and not joined; only for the thread that starts it */

    /* Protected by the lock. */
    struct vamp_worker_bounds bounds;
    struct vamp_worker_item *items; /* a ring of `room` */
    unsigned room, first;
    atomic_uint count; /* any thread reads it */
    uint64_t bytes;
    bool ended; /* `run` has returned */
    struct vamp_err messages[VAMP_WORKER_MESSAGES_MAX];
    unsigned messages_max, message_first, message_count;
    uint64_t messages_left_out;
    struct vamp_err first_failure; /* the first message ever */

    /* Any thread reads these. */
    _Atomic uint64_t queued, refused, done, lost;
    atomic_bool finishing;      /* nothing more is accepted */
    _Atomic int64_t give_up_ns; /* monotonic; VAMP_WORKER_NEVER_NS until vamp_worker_end */
    atomic_bool abandoned;      /* the thread did not return */
    struct vamp_worker_account left_with; /* the counters at that time */
};

/* Creates an empty queue. `messages_max`: how many messages are kept for reading, at most
 * VAMP_WORKER_MESSAGES_MAX; further ones are counted, but with 1 the newest message replaces the
 * previous one. Returns 0 or -ENOMEM; vamp_worker_done must follow in both cases. */
VAMP_MUST_CHECK int vamp_worker_init(struct vamp_worker *worker,
                                     const struct vamp_worker_bounds *bounds, unsigned messages_max,
                                     struct vamp_err *err);
/* Starts a thread with this name that calls `run` once and has all signals blocked. Returns what
 * vamp_thread_start returns. */
VAMP_MUST_CHECK int vamp_worker_start(struct vamp_worker *worker, const char *name,
                                      void (*run)(void *context), void *context,
                                      struct vamp_err *err);
/* Frees the queue; the caller frees the elements in it before. Not for an abandoned worker. */
void vamp_worker_done(struct vamp_worker *worker);

static inline void vamp_worker_lock(struct vamp_worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
}
static inline void vamp_worker_unlock(struct vamp_worker *worker)
{
    (void)pthread_mutex_unlock(&worker->lock);
}
/* Adds to a counter that only one thread changes (or several with the lock). */
static inline void vamp_worker_count(_Atomic uint64_t *counter, uint64_t more)
{
    const uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_release);
}
/* Monotonic time; real time even in tests with a fake clock, because threads wait for it. */
int64_t vamp_worker_now_ns(void);

/* ---- the queue; with the lock */

/* Whether an element of this size would be accepted now. */
bool vamp_worker_has_room(const struct vamp_worker *worker, uint64_t bytes);
/* Counts the element as queued, adds it and wakes the thread. False if it is refused (no room, out
 * of memory, or the end has begun): it is counted as lost and stays the caller's. */
VAMP_MUST_CHECK bool vamp_worker_put(struct vamp_worker *worker,
                                     const struct vamp_worker_item *item);
/* The element at this distance from the oldest one, which is 0; it must exist. */
const struct vamp_worker_item *vamp_worker_at(const struct vamp_worker *worker, unsigned number);
/* Removes the element, which counts as waiting until it is counted as done or lost. Wakes those who
 * wait for room. */
struct vamp_worker_item vamp_worker_remove(struct vamp_worker *worker, unsigned number);
/* Waits for a change, at most until `until_ns` (monotonic; VAMP_WORKER_NEVER_NS). May return early.
 */
void vamp_worker_wait(struct vamp_worker *worker, int64_t until_ns);

/* ---- any thread, without the lock */

void vamp_worker_account(const struct vamp_worker *worker, struct vamp_worker_account *ret_account);
/* Stores a message for vamp_worker_message. */
void vamp_worker_say(struct vamp_worker *worker, const struct vamp_err *message);
/* The oldest unread message; false if there is none. After the last message `*ret_left_out` is once
 * the number of messages that were not kept; else 0. */
bool vamp_worker_message(struct vamp_worker *worker, struct vamp_err *ret_message,
                         uint64_t *ret_left_out);

/* ---- the end; the thread that started it */

/* Accepts no more elements and sets the deadline to `deadline_ns` from now, or to now if that is
 * negative. Wakes the thread, which must return by then. Returns the deadline (monotonic). */
int64_t vamp_worker_end(struct vamp_worker *worker, int64_t deadline_ns);
/* Waits for the thread to end, until `until_ns`. Returns whether it has ended. Any thread. */
bool vamp_worker_await_end(struct vamp_worker *worker, int64_t until_ns);
/* The same, and abandons a thread that has not ended. */
bool vamp_worker_join(struct vamp_worker *worker, int64_t until_ns);
/* Whether the deadline has passed. Any thread. */
bool vamp_worker_must_give_up(const struct vamp_worker *worker);
