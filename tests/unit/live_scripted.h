/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scripted maestro.h for the tests of the live source, and a source made ready to open: what a
 * real pool manager shows only by chance can be arranged. Included once in a program.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <maestro.h>

#include "tests/lib/fake_clock.h"
#include "vampire/core/event/codec.h"
#include "vampire/source/live.h"
#include "vampire/source/source.h"

/* ------------------------------------------------------------------ the script */

#define MAX_SUBSCRIPTIONS 3
#define MAX_LISTS 4096

struct mstro_subscription_ {
    bool used;
    mstro_pool_event_kind mask;
    mstro_subscription_opts opts;
    mstro_status status; /* when no list is left */
    uint64_t events;     /* as mstro_subscription_finish returns it */
    unsigned first, count;
    mstro_pool_event lists[MAX_LISTS];
};

/* maestro.h has no handle, so neither has its stand-in. */
static struct {
    mstro_status init_results[16];
    mstro_status finish_status;
    unsigned inits, finalizes, fail_subscribe_at;
    mstro_status fail_subscribe_with; /* MSTRO_OK: MSTRO_NOMEM */
    char info[64];                    /* what the environment held at the last mstro_init */
    struct mstro_subscription_ subscriptions[MAX_SUBSCRIPTIONS];
    unsigned subscribed, disposed, lists_out;
} script;

mstro_status mstro_init(const char *workflow, const char *component, uint64_t index)
{
    (void)index;
    assert_string_equal(workflow, "flow");
    assert_string_equal(component, "vampire");
    const char *info = getenv(MSTRO_ENV_POOL_INFO);
    (void)snprintf(script.info, sizeof script.info, "%s", info != NULL ? info : "(none)");
    return script.init_results[script.inits++];
}
mstro_status mstro_finalize(void)
{
    script.finalizes++;
    return MSTRO_OK;
}
const char *mstro_status_description(mstro_status status)
{
    return status == MSTRO_NO_PM ? "no pool manager" : "some failure";
}
const char *mstro_version(void)
{
    return "scripted";
}
const char *mstro_last_error(void)
{
    return "";
}
void mstro_log_quiet(void)
{
}
void mstro_receive_packed(void)
{
}
mstro_status mstro_cdo_selector_create(mstro_schema schema, const char *space, const char *query,
                                       mstro_cdo_selector *result)
{
    static int selector;
    (void)schema;
    (void)space;
    if (strcmp(query, "(bad") == 0) {
        return MSTRO_INVARG;
    }
    *result = (mstro_cdo_selector)(void *)&selector;
    return MSTRO_OK;
}
mstro_status mstro_cdo_selector_dispose(mstro_cdo_selector selector)
{
    assert_non_null(selector);
    return MSTRO_OK;
}
mstro_status mstro_subscribe(mstro_cdo_selector selector, mstro_pool_event_kind mask,
                             mstro_subscription_opts opts, mstro_subscription *result)
{
    (void)selector;
    assert_int_equal(opts & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK, 0);
    if (++script.subscribed == script.fail_subscribe_at) {
        return script.fail_subscribe_with != MSTRO_OK ? script.fail_subscribe_with : MSTRO_NOMEM;
    }
    /* The one with SIGNAL_BEFORE has the second place, whenever it comes. */
    struct mstro_subscription_ *subscription =
        &script.subscriptions[(opts & MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE) != 0 ? 1
                              : script.subscriptions[0].used                      ? 2
                                                                                  : 0];
    assert_false(subscription->used);
    subscription->used = true;
    subscription->mask = mask;
    subscription->opts = opts;
    *result = subscription;
    return MSTRO_OK;
}
mstro_status mstro_subscription_finish(mstro_subscription subscription, uint32_t timeout_ms,
                                       uint64_t *ret_events)
{
    (void)timeout_ms;
    *ret_events = subscription->events;
    return script.finish_status;
}
mstro_status mstro_subscription_dispose(mstro_subscription subscription)
{
    assert_true(subscription->used);
    subscription->used = false;
    script.disposed++;
    for (; subscription->count > 0; subscription->count--) {
        (void)mstro_pool_event_dispose(subscription->lists[subscription->first++]);
    }
    return MSTRO_OK;
}
mstro_status mstro_subscription_poll(mstro_subscription subscription, mstro_pool_event *result)
{
    *result = NULL;
    if (subscription->count == 0) {
        return subscription->status;
    }
    *result = subscription->lists[subscription->first++];
    subscription->count--;
    return MSTRO_OK;
}
mstro_status mstro_subscription_timedwait(mstro_subscription subscription,
                                          const struct timespec *abstime, mstro_pool_event *result)
{
    (void)abstime;
    mstro_status status = mstro_subscription_poll(subscription, result);
    return status == MSTRO_OK && *result == NULL ? MSTRO_TIMEOUT : status;
}
mstro_status mstro_pool_event_dispose(mstro_pool_event head)
{
    assert_non_null(head);
    script.lists_out--;
    free(head);
    return MSTRO_OK;
}

/* What only an examination calls, which needs a real pool. */
#define NOT_HERE(function, ...)                                                                    \
    mstro_status function(__VA_ARGS__)                                                             \
    {                                                                                              \
        fail_msg("%s is not in the script", #function);                                            \
        return MSTRO_FAIL;                                                                         \
    }
NOT_HERE(mstro_pm_start, void)
NOT_HERE(mstro_pm_getinfo, __attribute__((unused)) char **result)
NOT_HERE(mstro_pm_terminate, void)
NOT_HERE(mstro_cdo_declare, __attribute__((unused)) const char *name,
         __attribute__((unused)) mstro_cdo_attributes attributes,
         __attribute__((unused)) mstro_cdo *result)
NOT_HERE(mstro_cdo_attribute_set, __attribute__((unused)) mstro_cdo cdo,
         __attribute__((unused)) const char *key, __attribute__((unused)) void *value,
         __attribute__((unused)) bool copy, __attribute__((unused)) bool user_owned)
NOT_HERE(mstro_cdo_offer, __attribute__((unused)) mstro_cdo cdo)
NOT_HERE(mstro_cdo_require, __attribute__((unused)) mstro_cdo cdo)
NOT_HERE(mstro_cdo_demand, __attribute__((unused)) mstro_cdo cdo)
NOT_HERE(mstro_cdo_withdraw, __attribute__((unused)) mstro_cdo cdo)
NOT_HERE(mstro_cdo_dispose, __attribute__((unused)) mstro_cdo cdo)

/* Appends a list to a subscription; one block, as from a received batch. */
static inline void deliver(unsigned subscription, const struct mstro_pool_event_ *events,
                           size_t count)
{
    struct mstro_subscription_ *to = &script.subscriptions[subscription];
    struct mstro_pool_event_ *list = malloc(count * sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < count; i++) {
        list[i] = events[i];
        list[i].next = i + 1 < count ? &list[i + 1] : NULL;
    }
    assert_true(to->first + to->count < MAX_LISTS);
    to->lists[to->first + to->count++] = list;
    script.lists_out++;
}

/* The same as one packed batch, of events that have a kind, a serial and a time alone. */
static inline void deliver_packed(unsigned subscription, const struct mstro_pool_event_ *events,
                                  size_t count)
{
    static char kept[MAX_LISTS][4096]; /* as long as a test runs */
    static unsigned next_kept;
    char *const bytes = kept[next_kept++ % MAX_LISTS];
    uint8_t *at = (uint8_t *)bytes;
    for (size_t i = 0; i < count; i++) {
        const struct vamp_event event = {.kind = (uint8_t)__builtin_ctz(events[i].kind),
                                         .serial = events[i].serial,
                                         .time_ns = events[i].time_ns,
                                         .present = VAMP_HAS_SERIAL | VAMP_HAS_TIME};
        const size_t length = vamp_event_pack(&event, at + 2, 120);
        at[0] = VAMP_EVENT_BATCH_EVENT;
        at[1] = (uint8_t)length;
        at += 2 + length;
    }
    struct mstro_pool_event_ packed = {.kind = MSTRO_POOL_EVENT_PACKED, .serial = events[0].serial};
    packed.payload.packed.bytes = bytes;
    packed.payload.packed.length = (size_t)((char *)at - bytes);
    deliver(subscription, &packed, 1);
}

static inline struct mstro_pool_event_ at_serial(mstro_pool_event_kind kind, uint64_t serial)
{
    struct mstro_pool_event_ event = {.kind = kind, .serial = serial};
    event.payload.offer.appid = 1;
    return event;
}

static inline void deliver_serials(unsigned subscription, mstro_pool_event_kind kind,
                                   uint64_t first, uint64_t last, uint64_t step)
{
    struct mstro_pool_event_ events[128];
    size_t count = 0;
    for (uint64_t serial = first; serial <= last; serial += step) {
        events[count++] = at_serial(kind, serial);
    }
    deliver(subscription, events, count);
}

/* ------------------------------------------------------------------ the source under test */

#define ALL_KINDS UINT64_C(0xfffe)

struct fixture {
    struct vamp_fake_clock time;
    atomic_int stop;
    struct vamp_maestro_options options;
    struct vamp_source_context context;
    void *source;
    unsigned roundtrips[VAMP_OWN_OPERATION_COUNT];
    char said[512];
    unsigned said_count;
};

static inline void said(void *context, const char *line)
{
    struct fixture *fixture = context;
    (void)snprintf(fixture->said, sizeof fixture->said, "%s", line);
    fixture->said_count++;
}

static inline void roundtrip(void *context, enum vamp_own_operation operation, int64_t ns)
{
    assert_true(ns >= 0);
    ((struct fixture *)context)->roundtrips[operation]++;
}

static inline int setup(void **state)
{
    static char info[] = "MSTRO_POOL_MANAGER_INFO;abc;";
    memset(&script, 0, sizeof script);
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    vamp_fake_clock_init(&fixture->time, 1000 * VAMP_NS_PER_SECOND);
    fixture->options = (struct vamp_maestro_options){
        .info = info, .signal_before = VAMP_SIGNAL_BEFORE_WAITS, .leave_when_empty = true};
    fixture->context = (struct vamp_source_context){
        .clock = &fixture->time.clock,
        .event_kinds = ALL_KINDS,
        .workflow = "flow",
        .component = "vampire",
        .say = said,
        .say_context = fixture,
        .stop = &fixture->stop,
        .own_roundtrip = roundtrip,
        .own_roundtrip_context = fixture,
    };
    *state = fixture;
    return 0;
}

static inline int teardown(void **state)
{
    free(*state);
    return 0;
}

static inline int try_open(struct fixture *fixture, struct vamp_err *err)
{
    return vamp_live.source.open(&fixture->options, &fixture->context, &fixture->source, err);
}

static inline void open_source(struct fixture *fixture)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(try_open(fixture, &err), 0);
}

static inline void close_source(struct fixture *fixture)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_live.source.close(fixture->source, &err), 0);
    assert_int_equal(script.lists_out, 0);
    assert_int_equal(script.finalizes, 1);
    assert_int_equal(script.disposed, script.subscribed);
}

static inline enum vamp_source_status next(struct fixture *fixture, struct vamp_event *event)
{
    struct vamp_err err = VAMP_ERR_NONE;
    return vamp_live.source.next(fixture->source, event, &err);
}

/* Takes events until there is none; returns how many, their serials in `serials`. */
static inline size_t drain(struct fixture *fixture, uint64_t *serials)
{
    struct vamp_event event;
    size_t count = 0;
    while (next(fixture, &event) == VAMP_SOURCE_MORE) {
        serials[count++] = event.serial;
    }
    return count;
}
