/* SPDX-License-Identifier: BSD-3-Clause */
/* The one bound of memory over all that a pool keeps. */
#include "tests/unit/pool_world.h"

enum { HANDLES_MAX = 1024 };

/* One more CDO, or one more handle of a known one. False: refused, with a word about memory. */
static bool take_one(struct world *world, uint64_t app, const char *name, uint64_t *ret_handle)
{
    const struct answer_record *answer = answer_to(world, send_declare(world, app, name));
    assert_non_null(answer);
    if (answer->status == MSTRO_OK) {
        *ret_handle = answer->handle;
        return true;
    }
    assert_int_equal(answer->status, MSTRO_NOMEM);
    assert_non_null(strstr(answer->text, "--memory"));
    return false;
}

/* Declares until nothing more is let in; the number of handles. */
static size_t fill(struct world *world, uint64_t app, uint64_t *handles)
{
    size_t count = 0;
    char name[32] = "cdo 0";
    while (count < HANDLES_MAX && take_one(world, app, name, &handles[count])) {
        (void)snprintf(name, sizeof name, "cdo %zu", ++count);
    }
    assert_in_range(count, 50, 300);
    /* Another handle of what is there takes less; then there is no room for that either. */
    while (count < HANDLES_MAX && take_one(world, app, "cdo 0", &handles[count])) {
        count++;
    }
    return count;
}

/* One bound of memory over all others: what would take more is refused and changes nothing, what
 * gives back is not, and then there is room again. Queued events have a half of their own. */
static void test_memory_bound(void **state)
{
    (void)state;
    struct pool_bounds bounds = pool_bounds_default;
    bounds.memory_bytes = (size_t)128 << 10;
    struct world *world = world_create(&bounds);
    struct pool_memory_state empty;
    struct pool_memory_state memory;
    uint64_t app = join(world, "one");
    pool_memory_state(world->pool, &empty);
    uint64_t handles[HANDLES_MAX] = {0};
    size_t count = fill(world, app, handles);
    pool_memory_state(world->pool, &memory);
    assert_int_equal(memory.refused, 2);
    assert_true(memory.object_bytes <= bounds.memory_bytes / 2 + 512);
    char key[121];
    memset(key, 'k', sizeof key);
    key[0] = '.';
    key[sizeof key - 1] = '\0';
    assert_int_equal(seal_with(world, app, handles[0], key, 1, 1), MSTRO_NOMEM);
    char selector[] = "(.a.key = \"a text of some length, since a selector takes memory too\")";
    assert_int_equal(status_of(world, send_subscribe(world, app, selector, ALL_KINDS, 0)),
                     MSTRO_NOMEM);
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t other;
    char long_name[2000];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(pool_join(world->pool, long_name, 0, &other, &err), MSTRO_NOMEM);
    assert_non_null(strstr(err.text, "--memory"));
    pool_memory_state(world->pool, &memory);
    assert_int_equal(memory.refused, 5);
    for (size_t i = 0; i < count; i++) {
        must(world, app, handles[i], DISPOSE);
    }
    pool_memory_state(world->pool, &memory);
    assert_int_equal(memory.object_bytes, empty.object_bytes);
    (void)declare(world, app, "again");
    pool_leave(world->pool, app, VAMP_LEAVE_VANISHED);
    pool_memory_state(world->pool, &memory);
    assert_int_equal(memory.object_bytes, 0);
    world_free(world);
}

/* Subscribers that stand still fill the half of the events, not more; declarations go on. */
static void test_memory_of_events(void **state)
{
    (void)state;
    struct pool_bounds bounds = pool_bounds_default;
    bounds.memory_bytes = (size_t)640 << 10;
    struct world *world = world_create(&bounds);
    uint64_t app = join(world, "one");
    uint64_t watcher = join(world, "watcher");
    for (int i = 0; i < 2; i++) {
        (void)subscribe(world, watcher, NULL, ALL_KINDS, 0);
    }
    for (int i = 0; i < 1900; i++) {
        must(world, app, declare(world, app, "x"), DISPOSE);
    }
    struct pool_memory_state memory;
    pool_memory_state(world->pool, &memory);
    assert_in_range(memory.event_bytes, bounds.memory_bytes / 8, bounds.memory_bytes / 2 + 4096);
    assert_int_equal(memory.refused, 0);
    uint8_t batch[POOL_BATCH_BYTES_MIN];
    while (pool_events_take(world->pool, watcher, batch, sizeof batch, 64).bytes > 0) {
    }
    size_t full = memory.event_bytes;
    pool_memory_state(world->pool, &memory);
    assert_in_range(memory.event_bytes, 0, full / 2); /* given back when it was read */
    pool_leave(world->pool, watcher, VAMP_LEAVE_VANISHED);
    pool_memory_state(world->pool, &memory);
    assert_int_equal(memory.event_bytes, 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_bound),
        cmocka_unit_test(test_memory_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
