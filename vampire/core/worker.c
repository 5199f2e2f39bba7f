/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "vampire/core/thread.h"
#include "vampire/core/values.h"

#define ROOM_FIRST 16U /* initial size of a queue that grows */

int64_t vamp_worker_now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* ---- create and free */

int vamp_worker_init(struct vamp_worker *worker, const struct vamp_worker_bounds *bounds,
                     unsigned messages_max, struct vamp_err *err)
{
    assert(messages_max >= 1 && messages_max <= VAMP_WORKER_MESSAGES_MAX);
    *worker = (struct vamp_worker){
        .bounds = *bounds, .room = bounds->items_max, .messages_max = messages_max};
    atomic_store(&worker->give_up_ns, VAMP_WORKER_NEVER_NS);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&worker->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&worker->lock, NULL);
    if (worker->room == 0) {
        return 0;
    }
    worker->items = calloc(worker->room, sizeof *worker->items);
    if (worker->items == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "make a queue for %u elements", worker->room);
    }
    return 0;
}

static void *run_worker(void *context)
{
    struct vamp_worker *worker = context;
    worker->run(worker->context);
    vamp_worker_lock(worker);
    worker->ended = true;
    (void)pthread_cond_broadcast(&worker->changed);
    vamp_worker_unlock(worker);
    return NULL;
}

int vamp_worker_start(struct vamp_worker *worker, const char *name, void (*run)(void *context),
                      void *context, struct vamp_err *err)
{
    worker->run = run;
    worker->context = context;
    const int code = vamp_thread_start(&worker->thread, name, run_worker, worker, err);
    worker->started = code == 0;
    return code;
}

void vamp_worker_done(struct vamp_worker *worker)
{
    assert(!worker->started && !atomic_load(&worker->abandoned));
    free(worker->items);
    (void)pthread_cond_destroy(&worker->changed);
    (void)pthread_mutex_destroy(&worker->lock);
}

/* ---- the queue */

bool vamp_worker_has_room(const struct vamp_worker *worker, uint64_t bytes)
{
    const struct vamp_worker_bounds *bounds = &worker->bounds;
    return !atomic_load(&worker->finishing) &&
           (bounds->items_max == 0 || worker->count < bounds->items_max) &&
           (bounds->bytes_max == 0 || bytes == 0 || worker->count == 0 ||
            worker->bytes + bytes <= bounds->bytes_max);
}

/* Grows a queue that is limited by bytes only. */
static bool grow(struct vamp_worker *worker)
{
    const unsigned room = worker->room > 0 ? worker->room * 2 : ROOM_FIRST;
    struct vamp_worker_item *items = calloc(room, sizeof *items);
    if (items == NULL) {
        return false;
    }
    for (unsigned i = 0; i < worker->count; i++) {
        items[i] = *vamp_worker_at(worker, i);
    }
    free(worker->items);
    worker->items = items;
    worker->room = room;
    worker->first = 0;
    return true;
}

bool vamp_worker_put(struct vamp_worker *worker, const struct vamp_worker_item *item)
{
    vamp_worker_count(&worker->queued, 1);
    if (!vamp_worker_has_room(worker, item->bytes) ||
        (worker->count == worker->room && !grow(worker))) {
        vamp_worker_count(&worker->refused, 1);
        return false;
    }
    worker->items[(worker->first + worker->count++) % worker->room] = *item;
    worker->bytes += item->bytes;
    (void)pthread_cond_broadcast(&worker->changed);
    return true;
}

const struct vamp_worker_item *vamp_worker_at(const struct vamp_worker *worker, unsigned number)
{
    assert(number < worker->count && worker->room > 0);
    return &worker->items[(worker->first + number) % worker->room];
}

struct vamp_worker_item vamp_worker_remove(struct vamp_worker *worker, unsigned number)
{
    const struct vamp_worker_item item = *vamp_worker_at(worker, number);
    for (; number > 0; number--) { /* older elements move up */
        worker->items[(worker->first + number) % worker->room] =
            *vamp_worker_at(worker, number - 1);
    }
    worker->first = (worker->first + 1) % worker->room;
    worker->count--;
    worker->bytes -= item.bytes;
    (void)pthread_cond_broadcast(&worker->changed);
    return item;
}

void vamp_worker_wait(struct vamp_worker *worker, int64_t until_ns)
{
    const struct timespec until = vamp_timespec(until_ns);
    (void)pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
}

/* ---- counters and messages */

/* `queued` is read last, because an element is counted there before any other counter. */
void vamp_worker_account(const struct vamp_worker *worker, struct vamp_worker_account *ret_account)
{
    if (atomic_load(&worker->abandoned)) {
        *ret_account = worker->left_with;
        return;
    }
    ret_account->done = atomic_load_explicit(&worker->done, memory_order_acquire);
    ret_account->lost = atomic_load_explicit(&worker->lost, memory_order_acquire) +
                        atomic_load_explicit(&worker->refused, memory_order_acquire);
    ret_account->queued = atomic_load_explicit(&worker->queued, memory_order_acquire);
    assert(ret_account->queued >= ret_account->done + ret_account->lost);
    ret_account->waiting = ret_account->queued - ret_account->done - ret_account->lost;
}

void vamp_worker_say(struct vamp_worker *worker, const struct vamp_err *message)
{
    vamp_worker_lock(worker);
    if (worker->first_failure.code == 0) {
        worker->first_failure = *message;
    }
    if (worker->messages_max == 1) {
        worker->message_count = 0;
    }
    if (worker->message_count < worker->messages_max) {
        worker->messages[(worker->message_first + worker->message_count++) % worker->messages_max] =
            *message;
    } else {
        worker->messages_left_out++;
    }
    vamp_worker_unlock(worker);
}

bool vamp_worker_message(struct vamp_worker *worker, struct vamp_err *ret_message,
                         uint64_t *ret_left_out)
{
    vamp_worker_lock(worker);
    const bool any = worker->message_count > 0;
    *ret_left_out = any ? 0 : worker->messages_left_out;
    if (any) {
        *ret_message = worker->messages[worker->message_first];
        worker->message_first = (worker->message_first + 1) % worker->messages_max;
        worker->message_count--;
    } else {
        worker->messages_left_out = 0;
    }
    vamp_worker_unlock(worker);
    return any;
}

/* ---- the end */

int64_t vamp_worker_end(struct vamp_worker *worker, int64_t deadline_ns)
{
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_MAX(deadline_ns, 0);
    vamp_worker_lock(worker);
    atomic_store(&worker->finishing, true);
    atomic_store(&worker->give_up_ns, until_ns);
    (void)pthread_cond_broadcast(&worker->changed);
    vamp_worker_unlock(worker);
    return until_ns;
}

bool vamp_worker_await_end(struct vamp_worker *worker, int64_t until_ns)
{
    vamp_worker_lock(worker);
    while (!worker->ended && vamp_worker_now_ns() < until_ns) {
        vamp_worker_wait(worker, until_ns);
    }
    const bool ended = worker->ended;
    vamp_worker_unlock(worker);
    return ended;
}

bool vamp_worker_join(struct vamp_worker *worker, int64_t until_ns)
{
    const bool ended = vamp_worker_await_end(worker, until_ns);
    worker->started = false;
    if (ended) {
        (void)pthread_join(worker->thread, NULL);
        return true;
    }
    vamp_worker_account(worker, &worker->left_with);
    worker->left_with.lost += worker->left_with.waiting;
    worker->left_with.waiting = 0;
    atomic_store(&worker->abandoned, true);
    (void)pthread_detach(worker->thread);
    return false;
}

bool vamp_worker_must_give_up(const struct vamp_worker *worker)
{
    const int64_t until = atomic_load_explicit(&worker->give_up_ns, memory_order_relaxed);
    return until != VAMP_WORKER_NEVER_NS && vamp_worker_now_ns() >= until;
}
