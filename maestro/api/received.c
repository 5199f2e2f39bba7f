/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that have been received and not been polled, and whether the pool may send more. */
#include "maestro/api/event_block.h"
#include "maestro/api/internal.h"

static void append(struct mstro_subscription_ *subscription, struct event_block *block)
{
    if (subscription->last == NULL) {
        subscription->first = block;
    } else {
        subscription->last->next = block;
    }
    subscription->last = block;
    subscription->bytes += block->bytes;
    (void)pthread_cond_broadcast(&subscription->changed);
}

bool received_mark_lost(struct mstro_subscription_ *subscription)
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

/* Reports events dropped here, at their place: consecutive losses share one mark. */
static void count_lost(struct mstro_subscription_ *subscription, uint64_t count)
{
    if ((subscription->kinds & MSTRO_POOL_EVENT_LOST) == 0 || count == 0) {
        return;
    }
    if (subscription->lost == 0 && subscription->last != NULL && subscription->last->events == 0 &&
        subscription->last->lost > 0) {
        event_block_add_lost(subscription->last, count);
        return;
    }
    subscription->lost += count;
    (void)received_mark_lost(subscription);
}

void received_hold(struct mstro_subscription_ *subscription, bool held)
{
    if (subscription->held != held) {
        subscription->held = held;
        subscription->flow_number++;
    }
}

struct received_flow received_next_flow(struct mstro_subscription_ *subscription)
{
    if (subscription->flow_number == subscription->flow_sent) {
        return (struct received_flow){.port = NULL};
    }
    subscription->flow_sent = subscription->flow_number;
    return (struct received_flow){.port = library.port,
                                  .subscription = subscription->id,
                                  .number = subscription->flow_number,
                                  .hold = subscription->held};
}

void received_send_flow(const struct received_flow *flow)
{
    if (flow->port != NULL) {
        flow->port->ops->flow(flow->port, flow->subscription, flow->number, flow->hold);
    }
}

/* Takes ownership of the block. */
static void accept(struct mstro_subscription_ *subscription, struct event_block *block)
{
    bool bounded = (subscription->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) == 0;
    if (!received_mark_lost(subscription) ||
        (bounded && subscription->bytes + block->bytes > SUBSCRIPTION_BYTES_MAX)) {
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
    if (bounded && subscription->bytes >= SUBSCRIPTION_BYTES_HOLD) {
        received_hold(subscription, true);
    }
}

static struct mstro_subscription_ *find(uint64_t id)
{
    for (struct list_link *link = list_first(&library.subscription_list); link != NULL;
         link = list_next(&library.subscription_list, link)) {
        struct mstro_subscription_ *subscription =
            CONTAINER_OF(link, struct mstro_subscription_, of_library);
        if (subscription->id == id) {
            return subscription;
        }
    }
    return NULL;
}

/* For a subscription still being made; losses of two such subscriptions are counted as one. */
static void count_stray_lost(uint64_t subscription, uint64_t count)
{
    if (library.subscribing > 0 && count > 0) {
        library.stray_lost += count;
        library.stray_lost_of = subscription;
    }
}

/* The first events of a subscription may overtake the answer to its mstro_subscribe. */
static void keep_stray(struct event_block *block)
{
    const bool lost_before = library.stray_lost > 0 && library.stray_lost_of == block->subscription;
    if (library.subscribing == 0 || lost_before ||
        library.stray_bytes + block->bytes > SUBSCRIPTION_BYTES_MAX) {
        count_stray_lost(block->subscription, block->events + block->lost);
        event_block_free(block);
        return;
    }
    if (library.stray_last == NULL) {
        library.stray_first = block;
    } else {
        library.stray_last->next = block;
    }
    library.stray_last = block;
    library.stray_bytes += block->bytes;
}

void received_adopt_strays(struct mstro_subscription_ *subscription)
{
    struct event_block *block = library.stray_first;
    library.stray_first = library.stray_last = NULL;
    library.stray_bytes = 0;
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
    library.stray_lost = library.subscribing > 0 ? library.stray_lost : 0;
}

static void take_block(struct event_block *block)
{
    struct received_flow flow = {.port = NULL};
    (void)pthread_mutex_lock(&library.lock);
    struct mstro_subscription_ *subscription = find(block->subscription);
    if (subscription == NULL) {
        keep_stray(block);
    } else {
        accept(subscription, block);
        flow = received_next_flow(subscription);
    }
    (void)pthread_mutex_unlock(&library.lock);
    received_send_flow(&flow);
}

/* There is no memory for the batch: its events are lost, their number is not. False: there is not
 * even memory to report it. */
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
        result = event_block_create(&batch, &block, err);
    }
    if (result == 0) {
        take_block(block);
    } else if (result == -ENOMEM && lose_batch(&batch)) {
        result = 0; /* else the connection ends, and that is reported */
    }
    return result;
}

void received_end(struct mstro_subscription_ *subscription)
{
    if (subscription->gone) {
        return;
    }
    subscription->gone = true;
    if (received_mark_lost(subscription) &&
        (subscription->kinds & MSTRO_POOL_EVENT_POOL_GONE) != 0) {
        struct event_block *mark = event_block_mark(MSTRO_POOL_EVENT_POOL_GONE, 0);
        if (mark != NULL) {
            append(subscription, mark);
        }
    }
    (void)pthread_cond_broadcast(&subscription->changed);
}

void subscriptions_gone(void)
{
    for (struct list_link *link = list_first(&library.subscription_list); link != NULL;
         link = list_next(&library.subscription_list, link)) {
        received_end(CONTAINER_OF(link, struct mstro_subscription_, of_library));
    }
}

void subscriptions_detach(void)
{
    struct list_link *link;
    while ((link = list_take(&library.subscription_list)) != NULL) {
        list_append(&library.leftovers, link);
    }
    event_block_free(library.stray_first);
    library.stray_first = library.stray_last = NULL;
    library.stray_bytes = library.stray_lost = 0;
}
