/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands between vampire's plug-in and Maestro and changes what events mean, as another Maestro may
 * mean them. MEANINGS has the words: `source`: the component of a transport is its source; `zero`:
 * events have no serial; `count`: each subscription counts its events by itself; `wait`:
 * an operation that is reported before it is handled waits for an acknowledgement; `drop`: one of
 * twenty events is missing, and its serial with it. DROPPED names the file for their number. `kib`:
 * sizes are in KiB; `usec`: times are in us; `swap`: pairs of neighbours are exchanged; `twice`:
 * each event comes twice; `coarse`: times have a step of 10 ms; `shared`: seven
 * ids for all CDOs; `nameless`: events do not name CDOs; `strange`: SEAL is of another kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <maestro.h>

mstro_status __real_mstro_subscribe(mstro_cdo_selector, mstro_pool_event_kind,
                                    mstro_subscription_opts, mstro_subscription *);
mstro_status __real_mstro_subscription_poll(mstro_subscription, mstro_pool_event *);
mstro_status __real_mstro_subscription_timedwait(mstro_subscription, const struct timespec *,
                                                 mstro_pool_event *);
void __real_mstro_receive_packed(void);

static struct {
    mstro_subscription subscription;
    uint64_t events;
} counted[16];
static unsigned counted_count;

static bool means(const char *word)
{
    const char *words = getenv("MEANINGS");
    return words != NULL && strstr(words, word) != NULL;
}

static uint64_t count(mstro_subscription subscription)
{
    for (unsigned i = 0; i < counted_count; i++) {
        if (counted[i].subscription == subscription) {
            return ++counted[i].events;
        }
    }
    abort();
}

/* Keeps the first event and the last one of a list: a loss shows by the events around it. */
static void drop(mstro_pool_event list)
{
    static unsigned passed, dropped;
    for (struct mstro_pool_event_ *event = list; event != NULL; event = event->next) {
        struct mstro_pool_event_ *next = event->next;
        const unsigned service = MSTRO_POOL_EVENT_LOST | MSTRO_POOL_EVENT_POOL_GONE;
        if (next == NULL || next->next == NULL || ((unsigned)next->kind & service) != 0 ||
            ++passed % 20 != 0) {
            continue;
        }
        event->next = next->next;
        FILE *file = fopen(getenv("DROPPED"), "w");
        if (file == NULL || fprintf(file, "%u", ++dropped) < 0 || fclose(file) != 0) {
            abort();
        }
    }
}

static bool is_service(const struct mstro_pool_event_ *event)
{
    return ((unsigned)event->kind & (MSTRO_POOL_EVENT_LOST | MSTRO_POOL_EVENT_POOL_GONE)) != 0;
}

/* The first event stays the first. */
static void swap(mstro_pool_event list)
{
    for (; list != NULL && list->next != NULL && list->next->next != NULL;
         list = list->next->next) {
        struct mstro_pool_event_ *first = list->next, *second = first->next;
        if (!is_service(first) && !is_service(second)) {
            first->next = second->next;
            second->next = first;
            list->next = second;
        }
    }
}

static void repeat(mstro_pool_event list)
{
    while (list != NULL) {
        struct mstro_pool_event_ *next = list->next;
        if (!is_service(list)) {
            struct mstro_pool_event_ *copy = malloc(sizeof *copy);
            if (copy == NULL) {
                abort();
            }
            *copy = *list;
            list->next = copy;
        }
        list = next;
    }
}

#define OF_CDOS                                                                                    \
    ((unsigned)(MSTRO_POOL_EVENT_DECLARE | MSTRO_POOL_EVENT_SEAL | MSTRO_POOL_EVENT_OFFER |        \
                MSTRO_POOL_EVENT_REQUIRE | MSTRO_POOL_EVENT_RETRACT | MSTRO_POOL_EVENT_DEMAND |    \
                MSTRO_POOL_EVENT_WITHDRAW | MSTRO_POOL_EVENT_DISPOSE |                             \
                MSTRO_POOL_EVENT_TRANSPORT_INIT | MSTRO_POOL_EVENT_TRANSPORT_COMPLETED |           \
                MSTRO_POOL_EVENT_TRANSPORT_FAILED))

static void change_values(struct mstro_pool_event_ *event)
{
    if (means("kib") && (event->present & MSTRO_POOL_EVENT_HAS_CDO_SIZE) != 0) {
        event->cdo_size /= 1024;
    }
    if (means("usec")) {
        event->time_ns /= 1000;
    }
    if (means("coarse")) {
        event->time_ns -= event->time_ns % 10000000;
    }
    if (means("shared") && (event->present & MSTRO_POOL_EVENT_HAS_CDO_ID) != 0) {
        unsigned sum = 0;
        for (const char *at = event->payload.offer.cdo_name; at != NULL && *at != '\0'; at++) {
            sum += (unsigned char)*at;
        }
        memset(event->cdo_id, 0, sizeof event->cdo_id);
        event->cdo_id[0] = (unsigned char)(sum % 7 + 1);
    }
    if (means("nameless") && ((unsigned)event->kind & OF_CDOS) != 0) {
        event->payload.offer.cdo_name = NULL;
        event->name_length = 0;
    }
    if (means("strange") && event->kind == MSTRO_POOL_EVENT_SEAL) {
        event->kind = (mstro_pool_event_kind)(1U << 20);
    }
}

static void change(mstro_subscription subscription, mstro_pool_event list)
{
    if (means("drop")) {
        drop(list);
    }
    if (means("swap")) {
        swap(list);
    }
    if (means("twice")) {
        repeat(list);
    }
    for (struct mstro_pool_event_ *event = list; event != NULL; event = event->next) {
        const unsigned service = MSTRO_POOL_EVENT_LOST | MSTRO_POOL_EVENT_POOL_GONE;
        const unsigned transport = MSTRO_POOL_EVENT_TRANSPORT_INIT |
                                   MSTRO_POOL_EVENT_TRANSPORT_COMPLETED |
                                   MSTRO_POOL_EVENT_TRANSPORT_FAILED;
        if (((unsigned)event->kind & service) == 0 && means("zero")) {
            event->serial = 0;
        } else if (((unsigned)event->kind & service) == 0 && means("count")) {
            event->serial = count(subscription);
        }
        if (((unsigned)event->kind & transport) != 0 && means("source")) {
            const uint64_t sink = event->payload.transport_init.appid;
            event->payload.transport_init.appid = event->peer_appid;
            event->peer_appid = sink;
        }
        if (!is_service(event)) {
            change_values(event);
        }
    }
}

/* In a list of single events, any of them can be changed. */
void __wrap_mstro_receive_packed(void)
{
    const char *words = getenv("MEANINGS");
    const char *packed[] = {"", "source", "zero", "count", "wait"};
    bool is_packed = words == NULL;
    for (unsigned i = 0; words != NULL && i < sizeof packed / sizeof packed[0]; i++) {
        is_packed = is_packed || strcmp(words, packed[i]) == 0;
    }
    if (is_packed) {
        __real_mstro_receive_packed();
    }
}

mstro_status __wrap_mstro_subscribe(mstro_cdo_selector selector, mstro_pool_event_kind kinds,
                                    mstro_subscription_opts opts, mstro_subscription *result)
{
    if ((opts & MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE) != 0 && means("wait")) {
        opts |= MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK;
    }
    const mstro_status status = __real_mstro_subscribe(selector, kinds, opts, result);
    if (status == MSTRO_OK) {
        counted[counted_count % 16].subscription = *result;
        counted[counted_count++ % 16].events = 0;
    }
    return status;
}

mstro_status __wrap_mstro_subscription_poll(mstro_subscription subscription,
                                            mstro_pool_event *result)
{
    const mstro_status status = __real_mstro_subscription_poll(subscription, result);
    change(subscription, *result);
    return status;
}

mstro_status __wrap_mstro_subscription_timedwait(mstro_subscription subscription,
                                                 const struct timespec *until,
                                                 mstro_pool_event *result)
{
    const mstro_status status = __real_mstro_subscription_timedwait(subscription, until, result);
    change(subscription, *result);
    return status;
}
