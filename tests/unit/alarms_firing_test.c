/* SPDX-License-Identifier: BSD-3-Clause */
/* Which events a firing alarm concerns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "vampire/alarms/firing.h"

enum { MODEL = 1, PRODUCT = 2, OTHER = 3 };

struct world {
    struct vamp_components *components;
    struct vamp_firing firing;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_int_equal(vamp_components_create(16, &world->components, NULL), 0);
    static const char *const usual[] = {"(*) -- *"};
    vamp_components_set_models(world->components, &(struct vamp_model_rules){usual, 1});
    static const char *const names[] = {"IFS -- 0", "Products", "NEMO -- 1"};
    for (uint64_t i = 0; i < 3; i++) {
        const struct vamp_event join = event_join(1, i + 1, names[i]);
        (void)vamp_components_observe(world->components, &join);
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    vamp_components_free(world->components);
    free(world);
    return 0;
}

static void change(struct world *world, unsigned instance, enum vamp_alarm_state to,
                   const char *label, const char *value)
{
    struct vamp_alarm_change change = {.instance = instance, .state = (uint8_t)to};
    if (label != NULL) {
        change.label_count = 1;
        change.labels[0].name = label;
        (void)snprintf(change.labels[0].value, sizeof change.labels[0].value, "%s", value);
    }
    vamp_firing_note(&world->firing, &change);
}

static bool concerns(const struct world *world, const struct vamp_event *event)
{
    return vamp_firing_concerns(&world->firing, world->components, event);
}

static bool concerns_component(const struct world *world, uint64_t app_id)
{
    const struct vamp_event event = event_cdo(VAMP_EVENT_DEMAND, 5, app_id, 1);
    return concerns(world, &event);
}

static void it_lasts_from_firing_to_resolved(void **state)
{
    struct world *world = *state;
    assert_false(concerns_component(world, PRODUCT));
    change(world, 4, VAMP_ALARM_PENDING, "component", "Products");
    assert_false(concerns_component(world, PRODUCT));
    change(world, 4, VAMP_ALARM_FIRING, "component", "Products");
    assert_true(concerns_component(world, PRODUCT));
    assert_false(concerns_component(world, MODEL));
    change(world, 4, VAMP_ALARM_FIRING, "component", "Products");
    assert_int_equal(world->firing.count, 1);
    change(world, 5, VAMP_ALARM_RESOLVED, "component", "Products");
    change(world, 4, VAMP_ALARM_CLEARED, "component", "Products");
    assert_true(concerns_component(world, PRODUCT));
    change(world, 4, VAMP_ALARM_RESOLVED, "component", "Products");
    assert_false(concerns_component(world, PRODUCT));
    assert_int_equal(world->firing.count, 0);
}

static void an_alarm_that_was_silenced_when_it_fired_does_not_count(void **state)
{
    struct world *world = *state;
    const struct vamp_alarm_change silenced = {.state = VAMP_ALARM_FIRING, .silenced = true};
    vamp_firing_note(&world->firing, &silenced);
    assert_int_equal(world->firing.count, 0);
}

static void both_ends_of_a_transport_and_models_count(void **state)
{
    struct world *world = *state;
    change(world, 0, VAMP_ALARM_FIRING, "source", "IFS -- 0");
    const struct vamp_event transport =
        event_transport(VAMP_EVENT_TRANSPORT_INIT, 5, 1, 1, PRODUCT, MODEL);
    assert_true(concerns(world, &transport));
    assert_false(concerns_component(world, PRODUCT));
    change(world, 0, VAMP_ALARM_RESOLVED, NULL, NULL);
    assert_false(concerns(world, &transport));
    change(world, 1, VAMP_ALARM_FIRING, "model", "NEMO");
    assert_true(concerns_component(world, OTHER));
    assert_false(concerns_component(world, MODEL));
}

static void the_cdo_that_is_named_counts_whoever_handles_it(void **state)
{
    struct world *world = *state;
    struct vamp_alarm_change firing = {.state = VAMP_ALARM_FIRING, .label_count = 1};
    firing.labels[0].name = "component";
    (void)snprintf(firing.labels[0].value, sizeof firing.labels[0].value, "Products");
    (void)snprintf(firing.cdo, sizeof firing.cdo, "step:7");
    vamp_firing_note(&world->firing, &firing);
    struct vamp_event offer = event_with_name(event_cdo(VAMP_EVENT_OFFER, 5, MODEL, 1), "step:7");
    assert_true(concerns(world, &offer));
    offer = event_with_name(event_cdo(VAMP_EVENT_OFFER, 5, MODEL, 1), "step:77");
    assert_false(concerns(world, &offer));
}

static void an_alarm_of_the_whole_workflow_concerns_all(void **state)
{
    struct world *world = *state;
    change(world, 0, VAMP_ALARM_FIRING, "reason", "ring");
    assert_true(concerns_component(world, MODEL));
}

/* More than can be named: all are concerned, and the count stays exact. */
static void many_alarms_concern_all(void **state)
{
    struct world *world = *state;
    for (unsigned i = 0; i < VAMP_FIRING_MAX + 10; i++) {
        change(world, i, VAMP_ALARM_FIRING, "component", "nothing");
    }
    assert_int_equal(world->firing.count, VAMP_FIRING_MAX);
    assert_true(concerns_component(world, MODEL));
    for (unsigned i = 0; i < VAMP_FIRING_MAX + 10; i++) {
        change(world, i, VAMP_ALARM_RESOLVED, "component", "nothing");
    }
    assert_int_equal(world->firing.count, 0);
    assert_int_equal(world->firing.named_count, 0);
    assert_false(concerns_component(world, MODEL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(it_lasts_from_firing_to_resolved),
        TEST(an_alarm_that_was_silenced_when_it_fired_does_not_count),
        TEST(both_ends_of_a_transport_and_models_count),
        TEST(the_cdo_that_is_named_counts_whoever_handles_it),
        TEST(an_alarm_of_the_whole_workflow_concerns_all),
        TEST(many_alarms_concern_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
