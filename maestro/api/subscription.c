/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maestro/api/event_block.h"
#include "maestro/api/internal.h"
#include "maestro/wire/frame.h"
#include "vampire/core/clock.h"

enum { ACKS_PER_MESSAGE = 512 };
/* Seconds since 1970: some hundred years. */
#define WAIT_UNTIL_MAX INT64_C(8000000000)

#define KINDS_OF_POOL (((mstro_pool_event_kind)1 << VAMP_EVENT_KIND_COUNT) - 2)
#define KINDS_ALL (KINDS_OF_POOL | MSTRO_POOL_EVENT_LOST | MSTRO_POOL_EVENT_POOL_GONE)

/* ------------------------------------------------------------------ subscribing */

static mstro_status subscribe(mstro_cdo_selector selector, struct mstro_subscription_ *subscription)
{
    Mstro__Wire__Subscribe subscribe = MSTRO__WIRE__SUBSCRIBE__INIT;
    subscribe.selector = selector == NULL ? NULL : selector->text;
    subscribe.event_kinds = subscription->kinds;
    subscribe.options = subscription->options;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE;
    request.subscribe = &subscribe;
    struct port_answer answer;
    struct received_flow flow = {.port = NULL};

    (void)pthread_mutex_lock(&library.lock);
    library.subscribing++;
    subscription->generation = library.generation;
    (void)pthread_mutex_unlock(&library.lock);
    mstro_status status = api_call(&request, &answer);
    (void)pthread_mutex_lock(&library.lock);
    library.subscribing--;
    if (status == MSTRO_OK) {
        subscription->id = answer.subscription;
        list_append(&library.subscription_list, &subscription->of_library);
        received_adopt_strays(subscription);
        flow = received_next_flow(subscription);
        if (library.gone || !library.ready) {
            received_end(subscription);
        }
    } else {
        received_adopt_strays(NULL);
    }
    (void)pthread_mutex_unlock(&library.lock);
    received_send_flow(&flow);
    return status;
}

mstro_status mstro_subscribe(mstro_cdo_selector selector, mstro_pool_event_kind event_mask,
                             mstro_subscription_opts opts, mstro_subscription *result)
{
    if (result == NULL || (event_mask & KINDS_ALL) == 0 || (event_mask & ~KINDS_ALL) != 0) {
        return api_fail(MSTRO_INVARG, "mstro_subscribe: %s",
                        result == NULL ? "no place for the result" : "not a set of event kinds");
    }
    mstro_status status = api_enter("mstro_subscribe");
    if (status != MSTRO_OK) {
        return status;
    }
    struct mstro_subscription_ *subscription = calloc(1, sizeof *subscription);
    if (subscription == NULL) {
        status = api_fail(MSTRO_NOMEM, "mstro_subscribe: no memory");
    } else {
        subscription->kinds = event_mask;
        subscription->options = opts;
        list_link_init(&subscription->of_library);
        (void)pthread_cond_init(&subscription->changed, NULL);
        status = subscribe(selector, subscription);
        if (status == MSTRO_OK) {
            *result = subscription;
        } else {
            (void)pthread_cond_destroy(&subscription->changed);
            free(subscription);
        }
    }
    api_leave();
    return status;
}

mstro_status mstro_subscription_dispose(mstro_subscription subscription)
{
    if (subscription == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_subscription_dispose: no subscription");
    }
    if (api_enter_for("mstro_subscription_dispose", subscription->generation) == MSTRO_OK) {
        Mstro__Wire__Unsubscribe unsubscribe = MSTRO__WIRE__UNSUBSCRIBE__INIT;
        unsubscribe.subscription = subscription->id;
        Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
        request.what_case = MSTRO__WIRE__REQUEST__WHAT_UNSUBSCRIBE;
        request.unsubscribe = &unsubscribe;
        /* Only a pool that is gone refuses it, and then there is nothing to end. */
        (void)api_call(&request, NULL);
        (void)pthread_mutex_lock(&library.lock);
        list_remove(&subscription->of_library);
        (void)pthread_mutex_unlock(&library.lock);
        api_leave();
    } else {
        api_forget_leftover(&subscription->of_library);
    }
    event_block_free(subscription->first);
    (void)pthread_cond_destroy(&subscription->changed);
    free(subscription);
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ polling */

/* All blocks as one list; they are chained, as are the events of each. */
static mstro_pool_event take(struct mstro_subscription_ *subscription)
{
    struct event_block *first = subscription->first;
    if (first == NULL) {
        return NULL;
    }
    for (struct event_block *block = first; block->next != NULL; block = block->next) {
        block->tail->next = block->next->head;
    }
    subscription->first = subscription->last = NULL;
    subscription->bytes = 0;
    return first->head;
}

/* Converts wall-clock time to monotonic time, so that a step of the wall clock during a wait does
 * not change its length. */
static struct timespec monotonic_of(const struct timespec *abstime)
{
    /* A far future must not overflow. */
    const int64_t seconds =
        (int64_t)abstime->tv_sec < WAIT_UNTIL_MAX ? (int64_t)abstime->tv_sec : WAIT_UNTIL_MAX;
    const int64_t until_ns = seconds * VAMP_NS_PER_SECOND + abstime->tv_nsec -
                             vamp_clock_utc_ns(&vamp_clock_system) +
                             vamp_clock_monotonic_ns(&vamp_clock_system);
    const int64_t bounded_ns = until_ns > 0 ? until_ns : 0;
    return (struct timespec){.tv_sec = bounded_ns / VAMP_NS_PER_SECOND,
                             .tv_nsec = bounded_ns % VAMP_NS_PER_SECOND};
}

/* NULL `until`: no limit; else monotonic. Returns false when the time has passed. */
static bool wait_change(struct mstro_subscription_ *subscription, const struct timespec *until)
{
    if (until == NULL) {
        (void)pthread_cond_wait(&subscription->changed, &library.lock);
        return true;
    }
    return pthread_cond_clockwait(&subscription->changed, &library.lock, CLOCK_MONOTONIC, until) ==
           0;
}

static mstro_status poll(const char *what, mstro_subscription subscription, bool wait,
                         const struct timespec *until, mstro_pool_event *result)
{
    if (subscription == NULL || result == NULL) {
        return api_fail(MSTRO_INVARG, "%s: no subscription, or no place for the result", what);
    }
    *result = NULL;
    (void)pthread_mutex_lock(&library.lock);
    bool in_time = true;
    bool ours = library.ready && subscription->generation == library.generation;
    library.active += ours;
    while (ours && wait && in_time && subscription->first == NULL && subscription->lost == 0 &&
           !subscription->gone) {
        in_time = wait_change(subscription, until);
    }
    const bool marked = received_mark_lost(subscription);
    *result = take(subscription);
    received_hold(subscription, false);
    const struct received_flow flow =
        ours ? received_next_flow(subscription) : (struct received_flow){.port = NULL};
    bool ended = subscription->gone;
    (void)pthread_mutex_unlock(&library.lock);
    received_send_flow(&flow);
    if (ours) {
        api_leave();
    }
    if (*result != NULL) {
        return MSTRO_OK;
    }
    if (!marked) {
        return api_fail(MSTRO_NOMEM, "%s: no memory to report lost events yet", what);
    }
    if (!ours) {
        return api_fail(MSTRO_UNINIT, "%s: mstro_finalize was called", what);
    }
    if (ended) {
        return api_fail(MSTRO_NO_PM, "%s: no more events will come", what);
    }
    return in_time ? MSTRO_OK : api_fail(MSTRO_TIMEOUT, "%s: no event in time", what);
}

mstro_status mstro_subscription_poll(mstro_subscription subscription, mstro_pool_event *result)
{
    return poll("mstro_subscription_poll", subscription, false, NULL, result);
}

mstro_status mstro_subscription_wait(mstro_subscription subscription, mstro_pool_event *result)
{
    return poll("mstro_subscription_wait", subscription, true, NULL, result);
}

mstro_status mstro_subscription_timedwait(mstro_subscription subscription,
                                          const struct timespec *abstime, mstro_pool_event *result)
{
    if (abstime == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_subscription_timedwait: no time");
    }
    const struct timespec until = monotonic_of(abstime);
    return poll("mstro_subscription_timedwait", subscription, true, &until, result);
}

/* ------------------------------------------------------------------ acknowledging */

static mstro_status send_acks(uint64_t subscription, uint64_t *serials, size_t count)
{
    Mstro__Wire__EventAck ack = MSTRO__WIRE__EVENT_ACK__INIT;
    ack.subscription = subscription;
    ack.serials = serials;
    ack.n_serials = count;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK;
    request.event_ack = &ack;
    return api_call(&request, NULL);
}

mstro_status mstro_subscription_ack(mstro_subscription subscription, mstro_pool_event event)
{
    if (subscription == NULL || event == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_subscription_ack: no subscription, or no event");
    }
    if ((subscription->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) == 0) {
        return MSTRO_OK;
    }
    mstro_status status = api_enter_for("mstro_subscription_ack", subscription->generation);
    if (status != MSTRO_OK) {
        return status;
    }
    uint64_t serials[ACKS_PER_MESSAGE];
    size_t count = 0;
    for (; event != NULL && status == MSTRO_OK; event = event->next) {
        if ((event->kind & KINDS_OF_POOL) != 0) {
            serials[count++] = event->serial;
        }
        if (count == ACKS_PER_MESSAGE) {
            status = send_acks(subscription->id, serials, count);
            count = 0;
        }
    }
    if (count > 0 && status == MSTRO_OK) {
        status = send_acks(subscription->id, serials, count);
    }
    api_leave();
    return status;
}

mstro_status mstro_pool_event_dispose(mstro_pool_event head)
{
    if (head != NULL) {
        event_block_free(event_block_of(head));
    }
    return MSTRO_OK;
}
