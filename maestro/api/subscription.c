/* SPDX-License-Identifier: BSD-3-Clause */
/* Selectors, subscriptions, received events that were not polled yet, and flow control. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filters/expression.h"
#include "maestro/api/internal.h"
#include "vampire/core/clock.h"

enum { ACKS_PER_MESSAGE = 512 };
/* Limit for absolute times, in seconds since 1970: a few hundred years. */
#define WAIT_UNTIL_MAX INT64_C(8000000000)

#define KINDS_OF_POOL (((mstro_pool_event_kind)1 << VAMP_EVENT_KIND_COUNT) - 2)
#define KINDS_ALL                                                                                  \
    (KINDS_OF_POOL | MSTRO_POOL_EVENT_SAMPLE | MSTRO_POOL_EVENT_LOST | MSTRO_POOL_EVENT_POOL_GONE)

/* When this many bytes of events wait to be polled, the pool manager is requested to hold further
 * events; events for which its queue has no space are lost and counted. Not used with REQUIRE_ACK,
 * which limits the number of events by delaying operations. */
#define SUBSCRIPTION_BYTES_HOLD ((size_t)48 << 20)
/* Limit for a subscription's waiting events in this process. Less than the difference is in transit
 * when the pool manager is asked to hold events, so only an older pool manager can exceed it; its
 * batch is then dropped and reported by LOST. */
#define SUBSCRIPTION_BYTES_MAX ((size_t)64 << 20)

/* ------------------------------------------------------------------ selectors */

/* Returns the selector in normal form with full names, as sent to the pool. Every name is accepted
 * as an attribute, because a subscriber may lack the schemas of the components that it observes. */
static mstro_status normalise(const char *schema_namespace, const char *query, char **ret_text)
{
    char *prefix = NULL;
    const size_t length = schema_namespace == NULL ? 0 : strlen(schema_namespace);
    const char *dot = length > 0 && schema_namespace[length - 1] != '.' ? "." : "";
    if (schema_namespace != NULL && asprintf(&prefix, "%s%s", schema_namespace, dot) < 0) {
        return api_fail(MSTRO_NOMEM, "mstro_cdo_selector_create: out of memory");
    }
    const struct vamp_vocabulary vocabulary = {.prefix = prefix};
    struct vamp_expression *expression;
    struct vamp_err err = VAMP_ERR_NONE;
    int status = vamp_expression_compile(query, &vocabulary, &expression, &err);
    free(prefix);
    if (status < 0) {
        return api_fail(status == -ENOMEM ? MSTRO_NOMEM : MSTRO_INVARG,
                        "mstro_cdo_selector_create: %s", err.text);
    }
    *ret_text = vamp_expression_print(expression);
    vamp_expression_free(expression);
    if (*ret_text == NULL) {
        return api_fail(MSTRO_NOMEM, "mstro_cdo_selector_create: out of memory");
    }
    return MSTRO_OK;
}

mstro_status mstro_cdo_selector_create(mstro_schema schema, const char *schema_namespace,
                                       const char *query, mstro_cdo_selector *result)
{
    (void)schema;
    if (result == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_selector_create: no place for the result");
    }
    struct mstro_cdo_selector_ *selector = calloc(1, sizeof *selector);
    if (selector == NULL) {
        return api_fail(MSTRO_NOMEM, "mstro_cdo_selector_create: out of memory");
    }
    mstro_status status = MSTRO_OK;
    if (query != NULL) {
        status = normalise(schema_namespace, query, &selector->text);
    }
    if (status != MSTRO_OK) {
        free(selector);
        return status;
    }
    *result = selector;
    return MSTRO_OK;
}

mstro_status mstro_cdo_selector_dispose(mstro_cdo_selector selector)
{
    if (selector == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_selector_dispose: no selector");
    }
    free(selector->text);
    free(selector);
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ receiving */

/* A request that asks the pool to hold or to send events; sent without the lock. */
struct flow {
    struct port *port; /* NULL: nothing to send */
    uint64_t subscription, number;
    bool hold;
};

/* Appends a block to the waiting ones. Under the lock, like the functions below unless stated
 * otherwise. */
static void append(struct mstro_subscription_ *subscription, struct event_block *block)
{
    event_queue_append(&subscription->waiting, block);
    (void)pthread_cond_broadcast(&subscription->changed);
}

/* Appends a control event for lost events that are not reported yet. Returns false if out of
 * memory; the caller tries again later. */
static bool append_lost(struct mstro_subscription_ *subscription)
{
    if (subscription->lost > 0) {
        struct event_block *mark = event_block_mark(MSTRO_POOL_EVENT_LOST, subscription->lost);
        if (mark == NULL) {
            return false;
        }
        append(subscription, mark);
        subscription->lost = 0;
    }
    return true;
}

/* Reports lost events at the position at which they were dropped: consecutive losses share one
 * control event. */
static void count_lost(struct mstro_subscription_ *subscription, uint64_t count)
{
    if ((subscription->kinds & MSTRO_POOL_EVENT_LOST) == 0 || count == 0) {
        return;
    }
    struct event_block *last = subscription->waiting.last;
    if (subscription->lost == 0 && last != NULL && last->events == 0 && last->lost > 0) {
        event_block_add_lost(last, count);
        return;
    }
    subscription->lost += count;
    (void)append_lost(subscription);
}

static void hold(struct mstro_subscription_ *subscription, bool held)
{
    if (subscription->held != held) {
        subscription->held = held;
        subscription->flow_number++;
    }
}

static struct flow next_flow(struct mstro_subscription_ *subscription)
{
    if (subscription->flow_number == subscription->flow_sent) {
        return (struct flow){.port = NULL};
    }
    subscription->flow_sent = subscription->flow_number;
    return (struct flow){.port = library.port,
                         .subscription = subscription->id,
                         .number = subscription->flow_number,
                         .hold = subscription->held};
}

/* Sends the request to hold or to send events, if there is one. Called without the lock. The port
 * is open during its own callbacks and between api_enter and api_leave. */
static void send_flow(const struct flow *flow)
{
    if (flow->port != NULL) {
        flow->port->ops->flow(flow->port, flow->subscription, flow->number, flow->hold);
    }
}

/* Adds a received block to the subscription, or counts its events as lost if over the limit. Takes
 * ownership of the block. */
static void accept(struct mstro_subscription_ *subscription, struct event_block *block)
{
    bool bounded = (subscription->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) == 0;
    if (!append_lost(subscription) ||
        (bounded && subscription->waiting.bytes + block->bytes > SUBSCRIPTION_BYTES_MAX)) {
        count_lost(subscription, block->events + block->lost);
        event_block_free(block);
        return;
    }
    if ((subscription->kinds & MSTRO_POOL_EVENT_LOST) == 0) {
        event_block_hide_lost(block);
    }
    if (block->head == NULL) {
        event_block_free(block);
    } else {
        append(subscription, block);
    }
    if (bounded && subscription->waiting.bytes >= SUBSCRIPTION_BYTES_HOLD) {
        hold(subscription, true);
    }
}

static struct mstro_subscription_ *find(uint64_t id)
{
    LIST_EACH (subscription, &library.subscription_list, struct mstro_subscription_, of_library) {
        if (subscription->id == id) {
            return subscription;
        }
    }
    return NULL;
}

/* Counts lost events for a subscription that is being created; losses of two such subscriptions are
 * added up. */
static void count_stray_lost(uint64_t subscription, uint64_t count)
{
    if (library.subscribing > 0 && count > 0) {
        library.stray_lost += count;
        library.stray_lost_of = subscription;
    }
}

/* Keeps events that arrive before the answer to their mstro_subscribe. */
static void keep_stray(struct event_block *block)
{
    const bool lost_before = library.stray_lost > 0 && library.stray_lost_of == block->subscription;
    if (library.subscribing == 0 || lost_before ||
        library.strays.bytes + block->bytes > SUBSCRIPTION_BYTES_MAX) {
        count_stray_lost(block->subscription, block->events + block->lost);
        event_block_free(block);
        return;
    }
    event_queue_append(&library.strays, block);
}

/* Adds to a new subscription the events that arrived before it was known; NULL: the subscription
 * was not created. Other blocks are kept as long as a call of mstro_subscribe is in progress. */
static void adopt_strays(struct mstro_subscription_ *subscription)
{
    struct event_block *block = library.strays.first;
    library.strays = (struct event_queue){0};
    while (block != NULL) {
        struct event_block *next = block->next;
        block->next = NULL;
        if (subscription != NULL && block->subscription == subscription->id) {
            accept(subscription, block);
        } else {
            keep_stray(block);
        }
        block = next;
    }
    if (subscription != NULL && library.stray_lost_of == subscription->id) {
        count_lost(subscription, library.stray_lost);
        library.stray_lost = 0;
    }
    if (library.subscribing == 0) {
        library.stray_lost = 0;
    }
}

/* Counts the events of a batch as lost because the process is out of memory. Returns false if the
 * loss cannot be reported either. */
static bool lose_batch(const struct vamp_event_batch *batch)
{
    bool reported = true;
    (void)pthread_mutex_lock(&library.lock);
    struct mstro_subscription_ *subscription = find(batch->subscription);
    const uint64_t lost = batch->events + batch->lost;
    if (subscription != NULL) {
        count_lost(subscription, lost);
        reported = subscription->lost == 0;
    } else {
        count_stray_lost(batch->subscription, lost);
    }
    (void)pthread_mutex_unlock(&library.lock);
    return reported;
}

int subscriptions_events(void *context, const uint8_t *packed, size_t length, struct vamp_err *err)
{
    (void)context;
    struct vamp_event_batch batch;
    struct event_block *block = NULL;
    int result = vamp_event_batch_open(packed, length, &batch, err);
    if (result == 0) {
        result = event_block_create(&batch, atomic_load(&library.packed), &block, err);
    }
    if (result == 0) {
        struct flow flow = {.port = NULL};
        (void)pthread_mutex_lock(&library.lock);
        struct mstro_subscription_ *subscription = find(block->subscription);
        if (subscription == NULL) {
            keep_stray(block);
        } else {
            accept(subscription, block);
            flow = next_flow(subscription);
        }
        (void)pthread_mutex_unlock(&library.lock);
        send_flow(&flow);
    } else if (result == -ENOMEM && lose_batch(&batch)) {
        result = 0; /* otherwise the connection ends, which is reported */
    }
    return result;
}

/* Marks the subscription as ended: no more events will arrive. */
static void end(struct mstro_subscription_ *subscription)
{
    if (subscription->gone) {
        return;
    }
    subscription->gone = true;
    if (append_lost(subscription) && (subscription->kinds & MSTRO_POOL_EVENT_POOL_GONE) != 0) {
        struct event_block *mark = event_block_mark(MSTRO_POOL_EVENT_POOL_GONE, 0);
        if (mark != NULL) {
            append(subscription, mark);
        }
    }
    (void)pthread_cond_broadcast(&subscription->changed);
}

void subscriptions_gone(void)
{
    LIST_EACH (subscription, &library.subscription_list, struct mstro_subscription_, of_library) {
        end(subscription);
    }
}

void subscriptions_detach(void)
{
    struct list_link *link;
    while ((link = list_take(&library.subscription_list)) != NULL) {
        list_append(&library.leftovers, link);
    }
    event_block_free(library.strays.first);
    library.strays = (struct event_queue){0};
    library.stray_lost = 0;
}

/* ------------------------------------------------------------------ subscribing */

static mstro_status subscribe(mstro_cdo_selector selector, struct mstro_subscription_ *subscription)
{
    Mstro__Wire__Subscribe subscribe = MSTRO__WIRE__SUBSCRIBE__INIT;
    if (selector != NULL) {
        subscribe.selector = selector->text;
    }
    subscribe.event_kinds = subscription->kinds;
    subscribe.options = subscription->options;
    Mstro__Wire__Request request = PORT_REQUEST(SUBSCRIBE, subscribe, &subscribe);
    struct port_answer answer;
    struct flow flow = {.port = NULL};

    (void)pthread_mutex_lock(&library.lock);
    library.subscribing++;
    subscription->generation = library.generation;
    (void)pthread_mutex_unlock(&library.lock);
    mstro_status status = api_call(&request, 0, &answer);
    (void)pthread_mutex_lock(&library.lock);
    library.subscribing--;
    if (status == MSTRO_OK) {
        subscription->id = answer.subscription;
        list_append(&library.subscription_list, &subscription->of_library);
        adopt_strays(subscription);
        flow = next_flow(subscription);
        if (library.gone || !library.ready) {
            end(subscription);
        }
    } else {
        adopt_strays(NULL);
    }
    (void)pthread_mutex_unlock(&library.lock);
    send_flow(&flow);
    return status;
}

mstro_status mstro_subscribe(mstro_cdo_selector selector, mstro_pool_event_kind event_mask,
                             mstro_subscription_opts opts, mstro_subscription *result)
{
    if (result == NULL || (event_mask & KINDS_ALL) == 0 || (event_mask & ~KINDS_ALL) != 0) {
        return api_fail(MSTRO_INVARG, "mstro_subscribe: %s",
                        result == NULL ? "no place for the result" : "not a set of event kinds");
    }
    mstro_status status = api_enter("mstro_subscribe", 0);
    if (status != MSTRO_OK) {
        return status;
    }
    struct mstro_subscription_ *subscription = calloc(1, sizeof *subscription);
    if (subscription == NULL) {
        status = api_fail(MSTRO_NOMEM, "mstro_subscribe: out of memory");
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
    const bool inside = api_is_inside(subscription->generation);
    if (inside) {
        Mstro__Wire__Unsubscribe unsubscribe = MSTRO__WIRE__UNSUBSCRIBE__INIT;
        unsubscribe.subscription = subscription->id;
        Mstro__Wire__Request request = PORT_REQUEST(UNSUBSCRIBE, unsubscribe, &unsubscribe);
        /* The request fails only if the pool is gone, and then the subscription has already ended.
         */
        (void)api_call(&request, 0, NULL);
    }
    (void)pthread_mutex_lock(&library.lock);
    list_remove(&subscription->of_library);
    (void)pthread_mutex_unlock(&library.lock);
    if (inside) {
        api_leave();
    }
    event_block_free(subscription->waiting.first);
    (void)pthread_cond_destroy(&subscription->changed);
    free(subscription);
    return MSTRO_OK;
}

mstro_status mstro_subscription_finish(mstro_subscription subscription, uint32_t timeout_ms,
                                       uint64_t *ret_events)
{
    if (subscription == NULL || ret_events == NULL) {
        return api_fail(
            MSTRO_INVARG,
            "mstro_subscription_finish: the subscription or the pointer to the result is NULL");
    }
    mstro_status status = api_enter("mstro_subscription_finish", subscription->generation);
    if (status != MSTRO_OK) {
        return status;
    }
    Mstro__Wire__Finish body = MSTRO__WIRE__FINISH__INIT;
    body.subscription = subscription->id;
    Mstro__Wire__Request request = PORT_REQUEST(FINISH, finish, &body);
    struct port_answer answer;
    status = api_call(&request, timeout_ms, &answer);
    if (status == MSTRO_OK) {
        *ret_events = answer.events;
    }
    api_leave();
    return status;
}

/* ------------------------------------------------------------------ polling */

/* Converts wall-clock time to monotonic time, so that setting the clock during a wait does not
 * change its duration. */
static struct timespec monotonic_of(const struct timespec *abstime)
{
    /* A distant future must not overflow. */
    const int64_t seconds = VAMP_MIN((int64_t)abstime->tv_sec, WAIT_UNTIL_MAX);
    const int64_t until_ns = seconds * VAMP_NS_PER_SECOND + abstime->tv_nsec -
                             vamp_clock_utc_ns(&vamp_clock_system) +
                             vamp_clock_monotonic_ns(&vamp_clock_system);
    const int64_t bounded_ns = VAMP_MAX(until_ns, 0);
    return (struct timespec){.tv_sec = bounded_ns / VAMP_NS_PER_SECOND,
                             .tv_nsec = bounded_ns % VAMP_NS_PER_SECOND};
}

static bool is_empty(const struct mstro_subscription_ *subscription)
{
    return subscription->waiting.first == NULL && subscription->lost == 0;
}

/* Returns all waiting events as one list, after waiting for them if `wait`, at most until `until`
 * (monotonic; NULL: no limit). */
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
    while (ours && wait && in_time && is_empty(subscription) && !subscription->gone) {
        if (until == NULL) {
            in_time = pthread_cond_wait(&subscription->changed, &library.lock) == 0;
        } else {
            in_time = pthread_cond_clockwait(&subscription->changed, &library.lock, CLOCK_MONOTONIC,
                                             until) == 0;
        }
    }
    const bool marked = append_lost(subscription);
    struct event_block *first = subscription->waiting.first;
    if (first != NULL) { /* chain the lists of all blocks */
        for (struct event_block *block = first; block->next != NULL; block = block->next) {
            block->tail->next = block->next->head;
        }
        *result = first->head;
        subscription->waiting = (struct event_queue){0};
    }
    /* All events were consumed, so the pool manager may send further ones. */
    hold(subscription, false);
    struct flow flow = {.port = NULL};
    if (ours) {
        flow = next_flow(subscription);
    }
    bool ended = subscription->gone;
    (void)pthread_mutex_unlock(&library.lock);
    send_flow(&flow);
    if (ours) {
        api_leave();
    }
    if (*result != NULL) {
        return MSTRO_OK;
    }
    if (!marked) {
        return api_fail(MSTRO_NOMEM, "%s: still out of memory to report lost events", what);
    }
    if (!ours) {
        return api_fail(MSTRO_UNINIT, "%s: mstro_finalize was called", what);
    }
    if (ended) {
        return api_note(LOG_LEVEL_DEBUG, MSTRO_NO_PM, "%s: no more events will come", what);
    }
    if (!in_time) {
        return api_note(LOG_LEVEL_DEBUG, MSTRO_TIMEOUT, "%s: no event in time", what);
    }
    return MSTRO_OK;
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
    Mstro__Wire__Request request = PORT_REQUEST(EVENT_ACK, event_ack, &ack);
    return api_call(&request, 0, NULL);
}

mstro_status mstro_subscription_ack(mstro_subscription subscription, mstro_pool_event event)
{
    if (subscription == NULL || event == NULL) {
        return api_note(LOG_LEVEL_INFO, MSTRO_INVARG,
                        "mstro_subscription_ack: no subscription, or no event");
    }
    if ((subscription->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) == 0) {
        return MSTRO_OK;
    }
    mstro_status status = api_enter("mstro_subscription_ack", subscription->generation);
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
