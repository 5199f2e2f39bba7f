/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins and leaves have room in a subscription's queue when other events have none. */
#include "tests/unit/pool_world.h"

enum { PRESENT = 200, KINDS = 16, APPS = 1024 };

/* What one subscriber received, and what was reported to it as lost. */
struct account {
    uint64_t received[KINDS], lost, last_serial;
    bool joined[APPS], left[APPS];
};

static void take_all(struct world *world, uint64_t app, struct account *account)
{
    struct ear *ear = calloc(1, sizeof *ear);
    assert_non_null(ear);
    listen(world, app, 64, ear);
    for (size_t i = 0; i < ear->count; i++) {
        const struct heard *heard = &ear->events[i];
        account->lost += heard->lost;
        if (heard->kind != 0) {
            assert_true(heard->serial > account->last_serial); /* in order */
            account->last_serial = heard->serial;
            account->received[heard->kind]++;
            account->joined[heard->app % APPS] |= heard->kind == VAMP_EVENT_JOIN;
            account->left[heard->app % APPS] |= heard->kind == VAMP_EVENT_LEAVE;
        }
    }
    free(ear);
}

static uint64_t join_number(struct world *world, unsigned number)
{
    char name[32];
    (void)snprintf(name, sizeof name, "component %u", number);
    return join(world, name);
}

/* Declares until the queue has refused some: `count` operations. */
static void flood(struct world *world, uint64_t app, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        must(world, app, declare(world, app, "flood"), DISPOSE);
    }
}

static struct world *small_world(size_t queue_bytes, size_t components)
{
    struct pool_bounds bounds = pool_bounds_default;
    bounds.queue_bytes_per_subscription = queue_bytes;
    bounds.components = components;
    return world_create(&bounds);
}

/* Everyone leaves while the subscriber reads nothing and its queue is full. */
static void test_leaves_find_room(void **state)
{
    (void)state;
    for (uint32_t options = 0; options <= MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE;
         options += MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE) {
        struct world *world = small_world(4096, PRESENT + 1);
        uint64_t apps[PRESENT];
        struct account account = {0};
        uint64_t watcher = join(world, "watcher");
        for (unsigned i = 0; i < PRESENT / 2; i++) {
            apps[i] = join_number(world, i);
        }
        (void)subscribe(world, watcher, NULL, ALL_KINDS, options); /* half were there before */
        flood(world, apps[0], 200);
        for (unsigned i = PRESENT / 2; i < PRESENT; i++) {
            apps[i] = join_number(world, i);
        }
        flood(world, apps[0], 10);
        for (unsigned i = 0; i < PRESENT; i++) {
            pool_leave(world->pool, apps[i], VAMP_LEAVE_FINALIZED);
        }
        take_all(world, watcher, &account);
        assert_int_equal(account.received[VAMP_EVENT_LEAVE], PRESENT);
        assert_int_equal(account.received[VAMP_EVENT_JOIN], PRESENT / 2);
        assert_true(account.received[VAMP_EVENT_DECLARE] > 0);
        assert_int_equal(account.received[VAMP_EVENT_DECLARE] +
                             account.received[VAMP_EVENT_DISPOSE] + account.lost,
                         420);
        world_free(world);
    }
}

/* More joins than there is room for: the others are counted as lost. The LEAVE of every component
 * whose JOIN was received is received, too. */
static void test_beyond_the_reserve(void **state)
{
    (void)state;
    struct world *world = small_world(4096, 32);
    struct account account = {0};
    uint64_t watcher = join(world, "watcher");
    (void)subscribe(world, watcher, NULL, ALL_KINDS, 0);
    uint64_t first = join(world, "first");
    flood(world, first, 200);
    for (unsigned i = 0; i < 500; i++) {
        pool_leave(world->pool, join_number(world, i), VAMP_LEAVE_FINALIZED);
    }
    uint64_t late[8];
    for (unsigned i = 0; i < 8; i++) {
        late[i] = join_number(world, i);
    }
    pool_leave(world->pool, first, VAMP_LEAVE_VANISHED);
    take_all(world, watcher, &account);
    const uint64_t joined = account.received[VAMP_EVENT_JOIN];
    assert_in_range(joined, 32, 400);
    assert_true(account.left[first]);
    for (size_t app = 0; app < APPS; app++) {
        assert_true(account.left[app] || !account.joined[app]);
    }
    assert_int_equal(account.received[VAMP_EVENT_DECLARE] + account.received[VAMP_EVENT_DISPOSE] +
                         joined + account.received[VAMP_EVENT_LEAVE] + account.lost,
                     400 + 1 + 1000 + 8 + 1);
    /* Once there is room again, the LEAVEs of those that joined meanwhile have theirs. */
    const uint64_t left = account.received[VAMP_EVENT_LEAVE];
    flood(world, late[0], 200);
    for (unsigned i = 0; i < 8; i++) {
        pool_leave(world->pool, late[i], VAMP_LEAVE_FINALIZED);
    }
    take_all(world, watcher, &account);
    assert_int_equal(account.received[VAMP_EVENT_LEAVE], left + 8);
    world_free(world);
}

/* The bound of memory over all queues takes no room for leaves away. */
static void test_memory_is_reserved(void **state)
{
    (void)state;
    struct pool_bounds bounds = pool_bounds_default;
    bounds.memory_bytes = (size_t)512 << 10;
    struct world *world = world_create(&bounds);
    struct account account = {0};
    uint64_t apps[PRESENT];
    uint64_t watcher = join(world, "watcher");
    uint64_t idler = join(world, "idler");
    (void)subscribe(world, watcher, NULL, ALL_KINDS, 0);
    for (int i = 0; i < 3; i++) {
        (void)subscribe(world, idler, NULL, ALL_KINDS, 0);
    }
    for (unsigned i = 0; i < PRESENT; i++) {
        apps[i] = join_number(world, i);
    }
    for (unsigned i = 0; i < 8; i++) {
        flood(world, apps[i], 200);
    }
    for (unsigned i = 0; i < PRESENT; i++) {
        pool_leave(world->pool, apps[i], VAMP_LEAVE_FINALIZED);
    }
    take_all(world, watcher, &account);
    assert_true(account.lost > 0);
    assert_int_equal(account.received[VAMP_EVENT_JOIN], PRESENT);
    assert_int_equal(account.received[VAMP_EVENT_LEAVE], PRESENT);
    world_free(world);
}

/* A subscriber that acknowledges every LEAVE before it happens may get one more than once; the room
 * of others is not used up by that. */
static void test_a_leave_asked_for_again(void **state)
{
    (void)state;
    struct world *world = small_world(4096, PRESENT);
    struct account account = {0};
    uint64_t watcher = join(world, "watcher");
    uint64_t stubborn = join(world, "stubborn");
    uint64_t other = join(world, "other");
    (void)subscribe(world, watcher, NULL, ALL_KINDS,
                    MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE | MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK);
    for (unsigned i = 0; i < 1000; i++) {
        (void)send_leave(world, stubborn);
    }
    pool_leave(world->pool, other, VAMP_LEAVE_VANISHED);
    struct ear *ear = calloc(1, sizeof *ear);
    assert_non_null(ear);
    listen(world, watcher, 64, ear);
    for (size_t i = 0; i < ear->count; i++) {
        account.received[0] += ear->events[i].app == other;
        account.received[1] += ear->events[i].app == stubborn;
        account.lost += ear->events[i].lost;
    }
    assert_int_equal(account.received[0], 1);
    assert_true(account.received[1] > 1); /* until one found no room, and held it up no longer */
    assert_int_equal(account.lost, 1);
    free(ear);
    world_free(world);
}

/* A subscription that is held keeps its events, loses and counts those that find no room, and does
 * not signal; another one of the same component goes on. */
static void test_held_subscription(void **state)
{
    (void)state;
    struct world *world = small_world(4096, 8);
    struct account account = {0};
    uint64_t watcher = join(world, "watcher");
    uint64_t app = join(world, "app");
    uint64_t full = subscribe(world, watcher, NULL, ALL_KINDS, 0);
    uint64_t other = subscribe(world, watcher, NULL, UINT64_C(1) << VAMP_EVENT_DECLARE, 0);
    take_all(world, watcher, &account); /* the SUBSCRIBE of the other */
    pool_flow(world->pool, watcher, full, 2, true);
    pool_flow(world->pool, watcher, full, 1, false); /* overtaken */
    pool_flow(world->pool, watcher, 4711, 1, true);
    pool_flow(world->pool, 4711, full, 3, false);
    flood(world, app, 10);
    account = (struct account){0};
    take_all(world, watcher, &account);
    assert_int_equal(account.received[VAMP_EVENT_DECLARE], 10);
    assert_int_equal(account.received[VAMP_EVENT_DISPOSE], 0);
    pool_flow(world->pool, watcher, other, 1, true);
    const size_t ready = world->ready_count;
    flood(world, app, 200);
    pool_leave(world->pool, app, VAMP_LEAVE_FINALIZED);
    assert_int_equal(world->ready_count, ready);
    uint8_t batch[POOL_BATCH_BYTES_MIN];
    assert_int_equal(pool_events_take(world->pool, watcher, batch, sizeof batch, 1).bytes, 0);
    pool_flow(world->pool, watcher, full, 3, false);
    assert_int_equal(world->ready_count, ready + 1);
    account = (struct account){0};
    take_all(world, watcher, &account);
    assert_true(account.lost > 0);
    assert_int_equal(account.received[VAMP_EVENT_LEAVE], 1);
    assert_int_equal(account.received[VAMP_EVENT_DECLARE] + account.received[VAMP_EVENT_DISPOSE] +
                         account.lost,
                     420);
    world_free(world);
}

/* Events may wait for others until a quarter of a small queue is used; an acknowledgement that is
 * awaited cannot wait. Each is signalled once until nothing is found. */
static void test_signals_what_cannot_wait(void **state)
{
    (void)state;
    struct world *world = small_world(16384, 8);
    struct account account = {0};
    const uint64_t watcher = join(world, "watcher");
    const uint64_t app = join(world, "app");
    subscribe(world, watcher, NULL, ALL_KINDS, 0);
    flood(world, app, 1);
    assert_int_equal(world->ready_count, 1);
    assert_false(world->ready_at_once);
    flood(world, app, 50); /* at least 41 bytes each */
    assert_int_equal(world->ready_count, 2);
    assert_true(world->ready_at_once);
    take_all(world, watcher, &account);
    flood(world, app, 1);
    assert_int_equal(world->ready_count, 3);
    assert_false(world->ready_at_once);
    subscribe(world, watcher, NULL, UINT64_C(1) << VAMP_EVENT_JOIN,
              MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK);
    (void)join(world, "other");
    assert_int_equal(world->ready_count, 4);
    assert_true(world->ready_at_once);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves_find_room),   cmocka_unit_test(test_beyond_the_reserve),
        cmocka_unit_test(test_memory_is_reserved), cmocka_unit_test(test_a_leave_asked_for_again),
        cmocka_unit_test(test_held_subscription),  cmocka_unit_test(test_signals_what_cannot_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
