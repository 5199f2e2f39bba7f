/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules on buckets made by hand: when an alarm is pending, fires and resolves, and what it says. */
#include "tests/unit/alarms_world.h"

#include <unistd.h>

/* A gauge with this value at the bucket's end. */
static int gauge(struct world *world, int64_t value)
{
    world->present = (struct vamp_gauge_value){value, value, value};
    return world_step(world);
}

/* The counter of component 1 grows. */
static int grow(struct world *world, uint64_t bytes)
{
    world->produced[1].delta = bytes;
    return world_step(world);
}

/* A wait of component 1; 0: none. */
static int wait_of(struct world *world, uint64_t ns)
{
    world->waits_ns[1] = ns;
    return world_step(world);
}

static void an_alarm_is_pending_then_fires_and_resolves(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "many", "metric", "components_present", "when", "> 5", "for",
               "2 buckets", "severity", "critical");
    world_start(world);
    assert_int_equal(gauge(world, 5), NO_CHANGE);
    assert_int_equal(gauge(world, 6), VAMP_ALARM_PENDING);
    assert_int_equal(gauge(world, 7), VAMP_ALARM_FIRING);
    const struct vamp_alarm_change *change = &world->changes[0];
    assert_string_equal(change->alarm, "many");
    assert_string_equal(change->metric, "components_present");
    assert_string_equal(change->threshold, "> 5");
    assert_string_equal(change->unit, "1");
    assert_int_equal(change->severity, VAMP_ALARM_CRITICAL);
    assert_int_equal(change->bucket, 2);
    assert_int_equal(change->time_ns, 3 * WORLD_WIDTH_NS);
    assert_int_equal(change->since_ns, 2 * WORLD_WIDTH_NS);
    assert_true(change->has_value && change->value > 6.9 && change->value < 7.1);
    assert_int_equal(gauge(world, 8), NO_CHANGE);
    assert_int_equal(gauge(world, 5), VAMP_ALARM_RESOLVED);
    assert_int_equal(world->changes[0].since_ns, 2 * WORLD_WIDTH_NS);
    assert_int_equal(gauge(world, 5), NO_CHANGE);
    struct vamp_alarm_state_count count;
    vamp_alarms_state(world->alarms, 0, &count);
    assert_int_equal(count.fired, 1);
    assert_int_equal(count.firing, 0);
    world_free(world);
}

static void a_pending_alarm_is_cleared_when_the_condition_ends(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "many", "metric", "components_present", "when", ">= 5", "for", "3s");
    world_start(world);
    assert_int_equal(gauge(world, 5), VAMP_ALARM_PENDING);
    assert_int_equal(gauge(world, 5), NO_CHANGE);
    assert_int_equal(gauge(world, 4), VAMP_ALARM_CLEARED);
    assert_int_equal(gauge(world, 5), VAMP_ALARM_PENDING); /* the time begins again */
    assert_int_equal(gauge(world, 5), NO_CHANGE);
    assert_int_equal(gauge(world, 5), VAMP_ALARM_FIRING);
    world_free(world);
}

static void a_second_limit_and_a_time_delay_resolving(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "few", "metric", "components_present", "when", "< 3", "clear", ">= 5",
               "clear_for", "2 buckets");
    world_start(world);
    assert_int_equal(gauge(world, 4), NO_CHANGE);
    assert_int_equal(gauge(world, 2), VAMP_ALARM_FIRING);
    assert_int_equal(gauge(world, 4), NO_CHANGE);
    assert_int_equal(gauge(world, 5), NO_CHANGE);
    assert_int_equal(gauge(world, 4), NO_CHANGE); /* that time begins again, too */
    assert_int_equal(gauge(world, 6), NO_CHANGE);
    assert_int_equal(gauge(world, 5), VAMP_ALARM_RESOLVED);
    world_free(world);
}

static void values_are_compared_in_every_way(void **state)
{
    (void)state;
    static const struct {
        const char *when;
        bool holds[3]; /* for 4, 5 and 6 */
    } cases[] = {
        {"> 5", {false, false, true}}, {">= 5", {false, true, true}}, {"< 5", {true, false, false}},
        {"<= 5", {true, true, false}}, {"= 5", {false, true, false}}, {"!= 5", {true, false, true}},
        {">5", {false, false, true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int64_t value = 4; value <= 6; value++) {
            struct world *world = world_create();
            world_rule(world, "name", "x", "metric", "components_present", "when", cases[i].when);
            world_start(world);
            assert_int_equal(gauge(world, value),
                             cases[i].holds[value - 4] ? (int)VAMP_ALARM_FIRING : NO_CHANGE);
            world_free(world);
        }
    }
}

static void a_change_fires_for_one_bucket(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "moved", "metric", "components_present", "when", "changed");
    world_start(world);
    assert_int_equal(gauge(world, 4), NO_CHANGE); /* the first value is no change */
    assert_int_equal(gauge(world, 4), NO_CHANGE);
    assert_int_equal(gauge(world, 3), VAMP_ALARM_FIRING);
    assert_int_equal(gauge(world, 3), VAMP_ALARM_RESOLVED);
    world_free(world);
}

static void a_rate_is_of_a_second_and_each_series_has_its_alarm(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "floods", "metric", "produced_bytes", "rate", "true", "when",
               "> 1KiB/s", "labels", "component=Model*");
    world_start(world);
    assert_int_equal(grow(world, 1024), NO_CHANGE);
    world->produced[2].delta = 5000; /* "Products 2" does not fit */
    assert_int_equal(grow(world, 1025), VAMP_ALARM_FIRING);
    assert_string_equal(world->changes[0].unit, "byte s-1");
    assert_string_equal(vamp_alarm_change_component(&world->changes[0]), "Model 1");
    world->components = 3; /* a series more */
    world->produced[3].delta = 2000;
    assert_int_equal(grow(world, 2000), VAMP_ALARM_FIRING);
    assert_string_equal(vamp_alarm_change_component(&world->changes[0]), "Model 3");
    world_close(world);
    assert_int_equal(world->change_count, 2);
    world_free(world);
}

static void series_are_added_up_over_labels(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "all", "metric", "produced_bytes", "when", "> 100B", "without",
               "all");
    world_rule(world, "name", "waits", "metric", "leave_wait_ns", "when", "> 10us", "quantile", "1",
               "without", "component");
    world_start(world);
    world->produced[0].delta = 50; /* "(other)" is part of the sum */
    assert_int_equal(grow(world, 51), VAMP_ALARM_FIRING);
    assert_int_equal(world->changes[0].label_count, 0);
    world->waits_ns[2] = 11000;
    world->produced[2].delta = 101;
    assert_int_equal(wait_of(world, 9000), VAMP_ALARM_FIRING);
    assert_string_equal(world->changes[0].alarm, "waits");
    assert_true(world->changes[0].value > 10999 && world->changes[0].value < 11001);
    world_free(world);
}

static void what_is_absent_fires(void **state)
{
    (void)state;
    struct world *world = world_create();
    world->components = 0;
    world_rule(world, "name", "nobody", "metric", "produced_bytes", "when", "absent", "labels",
               "component=Model*", "for", "2s");
    world_start(world);
    assert_int_equal(world_step(world), VAMP_ALARM_PENDING);
    assert_int_equal(world_step(world), VAMP_ALARM_FIRING);
    assert_string_equal(vamp_alarm_change_component(&world->changes[0]), "Model*");
    world->components = 1;
    assert_int_equal(grow(world, 1), VAMP_ALARM_RESOLVED);
    assert_int_equal(grow(world, 0), VAMP_ALARM_PENDING); /* the component's own */
    assert_string_equal(vamp_alarm_change_component(&world->changes[0]), "Model 1");
    assert_int_equal(grow(world, 0), VAMP_ALARM_FIRING);
    assert_int_equal(grow(world, 1), VAMP_ALARM_RESOLVED);
    world_free(world);
}

static void a_bucket_without_a_value_does_not_end_what_was_said(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "slow", "metric", "leave_wait_ns", "quantile", "0.5", "when", "> 1ms",
               "for", "4s", "labels", "component=Model 1");
    world_start(world);
    assert_int_equal(wait_of(world, 2000000), VAMP_ALARM_PENDING);
    assert_int_equal(wait_of(world, 0), NO_CHANGE);
    assert_int_equal(wait_of(world, 2000000), NO_CHANGE);
    assert_int_equal(wait_of(world, 0), VAMP_ALARM_FIRING);
    assert_false(world->changes[0].has_value);
    assert_int_equal(wait_of(world, 0), NO_CHANGE);
    assert_int_equal(wait_of(world, 0), NO_CHANGE);
    assert_int_equal(wait_of(world, 0), VAMP_ALARM_RESOLVED); /* four buckets without a value */
    world_free(world);
}

static void a_baseline_warms_up_and_stands_still(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "slower", "metric", "leave_wait_ns", "quantile", "1", "when",
               "> 2 * baseline", "baseline", "5s", "labels", "component=Model 1");
    world_start(world);
    assert_int_equal(wait_of(world, 100), NO_CHANGE);
    assert_int_equal(wait_of(world, 1000), NO_CHANGE); /* warming up */
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(wait_of(world, 100), NO_CHANGE);
    }
    assert_int_equal(wait_of(world, 200), NO_CHANGE); /* twice, not more */
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(wait_of(world, 100), NO_CHANGE);
    }
    assert_int_equal(wait_of(world, 400), VAMP_ALARM_FIRING);
    assert_true(world->changes[0].has_baseline && world->changes[0].baseline > 99 &&
                world->changes[0].baseline < 101);
    assert_true(world->changes[0].value > 3.9 && world->changes[0].value < 4.1);
    assert_string_equal(world->changes[0].unit, "1");
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(wait_of(world, 400), NO_CHANGE); /* and 400 does not become usual */
    }
    assert_int_equal(wait_of(world, 150), VAMP_ALARM_RESOLVED);
    world_free(world);
}

static void of_a_baseline_of_nothing_there_is_no_multiple(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "more", "metric", "produced_bytes", "when", "> 2 * baseline",
               "baseline", "4s", "warm_up", "2s", "labels", "component=Model 1");
    world_start(world);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(grow(world, 0), NO_CHANGE);
    }
    assert_int_equal(grow(world, 1000), NO_CHANGE);
    assert_int_equal(grow(world, 1000), VAMP_ALARM_FIRING); /* the mean is 250 now */
    world_free(world);
}

static void more_changes_than_a_bucket_lists_wait_for_the_next_one(void **state)
{
    (void)state;
    struct world *world = world_create();
    world->components = WORLD_COMPONENTS;
    world_rule(world, "name", "all", "metric", "produced_bytes", "when", "> 0");
    world_rule(world, "name", "late", "metric", "components_present", "when", "= 0");
    world_start(world);
    unsigned fired = 0;
    for (unsigned bucket = 0; bucket < 3; bucket++) {
        for (unsigned i = 1; i <= WORLD_COMPONENTS; i++) {
            world->produced[i].delta = 1;
        }
        world_close(world);
        fired += world->change_count;
        assert_true(world->change_count <= VAMP_ALARM_CHANGES_MAX);
    }
    assert_int_equal(fired, WORLD_COMPONENTS + 1);
    struct vamp_alarm_state_count count;
    vamp_alarms_state(world->alarms, 0, &count);
    assert_int_equal(count.firing, WORLD_COMPONENTS);
    assert_int_equal(count.delayed, (WORLD_COMPONENTS - VAMP_ALARM_CHANGES_MAX) +
                                        (WORLD_COMPONENTS - 2 * VAMP_ALARM_CHANGES_MAX));
    assert_string_equal(world->changes[world->change_count - 1].alarm, "late");
    world_free(world);
}

static void a_change_is_a_line_for_people_and_one_for_programs(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "slow", "metric", "leave_wait_ns", "quantile", "0.5", "when", "> 1ms",
               "labels", "component=Model 1");
    world_start(world);
    assert_int_equal(wait_of(world, 2000000), VAMP_ALARM_FIRING);
    char text[VAMP_ALARM_LINE_BYTES];
    vamp_alarm_change_text(&world->changes[0], text);
    assert_string_equal(text,
                        "alarm \"slow\" (warning) firing: leave_wait_ns {component=Model 1} is "
                        "2.00 ms; the rule says > 1ms");
    struct vamp_json json = {.bytes = NULL};
    vamp_json_line_begin(&json);
    vamp_alarm_change_json(&json, &world->changes[0]);
    vamp_json_line_end(&json);
    static const char wanted[] =
        "{\"alarm\":\"slow\",\"severity\":\"warning\",\"state\":\"firing\",\"silenced\":false,"
        "\"since\":\"1970-01-01T00:00:01.000000000Z\",\"bucket\":0,\"instance\":1,"
        "\"metric\":\"leave_wait_ns\",\"unit\":\"ns\",\"labels\":{\"component\":\"Model 1\"},"
        "\"component\":\"Model 1\",\"cdo\":\"\",\"threshold\":\"> 1ms\",\"value\":2000000,"
        "\"baseline\":null}\n";
    assert_int_equal(json.used, strlen(wanted));
    assert_memory_equal(json.bytes, wanted, json.used);
    vamp_json_done(&json);
    world_free(world);
}

/* The oldest demand of a component is so old; NULL: it has none. */
static void set_age(struct world *world, uint32_t component, int64_t age_ns, const char *cdo)
{
    world->ages[component] = (struct vamp_gauge_value){age_ns, age_ns, age_ns};
    struct vamp_oldest_cdo *oldest = &world->oldest[world->oldest_count++];
    *oldest = (struct vamp_oldest_cdo){.metric = VAMP_METRIC_DEMAND_OLDEST_NS,
                                       .component = world->names[component]};
    (void)snprintf(oldest->name, sizeof oldest->name, "%s", cdo);
}

static void an_alarm_on_an_age_names_its_cdo_until_it_ends(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "stuck", "metric", "demand_oldest_ns", "when", "> 30s");
    world_start(world);
    set_age(world, 1, 31 * WORLD_WIDTH_NS, "fields/1");
    set_age(world, 2, 29 * WORLD_WIDTH_NS, "fields/2");
    assert_int_equal(world_step(world), VAMP_ALARM_FIRING);
    assert_string_equal(world->changes[0].cdo, "fields/1");
    char text[VAMP_ALARM_LINE_BYTES];
    vamp_alarm_change_text(&world->changes[0], text);
    assert_string_equal(text, "alarm \"stuck\" (warning) firing: demand_oldest_ns "
                              "{component=Model 1} is 31.0 s; the rule says > 30s; CDO "
                              "\"fields/1\"");
    world->oldest_count = 0;
    set_age(world, 1, 1 * WORLD_WIDTH_NS, "fields/3");
    assert_int_equal(world_step(world), VAMP_ALARM_RESOLVED);
    assert_string_equal(world->changes[0].cdo, "fields/1");
    world_free(world);
}

static void an_alarm_on_all_ages_names_the_cdo_of_the_greatest(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "any", "metric", "demand_oldest_ns", "when", "> 30s", "without",
               "all");
    world_start(world);
    set_age(world, 1, 31 * WORLD_WIDTH_NS, "fields/1");
    set_age(world, 2, 32 * WORLD_WIDTH_NS, "fields/2");
    assert_int_equal(world_step(world), VAMP_ALARM_FIRING);
    assert_string_equal(world->changes[0].cdo, "fields/2");
    world_free(world);
}

static void a_silenced_alarm_says_so_for_a_time(void **state)
{
    (void)state;
    struct world *world = world_create();
    world->silences = (struct vamp_silences){.items = {{"ma*", 1000}}, .count = 1};
    world_rule(world, "name", "many", "metric", "components_present", "when", "> 5");
    world_start(world);
    world->now_ns = 999;
    assert_int_equal(gauge(world, 6), VAMP_ALARM_FIRING);
    assert_true(world->changes[0].silenced);
    world->now_ns = 1000;
    assert_int_equal(gauge(world, 5), VAMP_ALARM_RESOLVED);
    assert_false(world->changes[0].silenced);
    world_free(world);
}

#define SILENCES "alarms_rules_test.silences"

/* Reads a file with this text; -errno. */
static int read_silences(struct vamp_silences *silences, const char *text, struct vamp_err *err)
{
    FILE *file = fopen(SILENCES, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return vamp_silences_read(silences, SILENCES, err);
}

static void silences_are_read_from_a_file(void **state)
{
    (void)state;
    struct vamp_silences silences = {.count = 0};
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(
        read_silences(&silences, "# tonight\n\nslow transports 1h\nstuck* 30min\n", &err), 0);
    assert_int_equal(silences.count, 2);
    const int64_t changed_ns = silences.items[1].until_ns - INT64_C(1800000000000);
    assert_int_equal(silences.items[0].until_ns - changed_ns, INT64_C(3600000000000));
    assert_true(vamp_silences_hold(&silences, "slow transports", changed_ns));
    assert_true(vamp_silences_hold(&silences, "stuck demands", changed_ns));
    assert_false(vamp_silences_hold(&silences, "stuck demands", silences.items[1].until_ns));
    assert_false(vamp_silences_hold(&silences, "other", changed_ns));

    assert_int_equal(read_silences(&silences, "stuck 1h\nslow soon\n", &err), -EINVAL);
    assert_string_equal(err.text, "silences in " SILENCES ": line 2: \"slow soon\" is no silence: "
                                  "write NAME DURATION, such as \"stuck 30min\"");
    assert_int_equal(silences.count, 2); /* as they were */
    assert_int_equal(unlink(SILENCES), 0);
    assert_int_equal(vamp_silences_read(&silences, SILENCES, &err), 0);
    assert_int_equal(silences.count, 0);
    vamp_silences_done(&silences);
}

static void rules_with_the_same_values_have_states_of_their_own(void **state)
{
    (void)state;
    struct world *world = world_create();
    world_rule(world, "name", "a", "metric", "leave_wait_ns", "quantile", "0.9", "when", "> 100ns");
    world_rule(world, "name", "b", "metric", "leave_wait_ns", "quantile", "0.9", "when", "> 10us");
    world_rule(world, "name", "c", "metric", "leave_wait_ns", "quantile", "0.9", "labels",
               "component=Products*", "when", "> 100ns");
    world_rule(world, "name", "d", "metric", "leave_wait_ns", "quantile", "1", "when", "> 100ns");
    world_start(world);
    world->waits_ns[1] = 1000;
    world_close(world);
    assert_int_equal(world->change_count, 2); /* a and d, for the model */
    assert_string_equal(world->changes[0].alarm, "a");
    assert_string_equal(world->changes[1].alarm, "d");
    world->waits_ns[1] = 100000;
    world->waits_ns[2] = 1000;
    world_close(world);
    assert_int_equal(world->change_count, 4);
    static const char *const alarms[] = {"a", "b", "c", "d"};
    static const unsigned components[] = {2, 1, 2, 2};
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(world->changes[i].alarm, alarms[i]);
        assert_string_equal(world->changes[i].labels[0].value, world->names[components[i]]);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alarm_is_pending_then_fires_and_resolves),
        cmocka_unit_test(a_pending_alarm_is_cleared_when_the_condition_ends),
        cmocka_unit_test(a_second_limit_and_a_time_delay_resolving),
        cmocka_unit_test(values_are_compared_in_every_way),
        cmocka_unit_test(a_change_fires_for_one_bucket),
        cmocka_unit_test(a_rate_is_of_a_second_and_each_series_has_its_alarm),
        cmocka_unit_test(series_are_added_up_over_labels),
        cmocka_unit_test(what_is_absent_fires),
        cmocka_unit_test(a_bucket_without_a_value_does_not_end_what_was_said),
        cmocka_unit_test(a_baseline_warms_up_and_stands_still),
        cmocka_unit_test(of_a_baseline_of_nothing_there_is_no_multiple),
        cmocka_unit_test(more_changes_than_a_bucket_lists_wait_for_the_next_one),
        cmocka_unit_test(an_alarm_on_an_age_names_its_cdo_until_it_ends),
        cmocka_unit_test(an_alarm_on_all_ages_names_the_cdo_of_the_greatest),
        cmocka_unit_test(a_silenced_alarm_says_so_for_a_time),
        cmocka_unit_test(silences_are_read_from_a_file),
        cmocka_unit_test(a_change_is_a_line_for_people_and_one_for_programs),
        cmocka_unit_test(rules_with_the_same_values_have_states_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
