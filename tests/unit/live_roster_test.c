/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is in the workflow: the rules, and a long random run against a plain table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/live/roster.h"

static void see(struct vamp_roster *roster, enum vamp_event_kind kind, uint64_t app_id)
{
    const struct vamp_event event = {
        .kind = (uint8_t)kind, .present = VAMP_HAS_APP, .app_id = app_id};
    vamp_roster_observe(roster, &event);
}

static void a_workflow_ends_when_all_have_left(void **state)
{
    (void)state;
    struct vamp_roster roster = {0};
    assert_false(vamp_roster_all_left(&roster)); /* no component has joined yet */
    see(&roster, VAMP_EVENT_JOIN, 1);
    see(&roster, VAMP_EVENT_JOIN, 2);
    see(&roster, VAMP_EVENT_LEAVE, 1);
    assert_false(vamp_roster_all_left(&roster));
    see(&roster, VAMP_EVENT_LEAVE, 2);
    assert_true(vamp_roster_all_left(&roster));
    see(&roster, VAMP_EVENT_JOIN, 3); /* the next phase */
    assert_false(vamp_roster_all_left(&roster));
    vamp_roster_done(&roster);
}

static void who_came_before_us_is_seen_by_what_it_does(void **state)
{
    (void)state;
    struct vamp_roster roster = {0};
    see(&roster, VAMP_EVENT_OFFER, 7);
    see(&roster, VAMP_EVENT_LEAVE, 5); /* never seen before: it counts as one that left */
    assert_false(vamp_roster_all_left(&roster));
    see(&roster, VAMP_EVENT_LEAVE, 7);
    assert_true(vamp_roster_all_left(&roster));
    vamp_roster_done(&roster);
}

static void only_the_workflow_counts(void **state)
{
    (void)state;
    struct vamp_roster roster = {0};
    see(&roster, VAMP_EVENT_JOIN, 1);
    see(&roster, VAMP_EVENT_SUBSCRIBE, 9); /* a watcher, ourselves perhaps */
    const struct vamp_event leaving = {
        .kind = VAMP_EVENT_LEAVE, .phase = VAMP_PHASE_BEFORE, .present = VAMP_HAS_APP, .app_id = 1};
    vamp_roster_observe(&roster, &leaving);
    assert_false(vamp_roster_all_left(&roster));
    see(&roster, VAMP_EVENT_LEAVE, 1);
    see(&roster, VAMP_EVENT_DISPOSE, 1); /* the pool manager clears up behind it */
    see(&roster, VAMP_EVENT_TRANSPORT_FAILED, 1);
    assert_true(vamp_roster_all_left(&roster));
    const struct vamp_event nobody = {.kind = VAMP_EVENT_OFFER};
    vamp_roster_observe(&roster, &nobody);
    assert_true(vamp_roster_all_left(&roster));
    vamp_roster_done(&roster);
}

static void the_pool_managers_end_is_a_leave(void **state)
{
    (void)state;
    struct vamp_roster roster = {0};
    see(&roster, VAMP_EVENT_JOIN, 0);
    assert_false(vamp_roster_all_left(&roster));
    const struct vamp_event leave = {.kind = VAMP_EVENT_LEAVE,
                                     .present = VAMP_HAS_APP | VAMP_HAS_REASON,
                                     .reason = VAMP_LEAVE_POOL_ENDED};
    vamp_roster_observe(&roster, &leave);
    assert_true(vamp_roster_all_left(&roster));
    vamp_roster_done(&roster);
}

static void random_coming_and_going(void **state)
{
    (void)state;
    enum { IDS = 3000 };
    static bool here[IDS];
    memset(here, 0, sizeof here);
    struct vamp_roster roster = {0};
    uint64_t random = 88172645463325252;
    size_t present = 0;
    for (unsigned step = 0; step < 300000; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t id = random % IDS;
        /* Ids that differ in high bits only collide in the table. */
        uint64_t app_id = id % 2 == 0 ? id + 1 : (uint64_t)(id + 1) << 40;
        see(&roster, here[id] ? VAMP_EVENT_LEAVE : VAMP_EVENT_JOIN, app_id);
        present += here[id] ? (size_t)-1 : 1;
        here[id] = !here[id];
        assert_int_equal(roster.present.count, present);
    }
    for (size_t id = 0; id < IDS; id++) {
        if (here[id]) {
            see(&roster, VAMP_EVENT_LEAVE, id % 2 == 0 ? id + 1 : (uint64_t)(id + 1) << 40);
        }
    }
    assert_true(vamp_roster_all_left(&roster));
    vamp_roster_done(&roster);
}

static void beyond_the_bound_it_counts(void **state)
{
    (void)state;
    struct vamp_roster roster = {0};
    for (uint64_t id = 1; id <= VAMP_ROSTER_MAX + 10; id++) {
        see(&roster, VAMP_EVENT_JOIN, id);
    }
    assert_int_equal(roster.present.count, VAMP_ROSTER_MAX);
    for (uint64_t id = VAMP_ROSTER_MAX + 10; id >= 1; id--) {
        assert_false(vamp_roster_all_left(&roster));
        see(&roster, VAMP_EVENT_LEAVE, id);
    }
    assert_true(vamp_roster_all_left(&roster));
    vamp_roster_done(&roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workflow_ends_when_all_have_left),
        cmocka_unit_test(who_came_before_us_is_seen_by_what_it_does),
        cmocka_unit_test(only_the_workflow_counts),
        cmocka_unit_test(the_pool_managers_end_is_a_leave),
        cmocka_unit_test(random_coming_and_going),
        cmocka_unit_test(beyond_the_bound_it_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
