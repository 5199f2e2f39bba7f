/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool alone: which events reach whom, when, and what is held up. */
#include "tests/unit/pool_world.h"

/* ------------------------------------------------------------------ subscriptions */

static void test_events_of_a_life(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t watcher = join(world, "watcher");
    (void)subscribe(world, watcher, NULL, ALL_KINDS, 0);
    uint64_t consumer = join(world, "consumer");
    uint64_t source = declare(world, producer, "x");
    assert_int_equal(seal_with(world, producer, source, ".my.step", 3, 77), MSTRO_OK);
    vamp_fake_clock_advance(&world->clock, 5);
    must(world, producer, source, OFFER);
    uint64_t sink = required(world, consumer, "x"); /* seals */
    must(world, consumer, sink, DEMAND);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OK);
    must(world, consumer, sink, DISPOSE);
    must(world, producer, source, WITHDRAW);
    must(world, producer, source, DISPOSE);
    uint64_t other = subscribe(world, consumer, NULL, ALL_KINDS, 0);
    (void)send_unsubscribe(world, consumer, other);
    (void)send_leave(world, consumer);
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, watcher, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_JOIN, VAMP_EVENT_DECLARE, VAMP_EVENT_SEAL, VAMP_EVENT_OFFER,
                 VAMP_EVENT_DECLARE, VAMP_EVENT_SEAL, VAMP_EVENT_REQUIRE, VAMP_EVENT_DEMAND,
                 VAMP_EVENT_TRANSPORT_INIT, VAMP_EVENT_TRANSPORT_COMPLETED, VAMP_EVENT_DISPOSE,
                 VAMP_EVENT_WITHDRAW, VAMP_EVENT_DISPOSE, VAMP_EVENT_SUBSCRIBE,
                 VAMP_EVENT_UNSUBSCRIBE, VAMP_EVENT_LEAVE);
    for (size_t i = 0; i < ear->count; i++) {
        assert_int_equal(ear->events[i].serial, i + 1);
        assert_int_equal(ear->events[i].time_ns, i < 3 ? START_NS : START_NS + 5);
        assert_false(ear->events[i].before);
    }
    assert_string_equal(ear->events[0].name, "consumer");
    assert_string_equal(ear->events[1].name, "x");
    assert_false(ear->events[1].has_size);
    assert_true(ear->events[3].has_size);
    assert_int_equal(ear->events[3].size, 77);
    for (size_t i = 8; i < 10; i++) {
        assert_int_equal(ear->events[i].app, consumer);
        assert_int_equal(ear->events[i].peer, producer);
        assert_int_equal(ear->events[i].transport, world->tickets[0].transport);
        assert_int_equal(ear->events[i].tier, VAMP_TIER_OFI);
        assert_int_equal(ear->events[i].cause, VAMP_CAUSE_DEMAND);
        assert_int_equal(ear->events[i].size, 77);
    }
    free(ear);
    world_free(world);
}

static void test_own_transport_has_no_tier(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t app = join(world, "both");
    (void)subscribe(world, app, NULL, UINT64_C(1) << VAMP_EVENT_TRANSPORT_INIT, 0);
    (void)offered(world, app, "x");
    (void)demanded(world, app, "x");
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, app, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_TRANSPORT_INIT);
    assert_false(ear->events[0].has_tier);
    free(ear);
    world_free(world);
}

/* Transports that end well, badly, and because their sink leaves; the time of day is stepped. */
static void test_transports_have_a_duration(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t watcher = join(world, "watcher");
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    const uint64_t kinds = UINT64_C(1) << VAMP_EVENT_TRANSPORT_INIT |
                           UINT64_C(1) << VAMP_EVENT_TRANSPORT_COMPLETED |
                           UINT64_C(1) << VAMP_EVENT_TRANSPORT_FAILED;
    (void)subscribe(world, watcher, NULL, kinds, 0);
    static const char *const names[] = {"x", "y", "z"};
    for (size_t i = 0; i < 3; i++) {
        (void)offered(world, producer, names[i]);
        (void)demanded(world, consumer, names[i]);
    }
    world->clock.utc_ns -= 3600 * VAMP_NS_PER_SECOND;
    world->clock.monotonic_ns += 1000;
    (void)send_end(world, consumer, world->tickets[1].transport, MSTRO_OK);
    world->clock.monotonic_ns += 500;
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OFI_FAIL);
    world->clock.monotonic_ns += 1;
    (void)send_leave(world, consumer);
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, watcher, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_TRANSPORT_INIT, VAMP_EVENT_TRANSPORT_INIT,
                 VAMP_EVENT_TRANSPORT_INIT, VAMP_EVENT_TRANSPORT_COMPLETED,
                 VAMP_EVENT_TRANSPORT_FAILED, VAMP_EVENT_TRANSPORT_FAILED);
    static const uint64_t expected[] = {0, 0, 0, 1000, 1500, 1501};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(ear->events[i].has_duration, i >= 3);
        assert_int_equal(ear->events[i].duration_ns, expected[i]);
    }
    free(ear);
    world_free(world);
}

static void test_selectors(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t watcher = join(world, "watcher");
    uint64_t by_step = subscribe(world, watcher, "(.my.step = 3)", ALL_KINDS, 0);
    uint64_t by_name = subscribe(world, watcher, "(.maestro.core.cdo.name = \"x\")", ALL_KINDS, 0);
    uint64_t x = declare(world, producer, "x");
    uint64_t y = declare(world, producer, "y");
    assert_int_equal(seal_with(world, producer, x, ".my.step", 3, 1), MSTRO_OK);
    assert_int_equal(seal_with(world, producer, y, ".my.step", 4, 1), MSTRO_OK);
    must(world, producer, x, OFFER);
    must(world, producer, y, OFFER);
    /* A second subscription in the place of a first one remembers nothing of it. */
    (void)send_unsubscribe(world, watcher, by_step);
    uint64_t by_other = subscribe(world, watcher, "(.my.step = 4)", ALL_KINDS, 0);
    must(world, producer, x, WITHDRAW);
    must(world, producer, y, WITHDRAW);
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, watcher, 1, ear);
    size_t named = 0;
    size_t other = 0;
    for (size_t i = 0; i < ear->count; i++) {
        const struct heard *heard = &ear->events[i];
        assert_int_not_equal(heard->subscription, by_step); /* went with it */
        if (heard->kind == VAMP_EVENT_SUBSCRIBE || heard->kind == VAMP_EVENT_UNSUBSCRIBE) {
            continue; /* not about a CDO: no selector keeps them out */
        }
        named += heard->subscription == by_name;
        other += heard->subscription == by_other;
        assert_string_equal(heard->name, heard->subscription == by_name ? "x" : "y");
    }
    assert_int_equal(named, 4); /* declare, seal, offer, withdraw */
    assert_int_equal(other, 1);
    free(ear);
    world_free(world);
}

/* More subscriptions than a CDO keeps results for. */
static void test_many_selectors(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t watcher = join(world, "watcher");
    for (int i = 0; i < 100; i++) {
        char selector[64];
        (void)snprintf(selector, sizeof selector, "(.my.step = %d)", i);
        (void)subscribe(world, watcher, selector, UINT64_C(1) << VAMP_EVENT_OFFER, 0);
    }
    for (int i = 0; i < 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "x%d", i);
        uint64_t handle = declare(world, producer, name);
        assert_int_equal(seal_with(world, producer, handle, ".my.step", i, 1), MSTRO_OK);
        must(world, producer, handle, OFFER);
    }
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, watcher, 64, ear);
    assert_int_equal(ear->count, 100);
    for (size_t i = 0; i < ear->count; i++) {
        assert_int_equal(ear->events[i].serial, i + 1); /* the oldest goes first */
        assert_int_equal(ear->events[i].subscription, i + 1);
    }
    free(ear);
    world_free(world);
}

static void test_before_and_after(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    uint64_t watcher = join(world, "watcher");
    uint64_t before =
        subscribe(world, watcher, NULL, ALL_KINDS, MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE);
    uint64_t after = subscribe(world, watcher, NULL, ALL_KINDS, 0);
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, watcher, 64, ear);
    uint64_t source = offered(world, producer, "x");
    uint64_t sink = required(world, consumer, "x");
    listen(world, watcher, 64, ear);
    uint64_t withdraw = send_operation(world, producer, source, WITHDRAW);
    listen(world, watcher, 64, ear); /* the withdrawal has begun, and waits */
    ASSERT_KINDS(ear, VAMP_EVENT_WITHDRAW);
    assert_true(ear->events[0].before);
    assert_int_equal(ear->events[0].subscription, before);
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    must(world, consumer, sink, RETRACT);
    assert_int_equal(status_of(world, withdraw), MSTRO_OK);
    listen(world, watcher, 1, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_RETRACT, VAMP_EVENT_RETRACT, VAMP_EVENT_WITHDRAW);
    assert_true(ear->events[0].before);
    assert_false(ear->events[1].before);
    assert_int_equal(ear->events[2].subscription, after);
    pool_leave(world->pool, consumer, VAMP_LEAVE_VANISHED);
    listen(world, watcher, 1, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_LEAVE, VAMP_EVENT_LEAVE);
    assert_true(ear->events[0].before);
    /* An operation that is refused has no events. */
    assert_int_equal(operate(world, producer, source, WITHDRAW), MSTRO_INVSTATE);
    listen(world, watcher, 1, ear);
    assert_int_equal(ear->count, 0);
    free(ear);
    world_free(world);
}

static void test_acks_hold(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t one = join(world, "one");
    uint64_t two = join(world, "two");
    uint64_t kinds = UINT64_C(1) << VAMP_EVENT_OFFER;
    uint64_t first = subscribe(world, one, NULL, kinds, MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK);
    uint64_t second = subscribe(world, two, NULL, kinds, MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK);
    struct ear *ear = calloc(1, sizeof *ear);
    uint64_t source = declare(world, producer, "x");
    uint64_t offer = send_operation(world, producer, source, OFFER);
    assert_int_equal(status_of(world, offer), UNANSWERED);
    listen(world, one, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_OFFER);
    uint64_t serial = ear->events[0].serial;
    assert_int_equal(acknowledge(world, one, first, serial), MSTRO_OK);
    assert_int_equal(acknowledge(world, one, first, serial), MSTRO_OK); /* twice is once */
    assert_int_equal(acknowledge(world, one, second, serial), MSTRO_NOENT);
    assert_int_equal(acknowledge(world, one, first, 12345), MSTRO_OK);
    assert_int_equal(status_of(world, offer), UNANSWERED);
    assert_int_equal(acknowledge(world, two, second, serial), MSTRO_OK);
    assert_int_equal(status_of(world, offer), MSTRO_OK);
    /* A component that leaves, or ends its subscription, holds no request. */
    uint64_t next = send_operation(world, producer, declare(world, producer, "y"), OFFER);
    assert_int_equal(status_of(world, next), UNANSWERED);
    pool_leave(world->pool, one, VAMP_LEAVE_VANISHED);
    assert_int_equal(status_of(world, next), UNANSWERED);
    (void)send_unsubscribe(world, two, second);
    assert_int_equal(status_of(world, next), MSTRO_OK);
    free(ear);
    world_free(world);
}

static void test_acks_hold_before(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t watcher = join(world, "watcher");
    uint64_t gate =
        subscribe(world, watcher, NULL, ALL_KINDS & ~(UINT64_C(1) << VAMP_EVENT_SUBSCRIBE),
                  MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK | MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE |
                      MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS);
    uint64_t plain = subscribe(world, watcher, NULL, UINT64_C(1) << VAMP_EVENT_DECLARE, 0);
    struct ear *ear = calloc(1, sizeof *ear);
    uint64_t id = send_declare(world, producer, "x");
    assert_int_equal(status_of(world, id), UNANSWERED);
    listen(world, watcher, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_DECLARE);
    assert_int_equal(ear->events[0].subscription, gate);
    assert_false(ear->events[0].has_cdo); /* it does not exist yet */
    assert_string_equal(ear->events[0].name, "x");
    (void)acknowledge(world, watcher, gate, ear->events[0].serial);
    assert_int_equal(status_of(world, id), MSTRO_OK);
    uint64_t handle = answer_to(world, id)->handle;
    listen(world, watcher, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_DECLARE);
    assert_int_equal(ear->events[0].subscription, plain);
    /* Two requests for the same handle wait; the second is no longer legal when its turn comes. */
    uint64_t seal = send_operation(world, producer, handle, SEAL);
    uint64_t again = send_operation(world, producer, handle, SEAL);
    listen(world, watcher, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_SEAL, VAMP_EVENT_SEAL);
    (void)acknowledge(world, watcher, gate, ear->events[0].serial);
    (void)acknowledge(world, watcher, gate, ear->events[1].serial);
    assert_int_equal(status_of(world, seal), MSTRO_OK);
    assert_int_equal(status_of(world, again), MSTRO_INVSTATE);
    /* The component dies while its request waits: no answer, nothing left behind. */
    uint64_t orphan = send_operation(world, producer, handle, OFFER);
    pool_leave(world->pool, producer, VAMP_LEAVE_VANISHED);
    listen(world, watcher, 64, ear);
    (void)acknowledge(world, watcher, gate, ear->events[0].serial);
    assert_int_equal(status_of(world, orphan), UNANSWERED);
    /* A leave that is held is a component that is still there. */
    uint64_t late = join(world, "late");
    uint64_t leave = send_leave(world, late);
    assert_int_equal(status_of(world, leave), UNANSWERED);
    assert_non_null(pool_component_name(world->pool, late));
    listen(world, watcher, 64, ear);
    (void)acknowledge(world, watcher, gate, ear->events[ear->count - 1].serial);
    assert_int_equal(status_of(world, leave), MSTRO_OK);
    assert_null(pool_component_name(world->pool, late));
    free(ear);
    world_free(world);
}

static void test_no_local_events(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t one = join(world, "one");
    uint64_t two = join(world, "two");
    (void)subscribe(world, one, NULL, ALL_KINDS, MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS);
    (void)declare(world, one, "mine");
    (void)declare(world, two, "theirs");
    struct ear *ear = calloc(1, sizeof *ear);
    listen(world, one, 64, ear);
    ASSERT_KINDS(ear, VAMP_EVENT_DECLARE);
    assert_string_equal(ear->events[0].name, "theirs");
    free(ear);
    world_free(world);
}

static void test_ready_is_reported_once(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t app = join(world, "one");
    (void)subscribe(world, app, NULL, ALL_KINDS, 0);
    struct ear *ear = calloc(1, sizeof *ear);
    for (size_t round = 1; round < 4; round++) {
        for (int i = 0; i < 10; i++) {
            (void)declare(world, app, "x");
        }
        assert_int_equal(world->ready_count, round);
        listen(world, app, 3, ear);
        assert_int_equal(ear->count, 10);
        assert_int_equal(ear->batches, 4);
    }
    free(ear);
    world_free(world);
}

/* The component does not wait while its event is made, packed and queued. */
static void test_answer_is_before_event(void **state)
{
    (void)state;
    struct world *world = world_create(&pool_bounds_default);
    uint64_t watcher = join(world, "vampire");
    uint64_t one = join(world, "one");
    struct ear ear;
    (void)subscribe(world, watcher, NULL, ALL_KINDS, MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
    listen(world, watcher, 10, &ear);
    const size_t before = world->ready_count;
    const struct answer_record *answer = answer_to(world, send_declare(world, one, "x"));
    assert_int_equal(answer->status, MSTRO_OK);
    assert_int_equal(answer->ready_count, before);
    assert_int_equal(world->ready_count, before + 1);
    listen(world, watcher, 10, &ear);
    assert_int_equal(ear.count, 1);
    world_free(world);
}

/* What comes out and what is counted make up everything, in order, for every size of queue. */
static void test_lost_is_exact(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 6000; limit = limit * 3 / 2 + 40) {
        struct pool_bounds bounds = pool_bounds_default;
        bounds.queue_bytes_per_subscription = limit;
        struct world *world = world_create(&bounds);
        uint64_t app = join(world, "one");
        uint64_t watcher = join(world, "watcher");
        (void)subscribe(world, watcher, NULL, UINT64_C(1) << VAMP_EVENT_DECLARE, 0);
        struct ear *ear = calloc(1, sizeof *ear);
        uint64_t sent = 0;
        uint64_t accounted = 0;
        uint64_t lost = 0;
        for (unsigned round = 0; round < 40; round++) {
            unsigned burst = round * 7 % 31;
            for (unsigned i = 0; i < burst; i++) {
                char name[300];
                memset(name, 'x', sizeof name);
                name[1 + (sent * 37) % 250] = '\0';
                (void)declare(world, app, name);
                sent++;
            }
            listen(world, watcher, 1 + round % 5, ear);
            for (size_t i = 0; i < ear->count; i++) {
                accounted += ear->events[i].lost;
                lost += ear->events[i].lost;
                if (ear->events[i].kind != 0) {
                    accounted++;
                    assert_int_equal(ear->events[i].serial, accounted);
                }
            }
            assert_int_equal(accounted, sent);
        }
        assert_true(limit > 4000 || lost > 0);
        assert_true(limit < 5900 || lost < sent);
        free(ear);
        world_free(world);
    }
}

/* One batch, as listen. */
static void take_batch(struct world *world, uint64_t app, size_t max_events, struct ear *ear)
{
    uint8_t buffer[16384];
    const struct pool_batch taken =
        pool_events_take(world->pool, app, buffer, sizeof buffer, max_events);
    Vamp__Wire__EventBatch *batch = vamp__wire__event_batch__unpack(NULL, taken.bytes, buffer);
    assert_non_null(batch);
    assert_int_equal(batch->n_events, taken.events);
    *ear = (struct ear){.count = 0};
    hear_batch(ear, batch);
    vamp__wire__event_batch__free_unpacked(batch, NULL);
}

/* A component, and a watcher of its declares with a queue of so many bytes. */
static struct world *create_watched(size_t queue_bytes, uint32_t options, uint64_t *ret_app,
                                    uint64_t *ret_watcher)
{
    struct pool_bounds bounds = pool_bounds_default;
    bounds.queue_bytes_per_subscription = queue_bytes;
    struct world *world = world_create(&bounds);
    *ret_app = join(world, "one");
    *ret_watcher = join(world, "watcher");
    (void)subscribe(world, *ret_watcher, NULL, UINT64_C(1) << VAMP_EVENT_DECLARE, options);
    return world;
}

/* The queue is never empty, so that its ring turns, with events of all lengths and with losses. */
static void test_queue_that_turns(void **state)
{
    (void)state;
    uint64_t app = 0;
    uint64_t watcher = 0;
    struct world *world = create_watched(3000, 0, &app, &watcher);
    struct ear *ear = calloc(1, sizeof *ear);
    uint64_t accounted = 0;
    uint64_t lost = 0;
    size_t lengths[RECORDS_MAX] = {0};
    size_t sent = 0;
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 4 && sent < RECORDS_MAX; i++, sent++) {
            char name[300];
            memset(name, 'y', sizeof name);
            lengths[sent] = 1 + (sent * 37) % 250;
            name[lengths[sent]] = '\0';
            (void)declare(world, app, name);
        }
        take_batch(world, watcher, 1 + round % 6, ear);
        for (size_t i = 0; i < ear->count; i++) {
            lost += ear->events[i].lost;
            accounted += ear->events[i].lost + 1;
            assert_int_equal(ear->events[i].serial, accounted);
            const size_t length = lengths[accounted - 1];
            assert_int_equal(strlen(ear->events[i].name), length < 63 ? length : 63);
        }
    }
    assert_in_range(lost, 1, accounted / 2);
    free(ear);
    world_free(world);
}

static void test_lost_event_delays_no_component(void **state)
{
    (void)state;
    uint64_t app = 0;
    uint64_t watcher = 0;
    struct world *world = create_watched(4096, MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK, &app, &watcher);
    int held = 0;
    int answered = 0;
    for (int i = 0; i < 200; i++) {
        bool waits = status_of(world, send_declare(world, app, "x")) == UNANSWERED;
        held += waits;
        answered += !waits;
        assert_true(answered == 0 || !waits); /* first held, then, without room, let go */
    }
    assert_true(held > 0);
    assert_true(answered > 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_of_a_life),
        cmocka_unit_test(test_own_transport_has_no_tier),
        cmocka_unit_test(test_transports_have_a_duration),
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_many_selectors),
        cmocka_unit_test(test_before_and_after),
        cmocka_unit_test(test_acks_hold),
        cmocka_unit_test(test_acks_hold_before),
        cmocka_unit_test(test_no_local_events),
        cmocka_unit_test(test_ready_is_reported_once),
        cmocka_unit_test(test_answer_is_before_event),
        cmocka_unit_test(test_lost_is_exact),
        cmocka_unit_test(test_queue_that_turns),
        cmocka_unit_test(test_lost_event_delays_no_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
