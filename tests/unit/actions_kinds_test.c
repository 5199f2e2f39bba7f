/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kind of action from its options to its effect, with the services that all share. */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/core/recording/recording.h"

#define SECOND VAMP_NS_PER_SECOND

/* ---- the world */

struct world {
    char folder[64];
    struct vamp_run run;
    struct vamp_components *components;
    struct vamp_action_services *services;
    struct vamp_alarm_action_context context;
    const struct vamp_alarm_action_ops *ops;
    void *options, *action;
    char said[1024];
    bool error;
};

static void say_action(void *context, bool error, const char *line)
{
    struct world *world = context;
    world->error = world->error || error;
    (void)snprintf(world->said, sizeof world->said, "%s", line);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/vampire-actions-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    world->run = (struct vamp_run){
        .id = "6f9619ff-8b86-4011-b42d-00cf4fc964ff",
        .workflow = "forecast",
        .component = "vampire",
        .version = "test",
        .host = "node1",
        .user = "operator",
        .batch_job = "",
        .pid = 4711,
    };
    assert_int_equal(vamp_components_create(16, &world->components, NULL), 0);
    const struct vamp_action_services_options options = {
        .say = say_action,
        .say_context = world,
        .run = &world->run,
        .clock = &vamp_clock_system,
        .components = world->components,
        .event_kinds = VAMP_EVENT_KINDS_ALL,
    };
    assert_int_equal(vamp_action_services_create(&options, &world->services, NULL), 0);
    world->context = (struct vamp_alarm_action_context){.services = world->services};
    *state = world;
    return 0;
}

static void close_action(struct world *world)
{
    if (world->ops != NULL) {
        world->ops->close(world->action);
        vamp_opt_done(world->ops->options, world->options);
        free(world->options);
        world->ops = NULL;
    }
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char command[128];
    close_action(world);
    vamp_action_services_free(world->services);
    vamp_components_free(world->components);
    (void)snprintf(command, sizeof command, "rm -rf %s", world->folder);
    assert_int_equal(system(command), 0);
    free(world);
    return 0;
}

static void choose(struct world *world, const char *type)
{
    world->ops = vamp_alarm_action_find(type);
    assert_non_null(world->ops);
    world->options = calloc(1, world->ops->options_bytes);
    assert_non_null(world->options);
    assert_int_equal(vamp_opt_presets(world->ops->options, world->options, NULL), 0);
}

static void set(struct world *world, const char *key, const char *value)
{
    const struct vamp_opt *opt = vamp_opt_find(world->ops->options, key);
    assert_non_null(opt);
    assert_int_equal(vamp_opt_set(opt, world->options, value, NULL), 0);
}

static void open_action(struct world *world)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if ((world->ops->check != NULL && world->ops->check(world->options, &err) != 0) ||
        world->ops->open(world->options, &world->context, &world->action, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

static struct vamp_alarm_change change_to(enum vamp_alarm_state state, int64_t time_ns)
{
    struct vamp_alarm_change change = {
        .alarm = "stuck",
        .severity = VAMP_ALARM_CRITICAL,
        .state = (uint8_t)state,
        .time_ns = time_ns,
        .since_ns = time_ns,
        .metric = "demand_oldest_ns",
        .unit = "ns",
        .has_value = true,
        .value = 34e9,
        .threshold = "> 30s",
        .label_count = 1,
        .cdo = "$(touch \"x\")\n",
    };
    change.labels[0].name = "component";
    (void)snprintf(change.labels[0].value, sizeof change.labels[0].value, "Products");
    return change;
}

static void enter(struct world *world, enum vamp_alarm_state state, int64_t time_ns)
{
    const struct vamp_alarm_change change = change_to(state, time_ns);
    world->ops->change(world->action, &change);
}

/* ---- tests */

static void a_command_reads_the_change_as_json(void **state)
{
    struct world *world = *state;
    char path[96], text[2048];
    (void)snprintf(path, sizeof path, "%s/input", world->folder);
    choose(world, "command");
    set(world, "argv", "/bin/sh");
    set(world, "argv", "-c");
    set(world, "argv", "cat >> \"$0\"");
    set(world, "argv", path);
    open_action(world);
    enter(world, VAMP_ALARM_PENDING, 0);
    enter(world, VAMP_ALARM_FIRING, 60 * SECOND);
    enter(world, VAMP_ALARM_RESOLVED, 90 * SECOND);
    vamp_action_services_finish(world->services);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    static const char begin[] =
        "{\"type\":\"alarm\",\"time\":\"1970-01-01T00:01:00.000000000Z\",\"workflow\":\"forecast\","
        "\"run\":\"6f9619ff-8b86-4011-b42d-00cf4fc964ff\",\"host\":\"node1\",\"pid\":4711,"
        "\"user\":\"operator\",\"batch_job\":\"\",\"alarm\":\"stuck\",";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_non_null(strstr(text, "\"cdo\":\"$(touch \\\"x\\\")\\n\""));
    const char *second = strstr(text, "}\n{\"type\":\"alarm\"");
    assert_non_null(second);
    assert_non_null(strstr(second, "\"state\":\"resolved\""));
    assert_false(world->error);
    struct vamp_action_account account;
    vamp_action_services_account(world->services, &account);
    assert_int_equal(account.commands_run, 2);
    assert_int_equal(account.commands_failed, 0);
}

static void mistakes_of_a_command_are_found_before_it_runs(void **state)
{
    struct world *world = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    choose(world, "command");
    assert_int_equal(world->ops->check(world->options, &err), -EINVAL);
    assert_string_equal(err.text,
                        "an action of type command needs \"argv\": [\"/path/of/program\", ...]");
    set(world, "argv", "page-operator");
    assert_int_equal(world->ops->check(world->options, &err), -EINVAL);
    assert_string_equal(err.text,
                        "\"argv\" begins with \"page-operator\", which is no absolute path");
    vamp_opt_clear(vamp_opt_find(world->ops->options, "argv"), world->options);
    set(world, "argv", "/nowhere/page-operator");
    assert_int_equal(world->ops->check(world->options, &err), 0);
    assert_int_equal(world->ops->open(world->options, &world->context, &world->action, &err),
                     -ENOENT);
    assert_string_equal(err.text, "run /nowhere/page-operator: No such file or directory");
}

static void level_selects_cdos_while_it_fires(void **state)
{
    struct world *world = *state;
    choose(world, "level");
    open_action(world);
    const struct vamp_event join = event_join(1, 7, "Products");
    (void)vamp_components_observe(world->components, &join);
    const struct vamp_event own = event_cdo(VAMP_EVENT_DEMAND, 5, 7, 1);
    const struct vamp_event other = event_cdo(VAMP_EVENT_DEMAND, 5, 8, 1);
    assert_false(vamp_action_services_select(world->services, &own));
    enter(world, VAMP_ALARM_FIRING, 60 * SECOND);
    assert_true(vamp_action_services_select(world->services, &own));
    assert_false(vamp_action_services_select(world->services, &other));
    enter(world, VAMP_ALARM_RESOLVED, 90 * SECOND);
    assert_false(vamp_action_services_select(world->services, &own));
    assert_false(vamp_action_services_want_events(world->services));
}

static void add_event(struct world *world, const struct vamp_event *event)
{
    (void)vamp_components_observe(world->components, event);
    vamp_action_services_event(world->services, event, true);
    vamp_action_services_follow(world->services);
}

/* The application ids of the events in the one file, as a text. */
static void read_ids(const struct world *world, char *ids, size_t bytes)
{
    char pattern[128];
    (void)snprintf(pattern, sizeof pattern, "%s/*-stuck-0001.rec", world->folder);
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header header;
    assert_int_equal(vamp_recording_open(files.gl_pathv[0], &recording, &header, NULL), 0);
    struct vamp_event event;
    size_t used = 0;
    while (vamp_recording_next(recording, &event, NULL) == VAMP_RECORDING_EVENT) {
        used += (size_t)snprintf(ids + used, bytes - used, "%c%d ",
                                 event.kind == VAMP_EVENT_JOIN ? 'j' : 'd', (int)event.app_id);
    }
    vamp_recording_close(recording);
    globfree(&files);
}

static void record_and_close(struct world *world, const char *components, char *ids, size_t bytes)
{
    choose(world, "record");
    set(world, "directory", world->folder);
    set(world, "components", components);
    set(world, "before", "10s");
    set(world, "memory", "64KiB");
    open_action(world);
    assert_true(vamp_action_services_want_events(world->services));
    const struct vamp_event join = event_join(1, 7, "Products");
    add_event(world, &join);
    for (int64_t i = 30; i < 60; i++) { /* seconds 50 to 59 are recorded */
        const struct vamp_event event =
            event_cdo(VAMP_EVENT_DEMAND, i * SECOND, i % 5 == 0 ? 7 : 8, 1);
        add_event(world, &event);
    }
    enter(world, VAMP_ALARM_FIRING, 60 * SECOND);
    const struct vamp_event event = event_cdo(VAMP_EVENT_DEMAND, 65 * SECOND, 7, 1);
    add_event(world, &event);
    enter(world, VAMP_ALARM_RESOLVED, 66 * SECOND);
    add_event(world, &event); /* after its end */
    vamp_action_services_finish(world->services);
    read_ids(world, ids, bytes);
}

static void record_has_all_events_from_before_the_alarm(void **state)
{
    struct world *world = *state;
    char ids[256];
    record_and_close(world, "all", ids, sizeof ids);
    assert_string_equal(ids, "j7 d7 d8 d8 d8 d8 d7 d8 d8 d8 d8 d7 ");
    assert_false(world->error);
    assert_memory_equal(world->said, "alarm stuck: recorded 11 events in ", 35);
    struct vamp_action_account account;
    vamp_action_services_account(world->services, &account);
    assert_int_equal(account.recordings_begun, 1);
    assert_int_equal(account.events_recorded, 11);
    assert_int_equal(account.events_lost, 0);
}

static void record_can_leave_out_other_components(void **state)
{
    struct world *world = *state;
    char ids[256];
    record_and_close(world, "concerned", ids, sizeof ids);
    assert_string_equal(ids, "j7 d7 d7 d7 ");
}

/* A reload replaces the rules while one fires. */
static void a_recording_is_completed_after_its_action_is_gone(void **state)
{
    struct world *world = *state;
    choose(world, "record");
    set(world, "directory", world->folder);
    open_action(world);
    const struct vamp_event event = event_cdo(VAMP_EVENT_DEMAND, 60 * SECOND, 7, 1);
    add_event(world, &event);
    enter(world, VAMP_ALARM_FIRING, 60 * SECOND);
    close_action(world);
    vamp_action_services_finish(world->services);
    char ids[64];
    read_ids(world, ids, sizeof ids);
    assert_string_equal(ids, "d7 ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_command_reads_the_change_as_json),
        TEST(mistakes_of_a_command_are_found_before_it_runs),
        TEST(level_selects_cdos_while_it_fires),
        TEST(record_has_all_events_from_before_the_alarm),
        TEST(record_can_leave_out_other_components),
        TEST(a_recording_is_completed_after_its_action_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
