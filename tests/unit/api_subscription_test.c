/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface without a pool manager: selectors and subscriptions. */
#include "tests/lib/fault.h"
#include "tests/unit/api_alone.h"

/* ------------------------------------------------------------------ events */

static size_t count_events(mstro_subscription subscription, mstro_pool_event_kind *ret_kinds)
{
    mstro_pool_event events = NULL;
    ASSERT_OK(mstro_subscription_poll(subscription, &events));
    size_t count = 0;
    *ret_kinds = 0;
    for (mstro_pool_event event = events; event != NULL; event = event->next) {
        *ret_kinds |= event->kind;
        count++;
    }
    ASSERT_OK(mstro_pool_event_dispose(events));
    return count;
}

static void test_selector_and_events(void **state)
{
    (void)state;
    mstro_cdo_selector full = NULL;
    mstro_cdo_selector spaced = NULL;
    mstro_cdo_selector all = NULL;
    ASSERT_OK(mstro_cdo_selector_create(NULL, NULL, "(.maestro.all.a-int = 2)", &full));
    ASSERT_OK(mstro_cdo_selector_create(NULL, ".maestro.all", "(a-int = 2)", &spaced));
    ASSERT_OK(mstro_cdo_selector_create(NULL, NULL, NULL, &all));
    mstro_cdo_selector bad = NULL;
    assert_int_equal(mstro_cdo_selector_create(NULL, NULL, "(has", &bad), MSTRO_INVARG);
    assert_null(bad);
    assert_non_null(strstr(mstro_last_error(), "line 1"));
    mstro_subscription by_full = NULL;
    mstro_subscription by_spaced = NULL;
    mstro_subscription by_all = NULL;
    ASSERT_OK(mstro_subscribe(full, MSTRO_POOL_EVENT_OFFER, 0, &by_full));
    ASSERT_OK(mstro_subscribe(spaced, MSTRO_POOL_EVENT_OFFER, 0, &by_spaced));
    ASSERT_OK(mstro_subscribe(all, MSTRO_POOL_EVENT_OFFER, 0, &by_all));
    mstro_subscription local = NULL;
    ASSERT_OK(mstro_subscribe(NULL, MSTRO_POOL_EVENT_OFFER, MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS,
                              &local));
    ASSERT_OK(mstro_cdo_selector_dispose(full));
    ASSERT_OK(mstro_cdo_selector_dispose(spaced));
    ASSERT_OK(mstro_cdo_selector_dispose(all));
    for (int64_t step = 0; step < 5; step++) {
        char name[16];
        (void)snprintf(name, sizeof name, "step %d", (int)step);
        mstro_cdo cdo = declare(name);
        ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.all.a-int", &step, true, false));
        ASSERT_OK(mstro_cdo_offer(cdo));
        ASSERT_OK(mstro_cdo_withdraw(cdo));
        ASSERT_OK(mstro_cdo_dispose(cdo));
    }
    mstro_pool_event_kind kinds;
    mstro_pool_event event = NULL;
    ASSERT_OK(mstro_subscription_poll(by_full, &event));
    assert_non_null(event);
    assert_null(event->next);
    assert_int_equal(event->kind, MSTRO_POOL_EVENT_OFFER);
    assert_string_equal(event->payload.offer.cdo_name, "step 2");
    assert_int_equal(event->name_length, 6);
    assert_int_equal(event->present &
                         (unsigned)(MSTRO_POOL_EVENT_HAS_TIME | MSTRO_POOL_EVENT_HAS_CDO_ID),
                     MSTRO_POOL_EVENT_HAS_TIME | MSTRO_POOL_EVENT_HAS_CDO_ID);
    ASSERT_OK(mstro_subscription_ack(by_full, event)); /* not asked for: no harm */
    assert_int_equal(mstro_subscription_ack(by_full, NULL), MSTRO_INVARG);
    ASSERT_OK(mstro_pool_event_dispose(event));
    ASSERT_OK(mstro_pool_event_dispose(NULL));
    assert_int_equal(count_events(by_spaced, &kinds), 1);
    assert_int_equal(count_events(by_all, &kinds), 5);
    assert_int_equal(count_events(local, &kinds), 0);
    ASSERT_OK(mstro_subscription_dispose(by_full));
    ASSERT_OK(mstro_subscription_dispose(by_spaced));
    ASSERT_OK(mstro_subscription_dispose(by_all));
    ASSERT_OK(mstro_subscription_dispose(local));
}

static void test_subscription_arguments(void **state)
{
    (void)state;
    mstro_subscription subscription = NULL;
    mstro_pool_event event = NULL;
    assert_int_equal(mstro_subscribe(NULL, 0, 0, &subscription), MSTRO_INVARG);
    assert_int_equal(mstro_subscribe(NULL, 1, 0, &subscription), MSTRO_INVARG);
    assert_int_equal(mstro_subscribe(NULL, MSTRO_POOL_EVENT_OFFER, 128, &subscription),
                     MSTRO_INVARG);
    assert_int_equal(mstro_subscribe(NULL, MSTRO_POOL_EVENT_OFFER, 0, NULL), MSTRO_INVARG);
    assert_null(subscription);
    ASSERT_OK(mstro_subscribe(NULL, MSTRO_POOL_EVENT_OFFER, 0, &subscription));
    event = (mstro_pool_event)&event;
    ASSERT_OK(mstro_subscription_poll(subscription, &event));
    assert_null(event);
    struct timespec time;
    (void)clock_gettime(CLOCK_REALTIME, &time);
    event = (mstro_pool_event)&event;
    assert_int_equal(mstro_subscription_timedwait(subscription, &time, &event), MSTRO_TIMEOUT);
    assert_null(event);
    assert_int_equal(mstro_subscription_poll(NULL, &event), MSTRO_INVARG);
    assert_int_equal(mstro_subscription_poll(subscription, NULL), MSTRO_INVARG);
    ASSERT_OK(mstro_subscription_dispose(subscription));
}

static void *offer_in_thread(void *argument)
{
    mstro_cdo source = argument;
    return mstro_cdo_offer(source) == MSTRO_OK ? source : NULL;
}

static void test_acknowledged(void **state)
{
    (void)state;
    mstro_subscription gate = NULL;
    ASSERT_OK(mstro_subscribe(
        NULL, MSTRO_POOL_EVENT_OFFER,
        MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK | MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE, &gate));
    mstro_subscription after = NULL;
    ASSERT_OK(mstro_subscribe(NULL, MSTRO_POOL_EVENT_OFFER, 0, &after));
    mstro_cdo cdo = declare("gated");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, offer_in_thread, cdo), 0);
    mstro_pool_event event = NULL;
    ASSERT_OK(mstro_subscription_wait(gate, &event));
    assert_true(event->before);
    mstro_pool_event none = NULL;
    ASSERT_OK(mstro_subscription_poll(after, &none)); /* not handled yet */
    assert_null(none);
    ASSERT_OK(mstro_subscription_ack(gate, event));
    ASSERT_OK(mstro_pool_event_dispose(event));
    void *result = NULL;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, cdo);
    ASSERT_OK(mstro_subscription_poll(after, &event));
    assert_non_null(event);
    assert_false(event->before);
    ASSERT_OK(mstro_pool_event_dispose(event));
    ASSERT_OK(mstro_subscription_dispose(gate));
    ASSERT_OK(mstro_subscription_dispose(after));
    ASSERT_OK(mstro_cdo_withdraw(cdo));
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

struct account {
    uint64_t seen, lost;
    unsigned leaves;
};

/* Of one poll. */
static struct account read_account(mstro_subscription subscription)
{
    struct account account = {0};
    mstro_pool_event events = NULL;
    ASSERT_OK(mstro_subscription_poll(subscription, &events));
    for (mstro_pool_event event = events; event != NULL; event = event->next) {
        if (event->kind == MSTRO_POOL_EVENT_LOST) {
            account.lost += event->payload.lost.count;
        } else {
            account.seen++;
            account.leaves += event->kind == MSTRO_POOL_EVENT_APP_LEAVE;
        }
    }
    ASSERT_OK(mstro_pool_event_dispose(events));
    return account;
}

/* A subscriber that does not poll is bounded: the pool keeps, and then loses and counts, what this
 * process has no room for. */
static void test_unpolled_is_bounded(void **state)
{
    (void)state;
    enum { ROUNDS = 90000 };
    char name[1001];
    memset(name, 'n', sizeof name - 1);
    name[1000] = '\0';
    mstro_subscription lazy = NULL;
    ASSERT_OK(mstro_subscribe(NULL, MSTRO_POOL_EVENT_DECLARE | MSTRO_POOL_EVENT_LOST, 0, &lazy));
    for (int i = 0; i < ROUNDS; i++) {
        ASSERT_OK(mstro_cdo_dispose(declare(name)));
    }
    struct account here = read_account(lazy); /* what this process has kept */
    assert_true(here.seen * 1000 < (size_t)48 << 20);
    assert_int_equal(here.lost, 0);
    struct account pool = read_account(lazy); /* what the pool has kept */
    assert_true(pool.seen * 1000 < (size_t)16 << 20);
    assert_true(pool.lost > 0);
    assert_int_equal(here.seen + pool.seen + pool.lost, ROUNDS);
    mstro_cdo next = declare("goes on");
    mstro_pool_event events = NULL;
    ASSERT_OK(mstro_subscription_poll(lazy, &events));
    assert_string_equal(events->payload.declare.cdo_name, "goes on");
    ASSERT_OK(mstro_pool_event_dispose(events));
    ASSERT_OK(mstro_subscription_dispose(lazy));
    ASSERT_OK(mstro_cdo_dispose(next));
}

/* Events for which there is no memory are told as lost, at their place, once there is some. */
static void test_no_memory_for_events(void **state)
{
    (void)state;
    mstro_subscription watcher = NULL;
    mstro_pool_event events = NULL;
    mstro_cdo first = declare("first");
    mstro_cdo second = declare("second");
    mstro_cdo third = declare("third");
    ASSERT_OK(mstro_subscribe(NULL, MSTRO_POOL_EVENT_DISPOSE | MSTRO_POOL_EVENT_LOST, 0, &watcher));
    ASSERT_OK(mstro_cdo_dispose(first)); /* what queues need from now on they have */
    fault_alloc_fail_from(1);
    ASSERT_OK(mstro_cdo_dispose(second));
    ASSERT_OK(mstro_subscription_poll(watcher, &events));
    assert_string_equal(events->payload.dispose.cdo_name, "first");
    assert_null(events->next);
    ASSERT_OK(mstro_pool_event_dispose(events));
    assert_int_equal(mstro_subscription_wait(watcher, &events), MSTRO_NOMEM);
    assert_null(events);
    assert_true(fault_alloc_end());
    ASSERT_OK(mstro_cdo_dispose(third));
    ASSERT_OK(mstro_subscription_poll(watcher, &events));
    assert_true(events->kind == MSTRO_POOL_EVENT_LOST);
    assert_int_equal(events->payload.lost.count, 1);
    assert_string_equal(events->next->payload.dispose.cdo_name, "third");
    ASSERT_OK(mstro_pool_event_dispose(events));
    ASSERT_OK(mstro_subscription_dispose(watcher));
}

static void test_pool_manager_functions(void **state)
{
    (void)state;
    char *info = NULL;
    assert_int_equal(mstro_pm_getinfo(&info), MSTRO_NO_PM);
    assert_null(info);
    assert_int_equal(mstro_pm_getinfo(NULL), MSTRO_INVARG);
    assert_int_equal(mstro_pm_terminate(), MSTRO_NO_PM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_selector_and_events),  TEST(test_subscription_arguments),
        TEST(test_acknowledged),         TEST(test_unpolled_is_bounded),
        TEST(test_no_memory_for_events), TEST(test_pool_manager_functions),
    };
    return cmocka_run_group_tests(tests, make_schema, remove_schema);
}
