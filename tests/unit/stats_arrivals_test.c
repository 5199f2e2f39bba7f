/* SPDX-License-Identifier: BSD-3-Clause */
/* Times between events that carry no time of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "vampire/stats/pairing/arrivals.h"

#define MS INT64_C(1000000)
#define ON_THE_WAY_MS 10

struct scene {
    struct vamp_arrivals *arrivals;
    struct vamp_observation seen;
    struct vamp_event event;
    struct vamp_slot slot;
};

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    scene->arrivals = calloc(1, sizeof *scene->arrivals);
    scene->seen.event = &scene->event;
    scene->seen.slot = &scene->slot;
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;
    free(scene->arrivals);
    free(scene);
    return 0;
}

/* An event that arrived then, of a stream that was empty before; `wait_ms` since its demand, 0:
 * there was none. */
static uint64_t arrive(struct scene *scene, int64_t at_ms, int64_t empty_ms, int64_t wait_ms)
{
    scene->arrivals->empty_ns = empty_ms * MS;
    scene->event.time_ns = at_ms * MS;
    scene->seen.intervals = wait_ms > 0 ? 1U << VAMP_INTERVAL_DEMAND_WAIT : 0;
    scene->seen.interval_ns[VAMP_INTERVAL_DEMAND_WAIT] = (uint64_t)(wait_ms * MS);
    scene->slot.account.resolution_ns = 0;
    vamp_arrivals_blur(scene->arrivals, &scene->seen);
    return scene->seen.interval_ns[VAMP_INTERVAL_DEMAND_WAIT];
}

static void what_both_may_have_waited_is_the_resolution(void **state)
{
    struct scene *scene = *state;
    (void)arrive(scene, 1000, 990, 0);
    assert_int_equal(scene->slot.account.resolution_ns, (10 + ON_THE_WAY_MS) * MS);
    /* 20 and 10 ms in the queues: 100 ms are known to that, 30 ms may be anything below 80. */
    assert_int_equal(arrive(scene, 1100, 1080, 100), 100 * MS);
    assert_int_equal(scene->slot.account.resolution_ns, (30 + 2 * ON_THE_WAY_MS) * MS);
    (void)arrive(scene, 2000, 1990, 0);
    assert_int_equal(arrive(scene, 2030, 2010, 30), 0);
    assert_int_equal(scene->slot.account.resolution_ns, (60 + 2 * ON_THE_WAY_MS) * MS);
}

/* Longer ago than pieces are kept: the longest wait of all. */
static void an_old_beginning_is_off_by_the_longest_wait(void **state)
{
    struct scene *scene = *state;
    (void)arrive(scene, 1000, 900, 0);
    assert_int_equal(arrive(scene, 1000000, 999999, 999000), 999000 * MS);
    assert_int_equal(scene->slot.account.resolution_ns, (101 + 2 * ON_THE_WAY_MS) * MS);
    assert_int_equal(arrive(scene, 1400000, 1399999, 900000), 900000 * MS);
    assert_int_equal(scene->slot.account.resolution_ns, (101 + 2 * ON_THE_WAY_MS) * MS);
}

static void parts_of_a_wait_go_with_it(void **state)
{
    struct scene *scene = *state;
    (void)arrive(scene, 1000, 999, 0);
    scene->seen.parts_known = true;
    scene->seen.part_ns[0] = 3 * MS;
    scene->seen.part_ns[1] = 97 * MS;
    (void)arrive(scene, 1100, 1099, 100);
    assert_true(scene->seen.parts_known);
    assert_int_equal(scene->seen.part_ns[0], 0);
    assert_int_equal(scene->seen.part_ns[1], 97 * MS);
    scene->seen.part_ns[1] = 2 * MS;
    assert_int_equal(arrive(scene, 1101, 1099, 2), 0);
    assert_int_equal(scene->seen.part_ns[1], 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_both_may_have_waited_is_the_resolution),
        TEST(an_old_beginning_is_off_by_the_longest_wait),
        TEST(parts_of_a_wait_go_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
